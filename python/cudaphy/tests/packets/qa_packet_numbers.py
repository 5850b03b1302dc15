#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that get numbers at the sender, and are counted at the receiver."""

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import FlowgraphCase, Source, captured_log, main, packet_tags, tag

NUMBER = "packet_number"


class qa_packet_numbers(FlowgraphCase):
    def counted(self, numbers):
        """The counter for a stream whose packets of 10 items have these numbers."""
        tags = [tag(10 * i, NUMBER, n) for i, n in enumerate(numbers)]
        counter = cudaphy.packet_loss_counter("byte")
        top = gr.top_block()
        data = np.zeros(10 * len(numbers), np.uint8)
        top.connect(Source(data, tags).block, counter)
        self.run_flowgraph(top)
        return counter

    def test_every_packet_has_its_number(self):
        lengths = [1, 500, 20_000, 3]
        for name, dtype in (
            ("complex", "complex64"),
            ("float", "float32"),
            ("byte", "u1"),
        ):
            data = np.arange(sum(lengths)).astype(dtype)
            block = cudaphy.packet_numberer(name)
            out = [(np.dtype(dtype).name, 0)]
            for _ in range(2):  # a new start
                (sink,) = self.through(block, [data], out, packet_tags(lengths))
                np.testing.assert_array_equal(sink.data, data)
                heads = np.cumsum([0, *lengths[:-1]])
                self.assertEqual(sink.tags(NUMBER), list(zip(heads, range(4))))

    def test_packets_that_are_missing(self):
        for numbers, lost, restarts in (
            ([], 0, 0),
            ([7], 0, 0),
            ([0, 1, 2, 3], 0, 0),
            ([0, 3, 4, 9], 6, 0),
            ([5, 6, 0, 1, 4], 2, 1),  # a sender that began anew
            ([5, 6, 2, 2], 4, 2),
        ):
            counter = self.counted(numbers)
            found = (counter.received(), counter.lost(), counter.restarts())
            self.assertEqual(found, (len(numbers), lost, restarts), numbers)
            self.assertEqual(counter.last_number(), numbers[-1] if numbers else None)

    def test_a_tag_that_is_no_number_counts_for_none(self):
        with captured_log() as log:
            counter = self.counted([0, "one", 2.0, None, 1, [1], 3])
        self.assertEqual((counter.received(), counter.lost()), (3, 1))
        self.assertEqual(log.text.count("is no number"), 1)
        self.assertIn("the tag packet_number at item 10 is no number", log.text)

    def test_implausible_numbers_are_no_numbers(self):
        big = pmt.from_uint64
        for numbers, received, lost, restarts, last in (
            ([0, 1, 2, -5, 3], 4, 0, 0, 3),
            ([0, 2**62, 1], 2, 0, 0, 1),
            ([2**62, -1, 7, 8], 2, 0, 0, 8),
            ([5, 2**63 - 1, 2**63 - 1, 7], 2, 1, 0, 7),
            ([5, big(2**64 - 1), big(2**63), big(6)], 2, 0, 0, 6),
            ([big(0), big(1), 2, big(4)], 4, 1, 0, 4),
            ([3, 2**32 + 4], 2, 2**32, 0, 2**32 + 4),  # the most that is believed
            ([3, 2**32 + 5, 4], 2, 0, 0, 4),
            ([2**40, 2**39, 2**40 + 1], 2, 0, 0, 2**40 + 1),  # no restart so late
            ([2**48 - 1, 2**48, 0], 2, 0, 1, 0),
        ):
            counter = self.counted(numbers)
            found = (counter.received(), counter.lost(), counter.restarts())
            self.assertEqual(found, (received, lost, restarts), numbers)
            self.assertEqual(counter.last_number(), last)
            self.assertEqual(counter.no_numbers(), len(numbers) - received)

    def test_only_whole_numbers_are_lengths_of_packets_that_get_a_number(self):
        odd = [pmt.init_s8vector(1, [1]), "10", 10.0, None, True, {}]
        lengths = [10, pmt.from_uint64(10), *odd, 10]
        tags = [tag(10 * i, "packet_len", length) for i, length in enumerate(lengths)]
        tags.insert(1, tag(0, "packet_len", 10))  # twice on one item: one packet
        data = np.zeros(10 * len(lengths), np.uint8)
        block = cudaphy.packet_numberer("byte")
        (sink,) = self.through(block, [data], [("uint8", 0)], tags)
        self.assertEqual(sink.tags(NUMBER), [(0, 0), (10, 1), (80, 2)])

    def test_a_numberer_and_a_counter_lose_nothing(self):
        numberer = cudaphy.packet_numberer("byte", "length")
        counter = cudaphy.packet_loss_counter("byte")
        source = Source(np.zeros(1000, np.uint8), packet_tags(100 * [10], "length"))
        top = gr.top_block()
        top.connect(source.block, numberer, blocks.copy(1), counter)
        self.run_flowgraph(top)
        self.assertEqual((counter.received(), counter.lost()), (100, 0))

    def test_refuses_other_types(self):
        for make in (cudaphy.packet_numberer, cudaphy.packet_loss_counter):
            with self.assert_refuses("double", "complex, float, byte"):
                make("double")


if __name__ == "__main__":
    main()
