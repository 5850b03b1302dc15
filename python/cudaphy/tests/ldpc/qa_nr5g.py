#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport blocks of 5G NR on numpy arrays."""

import unittest
import zlib

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

nr5g = cudaphy.nr5g


def fixed_bits(n):
    """The highest bit of a linear congruential generator (that of ISO C's example)."""
    state, out = 1, []
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2**31
        out.append(state >> 30)
    return np.array(out, np.uint8)


def digest(bits):
    return zlib.crc32(np.packbits(bits).tobytes())


def received(bits, es_n0_db, rng):
    """LLRs of bits sent as BPSK."""
    n0 = 10 ** (-es_n0_db / 10)
    y = 1.0 - 2.0 * bits + rng.normal(scale=np.sqrt(n0 / 2), size=bits.shape)
    return (4 * y / n0).astype(np.float32)


class qa_crc(unittest.TestCase):
    def test_crcs_equal_published_values(self):
        nine = np.unpackbits(np.frombuffer(b"123456789", np.uint8))
        # RevEng's catalogue: CRC-24/LTE-A, CRC-24/LTE-B, CRC-16/XMODEM.
        for kind, value in (("24A", 0xCDE703), ("24B", 0x23EF52), ("16", 0x31C3)):
            self.assertEqual(nr5g.crc(nine, kind), value)
        # py3gpp 0.6.0, nrCRCEncode.
        for kind, value in (
            ("24A", 0x301306),
            ("24B", 0x64B0C7),
            ("24C", 0x808396),
            ("16", 0xF607),
            ("11", 0x3A1),
            ("6", 0x1D),
        ):
            self.assertEqual(nr5g.crc(fixed_bits(100), kind), value)

    def test_any_leading_dimensions(self):
        for leading in ((), (1,), (3, 2), (0,)):
            bits = np.random.default_rng(1).integers(0, 2, leading + (50,), np.uint8)
            words = nr5g.attach_crc(bits, "11")
            self.assertEqual(words.shape, leading + (61,))
            self.assertTrue(nr5g.check_crc(words, "11").all())
            words[..., 3:4] ^= 1
            self.assertFalse(nr5g.check_crc(words, "11").any())
        with self.assertRaisesRegex(ValueError, "24D"):
            nr5g.crc([1, 0], "24D")


class qa_encoding(unittest.TestCase):
    # CRC-32 of the packed output of py3gpp 0.6.0 (nrCRCEncode, nrCodeBlockSegmentLDPC, nrLDPCEncode,
    # nrRateMatchLDPC) for fixed_bits: payload, base graph, coded bits, order, redundancy versions 0 to 3.
    KNOWN = (
        (500, 2, 1500, 4, (4100155864, 946947580, 2972249995, 101710141)),
        (3752, 2, 5000, 2, (1276895974, 3534288890, 2238617626, 816088944)),
        (3824, 1, 4600, 8, (579329669, 84029526, 1304793792, 4265361693)),
        (8456, 1, 16200, 6, (1522240369, 4081583791, 2347186345, 1682670363)),
    )

    def test_coded_bits_are_those_of_another_implementation(self):
        for payload, graph, coded, order, known in self.KNOWN:
            block = nr5g.transport_block(
                payload, base_graph=graph, modulation_order=order, backend=BACKEND
            )
            for version in range(4):
                bits = block.encode(fixed_bits(payload), coded, version)
                self.assertEqual(digest(bits), known[version], (payload, version))

    def test_steps_make_the_same_bits_as_the_class(self):
        payload, coded, order = 8456, 16200, 6
        how = nr5g.segmentation(payload, 1)
        self.assertEqual((how.blocks, how.lifting_size, how.fillers), (2, 208, 312))
        blocks = nr5g.segment(fixed_bits(payload), how)
        self.assertEqual(blocks.shape, (2, how.block_bits))
        words = cudaphy.ldpc_encode(how.code(), blocks, backend=BACKEND)
        lengths = nr5g.coded_lengths(coded, how.blocks, modulation_order=order)
        matching = (how.base_graph, how.lifting_size, how.fillers, order, 2)
        bits = np.concatenate(
            [nr5g.rate_match(w, n, *matching) for w, n in zip(words, lengths)]
        )
        block = nr5g.transport_block(
            payload, base_graph=1, modulation_order=order, backend=BACKEND
        )
        np.testing.assert_array_equal(bits, block.encode(fixed_bits(payload), coded, 2))
        got, ok = nr5g.desegment(blocks, how)
        self.assertTrue(ok)
        np.testing.assert_array_equal(got, fixed_bits(payload))


