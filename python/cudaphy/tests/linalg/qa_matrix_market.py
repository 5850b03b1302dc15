#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix Market files: reading, refusals, and the time and memory that both take."""

import bz2
import gzip
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from gnuradio import cudaphy
from qa_support import main

BANNER = "%%MatrixMarket matrix "


class qa_matrix_market(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "matrix.mtx")

    def tearDown(self):
        self.folder.cleanup()

    def assert_reads(self, text, expected):
        with self.subTest(text=text):
            self.path.write_text(text)
            got = cudaphy.read_matrix_market(self.path)
            expected = np.asarray(expected)
            kind = "complex128" if expected.dtype.kind == "c" else "float64"
            self.assertEqual(got.dtype, kind)
            np.testing.assert_array_equal(got.toarray(), expected)

    def assert_refuses(self, text, pattern):
        with self.subTest(text=text[:200]):
            self.path.write_text(text)
            with self.assertRaisesRegex(ValueError, "matrix.mtx.*" + pattern) as caught:
                cudaphy.read_matrix_market(self.path)
            self.assertLess(len(str(caught.exception)), 1000)

    def test_every_symmetry_of_either_format(self):
        for text, expected in (
            ("coordinate real symmetric\n2 2 2\n1 1 5\n2 1 7\n", [[5, 7], [7, 0]]),
            ("coordinate real symmetric\n2 2 1\n1 2 7\n", [[0, 7], [7, 0]]),
            ("coordinate real skew-symmetric\n2 2 1\n2 1 7\n", [[0, -7], [7, 0]]),
            (
                "coordinate complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 2\n",
                [[5, 1 - 2j], [1 + 2j, 0]],
            ),
            (
                "coordinate complex symmetric\n2 2 1\n2 1 1 2\n",
                [[0, 1 + 2j], [1 + 2j, 0]],
            ),
            ("coordinate real hermitian\n2 2 1\n2 1 7\n", [[0, 7], [7, 0]]),
            ("coordinate pattern symmetric\n2 2 1\n2 1\n", [[0, 1], [1, 0]]),
            ("coordinate integer general\n1 2 2\n1 2 -3\n1 2 1\n", [[0, -2]]),
            ("array real general\n2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
            ("array real symmetric\n2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
            ("array integer skew-symmetric\n2 2\n5\n", [[0, -5], [5, 0]]),
            (
                "array complex hermitian\n2 2\n1 0\n2 3\n4 0\n",
                [[1, 2 - 3j], [2 + 3j, 4]],
            ),
            ("coordinate real general\n2 3 0\n", np.zeros((2, 3))),
        ):
            self.assert_reads(BANNER + text, expected)

    def test_case_comments_blank_lines_and_fortrans_exponents(self):
        for text in (
            "%%matrixmarket MATRIX Coordinate REAL general\n1 2 1\n1 2 1500\n",
            BANNER + "coordinate real general\n  % one\n\n\t%two\n 1 2  1\n\n1 2 1500\n",
            BANNER + "coordinate real general\r\n1 2 1\r\n1 2 1500\r\n",
            BANNER + "coordinate real general\n1 2 1\n1 2 1.5D+03",
            BANNER + "coordinate real general\n1 2 1\n1 2 +15.d2\n",
        ):
            self.assert_reads(text, [[0, 1500]])

    def test_a_matrix_that_its_symmetry_does_not_allow_is_refused(self):
        for kind in ("real symmetric", "real skew-symmetric", "complex hermitian"):
            one = " 7 0" if "complex" in kind else " 7"
            text = f"{BANNER}coordinate {kind}\n"
            self.assert_refuses(f"{text}2 3 1\n2 1{one}\n", "2 x 3 is not square")
            two_entries = f"2 2 2\n2 1{one}\n1 2{one}\n"
            self.assert_refuses(text + two_entries, "both halves")
        self.assert_refuses(BANNER + "array real symmetric\n2 3\n1\n2\n3\n", "not square")
        self.assert_refuses(
            BANNER + "coordinate real skew-symmetric\n2 2 1\n2 2 1\n", "diagonal"
        )
        self.assert_refuses(
            BANNER + "coordinate complex hermitian\n2 2 1\n2 2 1 1\n", "diagonal"
        )
        for pair in ("pattern hermitian", "pattern skew-symmetric"):
            self.assert_refuses(f"{BANNER}coordinate {pair}\n1 1 0\n", "no .* is both")
        self.assert_refuses(BANNER + "array pattern general\n1 1\n1\n", "no .* is both")

    def test_errors_name_the_wrong_line(self):
        head = BANNER + "coordinate real general\n"
        for text, pattern in (
            (head + "2 2 1\n1 1\n", "not of 3 numbers"),
            (head + "2 2 1\n1 1 1 1\n", "not of 3 numbers"),
            (head + "2 2 1\n1 1.5 1\n", "entry 1: column 1.5"),
            (head + "2 2 1\n1 nan 1\n", "entry 1: column nan"),
            (head + "2 2 1\n1 99999999999999999999 1\n", "entry 1: column 1e.20"),
            (head + "2 2 2\n1 1 1\n", "ends after 1 of 2"),
            (head + "2 2 1\n1 1 1\n1 2 1\n", "more entries than the 1"),
            (head + "2 2 1\n1 1 " + "x" * 5000, "could not convert"),
            (head + "2 2\n1 1 1\n", "3 whole numbers"),
            (BANNER + "coordinate integer general\n1 1 1\n1 1 1.5\n", "no whole number"),
            (BANNER + "vector real general\n1 1 1\n1 1 1\n", "format 'vector'"),
            (BANNER + "coordinate real\n1 1 1\n1 1 1\n", "first line"),
            ("", "begin with"),
            ("nothing of the kind\n", "begin with"),
            (head, "3 whole numbers"),
            (head + "2 2 1\n3 1 5\n", "entry 1: row 3"),
            (head + "2 2 1\n0 1 5\n", "entry 1: row 0"),
            (head + "2 2 1\n1 -1 5\n", "entry 1: column -1"),
            (head + "2 2 1\n1 1 five\n", "could not convert string 'five'"),
            (head + "-2 2 1\n1 1 5\n", "3 whole numbers"),
            (head + "2 2 99999999999999\n1 1 5\n", "do not fit the file"),
            (head + "99999999999999 2 1\n1 1 5\n", "beyond 2147483647"),
        ):
            self.assert_refuses(text, pattern)

    def test_sizes_that_a_file_only_claims_take_no_memory(self):
        cases = {}
        head = BANNER + "coordinate real general\n"
        for name, text in (
            ("tall", head + "2147483647 1 0\n"),
            ("wide", head + "1 2147483647 0\n"),
            ("rows", head + "100000000 1 0\n"),
            ("entries", head + "9 9 2000000000\n1 1 1\n"),
            ("dense", BANNER + "array real general\n40000 40000\n1\n"),
            ("half", BANNER + "array real symmetric\n60000 60000\n1\n"),
        ):
            cases[name + ".mtx"] = text.encode()
            cases[name + ".mtx.gz"] = gzip.compress(text.encode())
        zeros = b"0" * (1 << 26)
        cases["line.mtx.gz"] = gzip.compress(head.encode() + b"3 3 1\n1 1 " + zeros)
        cases["line.mtx.bz2"] = bz2.compress(head.encode() + b"3 3 1\n1 1 " + zeros)
        comments = (b"%" + b"x" * 1022 + b"\n") * (1 << 16)
        cases["comments.mtx.gz"] = gzip.compress(head.encode() + comments)
        cases["blank.mtx.gz"] = gzip.compress(
            head.encode() + b"3 3 1\n" + b"\n" * (1 << 26)
        )
        for name, content in cases.items():
            Path(self.folder.name, name).write_bytes(content)
        program = """
import resource, sys, time
from gnuradio import cudaphy
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
for path in sys.argv[1:]:
    begin = time.monotonic()
    try:
        cudaphy.read_matrix_market(path)
        print("read", path)
    except ValueError as problem:
        if isinstance(problem.__cause__, MemoryError) or time.monotonic() - begin > 5:
            print("too much", path, problem)
"""
        paths = [str(Path(self.folder.name, name)) for name in cases]
        done = subprocess.run(
            [sys.executable, "-c", program, *paths],
            capture_output=True,
            text=True,
            timeout=100,
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_devices_and_damaged_packed_files_are_refused(self):
        with self.assertRaisesRegex(ValueError, "no plain file"):
            cudaphy.read_matrix_market("/dev/zero")
        with self.assertRaises(FileNotFoundError):
            cudaphy.read_matrix_market(self.path)
        whole = (BANNER + "coordinate real general\n3 3 1\n1 1 1\n").encode()
        for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress)):
            path = self.path.with_suffix(".mtx" + suffix)
            packed = pack(whole)
            path.write_bytes(packed)
            self.assertEqual(cudaphy.read_matrix_market(path)[0, 0], 1)
            for content in (packed[:-5], packed[:20], b"not packed", b""):
                path.write_bytes(content)
                with self.assertRaisesRegex(ValueError, "matrix.mtx"):
                    cudaphy.read_matrix_market(path)

    def test_a_quarter_of_a_million_entries_in_seconds_as_scipy_reads_them(self):
        rng = np.random.default_rng(5)
        indices = rng.integers(0, 50000, (2, 250000))
        values = rng.standard_normal(250000)
        a = scipy.sparse.coo_matrix((values, tuple(indices)), (50000, 50000))
        scipy.io.mmwrite(str(self.path), a)
        begin = time.process_time()
        got = cudaphy.read_matrix_market(self.path)
        self.assertLess(time.process_time() - begin, 10)
        expected = scipy.sparse.csr_matrix(scipy.io.mmread(str(self.path)))
        self.assertEqual((got != expected).nnz, 0)

    def test_products_leave_the_callers_matrix_alone_and_refuse_wrong_indices(self):
        rows, columns = [0, 0, 0, 1], [2, 0, 2, 1]
        coo = scipy.sparse.coo_matrix(([1.0, 2, 3, 0], (rows, columns)), (2, 3))
        csr = scipy.sparse.csr_matrix(
            (coo.data.copy(), np.array(columns), np.array([0, 3, 4])), (2, 3)
        )
        for a in (coo, csr, csr.tocsc(), csr.tobsr(), csr.todia(), csr.tolil()):
            before = a.copy()
            np.testing.assert_array_equal(
                cudaphy.multiply_sparse(a, np.ones(3), backend="reference"), [6, 0]
            )
            self.assertEqual(a.nnz, before.nnz)
            if hasattr(a, "indices"):
                np.testing.assert_array_equal(a.indices, before.indices)
                np.testing.assert_array_equal(a.data, before.data)
        for wrong in (
            np.array([0, np.nan, 0, 0]),
            np.array([0, 0.5, 0, 0]),
            np.array([0, 3, 0, 0]),
            np.array([0, -1, 0, 0]),
            np.array([0, 2**32, 0, 0]),
        ):
            bad = csr.copy()
            bad.indices = wrong
            with self.assertRaises(ValueError):
                cudaphy.multiply_sparse(bad, np.ones(3), backend="reference")
        bad = csr.copy()
        bad.indptr = np.array([0, 2**40, 4])
        with self.assertRaises(ValueError):
            cudaphy.multiply_sparse(bad, np.ones(3), backend="reference")


if __name__ == "__main__":
    main()
