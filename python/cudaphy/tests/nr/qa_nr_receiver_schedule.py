#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What receivers of PUSCH and PDSCH expect in a slot: patterns, messages, tags, HARQ."""

import pmt
from gnuradio import cudaphy, gr
from qa_support import BACKEND, Source, captured_log, main, packet_tags, tag
from qa_support.nr_blocks import NrBlockCase, channel, message, payloads


class qa_nr_receiver_schedule(NrBlockCase):
    def test_channels_come_in_the_slots_of_the_pattern(self):
        a = channel(prbs=(0, 3), rnti=7)
        b = channel(prbs=(3, 3), rnti=8)
        first, second = payloads(a, 20), payloads(b, 20, 2)
        grids = self.grids_of(a, first) + self.grids_of(b, second, noise=1e-3)
        pattern = [[0, 3], []]
        orders = [message(user=1, slot=5), message(user=1, slot=6, frame=0, hint="x")]
        block, ok, fail = self.received(grids, [a, b], messages=orders, slots=pattern)
        self.assertEqual(fail, [])
        self.assertEqual(
            [(one["slot"], one["user"], one["rnti"]) for one, _ in ok],
            [(0, 0, 7), (3, 0, 7), (5, 1, 8), (6, 1, 8)],
        )
        self.assertEqual(ok[2][1], second[5])
        self.assertEqual(ok[3][0]["hint"], "x")
        self.assertEqual((block.slots(), block.frames()), (20, 4))

    def test_orders_hold_for_a_slot_or_from_then_on_and_by_tag(self):
        of = channel()
        blocks_of = payloads(of, 8)
        versions = [3, 0, 3, 0, 3, 3, 3, 3]  # those that decode alone
        grids = self.grids_of(of, blocks_of, versions=versions)
        size = grids[0, 0].size
        orders = [message(redundancy_version=3), message(redundancy_version=0, slot=1)]
        tags = [
            tag(3 * size, "nr_schedule", message(redundancy_version=0, number=33)),
            tag(5 * size, "nr_schedule", message(active=False)),
        ]
        block, ok, fail = self.received(grids, of, tags, orders)
        self.assertEqual([one["slot"] for one, _ in fail], [])
        self.assertEqual([one["slot"] for one, _ in ok], [0, 1, 2, 3, 4, 6, 7])
        self.assertEqual(ok[3][0]["number"], 33)
        self.assertEqual(
            [one["redundancy_version"] for one, _ in ok], [3, 0, 3, 0, 3, 3, 3]
        )

    def test_retransmissions_are_combined(self):
        of = channel(mcs=18)
        block = payloads(of, 1)[0]
        versions = [0, 2, 3, 1]
        grids = self.grids_of(of, [block] * 4, versions=versions, noise=0.25)
        size = grids[0, 0].size
        tags = [
            tag(
                n * size,
                "nr_schedule",
                message(redundancy_version=v, process=3, new_data=n == 0),
            )
            for n, v in enumerate(versions)
        ]
        got, ok, fail = self.received(grids, of, tags)
        self.assertTrue(fail and ok, (len(fail), len(ok)))
        self.assertEqual(fail[0][0]["slot"], 0)
        self.assertEqual(ok[-1][1], block)
        self.assertEqual(ok[-1][0]["process"], 3)
        self.assertGreater(got.harq_bytes(), 0)
        alone, ok_alone, _ = self.received(
            grids,
            of,
            [
                tag(n * size, "nr_schedule", message(redundancy_version=v))
                for n, v in enumerate(versions)
            ],
        )
        self.assertLess(len(ok_alone), len(ok))
        self.assertEqual(alone.harq_bytes(), 0)

    def test_the_memory_of_harq_is_bounded(self):
        of = channel()
        blocks_of = payloads(of, 6)
        grids = self.grids_of(of, blocks_of, noise=1e-3)
        size = grids[0, 0].size
        tags = [tag(n * size, "nr_schedule", message(process=n)) for n in range(6)]
        one, ok, _ = self.received(grids[:1], of, tags[:1])
        a_process = one.harq_bytes()
        with captured_log():
            block, ok, fail = self.received(grids, of, tags, harq_bytes=2 * a_process)
        self.assertEqual(len(ok), 6)
        self.assertEqual(block.harq_bytes(), 2 * a_process)
        self.assertEqual(block.forgotten_processes(), 4)
        with captured_log() as log:
            block, ok, fail = self.received(grids, of, tags, harq_bytes=a_process - 1)
        self.assertEqual((len(ok), block.harq_bytes()), (6, 0))
        self.assertFalse(any("process" in told for told, _ in ok))
        self.assertEqual(block.refused_schedules(), 6)
        self.assertIn("max_bytes", log.text)

    def test_wrong_orders_are_refused_and_harm_nothing(self):
        of = channel()
        blocks_of = payloads(of, 3)
        grids = self.grids_of(of, blocks_of)
        size = grids[0, 0].size
        wrong = [
            message(user=1),
            message(user=-1),
            message(redundancy_version=4),
            message(slot=20),
            message(slot=1.5),
            message(process=32),
            message(new_data=3),
            pmt.intern("nonsense"),
            pmt.from_long(7),
            pmt.init_f32vector(1, [1.0]),
        ]
        tags = [tag(size, "nr_schedule", message(user=3)), tag(0, "slot", "x")]
        tags.append(tag(2 * size, "nr_schedule", message(process=31)))
        with captured_log() as log:
            block, ok, fail = self.received(grids, of, tags, wrong)
        self.assertEqual(fail, [])
        self.assertEqual([data for _, data in ok], blocks_of)
        self.assertEqual(block.refused_schedules(), len(wrong) + 2)
        self.assertIn("TS 38.212, 5.4.2.1", log.text)

    def test_late_orders_are_counted(self):
        of = channel()
        grids = self.grids_of(of, payloads(of, 2), slots=[5, 6])
        orders = [message(slot=4, frame=0), message(slot=6, frame=0, active=False)]
        block, ok, fail = self.received(grids, of, [], orders, slot=5)
        self.assertEqual([one["slot"] for one, _ in ok], [5])
        self.assertEqual(block.refused_schedules(), 1)

    def test_slots_and_frames_come_by_tag(self):
        of = channel()
        blocks_of = payloads(of, 2)
        grids = self.grids_of(of, blocks_of, slots=[13, 2])
        size = grids[0, 0].size
        tags = [tag(0, "slot", 13), tag(0, "frame", 5), tag(size, "slot", 2)]
        _, ok, _ = self.received(grids, of, tags)
        self.assertEqual([(m["frame"], m["slot"]) for m, _ in ok], [(5, 13), (6, 2)])

    def test_antennas_out_of_step_end_the_flowgraph(self):
        of = channel()
        grids = self.grids_of(of, payloads(of, 2))
        block = cudaphy.nr_pusch_receiver(of, 2, backend=BACKEND)
        top = gr.top_block()
        for antenna in range(2):
            lengths = packet_tags([grids[0, 0].size] * 2)
            source = Source(grids.ravel(), [*lengths, tag(0, "slot", antenna)])
            top.connect(source.block, (block, antenna))
        with captured_log() as log:
            self.run_flowgraph(top)
        self.assertIn("not in step", log.text)
        self.assertIn("the flowgraph ends here", log.text)


if __name__ == "__main__":
    main()
