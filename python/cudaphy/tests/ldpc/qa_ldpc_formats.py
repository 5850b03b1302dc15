#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks ldpc_encoder and ldpc_decoder: types of LLRs, packed bits, soft output, rules,
schedules, arithmetic, and the begin and end of streams."""

import time

import numpy as np
import pmt
from gnuradio import cudaphy, gr, pdu
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, main, packet_tags
from qa_support.words import random_words, received

WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
#: k and n are no multiples of 8.
ODD = cudaphy.ldpc_code.from_parity_check(
    np.hstack([WIFI.parity_check().toarray(), np.eye(324, 3)])[:323], "odd"
)
COUNT = 40
AS_STREAM = {"int8": "uint8", "float16": "int16"}


def as_int8(llr, steps=4):
    return np.clip(np.rint(llr * steps), -127, 127).astype("int8")


def packed(bits):
    return np.packbits(bits, axis=-1)


class qa_ldpc_formats(FlowgraphCase):
    def decode(self, llr, code=WIFI, tags=(), **options):
        """The sinks of bits and, with soft_output, of LLRs; and the block."""
        block = cudaphy.ldpc_decoder(code, backend=BACKEND, **options)
        stream = llr.ravel()
        stream = stream.view(AS_STREAM.get(stream.dtype.name, stream.dtype))
        outputs = [("uint8", 0)] + [("float32", 0)] * bool(options.get("soft_output"))
        return self.through(block, [stream], outputs, tags), block

    def test_int8_llrs_are_taken_as_bytes(self):
        info, words = random_words(WIFI, COUNT)
        llr = as_int8(received(words, 0.5))
        llr[3] = as_int8(np.random.default_rng(5).standard_normal(WIFI.n), 40)
        for max_batch in (0, 1, 7):
            (sink,), block = self.decode(llr, type="int8", max_batch=max_batch)
            bits, iterations, ok = cudaphy.ldpc_decode(WIFI, llr, backend=BACKEND)
            np.testing.assert_array_equal(sink.data.reshape(COUNT, -1), bits)
            np.testing.assert_array_equal(np.delete(bits, 3, 0), np.delete(info, 3, 0))
            self.assertEqual([v for _, v in sink.tags("iterations")], list(iterations))
            self.assertEqual([v for _, v in sink.tags("ldpc_ok")], list(ok))
            self.assertEqual((block.frames(), block.frame_errors()), (COUNT, 1))

    def test_float16_llrs_are_taken_as_shorts(self):
        info, words = random_words(WIFI, COUNT)
        llr = received(words, 0.5).astype("float16")
        llr[3] = np.random.default_rng(5).standard_normal(WIFI.n)
        llr[5, :4] = np.inf * (1 - 2.0 * words[5, :4])
        llr[7, [1, 30, 600]] = llr[9, 2] = np.nan
        for max_batch in (0, 1, 7):
            (sink,), block = self.decode(llr, type="float16", max_batch=max_batch)
            bits, iterations, ok = cudaphy.ldpc_decode(WIFI, llr, backend=BACKEND)
            np.testing.assert_array_equal(sink.data.reshape(COUNT, -1), bits)
            np.testing.assert_array_equal(np.delete(bits, 3, 0), np.delete(info, 3, 0))
            self.assertEqual([v for _, v in sink.tags("iterations")], list(iterations))
            self.assertEqual([v for _, v in sink.tags("ldpc_ok")], list(ok))
            found = [(7 * WIFI.k, 3), (9 * WIFI.k, 1)]
            self.assertEqual((sink.tags("nan_llrs"), block.nan_llrs()), (found, 4))
        # Only failed words are tagged.
        (sink,), _ = self.decode(llr, type="float16", word_tags="failed")
        heads = [WIFI.k * word for word in (3, 7, 9)]
        self.assertEqual(sink.tags("ldpc_ok"), list(zip(heads, ok[[3, 7, 9]])))
        self.assertEqual(sink.tags("iterations"), list(zip(heads, iterations[[3, 7, 9]])))
        self.assertEqual(sink.tags("nan_llrs"), found)
        with self.assertRaisesRegex(ValueError, '"none".*"all".*"failed"'):
            cudaphy.ldpc_decoder(WIFI, word_tags="none", backend=BACKEND)
        # LLRs as Soft Demapper puts them out.
        symbols = (np.sqrt(0.5) * (1 - 2.0 * words)).astype("complex64")
        symbols = symbols.reshape(-1, 2) @ [1, 1j]
        demapper = cudaphy.soft_demapper(
            "qpsk", noise_variance=0.2, type="float16", backend=BACKEND
        )
        decoder = cudaphy.ldpc_decoder(WIFI, type="float16", backend=BACKEND)
        source, sink, top = (
            Source(symbols.astype("complex64")),
            Sink("uint8"),
            gr.top_block(),
        )
        top.connect(source.block, demapper, decoder, sink.block)
        self.run_flowgraph(top)
        np.testing.assert_array_equal(sink.data, info.ravel())

    def test_extreme_int8_llrs(self):
        info, words = random_words(WIFI, COUNT)
        llr = np.where(words, -128, 127).astype("int8")
        llr[:, ::7] = 0
        for arithmetic in ("auto", "float32", "int8"):
            (sink,), _ = self.decode(llr, type="int8", arithmetic=arithmetic)
            np.testing.assert_array_equal(sink.data, info.ravel())
            (sink,), _ = self.decode(
                -np.maximum(llr, -127), type="int8", llr_positive=1, arithmetic=arithmetic
            )
            np.testing.assert_array_equal(sink.data, info.ravel())

    def test_packed_bits_out(self):
        for code in (WIFI, ODD):
            info, words = random_words(code, COUNT)
            llr = received(words, 0.2)
            for output, bits in (("info", info), ("codeword", words)):
                (sink,), _ = self.decode(llr, code, packed=True, output=output)
                expected = packed(bits)
                np.testing.assert_array_equal(sink.data, expected.ravel())
                marks = [(expected.shape[1] * i, True) for i in range(COUNT)]
                self.assertEqual(sink.tags("ldpc_ok"), marks)

    def test_the_encoder_takes_and_gives_packed_bits(self):
        for code in (WIFI, ODD):
            info, words = random_words(code, COUNT)
            for packed_in in (False, True):
                for packed_out in (False, True):
                    block = cudaphy.ldpc_encoder(
                        code,
                        backend=BACKEND,
                        length_tag_key=KEY,
                        packed_input=packed_in,
                        packed_output=packed_out,
                    )
                    stream = packed(info) if packed_in else info
                    expected = packed(words) if packed_out else words
                    lengths = np.array([3, 1, COUNT - 4])
                    tags = packet_tags(lengths * stream.shape[1])
                    (sink,) = self.through(block, [stream.ravel()], [("uint8", 0)], tags)
                    np.testing.assert_array_equal(sink.data, expected.ravel())
                    width = expected.shape[1]
                    self.assertEqual(
                        sink.tags(KEY),
                        [(0, 3 * width), (3 * width, width)]
                        + [(4 * width, (COUNT - 4) * width)],
                    )

    def test_soft_output_beside_the_bits(self):
        info, words = random_words(WIFI, COUNT)
        llr = received(words, 0.5)
        lengths = [1, 3, COUNT - 4]
        heads = np.cumsum([0] + lengths[:-1])
        for output, width in (("info", WIFI.k), ("codeword", WIFI.n)):
            for packing, item_width in ((False, width), (True, -(-width // 8))):
                (bits, soft), _ = self.decode(
                    llr,
                    tags=packet_tags([n * WIFI.n for n in lengths]),
                    length_tag_key=KEY,
                    soft_output=True,
                    output=output,
                    packed=packing,
                    max_batch=7,
                )
                values = soft.data.reshape(COUNT, width)
                decided = (values < 0).astype("uint8")
                sent = info if output == "info" else words
                np.testing.assert_array_equal(decided, sent)
                expected = packed(sent) if packing else sent
                np.testing.assert_array_equal(bits.data, expected.ravel())
                # Decoding makes the bits more certain.
                before = llr[:, WIFI.info_positions] if output == "info" else llr
                self.assertGreater(np.abs(values).mean(), np.abs(before).mean())
                for sink, size in ((bits, item_width), (soft, width)):
                    packets = [(size * h, size * n) for h, n in zip(heads, lengths)]
                    self.assertEqual(sink.tags(KEY), packets)

    def test_soft_output_of_words_that_are_kept(self):
        info, words = random_words(WIFI, COUNT)
        llr, bad = received(words, 0.5), [0, 6, 7, 39]
        llr[bad] = 5 * np.random.default_rng(7).standard_normal((len(bad), WIFI.n))
        good = np.delete(np.arange(COUNT), bad)
        for max_batch in (1, 5, 0):
            (bits, soft), _ = self.decode(
                llr, on_failure="drop", soft_output=True, max_batch=max_batch
            )
            np.testing.assert_array_equal(bits.data, info[good].ravel())
            np.testing.assert_array_equal(soft.data < 0, info[good].ravel())

    def test_every_rule_and_schedule_decodes(self):
        info, words = random_words(WIFI, COUNT)
        llr = received(words, 0.45)
        for options in (
            {"algorithm": "normalized_min_sum"},
            {"algorithm": "offset_min_sum", "offset": 0.4},
            {"algorithm": "sum_product"},
            {"schedule": "flooding", "max_iterations": 50},
            {"algorithm": "sum_product", "schedule": "flooding", "max_iterations": 50},
            {"arithmetic": "int8", "llr_steps": 6},
            {"arithmetic": "int8"},
        ):
            with self.subTest(**options):
                (sink,), block = self.decode(llr, **options)
                np.testing.assert_array_equal(sink.data, info.ravel())
                expected = cudaphy.ldpc_decode(WIFI, llr, backend=BACKEND, **options)[1]
                self.assertAlmostEqual(block.average_iterations(), expected.mean())

    def test_llrs_in_steps_are_scaled_for_rules_that_need_units(self):
        _, words = random_words(WIFI, 200)
        llr = received(words, 1.5)
        steps = as_int8(llr, 12)
        for options in (
            {"algorithm": "sum_product"},
            {"algorithm": "offset_min_sum"},
            {"algorithm": "sum_product", "schedule": "flooding"},
        ):
            with self.subTest(**options):
                (sink,), block = self.decode(llr, **options)
                failed = block.frame_errors()
                self.assertTrue(10 <= failed <= 80, failed)
                more = dict(options, type="int8", llr_scale=1 / 12)
                (sink,), block = self.decode(steps, **more)
                self.assertLess(block.frame_errors(), failed + 15)
                bits, iterations, ok = cudaphy.ldpc_decode(
                    WIFI, steps, llr_scale=1 / 12, backend=BACKEND, **options
                )
                np.testing.assert_array_equal(sink.data, bits.ravel())
                self.assertEqual(block.frame_errors(), np.count_nonzero(~ok))
                # Without the scale LLRs would be twelve times too large.
                (_,), block = self.decode(steps, type="int8", **options)
                self.assertGreater(block.frame_errors(), failed + 40)

    def test_stops_where_the_crc_holds(self):
        def remainder(bits):
            """The remainder of CRC16 of 3GPP TS 38.212: x^16 + x^12 + x^5 + 1."""
            register = 0
            for bit in bits:
                register = (register << 1) ^ (int(bit) << 16)
                register ^= 0x11021 if register >> 16 & 1 else 0
            return register

        info = np.random.default_rng(3).integers(0, 2, (COUNT, WIFI.k)).astype("uint8")
        for word in info[:-1]:
            check = remainder(word[:-16])
            word[-16:] = [check >> (15 - i) & 1 for i in range(16)]
        info[-1, -1] ^= remainder(info[-1, :-16]) & 1 == info[-1, -1]  # a wrong one
        words = cudaphy.ldpc_encode(WIFI, info, "reference")
        (sink,), block = self.decode(received(words, 0.5), stop_crc="16")
        np.testing.assert_array_equal(sink.data, info.ravel())
        marks = [mark for _, mark in sink.tags("ldpc_ok")]
        self.assertEqual(marks, [True] * (COUNT - 1) + [False])
        self.assertEqual(block.frame_errors(), 1)

    def test_a_single_frame_is_decoded_at_once(self):
        info, words = random_words(WIFI, COUNT)
        block = cudaphy.ldpc_decoder(
            WIFI, backend=BACKEND, max_batch=1000, length_tag_key=KEY
        )
        source = pdu.pdu_to_tagged_stream(gr.types.float_t, KEY)  # never ends
        top, sink = gr.top_block(), Sink("uint8")
        top.connect(source, block, sink.block)
        top.start()
        llr = received(words, 0.5)[0].tolist()
        message = pmt.cons(pmt.make_dict(), pmt.init_f32vector(len(llr), llr))
        source.to_basic_block()._post(pmt.intern("pdus"), message)
        ends = time.monotonic() + 10
        while len(sink.data) < WIFI.k and time.monotonic() < ends:
            time.sleep(0.01)
        got = sink.data
        top.stop()
        top.wait()
        np.testing.assert_array_equal(got, info[0])

    def test_start_stop_start(self):
        info, words = random_words(WIFI, COUNT)
        source, sink = Source(received(words, 0.5).ravel()), Sink("uint8")
        block = cudaphy.ldpc_decoder(WIFI, backend=BACKEND, max_batch=7, packed=True)
        top = gr.top_block()
        top.connect(source.block, block, sink.block)
        for run in (1, 2, 3):
            self.run_flowgraph(top)
            np.testing.assert_array_equal(sink.data, packed(info).ravel())
            self.assertEqual(block.frames(), run * COUNT)
            source.block.rewind()
            sink.block.reset()

    def test_the_end_of_a_stream_is_flushed(self):
        info, words = random_words(WIFI, COUNT)
        llr = received(words, 0.5)
        for count in (1, 2, 31, 33):
            for cut in (0, 1, WIFI.n - 1):
                stream = llr[:count].ravel()[: count * WIFI.n - cut]
                (sink,), _ = self.decode(stream, max_batch=1000, max_latency=1.0)
                whole = count - (cut > 0)
                np.testing.assert_array_equal(sink.data, info[:whole].ravel())

    def test_unknown_names_are_refused(self):
        for options, texts in (
            ({"type": "int16"}, ("int16", "float", "float16", "int8")),
            ({"algorithm": "bp"}, ("bp", "normalized_min_sum", "sum_product")),
            ({"schedule": "serial"}, ("serial", "layered", "flooding")),
            ({"arithmetic": "int4"}, ("int4", "auto", "float32", "int8")),
            ({"arithmetic": "int8", "schedule": "flooding"}, ("int8", "layered")),
            ({"offset": -1}, ("offset", "1e4")),
            ({"llr_steps": -1}, ("llr_steps", "64")),
            ({"llr_steps": 65}, ("llr_steps", "64")),
            ({"llr_scale": 0}, ("llr_scale", "1e6")),
            ({"llr_scale": float("nan")}, ("llr_scale", "1e6")),
            ({"stop_crc": "32"}, ("32", "24A", "16")),
        ):
            with self.subTest(**options), self.assert_refuses(*texts):
                cudaphy.ldpc_decoder(WIFI, backend=BACKEND, **options)
        with self.assertRaisesRegex(TypeError, "algorithmus"):
            cudaphy.ldpc_decoder(WIFI, algorithmus="sum_product")
        with self.assertRaisesRegex(TypeError, "packed_input"):
            cudaphy.ldpc_encoder(WIFI, packed_input="both ways")


if __name__ == "__main__":
    main()
