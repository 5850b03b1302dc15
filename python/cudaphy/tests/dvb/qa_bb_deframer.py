#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block bb_deframer."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import (
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    main,
    packet_tags,
    tag,
)
from qa_support.dvb import (
    baseband_frame,
    gse_unit,
    sent_by_gnuradio,
    transport_stream,
    user_packets,
)

K = 7032  # of DVB-S2's short frames of rate 1/2
SIZE = K // 8
ERROR = 0x80  # transport_error_indicator


def frames_of(stream):
    """(frames, K) bits that GNU Radio sends."""
    bits = sent_by_gnuradio(stream, "short", "1/2", "scrambler")
    return bits.reshape(-1, K)


def unpacked(frame):
    return np.unpackbits(np.frombuffer(bytes(frame), np.uint8))


class qa_bb_deframer(FlowgraphCase):
    @classmethod
    def setUpClass(cls):
        cls.stream = transport_stream(150)
        cls.frames = frames_of(cls.stream)

    def deframe(self, items, tags=(), ports=(), pieces=0, **options):
        """(sink, block, {port: messages})."""
        block = cudaphy.bb_deframer(**options)
        top, source, sink = gr.top_block(), Source(items, tags), Sink("uint8")
        slow = blocks.copy(gr.sizeof_char)  # a source with tags gives all items at once
        if pieces:
            slow.set_max_noutput_items(pieces)
            block.set_max_output_buffer(4096)
            block.set_max_noutput_items(pieces)
        top.connect(source.block, slow, block, sink.block)
        heard = {port: blocks.message_debug() for port in ports}
        for port, debug in heard.items():
            top.msg_connect(block, port, debug, "store")
        self.run_flowgraph(top)
        time.sleep(0.1 if ports else 0)
        got = {
            port: [debug.get_message(i) for i in range(debug.num_messages())]
            for port, debug in heard.items()
        }
        return sink, block, got

    def assert_stream(self, sink, stream=None):
        """The first packets of a stream, but for what may lie in a frame that did not come."""
        stream = self.stream if stream is None else stream
        got = sink.data
        self.assertEqual(len(got) % 188, 0)
        self.assertGreater(len(got), 0)
        np.testing.assert_array_equal(got, stream.ravel()[: len(got)])

    def test_packets_and_plain_streams_give_the_transport_stream(self):
        least = len(self.frames) * (SIZE - 10) - 188
        for packed in (False, True):
            frames = np.packbits(self.frames, axis=-1) if packed else self.frames
            one, many = frames.shape[1], len(frames)
            cases = (
                (packet_tags(many * [one]), {}),
                (packet_tags(many * [one]), {"frame_bits": K}),
                (packet_tags([one, 3 * one, (many - 4) * one]), {"frame_bits": K}),
                ((), {"frame_bits": K, "length_tag_key": ""}),
            )
            for tags, options in cases:
                for pieces in (0, 7, 1000):
                    sink, block, _ = self.deframe(
                        frames.ravel(), tags, pieces=pieces, packed=packed, **options
                    )
                    self.assertGreaterEqual(len(sink.data), least)
                    self.assert_stream(sink)
                    self.assertEqual(sink.tags("discontinuity"), [])
                    counts = block.counts()
                    self.assertEqual(counts["frames"], many)
                    self.assertEqual(counts["bad_frames"], 0)
                    self.assertEqual(counts["bad_headers"], 0)
                    self.assertEqual(counts["transport_packets"], len(sink.data) // 188)
                    self.assertEqual(block.header()["content"], "transport")
                    self.assertEqual(block.stats()["frames"], many)

    def test_higher_bits_of_a_byte_say_nothing(self):
        noise = np.random.default_rng(1).integers(0, 128, self.frames.shape, np.uint8)
        sink, _, _ = self.deframe(
            (self.frames | noise << 1).ravel(), frame_bits=K, length_tag_key=""
        )
        self.assert_stream(sink)

    def test_packets_of_failed_frames_are_marked(self):
        lengths = len(self.frames) * [K]
        tags = packet_tags(lengths)
        tags += [tag(K * i, "bch_ok", i not in (3, 7)) for i in range(len(lengths))]
        sink, block, _ = self.deframe(self.frames.ravel(), tags)
        packets = sink.data.reshape(-1, 188)
        marked = packets[:, 1] & ERROR != 0
        self.assertEqual(marked.sum(), block.counts()["bad_packets"])
        self.assertIn(marked.sum(), (10, 11, 12))  # 5 or 6 of each
        sent = self.stream[: len(packets)]
        np.testing.assert_array_equal(packets[~marked], sent[~marked])
        self.assertEqual(block.counts()["bad_frames"], 2)
        self.assertEqual(block.stats()["failures"], 2)
        self.assertEqual(sink.tags("discontinuity"), [])

    def test_the_first_packet_after_a_loss_is_tagged(self):
        bad = self.frames.copy()
        bad[4, :80] ^= 1  # no header
        bad[5, :80] ^= 1
        for frames, lost in ((bad, 2), (np.delete(self.frames, [4, 5], 0), 0)):
            sink, block, _ = self.deframe(frames.ravel(), frame_bits=K, length_tag_key="")
            ((item, value),) = sink.tags("discontinuity")
            self.assertEqual(value, lost)
            self.assertEqual(block.counts()["bad_headers"], lost)
            packets = sink.data.reshape(-1, 188)
            before, after = packets[: item // 188], packets[item // 188 :]
            np.testing.assert_array_equal(before, self.stream[: len(before)])
            (first,) = np.flatnonzero((self.stream == after[0]).all(axis=1))
            self.assertGreater(first, len(before) + 4)
            rest = self.stream[first : first + len(after)]
            np.testing.assert_array_equal(after, rest)

    def test_what_is_no_frame_is_counted_and_the_next_packets_come(self):
        one = packet_tags([K])
        rest = self.frames[2:]
        for wrong, length in (
            (100, 100),  # short of any frame of these; no header
            (70, 70),
            (1, 1),
            (64801, 64801),
            (K, 3 * K),  # torn
            (K - 1, K),
            (50, 0),
            (50, -5),
            (50, 2**62),
            (50, None),  # no tag
        ):
            junk = np.ones(wrong, np.uint8)
            stream = np.concatenate([self.frames[0], junk, rest.ravel()])
            tags = one + ([] if length is None else [tag(K, KEY, length)])
            head = K + wrong
            tags += [tag(head + K * i, KEY, K) for i in range(len(rest))]
            with self.subTest(wrong=wrong, length=length), captured_log() as log:
                for pieces in (0, 11):
                    sink, block, _ = self.deframe(stream, tags, pieces=pieces)
                    counts = block.counts()
                    self.assertEqual(counts["frames"], 2 + len(rest))
                    self.assertEqual(counts["bad_headers"], 1)
                    ((_, lost),) = sink.tags("discontinuity")
                    self.assertEqual(lost, 1)
                    expected = 0 if length in (1, 70, 100) else 1
                    self.assertEqual(counts["bad_frames"], expected)
            self.assertEqual("passed over" in log.text, length not in (1, 70, 100))

    def test_tags_of_other_types_are_ignored(self):
        odd = [pmt.PMT_NIL, pmt.from_double(5.0), pmt.intern("x"), pmt.make_dict()]
        tags = packet_tags(len(self.frames) * [K])
        for value in odd:
            tags += [tag(at, KEY, value) for at in (0, 5, K)]
            tags += [tag(at, "bch_ok", value) for at in (0, 5, K)]
        with captured_log() as log:
            sink, block, _ = self.deframe(self.frames.ravel(), tags)
        self.assert_stream(sink)
        self.assertEqual(block.counts()["bad_frames"], 0)
        self.assertIn("set frame_bits", log.text)  # bch_ok amid a packet

    def test_a_stream_that_ends_within_a_frame(self):
        for left in (1, 79, 5000, K - 1):
            stream = self.frames.ravel()[: 5 * K + left]
            for options in (
                {"frame_bits": K, "length_tag_key": ""},
                {"frame_bits": K},
            ):
                tags = packet_tags([6 * K]) if len(options) == 1 else ()
                sink, block, _ = self.deframe(stream, tags, **options)
                self.assert_stream(sink)
                self.assertEqual(block.counts()["frames"], 5)

    def test_many_returned_nulls_pass_through_a_small_buffer(self):
        stream = transport_stream(4)
        nulls = [255, 0, 200, 255]
        data = user_packets(stream, nulls)
        size = len(data) + 10 + 3
        frame = baseband_frame(data, size, matype=0xF4)
        null = np.full(188, 255, np.uint8)
        null[:4] = 0x47, 0x1F, 0xFF, 0x10
        wanted = np.concatenate(
            [
                np.concatenate([np.tile(null, before), packet])
                for before, packet in zip(nulls, stream)
            ]
        )
        for pieces in (0, 100, 189):
            sink, block, _ = self.deframe(
                unpacked(frame), packet_tags([8 * size]), pieces=pieces
            )
            np.testing.assert_array_equal(sink.data, wanted)
            self.assertEqual(block.counts()["returned_nulls"], sum(nulls))

    def test_generic_packets_and_frames_leave_as_pdus(self):
        rng = np.random.default_rng(2)
        datagrams = [rng.bytes(n) for n in (20, 300, 1)]
        labels = [b"", b"abc", b"abcdef"]
        units = b"".join(
            gse_unit(data, 0x86DD, label) for data, label in zip(datagrams, labels)
        )
        frames = [
            baseband_frame(units, SIZE, matype=0x50, isi=9, upl=0),
            baseband_frame(units[:50], SIZE, matype=0x50, isi=9, upl=0),
        ]
        frames[1][5] ^= 1  # the header's CRC-8 is wrong
        bits = np.concatenate([unpacked(frame) for frame in frames])
        tags = packet_tags(2 * [K]) + [tag(K, "bch_ok", False)]
        sink, block, got = self.deframe(bits, tags, ("packets", "frames", "status"))
        self.assertEqual(len(sink.data), 0)
        self.assertEqual(len(got["packets"]), 3)
        for message, data, label in zip(got["packets"], datagrams, labels):
            metadata = pmt.to_python(pmt.car(message))
            self.assertEqual(bytes(pmt.u8vector_elements(pmt.cdr(message))), data)
            self.assertEqual((metadata["isi"], metadata["protocol"]), (9, 0x86DD))
            self.assertEqual(bytes(metadata["label"]), label)

        first, second = [pmt.to_python(pmt.car(message)) for message in got["frames"]]
        self.assertEqual(second, {"ok": False})
        header = {
            "content": "continuous",
            "single_stream": False,
            "constant_coding": True,
            "synchronized_input": False,
            "nulls_deleted": False,
            "isi": 9,
            "packet_bits": 0,
            "data_bits": 8 * len(units),
            "roll_off": 0.35,
        }
        self.assertEqual(first, {"ok": True, **header})
        whole = bytes(pmt.u8vector_elements(pmt.cdr(got["frames"][0])))
        self.assertEqual(whole[10 : 10 + len(units)], units)
        self.assertEqual(whole[10 + len(units) :], bytes(SIZE - 10 - len(units)))

        status = pmt.to_python(got["status"][0])
        self.assertEqual(status.pop("header"), header)
        self.assertEqual(set(status), set(block.counts()))
        self.assertEqual(status["frames"], 1)
        for name, value in block.header().items():
            self.assertEqual(header[name], value)

    def test_frames_that_are_none_are_told_of_once(self):
        bits = np.random.default_rng(3).integers(0, 2, 20 * K, np.uint8)
        for failed, told in ((False, 1), (True, 0)):
            tags = packet_tags(20 * [K])
            tags += [tag(0, "bch_ok", False)] if failed else []
            with captured_log() as log:
                _, block, _ = self.deframe(bits, tags)
            self.assertEqual(block.counts()["bad_headers"], 20)
            self.assertEqual(log.text.count("no frame so far has a right header"), told)

    def test_status_comes_once_a_second(self):
        frames = np.tile(self.frames[:1], (30, 1))
        block = cudaphy.bb_deframer(K, length_tag_key="")
        top, source, sink = gr.top_block(), Source(frames.ravel()), Sink("uint8")
        pace = blocks.throttle(gr.sizeof_char, 12 * K, False)  # 2.5 s
        pace.set_max_noutput_items(K // 4)
        debug = blocks.message_debug()
        top.connect(source.block, pace, block, sink.block)
        top.msg_connect(block, "status", debug, "store")
        self.run_flowgraph(top)
        self.assertIn(debug.num_messages(), (2, 3))
        counts = [
            pmt.to_python(debug.get_message(i))["frames"]
            for i in range(debug.num_messages())
        ]
        self.assertEqual(counts[0], 1)
        self.assertGreater(counts[1], 5)

    def test_input_streams_are_told_apart_by_isi(self):
        streams = {isi: transport_stream(120, seed=isi) for isi in (3, 200)}
        sent = []
        for isi, stream in streams.items():
            data = user_packets(stream)
            for number, at in enumerate(range(0, len(data), 800)):
                part = data[at : at + 800]
                start = -at % 188
                frame = baseband_frame(
                    part, SIZE, 0xD0, isi, start=8 * start if start < len(part) else 65535
                )
                sent.append((number, isi, unpacked(frame)))
        bits = np.concatenate(
            [frame for _, _, frame in sorted(sent, key=lambda x: x[:2])]
        )
        tags = packet_tags(len(sent) * [K])
        for isi in (3, 200, None):
            sink, block, _ = self.deframe(bits, tags, isi=isi)
            self.assert_stream(sink, streams[isi or 3])
            self.assertEqual(len(sink.data), 120 * 188)
            self.assertEqual(block.counts()["other_streams"], len(sent) // 2)

    def test_frames_whose_bits_make_no_whole_bytes(self):
        size = 5660  # S2X medium frames of rate 1/5: four bits of padding
        data = user_packets(transport_stream(3))
        bits = unpacked(baseband_frame(data, 708))[:size]
        for packed in (False, True):
            given = np.packbits(bits) if packed else bits
            sink, _, _ = self.deframe(
                np.tile(given, 2), frame_bits=size, packed=packed, length_tag_key=""
            )
            wanted = np.tile(transport_stream(3).ravel(), 2)
            np.testing.assert_array_equal(sink.data, wanted)

    def test_a_new_start_begins_a_new_stream(self):
        block = cudaphy.bb_deframer(K, length_tag_key="")
        top, sink = gr.top_block(), Sink("uint8")
        source = Source(self.frames[:7].ravel()[:-100])
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            self.assert_stream(sink)
            self.assertEqual(sink.tags("discontinuity"), [])
            self.assertEqual(block.counts()["frames"], 6)
            source.block.rewind()
            sink.block.reset()

    def test_errors_say_what_is_wrong(self):
        for options, *texts in (
            ({"isi": 256}, "isi is 256"),
            ({"isi": -2}, "isi is -2"),
            ({"frame_bits": 79}, "frame_bits 79"),
            ({"frame_bits": 64801}, "64800"),
            ({"frame_bits": -8}, "frame_bits -8"),
            ({"length_tag_key": ""}, "needs frame_bits"),
        ):
            with self.assert_refuses(*texts):
                cudaphy.bb_deframer(**options)


if __name__ == "__main__":
    main()
