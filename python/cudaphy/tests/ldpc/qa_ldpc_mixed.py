#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks ldpc_encoder and ldpc_decoder with packets of several codes."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
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

CODES = {
    "wifi 648 1/2": cudaphy.ldpc_code("wifi", n=648, rate="1/2"),
    "long": cudaphy.ldpc_code("wifi", n=1944, rate="5/6"),
    "dvb": cudaphy.ldpc_code("dvbs2", frame="short", rate="2/3"),
    "short": cudaphy.ldpc_code("wifi", n=648, rate="3/4"),
}
NAMES = list(CODES)
FIRST = CODES[NAMES[0]]
FURTHER = {name: CODES[name] for name in NAMES[1:]}
N0 = {"wifi 648 1/2": 0.5, "long": 0.25, "dvb": 0.4, "short": 0.3}


class Packets:
    """Packets of (code's name, codewords) with their bits, codewords and LLRs."""

    def __init__(self, sizes, seed=1):
        rng = np.random.default_rng(seed)
        self.sizes = sizes
        self.info = [
            rng.integers(0, 2, (n, CODES[name].k)).astype("uint8") for name, n in sizes
        ]
        self.words = [
            cudaphy.ldpc_encode(CODES[name], bits, "cpu")
            for (name, _), bits in zip(sizes, self.info)
        ]
        self.llr = [
            received(words, N0[name], rng) for (name, _), words in zip(sizes, self.words)
        ]

    def stream(self, parts):
        return np.concatenate([part.ravel() for part in parts])

    def tags(self, parts, by=lambda name: name):
        """Tags of each packet: its length, its code, and a number to recognise it by."""
        lengths = [part.size for part in parts]
        heads = np.cumsum([0] + lengths[:-1])
        tags = packet_tags(lengths)
        for number, (head, (name, _)) in enumerate(zip(heads, self.sizes)):
            tags.append(tag(int(head), "ldpc_code", by(name)))
            tags.append(tag(int(head), "number", number))
        return tags


def many(count, seed=3, most=4):
    rng = np.random.default_rng(seed)
    return [
        (NAMES[rng.integers(len(NAMES))], int(rng.integers(1, most + 1)))
        for _ in range(count)
    ]


