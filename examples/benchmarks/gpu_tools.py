# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU as other programs on the machine leave it, through the CUDA driver's own interface: its memory in use,
memory taken away, and a context lost to a kernel that fails."""

import contextlib
import ctypes

# A kernel that ends in an error, after which its context is of no more use.
_TRAP = b""".version 6.3
.target sm_75
.address_size 64
.visible .entry fail() { trap; }
"""


def _driver():
    library = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments, must=True):
        code = getattr(library, name)(*arguments)
        if code and must:
            raise OSError(f"{name} failed: CUDA error {code}")

    call("cuInit", 0)
    return call


@contextlib.contextmanager
def _current(device):
    """The driver, with the context that the process's CUDA libraries share as the thread's."""
    call, number, context = _driver(), ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(number), device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
    call("cuCtxPushCurrent_v2", context)
    try:
        yield call
    finally:
        call("cuCtxPopCurrent_v2", ctypes.byref(context), must=False)
        call("cuDevicePrimaryCtxRelease_v2", number, must=False)


def free_memory(device=0):
    """Bytes of the device that nobody holds."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with _current(device) as call:
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


@contextlib.contextmanager
def memory_taken(device, leave):
    """Takes all of the device's memory but about `leave` bytes."""
    taken = []
    with _current(device) as call:
        size = max(0, free_memory(device) - leave)
        while size >= 1 << 21:
            pointer = ctypes.c_uint64()
            try:
                call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
                taken.append(pointer)
                size = max(0, free_memory(device) - leave)
            except OSError:
                size //= 2  # not in one piece
        try:
            yield
        finally:
            for pointer in taken:
                call("cuMemFree_v2", pointer)


def kill_context(device=0):
    """Runs a kernel that fails: all that the process does on the device from now on fails too."""
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    with _current(device) as call:
        call("cuModuleLoadData", ctypes.byref(module), _TRAP)
        call("cuModuleGetFunction", ctypes.byref(kernel), module, b"fail")
        one, none = ctypes.c_uint(1), ctypes.c_uint(0)
        call("cuLaunchKernel", kernel, *[one] * 6, none, None, None, None)
