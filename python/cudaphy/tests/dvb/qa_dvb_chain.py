#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GNU Radio's DVB-S2 transmitter sends, through LDPC Decoder, BCH Decoder and Baseband Deframer."""

import numpy as np
from gnuradio import cudaphy, gr
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, main, packet_tags, tag
from qa_support.dvb import crc8, scrambler, sent_by_gnuradio, transport_stream

PACKINGS = [(i, o) for i in (False, True) for o in (False, True)]
MODES = (("short", "1/2"), ("short", "8/9"), ("short", "1/4"), ("short", "3/5"))


def codes(frame, rate):
    """The inner and the outer code."""
    inner = cudaphy.ldpc_code("dvbs2", frame=frame, rate=rate)
    return inner, cudaphy.bch_code.dvbs2(frame, rate)


def soft(bits):
    """LLRs of hard bits."""
    return 4 - 8 * bits.astype("float32")


class qa_dvb_chain(FlowgraphCase):
    def receive(self, llr, tags, inner, outer, deframer, packing=(False, False)):
        """(sink of the transport stream, BCH decoder, deframer)"""
        ldpc = cudaphy.ldpc_decoder(
            backend=BACKEND, max_iterations=5, packed=packing[0], **inner
        )
        bch = cudaphy.bch_decoder(
            backend=BACKEND, packed_input=packing[0], packed_output=packing[1], **outer
        )
        end = cudaphy.bb_deframer(packed=packing[1], **deframer)
        top, source, sink = gr.top_block(), Source(llr, tags), Sink("uint8")
        top.connect(source.block, ldpc, bch, end, sink.block)
        self.run_flowgraph(top)
        return sink, bch, end

    def assert_stream(self, sink, stream, frames, k):
        got = sink.data
        np.testing.assert_array_equal(got, stream.ravel()[: len(got)])
        self.assertGreaterEqual(len(got), frames * (k // 8 - 10) - 2 * 188)

    def test_one_code_in_a_plain_stream_and_in_packets(self):
        for frame, rate, packets in (("short", "1/2", 60), ("normal", "9/10", 160)):
            stream = transport_stream(packets)
            inner, outer = codes(frame, rate)
            words = sent_by_gnuradio(stream, frame, rate, "ldpc").reshape(-1, inner.n)
            self.assertGreater(len(words), 3)
            for packing in PACKINGS:
                sink, bch, end = self.receive(
                    soft(words).ravel(),
                    (),
                    {"code": inner},
                    {"code": outer},
                    {"frame_bits": outer.k, "length_tag_key": ""},
                    packing,
                )
                self.assert_stream(sink, stream, len(words), outer.k)
                self.assertEqual(bch.frames(), len(words))
                self.assertEqual(bch.corrected_bits(), 0)
            keyed = {"length_tag_key": KEY}
            lengths = [inner.n, 2 * inner.n, (len(words) - 3) * inner.n]
            sink, _, _ = self.receive(
                soft(words).ravel(),
                packet_tags(lengths),
                {"code": inner, **keyed},
                {"code": outer, **keyed},
                {"frame_bits": outer.k, **keyed},
            )
            self.assert_stream(sink, stream, len(words), outer.k)

    def disturbed(self, words, outer, inner, errors):
        """LLRs of words of the outer code with so many wrong bits each."""
        rng = np.random.default_rng(4)
        words = words.copy()
        for word, count in zip(words, errors):
            word[rng.choice(outer.n, count, replace=False)] ^= 1
        return soft(cudaphy.ldpc_encode(inner, words, backend="cpu")).ravel()

    def test_errors_that_the_inner_code_leaves_are_corrected_or_marked(self):
        stream = transport_stream(60)
        inner, outer = codes("short", "1/2")
        words = sent_by_gnuradio(stream, "short", "1/2").reshape(-1, outer.n)
        errors = np.arange(len(words)) % (outer.t + 1)
        keyed = {"length_tag_key": KEY}
        tags = packet_tags(len(words) * [inner.n])
        for failed in ([], [2, 9]):
            errors[failed] = 3 * outer.t
            llr = self.disturbed(words, outer, inner, errors)
            for word_tags in ("all", "failed"):
                sink, bch, end = self.receive(
                    llr,
                    tags,
                    {"code": inner, **keyed},
                    {"code": outer, "word_tags": word_tags, **keyed},
                    keyed,
                )
                good = np.delete(errors, failed)
                self.assertEqual(bch.frame_errors(), len(failed))
                self.assertEqual(bch.corrected_bits(), good.sum())
                self.assertEqual(end.counts()["bad_frames"], len(failed))
                packets = sink.data.reshape(-1, 188)
                marked = packets[:, 1] & 0x80 != 0
                self.assertEqual(marked.any(), bool(failed))
                sent = stream[: len(packets)]
                np.testing.assert_array_equal(packets[~marked], sent[~marked])
                self.assertGreater(len(packets), 50)

    def test_failed_frames_that_are_dropped_leave_a_tagged_gap(self):
        stream = transport_stream(60)
        inner, outer = codes("short", "1/2")
        words = sent_by_gnuradio(stream, "short", "1/2").reshape(-1, outer.n)
        errors = np.zeros(len(words), int)
        errors[4] = 3 * outer.t
        keyed = {"length_tag_key": KEY}
        sink, bch, end = self.receive(
            self.disturbed(words, outer, inner, errors),
            packet_tags(len(words) * [inner.n]),
            {"code": inner, **keyed},
            {"code": outer, "on_failure": "drop", **keyed},
            keyed,
        )
        self.assertEqual(end.counts()["frames"], len(words) - 1)
        ((item, lost),) = sink.tags("discontinuity")
        self.assertEqual(lost, 0)
        self.assertEqual(item % 188, 0)
        got, first = sink.data, item // 188
        packets = got.reshape(-1, 188)
        np.testing.assert_array_equal(packets[:first], stream[:first])
        (after,) = np.flatnonzero((stream == packets[first]).all(axis=1))
        self.assertIn(after - first, (5, 6))
        rest = stream[after : after + len(packets) - first]
        np.testing.assert_array_equal(packets[first:], rest)

    def test_frames_of_several_codes_by_one_tag(self):
        """VCM: each mode carries an input stream of its own, told apart by ISI."""
        for modes in (MODES[:2], MODES):
            self.check_modes(modes)

    def check_modes(self, modes):
        both = [codes(*mode) for mode in modes]
        streams = [transport_stream(40, seed) for seed in range(len(modes))]
        queues = []
        for number, (mode, stream) in enumerate(zip(modes, streams)):
            outer = both[number][1]
            frames = sent_by_gnuradio(stream, *mode, "scrambler").reshape(-1, outer.k)
            frames = [with_isi(frame, number) for frame in frames]
            words = cudaphy.bch_encode(outer, np.array(frames), backend="cpu")
            words = cudaphy.ldpc_encode(both[number][0], words, backend="cpu")
            queues.append([(number, soft(word)) for word in words])
        rng, sent = np.random.default_rng(6), []
        while any(queues):
            queue = queues[rng.integers(len(queues))]
            sent += [queue.pop(0)] if queue else []
        llr = np.concatenate([word for _, word in sent])
        tags = packet_tags([len(word) for _, word in sent])
        heads = np.cumsum([0] + [len(word) for _, word in sent])
        names = ["/".join(mode) for mode in modes]
        for by_name in (True, False):
            named = [
                tag(int(head), "ldpc_code", names[number] if by_name else number + 1)
                for head, (number, _) in zip(heads, sent)
            ]
            keyed = {"length_tag_key": KEY}
            inner = {"code": both[0][0], "codes": {}, **keyed}
            outer = {"code": both[0][1], "codes": {}, "code_tag_key": "ldpc_code"}
            for name, (one, other) in zip(names, both):
                inner["codes"][name], outer["codes"][name] = one, other
            for packing in ((False, False), (True, True)):
                for isi in range(len(modes)):
                    sink, bch, end = self.receive(
                        llr,
                        tags + named,
                        inner,
                        {**outer, **keyed},
                        {"isi": isi, **keyed},
                        packing,
                    )
                    self.assertEqual(bch.frames(), len(sent))
                    self.assertEqual(end.counts()["bad_headers"], 0)
                    self.assertEqual(
                        end.counts()["other_streams"],
                        sum(number != isi for number, _ in sent),
                    )
                    got = sink.data
                    stream = streams[isi].ravel()
                    np.testing.assert_array_equal(got, stream[: len(got)])
                    self.assertGreater(len(got), 20 * 188)

    def test_a_stream_to_several_deframers_and_again_after_its_end(self):
        stream = transport_stream(60)
        inner, outer = codes("short", "1/2")
        words = sent_by_gnuradio(stream, "short", "1/2", "ldpc").reshape(-1, inner.n)
        top, source = gr.top_block(), Source(soft(words).ravel())
        ldpc = cudaphy.ldpc_decoder(inner, backend=BACKEND)
        bch = cudaphy.bch_decoder(outer, backend=BACKEND)
        top.connect(source.block, ldpc, bch)
        sinks = [Sink("uint8") for _ in range(3)]
        for sink in sinks:
            deframer = cudaphy.bb_deframer(outer.k, length_tag_key="")
            top.connect(bch, deframer, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            for sink in sinks:
                self.assert_stream(sink, stream, len(words), outer.k)
                sink.block.reset()
            source.block.rewind()


def with_isi(frame, isi):
    """A scrambled frame of a single input stream as one of several."""
    data = np.packbits(frame) ^ scrambler(len(frame) // 8)
    data[0] &= 0xDF  # multiple input streams
    data[1] = isi
    data[9] = crc8(bytes(data[:9]))
    return np.unpackbits(data ^ scrambler(len(data)))


if __name__ == "__main__":
    main()
