#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A 4x4 MIMO-OFDM link with IEEE 802.11n LDPC codes over a Rayleigh channel, received with zero
forcing and with MMSE side by side.

Bits -> LDPC encoder -> QAM -> 4 spatial layers -> slots of pilots and data -> multipath Rayleigh
channel and noise -> channel estimator -> equalizer -> soft demapper -> LDPC decoder -> frame error
counter. SNR is signal over noise at one receive antenna.

--taps puts given impulse responses between the antennas in place of fading, such as those of a
furnished room, from Maxwell's equations, that fdtd_mimo_channel.py saves."""

import math

import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, digital, gr

ANTENNAS = 4  # at each end, and as many layers
TONES = 54
PILOT_SYMBOLS = 8
DATA_SYMBOLS = (
    18  # with 54 tones and 4 layers 1944 bits a bit of a symbol: whole codewords
)
CODEWORD = 1944
PATHS, DELAY_SPREAD = 6, 2.0
METHODS = ("zf", "mmse")
VECTOR = gr.sizeof_gr_complex * ANTENNAS
SLOT = [PILOT_SYMBOLS * TONES, DATA_SYMBOLS * TONES]  # vectors
LABELS = {"zf": "zero forcing", "mmse": "MMSE"}
LOWEST_SNR_DB = {"1/2": 6, "5/6": 14}  # for 16-QAM, where nothing gets through yet
SHOWN_SNR_DB = 22  # of the constellations in the picture


def bits_of(qam):
    return int(math.log2(qam))


def constellation_of(qam):
    return "qpsk" if qam == 4 else f"qam{qam}"


def codewords_in(slots, qam):
    return slots * TONES * DATA_SYMBOLS * ANTENNAS * bits_of(qam) // CODEWORD


class link(gr.top_block):
    """Transmitter, channel, and for each backend a receiver by each method.

    counters[backend's index][method] counts errors; disagreements[method] what two backends
    decided differently. With keep_symbols, symbols("received" or a method) are those of all slots.
    """

    def __init__(self, rate, qam, snr_db, slots, arguments, backends, keep_symbols=False):
        gr.top_block.__init__(self, "MIMO link", catch_exceptions=True)
        self._code = cudaphy.ldpc_code("wifi", n=CODEWORD, rate=rate)
        self._constellation = cudaphy.constellation(constellation_of(qam))
        self._pilots = cudaphy.orthogonal_pilots(PILOT_SYMBOLS, ANTENNAS)
        self._iterations, self._device = arguments.iterations, arguments.device
        self._kept = {} if keep_symbols else None

        bits = self._bits(codewords_in(slots, qam) * self._code.k, arguments.seed)
        # A block written in Python lives only as long as somebody names it.
        self.channel = cudaphy.mimo_channel_model(
            transmit_antennas=ANTENNAS,
            receive_antennas=ANTENNAS,
            tones=TONES,
            symbols=PILOT_SYMBOLS + DATA_SYMBOLS,
            snr_db=snr_db,
            taps=PATHS,
            delay_spread=DELAY_SPREAD,
            seed=arguments.seed,
            impulse_response=arguments.taps,
        )
        self.channel.set_min_output_buffer(16 * sum(SLOT))  # else one slot at a time
        self.connect(self._transmitter(bits, backends[0]), self.channel)
        decoded = [self._receiver(self.channel, backend) for backend in backends]
        self.counters = [
            {
                method: link_tools.error_counter(self, one[method], bits, self._code.k)
                for method in METHODS
            }
            for one in decoded
        ]
        self.disagreements = {}
        if len(decoded) == 2:
            for method in METHODS:
                pair = [one[method] for one in decoded]
                self.disagreements[method] = link_tools.error_counter(
                    self, *pair, self._code.k
                )

    def _bits(self, count, seed):
        bits = blocks.head(gr.sizeof_char, count)
        # They wait here for the decoder's while their slots are under way.
        slot = codewords_in(1, 2**self._constellation.bits) * self._code.k
        bits.set_min_output_buffer(64 * slot)
        self.connect(analog.random_uniform_source_b(0, 2, seed), bits)
        return bits

    def _transmitter(self, bits, backend):
        """Gives the block that puts out what the antennas send."""
        slot = blocks.stream_mux(VECTOR, SLOT)
        slot.set_min_output_buffer(16 * sum(SLOT))
        # The layers' pilots are the same on each tone of a symbol.
        pilots = np.repeat(self._pilots, TONES, axis=0).ravel().tolist()
        self.connect(blocks.vector_source_c(pilots, True, ANTENNAS), (slot, 0))
        self.connect(
            bits,
            cudaphy.ldpc_encoder(self._code, backend=backend, device=self._device),
            blocks.repack_bits_bb(
                1, self._constellation.bits, "", False, gr.GR_MSB_FIRST
            ),
            digital.chunks_to_symbols_bc(self._constellation.points.tolist()),
            blocks.stream_to_vector(gr.sizeof_gr_complex, ANTENNAS),
            (slot, 1),
        )
        return slot

    def _receiver(self, channel, backend):
        """Gives the decoder of each method."""
        where = {"backend": backend, "device": self._device}
        parts = blocks.stream_demux(VECTOR, SLOT)
        estimator = cudaphy.mimo_channel_estimator(
            ANTENNAS, ANTENNAS, TONES, self._pilots, errors_as_noise=True, **where
        )
        parts.set_min_output_buffer(16 * SLOT[1])
        self.connect(channel, parts)
        self.connect((parts, 0), estimator)
        self._keep("received", (parts, 1))
        decoders = {}
        for method in METHODS:
            equalizer = cudaphy.mimo_equalizer(
                ANTENNAS,
                ANTENNAS,
                method=method,
                symbols=DATA_SYMBOLS,
                tones=TONES,
                noise_input=True,
                **where,
            )
            demapper = cudaphy.soft_demapper(
                self._constellation.name, vlen=ANTENNAS, noise_input=True, **where
            )
            decoders[method] = cudaphy.ldpc_decoder(
                self._code, max_iterations=self._iterations, **where
            )
            self.connect((parts, 1), (equalizer, 0))
            self.connect((estimator, 0), (equalizer, 1))  # channel matrices
            self.connect((estimator, 1), (equalizer, 2))  # noise variance
            self.connect((equalizer, 0), (demapper, 0))
            self.connect((equalizer, 1), (demapper, 1))
            self.connect(demapper, decoders[method])
            self._keep(method, (equalizer, 0))
        return decoders

    def _keep(self, name, source):
        if self._kept is not None and name not in self._kept:
            self._kept[name] = blocks.vector_sink_c(ANTENNAS)
            self.connect(source, self._kept[name])

    def symbols(self, name):
        """(vectors, antennas or layers)"""
        return np.array(self._kept[name].data()).reshape(-1, ANTENNAS)


