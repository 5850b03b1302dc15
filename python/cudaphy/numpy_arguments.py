# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the functions on arrays: numbers in this machine's byte order, of numpy or on a GPU."""

import numpy as np

from . import cudaphy_python as _native
from .gpu_arrays import gpu_array, gpu_array_of

_REAL, _NUMBERS = "biuf", "biufc"


def _array(values, name):
    on_gpu = gpu_array_of(values)
    if on_gpu is not None:
        return on_gpu
    try:
        return np.asarray(values)
    except ValueError as problem:  # rows of different lengths
        raise ValueError(f"{name} is no array: {problem}") from None


def _of_kind(values, name, kinds, wanted):
    array = _array(values, name)
    if array.dtype.kind not in kinds:
        shown = "complex" if array.dtype.kind == "c" else f"{array.dtype.type.__name__}"
        raise TypeError(f"{name} has items of type {shown}; expected {wanted}")
    return array


def real_array(values, name, *dtypes):
    """An array of real numbers: unchanged if it has one of the types, otherwise converted to the first one.

    Raises TypeError that names the argument for complex numbers, objects, text and times.
    """
    array = _of_kind(values, name, _REAL, "real numbers")
    native = array.dtype.newbyteorder("=")
    return array.astype(native if native in dtypes else dtypes[0], copy=False)


def number_array(values, name, on_gpu=None):
    """An array of real or complex numbers, of its own type. Raises TypeError as real_array does.

    on_gpu: the type that it gets if it lies on a GPU; kernels convert numpy's arrays.
    """
    array = _of_kind(values, name, _NUMBERS, "numbers")
    if on_gpu is not None and isinstance(array, gpu_array):
        return array.astype(on_gpu)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def broadcast_to(array, shape):
    """numpy.broadcast_to(), for an array on a GPU too."""
    if isinstance(array, gpu_array):
        return array.broadcast_to(shape)
    return np.broadcast_to(array, shape)


def truth(array):
    """Whether items differ from 0, bool. A gpu_buffer, which can't compute, is returned as it is."""
    return array if isinstance(array, _native.gpu_buffer) else array != 0


def bytes_of(array):
    """The array's items as bytes, uint8, in C order."""
    if not isinstance(array, gpu_array):
        array = np.ascontiguousarray(array)
    return array.view(np.uint8)


def bit_array(values, name, packed=False):
    """Bits as uint8; packed: eight a byte. Bits on a GPU are not looked at.

    Raises TypeError as real_array does, ValueError if an item is neither 0 nor 1 (packed: no byte).
    """
    array = _of_kind(values, name, _REAL, "bytes" if packed else "bits, 0 or 1")
    if isinstance(array, gpu_array):
        return array.astype(np.uint8)
    if packed and array.dtype == np.uint8 or array.dtype == np.bool_ or not array.size:
        return array.astype(np.uint8, copy=False)
    if array.dtype == np.uint8:
        wrong = array.max() > 1
    else:
        most = 255 if packed else 1
        wrong = not ((array >= 0) & (array <= most) & (array == np.floor(array))).all()
    if wrong:
        raise ValueError(
            f"{name} has items that are no bytes, 0 to 255"
            if packed
            else f"{name} has items other than 0 and 1"
        )
    return array.astype(np.uint8, copy=False)
