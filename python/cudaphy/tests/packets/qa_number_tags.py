#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rule in every block: a tag with a length or a number is a PMT long or uint64. Tags
of other types are passed over, and no number hangs a flowgraph."""

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, captured_log, gaussian
from qa_support import main, packet_tags, tag
from qa_support.block_table import CODE, TABLE, entry

FRAMES = 10  # of a packet
NO_NUMBERS = [
    pmt.init_s8vector(3, [1, 2, 3]),  # raises in pmt.to_python()
    pmt.PMT_NIL,
    pmt.PMT_T,
    pmt.intern("10"),
    pmt.from_double(10.0),
    pmt.from_complex(10 + 0j),
    pmt.make_dict(),
    pmt.make_tuple(pmt.from_long(10), pmt.from_double(0.5)),
    pmt.cons(pmt.from_long(1), pmt.from_long(2)),
]


def packet_blocks():
    """Blocks that need length tags if they have a key."""
    return [name for name in TABLE if "max_latency" in entry(name).takes] + [
        "symmetric_inverse"
    ]


class qa_number_tags(FlowgraphCase):
    def run_block(self, name, tags):
        """(sinks, log) of a block of the table with a length tag key."""
        row = entry(name)
        block, top = row.make(length_tag_key=KEY, backend=BACKEND), gr.top_block()
        sinks = [Sink(*output) for output in row.outputs]
        for port, array in enumerate(row.inputs):
            source = Source(array, tags if port == 0 else ())
            top.connect(source.block, (block, port))
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        with captured_log() as log:
            self.run_flowgraph(top, 30)
        return sinks, log.text

    def lengths(self, name):
        row = entry(name)
        a_frame = len(row.inputs[0]) // row.frames
        return [FRAMES * a_frame] * (row.frames // FRAMES)

    def test_a_length_is_a_long_or_a_uint64(self):
        for name in packet_blocks():
            with self.subTest(name):
                lengths = self.lengths(name)
                wanted, _ = self.run_block(name, packet_tags(lengths))
                self.assertTrue(len(wanted[0].data))
                heads = np.cumsum([0, *lengths[:-1]])
                tags = [
                    tag(int(head), KEY, pmt.from_uint64(length))
                    for head, length in zip(heads, lengths)
                ]
                # Other tags stand beside each length, and within the packet.
                tags += [
                    tag(int(head) + at, KEY, odd)
                    for head in heads
                    for odd in NO_NUMBERS
                    for at in (0, 1)
                ]
                given, _ = self.run_block(name, tags)
                for a, b in zip(wanted, given):
                    np.testing.assert_array_equal(a.data, b.data)
                    self.assertEqual(a.tags(KEY), b.tags(KEY))

    def test_a_head_without_a_length_ends_with_what_is_missing(self):
        for name in packet_blocks():
            for odd in NO_NUMBERS[:4]:
                with self.subTest(name):
                    _, log = self.run_block(name, [tag(0, KEY, odd)])
                    self.assertIn(f'carries no tag "{KEY}"', log)
                    self.assertIn("the flowgraph ends here", log)

    def test_an_impossible_length_ends_with_its_number(self):
        big = pmt.from_uint64
        for name in packet_blocks():
            for length in (
                0,
                -1,
                2**62,
                -(2**63),
                big(0),
                big(2**63),
                big(2**64 - 1),
            ):
                with self.subTest(name, length=length):
                    _, log = self.run_block(name, [tag(0, KEY, length)])
                    shown = min(int(str(length)), 2**63 - 1)
                    self.assertIn(f"has {shown} items by its tag", log)
                    self.assertIn("the flowgraph ends here", log)

    def test_a_packet_longer_than_the_stream_is_logged(self):
        for name in packet_blocks():
            length = self.lengths(name)[0]
            _, log = self.run_block(name, [tag(0, KEY, length << 20)])
            self.assertIn("before its last", log, name)

    def test_packet_resync_takes_lengths_of_both_types(self):
        data = gaussian((1000,))
        tags = packet_tags(10 * [100])
        for one, convert in zip(tags, 5 * [pmt.from_long, pmt.from_uint64]):
            one.value = convert(100)
        odd = [*NO_NUMBERS, pmt.from_long(0), pmt.from_long(-5), pmt.from_uint64(0)]
        for beside in ([], [tag(100 * i + 50, "else", v) for i, v in enumerate(odd[:9])]):
            block = cudaphy.packet_resync(8)
            (sink,) = self.through(block, [data], [("complex64", 0)], tags + beside)
            np.testing.assert_array_equal(sink.data, data)
            self.assertEqual((block.packets(), block.lost_packets()), (10, 0))
        for far in (2**62, pmt.from_uint64(2**63), pmt.from_uint64(2**64 - 1)):
            tags[5] = tag(500, KEY, far)  # which no ring holds: passed over
            block = cudaphy.packet_resync(8)
            (sink,) = self.through(block, [data], [("complex64", 0)], tags)
            np.testing.assert_array_equal(sink.data, np.delete(data, range(500, 600)))
            self.assertEqual((block.packets(), block.lost_packets()), (9, 1))

    def test_a_codes_number_may_be_a_uint64(self):
        codes = {"other": cudaphy.ldpc_code("wifi", n=1296, rate="1/2")}
        for number, refused in (
            (0, 0),
            (pmt.from_uint64(0), 0),
            (pmt.from_uint64(2), 1),
            (-1, 1),
            (2**62, 1),
            (pmt.from_uint64(2**64 - 1), 1),
            (NO_NUMBERS[0], 1),
        ):
            decoder = cudaphy.ldpc_decoder(
                CODE, codes=codes, length_tag_key=KEY, backend=BACKEND
            )
            tags = [tag(0, KEY, CODE.n), tag(0, "ldpc_code", number)]
            llrs = np.full(CODE.n, 4, "f4")
            (sink,) = self.through(decoder, [llrs], [("uint8", 0)], tags)
            self.assertEqual(len(sink.data), 0 if refused else CODE.k)

    def test_numbers_of_radios_and_noise_may_be_whole_ones_of_any_type(self):
        for rate in (1e3, 1000, pmt.from_uint64(1000)):
            block = cudaphy.packet_resync(8, 10)
            time = [
                tag(n, "rx_time", pmt.make_tuple(seconds, pmt.from_double(0.0)))
                for n, seconds in ((0, pmt.from_uint64(5)), (25, pmt.from_long(6)))
            ]
            tags = [tag(0, "rx_rate", rate), *time]
            self.through(block, [gaussian((50,))], [("complex64", 0)], tags)
            self.assertEqual((block.gaps(), block.lost_items()), (1, 975))

    def test_a_noise_variance_may_be_a_whole_number_of_any_type(self):
        for value in (pmt.from_double(2), pmt.from_long(2), pmt.from_uint64(2)):
            for port, block in (
                ("noise_variance", cudaphy.soft_demapper("qpsk", backend=BACKEND)),
                (
                    "noise_var",
                    cudaphy.mimo_equalizer(2, 2, channel_from="tag", backend=BACKEND),
                ),
            ):
                self.through_silence(block, port, value)
                self.assertEqual(block.noise_variance(), 2)

    def through_silence(self, block, port, message):
        """Runs zeros through a block that has a message waiting."""
        top = gr.top_block()
        for way, connect in (
            (block.input_signature(), lambda p, size: (self.zeros(size), (block, p))),
            (
                block.output_signature(),
                lambda p, size: ((block, p), blocks.null_sink(size)),
            ),
        ):
            for p in range(way.min_streams()):
                top.connect(*connect(p, way.sizeof_stream_item(p)))
        block.to_basic_block()._post(pmt.intern(port), message)
        self.run_flowgraph(top)

    def zeros(self, size):
        return blocks.vector_source_b(60 * size * [0], False, size)

    def test_the_transmitter_takes_no_tag_of_its_input_for_its_own(self):
        row = entry("mimo_ofdm_transmitter")
        items = len(row.inputs[0]) // row.frames
        wanted = self.transmitted([])
        for values in (
            [pmt.from_long(items)],
            [pmt.from_long(100), pmt.from_long(7)],
            [pmt.from_uint64(items)],
            [pmt.from_uint64(2**64 - 1), pmt.from_long(-1), pmt.from_long(0)],
            NO_NUMBERS,
        ):
            for step in (items, 100, 1):
                tags = [
                    tag(at, KEY, values[at // step % len(values)])
                    for at in range(0, len(row.inputs[0]), step)
                ]
                got = self.transmitted(tags)
                for (a, a_tags), (b, b_tags) in zip(wanted, got):
                    np.testing.assert_array_equal(a, b)
                    self.assertEqual(a_tags, b_tags)

    def test_the_transmitter_lets_other_tags_pass(self):
        (_, lengths), _ = self.transmitted([tag(0, "tx_freq", 1e9)])
        self.assertEqual(lengths, self.transmitted([])[0][1])
        row, top = entry("mimo_ofdm_transmitter"), gr.top_block()
        sender, sinks = row.make(), [Sink("complex64") for _ in range(2)]
        top.connect(Source(row.inputs[0], [tag(0, "tx_freq", 1e9)]).block, sender)
        for port, sink in enumerate(sinks):
            top.connect((sender, port), sink.block)
        self.run_flowgraph(top)
        self.assertEqual(sinks[0].tags("tx_freq"), [(0, 1e9)])

    def test_the_receivers_front_end_takes_no_tag_of_its_input_for_its_own(self):
        row = entry("mimo_ofdm_receiver_frontend")

        def received(tags):
            (sink,) = self.through(row.make(), row.inputs, row.outputs, tags, 30)
            return sink.data, sink.tags(KEY)

        wanted, lengths = received([])
        self.assertEqual(len(lengths), row.frames)
        for key in (KEY, "", "carrier_offset", "frame_start"):
            for value in (pmt.from_long(3), pmt.from_uint64(7), *NO_NUMBERS):
                tags = [tag(at, key, value) for at in range(0, len(row.inputs[0]), 150)]
                got, its_lengths = received(tags)
                np.testing.assert_array_equal(got, wanted)
                self.assertEqual(its_lengths, lengths)

    def transmitted(self, tags):
        """[(samples, length tags)] of each antenna."""
        row = entry("mimo_ofdm_transmitter")
        sinks = self.through(row.make(), row.inputs, row.outputs, tags, 30)
        return [(sink.data, sink.tags(KEY)) for sink in sinks]


if __name__ == "__main__":
    main()
