# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear algebra on numpy arrays."""

import numpy as np

from . import cudaphy_python as _native


def inverse(a, pivoting="full", backend="auto", device=0):
    """Inverts small square matrices by Gauss-Jordan elimination.

    a: (..., N, N), complex64 or float32 (other kinds are converted to these), N = 1..32.
    pivoting: "full" or "partial".
    Returns x (..., N, N), zeros where there is no inverse, and info (...), int32: 0 where it worked; k where
    elimination step k (from 1) found no pivot; -1 where a matrix or its inverse is not finite.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    Source: patent CN102567283 (Tsinghua University, 2011).
    """
    a = np.asarray(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"a has shape {a.shape}; expected (..., N, N)")
    native = (
        _native._inverse_complex64 if np.iscomplexobj(a) else _native._inverse_float32
    )
    order = a.shape[-1]
    x, info = native(
        a.reshape((-1, order, order)) if order else a, pivoting, backend, device
    )
    return x.reshape(a.shape), info.reshape(a.shape[:-2])
