#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several transport streams on one DVB-S2 carrier, each with a MODCOD of its own (VCM): every stream must come
back, byte for byte.

A frame of any stream follows a frame of any other, in random order, with dummy frames between. gr-dtv makes
the frames; the input stream identifier (ISI) in their baseband headers says which stream they carry. One
chain receives all: Symbol Sync -> DVB-S2 Frame Sync -> Soft Demapper -> LDPC Decoder -> BCH Decoder, and a
Baseband Deframer for each stream. Frame Sync tags each frame with what the blocks behind must know."""

import dvbs2_receiver
import dvbs2_to_ts
import link_tools
import numpy as np
from gnuradio import blocks, cudaphy, dtv, gr
from gnuradio.cudaphy.dvbs2 import bch_code_of, dvbs2_modes, ldpc_code_of

KEY = "packet_len"
LLR_STEPS = 12  # int8 steps in a unit of LLR
POINTS = 4000  # symbols of a stream in the picture
PACKET = dvbs2_to_ts.PACKET


def mode_of(how, pilots):
    """The dvb_mode of a MODCOD."""
    rated = "_" + how.rate if how.modulation == "16apsk" else ""
    wanted = how.frame, how.rate, f"dvbs2_{how.modulation}{rated}", pilots
    for mode in dvbs2_modes(extended=False):
        if (mode.frame, mode.rate, mode.constellation, mode.pilots) == wanted:
            return mode
    raise ValueError(f"DVB-S2 has no {how}")


def stream_of(isi, packets):
    """Numbered transport packets whose PID tells the stream."""
    made = np.frombuffer(dvbs2_to_ts.numbered_packets(packets), np.uint8).copy()
    made[2::PACKET] = isi
    return made.tobytes()


def dummy_frame():
    """Symbols of a dummy frame: a header of MODCOD 0, and 36 slots of (1 + j) / sqrt(2), scrambled (ETSI EN
    302 307-1, 5.5.1 to 5.5.4)."""
    bits = f"{0x18D2E82:026b}{0x719D83C953422DFA:064b}"  # start of frame, scrambled zeros
    turned = np.where(np.arange(90) % 2, -1 + 1j, 1 + 1j) * np.sqrt(0.5)
    header = turned * [1 - 2 * int(bit) for bit in bits]
    # gr-dtv scrambles longer frames alike.
    how = dvbs2_receiver.modcod("qpsk", "1/2", "short")
    top, sink = gr.top_block(), blocks.vector_sink_c()
    top.connect(
        blocks.vector_source_c([np.sqrt(0.5) * (1 + 1j)] * (2 * how.code.n)),
        dtv.dvbs2_physical_cc(*how.dtv_parameters, how.dtv_modulation, dtv.PILOTS_OFF, 0),
        sink,
    )
    top.run()
    return np.concatenate([header, np.array(sink.data())[::2][90 : 90 + 36 * 90]])


class sender(gr.top_block):
    """Makes the frames of a stream."""

    def __init__(self, how, stream, roll_off, pilots, isi):
        gr.top_block.__init__(self, f"DVB-S2 {how}", catch_exceptions=True)
        self._sink = blocks.vector_sink_c()
        self.connect(
            blocks.vector_source_b(list(dvbs2_to_ts.with_nulls(stream, how))),
            dvbs2_to_ts.framer(how, roll_off, pilots, isi=isi),
            self._sink,
        )

    def frames(self, length):
        """(frames, length) symbols."""
        self.run()
        symbols = np.array(self._sink.data(), np.complex64)[::2]
        return symbols[: len(symbols) // length * length].reshape(-1, length)


def interleaved(streams, dummies, rng):
    """Symbols of all frames of the streams in random order, each stream's in their own, with dummy frames
    between."""
    order = np.repeat(np.arange(len(streams)), [len(frames) for frames in streams])
    order = np.concatenate([order, np.full(dummies, -1)])
    left = [iter(frames) for frames in streams]
    dummy = dummy_frame()
    return np.concatenate(
        [dummy if stream < 0 else next(left[stream]) for stream in rng.permutation(order)]
    ).astype(np.complex64)


class receiver(gr.hier_block2):
    """Samples in, and transport packets of input streams 0, 1 and so on out."""

    def __init__(self, modes, arguments, backend):
        gr.hier_block2.__init__(
            self,
            "DVB-S2 receiver of several streams",
            gr.io_signature(1, 1, gr.sizeof_gr_complex),
            gr.io_signature(len(modes), len(modes), gr.sizeof_char),
        )
        where = {"backend": backend, "device": arguments.device}
        constellations = sorted({mode.constellation for mode in modes})
        ldpc = {mode.code: ldpc_code_of(mode) for mode in modes}
        bch = {mode.code: bch_code_of(mode) for mode in modes}
        self.symbols = cudaphy.symbol_sync(
            arguments.samples_per_symbol, arguments.roll_off, **where
        )
        self.frames = cudaphy.dvbs2_frame_sync(length_tag_key=KEY)
        demapper = cudaphy.soft_demapper(
            constellations[0],
            type="int8",
            llr_steps=LLR_STEPS,
            length_tag_key=KEY,
            constellation_tag_key="constellation",
            constellations=constellations[1:],
            **where,
        )
        decoder = cudaphy.ldpc_decoder(
            ldpc[modes[0].code],
            arguments.iterations,
            length_tag_key=KEY,
            type="int8",
            llr_scale=1 / LLR_STEPS,
            packed=True,
            codes=ldpc,
            **where,
        )
        self.words = cudaphy.bch_decoder(
            bch[modes[0].code],
            length_tag_key=KEY,
            packed_input=True,
            packed_output=True,
            codes=bch,
            **where,
        )
        self.connect(self, self.symbols, self.frames, demapper, decoder, self.words)
        self.deframers = []
        for isi in range(len(modes)):
            deframer = cudaphy.bb_deframer(isi=isi, packed=True, length_tag_key=KEY)
            self.connect(self.words, deframer, (self, isi))
            self.deframers.append(deframer)


class link(gr.top_block):
    """The carrier's symbols through a channel, and a receiver for each backend."""

    def __init__(self, symbols, modes, esn0, arguments, backends):
        gr.top_block.__init__(self, "DVB-S2 VCM", catch_exceptions=True)
        spread = np.zeros(2 * len(symbols), np.complex64)
        spread[::2] = symbols
        medium = dvbs2_to_ts.channel(arguments, esn0)
        pulses = dvbs2_to_ts.pulses(arguments.roll_off)
        # What follows the last frame pushes it through the filters.
        spread = np.concatenate([spread, np.zeros(1000, np.complex64)])
        self.connect(blocks.vector_source_c(spread.tolist()), pulses, medium)
        self.receivers, self.sinks = [], []
        for backend in backends:
            one = receiver(modes, arguments, backend)
            self.connect(medium, one)
            sinks = [blocks.vector_sink_b() for _ in modes]
            for isi, sink in enumerate(sinks):
                self.connect((one, isi), sink)
            self.receivers.append(one)
            self.sinks.append(sinks)
        self.seen = blocks.vector_sink_c()
        self.connect(self.receivers[0].frames, self.seen)

    def frames(self):
        return self.receivers[0].words.frames()

    def written(self, number):
        """Bytes of each stream from a receiver."""
        return [bytes(sink.data()) for sink in self.sinks[number]]


