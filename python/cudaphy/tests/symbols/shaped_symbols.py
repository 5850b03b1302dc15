# SPDX-License-Identifier: GPL-3.0-or-later
"""Root-raised-cosine pulses at any rate, in double precision."""

import numpy as np


def root_raised_cosine(t, roll_off):
    """The pulse of unit energy at t symbols."""
    t = np.asarray(t, float)
    u = 4 * roll_off * t
    with np.errstate(divide="ignore", invalid="ignore"):
        pulse = np.sin(np.pi * t * (1 - roll_off)) + u * np.cos(
            np.pi * t * (1 + roll_off)
        )
        pulse /= np.pi * t * (1 - u * u)
    quarter = np.pi / (4 * roll_off)
    limit = (1 + 2 / np.pi) * np.sin(quarter) + (1 - 2 / np.pi) * np.cos(quarter)
    pulse = np.where(np.abs(np.abs(u) - 1) < 1e-7, roll_off / np.sqrt(2) * limit, pulse)
    return np.where(np.abs(t) < 1e-9, 1 - roll_off + 4 * roll_off / np.pi, pulse)


def qpsk(count, seed=1):
    bits = np.random.default_rng(seed).integers(0, 2, (count, 2)) * 2 - 1
    return bits @ [1, 1j] / np.sqrt(2)


def shape(symbols, samples_per_symbol, roll_off, clock_error=0, delay=0.3, reach=40):
    """Samples up to half a symbol after the last symbol. Symbol k is at sample (k + delay) *
    samples_per_symbol * (1 + clock_error), and the matched filter's output is the symbols.
    """
    period = samples_per_symbol * (1 + clock_error)
    t = np.arange(int((len(symbols) - 0.5 + delay) * period) + 1) / period - delay
    nearest = np.rint(t).astype(int)
    offset = t - nearest
    padded = np.concatenate([np.zeros(reach), symbols, np.zeros(reach + 2)])
    samples = np.zeros(len(t), complex)
    for j, pulse in _pulses(offset, roll_off, reach):
        samples += padded[nearest + j + reach] * pulse
    return samples


def _pulses(offset, roll_off, reach):
    """(j, root_raised_cosine(offset - j)) for j = -reach ... reach: by the sums of angles, so that
    sines of many offsets are taken once and not for each j."""
    below, above = np.pi * (1 - roll_off), np.pi * (1 + roll_off)
    sin, cos = np.sin(below * offset), np.cos(below * offset)
    sin_above, cos_above = np.sin(above * offset), np.cos(above * offset)
    for j in range(-reach, reach + 1):
        t = offset - j
        u = 4 * roll_off * t
        divisor = np.pi * t * (1 - u * u)
        pulse = sin * np.cos(below * j) - cos * np.sin(below * j)
        pulse += u * (cos_above * np.cos(above * j) + sin_above * np.sin(above * j))
        # Near its limits the quotient is one of two small differences.
        near = np.abs(divisor) < 1e-3
        with np.errstate(divide="ignore", invalid="ignore"):
            pulse /= divisor
        pulse[near] = root_raised_cosine(t[near], roll_off)
        yield j, pulse


def noisy(samples, es_n0, samples_per_symbol, seed=2):
    """With noise so that the matched filter's output has this Es/N0 in dB."""
    parts = np.random.default_rng(seed).standard_normal((len(samples), 2))
    sigma = np.sqrt(10 ** (-es_n0 / 10) * samples_per_symbol / 2)
    return samples + sigma * (parts @ [1, 1j])


def error_in_db(got, sent):
    """Mean energy of the difference, after the best factor, in dB of the symbols'."""
    factor = np.vdot(sent, got) / np.vdot(sent, sent)
    return 10 * np.log10(np.mean(np.abs(got / factor - sent) ** 2))
