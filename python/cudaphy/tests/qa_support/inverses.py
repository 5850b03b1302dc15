# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the tests of blocks that take one matrix an item and put out its inverse."""

import numpy as np
from gnuradio import cudaphy

from . import BACKEND, FlowgraphCase, captured_log


def matrices(count, order, dtype="complex64", seed=1):
    """Gaussian matrices without structure."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((count, order, order))
    if dtype == "complex64":
        a = a + 1j * rng.standard_normal((count, order, order))
    return a


def rows(a):
    return a.reshape(len(a), a.shape[1] * a.shape[2])


class InverseCase(FlowgraphCase):
    """`block`, a function (order, **options), is the tested block."""

    def make(self, order, **options):
        return self.block(order, **{"backend": BACKEND, **options})

    def inverses(self, a, tags=(), seconds=60, **options):
        """The sink with the inverses of a."""
        dtype, width = a.dtype.name, a.shape[1] * a.shape[2]
        kind = "float" if dtype == "float32" else "complex"
        block = self.make(a.shape[1], type=kind, **options)
        return self.through(block, [rows(a)], [(dtype, width)], tags, seconds)[0]

    def assert_inverts(self, a, got):
        """a is inverted in double precision for comparison."""
        expected = np.linalg.inv(a.astype("c16" if a.dtype.kind == "c" else "f8"))
        self.assertEqual(got.shape, rows(a).shape)
        scale = np.abs(expected).max(axis=(1, 2), initial=0)[:, np.newaxis]
        self.assertLess((np.abs(got - rows(expected)) / scale).max(initial=0), 1e-5)

    def assert_backend_is_readable_and_logged(self):
        self.assertEqual(self.make(2).backend(), BACKEND)
        automatic = self.block(2)
        self.assertEqual(automatic.backend(), cudaphy.backends()[0])
        a = np.tile(np.eye(2, dtype="complex64"), (3, 1, 1))
        with captured_log() as log:
            self.through(automatic, [rows(a)], [("complex64", 4)])
        self.assertIn(f"runs on {cudaphy.backends()[0]}", log.text)
