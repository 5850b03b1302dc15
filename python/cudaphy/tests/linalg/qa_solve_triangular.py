#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The function solve_triangular on numpy arrays."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, gaussian, main

NAN, INF = float("nan"), float("inf")
KINDS = ("float32", "float64", "complex64", "complex128")


def of_kind(a, kind):
    return (a.real if kind.startswith("float") else a).astype(kind)


def triangle(shape, kind="complex64", lower=True, beside=0):
    """Well-conditioned triangles, with `beside` in the other triangle."""
    order = shape[-1]
    a = of_kind(gaussian(shape, dtype="complex128") / order + 2 * np.eye(order), kind)
    inside = np.tri(order, dtype=bool) if lower else np.tri(order, dtype=bool).T
    return np.where(inside, a, np.array(beside, kind)), np.where(inside, a, 0)


def sides(shape, kind="complex64"):
    return of_kind(gaussian(shape, seed=2, dtype="complex128"), kind)


def solve(l, b, **options):  # noqa: E741
    return cudaphy.solve_triangular(l, b, backend=BACKEND, **options)


class qa_solve_triangular(unittest.TestCase):
    def assert_solves(self, l, x, b):  # noqa: E741
        self.assertEqual(x.shape, np.broadcast_shapes(b.shape, (l @ x).shape))
        tolerance = 200 * np.finfo(x.dtype).eps * max(1, np.abs(b).max(initial=0))
        wide = "complex128" if x.dtype.kind == "c" else "float64"
        np.testing.assert_allclose(
            l.astype(wide) @ x, np.broadcast_to(b, x.shape), rtol=0, atol=tolerance
        )

    def test_keeps_kind_and_leading_dimensions_and_reads_the_triangle_alone(self):
        for kind in KINDS:
            for leading in ((), (1,), (37,), (2, 3), (2, 0, 3), (0,)):
                for order, columns in ((1, 1), (3, 2), (8, 40), (32, 1), (50, 33)):
                    for lower in (True, False):
                        given, l = triangle(leading + (order,) * 2, kind, lower, NAN)
                        b = sides(leading + (order, columns), kind)
                        x, info = solve(given, b, lower=lower)
                        self.assertEqual((x.dtype, x.shape), (kind, b.shape))
                        self.assertEqual((info.shape, info.dtype), (leading, np.int32))
                        self.assertFalse(info.any())
                        self.assert_solves(l, x, b)

    def test_orders_up_to_1024(self):
        for order in (513, 1024):
            given, l = triangle((order, order), "float32", beside=NAN)
            b = sides((order, 70), "float32")
            x, info = solve(given, b)
            self.assertEqual(info, 0)
            self.assert_solves(l, x, b)

    def test_leading_dimensions_are_broadcast(self):
        for of_l, of_b in (
            ((), (7,)),
            ((1,), (4, 7)),
            ((1, 1), (4, 7)),
            ((7,), ()),
            ((4, 1), (7,)),
            ((4, 1), (1, 7)),
            ((4, 7), (7,)),
            ((), (0,)),
            ((3, 1), (0,)),
        ):
            with self.subTest(l=of_l, b=of_b):
                _, l = triangle(of_l + (5, 5))
                l = l * np.arange(1, l[..., 0, 0].size + 1).reshape(of_l + (1, 1))
                l = l.astype("complex64")  # noqa: E741
                b = sides(of_b + (5, 2))
                if b.ndim == l.ndim - 1:
                    b = b[np.newaxis]  # otherwise b would be stacked vectors
                x, info = solve(l, b)
                leading = np.broadcast_shapes(of_l, b.shape[:-2])
                self.assertEqual((x.shape, info.shape), (leading + (5, 2), leading))
                self.assert_solves(l, x, b)

    def test_vectors_are_right_hand_sides_too(self):
        _, l = triangle((6, 3, 5, 5))
        for matrices, vectors in (
            (l[0, 0], (5,)),
            (l[0], (3, 5)),
            (l, (6, 3, 5)),
            (l, (5,)),
            (l, (1, 3, 5)),
        ):
            b = sides(vectors)
            x, info = solve(matrices, b)
            self.assertEqual(x.shape, matrices.shape[:-1])
            self.assertEqual(info.shape, matrices.shape[:-2])
            self.assert_solves(matrices, x[..., np.newaxis], b[..., np.newaxis])

    def test_a_unit_diagonal_is_not_read(self):
        for lower in (True, False):
            _, l = triangle((5, 6, 6), lower=lower)
            given = l.copy()
            given[:, range(6), range(6)] = (0, NAN, INF, -1, 2, 7)
            l[:, range(6), range(6)] = 1
            b = sides((5, 6, 3))
            x, info = solve(given, b, lower=lower, unit_diagonal=True)
            self.assertFalse(info.any())
            self.assert_solves(l, x, b)

    def test_takes_any_kind_and_layout(self):
        l, b = np.array([[1, 0], [3, 1]]), np.array([1, 5])  # noqa: E741
        for kind_l, kind_b, kind in (
            ("int64", "int64", "float64"),
            ("int8", "float16", "float32"),
            ("float32", "complex64", "complex64"),
            ("complex64", "float64", "complex128"),
            ("longdouble", "float32", "float64"),
        ):
            x, _ = solve(l.astype(kind_l), b.astype(kind_b))
            self.assertEqual(x.dtype, kind)
            np.testing.assert_array_equal(x, [1, 2])
        x, _ = solve(l.tolist(), b.tolist())
        np.testing.assert_array_equal(x, [1, 2])
        _, l = triangle((4, 5, 6, 6))
        turned = l[1:, ::2].transpose(1, 0, 3, 2)
        b = sides((3, 3, 2, 6)).transpose(0, 1, 3, 2)
        before = turned.copy(), b.copy()
        x, _ = solve(turned, b, lower=False)
        self.assert_solves(turned, x, b)
        np.testing.assert_array_equal(turned, before[0])
        np.testing.assert_array_equal(b, before[1])

    def test_a_bad_item_harms_no_other(self):
        _, l = triangle((40, 5, 5))
        b = sides((40, 5, 3))
        l[3], l[17, 2, 2], l[33, 4, 0], b[35, 1, 1] = 0, NAN, INF, NAN
        l[20, 3, 3] = l[20, 4, 4] = 0
        x, info = solve(l, b)
        expected = np.zeros(40, int)
        expected[[3, 17, 20, 33, 35]] = 1, -1, 4, -1, -1
        np.testing.assert_array_equal(info, expected)
        self.assertFalse(x[info != 0].any())
        good = info == 0
        self.assert_solves(l[good], x[good], b[good])

    def test_no_columns_still_say_which_matrices_are_singular(self):
        _, l = triangle((4, 3, 3))
        l[2, 1, 1] = 0
        x, info = solve(l, np.ones((4, 3, 0), "complex64"))
        self.assertEqual(x.shape, (4, 3, 0))
        np.testing.assert_array_equal(info, [0, 0, 2, 0])

    def test_any_number_of_right_hand_sides(self):
        l = np.array([[2, 0], [1, 4]], "float32")  # noqa: E741
        for sides in (65535, 65536, 65537, 200000):
            b = np.arange(2 * 3 * sides, dtype="float32").reshape(3, 2, sides)
            b[1, 0, -1] = np.nan
            x, info = solve(l, b)
            np.testing.assert_array_equal(info, [0, -1, 0])
            self.assertFalse(x[1].any())
            first = b[::2, 0] / 2
            np.testing.assert_allclose(x[::2, 0], first, rtol=1e-6)
            np.testing.assert_allclose(x[::2, 1], (b[::2, 1] - first) / 4, rtol=1e-5)
        x, info = solve(np.tri(2) * [[1, 0], [1, 0]], np.ones((2, 65537)))
        self.assertEqual(info, 2)
        self.assertFalse(x.any())

    def test_whitens_correlated_noise(self):
        _, factor = triangle((8, 8), "complex128")
        covariance = factor @ factor.conj().T
        white, info = solve(np.linalg.cholesky(covariance), factor)
        self.assertEqual(info, 0)
        np.testing.assert_allclose(white @ white.conj().T, np.eye(8), atol=1e-13)

    def test_refuses_what_does_not_fit(self):
        for shape in ((3,), (2, 3), (4, 2, 3), ()):
            with self.assertRaisesRegex(ValueError, r"l has shape .*\(\.\.\., N, N\)"):
                solve(np.ones(shape), np.ones(3))
        for shape in ((), (2,), (2, 3), (4, 3, 2, 3)):
            with self.assertRaisesRegex(ValueError, r"b has shape .*\(\.\.\., 3, K\)"):
                solve(np.eye(3), np.ones(shape))
        with self.assertRaisesRegex(ValueError, "broadcast"):
            solve(np.ones((2, 3, 3)), np.ones((4, 3, 1)))
        for order in (0, 1025):
            with self.assertRaisesRegex(ValueError, f"{order}.*1.*1024"):
                solve(np.ones((order, order)), np.ones((order, 1)))
        with self.assertRaisesRegex(ValueError, "gpu"):
            cudaphy.solve_triangular(np.eye(3), np.ones(3), backend="gpu")
        with self.assertRaises(cudaphy.BackendUnavailable):
            cudaphy.solve_triangular(np.eye(3), np.ones(3), backend="cuda", device=99)


if __name__ == "__main__":
    main()
