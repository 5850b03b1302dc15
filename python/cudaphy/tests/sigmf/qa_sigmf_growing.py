#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata of a growing recording are whole after each write, and take time in proportion
to their size. The tests also say which of a stream's tags become metadata."""

import json
import os
import random
import resource
import time
import unittest.mock
import warnings

import numpy as np
import pmt
from gnuradio import cudaphy, gr
from gnuradio.cudaphy import sigmf
from gnuradio.cudaphy.sigmf import growing as sigmf_growing
from qa_sigmf import RATE, SigmfCase
from qa_support import KEY, Source, captured_log, gaussian, main, tag


class killed(BaseException):
    """Stands for a signal that ends the process."""


def typed_tag(item, key, value):
    """A tag whose value is this PMT."""
    made = gr.tag_t()
    made.offset, made.key, made.value = item, pmt.intern(key), value
    return made


class qa_sigmf_growing(SigmfCase):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")  # about unfinished recordings
        self.captures, self.packets, self.dice = [], [], random.Random(1)
        about = sigmf_growing.about_recording("ci8", 1, RATE, {"author": 'a "name"\n'})
        self.growing = sigmf_growing.growing_metadata(self.meta, about)
        self.addCleanup(self.growing.close)
        with open(self.data, "wb") as file:
            file.truncate(1 << 32)  # a hole

    def entries(self, most):
        """Captures and packets which follow those before."""
        captures, packets = [], []
        for _ in range(self.dice.randrange(most)):
            number = len(self.captures) + len(captures)
            time = (number, 0.5) if self.dice.randrange(2) else None
            captures.append(sigmf.capture(7 * number, 1e6 * number, time))
        for _ in range(self.dice.randrange(most)):
            packets.append((9 * (len(self.packets) + len(packets)), 9))
        return captures, packets

    def add(self, captures, packets):
        self.growing.add(
            [sigmf_growing.capture_entry(one) for one in captures],
            [sigmf_growing.packet_entry(*one, "packet") for one in packets],
        )
        self.captures += captures
        self.packets += packets

    def check(self, more=((), ())):
        """All entries so far are in the file, and then the first entries of `more`."""
        found = sigmf.read_metadata(self.meta)
        for got, wanted, next_ones in (
            (found.captures, self.captures, more[0]),
            (found.packets, self.packets, more[1]),
        ):
            self.assertEqual(got, (wanted + list(next_ones))[: len(got)])
            self.assertGreaterEqual(len(got), len(wanted))

    def test_metadata_are_whole_json_after_each_write(self):
        for _ in range(150):
            self.add(*self.entries(12))
            json.loads(self.meta.read_bytes())
            self.check()
        self.growing.finish()
        self.check()
        text = self.meta.read_text()
        self.assertNotIn("unfinished", text)
        self.assertNotIn("  ", text)

    def test_a_write_that_a_kill_has_torn_costs_no_entry_before_it(self):
        pwrite = os.pwrite
        for torn in range(250):
            self.add(*self.entries(8))
            more = self.entries(8)
            left = self.dice.randrange(600)

            def some(file, text, at):
                nonlocal left
                count = min(left, len(text))
                pwrite(file, text[:count], at)
                left -= count
                if count < len(text):
                    raise killed
                return count

            state = {
                name: bytearray(value) if isinstance(value, bytearray) else value
                for name, value in vars(self.growing).items()
            }
            before = self.meta.read_bytes()
            try:
                with unittest.mock.patch("os.pwrite", some):
                    self.add(*more)
            except killed:
                with self.subTest(torn=torn):
                    self.check(more)
                self.meta.write_bytes(before)  # as if nothing had happened
                vars(self.growing).update(state)
            self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_a_full_disk_keeps_all_entries_before(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        for _ in range(100):
            limit = self.meta.stat().st_size + self.dice.randrange(500)
            more = self.entries(8)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
            try:
                self.add(*more)
            except OSError as problem:
                self.assertEqual(problem.filename, str(self.meta))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            json.loads(self.meta.read_bytes())
            self.check(more)
            self.captures = sigmf.read_metadata(self.meta).captures

    def test_bytes_written_grow_with_the_entries_not_with_their_square(self):
        pwrite, written = os.pwrite, 0

        def counting(file, text, at):
            nonlocal written
            written += len(text)
            return pwrite(file, text, at)

        with unittest.mock.patch("os.pwrite", counting):
            for number in range(20_000):
                self.add([sigmf.capture(number, 1e6 + number)], [(number, 1)])
        self.growing.finish()
        self.assertLess(written, 6 * self.meta.stat().st_size)
        self.check()

    def test_16000_retunes_take_seconds(self):
        tags = [tag(10 * i, "rx_freq", 1e6 + i) for i in range(16_000)]
        self.growing.close()
        begin = time.monotonic()
        self.write(np.full(160_000, 0.5, "complex64"), tags)
        self.assertLess(time.monotonic() - begin, 20)  # was 89
        found = sigmf.read_metadata(self.meta).captures
        self.assertEqual(found, [sigmf.capture(10 * i, 1e6 + i) for i in range(16_000)])

    def test_metadata_end_before_they_are_more_than_can_be_read(self):
        with unittest.mock.patch.object(sigmf_growing, "MOST_BYTES", (1 << 20) + 5000):
            tags = [tag(100 * i, KEY, 1) for i in range(1000)]
            block, top = cudaphy.sigmf_sink(self.meta), gr.top_block()
            top.connect(Source(gaussian((100_000,)), tags).block, block)
            with captured_log() as log:
                top.run(5000)  # samples at a time
        self.assertEqual((block.samples(), block.problem()), (100_000, ""))
        self.assertEqual(log.text.count("has all captures and packets"), 1)
        found = sigmf.read_metadata(self.meta)
        self.assertEqual(found.packets, [(100 * i, 1) for i in range(len(found.packets))])
        self.assertTrue(50 <= len(found.packets) < 200)


class qa_sigmf_tags(SigmfCase):
    def packets(self, *tags, samples=1000):
        """The tags (item, length or PMT) that the source plays of these, and the log."""
        typed = lambda value: isinstance(value, pmt.pmt_base)
        tags = [
            typed_tag(item, KEY, value if typed(value) else pmt.to_pmt(value))
            for item, value in tags
        ]
        with captured_log() as log:
            self.write(gaussian((samples,)), tags)
        return self.read().tags(KEY), log.text

    def test_of_packets_over_each_other_the_one_that_ends_first_stands(self):
        for tags, wanted in (
            ([(0, 100), (50, 100)], [(0, 100)]),
            ([(0, 100), (0, 100)], [(0, 100)]),
            ([(0, 100), (0, 50)], [(0, 50)]),
            ([(0, 100), (99, 1), (100, 5)], [(0, 100), (100, 5)]),
            ([(0, 100), (98, 1), (100, 5)], [(98, 1), (100, 5)]),
            (
                [(0, 100), (50, 100), (100, 7), (107, 893)],
                [(0, 100), (100, 7), (107, 893)],
            ),
            ([(0, 2**40), (10, 20), (30, 20), (40, 20)], [(10, 20), (30, 20)]),
        ):
            got, log = self.packets(*tags)
            self.assertEqual(got, wanted, tags)
            self.assertEqual(log.count("lies over the one before"), 1)
        got, log = self.packets((0, 100), (100, 100), (250, 1))
        self.assertEqual((len(got), log), (3, ""))

    def test_length_tags_are_longs_or_uint64s_of_at_least_1(self):
        good = [pmt.from_long(5), pmt.from_uint64(5), 5]
        odd = [
            0,
            -1,
            -(2**62),
            2**62,
            5.0,
            "5",
            None,
            True,
            5j,
            [5],
            (5, 5),
            {"a": 5},
        ]
        odd += [pmt.from_uint64(2**64 - 1), pmt.from_uint64(0), pmt.PMT_EOF]
        odd += [pmt.cons(pmt.from_long(5), pmt.PMT_NIL)]
        for number, value in enumerate(good + odd):
            got, log = self.packets((10, value), (20, 4))
            self.assertEqual(got, [(10, 5)] * (number < len(good)) + [(20, 4)], value)

    def test_other_tags_of_any_type_do_no_harm(self):
        odd = [
            pmt.PMT_EOF,
            pmt.make_vector(3, pmt.PMT_T),
            pmt.cons(pmt.PMT_T, pmt.PMT_F),
            pmt.PMT_NIL,
        ]
        odd += [pmt.make_tuple(pmt.PMT_EOF, pmt.from_double(0.5)), pmt.make_dict()]
        odd += [pmt.make_tuple(pmt.from_long(-5), pmt.from_double(0.5))]
        names = ("rx_time", "rx_freq", "rx_rate", "mine")
        tags = [typed_tag(i, name, one) for i, one in enumerate(odd) for name in names]
        tags += [tag(50, "rx_freq", 1e9)]
        tags += [typed_tag(50, "rx_rate", pmt.from_uint64(48_000))]
        with captured_log() as log:
            block = self.write(gaussian((1000,)), tags)
        self.assertEqual((block.problem(), block.samples()), ("", 1000))
        for name in ("time", "frequency", "rate"):
            self.assertEqual(log.text.count(f"at item 0 is no {name}"), 1)
        self.assertEqual(self.read().tags("rx_freq"), [(50, 1e9)])
        self.assertEqual(sigmf.read_metadata(self.meta).sample_rate, 48_000)


if __name__ == "__main__":
    main()
