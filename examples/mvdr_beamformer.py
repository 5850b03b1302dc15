#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An antenna array that hears one station and silences the others, by the Symmetric Inverse block.

Frames: the wanted station is silent for K snapshots of N antennas, then sends QPSK; interferers, each far stronger,
send noise all the time. Snapshots of the silence -> sample covariance R -> R^-1 -> weights R^-1 a / (a^H R^-1 a)
(Capon's minimum-variance beamformer), which form the beam that receives the frame's symbols; beside it a beam that
only looks at the station. a is the station's steering vector, for antennas half a wavelength apart.

Weights from K snapshots reach a part rho of the best output SINR, the one of the true covariance. It has the beta
distribution B(K - N + 2, N - 1) and the mean (K - N + 2) / (K + 1) (Reed, Mallett and Brennan, IEEE Trans. Aerosp.
Electron. Syst. 10(6), 1974). In whitened coordinates the weights' error has no preferred direction, so that the mean
response to an interferer a_i, with c = a^H R^-1 a and b = a^H R^-1 a_i, is
|b/c|^2 + (a_i^H R^-1 a_i - |b|^2 / c) / (c (K - N + 1)). Both are checked."""

import math

import link_tools
import numpy as np
from gnuradio import analog, blocks, cudaphy, digital, gr

KEY = "packet_len"
SYMBOLS = 64  # in a frame, after its silence
FRAMES, QUICK_FRAMES = 1000, 200
MULTIPLES, QUICK_MULTIPLES = (1.5, 2, 3, 5, 10), (2, 5)  # of N, snapshots
NULL_DB = -30


class scene:
    """Who sends from where; everything in units of the noise at one antenna, which is 1."""

    def __init__(self, arguments):
        n = arguments.elements
        self.elements = n
        self.wanted = cudaphy.uniform_array(n, arguments.angle)
        self.interferers = cudaphy.uniform_array(n, arguments.interferers)
        self.amplitude = 10 ** (arguments.snr / 20)
        self.interference = 10 ** (arguments.inr / 20)
        loud = self.interference * self.interferers
        self.covariance = np.eye(n) + loud.T @ loud.conj()
        self._inverse = np.linalg.inv(self.covariance)
        self._gain = (self.wanted.conj() @ self._inverse @ self.wanted).real
        self.best_sinr = self.amplitude**2 * self._gain
        self.best_weights = self._inverse @ self.wanted / self._gain

    def noise_power(self, weights):
        """What is left of interference and noise after the weights, (frames, N)."""
        power = np.einsum("fi,ij,fj->f", weights.conj(), self.covariance, weights)
        return power.real

    def reached(self, weights):
        """Each frame's part of the best SINR."""
        through = np.abs(weights.conj() @ self.wanted) ** 2
        return through / self.noise_power(weights) / self._gain

    def expected_nulls(self, snapshots):
        """Mean squared responses to the interferers."""
        across = self.wanted.conj() @ self._inverse @ self.interferers.T
        own = np.einsum(
            "si,ij,sj->s", self.interferers.conj(), self._inverse, self.interferers
        ).real
        rest = own - np.abs(across) ** 2 / self._gain
        noisy = rest / self._gain / (snapshots - self.elements + 1)
        return np.abs(across / self._gain) ** 2 + noisy


class receiver(gr.top_block):
    """Stations, antennas, and a beamformer on each backend.

    counters[backend's index] counts wrong symbols' frames, `plain` those of the beam that only looks at the
    station; weights() and received() are those of the first backend."""

    def __init__(self, where, snapshots, frames, arguments, backends):
        gr.top_block.__init__(self, "MVDR beamformer", catch_exceptions=True)
        n, item = where.elements, gr.sizeof_gr_complex
        qpsk = digital.constellation_qpsk().base()
        seed = arguments.seed
        sent = blocks.unpack_k_bits_bb(2)
        # Sent bits wait here while their snapshots are under way.
        sent.set_min_output_buffer(1 << 20)
        numbers = blocks.head(gr.sizeof_char, frames * SYMBOLS)
        points = [p / abs(p) for p in qpsk.points()]
        symbols = digital.chunks_to_symbols_bc(points)
        frame = blocks.stream_mux(item, [snapshots, SYMBOLS])
        self.connect(analog.random_uniform_source_b(0, 4, seed), numbers, sent)
        self.connect(blocks.null_source(item), (frame, 0))
        self.connect(numbers, symbols, (frame, 1))
        self._symbols = blocks.vector_sink_c()
        self.connect(symbols, self._symbols)

        antennas = blocks.add_vcc(n)
        noise = blocks.stream_to_vector(item, n)
        self.connect(analog.noise_source_c(analog.GR_GAUSSIAN, 1, seed + 1), noise)
        self.connect(noise, (antennas, 0))
        self._station(frame, where.amplitude * where.wanted, (antennas, 1))
        for i, steering in enumerate(where.interferers):
            source = analog.noise_source_c(analog.GR_GAUSSIAN, 1, seed + 2 + i)
            self._station(source, where.interference * steering, (antennas, 2 + i))

        parts = blocks.stream_demux(item * n, [snapshots, SYMBOLS])
        covariance = cudaphy.array_covariance(n, snapshots, length_tag_key=KEY)
        looking = where.wanted / n
        plain = blocks.multiply_const_vcc(looking.conj().tolist())
        self.connect(antennas, parts)
        self.connect((parts, 0), covariance)
        self.connect((parts, 1), plain)
        self.plain = link_tools.error_counter(
            self,
            link_tools.decided_bits(self, self._sum(plain, n), qpsk),
            sent,
            2 * SYMBOLS,
        )
        # Blocks written in Python live only as long as somebody names them.
        self._kept, self.counters, decided = [covariance], [], []
        self.inverses = []
        for backend in backends:
            inverse = cudaphy.symmetric_matrix_inverse(
                n,
                definite="positive",
                length_tag_key=KEY,
                backend=backend,
                device=arguments.device,
            )
            weights = cudaphy.mvdr_weights(where.wanted, KEY)
            held = blocks.repeat(item * n, SYMBOLS)
            products = blocks.multiply_conjugate_cc(n)
            self.connect(covariance, inverse, weights, held, (products, 1))
            self.connect((parts, 1), (products, 0))
            beam = self._sum(products, n)
            bits = link_tools.decided_bits(self, beam, qpsk)
            self.counters.append(link_tools.error_counter(self, bits, sent, 2 * SYMBOLS))
            self.inverses.append(inverse)
            self._kept.append(weights)
            decided.append(bits)
            if len(decided) == 1:
                self._weights = blocks.vector_sink_c(n)
                self._beam = blocks.vector_sink_c()
                self.connect(weights, self._weights)
                self.connect(beam, self._beam)
        self.difference = link_tools.difference_counter(self, decided, 2 * SYMBOLS)
        self._elements, self._amplitude = n, where.amplitude

    def _station(self, source, steering, port):
        n = len(steering)
        whole = blocks.stream_to_vector(gr.sizeof_gr_complex, n)
        phases = blocks.multiply_const_vcc(steering.tolist())
        self.connect(source, blocks.repeat(gr.sizeof_gr_complex, n), whole, phases, port)

    def _sum(self, vectors, n):
        sums = blocks.integrate_cc(n)
        self.connect(vectors, blocks.vector_to_stream(gr.sizeof_gr_complex, n), sums)
        return sums

    def weights(self):
        """(frames, N)"""
        return np.array(self._weights.data()).reshape(-1, self._elements)

    def sinr(self):
        """At the beam's output, from what was sent and what came."""
        sent = self._amplitude * np.array(self._symbols.data())
        left = np.array(self._beam.data()) - sent
        return self._amplitude**2 / np.mean(np.abs(left) ** 2)


def decibels(ratio):
    return 10 * math.log10(ratio)


def measure(where, arguments, backends, frames, counts, bar):
    """Prints the table; gives [(snapshots, each frame's weights)], and whether all is well."""
    n = where.elements
    best = decibels(where.best_sinr)
    rows = link_tools.table(
        f"{n} antennas, station at {arguments.angle:g} degrees {arguments.snr:g} dB over the noise, interferers "
        f"{arguments.inr:g} dB; {frames} frames; best output SINR {best:.2f} dB",
        [
            ("snapshots", "d", 9),
            ("loss dB", ".3f", 7),
            ("theory", ".3f", 6),
            ("SINR dB", ".2f", 7),
            ("worst null dB", ".1f", 13),
            ("theory", ".1f", 6),
            ("BER", "s", 7),
            ("without nulls", "s", 13),
            ("frames/s", ".0f", 8),
        ],
    )
    out, good, alike = [], True, link_tools.agreement(backends)
    for snapshots in counts:
        top = receiver(where, snapshots, frames, arguments, backends)
        counter = top.counters[0]
        seconds = link_tools.run(top, counter, frames, bar)
        w = top.weights()
        reached = where.reached(w)
        a, b = snapshots - n + 2, n - 1
        mean, deviation = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
        response = np.abs(w.conj() @ where.interferers.T) ** 2
        nulls, expected = response.mean(0), where.expected_nulls(snapshots)
        sinr = top.sinr()
        rows.row(
            snapshots,
            decibels(reached.mean()),
            decibels(mean),
            decibels(sinr),
            decibels(nulls.max()),
            decibels(expected.max()),
            link_tools.rate_text(counter.bit_error_rate()),
            link_tools.rate_text(top.plain.bit_error_rate()),
            frames / seconds,
        )
        out.append((snapshots, w))
        alike.add(frames, top.counters, top.difference)
        off = (reached.mean() - mean) / (deviation / math.sqrt(frames))
        good &= link_tools.check(
            abs(off) < 5 and sum(i.failures() for i in top.inverses) == 0,
            f"{snapshots} snapshots: the mean SINR is that of theory, {off:+.1f} of its deviations away",
        )
        off = np.abs(w.conj() @ where.wanted - 1).max()
        good &= link_tools.check(
            off < 1e-3, f"the station passes unchanged, within {off:.0e}"
        )
        # A null's power is all but exponentially distributed.
        off = np.abs(nulls / expected - 1).max() * math.sqrt(frames)
        good &= link_tools.check(
            off < 7
            and (
                expected.max() > 10 ** (NULL_DB / 10)
                or response.max() < 10 ** (NULL_DB / 10)
            ),
            f"nulls are as deep as theory says; the shallowest of all frames {decibels(response.max()):.1f} dB",
        )
        left = where.amplitude**2 / where.noise_power(w).mean()
        good &= link_tools.check(
            abs(sinr / left - 1) < 6 * math.sqrt(2 / (frames * SYMBOLS)),
            f"SINR of the symbols received {decibels(sinr):.2f} dB, by the weights {decibels(left):.2f} dB",
        )
    good &= link_tools.check(
        top.plain.bit_errors() > 10 * counter.bit_errors(),
        f"the beam that only looks at the station has {top.plain.bit_errors()} wrong bits, "
        f"this one {counter.bit_errors()}",
    )
    return out, good & alike.holds()


def beta_quantiles(a, b, parts):
    """Of the beta distribution, by its density on a grid."""
    x = (np.arange(20000) + 0.5) / 20000
    density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
    whole = np.cumsum(np.exp(density - density.max()))
    return np.interp(parts, whole / whole[-1], x)


def draw(where, results, arguments, backend):
    figure, (axis, loss) = link_tools.styled_pyplot().subplots(
        1, 2, figsize=(11, 4.6), width_ratios=(1.7, 1)
    )
    angles = np.linspace(-90, 90, 1441)
    towards = cudaphy.uniform_array(where.elements, angles)

    def pattern(weights):
        return 20 * np.log10(np.abs(towards @ weights.conj().T) + 1e-6)

    snapshots, w = results[-1]
    axis.plot(
        angles,
        pattern(where.wanted / where.elements),
        color=link_tools.GREY,
        linewidth=1,
        label="looks at the station only",
    )
    axis.plot(angles, pattern(w[:12]), color=link_tools.BLUE, linewidth=0.4, alpha=0.5)
    axis.plot(
        angles,
        pattern(w[0]),
        color=link_tools.BLUE,
        label=f"MVDR, {snapshots} snapshots (thin: other frames)",
    )
    axis.plot(
        angles,
        pattern(where.best_weights),
        "--",
        color=link_tools.GREEN,
        linewidth=1,
        label="MVDR, true covariance",
    )
    for number, angle in enumerate(arguments.interferers):
        label = "interferer" if number == 0 else None
        axis.axvline(angle, color=link_tools.RED, linestyle=":", label=label)
    axis.plot(arguments.angle, 0, "v", color=link_tools.ORANGE, label="station")
    axis.set(xlim=(-90, 90), ylim=(-80, 12), xlabel="angle (degrees)")
    axis.set(ylabel="response (dB)", title="Beam pattern")
    axis.legend(fontsize=7, loc="lower center", ncols=2)

    n = where.elements
    most = max(k for k, _ in results)
    k = np.arange(n + 1, int(1.1 * most) + 1)
    loss.plot(
        k,
        10 * np.log10((k - n + 2) / (k + 1)),
        color=link_tools.ORANGE,
        label="theory: mean",
    )
    bands = np.array([beta_quantiles(i - n + 2, n - 1, [0.05, 0.95]) for i in k])
    loss.fill_between(
        k,
        *10 * np.log10(bands.T),
        color=link_tools.ORANGE,
        alpha=0.2,
        linewidth=0,
        label="theory: 5 to 95 % of frames",
    )
    for number, (count, w) in enumerate(results):
        reached = 10 * np.log10(where.reached(w))
        mean = decibels(where.reached(w).mean())
        spread = np.abs(np.quantile(reached, [0.05, 0.95]) - mean)[:, None]
        loss.errorbar(
            count,
            mean,
            spread,
            fmt="o",
            color=link_tools.BLUE,
            capsize=3,
            label=f"measured, {backend}" if number == 0 else None,
        )
    loss.set(xlabel="snapshots", ylabel="output SINR below the best (dB)", ylim=(-9, 0.3))
    loss.set_title(f"Loss, {n} antennas")
    loss.legend(fontsize=7, loc="lower right")
    link_tools.save(figure, arguments, "mvdr_beamformer.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--elements", type=link_tools.count, default=16, help="default: 16"
    )
    parser.add_argument("--angle", type=float, default=10, help="degrees; default: 10")
    parser.add_argument(
        "--interferers",
        type=link_tools.number_list,
        default=[-40, -12, 35],
        help="degrees; default: -40,-12,35",
    )
    parser.add_argument(
        "--snr", type=float, default=3, help="of the station at one antenna, dB"
    )
    parser.add_argument(
        "--inr", type=float, default=40, help="of an interferer at one antenna, dB"
    )
    parser.add_argument(
        "--snapshots",
        type=link_tools.number_list,
        help="default: 1.5 to 10 for each antenna",
    )
    parser.add_argument("--frames", type=link_tools.count, help="a point")
    arguments = parser.parse_args()
    n = arguments.elements
    multiples = QUICK_MULTIPLES if arguments.quick else MULTIPLES
    counts = sorted(int(k) for k in arguments.snapshots or [m * n for m in multiples])
    if not 2 <= n <= 1024 or counts[0] < n + 2:
        raise ValueError(
            "2 to 1024 elements are needed, and at least 2 snapshots more than that"
        )
    backends = link_tools.chosen_backends(arguments)
    frames = arguments.frames or (QUICK_FRAMES if arguments.quick else FRAMES)
    where = scene(arguments)
    total = frames * len(counts)
    with link_tools.progress(total, "frame", "MVDR beamformer") as bar:
        results, good = measure(where, arguments, backends, frames, counts, bar)
    draw(where, results, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
