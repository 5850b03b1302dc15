#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""bb_frame_reader, and the whole outer code, beside GNU Radio's transmitter for DVB-S2."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main
from qa_support.dvb import sent_by_gnuradio, transport_stream

RATES = {"normal": ("1/4", "1/2", "5/6", "9/10"), "short": ("1/4", "1/2", "8/9")}


class qa_bb_frame_reader(unittest.TestCase):
    def test_transport_streams_that_gnuradio_sends_come_back(self):
        stream = transport_stream(300)
        for frame, rates in RATES.items():
            for rate in rates:
                with self.subTest(frame=frame, rate=rate):
                    code = cudaphy.bch_code.dvbs2(frame, rate)
                    bits = sent_by_gnuradio(stream, frame, rate, "scrambler").reshape(
                        -1, code.k
                    )
                    for packed in (False, True):
                        given = np.packbits(bits, axis=-1) if packed else bits
                        deframer = cudaphy.bb_frame_reader()
                        transport, packets = deframer.take(given, packed=packed)
                        self.assertEqual(packets, [])
                        self.assertGreaterEqual(
                            len(transport), len(bits) * (code.k // 8 - 10) - 188
                        )
                        self.assertEqual(transport, stream.tobytes()[: len(transport)])
                        self.assertEqual(deframer.counts()["bad_packets"], 0)
                    self.assertEqual(deframer.header()["roll_off"], 0.2)
                    self.assertEqual(deframer.header()["content"], "transport")

    def test_errors_within_the_outer_code_change_nothing(self):
        stream = transport_stream(200, 2)
        code = cudaphy.bch_code.dvbs2("short", "1/2")
        words = sent_by_gnuradio(stream, "short", "1/2").reshape(-1, code.n)
        rng = np.random.default_rng(3)
        for word in words:
            word[rng.choice(code.n, code.t, replace=False)] ^= 1
        bits, corrected = cudaphy.bch_decode(code, words, backend=BACKEND)
        self.assertTrue((corrected == code.t).all())
        deframer = cudaphy.bb_frame_reader()
        transport = b"".join(deframer.take(one)[0] for one in bits)
        self.assertEqual(transport, stream.tobytes()[: len(transport)])

    def test_packets_of_frames_that_are_not_ok_are_marked(self):
        stream = transport_stream(100, 4)
        code = cudaphy.bch_code.dvbs2("short", "1/2")
        bits = sent_by_gnuradio(stream, "short", "1/2", "scrambler").reshape(-1, code.k)
        ok = np.ones(len(bits), bool)
        ok[2] = False
        deframer = cudaphy.bb_frame_reader()
        transport, _ = deframer.take(bits, ok)
        packets = np.frombuffer(transport, np.uint8).reshape(-1, 188)
        wrong = packets[:, 1] >> 7 == 1
        self.assertEqual(int(wrong.sum()), deframer.counts()["bad_packets"])
        # A frame's data reach into five or six packets.
        self.assertIn(int(wrong.sum()), (5, 6))
        np.testing.assert_array_equal(packets[~wrong], stream[: len(packets)][~wrong])

    def test_bad_arguments_are_refused(self):
        for isi in (-2, 256):
            with self.assertRaises(ValueError):
                cudaphy.bb_frame_reader(isi)
        deframer = cudaphy.bb_frame_reader()
        self.assertIsNone(deframer.header())
        for frames in (np.zeros(79, np.uint8)[:70], np.full(100, 2), np.zeros(())):
            with self.assertRaises(ValueError):
                deframer.take(frames)
        with self.assertRaises(ValueError):
            deframer.take(np.zeros((3, 80), np.uint8), ok=[True, False])


if __name__ == "__main__":
    main()
