#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks ldpc_encoder and ldpc_decoder in flowgraphs."""

import tempfile

import numpy as np
from gnuradio import blocks, cudaphy, dtv, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    main,
    packet_tags,
    tag,
)
from qa_support.words import received

NAN, INF = float("nan"), float("inf")
WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
DVBS2_RATES = "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9 9/10".split()


def random_bits(words, k, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (words, k)).astype("uint8")


def encoder(code, **options):
    return cudaphy.ldpc_encoder(code, **{"backend": BACKEND, **options})


def decoder(code, **options):
    return cudaphy.ldpc_decoder(code, **{"backend": BACKEND, **options})


def fulfils_checks(code, words):
    return ~((code.parity_check().astype(int) @ words.T) % 2).any(axis=0)


class LdpcCase(FlowgraphCase):
    def encode(self, code, info, tags=(), **options):
        block = encoder(code, **options)
        return self.through(block, [info.ravel()], [("uint8", 0)], tags)[0]

    def codewords(self, code, info):
        return self.encode(code, info).data.reshape(-1, code.n)


class qa_ldpc_encoder(LdpcCase):
    def test_makes_codewords_that_carry_the_information(self):
        for n in (648, 1296, 1944):
            for rate in ("1/2", "2/3", "3/4", "5/6"):
                code = cudaphy.ldpc_code("wifi", n=n, rate=rate)
                info = random_bits(33, code.k)
                words = self.codewords(code, info)
                self.assertTrue(fulfils_checks(code, words).all(), code)
                np.testing.assert_array_equal(words[:, code.info_positions], info)

    def test_any_number_of_words_and_any_batch(self):
        expected = cudaphy.ldpc_encode(WIFI, random_bits(100, WIFI.k), "reference")
        for count in (0, 1, 31, 32, 33, 100):
            for max_batch in (0, 1, 7, 1000):
                info = random_bits(100, WIFI.k)[:count]
                got = self.encode(WIFI, info, max_batch=max_batch)
                np.testing.assert_array_equal(got.data, expected[:count].ravel())

    def test_what_is_no_whole_word_at_the_end_is_left_out(self):
        info = random_bits(3, WIFI.k)
        sink = self.encode(WIFI, info.ravel()[:-1])
        self.assertEqual(len(sink.data), 2 * WIFI.n)

    def test_makes_the_very_codewords_of_gr_dtv_for_all_of_dvb_s2(self):
        frames = 3
        pairs = [("normal", rate) for rate in DVBS2_RATES]
        pairs += [("short", rate) for rate in DVBS2_RATES[:-1]]
        self.assertEqual(len(pairs), 21)
        for frame, rate in pairs:
            with self.subTest(frame=frame, rate=rate):
                code = cudaphy.ldpc_code("dvbs2", frame=frame, rate=rate)
                info = random_bits(frames, code.k)
                peer = dtv.dvb_ldpc_bb(
                    dtv.STANDARD_DVBS2,
                    dtv.FECFRAME_NORMAL if frame == "normal" else dtv.FECFRAME_SHORT,
                    getattr(dtv, "C" + rate.replace("/", "_")),
                    dtv.MOD_OTHER,
                )
                expected = self.through(peer, [info.ravel()], [("uint8", 0)])[0].data
                self.assertEqual(expected.size, frames * code.n)
                expected = expected.reshape(frames, code.n)
                self.assertTrue(fulfils_checks(code, expected).all())
                np.testing.assert_array_equal(self.codewords(code, info), expected)

    def test_packets_are_counted_in_bits_of_codewords(self):
        lengths = [1, 3, 1, 40, 2]
        info = random_bits(sum(lengths), WIFI.k)
        heads = np.cumsum([0] + lengths[:-1])
        k, n = WIFI.k, WIFI.n
        tags = packet_tags([length * k for length in lengths])
        tags += [tag(int(h) * k, "rx_time", int(h)) for h in heads]
        tags += [tag(5 * k + 100, "within", "a word")]
        for max_batch in (0, 1, 4):
            sink = self.encode(WIFI, info, tags, length_tag_key=KEY, max_batch=max_batch)
            packets = [(n * head, n * length) for head, length in zip(heads, lengths)]
            self.assertEqual(sink.tags(KEY), packets)
            self.assertEqual(sink.tags("rx_time"), [(n * head, head) for head in heads])
            self.assertEqual(sink.tags("within"), [(5 * n + 200, "a word")])

    def test_a_packet_that_is_no_whole_number_of_words_ends_the_flowgraph(self):
        info = random_bits(4, WIFI.k)
        with captured_log() as log:
            sink = self.encode(
                WIFI, info, packet_tags([2 * WIFI.k, WIFI.k + 1]), length_tag_key=KEY
            )
        self.assertEqual(len(sink.data), 2 * WIFI.n)
        self.assertIn(f"{WIFI.k + 1} items", log.text)
        self.assertIn(f"{WIFI.k} items of one frame", log.text)

    def test_codes_from_files_and_matrices_encode_and_decode(self):
        h = WIFI.parity_check()
        with tempfile.NamedTemporaryFile("w", suffix=".qc") as file:
            file.write("4 2 3\n0 1 0 -1\n2 0 -1 0\n")
            file.flush()
            quasi_cyclic = cudaphy.ldpc_code.from_qc(file.name)
        for code in (cudaphy.ldpc_code.from_parity_check(h), quasi_cyclic):
            info = random_bits(20, code.k)
            words = self.codewords(code, info)
            self.assertTrue(fulfils_checks(code, words).all())
            block = decoder(code)
            got = self.through(block, [received(words).ravel()], [("uint8", 0)])[0]
            np.testing.assert_array_equal(got.data, info.ravel())

    def test_objects_that_are_no_code_are_refused(self):
        for make in (encoder, decoder):
            with self.assertRaises((ValueError, TypeError)):
                make(None)


