# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverses of symmetric and Hermitian matrices on numpy arrays, and their updates."""

import numpy as np

from . import cudaphy_python as _native
from .linalg import _in_kind_of_kernels
from .numpy_arguments import number_array, real_array

_KINDS = ("float32", "float64", "complex64", "complex128")
_INVERSE = {kind: getattr(_native, f"_symmetric_inverse_{kind}") for kind in _KINDS}
_ASYMMETRY = {kind: getattr(_native, f"_first_asymmetry_{kind}") for kind in _KINDS}
_UPDATE = {kind: getattr(_native, f"_inverse_update_{kind}") for kind in _KINDS}


def _check_plain_symmetry(a):
    """Raises ValueError if a complex matrix does not equal its plain transpose."""
    symmetric = _ASYMMETRY[a.real.dtype.name]
    for item, matrix in enumerate(a):
        for part in (matrix.real, matrix.imag):
            pair = symmetric(np.ascontiguousarray(part))
            if pair is not None:
                i, j = pair
                which = f"a[{item}]" if len(a) > 1 else "a"
                raise ValueError(
                    f"{which} is not symmetric: [{i}, {j}] is {matrix[i, j]}, [{j}, {i}] is {matrix[j, i]}"
                )


def _plain_symmetric_inverse(a, residual, rcond, backend, device):
    """Inverts complex matrices A = B + i C = A^T from their lower triangles.
    M = [B C; C -B] is real and symmetric, and with X = U + i V its inverse is [U -V; -V -U].
    """
    batch, n = a.shape[:2]
    lower = np.tril(a.imag)
    m = np.zeros((batch, 2 * n, 2 * n), a.real.dtype)
    m[:, :n, :n], m[:, n:, n:] = a.real, -a.real
    m[:, n:, :n] = lower + np.tril(lower, -1).swapaxes(1, 2)
    del lower
    inverse, info, *others = _INVERSE[m.dtype.name](
        m, "unknown", "blocked", residual, False, backend, device
    )
    x = np.empty_like(a)
    x.real = inverse[:, :n, :n]
    # Equal to within rounding.
    x.imag = -(inverse[:, n:, :n] / 2 + inverse[:, n:, :n].swapaxes(1, 2) / 2)
    if rcond:
        whole = np.tril(a) + np.tril(a, -1).swapaxes(1, 2)
        with np.errstate(invalid="ignore", over="ignore"):
            norms = [np.abs(each).sum(1).max(1) for each in (whole, x)]
            product = norms[0] * norms[1]
        others.append(np.divide(1, product, np.zeros_like(product), where=info == 0))
    return (x, np.where(info > 0, np.int32(n), info), *others)


def _check_symmetry(a):
    """Raises ValueError for the first pair that differs; a: (batch, n, n)."""
    for item, matrix in enumerate(a):
        pair = _ASYMMETRY[a.dtype.name](matrix)
        if pair is None:
            continue
        i, j = pair
        which = f"a[{item}]" if len(a) > 1 else "a"
        if a.dtype.kind == "c":
            symmetric = _ASYMMETRY[a.real.dtype.name]
            parts = (np.ascontiguousarray(part) for part in (matrix.real, matrix.imag))
            if all(symmetric(part) is None for part in parts):
                raise ValueError(
                    f"{which} is complex symmetric but not Hermitian: [{i}, {j}] is {matrix[i, j]}, "
                    f"[{j}, {i}] is {matrix[j, i]}, not its conjugate; symmetry='symmetric' inverts it"
                )
            kind = "Hermitian"
        else:
            kind = "symmetric"
        raise ValueError(
            f"{which} is not {kind}: [{i}, {j}] is {matrix[i, j]}, [{j}, {i}] is {matrix[j, i]}"
        )