def slots_of(arguments):
    return arguments.slots or (12 if arguments.quick else 200)


def points(rate, arguments):
    """SNR in dB, ascending."""
    if arguments.snr:
        return sorted(arguments.snr)
    lowest = LOWEST_SNR_DB[rate] + 3 * (bits_of(arguments.qam) - 4)
    return [lowest + step for step in ((2, 18) if arguments.quick else range(19))]


def measure(rate, arguments, backends, bar):
    """Prints the table of a rate; gives {method: [(SNR, codewords, BLER, BER)]}, and
    whether all checks hold."""
    slots = slots_of(arguments)
    frames = codewords_in(slots, arguments.qam)
    rows = link_tools.table(
        f"802.11n LDPC n {CODEWORD} rate {rate}, {arguments.qam}-QAM, {ANTENNAS}x{ANTENNAS}, "
        f"{frames} codewords a point",
        [
            ("SNR dB", ".1f", 6),
            ("BER zf", "s", 8),
            ("BER mmse", "s", 8),
            ("BLER zf", "s", 8),
            ("BLER mmse", "s", 9),
            ("iter. zf", ".1f", 8),
            ("iter. mmse", ".1f", 10),
            ("Mb/s", ".1f", 6),
        ],
    )
    curves, counts = {method: [] for method in METHODS}, []
    differing, lost = 0, np.zeros(2, int)
    for snr in points(rate, arguments):
        bar.set_description(f"rate {rate}, {snr:.1f} dB")
        top = link(rate, arguments.qam, snr, slots, arguments, backends)
        got = top.counters[0]
        seconds = link_tools.run(top, got["mmse"], frames, bar)
        bers = {method: got[method].bit_error_rate() for method in METHODS}
        blers = {method: got[method].frame_error_rate() for method in METHODS}
        for method in METHODS:
            curves[method].append((snr, frames, blers[method], bers[method]))
        counts.append({m: (got[m].bit_errors(), got[m].frame_errors()) for m in METHODS})
        if arguments.compare:
            differing += sum(pair.frame_errors() for pair in top.disagreements.values())
            lost += [sum(c.frame_errors() for c in one.values()) for one in top.counters]
        rows.row(
            snr,
            *(link_tools.rate_text(bers[method]) for method in METHODS),
            *(link_tools.rate_text(blers[method]) for method in METHODS),
            *(got[method].average_iterations() for method in METHODS),
            # Each method decodes all of it.
            len(METHODS) * got["mmse"].bits() / seconds / 1e6,
        )
    good = checks(rate, arguments, counts, curves)
    if arguments.compare:
        received = frames * len(counts) * len(METHODS)
        good &= link_tools.check_agreement(backends, received, lost, differing)
    return curves, good


