#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks bch_encoder and bch_decoder, beside the functions on arrays."""

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

CODES = {
    "BCH (31, 21, 2)": cudaphy.bch_code(5, 2),
    "short": cudaphy.bch_code(8, 3, 100),  # (155, 131)
    "dvb": cudaphy.bch_code.dvbs2("short", "1/4"),
    "byte": cudaphy.bch_code(10, 4, 7),  # (1016, 976)
}
NAMES = list(CODES)
FIRST = CODES[NAMES[0]]
FURTHER = {name: CODES[name] for name in NAMES[1:]}
PACKINGS = [(i, o) for i in (False, True) for o in (False, True)]


def laid_out(words, packed):
    """Words of a bit a byte as a stream has them, flat."""
    return (np.packbits(words, axis=-1) if packed else words).ravel()


class Packets:
    """Packets of (code's name, words): their bits, and their codewords with up to t + 3 errors in each."""

    def __init__(self, sizes, seed=1, errors=None):
        rng = np.random.default_rng(seed)
        self.sizes = sizes
        self.info, self.sent, self.received = [], [], []
        for name, count in sizes:
            code = CODES[name]
            bits = rng.integers(0, 2, (count, code.k), np.uint8)
            words = cudaphy.bch_encode(code, bits, backend="cpu")
            self.info.append(bits)
            self.sent.append(words.copy())
            for word in words:
                wrong = rng.integers(code.t + 4) if errors is None else errors
                word[rng.choice(code.n, wrong, replace=False)] ^= 1
            self.received.append(words)
        decoded = [
            cudaphy.bch_decode(CODES[name], words, backend="cpu")
            for (name, _), words in zip(sizes, self.received)
        ]
        self.decoded = [bits for bits, _ in decoded]
        self.corrected = [count for _, count in decoded]

    def tags(self, parts, by=lambda name: name):
        """Tags of packets as they lie in the stream: length, code, and a number to recognise each by."""
        lengths = [part.size for part in parts]
        tags = packet_tags(lengths)
        for number, (head, (name, _)) in enumerate(zip(heads(lengths), self.sizes)):
            tags.append(tag(head, "bch_code", by(name)))
            tags.append(tag(head, "number", number))
        return tags


def heads(lengths):
    return [int(n) for n in np.cumsum([0, *lengths])[:-1]]


def many(count, seed=3, most=4):
    rng = np.random.default_rng(seed)
    return [
        (NAMES[rng.integers(len(NAMES))], int(rng.integers(1, most + 1)))
        for _ in range(count)
    ]


