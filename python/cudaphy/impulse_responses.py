# SPDX-License-Identifier: GPL-3.0-or-later
"""Impulse responses between antennas, from arrays and files."""

import os

import numpy as np


def _read(path):
    """The array in a file. Raises OSError, and ValueError if the file holds no array."""
    try:
        # Map the file: a damaged head may claim more bytes than memory has.
        found = np.load(path, mmap_mode="r")
    except OSError:
        raise
    except Exception as problem:  # Python's parser reads the head, and raises many kinds
        raise ValueError(f"{path} is no file of numpy's: {str(problem)[:200]}") from None
    if not isinstance(found, np.ndarray):
        found.close()
        raise ValueError(f"{path} is a file of several arrays")
    return found


def impulse_responses(impulse_response):
    """(receive, transmit, taps) of an array or a file."""
    what = "the impulse response"
    if isinstance(impulse_response, (str, os.PathLike)):
        what = f"the impulse response in {impulse_response}"
        impulse_response = _read(impulse_response)
    h = np.asarray(impulse_response)
    if h.ndim != 3 or not all(h.shape) or max(h.shape[:2]) > 16 or h.shape[2] > 65536:
        raise ValueError(
            f"{what} has shape {h.shape}, must be (receive antennas, transmit "
            "antennas, taps): 1 to 16, 1 to 16, 1 to 65536"
        )
    if h.dtype.kind not in "biufc":
        raise ValueError(f"{what} is of {h.dtype}, must be of numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        h = h.astype(np.complex64)
    if not np.isfinite(h).all():
        raise ValueError(f"{what} has a tap that is not finite")
    return h
