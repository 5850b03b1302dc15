#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bch_encode and bch_decode, beside GNU Radio's encoder for DVB."""

import copy
import pickle
import unittest

import numpy as np

from gnuradio import blocks, cudaphy, dtv, gr
from qa_support import BACKEND, main

FRAMES = {"normal": dtv.FECFRAME_NORMAL, "short": dtv.FECFRAME_SHORT}
RATES = ("1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9", "9/10")


def encoded_by_gnuradio(bits, standard, frame, rate):
    """Its block takes and gives bytes of one bit."""
    graph = gr.top_block()
    source = blocks.vector_source_b(bits.ravel().tolist())
    encoder = dtv.dvb_bch_bb(
        standard, FRAMES[frame], getattr(dtv, "C" + rate.replace("/", "_"))
    )
    sink = blocks.vector_sink_b()
    graph.connect(source, encoder, sink)
    graph.run()
    return np.array(sink.data(), np.uint8)


class qa_bch(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def test_dvbs2_and_dvbt2_encode_as_gnuradio_does(self):
        cases = [("dvbs2", f, r) for f in FRAMES for r in RATES]
        cases += [
            ("dvbt2", f, r) for f in FRAMES for r in ("1/2", "3/5", "2/3", "3/4", "4/5")
        ]
        for standard, frame, rate in cases:
            if (frame, rate) == ("short", "9/10"):
                continue
            with self.subTest(standard=standard, frame=frame, rate=rate):
                code = getattr(cudaphy.bch_code, standard)(frame, rate)
                bits = self.rng.integers(0, 2, (3, code.k), np.uint8)
                words = cudaphy.bch_encode(code, bits, backend=BACKEND)
                number = dtv.STANDARD_DVBS2 if standard == "dvbs2" else dtv.STANDARD_DVBT2
                expected = encoded_by_gnuradio(bits, number, frame, rate)
                np.testing.assert_array_equal(words.ravel(), expected)

    def test_errors_up_to_t_are_corrected_in_any_shape_and_packing(self):
        code = cudaphy.bch_code.dvbs2("short", "1/2")
        bits = self.rng.integers(0, 2, (2, 7, code.k), np.uint8)
        words = cudaphy.bch_encode(code, bits, backend=BACKEND)
        errors = np.arange(14).reshape(2, 7)
        for at in np.ndindex(2, 7):
            wrong = self.rng.choice(code.n, errors[at], replace=False)
            words[at][wrong] ^= 1
        expected = np.where(errors <= code.t, errors, -1)
        for packed_input in (False, True):
            for packed_output in (False, True):
                given = np.packbits(words, axis=-1) if packed_input else words
                found, corrected = cudaphy.bch_decode(
                    code, given, packed_input, packed_output, backend=BACKEND
                )
                if packed_output:
                    found = np.unpackbits(found, axis=-1, count=code.k)
                np.testing.assert_array_equal(corrected, expected)
                right = bits.copy()
                right[1, 6] = words[1, 6, : code.k]  # 13 errors: as it came
                np.testing.assert_array_equal(found, right)

    def test_bad_arguments_are_refused(self):
        code = cudaphy.bch_code(5, 2)
        self.assertEqual((code.n, code.k, code.t, code.m), (31, 21, 2, 5))
        for bits in (np.zeros(20, np.uint8), np.full(21, 2), np.zeros(())):
            with self.assertRaises(ValueError):
                cudaphy.bch_encode(code, bits, backend=BACKEND)
        with self.assertRaises(ValueError):
            cudaphy.bch_decode(code, np.zeros((2, 30)), backend=BACKEND)
        with self.assertRaises(TypeError):
            cudaphy.bch_decode(code, np.zeros(31, complex), backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "not primitive"):
            cudaphy.bch_code(5, 2, polynomial=0x3F)
        with self.assertRaisesRegex(ValueError, "t is 65"):
            cudaphy.bch_code(16, 65)
        with self.assertRaises(TypeError):
            cudaphy.bch_encode("code", np.zeros(21), backend=BACKEND)

    def test_equal_codes_are_equal_hash_and_pickle(self):
        code = cudaphy.bch_code(8, 3, 100)
        for other in (
            cudaphy.bch_code(8, 3, 100),
            pickle.loads(pickle.dumps(code)),
            copy.deepcopy(code),
        ):
            self.assertEqual(code, other)
            self.assertEqual(hash(code), hash(other))
        self.assertNotEqual(code, cudaphy.bch_code(8, 3, 99))
        self.assertEqual(repr(code), "BCH (155, 131, 3)")
        self.assertEqual(code.generator.size, code.n - code.k + 1)

    def test_no_words(self):
        code = cudaphy.bch_code(4, 1)
        bits, corrected = cudaphy.bch_decode(code, np.zeros((0, 15)), backend=BACKEND)
        self.assertEqual((bits.shape, corrected.shape), ((0, 11), (0,)))


if __name__ == "__main__":
    main()
