#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""DVB-S2 Frame Sync: frames from gr-dtv's framer with carrier offset and noise, and what the radio loses of them."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, gaussian, main, tag
from qa_support.dvbs2_frames import framed
from qa_support.radio_time import time_tag

CODE = cudaphy.ldpc_code("dvbs2", frame="short", rate="1/2")
MODCOD = ("QPSK", "1/2", "short")
PLS = 4 * 4 + 2 + 1
NOISE = 0.2  # 7 dB Es/N0
OFFSET = 0.013  # cycles a symbol
FRAMES = 30


def sent(count, seed=1):
    """Information bits (count, k), and the symbols of all frames with header and pilots."""
    info = np.random.default_rng(seed).integers(0, 2, (count, CODE.k)).astype("uint8")
    labels = cudaphy.ldpc_encode(CODE, info, backend="cpu").reshape(count, -1, 2) @ [2, 1]
    data = cudaphy.constellation("dvbs2_qpsk").points[labels]
    return info, framed(data, *MODCOD)


def received(symbols, seed=2):
    x = symbols.ravel()
    turned = x * np.exp(2j * np.pi * (OFFSET * np.arange(len(x)) + 0.3))
    return (turned + np.sqrt(NOISE) * gaussian(x.shape, seed)).astype("complex64")


