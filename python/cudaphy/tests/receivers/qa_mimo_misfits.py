#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO blocks of wrong sizes end the flowgraph with an error that names the numbers. The
flowgraph neither hangs nor puts wrong bits out."""

import numpy as np
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, FlowgraphCase, captured_log, gaussian, main
from qa_support import packet_tags

SYMBOLS, TONES, PILOTS, N = 26, 54, 2, 2
PARTS = [PILOTS * TONES, (SYMBOLS - PILOTS) * TONES]
ITEM = gr.sizeof_gr_complex * N


class qa_mimo_misfits(FlowgraphCase):
    frames = 4000

    def source(self, top):
        """Frames of the channel model, which marks where each begins."""
        frame = gaussian((SYMBOLS * TONES, N)).ravel().tolist()
        source = blocks.vector_source_c(frame, True, N)
        head = blocks.head(ITEM, self.frames * SYMBOLS * TONES)
        channel = cudaphy.mimo_channel_model(N, N, TONES, SYMBOLS)
        top.connect(source, head, channel)
        # Python frees a block that no name refers to.
        self.addCleanup(lambda: channel)
        return channel

    def link(self, top, pilot_symbols, pilot_tones, symbols, tones, noise=False, batch=0):
        """Estimator and equalizer of the given sizes. Returns the sink of the layers."""
        parts = blocks.stream_demux(ITEM, PARTS)
        pilots = cudaphy.orthogonal_pilots(pilot_symbols, N)
        estimator = cudaphy.mimo_channel_estimator(
            N, N, pilot_tones, pilots, backend=BACKEND, max_batch=batch
        )
        equalizer = cudaphy.mimo_equalizer(
            *(N, N),
            symbols=symbols,
            tones=tones,
            noise_input=noise,
            backend=BACKEND,
            max_batch=batch,
        )
        sink = blocks.null_sink(ITEM)
        top.connect(self.source(top), parts)
        top.connect((parts, 0), estimator)
        top.connect((parts, 1), equalizer)
        top.connect(estimator, (equalizer, 1))
        if noise:
            top.connect((estimator, 1), (equalizer, 2))
        top.connect(equalizer, sink)
        return sink

    def ended(self, *sizes, **options):
        """(items received, the log) of a link, which must end."""
        top = gr.top_block()
        with captured_log() as log:
            sink = self.link(top, *sizes, **options)
            self.run_flowgraph(top)
        return sink.nitems_read(0), log.text

    def test_sizes_that_fit_pass_whole(self):
        for noise in (False, True):
            items, log = self.ended(PILOTS, TONES, SYMBOLS - PILOTS, TONES, noise=noise)
            self.assertEqual(items, self.frames * PARTS[1])
            self.assertNotIn("error", log)

    def test_an_equalizer_of_more_or_fewer_symbols_than_come_ends_the_flowgraph(self):
        fewer, more = gr.top_block(), gr.top_block()
        with captured_log() as log:
            sinks = [self.link(fewer, PILOTS, TONES, 1, 1)]
            # So many frames come that unread H fills its buffer of a few batches.
            self.frames = 40000
            sinks.append(self.link(more, PILOTS, TONES, 2 * SYMBOLS, TONES, batch=16))
            # Both links run at the same time, because each waits ten seconds.
            fewer.start()
            self.run_flowgraph(more)
            self.assertFalse(fewer.wait())
        for sink, frames in zip(sinks, (4000, 40000)):
            self.assertLess(sink.nitems_read(0), frames * PARTS[1])
        self.assertRegex(log.text, "error.*input 0 is full, and input 1 lacks items")
        self.assertRegex(
            log.text, "a frame takes 1 of input 0 and 1 of input 1, 1 symbols x 1"
        )
        self.assertRegex(log.text, "error.*input 1 is full, and input 0 lacks items")
        self.assertIn(f"{2 * SYMBOLS} symbols x {TONES} tones", log.text)

    def test_an_estimator_of_other_tones_ends_the_flowgraph_at_the_second_frame(self):
        items, log = self.ended(PILOTS, 64, SYMBOLS - PILOTS, TONES)
        self.assertLess(items, self.frames * PARTS[1])
        self.assertRegex(
            log,
            f"error.*a frame begins at item {PARTS[0]} of input 0.*multiple of 128 items"
            ".*2 pilot symbols x 64 tones",
        )

    def test_an_equalizer_of_other_tones_ends_the_flowgraph(self):
        items, log = self.ended(PILOTS, TONES, SYMBOLS - PILOTS, 64)
        self.assertLess(items, self.frames * PARTS[1])
        self.assertRegex(
            log,
            f"error.*a frame begins at item {TONES} of input 1.*multiple of 64 items",
        )

    def receiver(self, tones, key=""):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        pilots = cudaphy.orthogonal_pilots(PILOTS, N)
        return cudaphy.mimo_receiver(
            *(N, N, tones, SYMBOLS, pilots, [0, 1], "qpsk", code, key, BACKEND)
        )

    def test_a_receiver_of_other_tones_ends_the_flowgraph(self):
        for tones, fits in ((TONES, True), (52, False)):
            top = gr.top_block()
            sink = blocks.null_sink(gr.sizeof_char)
            with captured_log() as log:
                top.connect(self.source(top), self.receiver(tones), sink)
                self.run_flowgraph(top)
            frame = 8 * 324  # information bits of the codewords that fit a frame
            self.assertEqual(sink.nitems_read(0) == self.frames * frame, fits)
            self.assertEqual("a frame begins at item" in log.text, not fits)

    def test_packets_that_are_no_whole_frames_end_the_flowgraph_with_both_numbers(self):
        pilots = cudaphy.orthogonal_pilots(PILOTS, N)
        estimator = cudaphy.mimo_channel_estimator(N, N, 64, pilots, KEY, BACKEND)
        equalizer = cudaphy.mimo_equalizer(
            N, N, symbols=3, tones=64, length_tag_key=KEY, backend=BACKEND
        )
        h = gaussian((640, N * N))
        cases = (
            (
                estimator,
                (),
                [("complex64", N * N), ("float32", 0)],
                2 * 54,
                "2 pilot sym",
            ),
            (equalizer, (h,), [("complex64", N)], 3 * 54, "3 symbols x 64 tones"),
            (
                self.receiver(64, KEY),
                (),
                [("uint8", 0)],
                26 * 54,
                "26 symbols x 64 tones",
            ),
        )
        for block, more, outputs, length, sizes in cases:
            y = gaussian((10 * length, N))
            with captured_log() as log:
                self.through(block, [y, *more], outputs, packet_tags([length] * 10))
            number = {"2": 128, "3": 192}.get(sizes[0:2].strip(), 26 * 64)
            self.assertRegex(
                log.text, f"error.*has {length} items.*the {number} items.*{sizes}"
            )

    def test_outputs_of_noise_need_not_be_connected(self):
        slots = 5
        y = gaussian((slots * 12 * 8, N))
        h = gaussian((slots * 8, N * N))
        received = gaussian((slots * PILOTS * 8, N))
        pilots = cudaphy.orthogonal_pilots(PILOTS, N)
        for key in ("", KEY):
            tags = packet_tags([2 * 12 * 8, 3 * 12 * 8])
            make = lambda: cudaphy.mimo_equalizer(  # noqa: E731
                N, N, symbols=12, tones=8, length_tag_key=key, backend=BACKEND
            )
            connected = self.through(
                make(), [y, h], [("complex64", N), ("float32", N)], tags if key else ()
            )
            (alone,) = self.through(
                make(), [y, h], [("complex64", N)], tags if key else ()
            )
            np.testing.assert_array_equal(alone.data, connected[0].data)
            self.assertEqual(alone.tags(KEY), connected[0].tags(KEY))
            self.assertEqual(len(alone.data), len(y))
            tags = packet_tags([2 * PILOTS * 8, 3 * PILOTS * 8])
            make = lambda: cudaphy.mimo_channel_estimator(  # noqa: E731
                N, N, 8, pilots, key, BACKEND
            )
            connected = self.through(
                make(),
                [received],
                [("complex64", N * N), ("float32", 0)],
                tags if key else (),
            )
            (alone,) = self.through(
                make(), [received], [("complex64", N * N)], tags if key else ()
            )
            np.testing.assert_array_equal(alone.data, connected[0].data)
            self.assertEqual(len(alone.data), slots * 8)


if __name__ == "__main__":
    main()
