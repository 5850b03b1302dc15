#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks ldpc_encoder_pdu and ldpc_decoder_pdu."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, FlowgraphCase, main
from qa_support.words import random_words, received

WIFI = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
LONG = cudaphy.ldpc_code("wifi", n=1944, rate="5/6")
MAKE = {
    "uint8": pmt.init_u8vector,
    "int8": pmt.init_s8vector,
    "float32": pmt.init_f32vector,
    "int16": pmt.init_s16vector,
}


def pdu(vector, **metadata):
    items = pmt.make_dict()
    for key, value in metadata.items():
        items = pmt.dict_add(items, pmt.intern(key), pmt.to_pmt(value))
    return pmt.cons(items, MAKE[vector.dtype.name](vector.size, vector.ravel().tolist()))


class qa_ldpc_pdu(FlowgraphCase):
    def run_messages(self, block, messages, ports, count=None):
        """{port: [(metadata, vector)]} of the messages that the block puts out."""
        top = gr.top_block()
        sinks = {port: blocks.message_debug() for port in ports}
        for port, sink in sinks.items():
            top.msg_connect(block, port, sink, "store")
        for message in messages:  # before the start: messages wait
            block.to_basic_block()._post(pmt.intern("pdus"), message)
        top.start()
        count = len(messages) if count is None else count
        ends = time.monotonic() + 20
        while (
            sum(sink.num_messages() for sink in sinks.values()) < count
            and time.monotonic() < ends
        ):
            time.sleep(0.005)
        time.sleep(0.02)
        top.stop()
        top.wait()
        return {
            port: [
                (
                    pmt.to_python(pmt.car(sink.get_message(i))),
                    np.array(pmt.to_python(pmt.cdr(sink.get_message(i)))),
                )
                for i in range(sink.num_messages())
            ]
            for port, sink in sinks.items()
        }

    def decode(self, messages, ports=("ok", "fail"), count=None, **options):
        block = cudaphy.ldpc_decoder_pdu(WIFI, backend=BACKEND, **options)
        return self.run_messages(block, messages, ports, count), block

    def test_words_of_all_types_and_codes_keep_their_metadata(self):
        messages, sent, rng = [], [], np.random.default_rng(5)
        for number in range(60):
            code, name = ((WIFI, None), (LONG, "long"))[rng.integers(2)]
            info, words = random_words(code, int(rng.integers(1, 5)), number)
            llr = received(words, 0.3)
            steps = np.clip(np.rint(llr), -127, 127).astype("int8")
            vector = (llr, steps, steps.view("uint8"))[rng.integers(3)]
            metadata = {"number": number, **({"ldpc_code": name} if name else {})}
            messages.append(pdu(vector, **metadata))
            sent.append((metadata, info))
        for max_batch in (0, 1, 3):
            got, block = self.decode(messages, codes={"long": LONG}, max_batch=max_batch)
            self.assertEqual(got["fail"], [])
            self.assertEqual(len(got["ok"]), 60)
            for (metadata, bits), (before, info) in zip(got["ok"], sent):
                np.testing.assert_array_equal(bits, info.ravel())
                self.assertEqual({k: metadata[k] for k in before}, before)
                self.assertIs(metadata["ldpc_ok"], True)
                self.assertTrue(0 <= metadata["iterations"] <= 20)
            self.assertEqual(block.frames(), sum(len(info) for _, info in sent))
            self.assertEqual(block.frame_errors(), 0)
            self.assertEqual(block.backend(), BACKEND)

    def test_pdus_of_several_codes_are_decoded_together(self):
        codes = {
            f"{n} {rate}": cudaphy.ldpc_code("wifi", n=n, rate=rate)
            for n in (648, 1944)
            for rate in ("1/2", "2/3", "5/6")
        }
        messages, sent = [], []
        for number in range(30):
            name = list(codes)[number % 5]  # no word of the sixth code
            info, words = random_words(codes[name], 1 + number % 3, number)
            messages.append(pdu(received(words, 0.2), number=number, ldpc_code=name))
            sent.append(info)
        frames = sum(len(info) for info in sent)
        for max_batch, most in ((0, frames), (7, 7), (1, 3)):
            got, block = self.decode(messages, codes=codes, max_batch=max_batch)
            self.assertEqual([m["number"] for m, _ in got["ok"]], list(range(30)))
            for (_, bits), info in zip(got["ok"], sent):
                np.testing.assert_array_equal(bits, info.ravel())
            counted = block.stats()
            self.assertEqual(counted["frames"], frames)
            self.assertLessEqual(counted["largest_batch"], most)
            if max_batch == 0:
                self.assertEqual(counted["batches"], 1)

    def test_a_failed_word_fails_its_pdu(self):
        info, words = random_words(WIFI, 6)
        llr = received(words, 0.3)
        llr[[1, 4]] = 5 * np.random.default_rng(7).standard_normal((2, WIFI.n))
        messages = [pdu(llr[:1], n=0), pdu(llr[1:2], n=1), pdu(llr[2:6], n=2)]
        got, block = self.decode(messages, max_iterations=15)
        ((good, bits),) = got["ok"]
        self.assertEqual(good["n"], 0)
        np.testing.assert_array_equal(bits, info[0])
        self.assertEqual([metadata["n"] for metadata, _ in got["fail"]], [1, 2])
        for metadata, _ in got["fail"]:
            self.assertEqual((metadata["ldpc_ok"], metadata["frame_errors"]), (False, 1))
            self.assertEqual(metadata["iterations"], 15)
            self.assertIn("checks", metadata["reason"])
        whole = got["fail"][1][1].reshape(4, -1)
        np.testing.assert_array_equal(whole[[0, 1, 3]], info[[2, 3, 5]])
        self.assertEqual((block.frames(), block.frame_errors()), (6, 2))

    def test_nan_is_counted_in_its_pdu(self):
        info, words = random_words(WIFI, 4)
        llr = received(words, 0.3)
        llr[1, :3] = llr[3, -4:] = np.nan
        got, block = self.decode(
            [pdu(llr[:1], n=0), pdu(llr[1:3], n=1), pdu(llr[3:], n=2)]
        )
        counts = [metadata.get("nan_llrs") for metadata, _ in got["ok"]]
        self.assertEqual(counts, [None, 3, 4])
        self.assertEqual(block.nan_llrs(), 7)

    def test_pdus_that_cannot_be_decoded_come_back_with_a_reason(self):
        info, words = random_words(WIFI, 2)
        llr = received(words, 0.3)
        messages = [
            pdu(llr[0], n=0),
            pdu(llr[0], n=1, ldpc_code="none"),
            pdu(llr[0][:-1], n=2),
            pdu(llr[0][:0], n=3),
            pdu(llr[0].astype("int16"), n=4),
            pdu(llr[0], n=5, ldpc_code=7),
            pmt.intern("no PDU"),
            pmt.cons(pmt.PMT_NIL, pmt.intern("no vector")),
            pmt.cons(pmt.PMT_NIL, pmt.cdr(pdu(llr[1]))),
        ]
        got, block = self.decode(messages)
        self.assertEqual([m.get("n") for m, _ in got["ok"]], [0, None])
        np.testing.assert_array_equal(got["ok"][1][1], info[1])
        reasons = [metadata["reason"] for metadata, _ in got["fail"]]
        unknown, length = "names no code", "no whole number of codewords"
        texts = (unknown, length, length, "neither f32 nor s8 nor u8")
        texts += (unknown, "no PDU", "no uniform vector")
        for reason, text in zip(reasons, texts):
            self.assertIn(text, reason)
        names = [metadata.get("ldpc_code") for metadata, _ in got["fail"]]
        self.assertEqual([names[0], names[4]], ["none", 7])
        lengths = [(m.get("received"), m.get("expected")) for m, _ in got["fail"]]
        self.assertEqual(lengths[1:3], [(647, 648), (0, 648)])
        self.assertEqual(set(lengths[:1] + lengths[3:]), {(None, None)})
        self.assertEqual(len(reasons), len(texts))
        np.testing.assert_array_equal(got["fail"][1][1], llr[0][:-1])
        self.assertEqual(block.refused_packets(), len(texts))

    def test_soft_and_packed_output(self):
        info, words = random_words(WIFI, 3)
        got, _ = self.decode(
            [pdu(received(words, 0.3), n=9)],
            ("ok", "soft"),
            2,
            soft_output=True,
            packed=True,
            llr_positive=0,
        )
        np.testing.assert_array_equal(got["ok"][0][1], np.packbits(info, axis=1).ravel())
        metadata, soft = got["soft"][0]
        np.testing.assert_array_equal(soft < 0, info.ravel())
        self.assertEqual((metadata["n"], metadata["ldpc_ok"]), (9, True))

    def test_a_single_pdu_is_decoded_at_once(self):
        info, words = random_words(WIFI, 1)
        got, _ = self.decode([pdu(received(words, 0.3))], max_batch=1000)
        np.testing.assert_array_equal(got["ok"][0][1], info[0])

    def test_the_encoder_makes_codewords_and_refuses_other_lengths(self):
        for packed_in in (False, True):
            for packed_out in (False, True):
                messages, expected = [], []
                for number in range(20):
                    code, name = ((WIFI, WIFI.name), (LONG, "long"))[number % 3 == 0]
                    info, words = random_words(code, 1 + number % 4, number)
                    if packed_in:
                        info = np.packbits(info, axis=1)
                    messages.append(pdu(info, n=number, ldpc_code=name))
                    words = np.packbits(words, axis=1) if packed_out else words
                    expected.append(words.ravel())
                messages.append(pdu(np.ones(5, "uint8"), n=20))
                messages.append(pdu(np.ones(5, "float32"), n=21))
                block = cudaphy.ldpc_encoder_pdu(
                    WIFI,
                    backend=BACKEND,
                    codes={"long": LONG},
                    packed_input=packed_in,
                    packed_output=packed_out,
                )
                got = self.run_messages(block, messages, ("pdus", "fail"))
                self.assertEqual([m["n"] for m, _ in got["pdus"]], list(range(20)))
                for (_, vector), words in zip(got["pdus"], expected):
                    np.testing.assert_array_equal(vector, words)
                reasons = [m["reason"] for m, _ in got["fail"]]
                self.assertIn("no whole number of information words", reasons[0])
                wanted = 41 if packed_in else 324  # 324 bits
                lengths = [got["fail"][0][0][key] for key in ("received", "expected")]
                self.assertEqual(lengths, [5, wanted])
                self.assertIn("u8", reasons[1])
                self.assertEqual(block.refused_packets(), 2)

    def test_refusals_that_differ_do_not_fill_the_memory(self):
        """GNU Radio never frees a PMT symbol: 20,000 different texts would take 4 MB."""
        # Made once, because making 48,000 messages would take most of the test's time.
        vectors = [pmt.init_u8vector(n, [1] * n) for n in range(1, 601)]
        key, port_in = pmt.intern("ldpc_code"), pmt.intern("pdus")

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        def post(block, first, count):
            receiver = block.to_basic_block()
            for number in range(first, first + count):
                code = pmt.from_long(number + 10 if number % 2 else 0)
                metadata = pmt.dict_add(pmt.make_dict(), key, code)
                message = pmt.cons(metadata, vectors[number % 600])
                receiver._post(port_in, message)
            ends = time.monotonic() + 60
            while block.refused_packets() < first + count and time.monotonic() < ends:
                time.sleep(0.001)
            self.assertEqual(block.refused_packets(), first + count)

        for make, port in (
            (cudaphy.ldpc_decoder_pdu, "ok"),
            (cudaphy.ldpc_encoder_pdu, "pdus"),
        ):
            block = make(LONG, backend=BACKEND)
            top = gr.top_block()
            top.msg_connect(block, port, blocks.message_debug(), "store")
            top.start()
            try:
                for first in range(0, 4000, 500):
                    post(block, first, 500)
                before = resident()
                for first in range(4000, 24000, 500):
                    post(block, first, 500)
                self.assertLess(resident() - before, 2 << 20)
            finally:
                top.stop()
                top.wait()

    def test_refuses_parameters_out_of_range(self):
        for make in (cudaphy.ldpc_decoder_pdu, cudaphy.ldpc_encoder_pdu):
            for value in (-1, (1 << 24) + 1):
                with self.assert_refuses("max_batch", "16777216"):
                    make(WIFI, backend=BACKEND, max_batch=value)
            with self.assertRaises((ValueError, TypeError)):
                make(None)
        with self.assertRaisesRegex(TypeError, "length_tag_key"):
            cudaphy.ldpc_decoder_pdu(WIFI, length_tag_key="packet_len")


if __name__ == "__main__":
    main()
