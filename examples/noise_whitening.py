#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whitening with the Triangular Inverse block: four antennas receive one signal in noise that is correlated
between them, and the receiver knows the Cholesky factor L of every tone's noise covariance L L^H.

QPSK symbols s -> y = (s, s, s, s) + L w with white w -> z = L^-1 y = g s + w with g = L^-1 (1, 1, 1, 1) -> g^H z
-> nearest symbols -> frame error counter; beside it a receiver that adds the antennas up as they are. L has
ones on its diagonal and Gaussian numbers below. Whitened, a symbol's energy is |g|^2 Es / N0 and the bit error
rate Q(|g| sqrt(Es / N0)), the best that any receiver can do (Van Trees, Detection, Estimation, and Modulation
Theory I, section 2.6); the table compares with its mean over L."""

import math

import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, digital, gr

ANTENNAS = 4
ELEMENTS = ANTENNAS * ANTENNAS
BELOW = 1.5  # root mean square of the elements below L's diagonal
TONES = 12  # in a frame: an LTE resource block
FRAME = TONES * 2  # bits
FRAMES, QUICK_FRAMES = 40000, 4000
SNR_DB = [-8, -4, 0, 4]


def expected_bers(snr_db):
    """The mean over L of the bit error rate, whitened and not."""
    draws = 100000
    parts = np.random.default_rng(1).standard_normal((draws, ANTENNAS, ANTENNAS, 2))
    below = BELOW * np.tril(parts @ [1, 1j] / np.sqrt(2), -1)
    factors = below + np.eye(ANTENNAS)
    ones = np.ones((draws, ANTENNAS, 1))
    whitened = np.square(np.abs(np.linalg.solve(factors, ones))).sum((1, 2))
    added = ANTENNAS**2 / np.square(np.abs(factors.sum(1))).sum(1)
    q = np.vectorize(lambda x: math.erfc(x / math.sqrt(2)) / 2)
    return [q(np.sqrt(gain * 10 ** (snr_db / 10))).mean() for gain in (whitened, added)]


class link(gr.top_block):
    """Transmitter, channel, and for each backend a receiver and its frame error counter; `added`
    counts the errors of the one that does not whiten.

    With two backends, `difference` counts what they decided differently."""

    def __init__(self, snr_db, frames, arguments, backends):
        gr.top_block.__init__(self, "noise whitening", catch_exceptions=True)
        qpsk = digital.constellation_qpsk().base()
        seed = arguments.seed
        symbols = blocks.head(gr.sizeof_char, frames * TONES)
        sent = blocks.unpack_k_bits_bb(2)
        # Sent bits wait here while their tones are under way.
        sent.set_min_output_buffer(1 << 20)
        self.connect(analog.random_uniform_source_b(0, 4, seed), symbols, sent)

        # What stands beside the triangle, the block does not read, nor the diagonal.
        factors = blocks.stream_to_vector(gr.sizeof_gr_complex, ELEMENTS)
        self.connect(analog.noise_source_c(analog.GR_GAUSSIAN, BELOW, seed + 1), factors)
        triangle = blocks.vector_to_stream(gr.sizeof_gr_complex, ELEMENTS)
        self.connect(
            factors,
            blocks.multiply_const_vcc(np.tri(ANTENNAS, k=-1).ravel().tolist()),
            blocks.add_const_vcc(np.eye(ANTENNAS).ravel().tolist()),
            triangle,
        )
        white = analog.noise_source_c(analog.GR_GAUSSIAN, 10 ** (-snr_db / 20), seed + 2)
        received = blocks.add_cc()
        self.connect(
            symbols,
            digital.chunks_to_symbols_bc([p / abs(p) for p in qpsk.points()]),
            blocks.repeat(gr.sizeof_gr_complex, ANTENNAS),
            (received, 0),
        )
        self.connect(link_tools.product(self, triangle, white, ANTENNAS), (received, 1))

        sums = blocks.integrate_cc(ANTENNAS)
        self.connect(received, sums)
        self.added = link_tools.error_counter(
            self, link_tools.decided_bits(self, sums, qpsk), sent, FRAME
        )

        self.inverses, self.counters, decided = [], [], []
        for backend in backends:
            inverse = cudaphy.triangular_matrix_inverse(
                ANTENNAS, unit_diagonal=True, backend=backend, device=arguments.device
            )
            rows = blocks.vector_to_stream(gr.sizeof_gr_complex, ELEMENTS)
            self.connect(factors, inverse, rows)
            gains = blocks.integrate_cc(ANTENNAS)  # L^-1 (1, 1, 1, 1)
            self.connect(rows, gains)
            combined = blocks.multiply_conjugate_cc()
            self.connect(
                link_tools.product(self, rows, received, ANTENNAS), (combined, 0)
            )
            self.connect(gains, (combined, 1))
            sums = blocks.integrate_cc(ANTENNAS)
            self.connect(combined, sums)
            bits = link_tools.decided_bits(self, sums, qpsk)
            self.inverses.append(inverse)
            self.counters.append(link_tools.error_counter(self, bits, sent, FRAME))
            decided.append(bits)
        self.difference = link_tools.difference_counter(self, decided, FRAME)


def measure(arguments, backends, frames, bar):
    """Prints the table; gives (SNR, whitened, added, theory of both), and whether all is well."""
    rows = link_tools.table(
        f"{ANTENNAS} antennas, QPSK in correlated noise, {frames} frames of {FRAME} bits a point",
        [
            ("Es/N0 dB", ".1f", 8),
            ("BER", ".2e", 9),
            ("theory", ".2e", 9),
            ("not whitened", ".2e", 12),
            ("theory", ".2e", 9),
            ("M matrices/s", ".2f", 12),
        ],
    )
    curve, good, alike = [], True, link_tools.agreement(backends)
    for snr_db in arguments.snr:
        top = link(snr_db, frames, arguments, backends)
        counter = top.counters[0]
        seconds = link_tools.run(top, counter, frames, bar)
        failures = sum(inverse.failures() for inverse in top.inverses)
        rates = counter.bit_error_rate(), top.added.bit_error_rate()
        expected = expected_bers(snr_db)
        curve.append((snr_db, *rates, *expected))
        rows.row(
            snr_db,
            rates[0],
            expected[0],
            rates[1],
            expected[1],
            1e-6 * frames * TONES / seconds,
        )
        # Both bits of a symbol have the same L, and the mean over L was drawn too.
        for rate, theory, name in zip(rates, expected, ("whitened", "not whitened")):
            deviation = math.sqrt(2 * theory / (frames * FRAME) + theory / 100000)
            deviation += 1 / (frames * FRAME)
            good &= link_tools.check(
                abs(rate - theory) < 5 * deviation and failures == 0,
                f"{snr_db:.1f} dB, {name}: the bit error rate is that of theory within "
                f"{5 * deviation:.1e}",
            )
        alike.add(frames, top.counters, top.difference)
    return curve, good & alike.holds()


def draw(curve, arguments, backend):
    figure, axis = link_tools.styled_pyplot().subplots(figsize=(6, 4))
    snr, whitened, added, best, plain = zip(*curve)
    for theory, measured, color, name in (
        (plain, added, link_tools.ORANGE, "antennas added"),
        (best, whitened, link_tools.BLUE, f"whitened, {backend}"),
    ):
        axis.plot(snr, theory, "-", color=color, alpha=0.5, label="theory")
        axis.plot(snr, measured, "o", color=color, label=name)
    axis.set(xlabel="Es/N0 (dB)", ylabel="bit error rate", yscale="log")
    axis.set(title=f"QPSK at {ANTENNAS} antennas in correlated noise")
    axis.legend()
    link_tools.save(figure, arguments, "noise_whitening.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--snr",
        type=link_tools.number_list,
        default=SNR_DB,
        help="dB; default: -8,-4,0,4",
    )
    parser.add_argument("--frames", type=link_tools.count, help="a point")
    arguments = parser.parse_args()
    backends = link_tools.chosen_backends(arguments)
    frames = arguments.frames or (QUICK_FRAMES if arguments.quick else FRAMES)
    total = frames * len(arguments.snr)
    with link_tools.progress(total, "frame", "noise whitening") as bar:
        curve, good = measure(arguments, backends, frames, bar)
    draw(curve, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
