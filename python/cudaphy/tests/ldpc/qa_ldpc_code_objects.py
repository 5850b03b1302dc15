#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""ldpc_code as a Python object: equality, hash, copy, pickle, errors that name the argument, and
what help() and dir() show."""

import ast
import concurrent.futures
import copy
import inspect
import multiprocessing
import pickle
import re
import tempfile
import types
import unittest
from pathlib import Path

import numpy as np
import scipy.sparse
from gnuradio import cudaphy
from qa_support import BACKEND, main

FILE = "4 2 8\n0 3/5 1 -1\n6 2 0 0\npunctured 24-31\nvisited 1 0\n"
STANDARDS = (
    ("wifi", {"n": 648, "rate": "5/6"}),
    ("wimax", {"n": 576, "rate": "2/3A"}),
    ("dvbs2", {"frame": "short", "rate": "8/9"}),
    ("dvbs2x", {"frame": "short", "rate": "1/5 VL-SNR SF2"}),
    ("dvbt2", {"frame": "short", "rate": "3/5"}),
    ("nr5g", {"base_graph": 2, "lifting_size": 8, "rows": 12, "fillers": 5}),
    ("ccsds", {"family": "ar4ja", "k": 1024, "rate": "4/5"}),
    ("ccsds", {"family": "tc", "k": 64}),
    ("ccsds", {"family": "c2", "k": 7136}),
    ("10gbase-t", {}),
    ("regular", {"n": 240, "column_weight": 3, "row_weight": 6}),
)
SHAPES = "n", "k", "variables", "checks", "edges", "rate", "name"
ARRAYS = "info_positions", "punctured", "shortened", "transmitted"


def decoded_elsewhere(code, llr):
    return cudaphy.ldpc_decode(code, llr, backend="cpu")


class qa_ldpc_code_objects(unittest.TestCase):
    def makers(self, folder):
        """Functions that make a code, one for every way to make one."""
        for family, arguments in STANDARDS:
            yield lambda f=family, a=arguments: cudaphy.ldpc_code(f, **a)
        qc, alist = Path(folder, "a.qc"), Path(folder, "a.alist")
        qc.write_text(FILE)
        cudaphy.ldpc_code.from_qc(str(qc)).to_alist(str(alist))
        yield lambda: cudaphy.ldpc_code.from_qc(str(qc))
        yield lambda: cudaphy.ldpc_code.from_alist(str(alist))
        h = np.array([[1, 1, 1, 0, 1], [0, 0, 0, 1, 1]])
        yield lambda: cudaphy.ldpc_code.from_parity_check(h, "mine")

    def test_equal_codes_are_equal_and_hash_equally_however_they_are_made(self):
        with tempfile.TemporaryDirectory() as folder:
            made = [(make(), make()) for make in self.makers(folder)]
        for i, (one, other) in enumerate(made):
            self.assertTrue(one == other and not one != other, one)
            self.assertEqual(hash(one), hash(other))
            self.assertEqual(len({one, other}), 1)
            for another, _ in made[:i]:
                self.assertNotEqual(one, another)
        code = made[0][0]
        self.assertFalse(code == "wifi" or code is None)
        # The same matrix under another name; and with another bit punctured.
        h = code.parity_check()
        named = [cudaphy.ldpc_code.from_parity_check(h, name) for name in "ab"]
        self.assertEqual(*named)

    def test_pickles_and_copies_are_the_same_code(self):
        with tempfile.TemporaryDirectory() as folder:
            codes = [make() for make in self.makers(folder)]
        for code in codes:
            for again in (
                *(pickle.loads(pickle.dumps(code, p)) for p in (2, 4, 5)),
                copy.copy(code),
                copy.deepcopy({"it": [code]})["it"][0],
            ):
                self.assertEqual(again, code)
                for name in SHAPES + (
                    "default_scale",
                    "default_scale_closes",
                    "default_damps",
                ):
                    self.assertEqual(getattr(again, name), getattr(code, name))
                for name in ARRAYS:
                    here, there = getattr(again, name), getattr(code, name)
                    np.testing.assert_array_equal(here, there)
                self.assertEqual((again.parity_check() != code.parity_check()).nnz, 0)
            again = pickle.loads(pickle.dumps(code))
            info = np.random.default_rng(1).integers(0, 2, (5, code.k), np.uint8)
            words = cudaphy.ldpc_encode(code, info, BACKEND)
            there = cudaphy.ldpc_encode(again, info, BACKEND)
            np.testing.assert_array_equal(there, words)
            noise = np.random.default_rng(2).standard_normal(words.shape)
            llr = 4 * (1 - 2.0 * words) + 3 * noise
            for i in (0, 1):
                here, there = (
                    cudaphy.ldpc_decode(c, llr, backend=BACKEND)[i] for c in (code, again)
                )
                np.testing.assert_array_equal(here, there)

    def test_codes_go_to_other_processes(self):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        llr = np.random.default_rng(3).standard_normal((4, code.n)) + 0.9
        here = decoded_elsewhere(code, llr)
        with concurrent.futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn")
        ) as pool:
            there = pool.submit(decoded_elsewhere, code, llr).result(timeout=60)
        for one, other in zip(here, there):
            np.testing.assert_array_equal(one, other)

    def test_a_damaged_pickle_is_refused(self):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        state = code.__getstate__()
        random = np.random.default_rng(5)

        def damaged(part):
            if isinstance(part, tuple):
                where = random.integers(len(part))
                return part[:where] + (damaged(part[where]),) + part[where + 1 :]
            if isinstance(part, np.ndarray):
                if not part.size or random.random() < 0.3:
                    return part[: random.integers(part.size + 1)]
                part = part.copy()
                part[random.integers(part.size)] = random.choice(
                    [-1, 0, 1, 647, 648, 2**31 - 1, -(2**31)]
                )
                return part
            return random.choice([-1, 0, 7, 2**30]) if isinstance(part, int) else part

        refused = 0
        for _ in range(400):
            other = cudaphy.ldpc_code.__new__(cudaphy.ldpc_code)
            try:
                other.__setstate__(damaged(state))
            except (ValueError, TypeError, RuntimeError):
                refused += 1
                continue
            info = np.zeros((1, other.k), np.uint8)
            words = cudaphy.ldpc_encode(other, info, "cpu")
            cudaphy.ldpc_decode(other, 1 - 2.0 * words, backend="cpu")
        self.assertGreater(refused, 200)

    def test_wrong_arguments_are_named(self):
        make = cudaphy.ldpc_code
        for kind, part, call in (
            (TypeError, "wifi.*dvbs2", lambda: make(rate=0.5)),
            (TypeError, "wifi", lambda: make()),
            (TypeError, "5 is no text", lambda: make(5)),
            (TypeError, "rate=0.5", lambda: make("wifi", n=648, rate=0.5)),
            (TypeError, "n='648'", lambda: make("wifi", n="648", rate="1/2")),
            (TypeError, "n=648.0", lambda: make("wifi", n=648.0, rate="1/2")),
            (TypeError, r"n=\[648\]", lambda: make("wifi", n=[648], rate="1/2")),
            (
                ValueError,
                "n=1.*out of range",
                lambda: make("wifi", n=10**30, rate="1/2"),
            ),
            (ValueError, "rate", lambda: make("wifi", n=648)),
            (ValueError, "frame", lambda: make("dvbs2", rate="1/2")),
            (ValueError, "color", lambda: make("wifi", n=648, rate="1/2", color=1)),
            (ValueError, "cdma.*wifi", lambda: make("cdma")),
            (TypeError, "lifting_size=None|lifting", lambda: make("nr5g", base_graph=1)),
            (ValueError, "x{9}", lambda: make("x" * 100000)),
        ):
            kind = (TypeError, ValueError) if kind is TypeError else kind
            with self.assertRaisesRegex(kind, part) as caught:
                call()
            self.assertLess(len(str(caught.exception)), 1000)
        with self.assertRaisesRegex(TypeError, "algorithm") as caught:
            cudaphy.ldpc_decoder(make("ccsds", family="tc", k=64), algorithm=["x" * 9999])
        self.assertLess(len(str(caught.exception)), 1000)

    def test_from_parity_check_leaves_its_argument_alone(self):
        rows = [[1, 2, 0, 1, 0, 1], [0, 1, 1, 0, 2, 1], [1, 0, 1, 1, 1, 0]]
        dense = np.array(rows)
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
            h = scipy.sparse.csr_matrix(dense).asformat(kind)
            before = pickle.dumps(h)
            code = cudaphy.ldpc_code.from_parity_check(h)
            self.assertEqual(pickle.dumps(h), before, kind)
            np.testing.assert_array_equal(code.parity_check().toarray(), dense % 2)
        # Unsorted entries, two of them at one position.
        h = scipy.sparse.csr_matrix((np.ones(5, int), [2, 0, 0, 1, 0], [0, 3, 5]), (2, 3))
        before = h.indices.copy(), h.data.copy()
        code = cudaphy.ldpc_code.from_parity_check(h)
        np.testing.assert_array_equal(
            code.parity_check().toarray(), [[0, 0, 1], [1, 1, 0]]
        )
        for one, other in zip(before, (h.indices, h.data)):
            np.testing.assert_array_equal(one, other)
        for wrong in (0.5, np.nan):
            with self.assertRaisesRegex(ValueError, "whole numbers"):
                cudaphy.ldpc_code.from_parity_check([[1, wrong, 1]])

    def test_help_shows_every_option_with_its_default(self):
        code = cudaphy.ldpc_code("ccsds", family="tc", k=64)
        for name in (
            "ldpc_decoder",
            "ldpc_encoder",
            "ldpc_decoder_pdu",
            "ldpc_encoder_pdu",
            "ldpc_decoder_def",
            "ldpc_encoder_def",
        ):
            kind = getattr(cudaphy, name)
            make = getattr(kind, "make", kind)
            self.assertEqual(make(code, backend=BACKEND).backend(), BACKEND)
            line = re.search(
                rf"^{name}(?:\.make)?(\(code.*\))$", inspect.getdoc(kind), re.M
            )
            self.assertTrue(line, name)
            arguments = ast.parse(f"def f{line[1]}: pass").body[0].args
            keywords = [a.arg for a in arguments.args[1:] + arguments.kwonlyargs]
            values = [*arguments.defaults, *arguments.kw_defaults]
            options = dict(zip(keywords, map(ast.literal_eval, values)))
            self.assertEqual(len(options), len(values))
            options["backend"] = BACKEND
            self.assertEqual(make(code, **options).backend(), BACKEND)
            for option in options:
                with self.assertRaisesRegex((TypeError, ValueError), option):
                    make(code, **{**options, option: object()})

    def test_dir_lists_the_api_alone(self):
        listed = dir(cudaphy)
        self.assertEqual(listed, sorted(set(cudaphy.__all__)))
        for name in listed:
            thing = getattr(cudaphy, name)
            if name not in ("__version__", "nr5g"):
                self.assertFalse(name.startswith("_"), name)
                self.assertNotIsInstance(thing, types.ModuleType, name)
        for name in (
            "ldpc_code",
            "invert",
            "fdtd",
            "nr5g",
            "BackendUnavailable",
            "demap",
        ):
            self.assertIn(name, listed)
        names = {}
        exec("from gnuradio.cudaphy import *", names)
        self.assertEqual(set(names) - {"__builtins__"}, set(listed))


if __name__ == "__main__":
    main()
