#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block symmetric_matrix_inverse in flowgraphs."""

import numpy as np
from gnuradio import blocks, cudaphy, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    main,
    packet_tags,
    tag,
)


def matrices(count, order, dtype="complex64", definite=False, seed=1):
    """Random matrices without eigenvalues near zero, some negative if not definite."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((count, order, order))
    if dtype == "complex64":
        a = a + 1j * rng.standard_normal((count, order, order))
    q, _ = np.linalg.qr(a)
    values = 1 + rng.random((count, 1, order))
    if not definite:
        values[:, :, ::2] *= -1
    out = ((q * values) @ q.conj().swapaxes(1, 2)).astype(dtype)
    lower = np.tril(out, -1)
    diagonal = np.einsum("bii->bi", out).real[:, :, np.newaxis] * np.eye(order)
    return (lower + diagonal + lower.conj().swapaxes(1, 2)).astype(dtype)


def rows(a):
    return a.reshape(a.shape[0] * a.shape[1], a.shape[2])


def make(a, **options):
    kind = "float" if a.dtype == np.float32 else "complex"
    return cudaphy.symmetric_matrix_inverse(
        a.shape[1], type=kind, **{"backend": BACKEND, **options}
    )


class qa_symmetric_matrix_inverse(FlowgraphCase):
    def inverses(self, a, tags=(), seconds=60, **options):
        """The sink with the inverses of a."""
        block = make(a, **options)
        return self.through(
            block, [rows(a)], [(a.dtype.name, a.shape[2])], tags, seconds
        )[0]

    def assert_inverses(self, a, got):
        self.assertEqual(got.shape, rows(a).shape)
        wide = a.astype("complex128" if a.dtype.kind == "c" else "float64")
        expected = rows(np.linalg.inv(wide))
        error = np.abs(got - expected).max(initial=0) / np.abs(expected).max(initial=1)
        self.assertLess(error, 1e-5)
        x = got.reshape(a.shape)
        np.testing.assert_array_equal(x, x.conj().swapaxes(1, 2))

    def test_inverts_definite_and_indefinite_matrices_of_any_order(self):
        for dtype in ("complex64", "float32"):
            for order in (1, 2, 3, 64, 127, 128, 129, 300):
                for definite in (False, True):
                    with self.subTest(dtype=dtype, order=order, definite=definite):
                        a = matrices(2, order, dtype, definite, order)
                        known = "positive" if definite else "unknown"
                        self.assert_inverses(a, self.inverses(a, definite=known).data)
        a = matrices(2, 40, "float32")
        self.assert_inverses(a, self.inverses(a, algorithm="bordering").data)

    def test_any_number_of_matrices_and_any_batch(self):
        for count in (0, 1, 5, 100):
            for max_batch in (0, 1, 3, 1000):
                with self.subTest(count=count, max_batch=max_batch):
                    a = matrices(count, 7)
                    block = make(a, max_batch=max_batch)
                    sink = self.through(block, [rows(a)], [("complex64", 7)])[0]
                    self.assert_inverses(a, sink.data)
                    self.assertEqual((block.matrices(), block.failures()), (count, 0))

    def test_a_zero_diagonal_is_no_obstacle(self):
        a = matrices(1, 60, "float32")
        a[:, np.arange(60), np.arange(60)] = 0
        self.assert_inverses(a, self.inverses(a).data)

    def test_a_matrix_without_an_inverse_gives_zeros_and_a_tag_on_its_first_row(self):
        a = matrices(12, 20)
        a[0] = 0
        a[5, 3, 4] = a[5, 4, 3] = np.nan
        a[6, 7, 2] += 0.5
        a[11, 19, 19] += 0.25j
        bad = {0: 20, 5: -1}
        for max_batch in (0, 1, 5):
            block = make(a, max_batch=max_batch)
            with captured_log() as log:
                sink = self.through(block, [rows(a)], [("complex64", 20)])[0]
            self.assertEqual(
                sink.tags("singular"), [(20 * m, k) for m, k in sorted(bad.items())]
            )
            self.assertEqual(
                sink.tags("asymmetric"), [(6 * 20, (7, 2)), (11 * 20, (19, 19))]
            )
            got = sink.data.reshape(a.shape)
            self.assertFalse(got[[0, 5, 6, 11]].any())
            good = np.delete(np.arange(12), [0, 5, 6, 11])
            self.assert_inverses(a[good], rows(got[good]))
            self.assertEqual((block.failures(), block.matrices()), (4, 12))
            self.assertIn("matrix 6 is not symmetric", log.text)
            self.assertIn("(7, 2)", log.text)

    def test_a_covariance_of_too_few_snapshots_gets_a_tag_in_every_draw(self):
        rng = np.random.default_rng(3)
        x = rng.standard_normal((100, 16, 15)) + 1j * rng.standard_normal((100, 16, 15))
        a = x @ x.conj().swapaxes(1, 2) / 15
        lower = np.tril(a, -1)
        a = lower + lower.conj().swapaxes(1, 2)
        a[:, np.arange(16), np.arange(16)] = (np.abs(x) ** 2).sum(2) / 15
        for definite in ("unknown", "positive"):
            sink = self.inverses(a.astype("complex64"), definite=definite)
            tags = sink.tags("singular")
            self.assertEqual([item for item, _ in tags], list(range(0, 1600, 16)))
            self.assertFalse(sink.data.any())

    def test_unchecked_the_lower_triangle_alone_is_read(self):
        a = matrices(3, 33, "float32")
        got = self.inverses(np.tril(a), check=False)
        self.assert_inverses(a, got.data)
        self.assertEqual(got.tags("asymmetric"), [])

    def test_rounding_is_no_asymmetry(self):
        rng = np.random.default_rng(7)
        scale = 10.0 ** rng.uniform(-3, 3, (40, 1))
        x = scale * (rng.standard_normal((40, 500)) + 1j * rng.standard_normal((40, 500)))
        upper = (x.astype("complex64") @ x.conj().T.astype("complex64")) / 500
        # The two triangles differ as sums in two orders do.
        noisy = upper * (1 + 2e-7 * rng.standard_normal((40, 40)))
        np.fill_diagonal(noisy, noisy.diagonal().real)
        sink = self.inverses(noisy[np.newaxis].astype("complex64"))
        self.assertEqual(sink.tags("asymmetric"), [])
        self.assertTrue(sink.data.any())

    def test_packets_keep_their_tags(self):
        lengths = [9, 3, 30, 3, 300]
        a = matrices(sum(lengths) // 3, 3)
        heads = np.cumsum([0] + lengths)[:-1]
        extra = [tag(int(h), "rx_time", int(h) + 1) for h in heads]
        extra.append(tag(4, "mid", "here"))
        for max_batch in (0, 1, 4):
            sink = self.inverses(
                a, packet_tags(lengths) + extra, length_tag_key=KEY, max_batch=max_batch
            )
            self.assert_inverses(a, sink.data)
            self.assertEqual(sink.tags(KEY), list(zip(heads, lengths)))
            self.assertEqual(sink.tags("rx_time"), [(h, h + 1) for h in heads])
            self.assertEqual(sink.tags("mid"), [(4, "here")])

    def test_a_wrong_packet_ends_the_flowgraph_after_the_good_ones(self):
        a = matrices(20, 3)
        for tags, good in (
            (packet_tags([30]), 10),
            (packet_tags([30]) + [tag(30, KEY, 4)], 10),
            (packet_tags([30]) + [tag(30, KEY, 0)], 10),
            ([tag(0, KEY, "long")], 0),
        ):
            with captured_log() as log:
                sink = self.inverses(a, tags, length_tag_key=KEY, seconds=20)
            self.assert_inverses(a[:good], sink.data)
            self.assertIn(f"item {3 * good} of input 0", log.text)
            self.assertIn("the flowgraph ends here", log.text)

    def test_a_stream_that_ends_amid_a_matrix_gives_the_whole_ones(self):
        a = matrices(4, 30)
        source, sink = Source(rows(a)[:-7]), Sink("complex64", 30)
        top = gr.top_block()
        top.connect(source.block, make(a), sink.block)
        with captured_log() as log:
            self.run_flowgraph(top)
        self.assert_inverses(a[:3], sink.data)
        self.assertIn("ended 7 rows before its last matrix", log.text)

    def test_a_flowgraph_runs_again_after_it_stopped(self):
        a = matrices(50, 12)
        source, sink = Source(rows(a), packet_tags([120] * 5)), Sink("complex64", 12)
        top = gr.top_block()
        top.connect(source.block, make(a, length_tag_key=KEY), sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            self.assert_inverses(a, sink.data)
            source.block.rewind()
            sink.block.reset()

    def test_matrices_may_exceed_buffers_and_come_slowly(self):
        a = matrices(2, 600, "float32", definite=True)
        top = gr.top_block()
        source, sink = Source(rows(a)), Sink("float32", 600)
        source.block.set_max_output_buffer(16)
        block = make(a, definite="positive")
        top.connect(source.block, block, blocks.copy(2400), sink.block)
        self.run_flowgraph(top)
        self.assert_inverses(a, sink.data)

    def test_refuses_what_can_not_be(self):
        a = matrices(1, 3)
        for options, text in (
            ({"definite": "negative"}, "negative.*unknown.*positive"),
            ({"algorithm": "fast"}, "fast.*blocked.*bordering"),
            ({"max_batch": -1}, "-1.*0.*65536"),
            ({"backend": "gpu"}, "gpu"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                make(a, **options)
        for order in (0, -4, 32769):
            with self.assertRaisesRegex(ValueError, f"{order}.*1 to 32768"):
                cudaphy.symmetric_matrix_inverse(order, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "double.*complex.*float"):
            cudaphy.symmetric_matrix_inverse(3, type="double", backend=BACKEND)


if __name__ == "__main__":
    main()
