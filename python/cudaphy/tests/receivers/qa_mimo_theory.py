#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO reception beside theory: equalizers beside LAPACK in double precision, their
ratios of signal to interference and noise, and the loss that channel estimates cause in a
coded link."""

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, FlowgraphCase, gaussian, main

METHODS = (("zf", True), ("mmse", True), ("mmse", False), ("mmse_irc", True))


def decibels(ratio):
    return 10 * np.log10(ratio)


def root_of_correlation(n, rho=0.9):
    """L with L L^H = rho^|i - j|."""
    return np.linalg.cholesky(
        rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    )


def channels(kind, count, antennas, layers):
    h = gaussian((count, antennas, layers), antennas + 20 * layers)
    if kind == "correlated":  # at both ends
        h = root_of_correlation(antennas) @ h @ root_of_correlation(layers).T
    elif kind == "of low rank":
        h[..., -1] = h[..., 0] * (0.5 - 0.5j)
    return h.astype("complex64")


def weights(h, n0, method):
    """W, b = diag(W H), and the noise after W, in double precision. n0: (items)"""
    h, eye = h.astype("complex128"), np.eye(h.shape[-1])
    hh = np.conj(np.swapaxes(h, -1, -2))
    n0 = n0.astype("float64")[:, None, None]
    w = np.linalg.solve(hh @ h + (0 if method == "zf" else n0 * eye), hh)
    all_gains = w @ h
    noise = n0[..., 0] * np.sum(np.abs(w) ** 2, -1)
    return w, all_gains, noise


def textbook(y, h, n0, method, unbiased):
    """x and its noise variance. The rest of other layers counts as noise."""
    w, gains, noise = weights(h, n0, method)
    x = np.einsum("ilr,ir->il", w, y.astype("complex128"))
    own = np.einsum("ill->il", gains).real
    noise = noise + np.sum(np.abs(gains) ** 2, -1) - own**2
    return (x / own, noise / own**2) if unbiased and method != "zf" else (x, noise)


def covariance_of(n0, antennas):
    return n0[:, None, None] * np.eye(antennas, dtype="complex64")


def equalized(y, h, n0, method, unbiased):
    if method == "mmse_irc":
        covariance = covariance_of(n0, y.shape[-1])
        return cudaphy.equalize(
            y, h, None, method, unbiased, BACKEND, covariance=covariance
        )
    return cudaphy.equalize(y, h, n0, method, unbiased, BACKEND)


class qa_equalizer_theory(FlowgraphCase):
    SIZES = ((1, 1), (2, 2), (4, 2), (4, 4), (8, 5), (16, 8))

    def test_agrees_with_lapack_in_double_precision_over_every_kind_of_channel(self):
        for kind in ("rayleigh", "correlated", "of low rank"):
            for antennas, layers in self.SIZES:
                if kind == "of low rank" and layers == 1:
                    continue
                for method, unbiased in METHODS:
                    if kind == "of low rank" and method == "zf":
                        continue  # has no solution: below
                    with self.subTest(kind, n=(antennas, layers), method=method):
                        h = channels(kind, 400, antennas, layers)
                        y = gaussian((400, antennas), 3)
                        n0 = np.geomspace(0.01, 1, 400).astype("float32")
                        if method == "zf":  # channels that single precision resolves
                            good = np.linalg.cond(h) < 100
                            h, y, n0 = h[good], y[good], n0[good]
                            self.assertGreater(len(h), 100)
                        x, noise = equalized(y, h, n0, method, unbiased)
                        wanted, its_noise = textbook(y, h, n0, method, unbiased)
                        size = np.abs(wanted).max(-1, keepdims=True)
                        most = 2e-3 if method == "zf" else 2e-4
                        self.assertLess((np.abs(x - wanted) / size).max(), most)
                        self.assertLess(np.abs(noise / its_noise - 1).max(), most)

    def test_without_full_rank_zero_forcing_erases_and_counts_and_mmse_is_finite(self):
        for antennas, layers in self.SIZES[1:]:
            h = channels("of low rank", 50, antennas, layers)
            good = np.arange(50) % 3 == 0
            h[good] = channels("rayleigh", 50, antennas, layers)[good]
            y = gaussian((50, antennas), 3)
            block = cudaphy.mimo_equalizer(
                antennas, layers, "zf", noise_variance=0.1, backend=BACKEND
            )
            x, noise = (
                sink.data
                for sink in self.through(
                    block,
                    [y, h.reshape(50, -1)],
                    [("complex64", layers), ("float32", layers)],
                )
            )
            erased = np.isinf(noise)
            self.assertFalse(erased[good].any())
            # If rounding hides a missing layer, the reported noise must be very large.
            self.assertTrue((erased | (noise > 1e5))[~good].any(1).all())
            self.assertGreater(erased[~good].all(1).sum(), 0)
            self.assertTrue((x[erased] == 0).all() and np.isfinite(x).all())
            self.assertEqual(block.failures(), erased.all(1).sum())
            x, noise = cudaphy.equalize(y, h, 0.1, "mmse", backend=BACKEND)
            self.assertTrue(np.isfinite(x).all() and np.isfinite(noise).all())

    def test_the_sinr_of_the_symbols_is_that_of_theory_and_their_gain_is_1(self):
        count = 60000  # symbols over one channel: 0.02 dB of deviation
        for kind in ("rayleigh", "correlated"):
            for antennas, layers in ((2, 2), (4, 4), (8, 4)):
                h = channels(kind, 1, antennas, layers)
                bits = np.random.default_rng(4).integers(0, 4, (count, layers))
                sent = cudaphy.constellation("qpsk").points[bits]
                n0 = np.full(1, 0.1, "float32")
                noise = np.sqrt(n0) * gaussian((count, antennas), 5)
                y = (sent @ h[0].T + noise).astype("complex64")
                inverse = np.linalg.inv(
                    np.eye(layers) + np.conj(h[0].T) @ h[0].astype("complex128") / n0
                )
                least_error = np.diag(inverse).real
                for method, unbiased in METHODS[1:]:
                    with self.subTest(kind, n=(antennas, layers), method=method):
                        x, reported = equalized(
                            y,
                            np.repeat(h, count, 0),
                            np.repeat(n0, count),
                            method,
                            unbiased,
                        )
                        gain = np.mean(np.conj(sent) * x, 0).real
                        left = np.mean(np.abs(x - gain * sent) ** 2, 0)
                        sinr, theory = gain**2 / left, 1 / least_error - 1
                        off = decibels(sinr / theory)
                        self.assertLess(np.abs(off).max(), 0.1)
                        # A demapper takes x as the symbol plus noise of this variance. A
                        # biased x is not.
                        bias = 1 if unbiased else 1 - least_error
                        self.assertLess(np.abs(gain / bias - 1).max(), 0.02)
                        off = decibels(reported[0] / left)
                        self.assertLess(np.abs(off).max(), 0.1)


TONES, SYMBOLS, FFT = 54, 18, 64
PATHS = np.arange(6)
ENERGY = np.exp(-PATHS / 2) / np.exp(-PATHS / 2).sum()
DELAY_SPREAD = 2 / FFT


def estimation_error(method, pilot_symbols, n0):
    """Mean squared error of an element of H, by theory; pilots on every tone."""
    noise = n0 / pilot_symbols
    if method == "ls":
        return noise
    # The estimator assumes exponential delays without end; the channel has six paths.
    apart = np.subtract.outer(np.arange(TONES), np.arange(TONES))
    assumed = 1 / (1 + 2j * np.pi * apart * DELAY_SPREAD)
    true = np.exp(-2j * np.pi * apart[..., None] * PATHS / FFT) @ ENERGY
    w = assumed @ np.linalg.inv(assumed + noise * np.eye(TONES))
    rest = np.eye(TONES) - w
    error = rest @ true @ np.conj(rest.T) + noise * w @ np.conj(w.T)
    return np.diag(error).real.mean()


def known_loss_db(method, layers, pilot_symbols, n0):
    """The symbols times the error are noise, so that all noise is N0 + layers * error.
    The signal is the known part of the channel: by MMSE 1 - error of its energy, by least
    squares, which estimates H plus the error, 1 / (1 + error)."""
    error = estimation_error(method, pilot_symbols, n0)
    if method == "mmse":
        return decibels((1 + layers * error / n0) / (1 - error))
    return decibels(1 + layers * error / n0 + error)


class coded_link:
    """Slots of coded symbols over multipath Rayleigh channels, the same ones at each SNR."""

    SLOTS = 300

    def __init__(self, n, rate, qam, pilot_symbols, seed=1):
        self.n, self.qam = n, qam
        self.code = cudaphy.ldpc_code("wifi", n=648, rate=rate)
        self.pilots = cudaphy.block_pilots(pilot_symbols, n, TONES)
        points = cudaphy.constellation(qam)
        leading = (self.SLOTS, SYMBOLS, TONES, n)
        words = np.prod(leading) * points.bits // self.code.n
        self.bits = np.random.default_rng(seed).integers(
            0, 2, (words, self.code.k), dtype="uint8"
        )
        coded = cudaphy.ldpc_encode(self.code, self.bits, backend="cpu")
        labels = coded.reshape(*leading, -1) @ (1 << np.arange(points.bits)[::-1])
        gains = gaussian((self.SLOTS, len(PATHS), n, n), seed + 1)
        gains *= np.sqrt(ENERGY)[:, None, None].astype("float32")
        phases = np.exp(-2j * np.pi * np.outer(PATHS, np.arange(TONES)) / FFT)
        self.h = np.einsum("ftab,tk->fkab", gains, phases).astype("complex64")
        self.y = np.einsum("fkab,fskb->fska", self.h, points.points[labels])
        self.p = np.einsum("pkt,fkrt->fpkr", self.pilots.pilots, self.h)
        self.noise = [
            gaussian(x.shape, seed + 2 + i) for i, x in enumerate((self.y, self.p))
        ]

    def n0(self, snr_db):
        return self.n * 10 ** (-snr_db / 10)

    def error_rate(self, snr_db, method=None, errors_as_noise=True):
        """The codewords' error rate with the channel known, or estimated by a method."""
        n0 = np.float32(self.n0(snr_db))
        y, p = (
            (x + np.sqrt(n0) * noise).astype("complex64")
            for x, noise in zip((self.y, self.p), self.noise)
        )
        h, noise = self.h, np.full(self.SLOTS, n0)
        if method:
            h, noise = cudaphy.estimate_channel(
                p,
                self.pilots,
                BACKEND,
                method=method,
                delay_spread=DELAY_SPREAD,
                snr_db=snr_db - decibels(self.n),
                errors_as_noise=errors_as_noise,
            )
            self.error = np.mean(np.abs(h - self.h) ** 2)
        x, noise = cudaphy.equalize(y, h[:, None], noise[:, None, None], backend=BACKEND)
        llr = cudaphy.demap(x, noise, self.qam, backend=BACKEND)
        llr = llr.reshape(-1, self.code.n)
        bits, _, _ = cudaphy.ldpc_decode(self.code, llr, backend=BACKEND)
        return np.mean((bits != self.bits).any(1))


