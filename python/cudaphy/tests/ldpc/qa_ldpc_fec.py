#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The coder objects ldpc_encoder_def and ldpc_decoder_def in GNU Radio's FEC blocks."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, fec, gr
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, captured_log, main
from qa_support import packet_tags
from qa_support.words import random_words, received as positive_for_0

ALISTS = Path(gr.prefix()) / "share/gnuradio/fec/ldpc"
WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
AWKWARD = "n_1800_k_0902_gap_28.alist"  # 1800 * (902 / 1800) is 901.99...


def encoder(code, **options):
    return cudaphy.ldpc_encoder_def.make(code, **{"backend": BACKEND, **options})


def decoder(code, **options):
    return cudaphy.ldpc_decoder_def.make(code, **{"backend": BACKEND, **options})


def received(words, n0=0.5):
    """LLRs as gr-fec has them: positive for 1."""
    return -positive_for_0(words, n0)


class qa_ldpc_fec(FlowgraphCase):
    def through_messages(self, block, vectors):
        """The output of an asynchronous coder for u8 or f32 vectors: [(metadata, vector)]."""
        top, debug = gr.top_block(), blocks.message_debug()
        top.msg_connect(block, "out", debug, "store")
        top.start()
        for number, vector in enumerate(vectors):
            make = pmt.init_u8vector if vector.dtype == np.uint8 else pmt.init_f32vector
            message = pmt.cons(
                pmt.dict_add(pmt.make_dict(), pmt.intern("n"), pmt.from_long(number)),
                make(vector.size, vector.ravel().tolist()),
            )
            block.to_basic_block()._post(pmt.intern("in"), message)
        ends = time.monotonic() + 20
        while debug.num_messages() < len(vectors) and time.monotonic() < ends:
            time.sleep(0.01)
        top.stop()
        top.wait()
        got = [debug.get_message(i) for i in range(debug.num_messages())]
        return [
            (pmt.to_python(pmt.car(m)), np.array(pmt.u8vector_elements(pmt.cdr(m))))
            for m in got
        ]

    def test_extended_coders(self):
        info, words = random_words(WIFI, 40)
        for threading, parallel in ((None, 0), ("ordinary", 2), ("capillary", 2)):
            for batch in (1, 5):
                objects = [
                    [make(WIFI, batch=batch) for _ in range(max(1, parallel))]
                    for make in (encoder, decoder)
                ]
                if not parallel:
                    objects = [[coder] for (coder,) in objects]
                enc = fec.extended_encoder(
                    objects[0] if parallel else objects[0][0], threading, "11"
                )
                dec = fec.extended_decoder(
                    objects[1] if parallel else objects[1][0], threading
                )
                sink = self.through(enc, [info.ravel()], [("uint8", 0)])[0]
                np.testing.assert_array_equal(sink.data, words.ravel())
                llr = received(words).ravel()
                sink = self.through(dec, [llr], [("uint8", 0)])[0]
                np.testing.assert_array_equal(sink.data, info.ravel())
                self.assertEqual(sum(one.frames() for one in objects[1]), 40)

    def test_plain_coders(self):
        info, words = random_words(WIFI, 24)
        block = fec.encoder(encoder(WIFI, batch=4), 1, 1)
        sink = self.through(block, [info.ravel()], [("uint8", 0)])[0]
        np.testing.assert_array_equal(sink.data, words.ravel())
        coder = decoder(WIFI, batch=8)
        block = fec.decoder(coder, 4, 1)
        sink = self.through(block, [received(words).ravel()], [("uint8", 0)])[0]
        np.testing.assert_array_equal(sink.data, info.ravel())
        self.assertEqual((coder.frames(), coder.frame_errors()), (24, 0))
        self.assertGreater(coder.average_iterations(), 0)
        self.assertEqual(coder.backend(), BACKEND)

    def test_tagged_coders_take_packets_of_any_number_of_words(self):
        lengths = np.array([1, 3, 1, 12, 2])
        heads = np.cumsum([0] + list(lengths[:-1]))
        for code in (WIFI, cudaphy.ldpc_code.from_alist(str(ALISTS / AWKWARD))):
            info, words = random_words(code, lengths.sum())
            block = fec.tagged_encoder(encoder(code), 1, 1, KEY, 1500)
            tags = packet_tags(lengths * code.k)
            sink = self.through(block, [info.ravel()], [("uint8", 0)], tags)[0]
            np.testing.assert_array_equal(sink.data, words.ravel())
            block = fec.tagged_decoder(decoder(code), 4, 1, KEY, 1500)
            tags = packet_tags(lengths * code.n)
            llr = received(words, 0.3).ravel()
            # The largest packet must fit into the buffer of the block before.
            source, sink, top = Source(llr, tags), Sink("uint8"), gr.top_block()
            source.block.set_min_output_buffer(1 << 16)
            block.set_min_output_buffer(1 << 16)
            top.connect(source.block, block, sink.block)
            self.run_flowgraph(top)
            np.testing.assert_array_equal(sink.data, info.ravel())
            packets = [(int(h) * code.k, int(n) * code.k) for h, n in zip(heads, lengths)]
            self.assertEqual(sink.tags(KEY), packets)

    def test_a_tagged_packet_that_is_no_whole_number_of_words(self):
        info, words = random_words(WIFI, 3)
        block = fec.tagged_decoder(decoder(WIFI), 4, 1, KEY, 1500)
        llr = received(words).ravel()
        lengths = [WIFI.n + 100, 300, 2 * WIFI.n - 400]
        with captured_log() as log:
            (sink,) = self.through(block, [llr], [("uint8", 0)], packet_tags(lengths))
        np.testing.assert_array_equal(sink.data[: WIFI.k], info[0])
        np.testing.assert_array_equal(sink.data[WIFI.k : 2 * WIFI.k], 0)
        self.assertIn("less than a codeword", log.text)

    def test_asynchronous_coders(self):
        counts = [1, 5, 2, 1, 13]
        for code in (WIFI, cudaphy.ldpc_code.from_alist(str(ALISTS / AWKWARD))):
            made_words = [random_words(code, n, n) for n in counts]
            block = fec.async_encoder(encoder(code), False, False, False, 8000)
            got = self.through_messages(block, [info for info, _ in made_words])
            for (_, vector), (_, words) in zip(got, made_words):
                np.testing.assert_array_equal(vector, words.ravel())
            coder = decoder(code)
            block = fec.async_decoder(coder, False, False, 8000)
            llrs = [received(words, 0.3) for _, words in made_words]
            got = self.through_messages(block, llrs)
            self.assertEqual(len(got), len(counts))
            for number, (metadata, vector) in enumerate(got):
                np.testing.assert_array_equal(vector, made_words[number][0].ravel())
                self.assertEqual(metadata["n"], number)
                self.assertGreaterEqual(metadata["iterations"], 0)
            self.assertEqual(coder.frames(), sum(counts))

    def test_packed_asynchronous_coders(self):
        code = cudaphy.ldpc_code("wifi", n=1296, rate="1/2")  # k is a multiple of 8
        info, words = random_words(code, 1)
        block = fec.async_encoder(encoder(code), True, False, False, 8000)
        ((_, got),) = self.through_messages(block, [np.packbits(info)])
        np.testing.assert_array_equal(got, np.packbits(words))
        block = fec.async_decoder(decoder(code), True, False, 8000)
        ((_, got),) = self.through_messages(block, [received(words)])
        np.testing.assert_array_equal(got, np.packbits(info))

    def test_decodes_what_the_encoder_of_gnu_radio_made(self):
        tried = 0
        for path in sorted(ALISTS.glob("n_*_gap_*.alist")):
            code = cudaphy.ldpc_code.from_alist(str(path))
            if code.n > 1300:
                continue
            info = np.random.default_rng(3).integers(0, 2, (9, code.k)).astype("uint8")
            peer = fec.encoder(fec.ldpc_encoder.make(str(path)), 1, 1)
            sink = self.through(peer, [info.ravel()], [("uint8", 0)])[0]
            words = sink.data.reshape(9, code.n)
            block = fec.decoder(decoder(code, info_bits="last"), 4, 1)
            llr = received(words, 0.1).ravel()
            sink = self.through(block, [llr], [("uint8", 0)])[0]
            np.testing.assert_array_equal(sink.data, info.ravel(), str(path))
            tried += 1
        self.assertGreater(tried, 5)

    def coded(self, coder, info):
        """The words of an encoder object."""
        sink = self.through(fec.encoder(coder, 1, 1), [info.ravel()], [("uint8", 0)])[0]
        return sink.data.reshape(len(info), -1)

    def decoded(self, coder, llr):
        """The information words of a decoder object."""
        sink = self.through(fec.decoder(coder, 4, 1), [llr.ravel()], [("uint8", 0)])[0]
        return sink.data.reshape(len(llr), -1)

    def check_both_ways(self, code, path, n0, count):
        """GNU Radio's encoder with this module's decoder, and the other way round."""
        info = np.random.default_rng(code.n).integers(0, 2, (count, code.k))
        info = info.astype("uint8")
        words = self.coded(fec.ldpc_encoder.make(path), info)
        llr = received(words, n0)
        got = self.decoded(decoder(code, info_bits="last"), llr)
        np.testing.assert_array_equal(got, info)
        own = self.coded(encoder(code, info_bits="last", batch=3), info)
        np.testing.assert_array_equal(own, words)
        got = self.decoded(fec.ldpc_decoder.make(path, max_iterations=50), llr)
        np.testing.assert_array_equal(got, info)

    def test_information_bits_stand_where_gnu_radio_has_them_for_any_alist(self):
        random, dependent = np.random.default_rng(32), 0
        matrices = [np.array([[1, 1, 1, 0, 1], [0, 0, 0, 1, 1]])]
        while len(matrices) < 200:
            checks, n = sorted(random.integers(1, 16, 2))
            h = (random.random((checks, n)) < random.choice([0.2, 0.4, 0.6])).astype(int)
            if checks > 2 and len(matrices) % 3 == 0:
                h[random.integers(checks)] = (h[0] + h[1]) % 2
            if h.any(1).all():
                matrices.append(h)
        with tempfile.TemporaryDirectory() as folder:
            for h in matrices:
                try:
                    code = cudaphy.ldpc_code.from_parity_check(h)
                except ValueError:  # it leaves no information bits
                    continue
                path = f"{folder}/{len(h)}.alist"
                code.to_alist(path)
                code = cudaphy.ldpc_code.from_alist(path)
                lasts = np.sort(code.transmitted[-code.k :])
                with self.subTest(h=h.tolist()):
                    info = np.eye(code.k, dtype="uint8")
                    words = self.coded(fec.ldpc_encoder.make(path), info)
                    dependent += (words[:, lasts] != info).any()
                    got = self.decoded(
                        decoder(code, info_bits="last"), received(words, 1e-3)
                    )
                    np.testing.assert_array_equal(got, info)
                    own = self.coded(encoder(code, info_bits="last"), info)
                    np.testing.assert_array_equal(own, words)
        self.assertGreater(dependent, 50)

    def test_both_ways_with_gnu_radio_over_noise_where_the_last_columns_depend(self):
        random = np.random.default_rng(10)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/dependent.alist"
            for n in (60, 240):
                h = np.zeros((n // 2, n), int)
                for column in h.T:
                    column[random.choice(n // 2, 3, replace=False)] = 1
                h[:, random.integers(n // 2, size=n // 5)] = 0  # no pivots there
                h[3] = h[4] ^ h[5]
                cudaphy.ldpc_code.from_parity_check(h[h.any(1)]).to_alist(path)
                code = cudaphy.ldpc_code.from_alist(path)
                self.check_both_ways(code, path, 0.05, 9)

    def test_parity_matrix_encoder_has_the_last_and_generator_matrix_the_first_bits(self):
        path = str(ALISTS / "n_0300_k_0152_gap_03.alist")
        code = cudaphy.ldpc_code.from_alist(path)
        info = np.random.default_rng(1).integers(0, 2, (8, code.k)).astype("uint8")
        peer = fec.ldpc_par_mtrx_encoder.make_H(fec.ldpc_H_matrix(path, 3))
        words = self.coded(peer, info)
        own = self.coded(encoder(code, info_bits="last"), info)
        np.testing.assert_array_equal(own, words)
        # G = [I P] as an alist file; H = [P' I].
        path = str(ALISTS / "n_0100_k_0058_gen_matrix.alist")
        g = cudaphy.ldpc_code.from_alist(path).parity_check().toarray()
        h = np.hstack([g[:, 58:].T, np.eye(42, dtype="uint8")])
        code = cudaphy.ldpc_code.from_parity_check(h)
        info = np.random.default_rng(2).integers(0, 2, (8, code.k)).astype("uint8")
        peer = fec.ldpc_gen_mtrx_encoder.make(fec.ldpc_G_matrix(path))
        np.testing.assert_array_equal(self.coded(peer, info), random_words(code, 8, 2)[1])

    def test_codes_that_gnu_radio_can_not_encode_are_refused_with_its_columns(self):
        code = cudaphy.ldpc_code("nr5g", base_graph=2, lifting_size=4, rows=8)
        for make in (encoder, decoder):
            with self.assert_refuses("info_bits", "leaves columns out"):
                make(code, info_bits="last")

    def test_options_reach_the_decoder(self):
        _, words = random_words(WIFI, 5)
        noise = np.random.default_rng(1).standard_normal(words.shape)
        for options in ({"max_iterations": 7}, {"max_iterations": 9, "scale": 0.7}):
            coder = decoder(WIFI, **options)
            block = fec.decoder(coder, 4, 1)
            self.through(block, [noise.astype("float32").ravel()], [("uint8", 0)])
            self.assertEqual(coder.average_iterations(), options["max_iterations"])
            self.assertEqual((coder.frames(), coder.frame_errors()), (5, 5))

    def test_nan_is_an_erasure_and_counted(self):
        info, words = random_words(WIFI, 5)
        llr = received(words, 0.1)
        llr[1, 7] = llr[4, :6] = np.nan
        coder = decoder(WIFI)
        sink = self.through(fec.decoder(coder, 4, 1), [llr.ravel()], [("uint8", 0)])[0]
        np.testing.assert_array_equal(sink.data, info.ravel())
        self.assertEqual(coder.nan_llrs(), 7)

    def test_refuses_parameters_out_of_range(self):
        for make in (encoder, decoder):
            for batch in (0, -1, 65537):
                with self.assert_refuses(str(batch), "1 to 65536"):
                    make(WIFI, batch=batch)
            with self.assertRaises((ValueError, TypeError)):
                make(None)
            with self.assert_refuses("info_bits", "code", "last"):
                make(WIFI, info_bits="first")
        with self.assert_refuses("1001"):
            decoder(WIFI, max_iterations=1001)
        with self.assertRaisesRegex(TypeError, "llr_positive"):
            decoder(WIFI, llr_positive=0)


if __name__ == "__main__":
    main()
