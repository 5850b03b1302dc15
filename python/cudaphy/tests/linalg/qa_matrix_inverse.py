#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block matrix_inverse in flowgraphs."""

import time

import numpy as np
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, Sink, Source, captured_log, main, packet_tags, tag
from qa_support.inverses import InverseCase, rows
from qa_support.inverses import matrices as gaussian_matrices


def matrices(count, order, dtype="complex64", seed=1):
    """Random matrices far from singular."""
    a = gaussian_matrices(count, order, dtype, seed)
    return (a + 2 * order * np.eye(order)).astype(dtype)


class qa_matrix_inverse(InverseCase):
    block = staticmethod(cudaphy.matrix_inverse)

    def test_inverts_complex_and_real_matrices_of_any_order(self):
        for dtype in ("complex64", "float32"):
            for order in (1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64):
                for pivoting in ("full", "partial", "none"):
                    with self.subTest(dtype=dtype, order=order, pivoting=pivoting):
                        a = matrices(101, order, dtype, order)
                        if pivoting == "none":
                            a = a @ a.conj().swapaxes(1, 2) / order
                        self.assert_inverts(a, self.inverses(a, pivoting=pivoting).data)

    def test_pivots_where_the_diagonal_is_zero(self):
        a = matrices(50, 6)[:, np.random.default_rng(3).permutation(6)]
        a[:, 0, 0] = 0
        for pivoting in ("full", "partial"):
            self.assert_inverts(a, self.inverses(a, pivoting=pivoting).data)

    def test_any_number_of_matrices_and_any_batch(self):
        for count in (0, 1, 31, 32, 33, 1000):
            for max_batch in (0, 1, 7, 1000000):
                with self.subTest(count=count, max_batch=max_batch):
                    a = matrices(count, 3)
                    self.assert_inverts(a, self.inverses(a, max_batch=max_batch).data)

    def test_a_singular_matrix_gives_zeros_and_a_tag_on_its_own_item(self):
        a = matrices(40, 4)
        steps = {0: 1, 6: 4, 7: 3, 13: -1, 14: -1, 39: 2}
        a[0] = 0
        a[6] = np.diag([3, 4, 5, 0])
        a[7] = np.diag([3, 0, 5, 0])
        a[13, 1, 2] = np.nan
        a[14, 3, 0] = complex(0, np.inf)
        a[39] = 1
        good = [i for i in range(40) if i not in steps]
        for max_batch in (0, 1, 7):
            block = self.make(4, max_batch=max_batch)
            with captured_log() as log:
                sink = self.through(block, [rows(a)], [("complex64", 16)])[0]
            self.assertEqual(sink.tags("singular"), sorted(steps.items()))
            self.assertFalse(sink.data[list(steps)].any())
            self.assert_inverts(a[good], sink.data[good])
            self.assertEqual(block.failures(), len(steps))
            self.assertIn("matrix 0 is singular (step 1)", log.text)

    def test_the_warning_about_a_lower_rank_names_partial_pivoting(self):
        a = np.diag(np.logspace(-9.6, -21, 12)).astype("float32")[None]
        with captured_log() as log:
            full = self.inverses(a, pivoting="full")
        self.assertEqual(len(full.tags("singular")), 1)
        self.assertIn('"partial"', log.text)
        with captured_log() as log:
            partial = self.inverses(a, pivoting="partial")
        self.assertEqual(partial.tags("singular"), [])
        exact = np.diag(1 / np.diag(a[0].astype("float64")))
        got = partial.data.reshape(12, 12)
        np.testing.assert_allclose(got, exact, rtol=1e-6)
        # The functions return the same.
        for pivoting, is_reported in (("full", True), ("partial", False)):
            _, info = cudaphy.invert(a[0], pivoting, backend=BACKEND)
            self.assertEqual(info > 0, is_reported)
        x, info = cudaphy.invert_symmetric(a[0], backend=BACKEND)
        self.assertEqual(info, 0)
        np.testing.assert_allclose(x, exact, rtol=1e-5)

    def test_a_nearly_singular_matrix_gives_the_inverse_of_one_near_it_and_a_tag(self):
        eps = np.finfo("float32").eps
        for dtype in ("complex64", "float32"):
            a = np.tile(np.diag([1, 1, 2]).astype(dtype), (50, 1, 1))
            a[7, 1, 1] = eps / 64
            expected = np.diag([1, 1 / (2 * eps), 0.5]).astype(dtype)
            sink = self.inverses(a)
            self.assertEqual(sink.tags("singular"), [(7, 3)])
            np.testing.assert_allclose(sink.data[7].reshape(3, 3), expected, rtol=1e-3)
            self.assert_inverts(np.delete(a, 7, 0), np.delete(sink.data, 7, 0))
            # The other ways of pivoting accept a pivot so small.
            for pivoting in ("partial", "none"):
                sink = self.inverses(a, pivoting=pivoting)
                self.assertEqual(sink.tags("singular"), [])
                self.assert_inverts(a, sink.data)

    def test_without_pivoting_matrices_that_are_not_definite_are_tagged(self):
        a = np.tile(np.eye(3, dtype="complex64"), (20, 1, 1))
        a[4, 1, 1], a[9, 2, 2], a[11, 0, 0] = -1, 0, np.nan
        sink = self.inverses(a, pivoting="none")
        self.assertEqual(sink.tags("singular"), [(4, 2), (9, 3), (11, -1)])
        self.assertFalse(sink.data[[4, 9, 11]].any())
        good = np.delete(np.arange(20), [4, 9, 11])
        self.assert_inverts(a[good], sink.data[good])

    def test_packets_keep_their_tags(self):
        lengths = [1, 2, 5, 1, 300, 7, 33, 1, 1000, 3]
        a = matrices(sum(lengths), 2)
        heads = np.cumsum([0] + lengths)
        extra = [tag(int(h), "rx_time", int(h) + 1) for h in heads[:-1]]
        extra.append(tag(4, "mid", "here"))
        for max_batch in (0, 1, 4, 100000):
            sink = self.inverses(
                a,
                packet_tags(lengths) + extra,
                length_tag_key=KEY,
                max_batch=max_batch,
            )
            self.assert_inverts(a, sink.data)
            self.assertEqual(sink.tags(KEY), list(zip(heads, lengths)))
            self.assertEqual(sink.tags("rx_time"), [(h, h + 1) for h in heads[:-1]])
            self.assertEqual(sink.tags("mid"), [(4, "here")])

    def test_a_packet_may_be_longer_than_any_buffer(self):
        a = matrices(50000, 2)
        sink = self.inverses(a, packet_tags([49999, 1]), length_tag_key=KEY, max_batch=64)
        self.assert_inverts(a, sink.data)
        self.assertEqual(sink.tags(KEY), [(0, 49999), (49999, 1)])

    def test_without_a_key_length_tags_are_tags_like_others(self):
        a = matrices(100, 2)
        sink = self.inverses(a, [tag(5, KEY, 7), tag(50, "rx_freq", 1e9)])
        self.assert_inverts(a, sink.data)
        self.assertEqual(sink.tags(KEY), [(5, 7)])
        self.assertEqual(sink.tags("rx_freq"), [(50, 1e9)])

    def ends_with(self, a, tags, *texts):
        """The items put out before the flowgraph ended with these texts in the log."""
        with captured_log() as log:
            sink = self.inverses(a, tags, length_tag_key=KEY, max_batch=4, seconds=20)
        for text in texts:
            self.assertIn(text, log.text)
        return sink

    def test_a_missing_length_tag_ends_the_flowgraph_after_the_good_packets(self):
        a = matrices(60, 2)
        text = "carries no tag"
        sink = self.ends_with(a, [], "item 0 of input 0", text, KEY)
        self.assertEqual(len(sink.data), 0)
        sink = self.ends_with(a, packet_tags([10, 13]), "item 23 of input 0", text)
        self.assert_inverts(a[:23], sink.data)
        self.assertEqual(sink.tags(KEY), [(0, 10), (10, 13)])

    def test_a_wrong_length_tag_ends_the_flowgraph(self):
        a = matrices(60, 2)
        for length in (0, -3):
            sink = self.ends_with(a, [tag(0, KEY, 5), tag(5, KEY, length)], "item 5")
            self.assert_inverts(a[:5], sink.data)
        sink = self.ends_with(a, [tag(0, KEY, "long")], "item 0 of input 0")
        self.assertEqual(len(sink.data), 0)

    def test_an_unfinished_last_packet_is_put_out_as_far_as_it_goes(self):
        a = matrices(20, 2)
        sink = self.ends_with(a, packet_tags([15, 10]), "5 frames before")
        self.assert_inverts(a, sink.data)

    def test_a_flowgraph_runs_again_after_it_stopped(self):
        a = matrices(500, 4)
        a[3] = 0
        top = gr.top_block()
        source, sink = Source(rows(a), packet_tags([100] * 5)), Sink("complex64", 16)
        block = self.make(4, length_tag_key=KEY, max_batch=32)
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            self.assert_inverts(np.delete(a, 3, 0), np.delete(sink.data, 3, 0))
            self.assertEqual(sink.tags(KEY), [(100 * i, 100) for i in range(5)])
            self.assertEqual(sink.tags("singular"), [(3, 1)])
            source.block.rewind()
            sink.block.reset()
        self.assertEqual(block.failures(), 3)

    def test_buffers_hold_its_batches_when_a_block_runs_again(self):
        a = matrices(6000, 3)
        top = gr.top_block()
        source, sink = Source(rows(a)), Sink("complex64", 9)
        block = self.make(3, max_batch=3000)
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            with captured_log() as log:
                self.run_flowgraph(top)
            self.assertNotIn("warning", log.text)
            self.assert_inverts(a, sink.data)
            source.block.rewind()
            sink.block.reset()

    def test_a_flowgraph_can_be_stopped_at_any_time(self):
        top = gr.top_block()
        source = blocks.null_source(4 * 4 * 8)
        block, sink = self.make(4), blocks.null_sink(4 * 4 * 8)
        top.connect(source, block, sink)
        for seconds in (0, 0.01, 0.1):
            top.start()
            time.sleep(seconds)
            top.stop()
            top.wait()

    def test_streams_fork_and_two_blocks_share_a_ring(self):
        a = matrices(3000, 3)
        top = gr.top_block()
        source = Source(rows(a))
        first, second, third = (
            self.make(3, max_batch=50),
            self.make(3),
            self.make(3, max_batch=7),
        )
        sinks = [Sink("complex64", 9) for _ in range(4)]
        for block, sink in zip((first, first, second, third), sinks):
            top.connect(block, sink.block)
        top.connect(source.block, first, third)
        top.connect(source.block, second)
        self.run_flowgraph(top)
        for sink in sinks[:3]:
            self.assert_inverts(a, sink.data)
        self.assertLess(np.abs(sinks[3].data - rows(a)).max(), 1e-3)

    def test_items_waiting_for_a_fuller_batch_are_put_out_at_the_end(self):
        a = matrices(10, 2)
        began = time.monotonic()
        sink = self.inverses(a, max_batch=1000, max_latency=30.0, seconds=20)
        self.assertLess(time.monotonic() - began, 10)
        self.assert_inverts(a, sink.data)

    def test_a_part_of_a_batch_leaves_in_time_while_the_source_is_silent(self):
        a = matrices(10, 2)

        class Pausing(gr.sync_block):
            """Puts a out at once, and then nothing for two seconds."""

            def __init__(self):
                super().__init__("pausing", None, [("complex64", 4)])
                self.done = False

            def work(self, _, output_items):
                if self.done:
                    time.sleep(2)
                    return -1
                self.done = True
                output_items[0][: len(a)] = rows(a)
                return len(a)

        for latency in (0.0, 0.3):
            top, source, sink = gr.top_block(), Pausing(), Sink("complex64", 4)
            top.connect(source, self.make(2, max_latency=latency), sink.block)
            began = time.monotonic()
            top.start()
            while not sink.block.data() and time.monotonic() < began + 10:
                time.sleep(0.01)
            waited = time.monotonic() - began
            top.wait()
            self.assertGreaterEqual(waited, latency)
            self.assertLess(waited, latency + 1)
            self.assert_inverts(a, sink.data)

    def test_the_backend_is_readable_and_logged(self):
        self.assert_backend_is_readable_and_logged()

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        for order in (0, -1, 65, 1 << 30):
            with self.assert_refuses(str(order), "1", "64"):
                self.make(order)
        with self.assert_refuses("most", "full", "partial", "none"):
            self.make(4, pivoting="most")
        with self.assert_refuses("double", "complex", "float"):
            self.make(4, type="double")
        with self.assert_refuses("gpu", "auto", "cuda", "cpu", "reference"):
            self.make(4, backend="gpu")
        with self.assert_refuses("-1", "0", "16777216"):
            self.make(4, max_batch=-1)
        for latency in (-1.0, float("nan"), float("inf")):
            with self.assert_refuses("max_latency", "0", "3600"):
                self.make(4, max_latency=latency)

    def test_a_gpu_that_is_not_there_is_an_error_that_says_why(self):
        with self.assertRaisesRegex(cudaphy.BackendUnavailable, "cuda"):
            cudaphy.matrix_inverse(4, backend="cuda", device=99)


if __name__ == "__main__":
    main()
