# SPDX-License-Identifier: GPL-3.0-or-later
"""Random codewords and their LLRs."""

import numpy as np
from gnuradio import cudaphy


def random_words(code, count, seed=1):
    """(information words, codewords)"""
    info = np.random.default_rng(seed).integers(0, 2, (count, code.k)).astype("uint8")
    return info, cudaphy.ldpc_encode(code, info, "reference")


def received(words, n0=0.0, seed=2):
    """LLRs of BPSK over noise of variance n0 (both dimensions), positive for 0."""
    x = 1.0 - 2.0 * words
    if n0 == 0:
        return (4 * x).astype("float32")
    noise = np.random.default_rng(seed).standard_normal(words.shape) * np.sqrt(n0 / 2)
    return (4 / n0 * (x + noise)).astype("float32")
