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
    padded = np.concatenate([np.zeros(reach), symbols, np.zeros(reach + 2)])
    samples = np.zeros(len(t), complex)
    for j in range(-reach, reach + 1):
        samples += padded[nearest + j + reach] * root_raised_cosine(
            t - nearest - j, roll_off
        )
    return samples


def noisy(samples, es_n0, samples_per_symbol, seed=2):
    """With noise so that the matched filter's output has this Es/N0 in dB."""
    parts = np.random.default_rng(seed).standard_normal((len(samples), 2))
    sigma = np.sqrt(10 ** (-es_n0 / 10) * samples_per_symbol / 2)
    return samples + sigma * (parts @ [1, 1j])


def error_in_db(got, sent):
    """Mean energy of the difference, after the best factor, in dB of the symbols'."""
    factor = np.vdot(sent, got) / np.vdot(sent, sent)
    return 10 * np.log10(np.mean(np.abs(got / factor - sent) ** 2))