def invert_symmetric(
    a,
    definite="unknown",
    algorithm="blocked",
    check=True,
    backend="auto",
    device=0,
    residual=False,
    rcond=False,
    symmetry="hermitian",
):
    """Inverts symmetric (complex: Hermitian) matrices, one large one or a batch.

    a: (..., n, n), float32, float64, complex64 or complex128; other kinds become the one to which numpy
      combines them with float32. Only memory limits n.
    definite: "unknown"; or "positive", for Hermitian positive definite matrices, which is faster.
    algorithm: "blocked"; or "bordering", source 2's row after row, which needs leading minors that are not 0.
    check: whether to check first that a is symmetric; otherwise only its lower triangle is read.
    symmetry: "hermitian"; or "symmetric": complex matrices equal their plain transposes, as impedance matrices
      do. "symmetric" takes twice the memory for complex matrices, and excludes "positive" and "bordering"; the
      residual is that of the real matrix [Re A, Im A; Im A, -Re A]. For real matrices both mean the same.
    residual, rcond: whether to return these too.
    Returns x, of a's shape and kind, exactly symmetric, and info (...), int32. With `residual` then residual
    (...), real: an estimate of |I - A X|_1 / (n |A|_1 |X|_1 eps), NaN if x = 0; with `rcond` then rcond (...),
    real: 1 / (|A|_1 |X|_1), the reciprocal condition, 0 if x = 0.
    info is 0 if A was inverted. Otherwise x = 0, and info is:
      n: A is singular to its kind's precision, as R = sum x x^H of fewer than n vectors x is, however rounded;
      k: the leading minor of order k is not positive ("positive"), or is 0 ("bordering");
      -1: A or its inverse is not finite.
    Singular to its precision means that 1 / (|S A S|_1 |S^-1 X S^-1|_1) is below 8 eps / max(n, 4). eps is
    numpy.finfo's. S scales rows and columns alike, so that units do not count: a matrix with rows of very
    different sizes is inverted, although its unscaled rcond may be far below eps. A matrix with a condition
    below 1 / (8 eps) in the 2-norm is never refused. "bordering" loses twice the digits and misses some
    singular matrices.
    Raises ValueError for a matrix that is not symmetric, naming the first pair that differs, and for a wrong
    shape or parameter; BackendUnavailable; MemoryError.
    Source: Huo, Wang, Peng, Fang: inversion of a large symmetric matrix by bordering, on a GPU.
    """
    a = _in_kind_of_kernels(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"a has shape {a.shape}; expected (..., n, n)")
    order, batch = a.shape[-1], a.shape[:-2]
    flat = np.ascontiguousarray(a.reshape((-1, order, order)) if order else a)
    if symmetry not in ("hermitian", "symmetric"):
        raise ValueError(
            f"symmetry is {symmetry!r}, must be one of 'hermitian', 'symmetric'"
        )
    if symmetry == "symmetric" and a.dtype.kind == "c" and order:
        if (definite, algorithm) != ("unknown", "blocked"):
            raise ValueError(
                "symmetry 'symmetric' takes definite 'unknown' and algorithm 'blocked', "
                f"not {definite!r} and {algorithm!r}"
            )
        if check:
            _check_plain_symmetry(flat)
        x, *others = _plain_symmetric_inverse(flat, residual, rcond, backend, device)
        return (x.reshape(a.shape), *(other.reshape(batch) for other in others))
    if check and order:
        _check_symmetry(flat)
    x, *others = _INVERSE[a.dtype.name](
        flat, str(definite), algorithm, residual, rcond, backend, device
    )
    return (x.reshape(a.shape), *(other.reshape(batch) for other in others))


def update_inverse(x, v, d=1, forgetting=1.0, backend="auto", device=0):
    """Updates inverses of matrices that changed to forgetting * A + V diag(d) V^H, by
    Woodbury's formula.

    x: (..., n, n), inverses of symmetric (complex: Hermitian) matrices A; not changed.
    v: (..., n, k), k = 1..64 and at most n; or (..., n) for k = 1, if v has one dimension, or one fewer than x.
    d: real, (..., k), or one number for all; above 0 an update, below 0 a downdate, 0 no change.
    forgetting: A is scaled by this before the update, above 0.
    The leading dimensions are x's; those of v and d are broadcast to them.
    Returns the new x, exactly symmetric, and info (...), int32: 0 if x was updated; 1 if the changed matrix is
    singular to its kind's precision; -1 if x, v or d is not finite. If info is not 0, x is unchanged.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    """
    x, v = number_array(x, "x"), number_array(v, "v")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"x has shape {x.shape}; expected (..., n, n)")
    order, batch = x.shape[-1], x.shape[:-2]
    if v.ndim in (1, x.ndim - 1):
        v = v[..., np.newaxis]
    if v.ndim < 2 or v.shape[-2] != order:
        raise ValueError(
            f"v has shape {v.shape}; expected (..., {order}, k) or (..., {order}), for x has shape {x.shape}"
        )
    x = _in_kind_of_kernels(x.astype(np.result_type(x, v), copy=False))
    rank = v.shape[-1]
    try:
        v = np.broadcast_to(v.astype(x.dtype), batch + (order, rank))
        d = np.broadcast_to(real_array(d, "d", x.real.dtype), batch + (rank,))
    except ValueError as problem:
        raise ValueError(
            f"v {v.shape} and d {np.shape(d)} do not fit x {x.shape}"
        ) from problem
    new, info = _UPDATE[x.dtype.name](
        x.reshape((-1, order, order)) if order else x.reshape((0, 0, 0)),
        v.reshape((-1, order, rank)) if order and rank else np.zeros((0, 0, 0), x.dtype),
        d.reshape((-1, rank)) if rank else np.zeros((0, 0), d.dtype),
        forgetting,
        backend,
        device,
    )
    return new.reshape(x.shape), info.reshape(batch)