class qa_dvbs2_frame_sync(FlowgraphCase):
    @classmethod
    def setUpClass(cls):
        cls.info, cls.sent = sent(FRAMES)
        cls.length = cls.sent.shape[1]

    def receive(self, samples, tags=()):
        """(frame sync, decoded words, sink, noise variances told)"""
        sync = cudaphy.dvbs2_frame_sync(backend=BACKEND)
        demapper = cudaphy.soft_demapper(
            "dvbs2_qpsk", noise_variance=NOISE, length_tag_key=KEY, backend=BACKEND
        )
        decoder = cudaphy.ldpc_decoder(
            CODE, max_iterations=50, length_tag_key=KEY, backend=BACKEND
        )
        source, sink, top = Source(samples, tags), Sink("uint8"), gr.top_block()
        told = blocks.message_debug()
        top.connect(source.block, sync, demapper, decoder, sink.block)
        top.msg_connect(sync, "noise_variance", told, "store")
        self.run_flowgraph(top)
        self.assertEqual(sync.backend(), BACKEND)
        self.assertEqual(decoder.frame_errors(), 0)
        noise = [pmt.to_double(told.get_message(i)) for i in range(told.num_messages())]
        return sync, sink.data.reshape(-1, CODE.k), sink, noise

    def assert_frames(self, words, numbers):
        np.testing.assert_array_equal(words, self.info[numbers])

    def test_all_whole_frames_come_from_any_place_in_the_stream_on(self):
        for first in (0, 1, 5000):
            samples = received(self.sent)[first:]
            sync, words, sink, noise = self.receive(samples)
            self.assert_frames(words, range(first > 0, FRAMES))
            self.assertEqual(sync.frames(), len(words))
            self.assertEqual((sync.dropped(), sync.lost_locks()), (0, 0))
            self.assertAlmostEqual(sync.frequency(), OFFSET, delta=1e-5)
            self.assertAlmostEqual(np.mean(noise), NOISE, delta=0.1 * NOISE)
            self.assertAlmostEqual(sync.esn0(), -10 * np.log10(NOISE), delta=1)
            self.assertEqual(
                sink.tags(KEY), [(i * CODE.k, CODE.k) for i in range(len(words))]
            )

    def test_a_packet_has_the_tags_that_its_header_tells(self):
        sync, sink, top = (
            cudaphy.dvbs2_frame_sync(backend=BACKEND),
            Sink("complex64"),
            gr.top_block(),
        )
        top.connect(Source(received(self.sent[:4])).block, sync, sink.block)
        self.run_flowgraph(top)
        places = [8100 * i for i in range(4)]
        for key, value in {
            KEY: 8100,
            "pls": PLS,
            "modcod": "QPSK 1/2 short, pilots",
            "constellation": "dvbs2_qpsk",
            "bit_interleaver": "",
            "ldpc_code": "dvbs2_short_1/2",
            "bch_code": "dvbs2_short_1/2",
        }.items():
            with self.subTest(key):
                self.assertEqual(sink.tags(key), [(place, value) for place in places])
        for key, value, off in (
            ("noise_variance", NOISE, 0.04),
            ("esn0", 7, 1),
            ("frequency", OFFSET, 1e-5),
        ):
            self.assertEqual([place for place, _ in sink.tags(key)], places)
            for _, told in sink.tags(key):
                self.assertAlmostEqual(told, value, delta=off)
        self.assertEqual(sync.modcod(), "QPSK 1/2 short, pilots")

    def test_frames_of_gr_dtv_are_met_in_every_modulation_and_scrambling(self):
        random = np.random.default_rng(5)
        for modulation, rate, frame, pilots, gold_code in (
            ("QPSK", "1/4", "normal", True, 0),
            ("8PSK", "3/5", "short", False, 1),
            ("16APSK", "2/3", "normal", False, 262141),
            ("32APSK", "3/4", "short", True, 99),
        ):
            with self.subTest(modulation=modulation):
                name = "dvbs2_" + modulation.lower()
                name += "_" + rate if "A" in modulation else ""
                points = np.asarray(cudaphy.constellation(name).points)
                count = {"normal": 64800, "short": 16200}[frame] // int(
                    np.log2(len(points))
                )
                data = points[random.integers(0, len(points), (5, count))]
                symbols = framed(data, modulation, rate, frame, pilots, gold_code)
                x = symbols.ravel() * np.exp(-0.4j * np.arange(symbols.size))
                x = np.concatenate((np.zeros(100), 5 * x + 0.2 * gaussian(x.shape)))
                found = cudaphy.dvbs2_frames(x, gold_code=gold_code, backend=BACKEND)
                self.assertEqual(len(found), 5)
                for number, one in enumerate(found):
                    self.assertEqual(one.first, 100 + number * symbols.shape[1])
                    self.assertEqual(one.mode.modulation, modulation)
                    self.assertEqual(one.mode.rate, rate)
                    self.assertEqual(one.mode.frame, frame)
                    self.assertEqual(one.mode.pilots, pilots)
                    error = np.mean(np.abs(one.symbols - data[number]) ** 2)
                    self.assertLess(error, 0.005)
                    self.assertAlmostEqual(one.frequency, -0.4 / 2 / np.pi, delta=1e-5)

    def test_after_an_overflow_the_next_whole_frame_is_found_and_the_torn_one_counted(
        self,
    ):
        samples, n = received(self.sent), self.length
        for name, first, count, torn, dropped in (
            ("within a frame", 12 * n + 3000, 777, {12}, 1),
            ("over several", 12 * n + 3000, 4 * n + 99, {12, 13, 14, 15, 16}, 1),
            ("in a header", 12 * n + 10, 20, {12}, 1),
            ("a whole frame", 12 * n, n, {12}, 0),
        ):
            with self.subTest(name):
                kept = np.concatenate((samples[:first], samples[first + count :]))
                tags = [
                    time_tag(0, 0),
                    tag(0, "rx_freq", 1e9),
                    time_tag(first, first + count),
                    tag(first, "rx_freq", 2e9),
                ]
                sync, words, sink, _ = self.receive(kept, tags)
                good = [i for i in range(FRAMES) if i not in torn]
                self.assert_frames(words, good)
                self.assertEqual((sync.dropped(), sync.lost_locks()), (dropped, 0))
                after = CODE.k * sum(i < min(torn) for i in good)
                self.assertEqual(sink.tags("rx_freq"), [(0, 1e9), (after, 2e9)])
                self.assertEqual([i for i, _ in sink.tags("rx_time")], [0, after])

    def test_a_loss_that_no_tag_tells_of_is_noticed(self):
        samples, n = received(self.sent), self.length
        kept = np.concatenate((samples[: 12 * n + 3000], samples[12 * n + 3777 :]))
        sync = cudaphy.dvbs2_frame_sync(backend=BACKEND)
        source, sink, top = Source(kept), Sink("complex64"), gr.top_block()
        top.connect(source.block, sync, sink.block)
        self.run_flowgraph(top)
        self.assertEqual(sync.lost_locks(), 1)
        # The frame with the loss has gone out, for the decoder to refuse; all others are there.
        self.assertEqual(sync.frames(), FRAMES)

    def test_bad_samples_while_it_searches_neither_hold_it_nor_hide_frames(self):
        samples = received(self.sent[:8])
        for bad in (np.nan, np.inf, 1e38, 1e20, 1e15, 1e-40, 1j * np.nan):
            with self.subTest(bad=bad):
                noise = gaussian((20000,))
                noise[[0, 5000, 5001, 9000, -1]] = bad
                sync = cudaphy.dvbs2_frame_sync(backend=BACKEND)
                source = Source(np.concatenate((noise, samples, noise)))
                sink, top = Sink("complex64"), gr.top_block()
                top.connect(source.block, sync, sink.block)
                self.run_flowgraph(top, 20)
                self.assertEqual(sync.frames(), 8)
                self.assertTrue(np.isfinite(sink.data).all())
                # QPSK in noise: each symbol near a point.
                error = np.abs(sink.data) ** 2 - 1
                self.assertLess(np.mean(error**2), 3 * NOISE)

    def test_noise_is_no_frame_and_it_starts_anew(self):
        sync = cudaphy.dvbs2_frame_sync(backend=BACKEND)
        noise = gaussian((60000,))
        for samples, count in ((noise, 0), (received(self.sent[:12]), 12)) * 2:
            source, sink, top = Source(samples), Sink("complex64"), gr.top_block()
            top.connect(source.block, sync, sink.block)
            self.run_flowgraph(top)
            self.assertEqual(len(sink.data), count * 8100)
            self.assertEqual(sync.frames(), count)

    def test_other_pls_codes_are_filtered_and_wrong_parameters_refused(self):
        samples = received(self.sent[:6])
        for pls, frames in (([PLS], 6), ([PLS - 1], 0)):
            sync, sink = cudaphy.dvbs2_frame_sync(pls=pls, backend=BACKEND), Sink(
                "complex64"
            )
            top = gr.top_block()
            top.connect(Source(samples).block, sync, sink.block)
            self.run_flowgraph(top)
            self.assertEqual((sync.frames(), sync.filtered()), (frames, 6 - frames))
        for wrong in (
            {"gold_code": -1},
            {"pls": [300]},
            {"most_frequency": 0.4},
            {"length_tag_key": ""},
            {"backend": "gpu"},
        ):
            with self.assertRaises(ValueError):
                cudaphy.dvbs2_frame_sync(**wrong)
        with self.assertRaises(ValueError):
            cudaphy.dvbs2_frames(np.zeros((2, 2)))
        with self.assertRaises(ValueError):
            cudaphy.dvbs2_frames([], backend="gpu")
        self.assertEqual(cudaphy.dvbs2_frames([]), [])

    def test_auto_takes_the_backend_of_the_block_behind(self):
        samples = received(self.sent[:6])
        for demaps in (True, False):
            sync, sink = cudaphy.dvbs2_frame_sync(), Sink(
                "float32" if demaps else "complex64"
            )
            top = gr.top_block()
            top.connect(Source(samples).block, sync)
            if demaps:
                demapper = cudaphy.soft_demapper(
                    "dvbs2_qpsk",
                    noise_variance=NOISE,
                    length_tag_key=KEY,
                    backend=BACKEND,
                )
                top.connect(sync, demapper, sink.block)
            else:
                top.connect(sync, sink.block)
            self.run_flowgraph(top)
            self.assertEqual(len(sink.data), 6 * 8100 * (2 if demaps else 1))
            self.assertEqual(sync.backend() == "cuda", demaps and BACKEND == "cuda")

    def test_one_output_feeds_the_device_and_the_host(self):
        sync = cudaphy.dvbs2_frame_sync(backend=BACKEND)
        demapper = cudaphy.soft_demapper(
            "dvbs2_qpsk", noise_variance=NOISE, length_tag_key=KEY, backend=BACKEND
        )
        llrs, symbols, top = Sink("float32"), Sink("complex64"), gr.top_block()
        top.connect(Source(received(self.sent)).block, sync, demapper, llrs.block)
        top.connect(sync, symbols.block)
        self.run_flowgraph(top)
        self.assertEqual(len(symbols.data), FRAMES * 8100)
        signs = np.stack((symbols.data.real, symbols.data.imag), 1).ravel()
        clear = np.abs(signs) > 0.1
        np.testing.assert_array_equal((llrs.data > 0)[clear], (signs > 0)[clear])

    def test_status_tells_of_lock_and_frames(self):
        sync, told = cudaphy.dvbs2_frame_sync(backend=BACKEND), blocks.message_debug()
        samples = received(self.sent[:10])
        source = blocks.vector_source_c(samples.tolist(), True)
        slow = blocks.throttle(gr.sizeof_gr_complex, 200e3)
        top = gr.top_block()
        top.connect(source, slow, sync, blocks.null_sink(8))
        top.msg_connect(sync, "status", told, "store")
        top.start()
        end = time.monotonic() + 30
        while told.num_messages() < 3 and time.monotonic() < end:
            time.sleep(0.1)
        top.stop()
        top.wait()
        status = pmt.to_python(told.get_message(2))
        self.assertTrue(status["locked"])
        self.assertEqual(status["modcod"], "QPSK 1/2 short, pilots")
        self.assertGreater(status["frames"], 5)
        self.assertAlmostEqual(status["esn0"], 7, delta=1)
        for key in ("dummy_frames", "filtered", "dropped", "lost_locks", "frequency"):
            self.assertIn(key, status)


if __name__ == "__main__":
    main()
