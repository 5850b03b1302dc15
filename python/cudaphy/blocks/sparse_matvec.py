# SPDX-License-Identifier: GPL-3.0-or-later
"""The block that sparse_matvec makes."""

import numpy as np

from .. import cudaphy_python as _native
from ..sparse import matrix_arguments, matrix_of


def sparse_matvec(
    matrix,
    format="subdivided_crs",
    type="complex",
    block=2,
    length_tag_key="",
    backend="auto",
    device=0,
    max_batch=0,
    max_latency=0.0,
    shape=None,
):
    """A block that multiplies each vector of a stream by a sparse matrix: in vectors of n, out vectors of m items.

    matrix: (m, n), any kind of scipy.sparse, rows of numbers, or the path of a Matrix Market file.
    format, block: see sparse_product.
    type: of the items, "complex" (64 bits) or "float".
    length_tag_key: names the tag with a packet's length in items; empty: a plain stream.
    backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU.
    max_batch: vectors in one launch at most, 0: automatic; max_latency: seconds that a vector may wait for a
      fuller batch.
    shape: (m, n) that the matrix must have, or None.
    Raises ValueError for a parameter out of range, BackendUnavailable if the backend can't be had.
    Source: matrix-form FDTD on a graphics accelerator.
    """
    if type not in ("complex", "float"):
        raise ValueError(f'type "{type}" is neither "complex" nor "float"')
    a = matrix_of(matrix)
    if shape is not None and tuple(shape) != a.shape:
        wanted = " x ".join(str(side) for side in shape)
        raise ValueError(f"the matrix is {a.shape[0]} x {a.shape[1]}, not {wanted}")
    kind = np.dtype("complex64" if type == "complex" else "float32")
    if not np.can_cast(a.dtype, kind, "same_kind"):
        raise ValueError(f"the matrix is {a.dtype}, the stream {kind}")
    make = getattr(_native, f"_sparse_matvec_{kind.name}")
    return make(
        *matrix_arguments(a, kind),
        format,
        block,
        length_tag_key,
        backend,
        device,
        max_batch,
        max_latency,
    )
