#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zero forcing with the Matrix Inverse block: a 4x4 MIMO link, tone by tone, whose receiver knows the
channel, inverts it and multiplies.

QPSK symbols x -> y = H x + noise, with a new Rayleigh channel H on every tone -> H^-1 y -> nearest symbols ->
frame error counter. A layer then has the energy Es / N0 over [(H^H H)^-1]_kk, which has an exponential
distribution for as many antennas as layers (Winters, Salz and Gitlin, IEEE Trans. Commun. 42, 1994), so that
the bit error rate is (1 - sqrt(g / (1 + g))) / 2 with g = Es / (2 N0): the table compares with it."""

import math

import link_tools
from gnuradio import analog, blocks, cudaphy, digital, gr

ANTENNAS = 4
ELEMENTS = ANTENNAS * ANTENNAS
TONES = 12  # in a frame: an LTE resource block
FRAME = TONES * ANTENNAS * 2  # bits
FRAMES, QUICK_FRAMES = 20000, 2000
SNR_DB = [0, 10, 20, 30]


def expected_ber(snr_db):
    g = 10 ** (snr_db / 10) / 2
    return (1 - math.sqrt(g / (1 + g))) / 2


class link(gr.top_block):
    """Transmitter, channel, and for each backend a receiver and its frame error counter.

    With two backends, `difference` counts what they decided differently."""

    def __init__(self, snr_db, frames, arguments, backends):
        gr.top_block.__init__(self, "zero forcing", catch_exceptions=True)
        qpsk = digital.constellation_qpsk().base()
        seed = arguments.seed
        symbols = analog.random_uniform_source_b(0, 4, seed)
        sent = blocks.unpack_k_bits_bb(2)
        # Sent bits wait here while their tones are under way.
        sent.set_min_output_buffer(1 << 20)
        self.connect(symbols, sent)

        # H of each tone, row by row. What is independent of it has seeds of its own.
        channel = blocks.head(gr.sizeof_gr_complex, frames * TONES * ELEMENTS)
        self.connect(analog.noise_source_c(analog.GR_GAUSSIAN, 1.0, seed + 1), channel)

        layers = digital.chunks_to_symbols_bc([p / abs(p) for p in qpsk.points()])
        received = blocks.add_cc()
        noise = 10 ** (-snr_db / 20)
        self.connect(symbols, layers)
        self.connect(link_tools.product(self, channel, layers, ANTENNAS), (received, 0))
        self.connect(
            analog.noise_source_c(analog.GR_GAUSSIAN, noise, seed + 2), (received, 1)
        )

        self.inverses, self.counters, decided = [], [], []
        for backend in backends:
            matrices = blocks.stream_to_vector(gr.sizeof_gr_complex, ELEMENTS)
            inverse = cudaphy.matrix_inverse(
                ANTENNAS, backend=backend, device=arguments.device
            )
            rows = blocks.vector_to_stream(gr.sizeof_gr_complex, ELEMENTS)
            self.connect(channel, matrices, inverse, rows)
            layers = link_tools.product(self, rows, received, ANTENNAS)
            bits = link_tools.decided_bits(self, layers, qpsk)
            self.inverses.append(inverse)
            self.counters.append(link_tools.error_counter(self, bits, sent, FRAME))
            decided.append(bits)
        self.difference = link_tools.difference_counter(self, decided, FRAME)


def measure(arguments, backends, frames, bar):
    """Prints the table; gives (SNR, measured, expected) rates and whether all is well."""
    rows = link_tools.table(
        f"{ANTENNAS}x{ANTENNAS} zero forcing, QPSK, {frames} frames of {FRAME} bits a point",
        [
            ("Es/N0 dB", ".1f", 8),
            ("wrong bits", "d", 10),
            ("BER", ".2e", 9),
            ("theory", ".2e", 9),
            ("no inverse", "d", 10),
            ("M matrices/s", ".2f", 12),
        ],
    )
    curve, good, alike = [], True, link_tools.agreement(backends)
    for snr_db in arguments.snr:
        top = link(snr_db, frames, arguments, backends)
        counter = top.counters[0]
        seconds = link_tools.run(top, counter, frames, bar)
        failures = sum(inverse.failures() for inverse in top.inverses)
        rate, expected = counter.bit_error_rate(), expected_ber(snr_db)
        curve.append((snr_db, rate, expected))
        rows.row(
            snr_db,
            counter.bit_errors(),
            rate,
            expected,
            failures,
            1e-6 * frames * TONES / seconds,
        )
        # The bits of a tone go wrong together: eight times the variance at most.
        deviation = math.sqrt(2 * ANTENNAS * expected / (frames * FRAME))
        good &= link_tools.check(
            abs(rate - expected) < 5 * deviation and failures == 0,
            f"{snr_db:.1f} dB: every channel was inverted, and the bit error rate is that of "
            f"theory within {5 * deviation:.1e}",
        )
        alike.add(frames, top.counters, top.difference)
    return curve, good & alike.holds()


def draw(curve, arguments, backend):
    figure, axis = link_tools.styled_pyplot().subplots(figsize=(6, 4))
    snr, measured, expected = zip(*curve)
    axis.plot(snr, expected, "-", color=link_tools.GREY, label="theory")
    axis.plot(snr, measured, "o", color=link_tools.BLUE, label=f"measured, {backend}")
    axis.set(xlabel="Es/N0 of a layer (dB)", ylabel="bit error rate", yscale="log")
    axis.set(title=f"{ANTENNAS}x{ANTENNAS} zero forcing, QPSK")
    axis.legend()
    link_tools.save(figure, arguments, "zero_forcing_by_hand.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--snr",
        type=link_tools.number_list,
        default=SNR_DB,
        help="dB; default: 0,10,20,30",
    )
    parser.add_argument("--frames", type=link_tools.count, help="a point")
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    frames = arguments.frames or (QUICK_FRAMES if arguments.quick else FRAMES)
    with link_tools.progress(frames * len(arguments.snr), "frame", "zero forcing") as bar:
        curve, good = measure(arguments, backends, frames, bar)
    draw(curve, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
