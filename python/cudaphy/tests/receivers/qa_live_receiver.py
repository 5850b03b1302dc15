#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole receiver behind a radio: overflows, a sink that stands still, halves joined by
ZeroMQ, and messages that change frequency, code and noise between packets."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr, pdu
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, gaussian, main
from qa_support import packet_tags, tag
from qa_support.radio_time import RATE, radio_time, time_tag

CODES = {rate: cudaphy.ldpc_code("wifi", n=648, rate=rate) for rate in ("1/2", "3/4")}
CODE = CODES["1/2"]
QPSK = np.asarray(cudaphy.constellation("qpsk").points)
WORD = CODE.n // 2  # symbols
PACKET = 2 * WORD
NOISE = 0.02


def words(count, code=CODE, seed=1):
    """Information bits (count, k), and their symbols with noise (count, n / 2)."""
    info = np.random.default_rng(seed).integers(0, 2, (count, code.k)).astype("uint8")
    labels = cudaphy.ldpc_encode(code, info, backend="cpu").reshape(-1, 2) @ [2, 1]
    x = QPSK[labels] + np.sqrt(NOISE) * gaussian(labels.shape, seed)
    return info, x.astype("complex64").reshape(count, -1)


def through_gaps(samples, lost):
    """The samples and tags of a radio that loses (first, count) of its samples."""
    received = np.ones(len(samples), bool)
    for first, count in lost:
        received[first : first + count] = False
    tags = [time_tag(0, 0), tag(0, "rx_rate", RATE), tag(0, "rx_freq", 2.4e9)]
    for first, count in lost:
        end = first + count
        if not received[end - count : end].any() and (
            end == len(received) or received[end]
        ):
            tags.append(time_tag(int(received[:end].sum()), end))
    return samples[received], tags


