#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""dvbs2_frame_sync: frames from gr-dtv's framer with carrier offset and noise, and what the radio loses of them."""

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, gaussian, main, tag
from qa_support.radio_time import time_tag

from gnuradio.cudaphy.blocks.dvbs2_frame_sync import dvbs2_frame_sync, physical_frame

CODE = cudaphy.ldpc_code("dvbs2", frame="short", rate="1/2")
MODCOD = ("QPSK", "1/2", "SHORT")
NOISE = 0.2  # 7 dB Es/N0
OFFSET = 0.013  # cycles a symbol
SETTLED = 7  # frames that pass until the frequency is known well enough


def frames(count, seed=1):
    """Information bits (count, k), and the symbols of all frames with header and pilots."""
    reference, symbols = physical_frame(*MODCOD)
    info = np.random.default_rng(seed).integers(0, 2, (count, CODE.k)).astype("uint8")
    labels = cudaphy.ldpc_encode(CODE, info, backend="cpu").reshape(count, -1, 2) @ [2, 1]
    data = cudaphy.constellation("dvbs2_qpsk").points[labels]
    assert data.shape[1] == symbols
    # Known symbols are as in the reference; the framer scrambles 1s to them where data stand.
    sync = dvbs2_frame_sync(*MODCOD)
    sent = np.tile(reference, (count, 1))
    sent[:, sync._data] *= data
    return info, sent


def received(sent, seed=2):
    x = sent.ravel()
    turned = x * np.exp(2j * np.pi * (OFFSET * np.arange(len(x)) + 0.3))
    return (turned + np.sqrt(NOISE) * gaussian(x.shape, seed)).astype("complex64")


class qa_dvbs2_frame_sync(FlowgraphCase):
    @classmethod
    def setUpClass(cls):
        cls.info, cls.sent = frames(30)
        cls.length = cls.sent.shape[1]

    def receive(self, samples, tags=()):
        """(frame sync, decoded words, sink, noise variances told)"""
        sync = dvbs2_frame_sync(*MODCOD)
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
        self.assertEqual(decoder.frame_errors(), 0)
        noise = [pmt.to_double(told.get_message(i)) for i in range(told.num_messages())]
        return sync, sink.data.reshape(-1, CODE.k), sink, noise

    def assert_frames(self, words, numbers):
        np.testing.assert_array_equal(words, self.info[numbers])

    def test_frames_come_out_from_any_place_in_the_stream_on(self):
        for first in (0, 1, 5000):
            samples = received(self.sent)[first:]
            sync, words, sink, noise = self.receive(samples)
            # The first frame is whole or not; the last one's end needs the next one's header.
            self.assert_frames(words, range(SETTLED + (first > 0), 29))
            self.assertEqual(sync.frames(), len(words))
            self.assertEqual((sync.damaged(), sync.lost_lock()), (0, 0))
            self.assertAlmostEqual(sync.frequency(), OFFSET, delta=2e-4)
            self.assertAlmostEqual(np.mean(noise), NOISE, delta=0.1 * NOISE)
            self.assertEqual(
                sink.tags(KEY), [(i * CODE.k, CODE.k) for i in range(len(words))]
            )

    def test_after_an_overflow_the_next_whole_frame_is_found_and_the_torn_one_counted(
        self,
    ):
        samples, n = received(self.sent), self.length
        for name, first, count, torn in (
            ("within a frame", 12 * n + 3000, 777, {12}),
            ("over several", 12 * n + 3000, 4 * n + 99, {12, 13, 14, 15, 16}),
            # A frame is known to be whole by the next one's header.
            ("in a header", 12 * n + 10, 20, {11, 12}),
            ("a whole frame", 12 * n, n, {11, 12}),
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
                good = [i for i in range(SETTLED, 29) if i not in torn]
                self.assert_frames(words, good)
                self.assertEqual((sync.damaged(), sync.lost_lock()), (1, 0))
                after = CODE.k * sum(i < min(torn) for i in good)
                self.assertEqual(sink.tags("rx_freq"), [(0, 1e9), (after, 2e9)])
                self.assertEqual([i for i, _ in sink.tags("rx_time")], [0, after])

    def test_a_loss_that_no_tag_tells_of_is_noticed(self):
        samples, n = received(self.sent), self.length
        kept = np.concatenate((samples[: 12 * n + 3000], samples[12 * n + 3777 :]))
        sync = dvbs2_frame_sync(*MODCOD)
        source, sink, top = Source(kept), Sink("complex64"), gr.top_block()
        top.connect(source.block, sync, sink.block)
        self.run_flowgraph(top)
        self.assertEqual(sync.lost_lock(), 1)
        # The frame with the loss has gone out, for the decoder to refuse; all others are there.
        self.assertEqual(sync.frames(), 28 - SETTLED)

    def test_bad_samples_while_it_searches_neither_hold_it_nor_hide_frames(self):
        samples = received(self.sent[:14])
        for bad in (np.nan, np.inf, 1e38, 1e20, 1e15, 1e-40, 1j * np.nan):
            with self.subTest(bad=bad):
                noise = gaussian((20000,))
                noise[[0, 5000, 5001, 9000, -1]] = bad
                sync = dvbs2_frame_sync(*MODCOD)
                source = Source(np.concatenate((noise, samples, noise)))
                sink, top = Sink("complex64"), gr.top_block()
                top.connect(source.block, sync, sink.block)
                self.run_flowgraph(top, 20)
                self.assertGreaterEqual(sync.frames(), 12 - SETTLED)
                self.assertTrue(np.isfinite(sink.data).all())
                # QPSK in noise: each symbol near a point.
                error = np.abs(sink.data) ** 2 - 1
                good = np.mean(error[: (12 - SETTLED) * 8100] ** 2)
                self.assertLess(good, 3 * NOISE)

    def test_tags_do_not_gather_while_it_searches(self):
        noise = gaussian((200_000,))
        tags = [tag(10 * i, "rx_freq", i) for i in range(20_000)]
        sync, top = dvbs2_frame_sync(*MODCOD), gr.top_block()
        sink = Sink("complex64")
        top.connect(Source(noise, tags).block, sync, sink.block)
        self.run_flowgraph(top)
        self.assertLess(len(sync._tags), 5000)  # those of what the buffer holds

    def test_noise_is_no_frame_and_it_starts_anew(self):
        sync = dvbs2_frame_sync(*MODCOD)
        noise = gaussian((60000,))
        for samples, some in ((noise, False), (received(self.sent[:12]), True)) * 2:
            source, sink, top = Source(samples), Sink("complex64"), gr.top_block()
            top.connect(source.block, sync, sink.block)
            self.run_flowgraph(top)
            self.assertEqual(len(sink.data), (11 - SETTLED) * 8100 if some else 0)
            self.assertEqual(sync.frames(), 11 - SETTLED if some else 0)


if __name__ == "__main__":
    main()
