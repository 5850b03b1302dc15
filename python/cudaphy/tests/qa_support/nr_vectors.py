# SPDX-License-Identifier: GPL-3.0-or-later
"""Test data that other transmitters of 5G NR made: payloads, and what is kept of their grids."""

import hashlib
import json

import numpy as np


def _bits(count, label):
    """Bits that are the same everywhere: of SHAKE-256."""
    octets = hashlib.shake_256(label.encode()).digest((count + 7) // 8)
    return np.unpackbits(np.frombuffer(octets, np.uint8))[:count]


def payload(count, number):
    """The transport block of an entry, uint8 (count,)."""
    return _bits(count, f"payload {number}")


def weights(count):
    """1, j, -1 or -j for each subcarrier."""
    bits = _bits(2 * count, "weights").reshape(count, 2)
    return np.array([1, 1j, -1, -1j])[bits @ [2, 1]]


def sums(grid):
    """What is kept of a grid (ports, symbols, subcarriers): (ports, symbols, 2).

    The weighted sum of the subcarriers, and that of the subcarriers times themselves conjugated at the next one:
    any element that differs shows in the first, and two that change places in either.
    """
    grid = np.asarray(grid, np.complex128)
    weight = weights(grid.shape[-1])
    pairs = grid * np.conj(np.roll(grid, 1, -1))
    return np.stack([grid @ weight, pairs @ weight], -1)


def load(path):
    """The maker's name and version, and its entries with their sums."""
    with np.load(path) as file:
        text = json.loads(file["text"].tobytes())
        entries = text["entries"]
        for number, entry in enumerate(entries):
            entry["sums"] = file[f"sums{number}"]
    return text["maker"], entries
