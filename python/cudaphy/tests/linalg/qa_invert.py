#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The function inverse on numpy arrays."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, gaussian, main

NAN, INF = float("nan"), float("inf")
KINDS = ("float32", "float64", "complex64", "complex128")
PIVOTINGS = ("full", "partial", "none")


def matrices(shape, kind="complex64", hermitian=False):
    """Gaussian matrices with a heavier diagonal, or positive definite matrices."""
    order = shape[-1]
    a = gaussian(shape, dtype="complex128")
    a = a.real if kind.startswith("float") else a
    if hermitian:
        a = a @ a.conj().swapaxes(-1, -2)
    return (a + 2 * order * np.eye(order)).astype(kind)


def turned(a):
    """(..., N, N) to (N, N, ...)."""
    return np.moveaxis(a, (-2, -1), (0, 1))


class qa_invert(unittest.TestCase):
    def assert_inverse(self, x, a):
        """The residuals of both sides are rounding errors."""
        eye = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
        tolerance = 100 * a.shape[-1] * np.finfo(x.dtype).eps
        wide = "complex128" if x.dtype.kind == "c" else "float64"
        x, a = x.astype(wide), a.astype(wide)
        np.testing.assert_allclose(x @ a, eye, rtol=0, atol=tolerance)
        np.testing.assert_allclose(a @ x, eye, rtol=0, atol=tolerance)

    def test_keeps_kind_and_leading_dimensions_with_every_pivoting(self):
        for kind in KINDS:
            for pivoting in PIVOTINGS:
                for leading in ((), (1,), (37,), (2, 3), (2, 0, 3), (0,), (1, 2, 3, 4)):
                    for order in (1, 3, 8, 32, 33, 64):
                        with self.subTest(kind, pivoting=pivoting, order=order):
                            a = matrices(leading + (order,) * 2, kind, pivoting == "none")
                            x, info = cudaphy.invert(a, pivoting, BACKEND)
                            self.assertEqual((x.shape, x.dtype), (a.shape, kind))
                            self.assertEqual(
                                (info.shape, info.dtype), (leading, np.int32)
                            )
                            self.assertFalse(info.any())
                            self.assert_inverse(x, a)

    def test_converts_other_kinds_and_takes_any_strides(self):
        a = np.array([[2, 1], [1, 1]])
        for array, kind in (
            (a, "float64"),
            (a.tolist(), "float64"),
            (a.astype("int16"), "float32"),
            (a.astype("float16"), "float32"),
            (a.astype("longdouble"), "float64"),
            (a.astype("clongdouble"), "complex128"),
        ):
            x, _ = cudaphy.invert(array, backend=BACKEND)
            self.assertEqual(x.dtype, kind)
            np.testing.assert_allclose(x, [[1, -1], [-1, 2]], atol=1e-5)
        big = gaussian((5, 6, 7, 8)) + 9 * np.ones((5, 6, 7, 8))
        for part in (
            big[1:4, ::2, :4, 1:5].transpose(1, 0, 3, 2),
            big[..., ::-2, ::2][..., :3, :3].real,
        ):
            before = part.copy()
            x, _ = cudaphy.invert(part, pivoting="partial", backend=BACKEND)
            same, _ = cudaphy.invert(before, pivoting="partial", backend=BACKEND)
            np.testing.assert_array_equal(x, same)
            np.testing.assert_array_equal(part, before)

    def test_interleaved_gives_the_same_numbers_at_other_places(self):
        for kind in KINDS:
            for leading in ((), (1,), (37,), (2, 3), (0,)):
                for order in (1, 2, 5, 8, 33):
                    a = matrices(leading + (order,) * 2, kind)
                    options = dict(backend=BACKEND, determinant=True, rcond=True)
                    rows = cudaphy.invert(a, **options)
                    other = cudaphy.invert(turned(a), layout="interleaved", **options)
                    self.assertEqual(other[0].shape, (order, order) + leading)
                    np.testing.assert_array_equal(other[0], turned(rows[0]))
                    for got, expected in zip(other[1:], rows[1:]):
                        self.assertEqual(
                            (got.shape, got.dtype), (leading, expected.dtype)
                        )
                        np.testing.assert_array_equal(got, expected)

    def test_determinant_and_condition_are_returned_on_request(self):
        for kind in KINDS:
            eps = np.finfo(kind).eps
            for pivoting in PIVOTINGS:
                for order in (1, 2, 5, 8, 17):
                    a = matrices((3, 4, order, order), kind, pivoting == "none")
                    a = a / order  # the determinant of 17 x 17 stays within float32
                    det = np.linalg.det(a.astype("complex128"))
                    norm = np.abs(a).sum(-2).max(-1)
                    condition = 1 / norm / np.abs(np.linalg.inv(a)).sum(-2).max(-1)
                    for requested in ((True, True), (True, False), (False, True)):
                        x, info, *more = cudaphy.invert(
                            a,
                            pivoting,
                            BACKEND,
                            determinant=requested[0],
                            rcond=requested[1],
                        )
                        self.assert_inverse(x, a)
                        self.assertEqual(len(more), sum(requested))
                        self.assertTrue(all(m.shape == info.shape for m in more))
                        if requested[0]:
                            self.assertEqual(more[0].dtype, kind)
                            np.testing.assert_allclose(
                                more[0], det, rtol=100 * order * eps
                            )
                        if requested[1]:
                            self.assertEqual(more[-1].dtype, np.finfo(kind).dtype)
                            np.testing.assert_allclose(
                                more[-1], condition, rtol=1000 * order * eps
                            )

    def test_the_patents_algorithm_inverts_too(self):
        for kind in KINDS:
            for order in (1, 2, 4, 8, 32):
                a = matrices((37, order, order), kind)
                x, info = cudaphy.invert(a, backend=BACKEND, algorithm="patent")
                self.assertFalse(info.any())
                self.assert_inverse(x, a)

    def test_a_matrix_without_inverse_harms_no_other(self):
        for pivoting in PIVOTINGS:
            a = matrices((40, 5, 5), hermitian=True)
            a[3], a[17, 2, 2], a[33, 0, 4] = 0, NAN, INF
            a[20] = np.diag([1, 2, 3, 4, 0])
            x, info, det, rcond = cudaphy.invert(
                a, pivoting, BACKEND, determinant=True, rcond=True
            )
            expected = np.zeros(40, int)
            expected[[3, 17, 20, 33]] = 1, -1, 5, -1
            np.testing.assert_array_equal(info, expected)
            self.assertFalse(x[info != 0].any())
            self.assertFalse(rcond[info != 0].any())
            self.assertFalse(det[info > 0].any())
            self.assertTrue(np.isnan(det[info == -1]).all())
            self.assert_inverse(x[info == 0], a[info == 0])

    def test_a_matrix_near_singular_gives_the_inverse_of_one_near_it(self):
        for kind in KINDS:
            small = np.finfo(kind).eps / 1024
            a = np.tile(np.diag([4, 2, 1, small]).astype(kind), (3, 1, 1))
            x, info, rcond = cudaphy.invert(a, backend=BACKEND, rcond=True)
            np.testing.assert_array_equal(info, 4)
            bound = 4 * np.finfo(kind).eps
            np.testing.assert_allclose(
                x, np.broadcast_to(np.diag([0.25, 0.5, 1, 1 / bound]), a.shape), rtol=1e-3
            )
            np.testing.assert_allclose(rcond, bound / 4, rtol=1e-3)
            # Only full pivoting replaces a pivot.
            for pivoting in ("partial", "none"):
                x, info = cudaphy.invert(a, pivoting, BACKEND)
                self.assertFalse(info.any())
                np.testing.assert_allclose(x[:, 3, 3], 1 / small, rtol=1e-3)

    def test_without_pivoting_only_positive_definite_matrices_are_taken(self):
        for kind in KINDS:
            a = np.tile(np.eye(4).astype(kind), (3, 1, 1))
            a[1, 2, 2] = -1
            for pivoting, status in (("full", 0), ("partial", 0), ("none", 3)):
                x, info = cudaphy.invert(a, pivoting, BACKEND)
                np.testing.assert_array_equal(info, [0, status, 0])
                np.testing.assert_array_equal(x[1], 0 if status else a[1])

    def test_refuses_what_does_not_fit(self):
        for shape in ((3,), (2, 3), (4, 2, 3), ()):
            with self.assertRaisesRegex(
                ValueError, r"shape .* expected \(\.\.\., N, N\)"
            ):
                cudaphy.invert(np.ones(shape), backend=BACKEND)
        for shape in ((3,), (2, 3), (2, 3, 3), ()):
            with self.assertRaisesRegex(
                ValueError, r"shape .* expected \(N, N, \.\.\.\)"
            ):
                cudaphy.invert(np.ones(shape), layout="interleaved", backend=BACKEND)
        for order in (0, 65):
            for shape in ((2, order, order), (order, order)):
                with self.assertRaisesRegex(ValueError, f"{order}.*1.*64"):
                    cudaphy.invert(np.ones(shape), backend=BACKEND)
        for wrong in (
            {"pivoting": "most"},
            {"layout": "columns"},
            {"algorithm": "slowest"},
            {"backend": "gpu"},
        ):
            with self.assertRaisesRegex(ValueError, *wrong.values()):
                cudaphy.invert(np.eye(3), **{"backend": BACKEND, **wrong})
        for wrong in ({"pivoting": "partial"}, {"layout": "interleaved"}):
            with self.assertRaisesRegex(ValueError, "patent"):
                cudaphy.invert(np.eye(3), backend=BACKEND, algorithm="patent", **wrong)
        with self.assertRaisesRegex(ValueError, "patent"):
            cudaphy.invert(np.eye(33), backend=BACKEND, algorithm="patent")
        with self.assertRaises(cudaphy.BackendUnavailable):
            cudaphy.invert(np.eye(3), backend="cuda", device=99)


if __name__ == "__main__":
    main()
