# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of OFDM: their numbers, checked, and their preamble."""

import numpy as np

from . import cudaphy_python as _native
from .whole_numbers import whole_between


def checked_tones(fft_size, tone_numbers):
    """Tone numbers as ascending integers that fit the FFT."""
    tones = [
        whole_between("tone number", t, -fft_size // 2, fft_size // 2 - 1)
        for t in tone_numbers
    ]
    if not tones or sorted(set(tones)) != tones:
        raise ValueError("tone_numbers are not one or more numbers that ascend")
    return tones


def checked_sizes(fft_size, cyclic_prefix, symbols):
    fft_size = whole_between("fft_size", fft_size, 16, 65536)
    if fft_size % 2:
        raise ValueError(f"fft_size {fft_size} is not even")
    return (
        fft_size,
        whole_between("cyclic_prefix", cyclic_prefix, 1, fft_size // 2 - 1),
        whole_between("symbols", symbols, 2, 1024),
    )


def ofdm_preamble(fft_size, tone_numbers):
    """The preamble's tones, (fft_size,) complex64, the lowest first, as ofdm_carrier_allocator_cvc takes
    them: on every even one of tone_numbers a QPSK point by the pseudo-random sequence of 3GPP TS 38.211,
    5.2.1, so that a symbol's halves are alike (Schmidl and Cox, IEEE Trans. Commun. 45(12), 1997). Of the
    energy of a symbol with points of energy 1 on all tone_numbers. Raises ValueError without even ones.
    """
    tones = checked_tones(checked_sizes(fft_size, 1, 2)[0], tone_numbers)
    even = [tone for tone in tones if tone % 2 == 0]
    if len(even) < 2:
        raise ValueError(
            "tone_numbers have fewer than two even ones, which the preamble needs"
        )
    bits = np.array(_native._pseudo_random_bits(1, 2 * len(even)), float).reshape(-1, 2)
    word = np.zeros(fft_size, np.complex64)
    amplitude = np.sqrt(len(tones) / len(even) / 2)
    word[np.array(even) + fft_size // 2] = (1 - 2 * bits) @ [1, 1j] * amplitude
    return word


def ofdm_preamble_shifts(antennas, cyclic_prefix):
    """The cyclic shift of each antenna's preamble in samples: spread over half the cyclic prefix, so
    that the antennas' preambles do not cancel each other (as in IEEE Std 802.11-2020, 19.3.9.3).
    """
    return [a * (cyclic_prefix // 2) // max(1, antennas) for a in range(antennas)]
