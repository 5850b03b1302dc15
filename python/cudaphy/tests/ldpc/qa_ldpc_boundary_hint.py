#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC Decoder warns once that word boundaries may be wrong, and only if that is likely."""

import unittest

import numpy as np
from gnuradio import blocks, channels, cudaphy, gr
from qa_support import BACKEND, FlowgraphCase, captured_log, main

WIFI = cudaphy.ldpc_code("wifi", n=648, rate="3/4")
HINT = "word boundaries may be off"


def llrs(n0, words=400, shift=0, code=WIFI, seed=3):
    random = np.random.default_rng(seed)
    info = random.integers(0, 2, (words, code.k), np.uint8)
    sent = cudaphy.ldpc_encode(code, info, "reference").ravel()[shift:]
    noise = random.standard_normal(sent.shape) * np.sqrt(n0 / 2)
    return (4 / n0 * (1 - 2.0 * sent + noise)).astype(np.float32)


@unittest.skipIf(BACKEND == "cuda", "the block does not look at LLRs on a GPU")
class qa_ldpc_boundary_hint(FlowgraphCase):
    def hints(self, llr, code=WIFI, **options):
        """The number of warnings of a decoder with these LLRs."""
        options = {"max_batch": 16, "backend": BACKEND, **options}
        with captured_log() as log:
            block = cudaphy.ldpc_decoder(code, **options)
            self.through(block, [llr], [("uint8", 0)])
        return log.text.count(HINT)

    def test_words_that_begin_elsewhere_give_one_warning(self):
        for shift in (7, 100, 300):
            self.assertEqual(self.hints(llrs(0.1, 1000, shift)), 1)
        for dtype, scale in (("int8", 12), ("float16", 1)):
            kind = {"int8": np.int8, "float16": np.float16}[dtype]
            llr = np.clip(llrs(0.3, 400, 5) * scale, -127, 127).astype(kind)
            raw = llr.view(np.uint8 if dtype == "int8" else np.int16)
            self.assertEqual(self.hints(raw, type=dtype), 1, dtype)
        natural = llrs(0.1, 400, 3)
        self.assertEqual(self.hints(natural * 100, llr_scale=0.01), 1)

    def test_a_slip_in_the_middle_gives_a_warning(self):
        good, bad = llrs(0.1, 300), llrs(0.1, 300, 11)
        self.assertEqual(self.hints(np.concatenate((good, bad))), 1)

    def test_a_wrong_sign_gives_a_warning(self):
        self.assertEqual(self.hints(-llrs(0.1)), 1)

    def test_noise_and_working_links_give_no_warning(self):
        for n0 in (0.1, 0.45, 0.6, 0.8, 1.5, 10.0, 1000.0):  # from all right to all wrong
            self.assertEqual(self.hints(llrs(n0)), 0, n0)
        self.assertEqual(self.hints(np.zeros(400 * WIFI.n, np.float32)), 0)
        self.assertEqual(self.hints(np.full(400 * WIFI.n, np.nan, np.float32)), 0)

    def test_few_words_give_no_warning(self):
        self.assertEqual(self.hints(llrs(0.1, 90, 5)), 0)

    def test_words_behind_channel_model_give_a_warning(self):
        """A beginner's flowgraph: its filter delays, and every word fails without noise."""
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        for channel, wanted in ((None, 0), (channels.channel_model(0.0), 1)):
            random = np.random.default_rng(1)
            info = random.integers(0, 2, 300 * code.k, np.uint8)
            labels = cudaphy.ldpc_encode(code, info.reshape(300, -1), "reference")
            labels = labels.reshape(-1, 2) @ [2, 1]
            qpsk = np.array(cudaphy.constellation("qpsk").points)
            source = blocks.vector_source_c(qpsk[labels].tolist())
            top = gr.top_block()
            with captured_log() as log:
                demapper = cudaphy.soft_demapper(
                    "qpsk", noise_variance=0.01, backend=BACKEND
                )
                decoder = cudaphy.ldpc_decoder(code, backend=BACKEND)
                chain = [source, channel, demapper, decoder, blocks.null_sink(1)]
                top.connect(*filter(None, chain))
                self.run_flowgraph(top)
            self.assertEqual(log.text.count(HINT), wanted)
            self.assertEqual(decoder.frame_errors() > 0.9 * decoder.frames(), wanted)


if __name__ == "__main__":
    main()
