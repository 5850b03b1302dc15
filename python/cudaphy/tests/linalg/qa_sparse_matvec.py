#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block sparse_matvec in flowgraphs."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from gnuradio import cudaphy
from qa_support import BACKEND, FlowgraphCase, main

FORMATS = ("crs", "ccs", "bcrs", "subdivided_crs", "dictionary", "diagonal")


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype == "complex64":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def matrix(rows, columns, dtype="complex64"):
    offsets = (-2, 0, 1, 5)
    data = np.stack([numbers(columns, dtype, k) for k in range(4)])
    return scipy.sparse.spdiags(data, offsets, rows, columns).tocsr()


def make(a, **options):
    return cudaphy.sparse_matvec(a, **{"backend": BACKEND, **options})


class qa_sparse_matvec(FlowgraphCase):
    def products(self, a, x, tags=(), seconds=60, **options):
        dtype = x.dtype.name
        kind = "float" if dtype == "float32" else "complex"
        block = make(a, type=kind, **options)
        self.assertEqual(block.backend(), BACKEND)
        rows = np.shape(a)[0]
        return self.through(block, [x], [(dtype, rows)], tags, seconds)[0]

    def assert_products(self, a, x, got):
        expected = x @ a.toarray().T
        self.assertEqual(got.shape, expected.shape)
        self.assertLess(np.abs(got - expected).max(initial=0), 1e-5 * a.shape[1])

    def test_multiplies_in_every_format_and_type(self):
        for dtype in ("complex64", "float32"):
            for rows, columns in ((1, 1), (3, 8), (40, 33), (500, 700)):
                a = matrix(rows, columns, dtype)
                x = numbers((57, columns), dtype)
                for name in FORMATS:
                    with self.subTest(dtype=dtype, rows=rows, format=name):
                        self.assert_products(a, x, self.products(a, x, format=name).data)

    def test_any_number_of_vectors_and_any_batch(self):
        a = matrix(6, 4)
        for count in (0, 1, 31, 32, 33, 3000):
            x = numbers((count, 4), "complex64")
            for max_batch in (0, 1, 7, 100000):
                with self.subTest(count=count, max_batch=max_batch):
                    got = self.products(a, x, max_batch=max_batch)
                    self.assert_products(a, x, got.data)

    def test_a_real_matrix_takes_a_complex_stream(self):
        a = matrix(9, 9, "float32")
        x = numbers((20, 9), "complex64")
        self.assert_products(a, x, self.products(a, x).data)
        with self.assert_refuses("matrix is complex64", "float32"):
            make(matrix(9, 9), type="float")

    def test_matrices_as_rows_and_as_files(self):
        a = scipy.sparse.csr_matrix(np.array([[1, 0, 2], [0, 3, 0]], "float32"))
        x = numbers((20, 3), "float32")
        self.assert_products(a, x, self.products([[1, 0, 2], [0, 3, 0]], x).data)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.mtx")
            scipy.io.mmwrite(str(path), a)
            block = make(str(path), type="float", shape=(2, 3))
            got = self.through(block, [x], [("float32", 2)])[0]
            self.assert_products(a, x, got.data)
            path.write_text(path.read_text().rstrip().rpartition("\n")[0])
            with self.assert_refuses("a.mtx"):
                make(str(path))

    def test_a_vector_with_nan_or_infinity_harms_no_other(self):
        a = matrix(30, 30)
        x = numbers((25, 30), "complex64")
        clean = self.products(a, x).data
        x[3, 4], x[17, 29] = np.nan, np.inf
        for name in FORMATS:
            got = self.products(a, x, format=name).data
            good = np.isfinite(got)
            self.assertEqual(set(np.flatnonzero(~good.all(1))), {3, 17})
            touched = a.toarray()[:, 4] != 0
            np.testing.assert_array_equal(~good[3], touched)
            others = np.delete(np.arange(25), [3, 17])
            np.testing.assert_allclose(got[others], clean[others], rtol=1e-5, atol=1e-5)

    def test_one_block_runs_again(self):
        a = matrix(4, 4)
        block = make(a)
        self.assertGreater(block.matrix_bytes(), 0)
        for seed in range(3):
            x = numbers((50, 4), "complex64", seed)
            got = self.through(block, [x], [("complex64", 4)])[0]
            self.assert_products(a, x, got.data)

    def test_what_is_wrong_is_refused(self):
        a = matrix(4, 6)
        for options, *texts in (
            ({"format": "ellpack"}, "ellpack", "none of"),
            ({"format": "bcrs", "block": 0}, "block is 0"),
            ({"type": "double"}, 'type "double"'),
            ({"shape": (6, 4)}, "4 x 6, not 6 x 4"),
            ({"backend": "gpu"}, "gpu"),
            ({"max_batch": -1}, "max_batch"),
        ):
            with self.assert_refuses(*texts):
                make(a, **options)
        for shape in ((0, 3), (3, 0)):
            with self.assert_refuses("allowed are 1 to"):
                make(scipy.sparse.csr_matrix(shape))
        with self.assert_refuses("more than eight times"):
            far = scipy.sparse.random(300, 300, 0.02, random_state=1)
            make(far, format="diagonal")


if __name__ == "__main__":
    main()
