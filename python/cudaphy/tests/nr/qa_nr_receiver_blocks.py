#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that receive PUSCH and PDSCH of 5G NR: what comes out of a slot, and the status."""

import os

import numpy as np
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, captured_log, gaussian, main, packet_tags, tag
from qa_support.nr_blocks import (
    Mailbox,
    NrBlockCase,
    channel,
    message,
    payloads,
    status_of,
)


class qa_nr_receiver_blocks(NrBlockCase):
    def test_every_slot_the_same_channel_needs_no_messages(self):
        for link in ("pusch", "pdsch"):
            with self.subTest(link):
                of = channel(link, layers=2)
                blocks_of = payloads(of, 5)
                grids = self.grids_of(of, blocks_of, noise=1e-3)
                for packed in (True, False):
                    block, ok, fail = self.received(grids, of, packed=packed)
                    self.assertEqual(fail, [])
                    got = [data for _, data in ok]
                    if not packed:
                        got = [
                            np.packbits(np.frombuffer(one, np.uint8)).tobytes()
                            for one in got
                        ]
                    self.assertEqual(got, blocks_of)
                    self.assertEqual([one["slot"] for one, _ in ok], list(range(5)))
                first = ok[0][0]
                self.assertAlmostEqual(first["sinr_db"], 30, delta=3)
                self.assertAlmostEqual(first["timing_offset"], 0, delta=1e-8)
                self.assertAlmostEqual(first["frequency_offset"], 0, delta=20)
                self.assertTrue(first["ok"] and first["new_data"])
                self.assertEqual(
                    (first["user"], first["rnti"], first["codeword"]), (0, 1, 0)
                )
                self.assertGreaterEqual(first["iterations"], 1)
                self.assertEqual(first["failed_code_blocks"], 0)
                self.assertNotIn("process", first)
                self.assertEqual((block.slots(), block.frames()), (5, 5))
                self.assertEqual(block.frame_errors(), 0)
                self.assertEqual(block.backend(), BACKEND)
                self.assertAlmostEqual(block.average_sinr_db(), 30, delta=3)

    def test_decisions_are_those_of_the_function(self):
        of = channel(layers=2, mcs=12)
        grids = self.grids_of(of, payloads(of, 6), noise=0.03)
        _, ok, fail = self.received(grids, of)
        for metadata, data in [*ok, *fail]:
            wanted = cudaphy.nr_pusch_receive(
                of, grids[metadata["slot"]], metadata["slot"], backend=BACKEND
            )
            self.assertEqual(np.packbits(wanted.payload[0]).tobytes(), data)
            self.assertEqual(metadata["ok"], wanted.ok[0])
            self.assertEqual(metadata.get("reason", ""), wanted.reason)
            self.assertAlmostEqual(metadata["sinr_db"], wanted.sinr_db[0], 4)
            self.assertEqual(metadata["iterations"], max(wanted.iterations[0]))

    def test_slots_that_wait_are_received_together(self):
        """Two users that come and go, slots without any, and processes that come again."""
        users = [channel(prbs=(0, 3), rnti=7), channel(prbs=(3, 3), rnti=8)]
        count = 20
        sent = [payloads(of, count, seed) for seed, of in enumerate(users)]
        grids = sum(self.grids_of(*one) for one in zip(users, sent))
        size = grids[0, 0].size
        orders = {
            (slot, user): dict(user=user, process=slot % 7 % 3)
            for slot in range(count)
            for user in range(2)
            if slot % 5 != 4 and (user == 0 or 6 <= slot < 14)
        }
        tags = [
            tag(slot * size, "nr_schedule", message(**order))
            for (slot, _), order in orders.items()
        ]
        block, ok, fail = self.received(grids, users, tags, slots=[[], []])
        self.assertEqual(fail, [])
        self.assertEqual([(one["slot"], one["user"]) for one, _ in ok], list(orders))
        for (slot, user), (metadata, data) in zip(orders, ok):
            self.assertEqual(data, sent[user][slot])
            self.assertEqual(metadata["process"], orders[slot, user]["process"])
        together, _, _ = self.received(grids, users[0])
        least = 1 if BACKEND == "cuda" or len(os.sched_getaffinity(0)) > 1 else 0
        self.assertGreater(together.stats()["largest_batch"], least)

    def test_a_failure_says_why(self):
        of = channel()
        grids = self.grids_of(of, payloads(of, 3), noise=1e-3)
        grids[0] = gaussian(grids[0].shape, 3)
        grids[1, :, of.dmrs_symbols[0]] = np.nan
        block, ok, fail = self.received(grids, of)
        reasons = [one["reason"] for one, _ in fail]
        self.assertIn(reasons[0], ("no_dmrs", "crc"))
        self.assertEqual(reasons[1], "not_finite")
        self.assertEqual([one["slot"] for one, _ in ok], [2])
        self.assertEqual((block.frames(), block.frame_errors()), (3, 2))

    def test_users_of_a_slot_are_separated(self):
        a = channel(dmrs_ports=[0], rnti=7)
        b = channel(dmrs_ports=[2], rnti=8)
        first, second = payloads(a, 4), payloads(b, 4, 2)
        h = gaussian((4, 2), 5)
        grids = np.einsum("a,sltk->satk", h[:, 0], self.grids_of(a, first))
        grids = grids + np.einsum("a,sltk->satk", h[:, 1], self.grids_of(b, second))
        grids = (grids + 0.01 * gaussian(grids.shape, 9)).astype("complex64")
        _, ok, fail = self.received(grids, [a, b])
        self.assertEqual(fail, [])
        self.assertEqual([d for m, d in ok if m["user"] == 0], first)
        self.assertEqual([d for m, d in ok if m["user"] == 1], second)

    def test_the_status_says_what_comes_and_what_is_wrong(self):
        of = channel()
        good = self.grids_of(of, payloads(of, 4), slots=[0] * 4, noise=1e-3)
        cases = [
            (good, of, {}, "", True),
            (gaussian(good.shape), of, {}, "every block fails", True),
            (good, of, dict(slots=[[]]), "nothing is expected", True),
            (good, of, {}, "no slot came", False),
            (
                self.grids_of(channel(rnti=2), payloads(of, 4), [0] * 4),
                of,
                {},
                "rnti",
                True,
            ),
        ]
        for grids, expected, options, problem, play in cases:
            with self.subTest(problem):
                block = cudaphy.nr_pusch_receiver(
                    expected, backend=BACKEND, status_period=0.3, **options
                )
                size = grids[0, 0].size
                tags = packet_tags([size] * 4) + [
                    tag(n * size, "slot", 0) for n in range(4)
                ]
                source = blocks.vector_source_c(grids.ravel().tolist(), True, 1, tags)
                slow = blocks.throttle(8, 50 * size)
                silent = cudaphy.nr_pusch_transmitter(of, backend=BACKEND)
                box = Mailbox("status")
                top = gr.top_block()
                if play:
                    top.connect(source, slow, block)
                else:
                    top.connect(silent, block)
                top.msg_connect(block, "status", box, "status")
                with captured_log() as log:
                    top.start()
                    box.wait(2)
                    top.stop()
                    top.wait()
                status = status_of(box.got["status"][-1])
                self.assertIn(problem, status.get("problem", ""))
                self.assertEqual("problem" in status, bool(problem))
                self.assertEqual(status["slots"] > 0, play)
                if not problem:
                    self.assertEqual((status["bler"], status["block_errors"]), (0, 0))
                    self.assertAlmostEqual(status["sinr_db"], 30, delta=4)
                else:
                    self.assertIn(problem, log.text)


if __name__ == "__main__":
    main()
