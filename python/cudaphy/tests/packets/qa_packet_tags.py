#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags of radios stay on their packets through every block that works on packets. A lone
packet comes out in time. Every block counts packets and failures."""

import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr, pdu
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source, gaussian, main
from qa_support import packet_tags, tag

CODE = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
FRAMES = [1, 7, 2, 40, 3, 1, 64, 5, 11, 1]  # of each packet; a batch holds 4
TONES, SYMBOLS, PILOTS = 3, 2, 2


def matrices(count, order):
    return (
        gaussian((count, order * order)) + 2 * order * np.eye(order, dtype="c8").ravel()
    )


def slots(count, pilots):
    """Words of zeros in QPSK over two layers that do not mix, pilots in symbols 0 and 5."""
    y = np.full((count, 20, 9, 2), cudaphy.constellation("qpsk").points[0])
    y[:, [0, 5]] = pilots[:, None]
    return (y + 0.03 * gaussian(y.shape)).astype("c8").reshape(-1, 2)


def case(make, inputs, outputs):
    """make(**options) makes a block. Each input is (items a frame, array of frames), each
    output (items a frame, dtype, vlen)."""
    return make, inputs, outputs


def cases():
    n = sum(FRAMES)
    pilots = np.array([[1, 1], [1, -1]], "c8")
    return {
        "matrix_inverse": case(
            lambda **o: cudaphy.matrix_inverse(3, **o),
            [(1, matrices(n, 3))],
            [(1, "complex64", 9)],
        ),
        "triangular_inverse": case(
            lambda **o: cudaphy.triangular_matrix_inverse(3, **o),
            [(1, matrices(n, 3))],
            [(1, "complex64", 9)],
        ),
        "symmetric_inverse": case(
            # The block never waits for more.
            lambda max_latency=0, **o: cudaphy.symmetric_matrix_inverse(3, **o),
            [(3, np.tile(np.eye(3, dtype="c8"), (n, 1)))],
            [(3, "complex64", 3)],
        ),
        "sparse_matvec": case(
            lambda **o: cudaphy.sparse_matvec([[1, 0, 2], [0, 3, 0]], **o),
            [(1, gaussian((n, 3)))],
            [(1, "complex64", 2)],
        ),
        "mimo_channel_estimator": case(
            lambda **o: cudaphy.mimo_channel_estimator(2, 2, TONES, pilots, **o),
            [(PILOTS * TONES, gaussian((n * PILOTS * TONES, 2)))],
            [(TONES, "complex64", 4), (1, "float32", 0)],
        ),
        "mimo_equalizer": case(
            lambda **o: cudaphy.mimo_equalizer(2, 2, symbols=SYMBOLS, tones=TONES, **o),
            [
                (SYMBOLS * TONES, gaussian((n * SYMBOLS * TONES, 2))),
                (TONES, matrices(n * TONES, 2)),
            ],
            [(SYMBOLS * TONES, "complex64", 2), (SYMBOLS * TONES, "float32", 2)],
        ),
        "soft_demapper": case(
            lambda **o: cudaphy.soft_demapper("qam16", vlen=5, **o),
            [(1, gaussian((n, 5)))],
            [(20, "float32", 0)],
        ),
        "mimo_receiver": case(
            lambda **o: cudaphy.mimo_receiver(
                2, 2, 9, 20, pilots, [0, 5], "qpsk", CODE, put_layers=True, **o
            ),
            [(20 * 9, slots(n, pilots))],
            [(CODE.k, "uint8", 0), (18 * 9, "complex64", 2)],
        ),
        "ldpc_encoder": case(
            lambda **o: cudaphy.ldpc_encoder(CODE, **o),
            [(CODE.k, np.zeros(n * CODE.k, "uint8"))],
            [(CODE.n, "uint8", 0)],
        ),
        "ldpc_decoder": case(
            lambda **o: cudaphy.ldpc_decoder(CODE, **o),
            [(CODE.n, np.full(n * CODE.n, 4, "float32"))],
            [(CODE.k, "uint8", 0)],
        ),
    }


class qa_packet_tags(FlowgraphCase):
    def options(self, **more):
        return dict(length_tag_key=KEY, backend=BACKEND, max_batch=4, **more)

    def test_tags_stay_on_their_packets_through_every_block(self):
        heads = np.concatenate(([0], np.cumsum(FRAMES)[:-1]))
        for name, (make, inputs, outputs) in cases().items():
            with self.subTest(block=name):
                frame, array = inputs[0]
                tags = packet_tags([n * frame for n in FRAMES])
                for number, (head, frames) in enumerate(zip(heads, FRAMES)):
                    tags.append(tag(int(head) * frame, "rx_time", (number, 0.5)))
                    tags.append(tag(int(head) * frame, "rx_freq", 1e9 + number))
                    # One tag is on a frame amid the packet, where a batch may end.
                    amid = int(head) + frames // 2
                    tags.append(tag(amid * frame, "amid", number))
                block = make(**self.options())
                sinks = self.through_all(block, inputs, outputs, tags)
                for (items, _, _), sink in zip(outputs, sinks):
                    at = [int(head) * items for head in heads]
                    lengths = [n * items for n in FRAMES]
                    numbers = range(len(FRAMES))
                    self.assertEqual(len(sink.data), sum(FRAMES) * items)
                    self.assertEqual(sink.tags(KEY), list(zip(at, lengths)))
                    self.assertEqual(
                        sink.tags("rx_time"), [(i, (n, 0.5)) for i, n in zip(at, numbers)]
                    )
                    self.assertEqual(
                        sink.tags("rx_freq"), [(i, 1e9 + n) for i, n in zip(at, numbers)]
                    )
                    amid = [int(h + n // 2) * items for h, n in zip(heads, FRAMES)]
                    self.assertEqual(sink.tags("amid"), list(zip(amid, numbers)))
                self.check_statistics(block, name)

    def through_all(self, block, inputs, outputs, tags):
        top = gr.top_block()
        for port, (_, array) in enumerate(inputs):
            top.connect(Source(array, tags if port == 0 else ()).block, (block, port))
        sinks = [Sink(dtype, vlen) for _, dtype, vlen in outputs]
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        self.run_flowgraph(top)
        return sinks

    def check_statistics(self, block, name):
        got = block.stats()
        self.assertEqual(got["backend"], BACKEND)
        self.assertEqual(got["frames"], sum(FRAMES))
        self.assertLessEqual(got["largest_batch"], 4)
        self.assertGreaterEqual(got["batches"], sum(FRAMES) / 4)
        self.assertAlmostEqual(got["average_batch"], got["frames"] / got["batches"])
        self.assertGreaterEqual(got["largest_depth"], 1)
        self.assertEqual((got["queue_depth"], got["failures"]), (0, 0))
        self.assertGreater(got["compute_seconds"], 0)
        self.assertLess(got["compute_seconds"], 60)
        self.assertEqual(block.pc_batch_size(), got["last_batch"])
        self.assertEqual(block.pc_batch_size_avg(), got["average_batch"])
        self.assertEqual(block.pc_queue_depth(), 0)
        self.assertEqual(block.pc_failures(), 0)
        self.assertEqual(block.pc_compute_time(), got["last_compute"])
        self.assertEqual(block.pc_compute_time_total(), got["compute_seconds"])

    def test_failures_are_counted(self):
        a = np.eye(3, dtype="complex64").reshape(1, 9).repeat(50, 0)
        a[::5] = 0
        block = cudaphy.matrix_inverse(3, backend=BACKEND)
        self.through_all(block, [(1, a)], [(1, "complex64", 9)], ())
        self.assertEqual(block.stats()["failures"], 10)
        noise = np.random.default_rng(1).standard_normal(CODE.n * 20).astype("float32")
        block = cudaphy.ldpc_decoder(CODE, backend=BACKEND)
        self.through_all(block, [(1, noise)], [(1, "uint8", 0)], ())
        self.assertEqual(block.stats()["failures"], block.frame_errors())
        self.assertGreater(block.pc_failures(), 15)

    def test_pdu_blocks_count_too(self):
        block = cudaphy.ldpc_encoder_pdu(CODE, backend=BACKEND)
        messages, top = blocks.message_debug(), gr.top_block()
        top.msg_connect(
            block, "ok" if self.has_port(block, "ok") else "pdus", messages, "store"
        )
        top.start()
        good = pmt.cons(pmt.make_dict(), pmt.init_u8vector(CODE.k, [0] * CODE.k))
        bad = pmt.cons(pmt.make_dict(), pmt.init_u8vector(1, [0]))
        for message in (good, bad, good):
            block.to_basic_block()._post(pmt.intern("pdus"), message)
        ends = time.monotonic() + 30
        while block.stats()["frames"] < 2 and time.monotonic() < ends:
            time.sleep(0.01)
        top.stop()
        top.wait()
        got = block.stats()
        self.assertEqual((got["frames"], got["failures"]), (2, 1))
        self.assertEqual(got["backend"], BACKEND)

    def has_port(self, block, name):
        ports = block.message_ports_out()
        return name in [
            pmt.symbol_to_string(pmt.vector_ref(ports, i))
            for i in range(pmt.length(ports))
        ]

    def test_every_block_of_the_module_has_counters(self):
        for name in dir(cudaphy):
            kind = getattr(cudaphy, name)
            bound = isinstance(kind, type) and kind.__module__.endswith("cudaphy_python")
            if bound and issubclass(kind, gr.gr_python.basic_block):
                self.assertTrue(callable(kind.stats), name)
        self.assertEqual(cudaphy.packet_resync(8).stats()["frames"], 0)


class then_silence(gr.sync_block):
    """Puts an array out, and then nothing, without ending."""

    def __init__(self, array, length):
        vlen = array.shape[1] if array.ndim == 2 else 1
        out = (array.dtype.type, vlen) if vlen > 1 else array.dtype.type
        gr.sync_block.__init__(self, "then_silence", [], [out])
        self._array, self._length, self._done = array, length, 0

    def work(self, input_items, output_items):
        out = output_items[0]
        count = min(len(out), len(self._array) - self._done)
        if count == 0:
            time.sleep(0.005)
            return 0
        if self._done == 0:
            self.add_item_tag(0, 0, pmt.intern(KEY), pmt.from_long(self._length))
        out[:count] = self._array[self._done : self._done + count]
        self._done += count
        return count


class qa_slow_source(FlowgraphCase):
    """A source that gives a packet now and then, and never ends."""

    def setUp(self):
        self.source = pdu.pdu_to_tagged_stream(gr.types.float_t, KEY)
        self.sink = Sink("uint8")
        self.top = gr.top_block()

    def send(self, frames):
        llrs = pmt.init_f32vector(frames * CODE.n, [4.0] * frames * CODE.n)
        message = pmt.cons(pmt.make_dict(), llrs)
        self.source.to_basic_block()._post(pmt.intern("pdus"), message)

    def come(self, frames, patience=30):
        """Seconds until `frames` frames have come."""
        began = time.monotonic()
        while len(self.sink.block.data()) < frames * CODE.k:
            self.assertLess(time.monotonic() - began, patience, "nothing came out")
            time.sleep(0.005)
        return time.monotonic() - began

    def test_a_lone_packet_comes_out_within_max_latency(self):
        decoder = cudaphy.ldpc_decoder(
            CODE, length_tag_key=KEY, backend=BACKEND, max_batch=1000, max_latency=0.3
        )
        self.top.connect(self.source, decoder, self.sink.block)
        self.top.start()
        sent = 0
        try:
            for frames in (1, 3, 2):
                self.send(frames)
                sent += frames
                waited = self.come(sent)
                # The packet may wait, but comes without a further packet.
                self.assertGreater(waited, 0.1)
                time.sleep(0.4)  # silence, longer than max_latency
            self.assertEqual(decoder.stats()["batches"], 3)
        finally:
            self.top.stop()
            self.top.wait()

    def test_a_lone_packet_comes_out_of_every_block(self):
        # No packet follows, the stream has no end, and a batch would hold a thousand.
        for name, (make, inputs, outputs) in cases().items():
            for latency in (0, 0.05):
                with self.subTest(block=name, max_latency=latency):
                    block = make(
                        length_tag_key=KEY,
                        backend=BACKEND,
                        max_batch=1000,
                        max_latency=latency,
                    )
                    sources = [
                        then_silence(array[: 2 * frame], 2 * frame)
                        for frame, array in inputs
                    ]
                    sinks = [Sink(dtype, vlen) for _, dtype, vlen in outputs]
                    top = gr.top_block()
                    for port, source in enumerate(sources):
                        top.connect(source, (block, port))
                    for port, sink in enumerate(sinks):
                        top.connect((block, port), sink.block)
                    top.start()
                    wanted = [2 * items for items, _, _ in outputs]
                    try:
                        came = self.soon(
                            lambda: [len(sink.data) for sink in sinks] == wanted
                        )
                        self.assertTrue(came, [len(sink.data) for sink in sinks])
                    finally:
                        top.stop()
                        top.wait()

    def test_a_packet_of_matrices_is_one_launch(self):
        # Sizes of LTE's sub-frames in 5 to 20 MHz.
        for make in (cudaphy.matrix_inverse, cudaphy.triangular_matrix_inverse):
            for count, order in ((300, 2), (600, 4), (900, 8), (1200, 8)):
                with self.subTest(block=make.__name__, count=count, order=order):
                    a = matrices(count, order)
                    block = make(
                        order, length_tag_key=KEY, backend=BACKEND, max_batch=1200
                    )
                    source, sink = then_silence(a, count), Sink("complex64", order**2)
                    source.set_min_output_buffer(count)
                    top = gr.top_block()
                    top.connect(source, block, sink.block)
                    top.start()
                    try:
                        self.assertTrue(self.soon(lambda: len(sink.data) == count))
                    finally:
                        top.stop()
                        top.wait()
                    got = block.stats()
                    self.assertEqual((got["batches"], got["last_batch"]), (1, count))

    def test_without_max_latency_a_packet_comes_at_once(self):
        decoder = cudaphy.ldpc_decoder(CODE, length_tag_key=KEY, backend=BACKEND)
        self.top.connect(self.source, decoder, self.sink.block)
        self.top.start()
        try:
            for number in range(1, 4):
                self.send(1)
                self.come(number)
        finally:
            self.top.stop()
            self.top.wait()

    def test_a_message_changes_the_noise_between_packets(self):
        source = pdu.pdu_to_tagged_stream(gr.types.complex_t, KEY)
        demapper = cudaphy.soft_demapper(
            "qpsk", noise_variance=1.0, length_tag_key=KEY, backend=BACKEND
        )
        sink = Sink("float32")
        self.top.connect(source, demapper, sink.block)
        self.top.start()
        symbol = complex(np.sqrt(0.5), np.sqrt(0.5))
        try:
            expected = []
            for message, variance in (
                (None, 1.0),
                (pmt.from_double(0.25), 0.25),
                (pmt.cons(pmt.intern("noise"), pmt.from_double(0.5)), 0.5),
                (pmt.from_long(2), 2.0),
                (pmt.from_double(-1.0), 2.0),
                (pmt.intern("loud"), 2.0),
                (pmt.from_double(float("nan")), 2.0),
                (pmt.cons(pmt.PMT_T, pmt.PMT_NIL), 2.0),
            ):
                if message is not None:
                    port = pmt.intern("noise_variance")
                    demapper.to_basic_block()._post(port, message)
                self.assertTrue(self.soon(lambda: demapper.noise_variance() == variance))
                packet = pmt.cons(pmt.make_dict(), pmt.init_c32vector(3, [symbol] * 3))
                source.to_basic_block()._post(pmt.intern("pdus"), packet)
                expected += 6 * [4 * np.sqrt(0.5) * np.sqrt(0.5) / variance]
                self.assertTrue(self.soon(lambda: len(sink.data) == len(expected)))
            np.testing.assert_allclose(sink.data, expected, rtol=1e-5)
        finally:
            self.top.stop()
            self.top.wait()

    def soon(self, true, patience=20):
        ends = time.monotonic() + patience
        while not true() and time.monotonic() < ends:
            time.sleep(0.005)
        return true()


if __name__ == "__main__":
    main()