class qa_bch_blocks(FlowgraphCase):
    def setUp(self):
        self.rng = np.random.default_rng(5)

    def word_tags(self, sink):
        return sink.tags("bch_corrected"), sink.tags("bch_ok")

    def wanted_tags(self, corrected, items):
        """Of words of `items` each, in order."""
        ends = np.cumsum([0, *items])
        found = [(int(at), int(n)) for at, n in zip(ends, corrected)]
        return found, [(at, n >= 0) for at, n in found]

    def test_a_plain_stream_of_each_code_in_each_packing(self):
        for name, code in CODES.items():
            packets = Packets([(name, 37)])
            for packed_input, packed_output in PACKINGS:
                for max_batch in (0, 1, 5):
                    packing = {
                        "packed_input": packed_input,
                        "packed_output": packed_output,
                        "max_batch": max_batch,
                        "backend": BACKEND,
                    }
                    with self.subTest(name, **packing):
                        self.check_plain(code, packets, packing)

    def check_plain(self, code, packets, packing):
        into, out = packing["packed_input"], packing["packed_output"]
        encoder = cudaphy.bch_encoder(code, **packing)
        info = laid_out(packets.info[0], into)
        (sink,) = self.through(encoder, [info], [("uint8", 0)])
        np.testing.assert_array_equal(sink.data, laid_out(packets.sent[0], out))

        decoder = cudaphy.bch_decoder(code, **packing)
        words = laid_out(packets.received[0], into)
        (sink,) = self.through(decoder, [words], [("uint8", 0)])
        np.testing.assert_array_equal(sink.data, laid_out(packets.decoded[0], out))
        corrected = packets.corrected[0]
        items = 37 * [len(sink.data) // 37]
        self.assertEqual(self.word_tags(sink), self.wanted_tags(corrected, items))
        self.assertEqual(decoder.frames(), 37)
        self.assertEqual(decoder.frame_errors(), (corrected < 0).sum())
        self.assertEqual(decoder.corrected_bits(), corrected[corrected > 0].sum())
        self.assertEqual(decoder.stats()["failures"], decoder.frame_errors())

    def decode(self, stream, tags, first=FIRST, **options):
        """The sink, the block, and the metadata of what its port fail sent."""
        options = {"codes": FURTHER, "length_tag_key": KEY, **options}
        block = cudaphy.bch_decoder(first, backend=BACKEND, **options)
        return self.run_coder(block, stream, tags)

    def run_coder(self, block, stream, tags):
        top, source, sink = gr.top_block(), Source(stream, tags), Sink("uint8")
        debug = blocks.message_debug()
        top.connect(source.block, block, sink.block)
        top.msg_connect(block, "fail", debug, "store")
        self.run_flowgraph(top)
        ends = time.monotonic() + 5
        while debug.num_messages() < block.refused_packets() and time.monotonic() < ends:
            time.sleep(0.01)
        failed = [debug.get_message(i) for i in range(debug.num_messages())]
        return sink, block, [pmt.to_python(pmt.car(pdu)) for pdu in failed]

    def test_packets_of_several_codes_come_out_in_order(self):
        packets = Packets(many(150))
        corrected = np.concatenate(packets.corrected)
        for packed_input, packed_output in PACKINGS:
            received = [laid_out(words, packed_input) for words in packets.received]
            decoded = [laid_out(bits, packed_output) for bits in packets.decoded]
            items = [
                part.size // count
                for part, (_, count) in zip(decoded, packets.sizes)
                for _ in range(count)
            ]
            for by in (lambda name: name, NAMES.index):
                for max_batch in (0, 1, 3):
                    sink, block, failed = self.decode(
                        np.concatenate(received),
                        packets.tags(received, by),
                        max_batch=max_batch,
                        packed_input=packed_input,
                        packed_output=packed_output,
                    )
                    self.assertEqual((failed, block.refused_packets()), ([], 0))
                    np.testing.assert_array_equal(sink.data, np.concatenate(decoded))
                    at = heads([part.size for part in decoded])
                    lengths = [(h, part.size) for h, part in zip(at, decoded)]
                    self.assertEqual(sink.tags(KEY), lengths)
                    numbers = [(h, i) for i, h in enumerate(at)]
                    self.assertEqual(sink.tags("number"), numbers)
                    wanted = self.wanted_tags(corrected, items)
                    self.assertEqual(self.word_tags(sink), wanted)
                    self.assertEqual(block.frames(), len(corrected))

    def test_an_encoder_of_several_codes(self):
        packets = Packets(many(60))
        for packed_input, packed_output in PACKINGS:
            info = [laid_out(bits, packed_input) for bits in packets.info]
            encoder = cudaphy.bch_encoder(
                FIRST,
                KEY,
                BACKEND,
                codes=FURTHER,
                packed_input=packed_input,
                packed_output=packed_output,
            )
            sink, _, _ = self.run_coder(encoder, np.concatenate(info), packets.tags(info))
            sent = [laid_out(words, packed_output) for words in packets.sent]
            np.testing.assert_array_equal(sink.data, np.concatenate(sent))
            at = heads([part.size for part in sent])
            names = [(h, name) for h, (name, _) in zip(at, packets.sizes)]
            self.assertEqual(sink.tags("bch_code"), names)

    def test_only_failed_words_have_tags(self):
        packets = Packets(many(80))
        received = [words.ravel() for words in packets.received]
        corrected = np.concatenate(packets.corrected)
        items = np.concatenate([len(b) * [b.shape[1]] for b in packets.decoded])
        found = self.wanted_tags(corrected, items)
        for max_batch in (0, 2):
            sink, block, _ = self.decode(
                np.concatenate(received),
                packets.tags(received),
                word_tags="failed",
                max_batch=max_batch,
            )
            failed = [
                [tag for tag in found[i] if tag[1] == (-1, False)[i]] for i in (0, 1)
            ]
            self.assertEqual(self.word_tags(sink), tuple(failed))
            self.assertEqual(block.frames(), len(corrected))
            self.assertEqual(block.corrected_bits(), corrected[corrected > 0].sum())

    def test_failed_words_are_dropped(self):
        packets = Packets(many(80))
        received = [words.ravel() for words in packets.received]
        good = [count >= 0 for count in packets.corrected]
        kept = [word for bits, ok in zip(packets.decoded, good) for word in bits[ok]]
        for max_batch in (0, 2):
            sink, block, _ = self.decode(
                np.concatenate(received),
                packets.tags(received),
                on_failure="drop",
                max_batch=max_batch,
            )
            np.testing.assert_array_equal(sink.data, np.concatenate(kept))
            at = heads([word.size for word in kept])
            self.assertEqual(sink.tags(KEY), [(h, w.size) for h, w in zip(at, kept)])
            self.assertEqual(sink.tags("bch_ok"), [(h, True) for h in at])
            self.assertEqual(block.frame_errors(), sum((~ok).sum() for ok in good))

    def test_packets_of_no_code_or_of_a_wrong_length_are_passed_over(self):
        sizes = many(30)
        packets = Packets(sizes)
        received = [words.ravel() for words in packets.received]
        names = [name for name, _ in sizes]
        names[0], names[5], names[7], names[29] = "unknown", 4, -1, 2.5
        received[11] = received[11][:-1]
        bad = [0, 5, 7, 11, 29]
        given = iter(names)
        tags = packets.tags(received, lambda _: next(given))
        with captured_log() as log:
            sink, block, failed = self.decode(np.concatenate(received), tags)
        good = [i for i in range(30) if i not in bad]
        wanted = np.concatenate([packets.decoded[i].ravel() for i in good])
        np.testing.assert_array_equal(sink.data, wanted)
        self.assertEqual([n for _, n in sink.tags("number")], good)
        self.assertEqual([pdu["number"] for pdu in failed], bad)
        self.assertEqual(block.refused_packets(), 5)
        self.assertIn("bch_code names no code", failed[0]["reason"])
        self.assertIn("0 to 3, BCH (31, 21, 2), short, dvb, byte", failed[0]["reason"])
        self.assertIn("no whole number of words", failed[3]["reason"])
        expected = CODES[names[11]].n
        lengths = failed[3]["received"], failed[3]["expected"]
        self.assertEqual(lengths, (received[11].size, expected))
        self.assertIn("passed over", log.text)

    def test_numbers_count_each_name_though_two_mean_one_code(self):
        codes = {"a": FIRST, "b": CODES["short"], "c": CODES["byte"]}
        packets = Packets([("short", 1), (NAMES[0], 1), ("byte", 1)])
        received = [words.ravel() for words in packets.received]
        numbers = {"short": 2, NAMES[0]: 1, "byte": 3}
        tags = packets.tags(received, numbers.get)
        sink, block, _ = self.decode(np.concatenate(received), tags, codes=codes)
        wanted = np.concatenate([bits.ravel() for bits in packets.decoded])
        np.testing.assert_array_equal(sink.data, wanted)
        self.assertEqual(block.refused_packets(), 0)

    def test_a_stream_again_after_its_end_and_to_two_readers(self):
        packets = Packets([("dvb", 9)])
        top, decoder = gr.top_block(), cudaphy.bch_decoder(CODES["dvb"], backend=BACKEND)
        source = Source(packets.received[0].ravel())
        sinks = [Sink("uint8") for _ in range(2)]
        top.connect(source.block, decoder)
        for sink in sinks:
            top.connect(decoder, sink.block)
        for turn in (1, 2, 3):
            self.run_flowgraph(top)
            for sink in sinks:
                np.testing.assert_array_equal(sink.data, packets.decoded[0].ravel())
                sink.block.reset()
            self.assertEqual(decoder.frames(), 9 * turn)
            source.block.rewind()

    def test_a_stream_that_ends_within_a_word_leaves_whole_words(self):
        packets = Packets([("dvb", 5)])
        decoder = cudaphy.bch_decoder(CODES["dvb"], backend=BACKEND)
        stream = packets.received[0].ravel()[:-1]
        (sink,) = self.through(decoder, [stream], [("uint8", 0)])
        np.testing.assert_array_equal(sink.data, packets.decoded[0][:4].ravel())

    def test_errors_say_what_is_wrong(self):
        code = CODES["short"]
        for make in (cudaphy.bch_encoder, cudaphy.bch_decoder):
            with self.assert_refuses("no BCH code was given"):
                make(None, backend=BACKEND)
            with self.assertRaises(TypeError):
                make(cudaphy.ldpc_code("wifi", n=648, rate="1/2"), backend=BACKEND)
            with self.assertRaisesRegex(TypeError, "is no bch_code"):
                make(code, length_tag_key=KEY, codes={"a": 7}, backend=BACKEND)
            for codes in ({"BCH (155, 131, 3)": FIRST}, [FIRST, cudaphy.bch_code(5, 2)]):
                with self.assert_refuses("two codes have the name"):
                    make(code, length_tag_key=KEY, codes=codes, backend=BACKEND)
            with self.assert_refuses("need a length tag key"):
                make(code, codes=FURTHER, backend=BACKEND)
            with self.assert_refuses("code_tag_key is empty"):
                options = {"length_tag_key": KEY, "code_tag_key": ""}
                make(code, codes=FURTHER, backend=BACKEND, **options)
            with self.assert_refuses("max_batch"):
                make(code, max_batch=-1, backend=BACKEND)
            with self.assertRaisesRegex(TypeError, "unexpected"):
                make(code, backend=BACKEND, soft=True)
        with self.assert_refuses("on_failure", "ignore"):
            cudaphy.bch_decoder(code, "ignore", backend=BACKEND)
        with self.assert_refuses("word_tags", "none"):
            cudaphy.bch_decoder(code, word_tags="none", backend=BACKEND)


if __name__ == "__main__":
    main()
