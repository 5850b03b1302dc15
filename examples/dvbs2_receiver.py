#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receives DVB-S2 frames that GNU Radio's own gr-dtv has transmitted through white noise, and
compares every decoded codeword with the transmitter's, bit for bit.

Transport packets -> BB header, scrambler, BCH, LDPC, bit interleaver, modulator (gr-dtv) -> noise
-> soft demapper, which undoes the bit interleaver -> LDPC decoder -> frame error counter. A frame is a
tagged packet from the demapper on. The reference is tapped behind gr-dtv's LDPC encoder."""

from dataclasses import dataclass
from functools import cached_property

import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, dtv, gr

# Es/N0 in dB at which normal frames are quasi error-free (ETSI EN 302 307-1, table 13).
THRESHOLDS = {
    "qpsk": {
        "1/4": -2.35,
        "1/3": -1.24,
        "2/5": -0.30,
        "1/2": 1.00,
        "3/5": 2.23,
        "2/3": 3.10,
        "3/4": 4.03,
        "4/5": 4.68,
        "5/6": 5.18,
        "8/9": 6.20,
        "9/10": 6.42,
    },
    "8psk": {
        "3/5": 5.50,
        "2/3": 6.62,
        "3/4": 7.91,
        "5/6": 9.35,
        "8/9": 10.69,
        "9/10": 10.98,
    },
    "16apsk": {
        "2/3": 8.97,
        "3/4": 10.21,
        "4/5": 11.03,
        "5/6": 11.61,
        "8/9": 12.89,
        "9/10": 13.13,
    },
}
SHORT_FRAME_LOSS = 0.3  # dB; section 6 there: 0.2 to 0.3
MARGIN = 0.5  # dB above threshold at which every frame must be right
PACKET = "packet_len"


@dataclass(frozen=True)
class modcod:
    """A constellation, a code rate and a frame's length, such as 8psk-3/5-short."""

    modulation: str
    rate: str
    frame: str

    @classmethod
    def parse(cls, text):
        """Raises ValueError for a combination that DVB-S2 has not."""
        parts = text.lower().split("-")
        if len(parts) == 2:
            parts.append("normal")
        modulation, rate, frame = parts if len(parts) == 3 else ("", "", "")
        if frame not in ("normal", "short") or (frame, rate) == ("short", "9/10"):
            modulation = ""
        if rate not in THRESHOLDS.get(modulation, ()):
            choices = ", ".join(f"{m} {' '.join(r)}" for m, r in THRESHOLDS.items())
            raise ValueError(
                f'"{text}" is no MODCOD like qpsk-1/2-normal or 8psk-3/5-short; there are '
                f"{choices}, each normal or short (short without 9/10)"
            )
        return cls(modulation, rate, frame)

    def __str__(self):
        return f"{self.modulation.upper()} {self.rate} {self.frame}"

    @property
    def bits(self):
        """Of a symbol."""
        return {"qpsk": 2, "8psk": 3, "16apsk": 4}[self.modulation]

    @property
    def constellation(self):
        """16APSK's radii depend on the rate."""
        rate = f"_{self.rate}" if self.modulation == "16apsk" else ""
        return f"dvbs2_{self.modulation}{rate}"

    @cached_property
    def code(self):
        return cudaphy.ldpc_code("dvbs2", frame=self.frame, rate=self.rate)

    @property
    def threshold(self):
        loss = SHORT_FRAME_LOSS if self.frame == "short" else 0
        return THRESHOLDS[self.modulation][self.rate] + loss

    @property
    def bch_corrects(self):
        """Wrong bits that the BCH code behind the LDPC code corrects (tables 5a and 5b)."""
        weaker = {"2/3": 10, "5/6": 10, "8/9": 8, "9/10": 8}
        return weaker.get(self.rate, 12) if self.frame == "normal" else 12

    @property
    def dtv_parameters(self):
        """(frame size, code rate) as gr-dtv calls them."""
        frame = {"normal": dtv.FECFRAME_NORMAL, "short": dtv.FECFRAME_SHORT}[self.frame]
        return frame, getattr(dtv, "C" + self.rate.replace("/", "_"))

    @property
    def dtv_modulation(self):
        return getattr(dtv, "MOD_" + self.modulation.upper())

    @property
    def bit_interleaver(self):
        """The columns of the bit interleaver in the order that they are read; empty: QPSK has none.

        The transmitter writes a codeword into a table column by column, as many columns as
        a symbol has bits, and reads it row by row, a row a symbol; for 8PSK 3/5 from the
        last column to the first (ETSI EN 302 307-1, section 5.3.3).
        """
        columns = {"qpsk": "", "8psk": "012", "16apsk": "0123"}[self.modulation]
        return (
            columns[::-1] if (self.modulation, self.rate) == ("8psk", "3/5") else columns
        )


