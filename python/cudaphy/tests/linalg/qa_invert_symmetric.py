#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions invert_symmetric and update_inverse on numpy arrays."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, gaussian, main

KINDS = ("float32", "float64", "complex64", "complex128")
NAN, INF = float("nan"), float("inf")


def matrices(shape, kind, definite=False):
    a = gaussian(shape, dtype="complex128") / np.sqrt(shape[-1])
    a = a.real if kind.startswith("float") else a
    a = (a + a.conj().swapaxes(-1, -2)) / 2
    return (a + 4 * definite * np.eye(shape[-1])).astype(kind)


class qa_invert_symmetric(unittest.TestCase):
    def assert_inverse(self, x, a):
        wide = "complex128" if x.dtype.kind == "c" else "float64"
        wide_x, wide_a = x.astype(wide), a.astype(wide)
        norms = [np.abs(m).sum(-2).max(-1) for m in (wide_x, wide_a)]
        error = np.abs(np.eye(a.shape[-1]) - wide_a @ wide_x).sum(-2).max(-1)
        eps = np.finfo(x.dtype).eps / 2
        ratio = error / (a.shape[-1] * norms[0] * norms[1] * eps)
        self.assertLess(ratio.max(initial=0), 30)
        np.testing.assert_array_equal(x, x.conj().swapaxes(-1, -2))

    def test_keeps_kind_and_leading_dimensions(self):
        for kind in KINDS:
            for definite in ("unknown", "positive"):
                for leading in ((), (1,), (2, 3), (0,)):
                    for order in (1, 3, 65):
                        a = matrices(leading + (order,) * 2, kind, definite == "positive")
                        x, info = cudaphy.invert_symmetric(a, definite, backend=BACKEND)
                        self.assertEqual((x.shape, x.dtype), (a.shape, kind))
                        self.assertEqual((info.shape, info.dtype), (leading, np.int32))
                        self.assertFalse(info.any())
                        self.assert_inverse(x, a)

    def test_bordering_and_residual(self):
        for kind in KINDS:
            a = matrices((3, 50, 50), kind, True)
            for algorithm in ("blocked", "bordering"):
                x, info, residual = cudaphy.invert_symmetric(
                    a, algorithm=algorithm, backend=BACKEND, residual=True
                )
                self.assertFalse(info.any())
                self.assert_inverse(x, a)
                self.assertEqual(residual.shape, info.shape)
                self.assertEqual(residual.dtype, np.finfo(kind).dtype)
                self.assertTrue((residual < 30).all())

    def test_mean_squared_differences_are_at_most_the_papers(self):
        # The paper prints about 1e-8 for float32 at every order.
        for order in (125, 250, 500, 1000):
            g = gaussian((order, order), dtype="complex128").real
            a = (g @ g.T / order + 0.005 * np.eye(order)).astype("float32")
            a = np.tril(a) + np.tril(a, -1).T
            exact = np.linalg.inv(a.astype("float64"))
            difference = {}
            for algorithm in ("bordering", "blocked"):
                x, info = cudaphy.invert_symmetric(
                    a, algorithm=algorithm, backend=BACKEND
                )
                self.assertEqual(info, 0)
                difference[algorithm] = np.mean((x - exact) ** 2)
            self.assertLess(difference["bordering"], 1e-8)
            self.assertLess(difference["blocked"], difference["bordering"])

    def test_converts_other_kinds(self):
        x, info = cudaphy.invert_symmetric([[0, 2], [2, 0]], backend=BACKEND)
        self.assertEqual(x.dtype, "float64")
        np.testing.assert_allclose(x, [[0, 0.5], [0.5, 0]], atol=1e-15)

    def test_names_the_first_pair_that_differs(self):
        for kind in KINDS:
            a = matrices((20, 20), kind)
            a[7, 3] = 11
            a[9, 2] = 12
            name = "symmetric" if kind.startswith("float") else "Hermitian"
            with self.assertRaisesRegex(
                ValueError, rf"not {name}: \[7, 3\] is .*11.*\[3, 7\] is"
            ):
                cudaphy.invert_symmetric(a, backend=BACKEND)
            with self.assertRaisesRegex(ValueError, r"a\[1\] is not"):
                cudaphy.invert_symmetric(
                    np.stack([matrices((20, 20), kind), a]), backend=BACKEND
                )
            x, info = cudaphy.invert_symmetric(a, check=False, backend=BACKEND)
            lower = np.tril(a) + np.tril(a, -1).conj().T
            self.assertFalse(info.any())
            self.assert_inverse(x, lower)

    def test_refuses_complex_symmetric_matrices(self):
        for kind in KINDS[2:]:
            a = gaussian((5, 5), dtype="complex128").astype(kind)
            with self.assertRaisesRegex(
                ValueError, "complex symmetric but not Hermitian"
            ):
                cudaphy.invert_symmetric(a + a.T, backend=BACKEND)

    def test_plainly_symmetric_complex_matrices_are_inverted_by_name(self):
        for kind in KINDS[2:]:
            for shape in ((1, 1), (2, 2), (3, 20, 20), (150, 150)):
                a = gaussian(shape, dtype="complex128")
                a = (a + a.swapaxes(-1, -2)).astype(kind)
                x, info, residual, rcond = cudaphy.invert_symmetric(
                    a, symmetry="symmetric", backend=BACKEND, residual=True, rcond=True
                )
                self.assertEqual((x.dtype, x.shape), (a.dtype, a.shape))
                self.assertEqual((info.shape, info.dtype), (shape[:-2], np.int32))
                self.assertFalse(info.any())
                self.assertTrue((residual < 30).all())
                np.testing.assert_array_equal(x, x.swapaxes(-1, -2))
                wide = a.astype("complex128")
                norms = [np.abs(m).sum(-2).max(-1) for m in (wide, x)]
                error = np.abs(np.eye(shape[-1]) - wide @ x).sum(-2).max(-1)
                eps = np.finfo(kind).eps / 2
                self.assertLess(
                    (error / (norms[0] * norms[1])).max(), 30 * shape[-1] * eps
                )
                np.testing.assert_allclose(rcond * norms[0] * norms[1], 1, rtol=1e-4)
                lower, _ = cudaphy.invert_symmetric(
                    np.tril(a), check=False, symmetry="symmetric", backend=BACKEND
                )
                np.testing.assert_array_equal(lower, x)
            a = np.stack([wide[:4, :4], np.ones((4, 4)), wide[:4, :4]]).astype(kind)
            a[2, 1, 1] = NAN
            x, info, rcond = cudaphy.invert_symmetric(
                a, symmetry="symmetric", backend=BACKEND, rcond=True
            )
            np.testing.assert_array_equal(info, [0, 4, -1])
            self.assertFalse(x[1:].any() or rcond[1:].any())
            a[0, 2, 1] += 1
            with self.assertRaisesRegex(ValueError, r"a\[0\] is not symmetric: \[2, 1\]"):
                cudaphy.invert_symmetric(a, symmetry="symmetric", backend=BACKEND)
            for wrong in ({"definite": "positive"}, {"algorithm": "bordering"}):
                with self.assertRaisesRegex(ValueError, *wrong.values()):
                    cudaphy.invert_symmetric(
                        a[1], symmetry="symmetric", backend=BACKEND, **wrong
                    )
        with self.assertRaisesRegex(ValueError, "skew.*hermitian.*symmetric"):
            cudaphy.invert_symmetric(np.eye(3), symmetry="skew", backend=BACKEND)

    def test_a_matrix_without_inverse_harms_no_other(self):
        for kind in KINDS:
            a = matrices((6, 9, 9), kind, True)
            a[1] = 0
            a[2, 4, 4] = NAN
            a[4, 5, 5] = -9
            for definite, expected in (
                ("unknown", [0, 9, -1, 0, 0, 0]),
                ("positive", [0, 1, -1, 0, 6, 0]),
            ):
                x, info = cudaphy.invert_symmetric(a, definite, backend=BACKEND)
                np.testing.assert_array_equal(info, expected)
                self.assertFalse(x[info != 0].any())
                self.assert_inverse(x[info == 0], a[info == 0])

    def test_a_covariance_of_too_few_snapshots_has_no_inverse_in_any_draw(self):
        for kind in KINDS:
            for elements, snapshots in ((16, 15), (16, 3), (5, 4), (2, 1)):
                x = gaussian((400, elements, snapshots), dtype="complex128")
                x = (x.real if kind.startswith("float") else x).astype(kind)
                r = x @ x.conj().swapaxes(-1, -2) / np.asarray(snapshots, x.real.dtype)
                lower = np.tril(r, -1)
                r = lower + lower.conj().swapaxes(-1, -2)
                diagonal = np.arange(elements)
                r[:, diagonal, diagonal] = (np.abs(x) ** 2).sum(-1) / snapshots
                for definite in ("unknown", "positive"):
                    x_, info, rcond = cudaphy.invert_symmetric(
                        r, definite, backend=BACKEND, rcond=True
                    )
                    self.assertTrue((info > 0).all())
                    if definite == "unknown":
                        self.assertTrue((info == elements).all())
                    self.assertFalse(x_.any() or rcond.any())
                # The plain inverse has the same reciprocal condition.
                _, _, rcond = cudaphy.invert(r, backend=BACKEND, rcond=True)
                self.assertLess(rcond.max(), 4 * np.finfo(kind).eps)

    def test_ill_conditioned_matrices_are_inverted_with_a_small_rcond(self):
        for kind in KINDS:
            digits = 5 if np.finfo(kind).bits == 32 else 11
            for order in (2, 16, 90):
                q, _ = np.linalg.qr(gaussian((order, order), dtype="complex128"))
                if kind.startswith("float"):
                    q, _ = np.linalg.qr(q.real)
                a = ((q * np.logspace(0, -digits, order)) @ q.conj().T).astype(kind)
                a = np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(np.diag(a).real)
                for definite in ("unknown", "positive"):
                    x, info, residual, rcond = cudaphy.invert_symmetric(
                        a.astype(kind),
                        definite,
                        backend=BACKEND,
                        residual=True,
                        rcond=True,
                    )
                    self.assertEqual(info, 0)
                    self.assert_inverse(x, a.astype(kind))
                    norms = [np.abs(m).sum(0, dtype="f8").max() for m in (a, x)]
                    self.assertAlmostEqual(rcond * norms[0] * norms[1], 1, 5)
                    self.assertLess(rcond, 10.0 ** (0.5 - digits))
                    self.assertEqual(rcond.dtype, np.finfo(kind).dtype)
        # The scale of a matrix does not matter.
        scale = 10.0 ** np.linspace(0, -15, 8)
        a = (matrices((8, 8), "float64", True) * scale * scale[:, None]).astype("float32")
        for definite in ("unknown", "positive"):
            x, info, rcond = cudaphy.invert_symmetric(
                a, definite, backend=BACKEND, rcond=True
            )
            self.assertEqual(info, 0)
            self.assertLess(rcond, 1e-20)

    def test_updates_are_the_fresh_inverse(self):
        for kind in KINDS:
            for leading in ((), (4,)):
                for rank in (1, 3):
                    a = matrices(leading + (12, 12), kind, True)
                    v = gaussian(leading + (12, rank), dtype="complex128") / 4
                    v = (v.real if kind.startswith("float") else v).astype(kind)
                    d = np.array([1, -0.5, 2])[:rank]
                    x, _ = cudaphy.invert_symmetric(a, backend=BACKEND)
                    before = x.copy()
                    new, info = cudaphy.update_inverse(
                        x, v, d, forgetting=0.9, backend=BACKEND
                    )
                    np.testing.assert_array_equal(x, before)
                    self.assertEqual((new.shape, new.dtype), (x.shape, kind))
                    self.assertEqual(info.shape, leading)
                    self.assertFalse(info.any())
                    changed = 0.9 * a + (v * d) @ v.conj().swapaxes(-1, -2)
                    np.testing.assert_allclose(
                        new,
                        np.linalg.inv(changed.astype("complex128")),
                        atol=300 * np.finfo(kind).eps,
                    )
                    np.testing.assert_array_equal(new, new.conj().swapaxes(-1, -2))
                    if rank == 1:
                        one, _ = cudaphy.update_inverse(
                            x, v[..., 0], 1.0, 0.9, backend=BACKEND
                        )
                        np.testing.assert_array_equal(one, new)

    def test_a_downdate_to_singularity_leaves_the_inverse(self):
        x = np.eye(3)
        new, info = cudaphy.update_inverse(x, [0, 1, 0], -1, backend=BACKEND)
        self.assertEqual(info, 1)
        np.testing.assert_array_equal(new, x)

    def test_refuses_what_does_not_fit(self):
        for shape in ((3,), (2, 3), ()):
            with self.assertRaisesRegex(
                ValueError, r"shape .* expected \(\.\.\., n, n\)"
            ):
                cudaphy.invert_symmetric(np.ones(shape), backend=BACKEND)
            with self.assertRaisesRegex(
                ValueError, r"shape .* expected \(\.\.\., n, n\)"
            ):
                cudaphy.update_inverse(np.ones(shape), np.ones(3), backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "order is 0"):
            cudaphy.invert_symmetric(np.ones((0, 0)), backend=BACKEND)
        for wrong in (
            {"definite": "negative"},
            {"definite": True},
            {"algorithm": "slowest"},
            {"backend": "gpu"},
        ):
            with self.assertRaisesRegex(ValueError, *map(str, wrong.values())):
                cudaphy.invert_symmetric(np.eye(3), **{"backend": BACKEND, **wrong})
        for v, d, forgetting, text in (
            (np.ones(4), 1, 1, "v has shape"),
            (np.ones((3, 4)), 1, 1, "rank is 4"),
            (np.ones((3, 2)), [1, 2, 3], 1, "do not fit"),
            (np.ones(3), 1, 0, "forgetting"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                cudaphy.update_inverse(np.eye(3), v, d, forgetting, backend=BACKEND)


if __name__ == "__main__":
    main()
