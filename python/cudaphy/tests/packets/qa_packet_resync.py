#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""packet_resync: packets of a radio that overflows."""

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import KEY, FlowgraphCase, Sink, Source, main, packet_tags, tag
from qa_support.radio_time import RATE, time_tag


class radio:
    """Samples numbered from 0 at the antenna; overflow(n) loses n of them."""

    def __init__(self, rate=RATE, with_rate=True):
        self.samples, self.tags, self.now, self.rate = [], [time_tag(0, 0, rate)], 0, rate
        if with_rate:
            self.tags += [tag(0, "rx_rate", rate), tag(0, "rx_freq", 2.4e9)]

    def receive(self, count):
        self.samples += range(self.now, self.now + count)
        self.now += count
        return self

    def overflow(self, count, frequency=None):
        self.now += count
        item = len(self.samples)
        self.tags.append(time_tag(item, self.now, self.rate))
        if frequency:
            self.tags.append(tag(item, "rx_freq", frequency))
        return self


class qa_packet_resync(FlowgraphCase):
    def run_resync(self, samples, tags, **options):
        """(block, sink, messages)"""
        block = cudaphy.packet_resync(4, **options)
        sink = Sink("float32")
        messages = blocks.message_debug()
        top = gr.top_block()
        top.connect(Source(np.array(samples, "float32"), tags).block, block, sink.block)
        top.msg_connect(block, "gaps", messages, "store")
        self.run_flowgraph(top)
        return (
            block,
            sink,
            [messages.get_message(i) for i in range(messages.num_messages())],
        )

    def packets(self, sink):
        """The packets put out, cut by their length tags."""
        data, cut = sink.data, []
        for item, length in sink.tags(KEY):
            self.assertEqual(item, sum(map(len, cut)))
            cut.append(data[item : item + length].astype(int).tolist())
        self.assertEqual(sum(map(len, cut)), len(data))
        return cut

    def test_without_gaps_every_packet_passes(self):
        block, sink, messages = self.run_resync(
            range(1000), [tag(7, "mine", 5)], packet_length=100
        )
        self.assertEqual(self.packets(sink), np.arange(1000).reshape(10, 100).tolist())
        self.assertEqual(sink.tags("mine"), [(7, 5)])
        self.assertEqual((block.packets(), block.gaps(), messages), (10, 0, []))

    def test_what_is_no_whole_packet_at_the_end_is_left_out(self):
        _, sink, _ = self.run_resync(range(250), [], packet_length=100)
        self.assertEqual(len(sink.data), 200)

    def test_packets_longer_than_any_buffer(self):
        _, sink, _ = self.run_resync(range(200_000), [], packet_length=100_000)
        self.assertEqual(sink.tags(KEY), [(0, 100_000), (100_000, 100_000)])
        self.assertTrue((sink.data == np.arange(200_000)).all())

    def test_the_grid_of_packets_is_kept_over_gaps_of_any_length(self):
        for lost in (3, 50, 70, 71, 100, 170, 1234):
            with self.subTest(lost=lost):
                air = radio().receive(430).overflow(lost).receive(2000)
                block, sink, messages = self.run_resync(
                    air.samples, air.tags, packet_length=100
                )
                got = self.packets(sink)
                for packet in got:
                    self.assertEqual(packet[0] % 100, 0)
                    self.assertEqual(packet, list(range(packet[0], packet[0] + 100)))
                # All packets but those that the gap touches, and the torn last one.
                touched = set(range(430 // 100, (430 + lost - 1) // 100 + 1))
                whole = [p for p in range((2430 + lost) // 100) if p not in touched]
                self.assertEqual([packet[0] // 100 for packet in got], whole)
                self.assertEqual(block.gaps(), 1)
                self.assertEqual(block.lost_items(), lost)
                self.assertEqual(block.lost_packets(), len(touched))
                self.assertEqual(pmt.to_python(messages[0])["lost_packets"], len(touched))

    def test_gap_at_a_packet_border(self):
        for lost, missing in ((100, 1), (5, 1), (200, 2)):
            air = radio().receive(300).overflow(lost).receive(600)
            block, sink, _ = self.run_resync(air.samples, air.tags, packet_length=100)
            self.assertEqual(block.lost_packets(), missing)
            self.assertTrue(all(packet[0] % 100 == 0 for packet in self.packets(sink)))

    def test_many_gaps_also_several_in_a_packet(self):
        rng = np.random.default_rng(5)
        air = radio()
        for _ in range(300):
            air.receive(int(rng.integers(1, 400))).overflow(int(rng.integers(3, 500)))
        air.receive(1000)
        block, sink, messages = self.run_resync(air.samples, air.tags, packet_length=64)
        there = set(air.samples)
        whole = [
            n
            for n in range(air.now // 64)
            if there.issuperset(range(n * 64, n * 64 + 64))
        ]
        self.assertEqual(
            self.packets(sink), [list(range(n * 64, n * 64 + 64)) for n in whole]
        )
        self.assertEqual(block.gaps(), 300)
        self.assertEqual(block.lost_items(), air.now - len(air.samples))
        self.assertEqual(block.lost_packets(), air.now // 64 - len(whole))
        self.assertEqual(
            block.dropped_items() + 64 * len(whole) + air.now % 64, len(air.samples)
        )
        self.assertEqual(len(messages), 300)

    def test_time_and_frequency_move_to_the_next_whole_packet(self):
        air = radio().receive(430).overflow(33, frequency=5.8e9).receive(600)
        _, sink, _ = self.run_resync(air.samples, air.tags, packet_length=100)
        self.assertEqual(sink.tags("rx_freq"), [(0, 2.4e9), (400, 5.8e9)])
        times = sink.tags("rx_time")
        self.assertEqual([item for item, _ in times], [0, 400])
        whole, part = times[1][1]
        self.assertEqual(whole, 1_700_000_000)
        self.assertAlmostEqual(part, 0.25 + 500 / RATE, 9)

    def test_every_packet_has_a_time_tag_on_request(self):
        air = radio(rate=1000.0).receive(950).overflow(250).receive(1000)
        _, sink, _ = self.run_resync(air.samples, air.tags, packet_length=100, stamp=True)
        times = sink.tags("rx_time")
        self.assertEqual([i for i, _ in times], list(range(0, len(sink.data), 100)))
        for item, (whole, part) in times:
            expected = 1_700_000_000.25 + sink.data[item] / 1000
            self.assertAlmostEqual(whole + part, expected, 6)

    def test_an_expected_time_is_no_gap(self):
        air = radio().receive(1000)
        tags = air.tags + [time_tag(i, i + off) for i, off in ((333, 0), (777, 2))]
        block, sink, _ = self.run_resync(air.samples, tags, packet_length=100)
        self.assertEqual((block.gaps(), len(sink.data)), (0, 1000))
        block, _, _ = self.run_resync(air.samples, tags, packet_length=100, tolerance=1)
        self.assertGreater(block.gaps(), 0)

    def test_hours_of_samples_do_not_blur_the_time(self):
        late = 61_440_000 * 3600 * 5
        tags = [time_tag(0, late, 61.44e6), time_tag(450, late + 450 + 3, 61.44e6)]
        block, _, _ = self.run_resync(
            range(1000), tags, packet_length=100, sample_rate=61.44e6
        )
        self.assertEqual((block.gaps(), block.lost_items()), (1, 3))

    def test_without_a_rate_a_packet_begins_at_the_tag(self):
        air = radio(with_rate=False).receive(430).overflow(1000).receive(300)
        block, sink, _ = self.run_resync(air.samples, air.tags, packet_length=100)
        heads = [packet[0] for packet in self.packets(sink)]
        self.assertEqual(heads, [0, 100, 200, 300, 1430, 1530, 1630])
        self.assertEqual(
            (block.gaps(), block.lost_items(), block.lost_packets()), (1, 0, 1)
        )

    def test_time_that_runs_backward_begins_anew(self):
        air = radio().receive(430)
        air.now = 5
        air.overflow(0).receive(250)
        block, sink, _ = self.run_resync(air.samples, air.tags, packet_length=100)
        self.assertEqual([p[0] for p in self.packets(sink)], [0, 100, 200, 300, 5, 105])
        self.assertEqual(block.lost_packets(), 1)

    def test_tagged_packets_that_are_torn_do_not_leave(self):
        lengths = [100, 50, 70, 30]
        tags = packet_tags(lengths) + [time_tag(0, 0), time_tag(170, 999)]
        block, sink, _ = self.run_resync(range(250), tags, sample_rate=RATE)
        self.assertEqual([p[0] for p in self.packets(sink)], [0, 100, 220])
        self.assertEqual((block.lost_packets(), block.dropped_items()), (1, 70))
        whole, part = sink.tags("rx_time")[-1][1]
        self.assertAlmostEqual(part, 0.25 + (999 + 50) / RATE, 9)

    def test_tagged_packets_whose_heads_tell_their_time_pass(self):
        # The block that found the packets left out the samples between them.
        tags = packet_tags([100, 100]) + [time_tag(0, 0), time_tag(100, 12345)]
        for rate in (0, RATE):
            block, sink, _ = self.run_resync(range(200), tags, sample_rate=rate)
            self.assertEqual((block.packets(), block.gaps()), (2, 0))
            self.assertEqual(len(sink.tags("rx_time")), 2)

    def test_tagged_packets_that_are_cut_short_and_strays(self):
        tags = [tag(10, KEY, 50), tag(60, KEY, 50), tag(80, KEY, 20), tag(100, KEY, 0)]
        tags += [tag(120, KEY, 2**60), tag(130, KEY, -5), tag(140, KEY, 60)]
        block, sink, _ = self.run_resync(range(250), tags)
        self.assertEqual([p[0] for p in self.packets(sink)], [10, 80, 140])
        self.assertEqual(block.dropped_items() + len(sink.data), 250)
        self.assertEqual(block.lost_packets(), 2)

    def test_tags_that_are_no_times_or_rates_are_left_alone(self):
        strange = [pmt.from_double(1.0), pmt.PMT_T, pmt.make_tuple(pmt.PMT_T, pmt.PMT_T)]
        strange += [pmt.make_tuple(pmt.from_uint64(1), pmt.from_double(float("nan")))]
        strange += [pmt.make_tuple(pmt.from_long(-1), pmt.from_double(0.5))]
        tags = [time_tag(0, 0), tag(0, "rx_rate", RATE)]
        for number, value in enumerate(strange):
            for key in ("rx_time", "rx_rate"):
                made = gr.tag_t()
                made.offset, made.key, made.value = 30 + number, pmt.intern(key), value
                if not (key == "rx_rate" and number == 0):
                    tags.append(made)
        block, sink, _ = self.run_resync(range(300), tags, packet_length=100)
        self.assertEqual((block.gaps(), len(sink.data)), (0, 300))

    def test_a_second_run_starts_anew(self):
        block = cudaphy.packet_resync(4, packet_length=100)
        source = blocks.vector_source_f(list(range(150)), False)
        sink = Sink("float32")
        top = gr.top_block()
        top.connect(source, block, sink.block)
        for _ in range(3):
            source.rewind()
            sink.block.reset()
            self.run_flowgraph(top)
            self.assertEqual(sink.data.tolist(), list(range(100)))

    def test_parameters_out_of_range_are_refused(self):
        for wrong in (
            dict(item_bytes=0),
            dict(item_bytes=4, packet_length=2**27),
            dict(item_bytes=4, sample_rate=-1),
            dict(item_bytes=4, sample_rate=float("nan")),
            dict(item_bytes=4, length_tag_key=""),
            dict(item_bytes=4, tolerance=2**21),
        ):
            with self.assertRaises(ValueError, msg=str(wrong)):
                cudaphy.packet_resync(**wrong)


if __name__ == "__main__":
    main()
