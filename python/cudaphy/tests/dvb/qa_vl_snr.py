#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""VL-SNR frames of DVB-S2X: from GNU Radio's transmitter to baseband frames and transport streams."""

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.cudaphy import cudaphy_python as native
from gnuradio.cudaphy.dvbs2 import bch_code_of, decode_frames, ldpc_code_of
from qa_support import BACKEND, FlowgraphCase, Sink, Source, gaussian, main
from qa_support.dvb import transport_stream
from qa_support.dvb_samples import channel, physical_frames
from qa_support.vl_snr_frames import FIRST, MODES, baseband_frames, mode_of
from qa_support.vl_snr_frames import random_frames
from qa_support.vl_snr_frames import stream_frames, threshold


def in_noise(symbols, es_n0, frequency, seed=1):
    turned = symbols * np.exp(2j * np.pi * (frequency * np.arange(len(symbols)) + 0.2))
    noise = gaussian(symbols.shape, seed) * np.sqrt(10 ** (-es_n0 / 10))
    return (turned + noise).astype("c8")


class qa_vl_snr(FlowgraphCase):
    def test_modes_are_those_of_the_standard(self):
        for number, bits, repeats, symbols in (
            (0, 2, 1, 30780),
            (1, 1, 1, 30780),
            (4, 1, 2, 15390),
            (9, 1, 1, 14976),
        ):
            mode = mode_of(number)
            self.assertTrue(mode.is_vl_snr)
            self.assertEqual(mode.pls, FIRST + number)
            self.assertEqual(
                (mode.bits_a_symbol, mode.repeats, mode.symbols), (bits, repeats, symbols)
            )
            self.assertEqual(mode.length, 33282 if number < 9 else 16686)
        self.assertEqual(repr(mode_of(4)), "BPSK 1/5 VL-SNR SF2 short, pilots")
        self.assertTrue(mode_of(12).dummy)
        self.assertFalse(cudaphy.dvb_mode.of(4).is_vl_snr)
        for number in MODES:
            mode = mode_of(number)
            self.assertEqual(ldpc_code_of(mode).n, mode.symbols * mode.bits_a_symbol)
            self.assertLess(bch_code_of(mode).k, ldpc_code_of(mode).k)

    def test_headers_are_those_that_gnuradio_sends(self):
        for number in MODES:
            with self.subTest(number=number):
                _, symbols = random_frames(number, 1)
                header = native._pl_header(FIRST + number)
                self.assertEqual(len(header), 990)
                np.testing.assert_allclose(symbols[:990], header, atol=1e-6)

    def test_frames_of_gnuradio_are_right_half_a_decibel_above_the_threshold(self):
        for number in MODES:
            with self.subTest(number=number):
                bits, symbols = random_frames(number, 6, gold_code=number)
                around = np.concatenate([symbols[-7000:], symbols, symbols[:4000]])
                es_n0 = threshold(number) + 0.5
                received = in_noise(around, es_n0, 0.2 - 0.04 * number)
                frames = cudaphy.dvbs2_frames(received, number, vl_snr=True)
                length = mode_of(number).length
                self.assertEqual(
                    [frame.first for frame in frames],
                    list(range(7000, 7000 + 6 * length, length)),
                )
                got, ok = decode_frames(mode_of(number), frames, backend=BACKEND)
                self.assertTrue(ok.all())
                np.testing.assert_array_equal(got, bits)
                for frame in frames:
                    self.assertAlmostEqual(frame.es_n0, es_n0, delta=1.2)

    def test_samples_give_right_frames_half_a_decibel_above_the_threshold(self):
        for number, count, frequency in ((4, 9, 0.03), (1, 9, -0.02), (11, 18, 0.05)):
            with self.subTest(number=number):
                bits, symbols = random_frames(number, count)
                es_n0 = threshold(number) + 0.5
                samples = channel(symbols, 2, 0.2, es_n0, frequency, 10)
                frames, _ = cudaphy.dvbs2_receive(
                    samples, 2, 0.2, vl_snr=True, backend=BACKEND
                )
                self.assertGreaterEqual(len(frames), count - 1)
                for frame in frames:
                    self.assertEqual(frame.mode.pls, FIRST + number)
                    self.assertTrue(frame.ok)
                    at = round(frame.first_sample / 2 / frame.mode.length)
                    np.testing.assert_array_equal(frame.bits, bits[at])
                    self.assertLess(abs(frame.frequency - frequency), 1e-3)

    def test_fields_that_are_no_whole_bytes_are_joined(self):
        stream = transport_stream(120)
        for number in (1, 2, 3, 9):
            with self.subTest(number=number):
                frames = baseband_frames(number, stream)
                self.assertGreater(len(frames), 8)
                reader = cudaphy.bb_frame_reader()
                whole = reader.take(frames)[0]
                packets = len(whole) // 188
                self.assertGreater(packets, len(frames) * frames.shape[1] // 1504 - 9)
                self.assertEqual(bytes(whole), stream[:packets].tobytes())
                self.assertEqual(reader.counts()["bad_headers"], 0)
                # Without one of the frames, what lies in the others comes.
                for lost in (0, 1, 4, 5):
                    reader = cudaphy.bb_frame_reader()
                    rest = bytes(reader.take(np.delete(frames, lost, axis=0))[0])
                    self.assertEqual(rest[-188 * 3 :], bytes(whole)[-188 * 3 :])
                    gone = packets - len(rest) // 188
                    self.assertLessEqual(gone, frames.shape[1] // 1504 + 2)
                    self.assertEqual(reader.counts()["bad_packets"], 0)

    def receive(self, samples, **options):
        receiver = cudaphy.dvbs2_receiver(2, 0.2, backend=BACKEND, **options)
        top, sink = gr.top_block(), Sink("uint8")
        top.connect(Source(samples).block, receiver, sink.block)
        self.run_flowgraph(top)
        return sink.data.tobytes(), receiver.status()

    def test_the_receiver_gives_the_transport_stream_among_other_frames(self):
        stream = transport_stream(60)
        ordinary = physical_frames(transport_stream(40, 5), "QPSK", "1/2", "short")
        low = stream_frames(10, stream, 12)
        medium = stream_frames(3, stream, 6)
        sent = np.concatenate([ordinary, low, ordinary, medium, ordinary])
        samples = channel(sent, 2, 0.2, 4, 0.04, 5)
        got, status = self.receive(samples, vl_snr=True)
        for part in (12 * 4152, 6 * 10620):
            whole = min(60, (part // 8 - 100) // 188 - 6)
            self.assertGreater(whole, 20)
            self.assertTrue(stream[:whole].tobytes() in got)
        self.assertEqual(status["frame_errors"], 0)
        some, status = self.receive(samples, modes=[FIRST + 10])
        self.assertEqual(status["frames"], 12)
        self.assertTrue(stream[:20].tobytes() in some)
        self.assertLess(len(some), len(got))

    def test_noise_and_bad_samples_give_nothing(self):
        noise = gaussian((300_000,), 3).astype("c8")
        frames, stream = cudaphy.dvbs2_receive(
            noise, 2, 0.2, vl_snr=True, backend=BACKEND
        )
        self.assertEqual((frames, stream), ([], b""))
        noise[::7] = np.nan
        self.assertEqual(cudaphy.dvbs2_frames(noise, vl_snr=True), [])
        self.assertEqual(cudaphy.dvbs2_frames(noise[:0], vl_snr=True), [])
        self.assertEqual(cudaphy.dvbs2_frames(noise[:989], vl_snr=True), [])

    def test_wrong_modes_are_refused(self):
        for wrong in (FIRST + 6, FIRST + 12, FIRST + 16, 129):
            with self.assertRaises(ValueError):
                cudaphy.dvbs2_receive(np.zeros(9, "c8"), 2, modes=[wrong])
        with self.assertRaises(ValueError):
            cudaphy.dvbs2_frame_sync(pls=[FIRST + 6])
        with self.assertRaises(ValueError):
            cudaphy.dvbs2_receiver(2, averaging=-1, backend=BACKEND)


if __name__ == "__main__":
    main()
