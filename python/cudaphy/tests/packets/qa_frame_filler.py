#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""frame_filler: no tag makes the block write endless zeros, or lose its position."""

import os
import sys
import unittest

import numpy as np
import pmt
from gnuradio import cudaphy
from qa_support import FlowgraphCase, captured_log, gaussian, tag

ITEMS, PERIOD = 10, 100


class qa_frame_filler(FlowgraphCase):
    def filled(self, starts, **options):
        """(frames out, frames in, block, log) for frames with these tags frame_start"""
        frames = gaussian((len(starts), ITEMS))
        tags = [tag(ITEMS * i, "frame_start", value) for i, value in enumerate(starts)]
        block = cudaphy.frame_filler(1, ITEMS, PERIOD, **options)
        with captured_log() as log:
            (sink,) = self.through(
                block, [frames.ravel()], [("complex64", 0)], tags, seconds=20
            )
        return sink.data.reshape(-1, ITEMS), frames, block, log.text

    def test_a_frame_too_far_ahead_is_dropped_and_the_next_ones_are_not(self):
        for far in (
            2**62,
            2**63 - 1,
            pmt.from_uint64(2**63),
            pmt.from_uint64(2**64 - 1),
        ):
            out, frames, block, log = self.filled([0, far, 200, far, 300])
            want = np.zeros((4, ITEMS), "c8")
            want[[0, 2, 3]] = frames[[0, 2, 4]]
            np.testing.assert_array_equal(out, want)
            self.assertEqual((block.filled(), block.too_far_ahead()), (1, 2))
            self.assertEqual(log.count("more than max_fill, 10000"), 1)
            self.assertIn("at item 10 ", log)

    def test_a_gap_as_long_as_max_fill_is_filled(self):
        for most in (0, 1, 7):
            starts = [0, PERIOD * (most + 1)]
            out, frames, block, _ = self.filled(starts, max_fill=most)
            self.assertEqual((len(out), block.filled()), (most + 2, most))
            np.testing.assert_array_equal(out[[0, -1]], frames)
            starts[1] += PERIOD
            out, frames, block, _ = self.filled(starts, max_fill=most)
            self.assertEqual((len(out), block.too_far_ahead()), (1, 1))
        for wrong in (-1, 2**31, 0.5):
            with self.assert_refuses("max_fill"):
                cudaphy.frame_filler(1, ITEMS, PERIOD, max_fill=wrong)

    def test_a_tag_without_a_whole_number_marks_no_frame(self):
        unconvertible = pmt.init_s8vector(3, [1, 2, 3])  # raises in pmt.to_python()
        odd = [unconvertible, "100", 100.0, None, True, {}, [1], -100, -(2**63)]
        out, frames, block, _ = self.filled([0, *odd, 100, pmt.from_uint64(200)])
        np.testing.assert_array_equal(out, frames[[0, -2, -1]])
        self.assertEqual((block.filled(), block.problem()), (0, ""))


if __name__ == "__main__":
    if os.environ.get("CUDAPHY_TEST_BACKEND") == "cuda":
        print("skipped: the filler is the same on every backend")
        sys.exit(77)
    unittest.main()
