#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MIMO Receiver block, which takes a slot's tones and gives its bits, beside the chain of blocks
that it replaces, over the same samples.

Bits -> LDPC encoder (5G NR) -> QAM -> 4 layers -> slots of 14 symbols and 11 resource blocks with 5G NR's
DM-RS -> multipath Rayleigh channel and noise -> MIMO Receiver, and beside it channel estimator -> MMSE
equalizer -> soft demapper -> LDPC decoder. Both must decide alike, bit for bit, also where they fail, and
what the receiver puts out on its further ports must be what the blocks pass on. The last lines tell how fast
either is by itself. SNR is signal over noise at one receive antenna and tone."""

import math
import time

import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, digital, gr

ANTENNAS = 4  # at each end, and layers
RESOURCE_BLOCKS = 11  # the narrowest carrier at 30 kHz (3GPP TS 38.101-1, table 5.3.2-1)
TONES = 12 * RESOURCE_BLOCKS
SYMBOLS, PILOT_SYMBOLS = 14, [0, 1]
PARTS = [len(PILOT_SYMBOLS) * TONES, (SYMBOLS - len(PILOT_SYMBOLS)) * TONES]  # vectors
# Both groups of ports are in use: none sends data beside them, and each sends its pilots
# on every other tone with twice the energy (3GPP TS 38.214, table 4.1-1).
PILOTS = cudaphy.nr_dmrs_pilots(
    ANTENNAS, RESOURCE_BLOCKS, [0], double_symbol=True, amplitude=math.sqrt(2)
)
# Rate 1/2; with 16-QAM 6 and with 64-QAM 9 words fill a slot.
CODE = cudaphy.ldpc_code("nr5g", base_graph=1, lifting_size=96, rows=24)
PATHS, DELAY_SPREAD = 6, 2.0  # of 1 / TONES of a symbol
VECTOR = gr.sizeof_gr_complex * ANTENNAS
LOWEST_SNR_DB = {16: 5, 64: 12}  # where nothing gets through yet
SHOWN_SNR_DB = 26
TIMED_SLOTS = 16  # played again and again


def words_of(arguments, slots=1):
    bits = PARTS[1] * ANTENNAS * int(math.log2(arguments.qam))
    return slots * (bits // CODE.n)


class receivers(gr.top_block):
    """A flowgraph in which slots are received in one block, or block by block."""

    def __init__(self, name, arguments, snr_db):
        gr.top_block.__init__(self, name, catch_exceptions=True)
        self.arguments = arguments
        self._constellation = cudaphy.constellation(f"qam{arguments.qam}")
        self._estimate = dict(
            delay_spread=DELAY_SPREAD / TONES, snr_db=snr_db - 10 * math.log10(ANTENNAS)
        )
        # Soft bits of 8 bits are the fastest. Backends round them by scales of their own:
        # where they shall decide alike, it is floats.
        self._floats = bool(arguments.compare)

    def in_one_block(self, source, backend, **outputs):
        receiver = cudaphy.mimo_receiver(
            ANTENNAS,
            ANTENNAS,
            TONES,
            SYMBOLS,
            PILOTS,
            PILOT_SYMBOLS,
            self._constellation.name,
            CODE,
            backend=backend,
            device=self.arguments.device,
            estimate="mmse",
            llr_type="float" if self._floats else "int8",
            max_iterations=self.arguments.iterations,
            **self._estimate,
            **outputs,
        )
        self.connect(source, receiver)
        return receiver

    def block_by_block(self, source, backend):
        """Estimator, equalizer and decoder."""
        where = dict(backend=backend, device=self.arguments.device)
        parts = blocks.stream_demux(VECTOR, PARTS)
        estimator = cudaphy.mimo_channel_estimator(
            ANTENNAS,
            ANTENNAS,
            TONES,
            PILOTS,
            method="mmse",
            errors_as_noise=True,
            **self._estimate,
            **where,
        )
        equalizer = cudaphy.mimo_equalizer(
            ANTENNAS,
            ANTENNAS,
            symbols=SYMBOLS - len(PILOT_SYMBOLS),
            tones=TONES,
            noise_input=True,
            **where,
        )
        # The receiver's own steps of an LLR.
        steps = 12 if backend == "cuda" else 6
        soft = {} if self._floats else dict(type="int8", llr_steps=steps)
        demapper = cudaphy.soft_demapper(
            self._constellation.name, vlen=ANTENNAS, noise_input=True, **soft, **where
        )
        soft = {} if self._floats else dict(type="int8")
        decoder = cudaphy.ldpc_decoder(
            CODE, max_iterations=self.arguments.iterations, **soft, **where
        )
        self.connect(source, parts)
        self.connect((parts, 0), estimator)
        self.connect((parts, 1), (equalizer, 0))
        self.connect((estimator, 0), (equalizer, 1))  # channel matrices
        self.connect((estimator, 1), (equalizer, 2))  # noise variance
        self.connect((equalizer, 0), (demapper, 0))
        self.connect((equalizer, 1), (demapper, 1))
        self.connect(demapper, decoder)
        return estimator, equalizer, decoder


class link(receivers):
    """Transmitter, channel, a receiver in one block on each backend, and one block by block on the first.

    counters[backend's index] and `plain` count errors; `differing` what the two receivers on the first
    backend decided differently, `difference` what two backends did. With keep, `kept` has what passes
    within the receivers: name -> (in one block, block by block), and `received` the samples.
    """

    def __init__(self, snr_db, slots, arguments, backends, keep=False):
        receivers.__init__(self, "MIMO receiver", arguments, snr_db)
        bits = blocks.head(gr.sizeof_char, words_of(arguments, slots) * CODE.k)
        # They wait here for the decoders' while their slots are under way.
        bits.set_min_output_buffer(64 * words_of(arguments) * CODE.k)
        self.connect(analog.random_uniform_source_b(0, 2, arguments.seed), bits)
        # A block written in Python lives only as long as somebody names it.
        self.channel = cudaphy.mimo_channel_model(
            transmit_antennas=ANTENNAS,
            receive_antennas=ANTENNAS,
            tones=TONES,
            symbols=SYMBOLS,
            snr_db=snr_db,
            taps=PATHS,
            delay_spread=DELAY_SPREAD,
            seed=arguments.seed,
        )
        self.connect(self._transmitter(bits, backends[0]), self.channel)
        ports = dict(put_channel=keep, put_layers=keep, put_noise=keep)
        self.receivers = [
            self.in_one_block(self.channel, backend, **ports) for backend in backends
        ]
        estimator, equalizer, decoder = self.block_by_block(self.channel, backends[0])
        self.counters = [
            link_tools.error_counter(self, (one, 0), bits, CODE.k)
            for one in self.receivers
        ]
        self.plain = link_tools.error_counter(self, decoder, bits, CODE.k)
        self.differing = link_tools.error_counter(
            self, (self.receivers[0], 0), decoder, CODE.k
        )
        decided = [(one, 0) for one in self.receivers]
        self.difference = link_tools.difference_counter(self, decided, CODE.k)
        if keep:
            one = self.receivers[0]
            self._kept = {
                "H": self._sinks((one, 1), (estimator, 0), blocks.vector_sink_c, 16),
                "x": self._sinks((one, 2), (equalizer, 0), blocks.vector_sink_c, 4),
                "noise": self._sinks((one, 3), (equalizer, 1), blocks.vector_sink_f, 4),
            }
            self._received = blocks.vector_sink_c(ANTENNAS)
            self.connect(self.channel, self._received)

    def _transmitter(self, bits, backend):
        slot = blocks.stream_mux(VECTOR, PARTS)
        slot.set_min_output_buffer(4 * sum(PARTS))
        pilots = PILOTS.pilots.ravel().tolist()
        self.connect(blocks.vector_source_c(pilots, True, ANTENNAS), (slot, 0))
        self.connect(
            bits,
            cudaphy.ldpc_encoder(CODE, backend=backend, device=self.arguments.device),
            blocks.repack_bits_bb(
                1, self._constellation.bits, "", False, gr.GR_MSB_FIRST
            ),
            digital.chunks_to_symbols_bc(self._constellation.points.tolist()),
            blocks.stream_to_vector(gr.sizeof_gr_complex, ANTENNAS),
            (slot, 1),
        )
        return slot

    def _sinks(self, one, other, make, vlen):
        pair = make(vlen), make(vlen)
        self.connect(one, pair[0])
        self.connect(other, pair[1])
        return pair

    def kept(self, name):
        """In one block and block by block, flat."""
        return [np.array(sink.data()) for sink in self._kept[name]]

    def received(self):
        return self._received.data()


class alone(receivers):
    """The same slots again and again through one of the receivers."""

    def __init__(self, received, slots, arguments, backend, fused):
        receivers.__init__(self, "alone", arguments, SHOWN_SNR_DB)
        head = blocks.head(VECTOR, slots * sum(PARTS))
        self.connect(blocks.vector_source_c(received, True, ANTENNAS), head)
        self._last = (
            self.in_one_block(head, backend)
            if fused
            else self.block_by_block(head, backend)[-1]
        )
        self.connect((self._last, 0), blocks.null_sink(1))

    def seconds(self):
        began = time.monotonic()
        self.run()
        return time.monotonic() - began


def slots_of(arguments):
    return arguments.slots or (6 if arguments.quick else 200)


def points(arguments):
    """SNR in dB, ascending."""
    if arguments.snr:
        return sorted(arguments.snr)
    steps = (7, 18) if arguments.quick else range(0, 19, 2)
    return [LOWEST_SNR_DB[arguments.qam] + step for step in steps]


def measure(arguments, backends, bar):
    """Prints the table; gives [(SNR, BLER in one block, BLER block by block)], and whether all is well."""
    words = words_of(arguments, slots_of(arguments))
    rows = link_tools.table(
        f"5G NR LDPC ({CODE.n}, {CODE.k}), {arguments.qam}-QAM, {ANTENNAS}x{ANTENNAS}, {TONES} tones, "
        f"{words} codewords a point",
        [
            ("SNR dB", ".1f", 6),
            ("BER", "s", 8),
            ("BLER", "s", 8),
            ("block by block", "s", 14),
            ("told", "d", 5),
            ("iter.", ".1f", 5),
        ],
    )
    curve, differing, total, told = [], 0, 0, True
    alike = link_tools.agreement(backends)
    for snr in points(arguments):
        bar.set_description(f"{snr:.1f} dB")
        top = link(snr, slots_of(arguments), arguments, backends)
        counter = top.counters[0]
        link_tools.run(top, counter, words, bar)
        rates = counter.frame_error_rate(), top.plain.frame_error_rate()
        curve.append((snr, *rates))
        rows.row(
            snr,
            link_tools.rate_text(counter.bit_error_rate()),
            *map(link_tools.rate_text, rates),
            top.receivers[0].frame_errors(),
            top.receivers[0].average_iterations(),
        )
        total += words
        differing += top.differing.frame_errors()
        told &= top.receivers[0].frame_errors() == counter.decoder_failures()
        alike.add(words, top.counters, top.difference)
    good = link_tools.check(
        differing == 0,
        f"in one block as block by block: {differing} of {total} codewords decided differently",
    )
    good &= link_tools.check(told, "as many words have failed as are tagged")
    if not arguments.snr:
        snr, bler, _ = curve[-1]
        good &= link_tools.check(bler < 0.1, f"under a tenth lost at {snr:.1f} dB")
    return curve, good & alike.holds()


def check_ports(top):
    """What stands on the receiver's further ports is what the blocks pass on."""
    good = True
    for name in ("H", "x", "noise"):
        one, other = top.kept(name)
        good &= link_tools.check(
            len(one) > 0 and np.array_equal(one, other),
            f"{name} of the receiver's port is that of the block, {len(one)} numbers bit for bit",
        )
    return good


def rates(received, arguments, backend):
    """Slots a second, in one block and block by block, each by itself; for the eye, not checked."""
    slots = TIMED_SLOTS * (1 if arguments.quick else 64)
    out = []
    for fused in (True, False):
        top = alone(received, slots, arguments, backend, fused)
        out.append(slots / top.seconds())
    bits = words_of(arguments) * CODE.k
    print(
        f"\n{backend}, at {SHOWN_SNR_DB} dB, through GNU Radio: in one block {out[0]:.0f} slots/s "
        f"({1e-6 * bits * out[0]:.1f} Mb/s), block by block {out[1]:.0f} slots/s"
    )
    return out


def draw(curve, top, speeds, arguments, backend):
    figure, axes = link_tools.styled_pyplot().subplot_mosaic(
        [["x", "H"], ["sinr", "BLER"]], figsize=(9.5, 8)
    )
    colors = (link_tools.BLUE, link_tools.ORANGE, link_tools.GREEN, link_tools.RED)
    slot = PARTS[1]
    h = top.kept("H")[0].reshape(-1, TONES, ANTENNAS, ANTENNAS)[0]
    x = top.kept("x")[0].reshape(-1, ANTENNAS)[:slot]
    noise = top.kept("noise")[0].reshape(-1, TONES, ANTENNAS)[0]
    ideal = cudaphy.constellation(f"qam{arguments.qam}").points
    for layer, color in enumerate(colors):
        name = f"layer {layer + 1}"
        axes["x"].plot(x[:, layer].real, x[:, layer].imag, ".", color=color, ms=1.5)
        gain = 20 * np.log10(np.abs(h[:, 0, layer]) + 1e-9)
        axes["H"].plot(gain, color=color, label=f"from {name}")
        axes["sinr"].plot(-10 * np.log10(noise[:, layer]), color=color, label=name)
    axes["x"].plot(ideal.real, ideal.imag, "+", color="black", ms=6, mew=1)
    axes["x"].set(title="Port x: the layers of one slot", aspect="equal")
    axes["x"].set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    axes["H"].set(title="Port H: to receive antenna 1", xlabel="tone", ylabel="|H| (dB)")
    axes["sinr"].set(title="Port noise: SINR of each layer", xlabel="tone", ylabel="dB")
    snr, one, other = zip(*curve)
    for rate, style, name in zip(
        (other, one), ("s-", "o:"), ("block by block", "in one block")
    ):
        seen = [(s, r) for s, r in zip(snr, rate) if r > 0]
        if seen:
            color = link_tools.BLUE if name == "in one block" else link_tools.GREY
            axes["BLER"].plot(*zip(*seen), style, color=color, label=name)
    axes["BLER"].set(title="Codewords lost", xlabel="SNR (dB)", yscale="log")
    for name in ("H", "sinr", "BLER"):
        if axes[name].get_lines():
            axes[name].legend(fontsize=8)
    figure.suptitle(
        f"MIMO Receiver, {ANTENNAS}x{ANTENNAS}, {arguments.qam}-QAM, 5G NR LDPC ({CODE.n}, {CODE.k}), "
        f"backend {backend}: {speeds[0]:.0f} slots/s through GNU Radio,\n{speeds[1]:.0f} block by block; "
        f"its further ports show a slot at {SHOWN_SNR_DB} dB",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "mimo_receiver.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument("--qam", type=int, choices=list(LOWEST_SNR_DB), default=64)
    parser.add_argument(
        "--snr", type=link_tools.number_list, help="dB; default: around the waterfall"
    )
    parser.add_argument(
        "--slots", type=link_tools.count, help="a point; default: 200, or 6 with --quick"
    )
    parser.add_argument("--iterations", type=link_tools.count, default=20)
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    total = words_of(arguments, slots_of(arguments)) * len(points(arguments))
    with link_tools.progress(total, "codeword", "MIMO receiver") as bar:
        curve, good = measure(arguments, backends, bar)
    slots = 2 if arguments.quick else TIMED_SLOTS
    shown = link(SHOWN_SNR_DB, slots, arguments, backends[:1], True)
    shown.run()
    good &= check_ports(shown)
    speeds = rates(shown.received(), arguments, backends[0])
    draw(curve, shown, speeds, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
