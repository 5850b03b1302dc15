# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear algebra on numpy arrays."""

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import number_array


def _in_kind_of_kernels(a, name="a"):
    """The array in one of the kernels' four kinds, as numpy combines it with float32."""
    a = number_array(a, name)
    kind = np.result_type(a.dtype, np.float32)
    if kind.itemsize > (16 if kind.kind == "c" else 8):  # beyond double precision
        kind = np.dtype("complex128" if kind.kind == "c" else "float64")
    return a.astype(kind, copy=False)


_INVERSE = {
    "float32": _native._inverse_float32,
    "float64": _native._inverse_float64,
    "complex64": _native._inverse_complex64,
    "complex128": _native._inverse_complex128,
}


def invert(
    a,
    pivoting="full",
    backend="auto",
    device=0,
    layout="row_major",
    algorithm="fastest",
    determinant=False,
    rcond=False,
):
    """Inverts small square matrices by Gauss-Jordan elimination.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    a: (..., N, N), float32, float64, complex64 or complex128, N = 1..64. Other kinds become the one to which
      numpy combines them with float32; Python's numbers and int64 become float64.
    pivoting: "full"; "partial"; or "none", for Hermitian positive definite matrices.
    layout: "row_major"; or "interleaved", where a and x have the shape (N, N, ...).
    algorithm: "fastest"; or "patent", the source's steps as printed: full pivoting, row-major, N = 1..32.
    determinant, rcond: whether to return these too.
    Returns x, of a's shape and kind, and info (...), int32. With `determinant` then determinant (...), of a's
    kind; with `rcond` then rcond (...), real: 1 / (|A|_1 |X|_1), the reciprocal condition.
    info is 0 if A was inverted, -1 if A or its inverse is not finite (x = 0, determinant NaN), and k if step k
    (from 1) is the first without a good pivot:
      "full": the pivot is below eps times the first pivot. A has the numerical rank k - 1, and x is the inverse
        of a matrix near A; x = 0 if only zeros were left.
      "partial": the pivot is 0, and x = 0.
      "none": the pivot is not above 0, A is not positive definite, and x = 0.
    rcond is 0 if x = 0.
    Full pivoting does not scale A: the rank is measured against A's largest element, so diag(1, 1e-20) in float32
    gives info 2 and another matrix's inverse. If rows or columns have very different sizes, use "partial".
    A matrix that is singular except for rounding may have info 0, nearly always with "partial" and "none". Its
    rcond is below numpy.finfo(kind).eps or not far above it.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    Source: patent CN102567283 (Tsinghua University, 2011).
    """
    a = _in_kind_of_kernels(a)
    interleaved = layout == "interleaved"
    sides = slice(0, 2) if interleaved else slice(-2, None)
    if a.ndim < 2 or a.shape[sides][0] != a.shape[sides][1]:
        expected = "(N, N, ...)" if interleaved else "(..., N, N)"
        raise ValueError(f"a has shape {a.shape}; expected {expected}")
    order = a.shape[sides][0]
    batch = a.shape[2:] if interleaved else a.shape[:-2]
    if order == 0:
        flat = (0, 0, 0)  # the kernel refuses order 0
    else:
        flat = (order, order, -1) if interleaved else (-1, order, order)
    x, *others = _INVERSE[a.dtype.name](
        a.reshape(flat), pivoting, layout, algorithm, determinant, rcond, backend, device
    )
    return (x.reshape(a.shape), *(other.reshape(batch) for other in others))


_TRIANGULAR = {
    "float32": _native._triangular_inverse_float32,
    "float64": _native._triangular_inverse_float64,
    "complex64": _native._triangular_inverse_complex64,
    "complex128": _native._triangular_inverse_complex128,
}


