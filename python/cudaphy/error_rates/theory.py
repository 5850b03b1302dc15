# SPDX-License-Identifier: GPL-3.0-or-later
"""Theory: confidence intervals, error rates without coding, the Shannon limit."""

import functools
import math

import numpy as np

from .. import cudaphy_python as _native


def binomial_interval(events, trials, confidence=0.95):
    """(lowest, highest) probability of an event with this count, after Clopper and
    Pearson (Biometrika 26(4), 1934); (0, 1) without trials."""
    from scipy import special  # here, because it takes long to import

    if trials == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low, high = 0.0, 1.0
    if events > 0:
        low = float(special.betaincinv(events, trials - events + 1, tail))
    if events < trials:
        high = float(special.betaincinv(events + 1, trials - events, 1 - tail))
    return low, high


def bit_error_interval(errors, errors_squared, bits, frames):
    """(lowest, highest) bit error rate, 95 %: normal in the rate's logarithm, with the spread of
    the frames' counts, errors_squared being the sum of their squares. Without errors the
    highest takes all bits of a frame as one event."""
    if errors == 0 or frames < 2:
        return 0.0, binomial_interval(min(errors, frames), frames)[1]
    variance = max(errors_squared - errors**2 / frames, 0) * frames / (frames - 1)
    spread = math.exp(1.96 * math.sqrt(variance) / errors) if variance else 1.0
    rate = errors / bits
    return rate / spread, min(1.0, rate * spread)


def _tail(x):
    """Probability that a normal variable exceeds x."""
    from scipy import special

    return 0.5 * special.erfc(x / math.sqrt(2))


def uncoded_bit_error_rate(constellation, eb_n0_db):
    """Bit error rate without coding, deciding for the nearest point; white Gaussian noise.

    constellation: a name of constellation_names(). eb_n0_db: dB, a number or an array.
    Returns the rate, of the same shape; None where the constellation is not the product of two
    amplitude modulations, one for some of the bits, one for the others (PSK, APSK).
    Raises ValueError for an unknown name.
    """
    points = np.asarray(_native.constellation(constellation).points, np.complex128)
    size = int(math.log2(len(points)))
    sigma = np.sqrt(0.5 / size) * 10 ** (-np.asarray(eb_n0_db, float) / 20)
    labels = np.arange(len(points))
    total = 0
    for bit in range(size):
        value = labels >> bit & 1
        for axis in (points.real, points.imag):
            levels, which = np.unique(axis.round(6), return_inverse=True)
            of_level = np.array([value[which == i].mean() for i in range(len(levels))])
            if len(levels) > 1 and set(of_level) == {0, 1}:
                break
        else:
            return None
        if len(np.unique(np.bincount(which))) != 1:
            return None  # levels of different frequency are no product
        edges = (levels[1:] + levels[:-1]) / 2
        changes = np.flatnonzero(np.diff(of_level))
        for level, sent in zip(levels, of_level):
            # The bit at level l is the lowest level's bit, flipped at every change.
            wrong = float(of_level[0] != sent) * np.ones_like(sigma)
            for change in changes:
                beyond = _tail((edges[change] - level) / sigma)
                wrong = wrong + beyond * (1 if of_level[change + 1] != sent else -1)
            total = total + wrong / len(levels)
    rate = total / size
    return float(rate) if np.ndim(eb_n0_db) == 0 else rate


@functools.lru_cache(maxsize=64)
def _capacity(constellation, es_n0_db):
    """Bits a symbol that equally likely points carry at most; Gauss-Hermite quadrature
    (Ungerboeck, IEEE Trans. Inf. Theory 28(1), 1982, equation 5)."""
    from scipy import special

    points = np.asarray(_native.constellation(constellation).points, np.complex128)
    nodes, weights = np.polynomial.hermite.hermgauss(16 if len(points) <= 64 else 8)
    sigma = 10 ** (-es_n0_db / 20)  # of exp(-|w|^2 / N0), whose nodes these are
    noise = sigma * (nodes[:, None] + 1j * nodes).ravel()
    weight = (weights[:, None] * weights).ravel() / math.pi
    loss = 0
    for point in points:
        distance = abs(point + noise[:, None] - points) ** 2 - abs(noise[:, None]) ** 2
        loss += weight @ special.logsumexp(-distance / sigma**2, axis=1)
    return math.log2(len(points)) - loss / len(points) / math.log(2)


def shannon_limit_db(rate, constellation="bpsk"):
    """The least Eb/N0, in dB, at which a code of this rate can be free of errors.

    rate: of the code, above 0, below 1. constellation: a name of constellation_names(), whose
    points are sent equally often. Raises ValueError for another rate or an unknown name.
    """
    if not 0 < rate < 1:
        raise ValueError(f"rate {rate} is not between 0 and 1")
    size = _native.constellation(constellation).bits
    low, high = -20.0, 60.0  # Es/N0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if _capacity(constellation, middle) < rate * size:
            low = middle
        else:
            high = middle
    return high - 10 * math.log10(rate * size)
