#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The function invert_triangular on numpy arrays."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, gaussian, main

NAN, INF = float("nan"), float("inf")
KINDS = ("float32", "float64", "complex64", "complex128")


def triangle(shape, kind="complex64", lower=True, beside=0):
    """Well-conditioned triangles, with `beside` in the other triangle."""
    order = shape[-1]
    a = gaussian(shape, dtype="complex128") / order + 2 * np.eye(order)
    a = (a.real if kind.startswith("float") else a).astype(kind)
    inside = np.tri(order, dtype=bool) if lower else np.tri(order, dtype=bool).T
    return np.where(inside, a, np.array(beside, kind)), np.where(inside, a, 0)


class qa_invert_triangular(unittest.TestCase):
    def assert_inverse(self, x, l):  # noqa: E741
        tolerance = 200 * np.finfo(x.dtype).eps
        np.testing.assert_allclose(
            x @ l,
            np.broadcast_to(np.eye(l.shape[-1]), l.shape),
            rtol=0,
            atol=tolerance,
        )

    def test_keeps_kind_and_leading_dimensions_and_reads_the_triangle_alone(self):
        for kind in KINDS:
            for leading in ((), (1,), (37,), (2, 3), (2, 0, 3), (0,)):
                for order in (1, 3, 8, 32, 33, 100):
                    for lower in (True, False):
                        given, l = triangle(leading + (order,) * 2, kind, lower, NAN)
                        x, info = cudaphy.invert_triangular(
                            given, lower=lower, backend=BACKEND
                        )
                        self.assertEqual(x.dtype, kind)
                        self.assertEqual((info.shape, info.dtype), (leading, np.int32))
                        self.assertFalse(info.any())
                        self.assert_inverse(x, l)
                        beside = np.triu(x, 1) if lower else np.tril(x, -1)
                        self.assertFalse(beside.any())

    def test_a_unit_diagonal_is_not_read(self):
        for kind in KINDS:
            for lower in (True, False):
                _, l = triangle((5, 6, 6), kind, lower)
                given = l.copy()
                given[:, range(6), range(6)] = (0, NAN, INF, -1, 2, 7)
                l[:, range(6), range(6)] = 1
                x, info = cudaphy.invert_triangular(
                    given, lower, unit_diagonal=True, backend=BACKEND
                )
                self.assertFalse(info.any())
                self.assert_inverse(x, l)

    def test_takes_any_kind_and_layout(self):
        a = np.array([[1, 0], [3, 1]])
        for array, kind in (
            (a.astype("int64"), "float64"),
            (a.astype("int8"), "float32"),
            (a.astype("float16"), "float32"),
            (a.astype("longdouble"), "float64"),
            (a.astype("clongdouble"), "complex128"),
            (a.tolist(), "float64"),
        ):
            x, _ = cudaphy.invert_triangular(array, backend=BACKEND)
            self.assertEqual(x.dtype, kind)
            np.testing.assert_array_equal(x, [[1, 0], [-3, 1]])
        _, l = triangle((4, 5, 6, 6))
        turned = l[1:, ::2].transpose(1, 0, 3, 2)
        before = turned.copy()
        x, _ = cudaphy.invert_triangular(turned, lower=False, backend=BACKEND)
        self.assert_inverse(x, turned)
        np.testing.assert_array_equal(turned, before)

    def test_a_triangle_without_inverse_harms_no_other(self):
        _, l = triangle((40, 5, 5))
        l[3], l[17, 2, 2], l[33, 4, 0] = 0, NAN, INF
        l[20, 3, 3] = l[20, 4, 4] = 0
        x, info = cudaphy.invert_triangular(l, backend=BACKEND)
        expected = np.zeros(40, int)
        expected[[3, 17, 20, 33]] = 1, -1, 4, -1
        np.testing.assert_array_equal(info, expected)
        self.assertFalse(x[info != 0].any())
        self.assert_inverse(x[info == 0], l[info == 0])

    def test_refuses_what_does_not_fit(self):
        for shape in ((3,), (2, 3), (4, 2, 3), ()):
            with self.assertRaisesRegex(
                ValueError, r"shape .* expected \(\.\.\., N, N\)"
            ):
                cudaphy.invert_triangular(np.ones(shape), backend=BACKEND)
        for order in (0, 1025):
            with self.assertRaisesRegex(ValueError, f"{order}.*1.*1024"):
                cudaphy.invert_triangular(np.ones((2, order, order)), backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "gpu"):
            cudaphy.invert_triangular(np.eye(3), backend="gpu")
        with self.assertRaises(cudaphy.BackendUnavailable):
            cudaphy.invert_triangular(np.eye(3), backend="cuda", device=99)


if __name__ == "__main__":
    main()
