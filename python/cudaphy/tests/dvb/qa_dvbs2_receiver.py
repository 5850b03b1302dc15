#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""DVB-S2 Receiver and dvbs2_receive(): from samples that GNU Radio's transmitter made to its transport stream."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy.blocks.block_guard import guarded
from gnuradio.cudaphy.dvbs2 import bch_code_of, dvbs2_modes, ldpc_code_of
from qa_support import BACKEND, FlowgraphCase, Sink, Source, captured_log, main
from qa_support.dvb import transport_stream
from qa_support.dvb_samples import channel, dummy_frames, physical_frames

# Receivers share the codes that are in use.
CODES = [(ldpc_code_of(mode), bch_code_of(mode)) for mode in dvbs2_modes((), False)]
NULLS = 12  # packets behind the stream, which fill the last frames


def stream_and_frames(packets, *how, **more):
    """A stream's bytes, and the symbols of the frames that carry it and null packets."""
    stream = transport_stream(packets, seed=sum(map(ord, "".join(how))))
    null = np.zeros((NULLS * (6 if "normal" in how else 1), 188), np.uint8)
    null[:, :4] = 0x47, 0x1F, 0xFF, 0x10
    symbols = physical_frames(np.concatenate([stream, null]), *how, **more)
    return stream.tobytes(), symbols


def pls_of(name):
    """The PLS code of a mode with pilots."""
    modes = map(cudaphy.dvb_mode.of, range(256))
    return next(mode.pls for mode in modes if repr(mode) == name + ", pilots")


@guarded
class two_parts(gr.sync_block):
    """Samples; the second part only after go_on(), whose messages port rate gives out before."""

    def __init__(self, *parts):
        gr.sync_block.__init__(self, "two_parts", None, [np.complex64])
        self._parts, self._wait = list(parts), threading.Event()
        self.message_port_register_out(pmt.intern("rate"))

    def go_on(self, *messages):
        for message in messages:
            self.message_port_pub(pmt.intern("rate"), message)
        time.sleep(0.2)
        self._wait.set()

    def work(self, _, outputs):
        if len(self._parts) == 1:
            self._wait.wait(60)
        if not self._parts:
            return -1
        part = self._parts[0]
        count = min(len(part), len(outputs[0]))
        outputs[0][:count] = part[:count]
        self._parts[0] = part[count:]
        if count == len(part):
            del self._parts[0]
        return count


