# SPDX-License-Identifier: GPL-3.0-or-later
"""BCH encoding and decoding of numpy arrays."""

import math

from . import cudaphy_python as _native
from .numpy_arguments import bit_array


def _check(code):
    if not isinstance(code, _native.bch_code):
        raise TypeError(f"code: expected a bch_code, not {type(code).__name__}")


def _rows(bits, width, packed, what):
    width = (width + 7) // 8 if packed else width
    if bits.ndim < 1 or bits.shape[-1] != width:
        raise ValueError(f"{what} has shape {bits.shape}; expected (..., {width})")
    return bits.reshape((math.prod(bits.shape[:-1]), width))


def bch_encode(
    code, bits, packed_input=False, packed_output=False, backend="auto", device=0
):
    """Appends the parity bits of a BCH code.

    code: a bch_code. bits: information words (..., k), 0 or 1; packed_input: (..., ceil(k / 8)), eight
    bits a byte, the first one highest. Returns codewords (..., n), uint8; packed_output: (..., ceil(n /
    8)). Raises ValueError for a wrong shape or a bit that is neither 0 nor 1, TypeError for items that
    are no real numbers, BackendUnavailable.
    """
    _check(code)
    bits = bit_array(bits, "bits", packed_input)
    words = _native._bch_encode(
        code,
        _rows(bits, code.k, packed_input, "bits"),
        packed_input,
        packed_output,
        backend,
        device,
    )
    return words.reshape(bits.shape[:-1] + words.shape[1:])


def bch_decode(
    code, words, packed_input=False, packed_output=False, backend="auto", device=0
):
    """Corrects up to t errors in each word of a BCH code.

    code: a bch_code. words: received bits (..., n), 0 or 1; packed_input: (..., ceil(n / 8)), eight bits
    a byte, the first one highest. Returns information bits (..., k), uint8, or with packed_output (...,
    ceil(k / 8)); and corrected (...), int32: how many bits of the word were wrong, or -1 if no codeword
    is within t errors. The bits of such a word are given as they came.
    Raises ValueError for a wrong shape or a bit that is neither 0 nor 1, TypeError for items that are no
    real numbers, BackendUnavailable.
    """
    _check(code)
    words = bit_array(words, "words", packed_input)
    bits, corrected = _native._bch_decode(
        code,
        _rows(words, code.n, packed_input, "words"),
        packed_input,
        packed_output,
        backend,
        device,
    )
    lead = words.shape[:-1]
    return bits.reshape(lead + bits.shape[1:]), corrected.reshape(lead)


def companion_code(
    family,
    frame,
    dvbs2_rate,
    dvbs2x_frame,
    dvbs2x_normal_rate,
    dvbs2x_medium_rate,
    dvbs2x_short_rate,
    dvbt2_rate,
    m,
    t,
    shortened,
    polynomial,
):
    """The code that GNU Radio Companion's block BCH Code stands for, from the block's parameters."""
    code = _native.bch_code
    if family == "primitive":
        return code(m, t, shortened, polynomial)
    dvbs2x_rates = {"normal": dvbs2x_normal_rate, "medium": dvbs2x_medium_rate}
    frame, rate = {
        "dvbs2": (frame, dvbs2_rate),
        "dvbs2x": (dvbs2x_frame, dvbs2x_rates.get(dvbs2x_frame, dvbs2x_short_rate)),
        "dvbt2": (frame, dvbt2_rate),
    }[family]
    return getattr(code, family)(frame, rate)