class transmitter(gr.hier_block2):
    """gr-dtv's chain. Out 0: symbols of unit energy; out 1: the LDPC codewords, a byte a bit."""

    def __init__(self, how, frames, seed):
        gr.hier_block2.__init__(
            self,
            "DVB-S2 transmitter",
            gr.io_signature(0, 0, 0),
            gr.io_signature.makev(2, 2, [gr.sizeof_gr_complex, gr.sizeof_char]),
        )
        frame_and_rate, n = how.dtv_parameters, how.code.n
        parameters = (dtv.STANDARD_DVBS2, *frame_and_rate)
        modulation = (*frame_and_rate, how.dtv_modulation)
        # MPEG transport packets: a sync byte and 187 bytes of payload.
        sync = blocks.vector_source_b([0x47], True)
        payload = analog.random_uniform_source_b(0, 256, seed)
        packets = blocks.stream_mux(gr.sizeof_char, [1, 187])
        codewords = blocks.head(gr.sizeof_char, frames * n)
        # The reference waits here while its frame is on the way through the receiver.
        codewords.set_min_output_buffer(64 * n)
        self.connect(sync, (packets, 0))
        self.connect(payload, (packets, 1))
        self.connect(
            packets,
            dtv.dvb_bbheader_bb(
                *parameters,
                dtv.RO_0_20,
                dtv.INPUTMODE_NORMAL,
                dtv.INBAND_OFF,
                168,  # FEC blocks and rate of in-band signalling, which is off
                4000000,
            ),
            dtv.dvb_bbscrambler_bb(*parameters),
            dtv.dvb_bch_bb(*parameters),
            dtv.dvb_ldpc_bb(*parameters, how.dtv_modulation),
            codewords,
            dtv.dvbs2_interleaver_bb(*modulation),
            dtv.dvbs2_modulator_bc(*modulation, dtv.INTERPOLATION_OFF),
            (self, 0),
        )
        self.connect(codewords, (self, 1))


class receiver(gr.hier_block2):
    """Symbols in, decoded codewords out, with the decoder's tags on each."""

    def __init__(self, how, noise_variance, arguments, backend):
        gr.hier_block2.__init__(
            self,
            "DVB-S2 receiver",
            gr.io_signature(1, 1, gr.sizeof_gr_complex),
            gr.io_signature(1, 1, gr.sizeof_char),
        )
        code = how.code
        where = {
            "length_tag_key": PACKET,
            "backend": backend,
            "device": arguments.device,
        }
        self.connect(
            self,
            blocks.stream_to_tagged_stream(
                gr.sizeof_gr_complex, 1, code.n // how.bits, PACKET
            ),
            cudaphy.soft_demapper(
                how.constellation,
                noise_variance=noise_variance,
                bit_interleaver=how.bit_interleaver,
                frame_symbols=code.n // how.bits if how.bit_interleaver else 0,
                **where,
            ),
            cudaphy.ldpc_decoder(
                code,
                max_iterations=arguments.iterations,
                output="codeword",
                **where,
            ),
            self,
        )


class link(gr.top_block):
    """The transmitter, noise, and a receiver and counter for each backend."""

    def __init__(self, how, esn0_db, frames, seed, arguments, backends):
        gr.top_block.__init__(self, f"DVB-S2 {how}", catch_exceptions=True)
        noise_variance = 10 ** (-esn0_db / 10)
        sender = transmitter(how, frames, seed)
        noise = link_tools.white_noise(noise_variance, seed + 1)
        channel = blocks.add_cc()
        self.connect((sender, 0), (channel, 0))
        self.connect(noise, (channel, 1))
        self.counters, receivers = [], []
        for backend in backends:
            receivers.append(receiver(how, noise_variance, arguments, backend))
            self.counters.append(
                link_tools.error_counter(
                    self, receivers[-1], (sender, 1), how.code.n, PACKET, how.bch_corrects
                )
            )
            self.connect(channel, receivers[-1])
        sizes = how.code.n, PACKET, how.bch_corrects
        self.difference = link_tools.difference_counter(self, receivers, *sizes)


def points(how, arguments):
    """Es/N0 to be measured in dB, the one that is checked among them."""
    if arguments.quick:
        offsets = np.array([-0.4, 0])
    elif how.frame == "normal":
        offsets = np.arange(-6, 5) * 0.05
    else:  # whose curve is less steep
        offsets = np.arange(-6, 4) * 0.1
    wanted = arguments.esn0 or [how.threshold + offset for offset in offsets]
    return sorted({round(float(e), 3) for e in [*wanted, how.threshold + MARGIN]})