class qa_ldpc_mixed(FlowgraphCase):
    def decoder(self, **options):
        options = {"codes": FURTHER, "length_tag_key": KEY, **options}
        return cudaphy.ldpc_decoder(FIRST, backend=BACKEND, **options)

    def decode(self, stream, tags, **options):
        """The sink of bits, the block, and the PDUs of its port fail."""
        block, debug = self.decoder(**options), blocks.message_debug()
        top, source, sink = gr.top_block(), Source(stream, tags), Sink("uint8")
        top.connect(source.block, block, sink.block)
        top.msg_connect(block, "fail", debug, "store")
        self.run_flowgraph(top)
        count, ends = block.refused_packets(), time.monotonic() + 5
        while debug.num_messages() < count and time.monotonic() < ends:
            time.sleep(0.01)
        failed = [debug.get_message(i) for i in range(debug.num_messages())]
        return sink, block, [pmt.to_python(pmt.car(pdu)) for pdu in failed]

    def check_whole(self, sink, packets, outputs):
        np.testing.assert_array_equal(sink.data, packets.stream(outputs))
        heads = np.cumsum([0] + [part.size for part in outputs[:-1]])
        lengths = [(int(h), part.size) for h, part in zip(heads, outputs)]
        self.assertEqual(sink.tags(KEY), lengths)
        self.assertEqual(sink.tags("number"), [(int(h), i) for i, h in enumerate(heads)])

    def test_packets_of_all_codes_come_out_in_order(self):
        packets = Packets(many(120))
        words = [
            h + i * part.shape[1]
            for part, h in zip(
                packets.info, np.cumsum([0] + [p.size for p in packets.info[:-1]])
            )
            for i in range(len(part))
        ]
        for max_batch in (0, 1, 3):
            sink, block, failed = self.decode(
                packets.stream(packets.llr),
                packets.tags(packets.llr),
                max_batch=max_batch,
            )
            self.check_whole(sink, packets, packets.info)
            self.assertEqual(sink.tags("ldpc_ok"), [(int(w), True) for w in words])
            self.assertEqual(block.frames(), len(words))
            self.assertEqual((failed, block.refused_packets()), ([], 0))

    def test_a_code_may_be_named_by_its_number(self):
        packets = Packets(many(20))
        tags = packets.tags(packets.llr, NAMES.index)
        sink, _, _ = self.decode(packets.stream(packets.llr), tags)
        self.check_whole(sink, packets, packets.info)

    def test_a_list_of_codes_goes_by_their_own_names(self):
        packets = Packets(many(20))
        tags = packets.tags(packets.llr, lambda name: CODES[name].name)
        sink, _, _ = self.decode(
            packets.stream(packets.llr), tags, codes=list(FURTHER.values())
        )
        self.check_whole(sink, packets, packets.info)

    def test_another_key_and_packets_that_name_no_code(self):
        packets = Packets([(NAMES[0], 2), ("dvb", 1), (NAMES[0], 1)])
        tags = packets.tags(packets.llr)
        lengths = packet_tags([part.size for part in packets.llr])
        head = packets.llr[0].size
        tags = lengths + [tag(head, "modcod", "dvb")]
        sink, _, _ = self.decode(packets.stream(packets.llr), tags, code_tag_key="modcod")
        np.testing.assert_array_equal(sink.data, packets.stream(packets.info))

    def test_packets_that_cannot_be_decoded_are_passed_over(self):
        sizes = many(30)
        packets = Packets(sizes)
        bad = {0: "unknown", 4: 17, 5: -1, 11: 2.5, 29: "nothing"}
        named = iter(range(len(sizes)))
        tags = packets.tags(
            packets.llr,
            lambda name: bad.get(number, name)
            if (number := next(named)) is not None
            else name,
        )
        good = [i for i in range(len(sizes)) if i not in bad]
        for max_batch in (0, 1):
            with captured_log() as log:
                sink, block, failed = self.decode(
                    packets.stream(packets.llr), tags, max_batch=max_batch
                )
            expected = packets.stream([packets.info[i] for i in good])
            np.testing.assert_array_equal(sink.data, expected)
            self.assertEqual([n for _, n in sink.tags("number")], good)
            self.assertEqual(block.refused_packets(), len(bad))
            self.assertEqual([pdu["number"] for pdu in failed], list(bad))
            for pdu, name in zip(failed, bad.values()):
                self.assertEqual(pdu["ldpc_code"], name)
                self.assertIn("ldpc_code names no code", pdu["reason"])
                self.assertIn("0 to 3, wifi 648 1/2, long, dvb, short", pdu["reason"])
                self.assertEqual(pdu[KEY], packets.llr[pdu["number"]].size)
            self.assertIn("passed over", log.text)

    def test_a_length_that_fits_no_codeword_is_passed_over(self):
        packets = Packets([("long", 2), ("dvb", 1), ("short", 3), (NAMES[0], 1)])
        for cut in (1, 647, 16199):
            llr = list(packets.llr)
            llr[1] = llr[1].ravel()[:-cut]
            sink, block, failed = self.decode(packets.stream(llr), packets.tags(llr))
            expected = [packets.info[i] for i in (0, 2, 3)]
            np.testing.assert_array_equal(sink.data, packets.stream(expected))
            self.assertEqual([n for _, n in sink.tags("number")], [0, 2, 3])
            self.assertIn("no whole number of words", failed[0]["reason"])
            lengths = failed[0]["received"], failed[0]["expected"]
            self.assertEqual(lengths, (16200 - cut, 16200))
            self.assertEqual(block.refused_packets(), 1)

    def test_a_refused_packet_longer_than_any_buffer(self):
        packets = Packets([("long", 2), ("dvb", 150), ("short", 3)])
        tags = packets.tags(packets.llr, lambda name: name.replace("dvb", "none"))
        sink, _, failed = self.decode(
            packets.stream(packets.llr),
            tags,
            max_batch=1,
            codes={"long": CODES["long"], "short": CODES["short"]},
        )
        expected = [packets.info[0], packets.info[2]]
        np.testing.assert_array_equal(sink.data, packets.stream(expected))
        self.assertEqual(len(failed), 1)

    def test_failed_words_are_dropped_among_mixed_packets(self):
        packets = Packets(many(40))
        rng = np.random.default_rng(9)
        llr, expected, numbers = [], [], []
        for i, part in enumerate(packets.llr):
            part = part.copy()
            lost = rng.random(len(part)) < 0.3
            part[lost] = 5 * rng.standard_normal((lost.sum(), part.shape[1]))
            llr.append(part)
            expected += list(packets.info[i][~lost])
            numbers += [] if lost[0] else [i]
        for max_batch in (0, 2):
            sink, block, _ = self.decode(
                packets.stream(llr),
                packets.tags(llr),
                on_failure="drop",
                max_iterations=15,
                max_batch=max_batch,
            )
            np.testing.assert_array_equal(sink.data, np.concatenate(expected))
            heads = np.cumsum([0] + [word.size for word in expected[:-1]])
            lengths = [(int(h), word.size) for h, word in zip(heads, expected)]
            self.assertEqual(sink.tags(KEY), lengths)
            self.assertEqual([n for _, n in sink.tags("number")], numbers)

    def test_packets_of_one_word_share_batches_whatever_their_codes(self):
        packets = Packets([(NAMES[i % len(NAMES)], 1) for i in range(240)])
        sink, block, _ = self.decode(
            packets.stream(packets.llr), packets.tags(packets.llr)
        )
        self.check_whole(sink, packets, packets.info)
        self.assertEqual(block.stats()["frames"], 240)
        self.assertLess(block.stats()["batches"], 60)

    def test_a_word_of_another_code_may_wait_for_a_fuller_batch_too(self):
        packets = Packets([(NAMES[i % 2], 1) for i in range(60)])
        stream = packets.stream(packets.llr)
        source = Source(stream, packets.tags(packets.llr))
        block = self.decoder(max_latency=0.4)
        top, sink = gr.top_block(), Sink("uint8")
        pace = blocks.throttle(gr.sizeof_float, len(stream), False)  # takes a second
        pace.set_max_noutput_items(1024)
        top.connect(source.block, pace, block, sink.block)
        self.run_flowgraph(top)
        self.check_whole(sink, packets, packets.info)
        self.assertLessEqual(block.stats()["batches"], 15)

    def test_a_word_comes_out_as_it_does_alone(self):
        packets = Packets(many(60))
        rng = np.random.default_rng(4)
        llr = []
        for part in packets.llr:
            part = part * rng.uniform(0.3, 1, part.shape).astype("float32")
            part[rng.random(part.shape) < 0.002] = np.nan
            part[rng.random(len(part)) < 0.2] *= -1
            llr.append(part)
        options = {"soft_output": True, "packed": True, "max_iterations": 8}
        results = []
        for max_batch in (1, 0):
            block = self.decoder(max_batch=max_batch, **options)
            top, sinks = gr.top_block(), [Sink("uint8"), Sink("float32")]
            source = Source(packets.stream(llr), packets.tags(llr))
            top.connect(source.block, block)
            for port, sink in enumerate(sinks):
                top.connect((block, port), sink.block)
            self.run_flowgraph(top)
            results.append((block, sinks))
        (alone, ones), (together, sinks) = results
        self.assertGreater(alone.stats()["batches"], together.stats()["batches"])
        for one, sink in zip(ones, sinks):
            np.testing.assert_array_equal(sink.data, one.data)
            for key in (KEY, "number", "iterations", "ldpc_ok", "nan_llrs"):
                self.assertEqual(sink.tags(key), one.tags(key))
        self.assertEqual(together.nan_llrs(), sum(np.isnan(p).sum() for p in llr))
        self.assertEqual(together.frame_errors(), alone.frame_errors())
        self.assertGreater(alone.frame_errors(), 0)

    def test_encoder_noise_and_decoder_follow_the_tags(self):
        packets = Packets(many(60))
        encoder = cudaphy.ldpc_encoder(
            FIRST, backend=BACKEND, codes=FURTHER, length_tag_key=KEY
        )
        top, sink = gr.top_block(), Sink("uint8")
        source = Source(packets.stream(packets.info), packets.tags(packets.info))
        top.connect(
            source.block,
            encoder,
            blocks.uchar_to_float(),
            blocks.multiply_const_ff(-8),
            blocks.add_const_ff(4),
            self.decoder(type="float", max_batch=5),
            sink.block,
        )
        for _ in range(2):
            self.run_flowgraph(top)
            self.check_whole(sink, packets, packets.info)
            self.assertLess(encoder.stats()["batches"], 60)
            source.block.rewind()
            sink.block.reset()

    def test_the_encoder_passes_over_packets_that_it_cannot_encode(self):
        packets = Packets([("long", 2), ("dvb", 1), ("short", 3)])
        encoder = cudaphy.ldpc_encoder(
            FIRST,
            backend=BACKEND,
            codes={"long": CODES["long"], "short": CODES["short"]},
            length_tag_key=KEY,
        )
        (sink,) = self.through(
            encoder,
            [packets.stream(packets.info)],
            [("uint8", 0)],
            packets.tags(packets.info),
        )
        expected = [packets.words[0], packets.words[2]]
        np.testing.assert_array_equal(sink.data, packets.stream(expected))
        self.assertEqual(encoder.refused_packets(), 1)

    def test_codes_need_tag_keys_and_different_names(self):
        with self.assert_refuses("length tag key"):
            self.decoder(length_tag_key="")
        with self.assert_refuses("two codes", "wifi 648 1/2"):
            self.decoder(codes={FIRST.name: CODES["long"]})
        with self.assert_refuses("code_tag_key"):
            self.decoder(code_tag_key="")
        for codes in ({"a": None}, ["wifi"], 7):
            with self.assertRaises(TypeError):
                self.decoder(codes=codes)
        self.decoder(codes={})
        self.decoder(codes={"again": FIRST, "long": CODES["long"]})
        self.decoder(codes=None, length_tag_key="")


if __name__ == "__main__":
    main()