def invert_triangular(
    l, lower=True, unit_diagonal=False, backend="auto", device=0  # noqa: E741
):
    """Inverts triangular matrices.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    l: (..., N, N), float32, float64, complex64 or complex128, N = 1..1024, fastest up to 32. Other kinds become
      the one to which numpy combines them with float32; Python's numbers and int64 become float64. Only the
      triangle is read.
    lower: whether the triangle is the lower one.
    unit_diagonal: the diagonal counts as 1 and is not read.
    Returns x (..., N, N), of l's kind, with zeros in the other triangle (all zeros if there is no inverse), and
    info (...), int32: 0 if l was inverted; k if row k (from 1) is the first with a zero on the diagonal; -1 if
    the triangle or its inverse is not finite.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    Source: triangular inversion by one warp in n + 1 rounds of blocks (Shanghai Biren, 2023).
    As a block for flowgraphs: triangular_matrix_inverse.
    """
    a = _in_kind_of_kernels(l)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"l has shape {a.shape}; expected (..., N, N)")
    order = a.shape[-1]
    x, info = _TRIANGULAR[a.dtype.name](
        a.reshape((-1, order, order)) if order else a,
        lower,
        unit_diagonal,
        backend,
        device,
    )
    return x.reshape(a.shape), info.reshape(a.shape[:-2])


_MOST_SIDES = 65536  # of a matrix in a call
_SOLVE = {
    "float32": _native._triangular_solve_float32,
    "float64": _native._triangular_solve_float64,
    "complex64": _native._triangular_solve_complex64,
    "complex128": _native._triangular_solve_complex128,
}


def solve_triangular(
    l, b, lower=True, unit_diagonal=False, backend="auto", device=0  # noqa: E741
):
    """Solves l x = b for triangular matrices, each with any number of right-hand sides.

    A GPU inverts the triangles and multiplies; the CPU substitutes.
    l: (..., N, N), N = 1..1024. The triangle alone is read; what stands beside it may be anything.
    b: (..., N, K); or (..., N), one right-hand side a matrix, where b has one dimension, or one
      fewer than l.
    The leading dimensions of l and b are broadcast as numpy does it; one l for many b is inverted once. Kinds
    are float32, float64, complex64 and complex128; others, and l and b of different kinds, are converted as
    numpy does to combine them with each other and with float32.
    lower: else upper.
    unit_diagonal: the diagonal is taken as 1 and not read.
    Returns x (..., N, K), or (..., N), as b has it, and info (...), int32: 0 where it worked; k where row k
    (from 1) is the first with a zero on the diagonal; -1 where the triangle, b or the solution (on a GPU: or
    the inverse) is not finite. There x = 0.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    Source: triangular inversion by one warp in n + 1 rounds of blocks (Shanghai Biren, 2023).
    """
    l, b = number_array(l, "l"), number_array(b, "b")  # noqa: E741
    if l.ndim < 2 or l.shape[-1] != l.shape[-2]:
        raise ValueError(f"l has shape {l.shape}; expected (..., N, N)")
    order = l.shape[-1]
    one_side = b.ndim in (1, l.ndim - 1)
    if b.ndim == 0 or b.shape[-1 if one_side else -2] != order:
        raise ValueError(
            f"b has shape {b.shape}; expected (..., {order}, K) or (..., {order}), for l has shape {l.shape}"
        )
    kind = np.result_type(l.dtype, b.dtype)
    l = _in_kind_of_kernels(l.astype(kind, copy=False))  # noqa: E741
    b = _in_kind_of_kernels(b.astype(kind, copy=False))
    if one_side:
        b = b[..., np.newaxis]
    columns = b.shape[-1]
    if columns == 0:  # info does not depend on b
        b = np.zeros(b.shape[:-1] + (1,), b.dtype)
    batch = np.broadcast_shapes(l.shape[:-2], b.shape[:-2])
    one_l = l[..., 0, 0].size == 1 if order else False
    if not one_l:
        l = np.broadcast_to(l, batch + (order, order))  # noqa: E741
    b = np.broadcast_to(b, batch + b.shape[-2:])
    l = (  # noqa: E741
        l.reshape((-1, order, order)) if order else np.zeros((1, 0, 0), l.dtype)
    )
    b = b.reshape((-1, order, b.shape[-1])) if order else np.zeros((1, 0, 1), l.dtype)
    most = _MOST_SIDES
    parts = [
        _SOLVE[l.dtype.name](
            l, b[..., first : first + most], lower, unit_diagonal, backend, device
        )
        for first in range(0, b.shape[-1], most)
    ]
    x, info = parts[0]
    if len(parts) > 1:
        x = np.concatenate([part for part, _ in parts], axis=-1)
        states = np.array([state for _, state in parts])
        info = np.where((states == -1).any(0), np.int32(-1), states.max(0))
        x[info != 0] = 0
    x = x.reshape(batch + b.shape[1:])[..., :columns]
    return x[..., 0] if one_side else x, info.reshape(batch)