def measure(how, arguments, backends, bar):
    """Prints the table of a MODCOD; gives (Es/N0, frames, FER, BER) of each point, and
    whether all checks hold."""
    code = how.code
    frames = frames_of(how, arguments)
    rows = link_tools.table(
        f"{how}: n {code.n}, k {code.k}, threshold {how.threshold:.2f} dB Es/N0",
        [
            ("Es/N0 dB", ".2f", 8),
            ("frames", "d", 7),
            ("wrong", "d", 6),
            ("BCH fixes", "d", 9),
            ("FER", "s", 7),
            ("BER", "s", 7),
            ("iterations", ".1f", 10),
            ("Mb/s", ".1f", 7),
        ],
    )
    curve, wrong, fixed, alike = [], 0, 0, link_tools.agreement(backends)
    for index, esn0 in enumerate(points(how, arguments)):
        bar.set_description(f"{how}, {esn0:.2f} dB")
        seed = arguments.seed + 2 * index  # other data and noise at each point
        top = link(how, esn0, frames, seed, arguments, backends)
        seconds = link_tools.run(top, top.counters[0], frames, bar)
        got = top.counters[0]
        fer, ber = got.frame_error_rate(), got.bit_error_rate()
        rows.row(
            esn0,
            got.frames(),
            got.frame_errors(),
            got.correctable_frames(),
            link_tools.rate_text(fer),
            link_tools.rate_text(ber),
            got.average_iterations(),
            frames * code.k / seconds / 1e6,
        )
        curve.append((esn0, frames, fer, ber))
        alike.add(frames, top.counters, top.difference)
        if esn0 >= how.threshold + MARGIN - 1e-3:
            wrong += got.frame_errors()
            fixed += got.correctable_frames()
    text = f"every frame right from {MARGIN} dB above threshold on"
    if wrong:
        text += f": {wrong} are not, {fixed} of which the BCH code would correct"
    good = link_tools.check(wrong == 0, text)
    return curve, good & alike.holds()


def frames_of(how, arguments):
    """By default as many bits with short frames as with normal ones."""
    normal = 8 if arguments.quick else 200
    return arguments.frames or normal * 64800 // how.code.n


def draw(results, arguments, backends):
    figure, axes = link_tools.styled_pyplot().subplots(
        1, len(results), figsize=(5.2 * len(results), 4.2), squeeze=False, sharey=True
    )
    for axis, (how, curve) in zip(axes[0], results):
        for index, name, color, marker in (
            (2, "frames (FER)", link_tools.BLUE, "o"),
            (3, "bits (BER)", link_tools.ORANGE, "s"),
        ):
            seen = [(point[0], point[index]) for point in curve if point[index] > 0]
            if seen:
                axis.semilogy(*zip(*seen), color=color, marker=marker, label=name)
        clean = [(point[0], 1 / point[1]) for point in curve if point[2] == 0]
        if clean:
            axis.semilogy(
                *zip(*clean), "v", color=link_tools.GREEN, label="no frame wrong"
            )
        axis.axvline(
            how.threshold, color=link_tools.GREY, linestyle="--", label="threshold"
        )
        axis.axvline(
            how.threshold + MARGIN,
            color=link_tools.GREEN,
            linestyle=":",
            label="from here on no frame may be wrong",
        )
        axis.set(title=f"DVB-S2 {how} frames", xlabel="Es/N0 (dB)", yscale="log")
        axis.set_ylim(1e-6, 1.5)
        axis.legend(loc="lower left")
    axes[0][0].set_ylabel("error rate behind the LDPC decoder")
    figure.suptitle(
        f"gr-dtv transmits, gr-cudaphy receives: {arguments.iterations} iterations at "
        f"most, backend {backends[0]}",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "dvbs2_receiver.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--modcod",
        nargs="+",
        default=["qpsk-1/2-normal", "8psk-3/5-short"],
        help="default: qpsk-1/2-normal 8psk-3/5-short",
    )
    parser.add_argument(
        "--esn0",
        type=link_tools.number_list,
        help="dB; default: around each MODCOD's threshold",
    )
    parser.add_argument(
        "--frames",
        type=link_tools.count,
        help="a point; default: 200 normal or 800 short ones",
    )
    parser.add_argument("--iterations", type=link_tools.count, default=50)
    arguments = parser.parse_args()
    chosen = [modcod.parse(text) for text in arguments.modcod]
    backends = link_tools.chosen_backends(arguments)
    total = sum(frames_of(how, arguments) * len(points(how, arguments)) for how in chosen)
    results, good = [], True
    with link_tools.progress(total, "frame", "DVB-S2") as bar:
        for how in chosen:
            curve, right = measure(how, arguments, backends, bar)
            results.append((how, curve))
            good = good and right
    draw(results, arguments, backends)
    return good


if __name__ == "__main__":
    link_tools.main(main)