class qa_ldpc_decoder(LdpcCase):
    def decode(self, llr, code=WIFI, tags=(), **options):
        """The sink of bits, and the block."""
        block = decoder(code, **options)
        return self.through(block, [llr.ravel()], [("uint8", 0)], tags)[0], block

    def setUp(self):
        self.info = random_bits(60, WIFI.k)
        self.words = cudaphy.ldpc_encode(WIFI, self.info, "reference")

    def test_corrects_errors_at_every_size_of_batch(self):
        llr = received(self.words, n0=0.5)
        self.assertGreater(((llr < 0) != self.words).sum(axis=1).min(), 5)
        for count in (0, 1, 31, 32, 33, 60):
            for max_batch in (0, 1, 7, 1000):
                with self.subTest(count=count, max_batch=max_batch):
                    sink, block = self.decode(llr[:count], max_batch=max_batch)
                    np.testing.assert_array_equal(sink.data, self.info[:count].ravel())
                    heads = [WIFI.k * i for i in range(count)]
                    oks, counts = sink.tags("ldpc_ok"), sink.tags("iterations")
                    self.assertEqual(oks, [(head, True) for head in heads])
                    self.assertEqual([head for head, _ in counts], heads)
                    self.assertTrue(all(1 <= n <= 20 for _, n in counts))
                    self.assertEqual((block.frames(), block.frame_errors()), (count, 0))
                    mean = np.mean([n for _, n in counts]) if count else 0
                    self.assertAlmostEqual(block.average_iterations(), mean)

    def test_a_codeword_as_it_is_takes_no_iteration_in_float32_and_one_in_int8(self):
        for arithmetic, iterations in (("float32", 0), ("auto", 1), ("int8", 1)):
            sink, _ = self.decode(received(self.words), arithmetic=arithmetic)
            self.assertEqual({n for _, n in sink.tags("iterations")}, {iterations})
        sink, block = self.decode(
            received(self.words), early_stop=False, max_iterations=7
        )
        np.testing.assert_array_equal(sink.data, self.info.ravel())
        self.assertEqual({n for _, n in sink.tags("iterations")}, {7})
        self.assertEqual(block.average_iterations(), 7)

    def with_failures(self):
        """LLRs of codewords, except that words 0, 6, 7, 30 and 59 are noise."""
        llr, bad = received(self.words, n0=0.5), [0, 6, 7, 30, 59]
        llr[bad] = 5 * np.random.default_rng(7).standard_normal((5, WIFI.n))
        return llr, bad

    def test_a_word_that_fails_is_marked(self):
        llr, bad = self.with_failures()
        good = np.delete(np.arange(60), bad)
        for max_batch in (0, 1, 7):
            for output, length in (("info", WIFI.k), ("codeword", WIFI.n)):
                sink, block = self.decode(
                    llr, max_batch=max_batch, output=output, max_iterations=15
                )
                bits = sink.data.reshape(60, length)
                sent = self.info if output == "info" else self.words
                np.testing.assert_array_equal(bits[good], sent[good])
                self.assertLessEqual(bits.max(), 1)
                marks = [(length * i, i not in bad) for i in range(60)]
                self.assertEqual(sink.tags("ldpc_ok"), marks)
                counts = dict(sink.tags("iterations"))
                self.assertEqual({counts[length * i] for i in bad}, {15})
                self.assertEqual((block.frames(), block.frame_errors()), (60, 5))
                if output == "codeword":
                    ok = fulfils_checks(WIFI, bits)
                    np.testing.assert_array_equal(ok, np.isin(np.arange(60), good))

    def test_a_word_that_fails_is_dropped(self):
        llr, bad = self.with_failures()
        good = np.delete(np.arange(60), bad)
        n, k = WIFI.n, WIFI.k
        times = [tag(i * n, "rx_time", i) for i in range(60)]
        for max_batch in (0, 1, 7):
            tags = packet_tags([5 * n] * 12) + times
            sink, block = self.decode(
                llr,
                tags=tags,
                on_failure="drop",
                length_tag_key=KEY,
                max_batch=max_batch,
            )
            np.testing.assert_array_equal(sink.data, self.info[good].ravel())
            heads = [k * i for i in range(len(good))]
            self.assertEqual(sink.tags(KEY), [(head, k) for head in heads])
            self.assertEqual(sink.tags("ldpc_ok"), [(head, True) for head in heads])
            self.assertEqual(sink.tags("rx_time"), list(zip(heads, good)))
            self.assertEqual((block.frames(), block.frame_errors()), (60, 5))
        sink, _ = self.decode(llr, on_failure="drop")  # on a plain stream
        np.testing.assert_array_equal(sink.data, self.info[good].ravel())
        self.assertEqual(sink.tags(KEY), [])

    def test_a_stream_of_nothing_but_failures_ends(self):
        llr = np.random.default_rng(7).standard_normal((500, WIFI.n)).astype("float32")
        sink, block = self.decode(llr, on_failure="drop", max_batch=8, max_iterations=2)
        self.assertEqual(len(sink.data), 0)
        self.assertEqual((block.frames(), block.frame_errors()), (500, 500))

    def test_positive_llrs_may_mean_one(self):
        llr = received(self.words, n0=0.5)
        sink, _ = self.decode(-llr, llr_positive=1)
        np.testing.assert_array_equal(sink.data, self.info.ravel())
        sink, block = self.decode(-llr, max_iterations=5)
        self.assertEqual(block.frame_errors(), 60)

    def test_zero_and_nan_are_erasures_and_infinity_is_certain(self):
        rng = np.random.default_rng(4)
        llr = received(self.words)
        where = rng.random(llr.shape)
        llr[where < 0.1] = NAN
        llr[(where >= 0.1) & (where < 0.2)] = 0
        certain = where > 0.9
        llr[certain] = np.where(self.words[certain], -INF, INF)
        sink, block = self.decode(llr)
        np.testing.assert_array_equal(sink.data, self.info.ravel())
        self.assertEqual(block.frame_errors(), 0)
        self.assertEqual(block.nan_llrs(), np.isnan(llr).sum())

    def test_nan_is_counted_in_its_word(self):
        llr = received(self.words)
        llr[3, :2] = llr[41, 100:105] = llr[59, -1] = NAN
        expected = [(WIFI.k * word, n) for word, n in ((3, 2), (41, 5), (59, 1))]
        for max_batch in (0, 1, 7):
            sink, block = self.decode(llr, max_batch=max_batch)
            self.assertEqual(sink.tags("nan_llrs"), expected)
            self.assertEqual(block.nan_llrs(), 8)

    def test_agrees_with_the_reference_backend(self):
        llr = received(self.words, n0=0.6)
        how = {"scale": 0.75, "arithmetic": "float32"}
        bits, _, ok = cudaphy.ldpc_decode(WIFI, llr, backend="reference", **how)
        sink, _ = self.decode(llr, **how)
        self.assertEqual([mark for _, mark in sink.tags("ldpc_ok")], list(ok))
        got = sink.data.reshape(60, WIFI.k)
        np.testing.assert_array_equal(got[ok], bits[ok])

    def test_packets_keep_their_tags(self):
        lengths = [1, 3, 1, 40, 2, 13]
        n, k = WIFI.n, WIFI.k
        heads = np.cumsum([0] + lengths[:-1])
        llr = received(self.words, n0=0.5)
        tags = packet_tags([length * n for length in lengths])
        tags += [tag(int(h) * n, "rx_time", int(h)) for h in heads]
        tags += [tag(6 * n - 1, "within", "a word")]
        for max_batch in (0, 1, 4):
            sink, _ = self.decode(llr, tags=tags, length_tag_key=KEY, max_batch=max_batch)
            np.testing.assert_array_equal(sink.data, self.info.ravel())
            packets = [(k * head, k * length) for head, length in zip(heads, lengths)]
            self.assertEqual(sink.tags(KEY), packets)
            self.assertEqual(sink.tags("rx_time"), [(k * head, head) for head in heads])
            self.assertEqual(sink.tags("within"), [(6 * k - 1, "a word")])
            self.assertEqual(sink.tags("ldpc_ok"), [(k * i, True) for i in range(60)])

    def test_wrong_packets_end_the_flowgraph_after_the_good_ones(self):
        n, llr = WIFI.n, received(self.words, n0=0.5)
        for tags, good, text in (
            ([], 0, "item 0 of input 0 should begin a packet"),
            (packet_tags([2 * n, 3 * n]), 5, f"item {5 * n} of input 0 should begin"),
            (packet_tags([2 * n, n - 1]), 2, f"{n - 1} items"),
            (packet_tags([2 * n, n + n // 2]), 2, f"{n} items of one frame"),
        ):
            for on_failure in ("mark", "drop"):
                with captured_log() as log:
                    sink, _ = self.decode(
                        llr, tags=tags, length_tag_key=KEY, on_failure=on_failure
                    )
                np.testing.assert_array_equal(sink.data, self.info[:good].ravel())
                self.assertIn(text, log.text)

    def test_dvb_s2_frames_from_gr_dtv(self):
        code = cudaphy.ldpc_code("dvbs2", frame="normal", rate="1/2")
        info = random_bits(5, code.k)
        peer = dtv.dvb_ldpc_bb(
            dtv.STANDARD_DVBS2, dtv.FECFRAME_NORMAL, dtv.C1_2, dtv.MOD_OTHER
        )
        words = self.through(peer, [info.ravel()], [("uint8", 0)])[0].data
        llr = received(words, n0=0.75)
        sink, block = self.decode(llr, code, max_iterations=50)
        np.testing.assert_array_equal(sink.data, info.ravel())
        self.assertEqual((block.frames(), block.frame_errors()), (5, 0))

    def test_encoder_noise_and_decoder_in_one_flowgraph(self):
        code, lengths = cudaphy.ldpc_code("wifi", n=1944, rate="1/2"), [3, 1, 20, 1, 16]
        info, n0 = random_bits(sum(lengths), code.k), 0.6
        source = Source(info.ravel(), packet_tags([code.k * n for n in lengths]))
        top, sink = gr.top_block(), Sink("uint8")
        decode = decoder(code, length_tag_key=KEY, max_batch=8)
        add = blocks.add_ff()
        top.connect(
            source.block,
            encoder(code, length_tag_key=KEY, max_batch=3),
            blocks.uchar_to_float(),
            blocks.multiply_const_ff(-2),
            blocks.add_const_ff(1),
            add,
            blocks.multiply_const_ff(4 / n0),
            decode,
            sink.block,
        )
        # The noise is as long as the stream: with endless noise GNU Radio's adder leaves
        # the last items out.
        noise = np.random.default_rng(5).standard_normal(sum(lengths) * code.n)
        noise = Source((noise * np.sqrt(n0 / 2)).astype("float32"))
        top.connect(noise.block, (add, 1))
        for run in (1, 2):
            self.run_flowgraph(top)
            np.testing.assert_array_equal(sink.data, info.ravel())
            heads = np.cumsum([0] + lengths[:-1])
            packets = [(code.k * head, code.k * n) for head, n in zip(heads, lengths)]
            self.assertEqual(sink.tags(KEY), packets)
            self.assertEqual(decode.frames(), run * sum(lengths))
            source.block.rewind()
            noise.block.rewind()
            sink.block.reset()

    def test_two_decoders_share_a_ring(self):
        llr = received(self.words, n0=0.5)
        top, source = gr.top_block(), Source(llr.ravel())
        sinks = [Sink("uint8") for _ in range(3)]
        first, second = decoder(WIFI), decoder(WIFI, output="codeword", max_batch=7)
        for block, sink in zip((first, second, second), sinks):
            top.connect(block, sink.block)
        top.connect(source.block, first)
        top.connect(source.block, second)
        self.run_flowgraph(top)
        np.testing.assert_array_equal(sinks[0].data, self.info.ravel())
        np.testing.assert_array_equal(sinks[1].data, self.words.ravel())
        np.testing.assert_array_equal(sinks[2].data, self.words.ravel())

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        for value in (0, -1, 1001):
            with self.assert_refuses(str(value), "1", "1000"):
                decoder(WIFI, max_iterations=value)
        for value in (-0.5, 1.5, NAN):
            with self.assert_refuses("scale", "0", "1"):
                decoder(WIFI, scale=value)
        with self.assert_refuses("all", "info", "codeword"):
            decoder(WIFI, output="all")
        with self.assert_refuses("keep", "mark", "drop"):
            decoder(WIFI, on_failure="keep")
        for value in (-1, 2):
            with self.assert_refuses(str(value), "0", "1"):
                decoder(WIFI, llr_positive=value)
        for make in (encoder, decoder):
            with self.assert_refuses("16777217", "0", "16777216"):
                make(WIFI, max_batch=(1 << 24) + 1)
        self.assertEqual(decoder(WIFI).backend(), BACKEND)
        self.assertEqual(encoder(WIFI).backend(), BACKEND)


if __name__ == "__main__":
    main()
