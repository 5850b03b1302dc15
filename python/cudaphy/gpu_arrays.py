# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that lie in a GPU's memory: arrays of CuPy, PyTorch and JAX, gpu_buffers, and arrays of other libraries
that have DLPack or __cuda_array_interface__ (Numba, for instance)."""

import functools
import sys

import numpy as np

from . import cudaphy_python as _native

_CUDA = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged


class _library:
    """What is done with a library's arrays on one GPU. This one: of a library that nothing is known of."""

    def __init__(self, device):
        self.device = device

    def stream(self, array):
        """The stream on which the library works, a cudaStream_t; 1 is the default one."""
        interface = getattr(array, "__cuda_array_interface__", {})
        return interface.get("stream") or 1

    def kind(self, array):
        """The items' numpy.dtype."""
        if hasattr(array, "__cuda_array_interface__"):
            return np.dtype(array.__cuda_array_interface__["typestr"])
        return np.dtype(str(array.dtype))

    def contiguous(self, array):
        """The array in C order without gaps."""
        return array

    def converted(self, array, kind):
        """The array with items of another kind."""
        raise TypeError(
            f"an array on a GPU has items of type {self.kind(array)}; expected {kind}"
        )

    def reshaped(self, array, shape):
        """The array in another shape."""
        raise ValueError(
            f"an array on a GPU has shape {tuple(array.shape)}; expected {shape}"
        )

    broadcast = reshaped

    def viewed(self, array, kind):
        """The same memory as items of another kind."""
        raise TypeError(f"an array on a GPU can't be seen as {kind}")

    def empty(self, shape, kind):
        """A new array, which a kernel will fill."""
        return _native.gpu_buffer.empty(shape, kind, self.device)

    def finished(self, array):
        """The array of the library, once the kernel that fills it has been launched."""
        return array


class _cupy(_library):
    def __init__(self, device):
        super().__init__(device)
        self.module = sys.modules["cupy"]

    def stream(self, array):
        return self.module.cuda.get_current_stream(self.device).ptr or 1

    def kind(self, array):
        return array.dtype

    def contiguous(self, array):
        return self.module.ascontiguousarray(array)

    def pointer(self, array):
        """Where the contiguous array begins. A library without this is asked by DLPack."""
        return array.data.ptr

    def converted(self, array, kind):
        return array.astype(kind)

    def reshaped(self, array, shape):
        return array.reshape(shape)

    def broadcast(self, array, shape):
        return self.module.broadcast_to(array, shape)

    def viewed(self, array, kind):
        return array.view(kind)

    def empty(self, shape, kind):
        with self.module.cuda.Device(self.device):
            return self.module.empty(shape, kind)


@functools.lru_cache
def _numpy_kind(name):
    """numpy.dtype of PyTorch's, such as torch.complex64."""
    try:
        return np.dtype(name.partition(".")[2])
    except TypeError:
        raise TypeError(
            f"a tensor has items of type {name}, which numpy does not know"
        ) from None


class _torch(_library):
    def __init__(self, device):
        super().__init__(device)
        self.module = sys.modules["torch"]

    def stream(self, array):
        return self.module.cuda.current_stream(self.device).cuda_stream or 1

    def kind(self, array):
        return _numpy_kind(str(array.dtype))

    def _kind(self, kind):
        return getattr(self.module, kind.name)

    def contiguous(self, array):
        return array.detach().resolve_conj().resolve_neg().contiguous()

    def pointer(self, array):
        return array.data_ptr()

    def converted(self, array, kind):
        return array.to(self._kind(kind))

    def reshaped(self, array, shape):
        return array.reshape(shape)

    def broadcast(self, array, shape):
        return array.broadcast_to(shape)

    def viewed(self, array, kind):
        return array.view(self._kind(kind))

    def empty(self, shape, kind):
        return self.module.empty(
            shape,
            dtype=self._kind(kind),
            device=self.module.device("cuda", self.device),
        )


class _buffers(_library):
    def kind(self, array):
        return array.dtype

    def reshaped(self, array, shape):
        return array.reshape(shape)

    def viewed(self, array, kind):
        return array.view(kind)


class _jax(_library):
    """JAX keeps its streams to itself, and its arrays never change: kernels run on a stream of ours, and fill memory
    of ours, which JAX gets when they are done."""

    def __init__(self, device):
        super().__init__(device)
        self.module = sys.modules["jax"]

    def stream(self, array):
        return _native._gpu_stream(self.device)

    def kind(self, array):
        return np.dtype(array.dtype)

    def converted(self, array, kind):
        return array.astype(kind)

    def reshaped(self, array, shape):
        return array.reshape(shape)

    def broadcast(self, array, shape):
        return self.module.numpy.broadcast_to(array, shape)

    def viewed(self, array, kind):
        return array.view(kind)

    def finished(self, array):
        _native._wait_for_gpu_stream(self.device)
        return self.module.dlpack.from_dlpack(array)


_LIBRARIES = {"cupy": _cupy, "torch": _torch, "jax": _jax, "jaxlib": _jax}


def _device_of(array):
    """The number of the array's GPU; None if it lies elsewhere."""
    if hasattr(array, "__dlpack_device__"):
        where, number = array.__dlpack_device__()
        return int(number) if int(where) in _CUDA else None
    if not hasattr(array, "__cuda_array_interface__"):
        return None
    pointer = array.__cuda_array_interface__["data"][0]
    return max(0, _native._gpu_of_pointer(pointer))  # empty arrays may lie nowhere


class gpu_array:
    """An array on a GPU with as much of numpy's interface as the functions on arrays need."""

    def __init__(self, source, library):
        self.source = source
        self.library = library
        self.dtype = library.kind(source)
        self.shape = tuple(source.shape)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape))

    def _with(self, source):
        return gpu_array(source, self.library)

    def astype(self, kind, copy=True):  # as numpy's, but never copies in vain
        if np.dtype(kind) == self.dtype:
            return self
        return self._with(self.library.converted(self.source, np.dtype(kind)))

    def reshape(self, shape):
        if shape == self.shape:
            return self
        return self._with(self.library.reshaped(self.source, shape))

    def ravel(self):
        return self.reshape((self.size,))

    def broadcast_to(self, shape):
        if shape == self.shape:
            return self
        return self._with(self.library.broadcast(self.source, shape))

    def view(self, kind):
        if np.dtype(kind) == self.dtype:
            return self
        plain = self.library.contiguous(self.source)
        return self._with(self.library.viewed(plain, np.dtype(kind)))

    def gpu_memory(self):
        """What a kernel gets."""
        plain = self.library.contiguous(self.source)
        return _native._gpu_memory(plain, self.library.stream(plain), self.library)


def gpu_array_of(array):
    """A gpu_array of an array that lies in a GPU's memory; None for any other object."""
    if isinstance(array, (np.ndarray, list, tuple, int, float, complex)):
        return None
    if isinstance(array, gpu_array):
        return array
    device = _device_of(array)
    if device is None:
        return None
    if isinstance(array, _native.gpu_buffer):
        return gpu_array(array, _buffers(device))
    name = type(array).__module__.partition(".")[0]
    return gpu_array(array, _LIBRARIES.get(name, _library)(device))