class qa_estimated_channels(FlowgraphCase):
    def check(self, method, snr_db, *link):
        link = coded_link(*link)
        loss = 0
        for _ in range(20):  # at an SNR higher by the loss
            n0 = link.n0(snr_db + loss)
            loss = known_loss_db(method, link.n, link.pilots.symbols, n0)
        error = estimation_error(method, link.pilots.symbols, n0)
        rate = link.error_rate(snr_db + loss, method)
        self.assertLess(np.abs(link.error / error - 1), 0.05)
        better, worse = (link.error_rate(snr_db + by) for by in (0.2, -0.2))
        self.assertTrue(0.02 < better < worse < 0.6, (better, worse))
        self.assertTrue(better < rate < worse, (better, rate, worse))
        return link, snr_db + loss, worse

    def test_mmse_estimates_cost_their_known_loss_within_a_fifth_of_a_db(self):
        for snr_db, *link in (
            (13, 2, "1/2", "qam16", 2),
            (11, 4, "3/4", "qpsk", 8),
            (19, 4, "1/2", "qam64", 4),
        ):
            with self.subTest(link=link):
                self.check("mmse", snr_db, *link)

    def test_least_squares_estimates_cost_their_known_loss(self):
        for snr_db, *link in (
            (22, 2, "3/4", "qam64", 2),
            (12, 4, "1/2", "qam16", 4),
            (11, 4, "3/4", "qpsk", 8),
        ):
            with self.subTest(link=link):
                self.check("ls", snr_db, *link)

    def test_an_equalizer_without_the_estimates_errors_trusts_least_squares_too_much(
        self,
    ):
        link, snr_db, worse = self.check("ls", 11, 4, "3/4", "qpsk", 4)
        self.assertGreater(link.error_rate(snr_db, "ls", False), 1.2 * worse)


if __name__ == "__main__":
    main()
