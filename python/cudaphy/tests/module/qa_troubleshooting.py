#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements of docs/troubleshooting.md and docs/security.md about GNU Radio's
blocks: each fault occurs as the page says, and each remedy works."""

import math
import socket
import time
import unittest
from pathlib import Path

import numpy as np
from gnuradio import analog, blocks, channels, cudaphy, digital, gr
from qa_support import BACKEND, FlowgraphCase, main

try:
    from gnuradio import zeromq
except ImportError:
    zeromq = None

DOCS = Path(__file__).resolve().parents[4] / "docs"
WORDS = 40
LOST_FIRST, LOST_LAST = 3, 5  # samples, by Channel Model's interpolator


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{one.getsockname()[1]}"


class qa_troubleshooting(FlowgraphCase):
    def setUp(self):
        self.code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        random = np.random.default_rng(1)
        self.bits = random.integers(0, 2, WORDS * self.code.k, np.uint8)

    def symbols(self, top):
        """A block that gives the QPSK points of the encoded bits."""
        points = digital.chunks_to_symbols_bc(
            cudaphy.constellation("qpsk").points.tolist()
        )
        top.connect(
            blocks.vector_source_b(self.bits.tolist()),
            cudaphy.ldpc_encoder(self.code, backend=BACKEND),
            blocks.repack_bits_bb(1, 2, "", False, gr.GR_MSB_FIRST),
            points,
        )
        return points

    def wrong_words(self, *between):
        """(words decoded, words wrong) with these blocks between symbols and demapper."""
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(
            self.symbols(top),
            *between,
            cudaphy.soft_demapper("qpsk", noise_variance=0.1, backend=BACKEND),
            cudaphy.ldpc_decoder(self.code, backend=BACKEND),
            sink,
        )
        self.run_flowgraph(top)
        got = np.array(sink.data(), np.uint8).reshape(-1, self.code.k)
        sent = self.bits.reshape(-1, self.code.k)[: len(got)]
        return len(got), int((got != sent).any(axis=1).sum())

    def test_channel_model_swallows_three_samples_so_that_every_word_is_wrong(self):
        words, wrong = self.wrong_words(channels.channel_model(0, 0, 1.0, [1.0]))
        self.assertEqual((words, wrong), (WORDS - 1, WORDS - 1))

    def test_a_delay_of_three_behind_channel_model_sets_all_words_right(self):
        words, wrong = self.wrong_words(
            channels.channel_model(0.1, 0, 1.0, [1.0]),
            blocks.delay(gr.sizeof_gr_complex, LOST_FIRST),
        )
        self.assertEqual((words, wrong), (WORDS - 1, 0))
        lost = LOST_FIRST + LOST_LAST
        top, sink = gr.top_block(), blocks.vector_sink_c()
        ramp = np.arange(1000, dtype=np.complex64)
        model = channels.channel_model(0, 0, 1.0, [1.0])
        top.connect(blocks.vector_source_c(ramp.tolist()), model, sink)
        self.run_flowgraph(top)
        np.testing.assert_allclose(sink.data(), ramp[LOST_FIRST : 1000 - LOST_LAST], 1e-4)
        self.assertEqual(len(sink.data()), 1000 - lost)

    def test_noise_that_is_added_sets_all_words_right(self):
        top, sink = gr.top_block(), blocks.vector_sink_b()
        add = blocks.add_cc()
        top.connect(self.symbols(top), add)
        noise = analog.noise_source_c(analog.GR_GAUSSIAN, math.sqrt(0.1), 1)
        top.connect(noise, (add, 1))
        top.connect(
            add,
            cudaphy.soft_demapper("qpsk", noise_variance=0.1, backend=BACKEND),
            cudaphy.ldpc_decoder(self.code, backend=BACKEND),
            sink,
        )
        self.run_flowgraph(top)
        np.testing.assert_array_equal(sink.data(), self.bits)

    def test_signs_that_differ_make_every_word_wrong(self):
        llr = cudaphy.demap(
            cudaphy.constellation("bpsk").points[
                cudaphy.ldpc_encode(self.code, self.bits.reshape(-1, self.code.k))
            ],
            0.1,
            "bpsk",
        ).reshape(WORDS, -1)
        for positive in (0, 1):
            _, _, ok = cudaphy.ldpc_decode(self.code, llr, llr_positive=positive)
            self.assertEqual(ok.all(), positive == 0)
            self.assertEqual(ok.any(), positive == 0)

    @unittest.skipIf(zeromq is None, "no gr-zeromq")
    def test_vectors_of_whole_words_pass_zeromq_without_tags(self):
        address = free_address()
        n = self.code.n
        front, back = gr.top_block(), gr.top_block()
        front.connect(
            self.symbols(front),
            cudaphy.soft_demapper("qpsk", noise_variance=0.1, backend=BACKEND),
            blocks.stream_to_vector(gr.sizeof_float, n),
            zeromq.push_sink(gr.sizeof_float, n, address, 100, False),
        )
        sink = blocks.vector_sink_b()
        back.connect(
            zeromq.pull_source(gr.sizeof_float, n, address, 100, False),
            blocks.vector_to_stream(gr.sizeof_float, n),
            cudaphy.ldpc_decoder(self.code, backend=BACKEND),
            sink,
        )
        back.start()
        self.run_flowgraph(front)
        end = time.monotonic() + 30
        while len(sink.data()) < len(self.bits) and time.monotonic() < end:
            time.sleep(0.05)
        back.stop()
        back.wait()
        np.testing.assert_array_equal(sink.data(), self.bits)

    def test_addresses_in_the_examples_are_of_this_host_alone(self):
        for path in (DOCS.parent / "examples").glob("**/*"):
            if path.suffix in (".py", ".grc"):
                text = path.read_text()
                for part in text.split("tcp://")[1:]:
                    self.assertTrue(part.startswith("127.0.0.1:"), path.name)

    def test_the_readme_links_both_pages(self):
        for name in ("troubleshooting.md", "security.md"):
            self.assertIn(name, (DOCS.parent / "README.md").read_text())
            self.assertGreater(len((DOCS / name).read_text()), 1000)


if __name__ == "__main__":
    main()