def draw(top, chosen, modes, esn0, arguments):
    """The received symbols of each stream's MODCOD."""
    symbols = np.array(top.seen.data())
    places = {
        key: [(tag.offset, tag.value) for tag in top.seen.tags() if str(tag.key) == key]
        for key in ("pls", KEY)
    }
    figure, axes = link_tools.styled_pyplot().subplots(
        1, len(modes), figsize=(3.6 * len(modes), 4.6), sharey=True, squeeze=False
    )
    colors = (link_tools.BLUE, link_tools.ORANGE, link_tools.GREEN, link_tools.RED)
    for isi, (axis, how, mode) in enumerate(zip(axes[0], chosen, modes)):
        starts = [at for at, pls in places["pls"] if int(str(pls)) == mode.pls]
        some = [symbols[at : at + mode.symbols] for at in starts[:4]] or [symbols[:0]]
        shown = np.concatenate(some)[:POINTS]
        axis.plot(shown.real, shown.imag, ".", ms=1, color=colors[isi % len(colors)])
        pilots = "pilots" if mode.pilots else "no pilots"
        axis.set(title=f"stream {isi}: {how},\n{pilots}, {len(starts)} frames")
        axis.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7), box_aspect=1)
    figure.suptitle(
        f"Data symbols of one carrier at {esn0:.1f} dB Es/N0, each frame with its own MODCOD",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "dvbs2_vcm.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--modcod",
        nargs="+",
        default=[
            "qpsk-1/2-normal",
            "qpsk-8/9-short",
            "8psk-3/5-short",
            "16apsk-3/4-short",
        ],
        help="one a stream; default: qpsk-1/2-normal qpsk-8/9-short 8psk-3/5-short "
        "16apsk-3/4-short; every second stream has no pilots",
    )
    parser.add_argument("--packets", type=link_tools.count, help="of a stream")
    parser.add_argument(
        "--margin",
        type=float,
        default=1,
        help="dB above the highest threshold; default: 1",
    )
    parser.add_argument("--iterations", type=link_tools.count, default=50)
    dvbs2_to_ts.add_channel(parser)
    arguments = parser.parse_args()
    chosen = [dvbs2_receiver.modcod.parse(text) for text in arguments.modcod]
    modes = [mode_of(how, isi % 2 == 0) for isi, how in enumerate(chosen)]
    if len({mode.pls for mode in modes}) < len(modes):
        raise ValueError("two streams have the same MODCOD and pilots: give each its own")
    backends = link_tools.chosen_backends(arguments)
    packets = arguments.packets or (120 if arguments.quick else 2000)
    streams = [stream_of(isi, packets) for isi in range(len(chosen))]
    sent = [
        sender(how, stream, arguments.roll_off, mode.pilots, isi).frames(mode.length)
        for isi, (how, mode, stream) in enumerate(zip(chosen, modes, streams))
    ]
    count = sum(map(len, sent))
    dummies = count // 5 + 1
    symbols = interleaved(sent, dummies, np.random.default_rng(arguments.seed))
    esn0 = max(how.threshold for how in chosen) + arguments.margin
    top = link(symbols, modes, esn0, arguments, backends)
    with link_tools.progress(count, "frame", "VCM") as bar:
        seconds = link_tools.run(top, top, count, bar)
    rows = link_tools.table(
        f"{count} frames and {dummies} dummy frames in random order at {esn0:.2f} dB Es/N0, {backends[0]}",
        [
            ("ISI", "d", 3),
            ("MODCOD", "s", 20),
            ("pilots", "s", 6),
            ("frames", "d", 6),
            ("packets", "d", 7),
            ("wrong", "d", 6),
        ],
    )
    received = [top.written(number) for number in range(len(backends))]
    for isi, (how, mode, stream, got) in enumerate(
        zip(chosen, modes, streams, received[0])
    ):
        pairs = zip(packets_of(stream), packets_of(got.ljust(len(stream), b"\0")))
        wrong = sum(one != other for one, other in pairs)
        pilots = "yes" if mode.pilots else "no"
        rows.row(isi, str(how), pilots, len(sent[isi]), packets, wrong)
    print(f"{len(symbols) / seconds / 1e6:.2f} Msymbols/s, {seconds:.2f} s")
    good = True
    for number, backend in enumerate(backends):
        whole = [got[: len(one)] == one for got, one in zip(received[number], streams)]
        good &= link_tools.check(
            all(whole), f"{backend}: {sum(whole)} of {len(whole)} streams come back whole"
        )
        passed = top.receivers[number].frames.dummy_frames()
        good &= link_tools.check(
            passed == dummies, f"{backend}: {passed} of {dummies} dummy frames are seen"
        )
    if len(backends) > 1:
        good &= link_tools.check(
            received[0] == received[1],
            f"{backends[0]} and {backends[1]} write the same bytes, null packets too",
        )
    draw(top, chosen, modes, esn0, arguments)
    return good


def packets_of(stream):
    """Its transport packets."""
    return [stream[at : at + PACKET] for at in range(0, len(stream), PACKET)]


if __name__ == "__main__":
    link_tools.main(main)
