#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block triangular_matrix_inverse in flowgraphs. qa_matrix_inverse.py tests what all
blocks share."""

import numpy as np
from gnuradio import cudaphy, gr
from qa_support import Sink, Source, captured_log, main
from qa_support.inverses import InverseCase, rows
from qa_support.inverses import matrices as gaussian_matrices

NAN = float("nan")


def matrices(count, order, dtype="complex64", seed=1):
    """Full matrices whose triangles are far from singular."""
    a = gaussian_matrices(count, order, dtype, seed)
    return (a / order + 2 * np.eye(order)).astype(dtype)


def beside(a, lower):
    """True outside of the triangle."""
    order = a.shape[-1]
    return np.triu(np.ones((order, order), bool), 1) if lower else np.tri(order, k=-1) > 0


class qa_triangular_matrix_inverse(InverseCase):
    block = staticmethod(cudaphy.triangular_matrix_inverse)

    def assert_inverses(self, a, got, lower=True, unit_diagonal=False):
        triangle = np.where(beside(a, lower), 0, a)
        if unit_diagonal:
            triangle[:, range(a.shape[1]), range(a.shape[1])] = 1
        self.assert_inverts(triangle, got)
        self.assertFalse(got.reshape(a.shape)[:, beside(a, lower)].any())

    def test_inverts_triangles_of_any_order_and_reads_nothing_beside_them(self):
        for dtype in ("complex64", "float32"):
            for order in (1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64, 128):
                for lower in (True, False):
                    for unit in (False, True):
                        with self.subTest(dtype=dtype, order=order, lower=lower):
                            a = matrices(40, order, dtype, order)
                            given = np.where(beside(a, lower), NAN, a).astype(dtype)
                            if unit:
                                given[:, range(order), range(order)] = NAN
                            options = {"lower": lower, "unit_diagonal": unit}
                            sink = self.inverses(given, **options)
                            self.assert_inverses(a, sink.data, **options)
                            self.assertEqual(sink.tags("singular"), [])

    def test_any_number_of_matrices_and_any_batch(self):
        for order in (3, 40):
            for count in (0, 1, 31, 32, 33, 1000 // order):
                for max_batch in (0, 1, 7, 100000):
                    with self.subTest(order=order, count=count, max_batch=max_batch):
                        a = matrices(count, order)
                        sink = self.inverses(a, max_batch=max_batch)
                        self.assert_inverses(a, sink.data)

    def test_a_singular_triangle_gives_zeros_and_a_tag_on_its_own_item(self):
        for order in (4, 40):
            a = matrices(40, order)
            found = {0: 1, 6: 4, 7: 2, 13: -1, 14: -1, 39: order}
            a[0] = 0
            a[6, 3, 3] = 0
            a[7, 1, 1] = a[7, 3, 3] = 0
            a[13, 2, 1] = NAN
            a[14, 3, 0] = complex(0, np.inf)
            a[20, 1, 2] = NAN  # beside the triangle
            a[39, order - 1, order - 1] = 0
            good = [i for i in range(40) if i not in found]
            for max_batch in (0, 1, 7):
                block = self.make(order, max_batch=max_batch)
                with captured_log() as log:
                    sink = self.through(block, [rows(a)], [("complex64", order**2)])[0]
                self.assertEqual(sink.tags("singular"), sorted(found.items()))
                self.assertFalse(sink.data[list(found)].any())
                self.assert_inverses(a[good], sink.data[good])
                self.assertEqual(block.failures(), len(found))
                self.assertIn("matrix 0 is singular (zero in row 1)", log.text)

    def test_with_a_unit_diagonal_nothing_is_singular(self):
        a = matrices(20, 4)
        a[5, 2, 2] = a[6, 0, 0] = 0
        sink = self.inverses(a, unit_diagonal=True)
        self.assertEqual(sink.tags("singular"), [])
        self.assert_inverses(a, sink.data, unit_diagonal=True)

    def test_a_flowgraph_runs_again_after_it_stopped(self):
        a = matrices(500, 4)
        a[3] = 0
        top = gr.top_block()
        source, sink = Source(rows(a)), Sink("complex64", 16)
        block = self.make(4, max_batch=32)
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            self.assert_inverses(np.delete(a, 3, 0), np.delete(sink.data, 3, 0))
            self.assertEqual(sink.tags("singular"), [(3, 1)])
            source.block.rewind()
            sink.block.reset()
        self.assertEqual(block.failures(), 3)

    def test_the_backend_is_readable_and_logged(self):
        self.assert_backend_is_readable_and_logged()

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        for order in (0, -1, 129, 1 << 30):
            with self.assert_refuses(str(order), "1", "128"):
                self.make(order)
        with self.assert_refuses("double", "complex", "float"):
            self.make(4, type="double")
        with self.assert_refuses("gpu", "auto", "cuda", "cpu", "reference"):
            self.make(4, backend="gpu")
        with self.assertRaisesRegex(cudaphy.BackendUnavailable, "cuda"):
            cudaphy.triangular_matrix_inverse(4, backend="cuda", device=99)


if __name__ == "__main__":
    main()