class qa_rate_recovery(unittest.TestCase):
    def test_adds_to_the_places_that_matching_took(self):
        rng = np.random.default_rng(2)
        for dtype in (np.float32, np.int8):
            for version in range(4):
                length = nr5g.rate_recover(np.zeros((3, 0), dtype), 2, 10, 5).shape[-1]
                self.assertEqual(length, 50 * 10 - 5)
                words = rng.integers(0, 2, (3, length), np.uint8)
                args = (2, 10, 5, 4, version)
                sent = nr5g.rate_match(words, 400, *args)
                llr = (1 - 2 * sent.astype(np.int8)).astype(dtype)
                once = nr5g.rate_recover(llr, *args)
                self.assertEqual((once.dtype, once.shape), (dtype, words.shape))
                self.assertEqual(np.count_nonzero(once), 3 * 400)
                seen = once != 0
                np.testing.assert_array_equal((once < 0)[seen], words[seen] == 1)
                twice = nr5g.rate_recover(llr, *args, soft=once)
                np.testing.assert_array_equal(twice, 2 * once)
                self.assertEqual(np.abs(once).max(), 1)  # unchanged

    def test_refuses_what_does_not_fit(self):
        with self.assertRaisesRegex(ValueError, "expected float32"):
            nr5g.rate_recover(np.zeros(4), 2, 10, soft=np.zeros(499, np.float32))
        with self.assertRaisesRegex(ValueError, "expected int8"):
            nr5g.rate_recover(np.zeros(4, np.int8), 2, 10, soft=np.zeros(500))
        with self.assertRaisesRegex(ValueError, "17"):
            nr5g.rate_recover(np.zeros(4), 2, 17)
        with self.assertRaisesRegex(ValueError, "symbols"):
            nr5g.rate_recover(np.zeros(5), 2, 10)
        with self.assertRaisesRegex(ValueError, "reach"):
            nr5g.rate_match(np.zeros(99), 100, 2, 10)
        with self.assertRaisesRegex(ValueError, "-2"):
            nr5g.rate_match(np.zeros(99), -2, 2, 10)


class qa_transport_block(unittest.TestCase):
    def test_transport_blocks_come_back(self):
        rng = np.random.default_rng(3)
        for payload, rate, llr_type in (
            (24, 0.2, "float32"),
            (3824, 0.6, "int8"),
            (20016, 0.8, "float32"),
        ):
            block = nr5g.transport_block(
                payload,
                rate,
                layers=2,
                modulation_order=4,
                llr=llr_type,
                backend=BACKEND,
            )
            bits = rng.integers(0, 2, payload, np.uint8)
            llr = received(block.encode(bits, 8 * int(payload / rate / 8)), 8, rng)
            if llr_type == "int8":
                llr = np.clip(np.rint(4 * llr), -127, 127).astype(np.int8)
            got, ok, iterations, block_ok = block.decode(llr)
            self.assertTrue(ok)
            np.testing.assert_array_equal(got, bits)
            self.assertEqual(iterations.shape, (block.segmentation.blocks,))
            self.assertTrue(block_ok.all())

    def test_a_second_redundancy_version_lets_fewer_fail(self):
        rng = np.random.default_rng(4)
        block = nr5g.transport_block(
            1000, base_graph=2, max_iterations=10, backend=BACKEND
        )
        first = second = 0
        for _ in range(40):
            bits = rng.integers(0, 2, 1000, np.uint8)
            block.clear()
            ok = block.decode(received(block.encode(bits, 1300), 0, rng))[1]
            first += not ok
            if not ok:
                llr = received(block.encode(bits, 1300, 2), 0, rng)
                second += not block.decode(llr, 2)[1]
        self.assertGreater(first, 30)
        self.assertLess(second, 3)

    def test_refuses_what_does_not_fit(self):
        with self.assertRaisesRegex(ValueError, "one of code_rate and base_graph"):
            nr5g.transport_block(100)
        with self.assertRaisesRegex(ValueError, "float16"):
            nr5g.transport_block(100, 0.5, llr="float16")
        with self.assertRaisesRegex(ValueError, "the next that do are 8458"):
            nr5g.segmentation(8457, 1)
        block = nr5g.transport_block(100, 0.5, llr="int8", backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "expected int8"):
            block.decode(np.zeros(200))
        with self.assertRaisesRegex(ValueError, "payload has 99"):
            block.encode(np.zeros(99), 200)
        with self.assertRaisesRegex(ValueError, "multiple of 2"):
            block.encode(np.zeros(100), 201)
        self.assertEqual(nr5g.base_graph(8456, 0.5), 1)
        self.assertEqual(nr5g.limited_buffer(8456, 2), 6342)


if __name__ == "__main__":
    main()