class qa_overflow(FlowgraphCase):
    # Gaps within a packet, twice in one packet, of a few samples, of exactly one packet,
    # across a boundary, and over several packets.
    LOST = [
        (3 * PACKET + 100, 50),
        (5 * PACKET + 10, 200),
        (5 * PACKET + 400, 30),
        (9 * PACKET + 641, 7),
        (12 * PACKET, PACKET),
        (15 * PACKET - 5, 10),
        (20 * PACKET + 300, 4 * PACKET + 111),
    ]
    PACKETS = 40

    def torn(self):
        return {
            number
            for first, count in self.LOST
            for number in range(first // PACKET, (first + count - 1) // PACKET + 1)
        }

    def test_whole_packets_are_decoded_and_the_loss_is_counted(self):
        info, x = words(2 * self.PACKETS)
        samples, tags = through_gaps(x.ravel(), self.LOST)
        good = [n for n in range(self.PACKETS) if n not in self.torn()]
        for max_batch in (0, 1, 3):
            resync = cudaphy.packet_resync(8, packet_length=PACKET, stamp=True)
            options = dict(length_tag_key=KEY, backend=BACKEND, max_batch=max_batch)
            demapper = cudaphy.soft_demapper("qpsk", noise_variance=NOISE, **options)
            decoder = cudaphy.ldpc_decoder(CODE, **options)
            source, sink, top = Source(samples, tags), Sink("uint8"), gr.top_block()
            top.connect(source.block, resync, demapper, decoder, sink.block)
            self.run_flowgraph(top)
            expected = info.reshape(self.PACKETS, -1)[good]
            np.testing.assert_array_equal(sink.data, expected.ravel())
            self.assertEqual(
                (decoder.frames(), decoder.frame_errors()), (2 * len(good), 0)
            )
            self.assertEqual(resync.packets(), len(good))
            self.assertEqual(resync.gaps(), len(self.LOST))
            self.assertEqual(resync.lost_items(), sum(count for _, count in self.LOST))
            self.assertEqual(resync.lost_packets(), len(self.torn()))
            bits = 2 * CODE.k
            heads = [bits * i for i in range(len(good))]
            self.assertEqual(sink.tags(KEY), [(head, bits) for head in heads])
            # Each packet has the time of its own first sample.
            times = sink.tags("rx_time")
            self.assertEqual([item for item, _ in times], heads)
            for number, (_, (whole, part)) in zip(good, times):
                wanted = pmt.to_python(radio_time(number * PACKET))
                self.assertEqual(whole, wanted[0])
                self.assertAlmostEqual(part, wanted[1], 8)

    def test_slots_of_the_mimo_receiver_are_received_and_losses_counted(self):
        tones, symbols, slots = 18, 20, 12
        pilots = np.array([[1, 1], [1, -1]], "c8")
        info, x = words(2 * slots)
        y = np.empty((slots, symbols, tones, 2), "complex64")
        noise = np.sqrt(NOISE) * gaussian((slots, 2, tones, 2), 2)
        y[:, [0, 9]] = pilots[:, None] + noise
        y[:, [s for s in range(symbols) if s not in (0, 9)]] = x.reshape(
            slots, symbols - 2, tones, 2
        )
        length = symbols * tones
        lost = [(2 * length + 40, 9), (5 * length - 3, length + 6), (9 * length, 1)]
        samples, tags = through_gaps(y.reshape(-1, 2), lost)
        # The tolerance is below the shortest gap.
        resync = cudaphy.packet_resync(16, packet_length=length, tolerance=0)
        receiver = cudaphy.mimo_receiver(
            2, 2, tones, symbols, pilots, [0, 9], "qpsk", CODE, KEY, BACKEND
        )
        self.assertEqual(receiver.words(), 2)
        source, sink, top = Source(samples, tags), Sink("uint8"), gr.top_block()
        top.connect(source.block, resync, receiver, sink.block)
        self.run_flowgraph(top)
        good = [n for n in range(slots) if n not in (2, 4, 5, 6, 9)]
        expected = info.reshape(slots, -1)[good]
        np.testing.assert_array_equal(sink.data, expected.ravel())
        self.assertEqual((resync.gaps(), resync.lost_packets()), (3, 5))
        self.assertEqual(receiver.frame_errors(), 0)


class qa_zeromq(FlowgraphCase):
    def test_the_radios_tags_cross_zeromq_with_their_packets(self):
        try:
            from gnuradio import zeromq
        except ImportError as missing:
            self.skipTest(str(missing))
        lengths = [1, 3, 40, 2, 7] * 4  # words
        info, x = words(sum(lengths))
        heads = np.cumsum([0] + lengths[:-1])
        tags = packet_tags([n * WORD for n in lengths])
        for number, head in enumerate(heads * WORD):
            tags.append(time_tag(int(head), int(head)))
            tags.append(tag(int(head), "rx_freq", 1e9 + number))
        options = dict(length_tag_key=KEY, backend=BACKEND, max_batch=4)
        demapper = cudaphy.soft_demapper("qpsk", noise_variance=NOISE, **options)
        # The system chooses a free port. A few messages wait, as over a network.
        push = zeromq.push_sink(gr.sizeof_float, 1, "tcp://127.0.0.1:*", 100, True, 4)
        address = push.last_endpoint()
        pull = zeromq.pull_source(gr.sizeof_float, 1, address, 100, True, 4)
        whole = cudaphy.packet_resync(gr.sizeof_float, length_tag_key=KEY)
        decoder, sink = cudaphy.ldpc_decoder(CODE, **options), Sink("uint8")
        back, front = gr.top_block(), gr.top_block()
        front.connect(Source(x.ravel(), tags).block, demapper, push)
        back.connect(pull, whole, decoder, sink.block)
        back.start()
        try:
            self.run_flowgraph(front)
            ends = time.monotonic() + 30
            while len(sink.data) < info.size and time.monotonic() < ends:
                time.sleep(0.02)
        finally:
            back.stop()
            back.wait()
        np.testing.assert_array_equal(sink.data, info.ravel())
        at = [int(head) * CODE.k for head in heads]
        packets = [n * CODE.k for n in lengths]
        self.assertEqual(sink.tags(KEY), list(zip(at, packets)))
        times = [pmt.to_python(radio_time(int(head) * WORD)) for head in heads]
        self.assertEqual(sink.tags("rx_time"), list(zip(at, times)))
        numbers = range(len(lengths))
        self.assertEqual(
            sink.tags("rx_freq"), [(i, 1e9 + n) for i, n in zip(at, numbers)]
        )
        self.assertEqual((whole.lost_packets(), decoder.frame_errors()), (0, 0))


class gate(gr.sync_block):
    """A sink that stands still until it is opened."""

    def __init__(self):
        gr.sync_block.__init__(self, "gate", [np.uint8], [])
        self.opened, self.came = threading.Event(), []

    def work(self, input_items, output_items):
        self.opened.wait()
        self.came.append(input_items[0].copy())
        return len(input_items[0])


class qa_slow_sink(FlowgraphCase):
    SOME, COUNT = 50, 6000  # words; many times what all buffers hold

    def test_a_sink_that_stands_still_holds_the_source_back_without_loss(self):
        info, x = words(self.SOME)
        samples = np.tile(x.ravel(), self.COUNT // self.SOME)
        source, sink, top = (
            blocks.vector_source_c(samples.tolist()),
            gate(),
            gr.top_block(),
        )
        demapper = cudaphy.soft_demapper(
            "qpsk", noise_variance=NOISE, backend=BACKEND, max_batch=4096
        )
        decoder = cudaphy.ldpc_decoder(CODE, backend=BACKEND, max_batch=16)
        top.connect(source, demapper, decoder, sink)
        top.start()
        try:
            before = -1
            while before < WORD or source.nitems_written(0) != before:
                before = source.nitems_written(0)
                time.sleep(0.2)
            # All blocks stand still with full buffers.
            self.assertLess(before, len(samples) // 2)
            self.assertLess(decoder.frames(), self.COUNT // 2)
            self.assertLess(decoder.stats()["queue_depth"], 8)
        finally:
            sink.opened.set()
            top.wait()
        expected = np.tile(info.ravel(), self.COUNT // self.SOME)
        np.testing.assert_array_equal(np.concatenate(sink.came), expected)
        self.assertEqual((decoder.frames(), decoder.frame_errors()), (self.COUNT, 0))


class qa_messages(FlowgraphCase):
    def soon(self, true, patience=20):
        ends = time.monotonic() + patience
        while not true() and time.monotonic() < ends:
            time.sleep(0.002)
        self.assertTrue(true())

    def post(self, block, port, message):
        port = pmt.intern(port)
        block.to_basic_block()._post(port, message)
        # The block obeys a message that it has taken before its next samples.
        self.soon(lambda: block.nmsgs(port) == 0)

    def test_frequency_code_and_noise_change_between_packets(self):
        source = pdu.pdu_to_tagged_stream(gr.types.complex_t, KEY)
        tuner = blocks.rotator_cc(0)
        options = dict(length_tag_key=KEY, backend=BACKEND)
        demapper = cudaphy.soft_demapper("qpsk", **options)
        decoder = cudaphy.ldpc_decoder(CODE, codes=CODES, **options)
        sink, top = Sink("uint8"), gr.top_block()
        top.connect(source, tuner, demapper, decoder, sink.block)
        top.start()
        expected, heads = [], []
        try:
            # Carriers have whole turns a word: each packet begins at the same phase.
            for number, (turns, rate, noise) in enumerate(
                [
                    (0, "1/2", 0.02),
                    (5, "1/2", 0.02),
                    (5, "3/4", 0.02),
                    (-40, "3/4", 0.5),
                    (-40, "1/2", 0.02),
                    (0, "3/4", 0.02),
                ]
            ):
                step = 2 * np.pi * turns / WORD
                change = pmt.make_dict()
                change = pmt.dict_add(change, pmt.intern("inc"), pmt.from_double(-step))
                self.post(tuner, "cmd", change)
                self.post(demapper, "noise_variance", pmt.from_double(noise))
                info, x = words(1 + number, CODES[rate], number)
                x = x.ravel() * np.exp(1j * step * np.arange(x.size))
                about = pmt.dict_add(
                    pmt.make_dict(), pmt.intern("ldpc_code"), pmt.intern(rate)
                )
                about = pmt.dict_add(about, pmt.intern("rx_freq"), pmt.from_double(turns))
                packet = pmt.cons(about, pmt.init_c32vector(x.size, x.tolist()))
                source.to_basic_block()._post(pmt.intern("pdus"), packet)
                heads.append((sum(map(len, expected)), turns))
                expected.append(info.ravel())
                self.soon(lambda: len(sink.data) == sum(map(len, expected)))
                self.assertEqual(demapper.noise_variance(), np.float32(noise))
        finally:
            top.stop()
            top.wait()
        np.testing.assert_array_equal(sink.data, np.concatenate(expected))
        self.assertEqual(sink.tags("rx_freq"), heads)
        self.assertEqual((decoder.frame_errors(), decoder.refused_packets()), (0, 0))


if __name__ == "__main__":
    main()
