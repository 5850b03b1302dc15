#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that send PUSCH and PDSCH of 5G NR, and whole links of blocks."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from qa_support import BACKEND, KEY, Sink, Source, captured_log, main, packet_tags, tag
from qa_support.nr_blocks import (
    Mailbox,
    NrBlockCase,
    channel,
    end,
    payloads,
    pdu,
    post,
    taken_apart,
)


class qa_nr_transmitter_blocks(NrBlockCase):
    def test_grids_are_those_of_the_functions(self):
        cases = [
            (channel(layers=2), {}, None),
            (channel(layers=1, antenna_ports=2, tpmi=2), {}, None),
            (channel("pdsch", layers=2), {}, None),
            (
                channel("pdsch", layers=2),
                dict(precoding=np.array([[1, 1j], [0.5, -1], [1j, 0]])),
                3,
            ),
        ]
        for of, options, antennas in cases:
            with self.subTest(link=of.link, **options):
                make = getattr(cudaphy, f"nr_{of.link}_transmitter")
                send = getattr(cudaphy, f"nr_{of.link}_transmit")
                blocks_of = payloads(of, 3)
                ports = antennas or of.grid_shape[0]
                bits = np.unpackbits(np.frombuffer(blocks_of[2], np.uint8))
                block, sinks, failed = self.sent(
                    make(of, backend=BACKEND, slot=18, **options),
                    [
                        pdu(blocks_of[0]),
                        pdu(blocks_of[1], redundancy_version=2, number=5),
                        pdu(bits, slot=3, tx_time=4.5),
                    ],
                    ports,
                )
                self.assertEqual(failed, [])
                self.assertEqual((block.slots(), block.frames()), (3, 3))
                wanted = np.array(
                    [
                        send(of, blocks_of[0], 18, **options),
                        send(of, blocks_of[1], 19, 2, **options),
                        send(of, blocks_of[2], 3, **options),
                    ]
                )
                for port, sink in enumerate(sinks):
                    np.testing.assert_allclose(
                        sink.data, wanted[:, port].ravel(), atol=1e-6
                    )
                    size = of.grid_shape[1] * of.grid_shape[2]
                    heads = [0, size, 2 * size]
                    self.assertEqual(sink.tags(KEY), [(h, size) for h in heads])
                    self.assertEqual(sink.tags("slot"), list(zip(heads, [18, 19, 3])))
                    self.assertEqual(sink.tags("frame"), list(zip(heads, [0, 0, 1])))
                    self.assertEqual(sink.tags("tx_time"), [(2 * size, 4.5)])
                    orders = [value for _, value in sink.tags("nr_schedule")]
                    self.assertEqual(
                        orders[1], {"redundancy_version": 2, "number": 5, "user": 0}
                    )

    def test_what_cannot_be_sent_fails_with_a_reason(self):
        of = channel()
        good = payloads(of, 1)[0]
        wrong = [
            pdu(good[1:], number=1),
            pdu(good, redundancy_version=4),
            pdu(good, slot=20),
            pdu(good, slot="now"),
            pdu(good, frame=1024, slot=0),
            pmt.intern("nonsense"),
            pmt.cons(pmt.make_dict(), pmt.init_f32vector(2, [1, 2])),
        ]
        with captured_log() as log:
            block, (sink,), failed = self.sent(
                cudaphy.nr_pusch_transmitter(of, backend=BACKEND), [*wrong, pdu(good)]
            )
        self.assertEqual((block.refused_packets(), block.frames()), (len(wrong), 1))
        self.assertEqual(len(failed), len(wrong))
        self.assertEqual(failed[0][0]["number"], 1)
        self.assertEqual(failed[0][0]["expected"], len(good))
        self.assertEqual(failed[0][0]["received"], len(good) - 1)
        self.assertTrue(all(one["reason"] for one, _ in failed))
        self.assertIn("a frame has slots 0 to 19", log.text)

    def test_with_every_slot_blocks_wait_for_theirs(self):
        of = channel()
        a, b = payloads(of, 2)
        block = cudaphy.nr_pusch_transmitter(of, backend=BACKEND, every_slot=True)
        size = of.grid_shape[1] * of.grid_shape[2]
        sink = Sink("complex64")
        top = gr.top_block()
        top.connect(block, blocks.head(8, 30 * size), sink.block)
        post(block, "pdus", pdu(a, slot=7))
        post(block, "pdus", pdu(b))
        self.run_flowgraph(top)
        got = sink.data.reshape(30, *of.grid_shape[1:])
        used = np.flatnonzero(np.abs(got).sum((1, 2)))
        self.assertEqual(used.tolist(), [0, 7])
        np.testing.assert_allclose(
            got[7], cudaphy.nr_pusch_transmit(of, a, 7)[0], atol=1e-6
        )
        self.assertEqual([v for _, v in sink.tags("slot")], [n % 20 for n in range(30)])

    def test_two_codewords_of_a_slot_are_two_blocks(self):
        of = channel("pdsch", layers=6, dmrs_length=2, dmrs_additional_position=0)
        block = payloads(of, 1)[0]
        bits = np.unpackbits(np.frombuffer(block, np.uint8))
        grid = cudaphy.nr_pdsch_transmit(
            of, [bits[: of.tbs[0]], bits[of.tbs[0] :]], 4, [0, 3]
        )
        sender, sinks, _ = self.sent(
            cudaphy.nr_pdsch_transmitter(of, backend=BACKEND, slot=4),
            [
                pmt.cons(
                    pmt.dict_add(
                        pmt.make_dict(),
                        pmt.intern("redundancy_version"),
                        pmt.init_s32vector(2, [0, 3]),
                    ),
                    pmt.init_u8vector(len(block), list(block)),
                )
            ],
            6,
        )
        got = np.array([sink.data for sink in sinks]).reshape(1, *of.grid_shape)
        np.testing.assert_allclose(got[0], grid, atol=1e-6)
        order = sinks[0].block.tags()
        schedule = [t for t in order if pmt.symbol_to_string(t.key) == "nr_schedule"]
        schedule = [tag(0, "nr_schedule", schedule[0].value)]
        _, ok, fail = self.received(got, of, schedule, slot=4)
        self.assertEqual(b"".join(data for _, data in ok + fail)[: len(block) * 2], block)
        self.assertEqual([one["codeword"] for one, _ in ok], [0, 1])
        self.assertEqual([one["redundancy_version"] for one, _ in ok], [0, 3])

    def test_other_channels_at_run_time(self):
        of = channel()
        other = channel(mcs=9, rnti=5)
        block = cudaphy.nr_pusch_receiver(of, backend=BACKEND)
        block.set_channels([other])
        self.assertRaises(ValueError, block.set_channels, [other, other])
        self.assertRaises(ValueError, block.set_channels, channel(grid_size=7))
        self.assertRaises(ValueError, block.set_channels, channel("pdsch"))
        self.assertRaises(TypeError, block.set_channels, 3)
        sender = cudaphy.nr_pusch_transmitter(of, backend=BACKEND)
        sender.set_channel(other)
        self.assertRaises(ValueError, sender.set_channel, channel(layers=2))
        box = Mailbox("ok", "fail")
        top = gr.top_block()
        top.connect(sender, block)
        top.msg_connect(block, "ok", box, "ok")
        data = payloads(other, 2)
        for one in data:
            post(sender, "pdus", pdu(one))
        end(sender)
        self.run_flowgraph(top)
        box.wait(2)
        self.assertEqual([taken_apart(one)[1] for one in box.got["ok"]], data)

    def test_a_block_alone_comes_through_at_once(self):
        """At a low rate nothing waits for more, and a second run is as the first."""
        of = channel()
        sender = cudaphy.nr_pusch_transmitter(of, backend=BACKEND)
        samples = cudaphy.nr_ofdm_modulator(of.grid_shape[2])
        grids = cudaphy.nr_ofdm_demodulator(of.grid_shape[2])
        receiver = cudaphy.nr_pusch_receiver(of, backend=BACKEND)
        box = Mailbox("ok", "fail")
        top = gr.top_block()
        top.connect(sender, samples, grids, receiver)
        for port in box.got:
            top.msg_connect(receiver, port, box, port)
        for turn in range(2):
            top.start()
            for number, one in enumerate(payloads(of, 3, turn)):
                box.got["ok"].clear()
                began = time.monotonic()
                post(sender, "pdus", pdu(one, number=number))
                box.wait(1)
                self.assertLess(time.monotonic() - began, 5)
                metadata, data = taken_apart(box.got["ok"][0])
                self.assertEqual((data, metadata["number"]), (one, number))
                self.assertEqual(metadata["slot"], number)
            top.stop()
            top.wait()
        self.assertEqual(box.got["fail"], [])

    def test_wrong_parameters_are_refused(self):
        of = channel()
        for wrong in (
            dict(channels=[]),
            dict(channels=channel("pdsch")),
            dict(channels=[of, channel(grid_size=7)]),
            dict(antennas=0),
            dict(antennas=65),
            dict(slots=[]),
            dict(slots=[[20]]),
            dict(slots=[[0], [1]]),
            dict(slot=20),
            dict(estimator="best"),
            dict(interference="none"),
            dict(delay_spread=1.0),
            dict(max_iterations=0),
            dict(processes=0),
            dict(processes=33),
            dict(status_period=-1.0),
            dict(backend="gpu"),
        ):
            with self.subTest(**wrong), self.assertRaises(ValueError):
                cudaphy.nr_pusch_receiver(**{"channels": of, "backend": BACKEND, **wrong})
        self.assertRaises(TypeError, cudaphy.nr_pusch_receiver, 7)
        self.assertRaises(TypeError, cudaphy.nr_pusch_transmitter, "pusch")
        down = channel("pdsch", layers=2)
        for make, wrong in (
            (cudaphy.nr_pusch_transmitter, dict(channel=down)),
            (cudaphy.nr_pdsch_transmitter, dict(channel=of)),
            (cudaphy.nr_pusch_transmitter, dict(slot=20)),
            (cudaphy.nr_pusch_transmitter, dict(user=-1)),
            (cudaphy.nr_pusch_transmitter, dict(length_tag_key="")),
            (cudaphy.nr_pdsch_transmitter, dict(channel=down, precoding=np.ones((2, 3)))),
            (cudaphy.nr_pdsch_transmitter, dict(channel=down, precoding=np.ones(2))),
            (
                cudaphy.nr_pdsch_transmitter,
                dict(channel=down, precoding=np.full((2, 2), np.nan)),
            ),
        ):
            with self.subTest(**wrong), self.assertRaises(ValueError):
                make(**{"channel": of, "backend": BACKEND, **wrong})

    def test_threads_may_ask_while_it_runs(self):
        of = channel()
        grids = self.grids_of(of, payloads(of, 20))
        block = cudaphy.nr_pusch_receiver(of, backend=BACKEND, status_period=0.01)
        top = gr.top_block()
        top.connect(
            Source(grids.ravel(), packet_tags([grids[0, 0].size] * 20)).block, block
        )
        going = threading.Event()

        def ask():
            while not going.wait(0.001):
                block.stats(), block.average_sinr_db(), block.harq_bytes()
                block.set_channels(of)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            self.run_flowgraph(top)
        finally:
            going.set()
            asking.join()
        self.assertEqual((block.frames(), block.frame_errors()), (20, 0))
        self.assertEqual(block.stats()["frames"], 20)


if __name__ == "__main__":
    main()
