# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the tests of the Python module: flowgraphs that must end, and their logs."""

import contextlib
import os
import sys
import tempfile
import threading
import unittest

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr

BACKEND = os.environ.get("CUDAPHY_TEST_BACKEND", "cpu")
KEY = "packet_len"

_LETTER = {"complex64": "c", "float32": "f", "int16": "s", "uint8": "b"}


def need_backend():
    """Ends the calling program with "skipped" if the backend is missing."""
    if BACKEND not in cudaphy.backends():
        print(f"skipped: no backend {BACKEND} here, only {cudaphy.backends()}")
        sys.exit(77)


def main():
    """Runs the calling program's tests, or skips all without the backend."""
    need_backend()
    unittest.main()


def gaussian(shape, seed=1, dtype="complex64"):
    """Circular Gaussian numbers of unit variance."""
    parts = np.random.default_rng(seed).standard_normal(tuple(shape) + (2,))
    return (parts @ [1, 1j] / np.sqrt(2)).astype(dtype)


def tag(item, key, value):
    if not isinstance(value, pmt.pmt_base):
        value = pmt.to_pmt(value)
    return gr.python_to_tag((item, pmt.intern(key), value))


def packet_tags(lengths, key=KEY):
    """Length tags of packets that follow each other."""
    heads = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return [tag(int(head), key, int(n)) for head, n in zip(heads, lengths)]


class Source:
    """A stream of an array's rows, (items, vlen) or (items)."""

    def __init__(self, array, tags=()):
        array = np.asarray(array)
        self.vlen = array.shape[1] if array.ndim == 2 else 1
        make = getattr(blocks, "vector_source_" + _LETTER[array.dtype.name])
        self.block = make(array.ravel().tolist(), False, self.vlen, list(tags))


class Sink:
    """The items received, (items, vlen) or with vlen 0 (items), and their tags."""

    def __init__(self, dtype, vlen=0):
        self.dtype, self.vlen = np.dtype(dtype), vlen
        make = getattr(blocks, "vector_sink_" + _LETTER[self.dtype.name])
        self.block = make(max(vlen, 1))

    @property
    def data(self):
        got = np.array(self.block.data(), self.dtype)
        return got.reshape(-1, self.vlen) if self.vlen else got

    def tags(self, key):
        """[(item, value)] of a key, in order."""
        found = [t for t in self.block.tags() if pmt.symbol_to_string(t.key) == key]
        return sorted((t.offset, pmt.to_python(t.value)) for t in found)


class MemoryFile:
    """A file in memory, which a block opens by its path: ten times as fast as lists of numbers."""

    def __init__(self):
        self._number = os.memfd_create("qa_support")
        self.path = f"/proc/self/fd/{self._number}"

    def __del__(self):
        os.close(self._number)


class QuickSource:
    """As Source, without tags."""

    def __init__(self, array):
        file = MemoryFile()
        array.tofile(file.path)
        size = array.nbytes // len(array)
        self.block = blocks.file_source(size, file.path, False)


class QuickSink:
    """As Sink, without tags."""

    def __init__(self, dtype, vlen=0):
        self._dtype, self._vlen, self._file = np.dtype(dtype), vlen, MemoryFile()
        size = self._dtype.itemsize * max(vlen, 1)
        self.block = blocks.file_sink(size, self._file.path)

    @property
    def data(self):
        self.block.close()
        got = np.fromfile(self._file.path, self._dtype)
        return got.reshape(-1, self._vlen) if self._vlen else got


class FlowgraphCase(unittest.TestCase):
    def run_flowgraph(self, top, seconds=60):
        """Runs a flowgraph to its end, which must come."""
        top.start()
        waiter = threading.Thread(target=top.wait, daemon=True)
        waiter.start()
        waiter.join(seconds)
        if waiter.is_alive():
            top.stop()
            waiter.join(10)
            self.fail(f"the flowgraph did not end within {seconds} seconds")

    def through(self, block, inputs, outputs, tags=(), seconds=60):
        """Runs arrays through a block; returns a Sink for each of `outputs`, which are
        (dtype, vlen). Tags go to input 0."""
        top = gr.top_block()
        sources = [Source(array, () if i else tags) for i, array in enumerate(inputs)]
        sinks = [Sink(*output) for output in outputs]
        for port, source in enumerate(sources):
            top.connect(source.block, (block, port))
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        self.run_flowgraph(top, seconds)
        return sinks

    def assert_refuses(self, *texts):
        """A context that must raise ValueError with all of these texts."""
        return self.assertRaisesRegex(ValueError, "".join(f"(?=.*{t})" for t in texts))


def write_anew(path, content):
    """Writes bytes to a new file: ext4 waits for the disk if a file is written over."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


class Log:
    """The text written to the log."""

    def __init__(self):
        self.text = ""


@contextlib.contextmanager
def captured_log():
    """Catches what GNU Radio's loggers write, which goes past sys.stdout."""
    log = Log()
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        saved = [os.dup(1), os.dup(2)]
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield log
        finally:
            for number, before in zip((1, 2), saved):
                os.dup2(before, number)
                os.close(before)
            file.seek(0)
            log.text = file.read().decode()
