#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counter finds every wrong bit, and refuses packets that are no whole frames."""

import os
import sys
import unittest

import numpy as np
import pmt
from gnuradio import blocks, gr
from gnuradio.cudaphy.blocks.frame_error_counter import frame_error_counter

LENGTH = 50


def tag(offset, key, value):
    made = gr.tag_t()
    made.offset, made.key, made.value = offset, pmt.intern(key), value
    return made


def count(decoded, sent, tags=(), key="", chunk=0):
    counter = frame_error_counter(LENGTH, key)
    top = gr.top_block()
    for port, (bits, on_it) in enumerate(((decoded, tags), (sent, ()))):
        source = blocks.vector_source_b(bits.tolist(), False, 1, list(on_it))
        if chunk:
            source.set_max_noutput_items(chunk)
        top.connect(source, (counter, port))
    top.run()
    return counter


class qa_frame_error_counter(unittest.TestCase):
    def setUp(self):
        self.sent = np.random.default_rng(5).integers(0, 2, 400 * LENGTH, dtype=np.uint8)
        self.decoded = self.sent.copy()

    def test_equal_streams_have_no_errors(self):
        counter = count(self.decoded, self.sent)
        self.assertEqual((counter.frames(), counter.bits()), (400, 400 * LENGTH))
        self.assertEqual((counter.frame_errors(), counter.bit_errors()), (0, 0))
        self.assertEqual((counter.frame_error_rate(), counter.bit_error_rate()), (0, 0))

    def test_each_wrong_bit_and_frame_is_counted_once(self):
        for bit in (0, 3 * LENGTH - 1, 3 * LENGTH, 3 * LENGTH + 7, 400 * LENGTH - 1):
            self.decoded[bit] ^= 1
        for chunk in (0, 1, LENGTH + 1):
            counter = count(self.decoded, self.sent, chunk=chunk)
            self.assertEqual((counter.frame_errors(), counter.bit_errors()), (4, 5))
            self.assertEqual(counter.frame_error_rate(), 4 / 400)
            self.assertEqual(counter.bit_error_rate(), 5 / 400 / LENGTH)

    def test_a_part_of_a_frame_at_the_end_is_left_out(self):
        self.decoded[-1] ^= 1
        counter = count(self.decoded, self.sent[:-1])
        self.assertEqual((counter.frames(), counter.frame_errors()), (399, 0))

    def test_the_decoders_tags_are_counted(self):
        tags = []
        for frame in range(400):
            tags.append(
                tag(frame * LENGTH, "iterations", pmt.from_long(1 + frame % 2 * 9))
            )
            tags.append(tag(frame * LENGTH, "ldpc_ok", pmt.from_bool(frame % 4 != 0)))
        tags[0].value = pmt.from_uint64(1)
        unconvertible = pmt.init_s8vector(3, [1, 2, 3])  # raises in pmt.to_python()
        for nonsense in (
            pmt.PMT_NIL,
            pmt.intern("many"),
            pmt.from_double(2.5),
            unconvertible,
        ):
            tags.append(tag(1, "iterations", nonsense))
            tags.append(tag(1, "ldpc_ok", nonsense))
        counter = count(self.decoded, self.sent, tags)
        self.assertEqual(counter.average_iterations(), 5.5)
        self.assertEqual(counter.decoder_failures(), 100)
        self.assertEqual(count(self.decoded, self.sent).average_iterations(), 0)

    def test_packets_of_whole_frames_pass(self):
        tags = [
            tag(i * 4 * LENGTH, "packet_len", pmt.from_long(4 * LENGTH))
            for i in range(100)
        ]
        counter = count(self.decoded, self.sent, tags, "packet_len")
        self.assertEqual((counter.frames(), counter.problem()), (400, ""))

    def test_lengths_are_whole_numbers_of_any_type_and_others_are_passed_over(self):
        values = [pmt.from_uint64(4 * LENGTH), pmt.init_s8vector(3, [1, 2, 3])]
        values += [pmt.intern("7"), pmt.from_double(7), pmt.PMT_T, pmt.make_dict()]
        tags = [tag(i * 4 * LENGTH, "packet_len", v) for i, v in enumerate(values)]
        tags.append(tag(7, "packet_len", pmt.PMT_NIL))
        counter = count(self.decoded, self.sent, tags, "packet_len")
        self.assertEqual((counter.frames(), counter.problem()), (400, ""))
        for value in (2**62, -LENGTH, 0):
            wrong = [tag(0, "packet_len", pmt.from_long(value))]
            counter = count(self.decoded, self.sent, wrong, "packet_len")
            self.assertEqual(counter.frames(), 0)
            self.assertIn(f"says {value} bits", counter.problem())

    def test_other_packets_end_the_flowgraph_with_both_numbers(self):
        for offset, length, complaint in (
            (0, LENGTH + 1, "51 bits, which is no whole number of frames of 50 bits"),
            (2 * LENGTH, 0, "says 0 bits"),
            (10, LENGTH, "bit 10 of input 0 does not stand on the first bit"),
        ):
            wrong = [tag(offset, "packet_len", pmt.from_long(length))]
            counter = count(self.decoded, self.sent, wrong, "packet_len")
            self.assertEqual(counter.frames(), 0)
            self.assertIn(complaint, counter.problem())
            self.assertEqual(count(self.decoded, self.sent, wrong).frames(), 400)

    def test_errors_that_an_outer_code_corrects_are_counted_apart(self):
        self.decoded[:3] ^= 1
        self.decoded[LENGTH : LENGTH + 4] ^= 1
        counter = frame_error_counter(LENGTH, correctable=3)
        top = gr.top_block()
        for port, bits in enumerate((self.decoded, self.sent)):
            top.connect(blocks.vector_source_b(bits.tolist()), (counter, port))
        top.run()
        self.assertEqual((counter.frame_errors(), counter.correctable_frames()), (2, 1))
        with self.assertRaisesRegex(ValueError, "correctable -1 is not"):
            frame_error_counter(LENGTH, correctable=-1)

    def test_reset_begins_anew(self):
        self.decoded[0] ^= 1
        counter = count(self.decoded, self.sent)
        counter.reset()
        self.assertEqual((counter.frames(), counter.frame_errors()), (0, 0))

    def test_a_length_out_of_range_is_refused(self):
        for length in (0, -1, 1.5, (1 << 24) + 1):
            with self.assertRaisesRegex(ValueError, f"frame_length {length} is not"):
                frame_error_counter(length)


if __name__ == "__main__":
    if os.environ.get("CUDAPHY_TEST_BACKEND") == "cuda":
        print("skipped: the counter is the same on every backend")
        sys.exit(77)
    unittest.main()
