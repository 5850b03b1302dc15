#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Products of sparse matrices and vectors on numpy arrays, and files of such matrices."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from gnuradio import cudaphy
from qa_support import BACKEND, main

FORMATS = ("crs", "ccs", "bcrs", "subdivided_crs", "dictionary", "diagonal")
KINDS = ("float32", "float64", "complex64")
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5}


def numbers(shape, kind, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind == "complex64" else x).astype(
        kind
    )


def scattered(rows, columns, kind="float32", density=0.05, seed=2):
    a = scipy.sparse.random(rows, columns, density, "coo", random_state=seed)
    return scipy.sparse.coo_matrix((numbers(a.nnz, kind, seed), (a.row, a.col)), a.shape)


def banded(rows, columns, kind="float32"):
    data = np.stack([numbers(columns, kind, k + 10) for k in range(5)])
    return scipy.sparse.spdiags(data, (-3, -1, 0, 1, 8), rows, columns)


class qa_sparse(unittest.TestCase):
    def assert_near(self, got, expected, kind):
        self.assertEqual(got.dtype, np.dtype(kind))
        self.assertEqual(got.shape, expected.shape)
        scale = np.abs(expected).max(initial=1)
        self.assertLess(np.abs(got - expected).max(initial=0), TOLERANCE[kind] * scale)

    def check(self, a, kind, **options):
        wide = a.toarray().astype("complex128" if kind == "complex64" else "float64")
        for batch in ((), (3,), (2, 1, 4), (0,)):
            x = numbers((*batch, a.shape[1]), kind)
            y = numbers((*batch, a.shape[0]), kind, 5)
            options = {"backend": BACKEND, **options}
            self.assert_near(cudaphy.multiply_sparse(a, x, **options), x @ wide.T, kind)
            self.assert_near(
                cudaphy.multiply_sparse(a, x, y, **options), y + x @ wide.T, kind
            )

    def test_every_format_and_kind(self):
        for kind in KINDS:
            for rows, columns in ((1, 1), (40, 70), (300, 33)):
                for name in FORMATS:
                    with self.subTest(kind=kind, format=name, rows=rows):
                        self.check(banded(rows, columns, kind), kind, format=name)
                        if name != "diagonal":
                            self.check(scattered(rows, columns, kind), kind, format=name)

    def test_every_kind_of_scipy_sparse(self):
        a = scattered(31, 45)
        for name in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
            with self.subTest(kind=name):
                self.check(a.asformat(name), "float32")
        self.check(scipy.sparse.csr_array(a), "float32")
        x = numbers(45, "float32")
        self.assert_near(
            cudaphy.multiply_sparse(a.toarray(), x, backend=BACKEND),
            a.toarray() @ x,
            "float32",
        )

    def test_without_rows_columns_or_entries(self):
        for shape in ((0, 5), (5, 0), (0, 0), (7, 9)):
            for name in FORMATS:
                with self.subTest(shape=shape, format=name):
                    self.check(
                        scipy.sparse.csr_matrix(shape, dtype="float32"),
                        "float32",
                        format=name,
                    )

    def test_duplicates_and_columns_in_any_order(self):
        a = scipy.sparse.csr_matrix(
            (
                np.array([1, 2, 4, 8, 16], "float32"),
                np.array([2, 0, 2, 1, 1]),
                np.array([0, 3, 3, 5]),
            ),
            (3, 3),
        )
        self.assertFalse(a.has_canonical_format)
        x = np.array([1, 10, 100], "float32")
        np.testing.assert_array_equal(
            cudaphy.multiply_sparse(a, x, backend=BACKEND), [502, 0, 240]
        )
        # Arrays with room behind the last entry, as scipy's algorithms leave them.
        a.data = np.append(a.data, np.float32(np.nan))
        a.indices = np.append(a.indices, np.int32(77))
        np.testing.assert_array_equal(
            cudaphy.multiply_sparse(a, x, backend=BACKEND), [502, 0, 240]
        )

    def test_indices_of_64_bits(self):
        a = scattered(50, 60).tocsr()
        a.indices, a.indptr = a.indices.astype("int64"), a.indptr.astype("int64")
        self.check(a, "float32")

    def test_arrays_that_are_not_contiguous(self):
        a = scattered(50, 60, "complex64").tocsr()
        entries = a.data.size
        spread = np.zeros(3 * entries, a.dtype)
        spread[::3] = a.data
        a.data = spread[::3]
        wide = numbers((60, 4), "complex64")
        got = cudaphy.multiply_sparse(a, wide.T, backend=BACKEND)
        self.assert_near(got, wide.T @ a.toarray().T, "complex64")
        reverse = wide[::-1, 0]
        self.assert_near(
            cudaphy.multiply_sparse(a, reverse, backend=BACKEND), a @ reverse, "complex64"
        )

    def test_formats_give_the_same_bits(self):
        a = banded(500, 480)
        x, y = numbers(480, "float32"), numbers(500, "float32", 3)
        first = cudaphy.multiply_sparse(a, x, y, "crs", BACKEND)
        for name in FORMATS:
            if (name, BACKEND) != ("ccs", "cuda"):
                got = cudaphy.multiply_sparse(a, x, y, name, BACKEND)
                np.testing.assert_array_equal(got, first)

    def test_elements_of_x_without_an_entry_have_no_part_in_y(self):
        a = banded(200, 200)
        x = numbers(200, "float32")
        x[[3, 77, 150]] = np.nan, np.inf, -np.inf
        touched = np.flatnonzero((a.toarray() != 0)[:, [3, 77, 150]].any(1))
        for name in FORMATS:
            got = cudaphy.multiply_sparse(a, x, format=name, backend=BACKEND)
            np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(got)), touched)

    def test_a_product_made_once(self):
        a = scattered(80, 90)
        product = cudaphy.sparse_product(a, "crs", backend=BACKEND)
        self.assertEqual(product.shape, (80, 90))
        self.assertEqual(product.dtype, np.dtype("float32"))
        self.assertEqual(product.backend, BACKEND)
        self.assertGreater(product.matrix_bytes, 8 * a.nnz)
        for seed in range(3):
            x, y = numbers(90, "float32", seed), numbers(80, "float32", seed)
            before = y.copy()
            self.assert_near(cudaphy.multiply_sparse(product, x), a @ x, "float32")
            self.assert_near(product(x, y), y + a @ x, "float32")
            np.testing.assert_array_equal(y, before)
        doubled = cudaphy.sparse_product(a, dtype="float64", backend=BACKEND)
        x = numbers((2, 90), "float64")
        self.assert_near(doubled(x), x @ a.toarray().T.astype("float64"), "float64")
        # One y serves many x.
        y = numbers(80, "float64")
        self.assert_near(doubled(x, y), y + doubled(x), "float64")

    def test_kinds_are_combined_as_numpy_does(self):
        a = scipy.sparse.csr_matrix(np.array([[1, 2], [0, 3]]))
        for kind, expected in (
            ("int8", "float64"),  # a is int64
            ("float32", "float64"),
            ("float64", "float64"),
        ):
            got = cudaphy.multiply_sparse(a, np.ones(2, kind), backend=BACKEND)
            self.assertEqual(got.dtype, np.dtype(expected))
            np.testing.assert_array_equal(got, [3, 3])
        small = a.astype("int8")
        self.assertEqual(
            cudaphy.multiply_sparse(small, np.ones(2, "f4"), backend=BACKEND).dtype, "f4"
        )
        got = cudaphy.multiply_sparse(
            a.astype("f4"), np.array([1, 1j], "c8"), backend=BACKEND
        )
        np.testing.assert_array_equal(got, np.array([1 + 2j, 3j], "c8"))

    def test_a_matrix_market_file_is_a_matrix(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "matrix.mtx")
            for kind in KINDS:
                a = scattered(30, 20, kind)
                scipy.io.mmwrite(str(path), a)
                x = numbers(20, kind)
                y = cudaphy.multiply_sparse(path, x, backend=BACKEND)
                np.testing.assert_allclose(y, a @ x, rtol=1e-4, atol=1e-4)

    def test_what_is_wrong_is_refused(self):
        a = scattered(20, 30)
        x = numbers(30, "float32")

        def refuses(text, *arguments, **options):
            with self.assertRaisesRegex(ValueError, text):
                cudaphy.multiply_sparse(*arguments, **{"backend": BACKEND, **options})

        refuses("x has shape .29,.; expected", a, x[:29])
        refuses("x has shape", a, np.float32(1))
        refuses("y has shape .19,.; expected .20,.", a, x, np.zeros(19, "f4"))
        refuses("none of", a, x, format="csr")
        refuses(
            "more than eight times", scattered(400, 400), np.zeros(400), format="diagonal"
        )
        refuses("complex128", a.astype("c16"), x)
        refuses("two dimensions", np.zeros((2, 2, 2)), x)
        with self.assertRaisesRegex(ValueError, "block is 9"):
            cudaphy.sparse_product(a, "bcrs", block=9, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "dtype int32"):
            cudaphy.sparse_product(a, dtype="int32", backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "complex64"):
            cudaphy.sparse_product(a, backend=BACKEND)(x.astype("c8"))

    def test_indices_that_lie_are_refused(self):
        for index, what in (
            (-1, "column -1"),
            (30, "column 30"),
            (2**31 - 1, "column"),
        ):
            a = scattered(20, 30).tocsr()
            a.indices[7] = index
            with self.assertRaisesRegex(ValueError, what):
                cudaphy.multiply_sparse(a, np.zeros(30, "f4"), backend=BACKEND)
        for where, start in ((5, 10**6), (5, -3), (0, 1), (-1, 10**6), (-1, -1)):
            a = scattered(20, 30).tocsr()
            a.indptr[where] = start
            with self.assertRaisesRegex(ValueError, "row_start|index pointer"):
                cudaphy.multiply_sparse(a, np.zeros(30, "f4"), backend=BACKEND)


if __name__ == "__main__":
    main()
