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


_TRIANGULAR = {
    "float32": _native._triangular_inverse_float32,
    "float64": _native._triangular_inverse_float64,
    "complex64": _native._triangular_inverse_complex64,
    "complex128": _native._triangular_inverse_complex128,
}


def triangular_inverse(
    l, lower=True, unit_diagonal=False, backend="auto", device=0  # noqa: E741
):
    """Inverts small triangular matrices.

    l: (..., N, N), float32, float64, complex64 or complex128 (other kinds are converted as numpy does to
      combine them with float32, so Python's numbers and int64 become float64), N = 1..32. The triangle alone
      is read; what stands beside it may be anything.
    lower: else upper.
    unit_diagonal: the diagonal is taken as 1 and not read.
    Returns x (..., N, N), of l's kind, zeros in the other triangle and where there is no inverse, and info
    (...), int32: 0 where it worked; k where row k (from 1) is the first with a zero on the diagonal; -1 where a
    triangle or its inverse is not finite.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    Source: triangular inversion by one warp in n + 1 rounds of blocks (Shanghai Biren, 2023).
    """
    a = np.asarray(l)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"l has shape {a.shape}; expected (..., N, N)")
    kind = np.result_type(a.dtype, np.float32)
    if kind.name not in _TRIANGULAR:  # beyond double precision
        kind = np.dtype("complex128" if kind.kind == "c" else "float64")
    order = a.shape[-1]
    x, info = _TRIANGULAR[kind.name](
        a.reshape((-1, order, order)) if order else a,
        lower,
        unit_diagonal,
        backend,
        device,
    )
    return x.reshape(a.shape), info.reshape(a.shape[:-2])