class qa_dvbs2_receiver(FlowgraphCase):
    def receive(self, samples, *arguments, ports=(), **options):
        """(bytes, receiver, {port: messages})"""
        receiver = cudaphy.dvbs2_receiver(*arguments, backend=BACKEND, **options)
        top, sink = gr.top_block(), Sink("uint8")
        source = Source(samples)
        top.connect(source.block, receiver, sink.block)
        heard = {port: blocks.message_debug() for port in ports}
        for port, debug in heard.items():
            top.msg_connect(receiver, port, debug, "store")
        self.run_flowgraph(top)
        messages = {
            port: [debug.get_message(i) for i in range(debug.num_messages())]
            for port, debug in heard.items()
        }
        return sink.data.tobytes(), receiver, messages

    def assert_stream(self, got, stream):
        self.assertTrue(got[: len(stream)] == stream)
        self.assertEqual(len(got) % 188, 0)

    def test_streams_of_any_modcod_come_back_whole(self):
        for how, sps, esn0, pilots in (
            (("QPSK", "1/2", "short"), 2, 3, True),
            (("8PSK", "3/5", "short"), 2.3, 7, True),
            (("16APSK", "3/4", "short"), 3.7, 12, True),
            (("32APSK", "4/5", "short"), 1.7, 16, True),
            (("QPSK", "3/4", "short"), 2, 6, False),
            (("QPSK", "1/2", "normal"), 2, 3, True),
            (("QPSK", "1/4", "normal"), 2, 0, True),
        ):
            with self.subTest(how=how, sps=sps, pilots=pilots):
                stream, symbols = stream_and_frames(60, *how, pilots=pilots)
                samples = channel(symbols, sps, 0.2, esn0, 0.05, 50)
                got, receiver, _ = self.receive(samples, sps, 0.2)
                self.assert_stream(got, stream)
                status = receiver.status()
                self.assertEqual(status["frame_errors"], 0)
                self.assertLess(abs(status["esn0"] - esn0), 1)
                self.assertLess(abs(status["frequency"] - 0.05), 2e-3)

    def test_modcods_that_change_and_dummy_frames_lose_nothing(self):
        parts, streams = [], []
        kinds = (
            ("QPSK", "1/2", "short"),
            ("8PSK", "2/3", "short"),
            ("16APSK", "2/3", "short"),
        )
        for how in kinds:
            stream, symbols = stream_and_frames(40, *how)
            parts.append(symbols)
            streams.append(stream)
        sent = np.concatenate(
            [parts[0], dummy_frames(3), parts[1], dummy_frames(1), parts[2]]
        )
        samples = channel(sent, 2, 0.2, 12, -0.1, -50)
        got, receiver, _ = self.receive(samples, 2, 0.2)
        for stream in streams:
            self.assertTrue(stream in got)
        self.assertEqual(receiver.status()["dummy_frames"], 4)

    def test_a_signal_that_goes_and_returns_loses_nothing(self):
        """With another carrier, timing, level and MODCOD."""
        one, first = stream_and_frames(40, "QPSK", "1/2", "short")
        two, second = stream_and_frames(40, "8PSK", "3/5", "short", pilots=False)
        noise = channel(np.zeros(200_000) + 1e-6, 2, 0.2, -114, seed=3)
        samples = np.concatenate(
            [
                channel(first, 2, 0.2, 6, 0.05, 50),
                noise,
                0.3 * channel(second, 2, 0.2, 9, -0.15, -30, seed=2)[1:],
                noise,
            ]
        )
        got, receiver, _ = self.receive(samples, 2, 0.2)
        self.assertTrue(one in got)
        self.assertTrue(two in got)
        self.assertEqual(receiver.status()["frame_errors"], 0)
        frames, stream = cudaphy.dvbs2_receive(samples, 2, 0.2, backend=BACKEND)
        self.assertTrue(two in stream)

    def test_the_symbol_rate_changes_by_message(self):
        one, first = stream_and_frames(40, "QPSK", "1/2", "short")
        two, second = stream_and_frames(40, "8PSK", "3/5", "short")
        tail = channel(np.zeros(60_000) + 1e-6, 2, 0.2, -114, seed=3)
        source = two_parts(
            np.concatenate([channel(first, 2, 0.2, 6, 0.05, 50), tail]),
            channel(second, 2.6, 0.2, 9, -0.1, -50),
        )
        receiver, sink = cudaphy.dvbs2_receiver(2, 0.2, backend=BACKEND), Sink("uint8")
        top = gr.top_block()
        top.connect(source, receiver, sink.block)
        top.msg_connect(source, "rate", receiver, "samples_per_symbol")
        top.start()
        end = time.monotonic() + 60
        while len(sink.block.data()) < len(one) and time.monotonic() < end:
            time.sleep(0.01)
        source.go_on(pmt.intern("no rate"), pmt.from_double(99), pmt.from_double(2.6))
        top.wait()
        got = sink.data.tobytes()
        self.assertTrue(one in got)
        self.assertTrue(two in got)
        self.assertEqual(receiver.status()["frame_errors"], 0)

    def test_a_receiver_of_some_modes_alone_passes_over_the_others(self):
        first, one = stream_and_frames(40, "QPSK", "1/2", "short")
        second, other = stream_and_frames(40, "8PSK", "2/3", "short")
        samples = channel(np.concatenate([one, other]), 2, 0.2, 12)
        modes = [pls for pls in range(128) if "8PSK" in repr(cudaphy.dvb_mode.of(pls))]
        got, _, _ = self.receive(samples, 2, 0.2, modes=modes)
        self.assertTrue(second in got)
        self.assertFalse(first in got)
        with self.assertRaisesRegex(ValueError, "PLS code"):
            cudaphy.dvbs2_receiver(2, 0.2, modes=[0])

    def test_integers_as_radios_send_them(self):
        stream, symbols = stream_and_frames(40, "QPSK", "1/2", "short")
        samples = channel(symbols, 2, 0.35, 6)
        scale = 30 / np.abs(samples).max()
        for type, kind, scale in (
            ("sc16", np.int16, 300 * scale),
            ("sc8", np.int8, 4 * scale),
        ):
            with self.subTest(type=type):
                pairs = np.round(scale * samples.view("f4")).astype(kind).reshape(-1, 2)
                items = pairs.view("u1") if kind == np.int8 else pairs
                got, _, _ = self.receive(items, 2, 0.35, type=type)
                self.assert_stream(got, stream)
                frames, whole = cudaphy.dvbs2_receive(pairs, 2, 0.35, backend=BACKEND)
                self.assert_stream(whole, stream)
                self.assertTrue(all(frame.ok for frame in frames))

    def test_arrays_give_frames_and_the_stream(self):
        stream, symbols = stream_and_frames(40, "8PSK", "3/5", "short")
        samples = channel(symbols, 2, 0.2, 8, 0.08)
        frames, got = cudaphy.dvbs2_receive(samples, 2, 0.2, backend=BACKEND)
        self.assert_stream(got, stream)
        self.assertEqual(len(frames), len(symbols) // frames[0].mode.length)
        for number, frame in enumerate(frames):
            self.assertTrue(frame.ok)
            self.assertEqual(len(frame.bits), 9552)
            self.assertLess(abs(frame.es_n0 - 8), 1.5)
            self.assertLess(abs(frame.frequency - 0.08), 1e-3)
            self.assertLess(abs(frame.first_sample - 2 * number * frame.mode.length), 2)

    def test_nearly_every_frame_is_right_close_to_the_threshold(self):
        stream, symbols = stream_and_frames(250, "8PSK", "3/4", "normal")
        samples = channel(symbols, 2, 0.2, 7.91 + 0.2, 0.05, 50)
        frames, got = cudaphy.dvbs2_receive(samples, 2, 0.2, backend=BACKEND)
        self.assert_stream(got, stream)
        received, receiver, _ = self.receive(samples, 2, 0.2)
        self.assert_stream(received, stream)
        self.assertEqual(receiver.status()["frame_errors"], 0)
        self.assertGreater(len(frames), 7)

    def test_the_ldpc_algorithm_can_be_chosen(self):
        stream, symbols = stream_and_frames(40, "QPSK", "8/9", "short")
        samples = channel(symbols, 2, 0.2, 7.5, 0.05)
        how = {"algorithm": "sum_product", "modes": [pls_of("QPSK 8/9 short")]}
        got, _, _ = self.receive(samples, 2, 0.2, **how)
        self.assert_stream(got, stream)
        _, got = cudaphy.dvbs2_receive(samples, 2, 0.2, backend=BACKEND, **how)
        self.assert_stream(got, stream)
        with self.assertRaisesRegex(ValueError, "algorithm"):
            cudaphy.dvbs2_receiver(2, 0.2, algorithm="guess", backend=BACKEND)

    def test_noise_zeros_carriers_and_bad_samples_give_nothing_and_end(self):
        rng = np.random.default_rng(3)
        count = 300_000
        noise = rng.normal(size=(count, 2)).astype("f4").view("c8").ravel()
        for samples in (
            noise,
            np.zeros(count, "c8"),
            np.exp(0.3j * np.arange(count)).astype("c8"),
            np.full(count, complex(np.nan, 1), "c8"),
            np.full(count, complex(np.inf, -np.inf), "c8"),
            noise[:5],
        ):
            got, receiver, _ = self.receive(samples, 2, 0.2)
            self.assertEqual(len(got), 0)
            self.assertFalse(receiver.status()["locked"])

    def advice(self, samples, *arguments):
        """What a receiver of endless samples says of their lack of frames, the log, and its first status."""
        top, receiver = gr.top_block(), cudaphy.dvbs2_receiver(
            *arguments, backend=BACKEND
        )
        source = blocks.vector_source_c(samples.tolist(), True)
        throttle, debug = (
            blocks.throttle(gr.sizeof_gr_complex, 1e6),
            blocks.message_debug(),
        )
        with captured_log() as log:
            top.connect(source, throttle, receiver, blocks.null_sink(1))
            top.msg_connect(receiver, "status", debug, "store")
            top.start()
            end = time.monotonic() + 60
            while not receiver.advice() and time.monotonic() < end:
                time.sleep(0.2)
            time.sleep(1)
            top.stop()
            top.wait()
        self.assertIn(receiver.advice(), log.text)
        return receiver.advice(), log.text, pmt.to_python(debug.get_message(0))

    def test_a_receiver_without_frames_says_why(self):
        _, symbols = stream_and_frames(40, "QPSK", "1/2", "short")
        samples = channel(symbols, 2.5, 0.2, 6)
        said, log, status = self.advice(samples, 2, 0.2)
        # The measured rate, within 250 ppm of the nominal one.
        self.assertRegex(said, r"no symbol rate of (1\.999|2\.00[01]) ")
        self.assertRegex(log, r"strongest line is that of 2\.(49|50)")
        self.assertEqual(status["frames"], 0)
        self.assertFalse(status["locked"])
        self.assertIn("transport_rate", status)
        random = np.random.default_rng(2).integers(0, 4, 60_000)
        said, _, _ = self.advice(channel(1j**random, 2.5, 0.2, 6), 2.5, 0.2)
        self.assertIn("though there are symbols", said)


if __name__ == "__main__":
    main()