def checks(rate, arguments, counts, curves):
    zf, mmse = (counts[0][method][0] for method in METHODS)
    good = link_tools.check(
        mmse < zf or zf == mmse == 0,
        f"rate {rate}: MMSE beats zero forcing at {curves['zf'][0][0]:.1f} dB, "
        f"{mmse} wrong bits against {zf}",
    )
    zf, mmse = (sum(count[method][1] for count in counts) for method in METHODS)
    good &= link_tools.check(
        mmse <= zf,
        f"rate {rate}: MMSE loses no more codewords over all SNR, {mmse} against {zf}",
    )
    if not arguments.snr:
        snr, _, bler, _ = curves["mmse"][-1]
        good &= link_tools.check(
            bler < 0.1, f"rate {rate}: MMSE loses under a tenth at {snr:.1f} dB"
        )
    return good


def draw_symbols(axis, title, symbols, color, limit, ideal=None):
    axis.plot(symbols.real, symbols.imag, ".", color=color, markersize=1.8, alpha=0.45)
    if ideal is not None:
        axis.plot(ideal.real, ideal.imag, "+", color="black", markersize=7, mew=1.1)
    axis.set(title=title, xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    axis.set(xlabel="in-phase", ylabel="quadrature")


def draw(results, top, arguments, backends):
    figure, axes = link_tools.styled_pyplot().subplot_mosaic(
        [
            ["received"] * 2 + ["zf"] * 2 + ["mmse"] * 2,
            ["BER"] * 3 + ["BLER"] * 3,
            ["legend"] * 6,
        ],
        figsize=(10, 8.2),
        height_ratios=(1, 1.15, 0.06),
    )
    ideal = cudaphy.constellation(constellation_of(arguments.qam)).points
    received = top.symbols("received")[:, 0]
    draw_symbols(axes["received"], "Receive antenna 1", received, link_tools.GREY, 4.5)
    colors = dict(zip(METHODS, (link_tools.ORANGE, link_tools.BLUE)))
    for method in METHODS:
        symbols, title = top.symbols(method).ravel(), f"After {LABELS[method]}"
        draw_symbols(axes[method], title, symbols, colors[method], 1.8, ideal)
    styles = ("o-", "s--", "^:", "v-.")
    for (rate, curves), style in zip(results, styles):
        for method in METHODS:
            label = f"{LABELS[method]}, rate {rate}"
            for name, index in (("BLER", 2), ("BER", 3)):
                seen = [(p[0], p[index]) for p in curves[method] if p[index] > 0]
                if seen:
                    axes[name].plot(*zip(*seen), style, color=colors[method], label=label)
    for name, title in (
        ("BER", "Wrong bits after decoding"),
        ("BLER", "Wrong codewords"),
    ):
        axes[name].set(title=title, xlabel="SNR (dB)", ylabel=name, yscale="log")
        axes[name].set_ylim(top=1.5)
        axes[name].grid(True, which="minor", linewidth=0.35)
    axes["legend"].axis("off")
    handles = axes["BER"].get_lines()
    axes["legend"].legend(handles=handles, loc="center", ncols=len(handles))
    channel = "given responses" if arguments.taps else "multipath Rayleigh channel"
    figure.suptitle(
        f"{ANTENNAS}x{ANTENNAS} MIMO-OFDM, {arguments.qam}-QAM, 802.11n LDPC {CODEWORD}, "
        f"{channel}, backend {backends[0]}\nabove: the symbols of one slot "
        f"at {SHOWN_SNR_DB} dB",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "mimo_ldpc_link.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--rate",
        nargs="+",
        choices=list(LOWEST_SNR_DB),
        default=["1/2", "5/6"],
        help="of the code; default: 1/2 5/6",
    )
    parser.add_argument("--qam", type=int, choices=(4, 16, 64, 256), default=16)
    parser.add_argument(
        "--snr", type=link_tools.number_list, help="dB; default: around the waterfall"
    )
    parser.add_argument(
        "--slots", type=link_tools.count, help="a point; default: 200, or 12 with --quick"
    )
    parser.add_argument("--iterations", type=link_tools.count, default=20)
    parser.add_argument(
        "--taps",
        help="a .npy file with responses (4, 4, taps) of mean energy 1, instead of fading",
    )
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    frames = codewords_in(slots_of(arguments), arguments.qam)
    total = frames * sum(len(points(rate, arguments)) for rate in arguments.rate)
    results, good = [], True
    with link_tools.progress(total, "codeword", "MIMO link") as bar:
        for rate in arguments.rate:
            curves, right = measure(rate, arguments, backends, bar)
            results.append((rate, curves))
            good = good and right
    shown = link(
        arguments.rate[0], arguments.qam, SHOWN_SNR_DB, 1, arguments, backends, True
    )
    shown.run()
    draw(results, shown, arguments, backends)
    return good


if __name__ == "__main__":
    link_tools.main(main)
