# SPDX-License-Identifier: GPL-3.0-or-later
"""Products of sparse matrices and vectors."""

import os

import numpy as np

from . import cudaphy_python as _native
from .matrix_market import read_matrix_market

_PRODUCTS = {
    "float32": _native._sparse_product_float32,
    "float64": _native._sparse_product_float64,
    "complex64": _native._sparse_product_complex64,
}


def _compressed_rows(a):
    import scipy.sparse

    if not scipy.sparse.issparse(a):
        a = np.asarray(a)
        if a.ndim != 2:
            raise ValueError(f"a matrix has two dimensions, this one {a.ndim}")
    for name in ("indptr", "indices", "row", "col"):
        index = getattr(a, name, None)
        if index is not None and index.dtype.kind not in "iu":
            raise ValueError(f"the matrix's {name} are {index.dtype}, not whole numbers")
    return scipy.sparse.csr_matrix(a)


def matrix_of(a):
    """The matrix in compressed rows, from a path, scipy.sparse, or rows of numbers."""
    if isinstance(a, (str, os.PathLike)):
        return read_matrix_market(a)
    return _compressed_rows(a)


def matrix_arguments(a, kind):
    """The arguments of the native side for a matrix; the native side checks the indices."""
    count = int(a.indptr[-1]) if len(a.indptr) else 0
    # scipy may keep room behind the last entry.
    held = slice(0, count if 0 <= count <= len(a.data) else None)
    return (
        *a.shape,
        a.indptr.astype(np.int64, copy=False),
        a.indices[held].astype(np.int64, copy=False),
        a.data[held].astype(kind, copy=False),
    )


def _kind_of_entries(given, matrix):
    """The kind of a matrix's entries; a file's numbers count as single precision, so that the other operands decide."""
    if isinstance(given, (str, os.PathLike)):
        return np.dtype("complex64" if matrix.dtype.kind == "c" else "float32")
    return matrix.dtype


def _kind(*kinds):
    """The kernels' kind for what numpy would combine with float32."""
    kind = np.result_type(np.float32, *kinds)
    if kind.name not in _PRODUCTS:
        raise ValueError(f"no kernel for {kind}, only for {', '.join(_PRODUCTS)}")
    return kind


class sparse_product:
    """The product with one sparse matrix, made once for many vectors: product(x) is A x, product(x, y) y + A x.

    a: (m, n), any kind of scipy.sparse, rows of numbers, or the path of a Matrix Market file. Entries of the same
      place add up.
    format: "crs", compressed rows; "ccs", compressed columns; "bcrs", compressed rows of dense blocks;
      "subdivided_crs", rows grouped by their number of entries; "dictionary", the same with rows of one pattern
      stored once; "diagonal", whole diagonals, for banded matrices.
    dtype: "float32", "float64" or "complex64"; None: as numpy combines a with float32 (a file: float32, or
      complex64).
    block: bcrs: rows and columns of a block, 1..8.
    Every format gives the same bits on the CPU and on a GPU (except ccs on a GPU): a row's sum takes A's entries
    with columns ascending, one fused multiply-add each. An element of x that meets no entry of A has no effect.
    Threads may share one object: their products run one after another.
    Raises ValueError for a wrong parameter, an index out of range, or a format that does not suit the matrix;
    BackendUnavailable.
    Source: matrix-form FDTD on a graphics accelerator, which compares the formats.
    """

    def __init__(
        self,
        a,
        format="subdivided_crs",
        dtype=None,
        block=2,
        backend="auto",
        device=0,
    ):
        given, a = a, matrix_of(a)
        kind = _kind(_kind_of_entries(given, a)) if dtype is None else np.dtype(dtype)
        kind = kind.newbyteorder("=")
        if kind.name not in _PRODUCTS:
            raise ValueError(f"dtype {kind} is none of {', '.join(_PRODUCTS)}")
        if not np.can_cast(a.dtype, kind, "same_kind"):
            raise ValueError(f"a is {a.dtype}, which does not become {kind}")
        self.shape, self.dtype, self.format = a.shape, kind, format
        self._product = _PRODUCTS[kind.name](
            *matrix_arguments(a, kind), format, block, backend, device
        )

    @property
    def backend(self):
        """The backend in use: "cuda", "cpu" or "reference"."""
        return self._product.backend()

    @property
    def matrix_bytes(self):
        """Bytes that the matrix takes in its format."""
        return self._product.matrix_bytes()

    def __call__(self, x, y=None):
        """x: (..., n); y: (..., m), or what broadcasts to that. Returns (..., m), of the product's dtype, to which
        x and y are converted. Raises ValueError if the conversion would lose more than digits.
        """
        x = self._converted("x", x)
        rows, columns = self.shape
        if x.ndim == 0 or x.shape[-1] != columns:
            raise ValueError(f"x has shape {x.shape}; expected (..., {columns})")
        shape = (*x.shape[:-1], rows)
        out = np.zeros(shape, self.dtype)
        if y is not None:
            y = self._converted("y", y)
            try:
                out[...] = np.broadcast_to(y, shape)
            except ValueError:
                message = f"y has shape {y.shape}; expected {shape}"
                raise ValueError(message) from None
        batch = int(np.prod(shape[:-1], dtype=np.int64))
        if out.size:
            self._product.add(x.reshape(batch, columns), out.reshape(batch, rows))
        return out

    def _converted(self, name, values):
        values = np.asarray(values)
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise ValueError(f"{name} is {values.dtype}, the product {self.dtype}")
        return np.ascontiguousarray(values, self.dtype)


def multiply_sparse(a, x, y=None, format="subdivided_crs", backend="auto", device=0):
    """The product of a sparse matrix and vectors: A x, or y + A x if y is given.

    a: (m, n), any kind of scipy.sparse, rows of numbers, the path of a Matrix Market file; or a sparse_product,
      made once for many calls, which has its own format, backend and dtype.
    x: (..., n); y: (..., m), or what broadcasts to that. Kinds are float32, float64 and complex64; others become
      the one to which numpy combines a, x and y with float32.
    format: see sparse_product.
    Returns (..., m).
    Raises ValueError for a wrong shape, kind or parameter, an index out of range, or a format that does not suit
    the matrix; BackendUnavailable.
    Source: matrix-form FDTD on a graphics accelerator.
    """
    if not isinstance(a, sparse_product):
        given, a = a, matrix_of(a)
        kinds = [np.asarray(each).dtype for each in (x, y) if each is not None]
        kind = _kind(_kind_of_entries(given, a), *kinds)
        a = sparse_product(a, format, kind, backend=backend, device=device)
    return a(x, y)
