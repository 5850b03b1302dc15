#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block mimo_receiver in flowgraphs, and the function receive_slots."""

import numpy as np
from gnuradio import cudaphy, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    captured_log,
    gaussian,
    main,
    packet_tags,
    tag,
)

CODE = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
TONES, ANTENNAS, LAYERS, SYMBOLS = 36, 3, 2, 9
PILOTS = cudaphy.block_pilots(2, LAYERS, TONES)
PILOT_SYMBOLS = [0, 5]
DATA_SYMBOLS = [s for s in range(SYMBOLS) if s not in PILOT_SYMBOLS]
PLACES = len(DATA_SYMBOLS) * TONES
WORDS = PLACES * LAYERS * 4 // CODE.n  # of 16-QAM; 288 bits are left over
ARGUMENTS = (ANTENNAS, LAYERS, TONES, SYMBOLS, PILOTS, PILOT_SYMBOLS, "qam16", CODE)


def slots(count, n0=1e-3, seed=1):
    """Received tones (count, symbols, tones, Nr) over a channel that is constant within a
    slot, the bits sent (count, words, k), and layers (count, data tones, Nt).
    """
    rng = np.random.default_rng(seed)
    info = rng.integers(0, 2, (count, WORDS, CODE.k)).astype("uint8")
    coded = cudaphy.ldpc_encode(CODE, info, backend="cpu").reshape(count, WORDS * CODE.n)
    rest = rng.integers(0, 2, (count, PLACES * LAYERS * 4 - coded.shape[1]))
    labels = np.hstack((coded, rest)).reshape(-1, 4) @ [8, 4, 2, 1]
    x = cudaphy.constellation("qam16").points[labels].reshape(count, PLACES, LAYERS)
    sent = np.empty((count, SYMBOLS, TONES, LAYERS), "complex64")
    sent[:, PILOT_SYMBOLS] = PILOTS.pilots
    sent[:, DATA_SYMBOLS] = x.reshape(count, len(DATA_SYMBOLS), TONES, LAYERS)
    h = gaussian((count, ANTENNAS, LAYERS), seed)
    noise = gaussian(sent.shape[:-1] + (ANTENNAS,), seed + 1)
    received = np.einsum("crl,cstl->cstr", h, sent) + np.sqrt(n0) * noise
    return received.astype("complex64"), info, x, h


class qa_mimo_receiver(FlowgraphCase):
    def received(self, received, tags=(), **options):
        block = cudaphy.mimo_receiver(*ARGUMENTS, **{"backend": BACKEND, **options})
        outputs = [("uint8", 0)]
        if options.get("put_channel"):
            outputs.append(("complex64", ANTENNAS * LAYERS))
        if options.get("put_layers"):
            outputs.append(("complex64", LAYERS))
        if options.get("put_noise"):
            outputs.append(("float32", LAYERS))
        stream = received.reshape(-1, ANTENNAS)
        return self.through(block, [stream], outputs, tags), block

    def test_bits_sent_are_received_for_any_number_of_slots(self):
        for count in (0, 1, 2, 33):
            for max_batch in (0, 1, 5):
                for packed in (False, True):
                    received, info, _, _ = slots(count)
                    (bits,), block = self.received(
                        received, max_batch=max_batch, packed=packed
                    )
                    wanted = np.packbits(info, axis=-1) if packed else info
                    np.testing.assert_array_equal(bits.data, wanted.ravel())
                    self.assertEqual(block.words(), WORDS)
                    self.assertEqual(block.frames(), count * WORDS)
                    self.assertEqual(block.frame_errors(), 0)
                    self.assertEqual(block.stats()["failures"], 0)
                    starts = np.arange(count * WORDS) * wanted.shape[-1]
                    for key in ("ldpc_ok", "iterations"):
                        at = [item for item, _ in bits.tags(key)]
                        np.testing.assert_array_equal(at, starts)
                    self.assertTrue(all(ok for _, ok in bits.tags("ldpc_ok")))

    def test_intermediate_results_stand_on_ports_of_their_own(self):
        received, info, x, h = slots(7)
        sinks, _ = self.received(
            received, max_batch=3, put_channel=True, put_layers=True, put_noise=True
        )
        bits, channel, layers, noise = (sink.data for sink in sinks)
        np.testing.assert_array_equal(bits, info.ravel())
        channel = channel.reshape(7, TONES, ANTENNAS, LAYERS)
        self.assertLess(np.abs(channel - h[:, None]).max(), 0.3)
        error = np.abs(layers.reshape(x.shape) - x) ** 2
        # The reported noise is that of the layers, plus the error of the estimates.
        ratio = error.sum() / noise.sum()
        self.assertTrue(0.5 < ratio < 4, ratio)
        _, _, ok, results = cudaphy.receive_slots(
            received, PILOTS, PILOT_SYMBOLS, CODE, "qam16", BACKEND, details=True
        )
        self.assertTrue(ok.all())
        np.testing.assert_array_equal(results["h"].ravel(), channel.ravel())
        np.testing.assert_array_equal(results["x"].ravel(), layers.ravel())
        np.testing.assert_array_equal(results["noise"].ravel(), noise.ravel())
        # Each port connected alone.
        for name, data in (
            ("put_channel", channel),
            ("put_layers", layers),
            ("put_noise", noise),
        ):
            (_, alone), _ = self.received(received, **{name: True})
            np.testing.assert_array_equal(alone.data.ravel(), data.ravel())

    def test_a_slot_that_is_not_finite_fails_alone_and_is_counted(self):
        received, info, _, _ = slots(9)
        received[4, 5, 7, 1] = complex("nan")  # a pilot
        for max_batch in (0, 1, 4):
            with captured_log() as log:
                (bits,), block = self.received(received, max_batch=max_batch)
            got = bits.data.reshape(info.shape)
            good = np.arange(9) != 4
            np.testing.assert_array_equal(got[good], info[good])
            ok = np.array([ok for _, ok in bits.tags("ldpc_ok")]).reshape(9, WORDS)
            np.testing.assert_array_equal(ok.all(axis=1), good)
            self.assertFalse(ok[4].any())
            self.assertEqual(block.frame_errors(), WORDS)
            self.assertEqual(block.stats()["failures"], WORDS)
            self.assertIn("pilots of slot 4 are not finite", log.text)
            (failed,), _ = self.received(
                received, max_batch=max_batch, word_tags="failed"
            )
            not_ok = [(at, ok) for at, ok in bits.tags("ldpc_ok") if not ok]
            self.assertEqual(failed.tags("ldpc_ok"), not_ok)
            self.assertEqual(len(failed.tags("iterations")), WORDS)

    def test_packets_are_counted_in_the_items_of_each_output(self):
        lengths = [1, 3, 12, 2]
        received, info, _, _ = slots(sum(lengths))
        items = SYMBOLS * TONES
        heads = np.cumsum([0] + lengths[:-1])
        tags = packet_tags([n * items for n in lengths])
        tags += [tag(int(head) * items, "rx_time", int(head)) for head in heads]
        tags += [tag(6 * items + items // 3, "within", "a slot")]
        for max_batch in (0, 1, 4):
            sinks, _ = self.received(
                received,
                tags,
                length_tag_key=KEY,
                max_batch=max_batch,
                put_layers=True,
            )
            np.testing.assert_array_equal(sinks[0].data, info.ravel())
            for sink, each in zip(sinks, (WORDS * CODE.k, PLACES)):
                self.assertEqual(
                    sink.tags(KEY),
                    [(head * each, n * each) for head, n in zip(heads, lengths)],
                )
                self.assertEqual(
                    sink.tags("rx_time"), [(head * each, head) for head in heads]
                )
                self.assertEqual(sink.tags("within"), [(6 * each + each // 3, "a slot")])

    def test_a_block_begins_anew_when_started_again(self):
        received, info, _, _ = slots(5)
        block = cudaphy.mimo_receiver(*ARGUMENTS, backend=BACKEND, max_batch=2)
        for _ in range(3):
            top = gr.top_block()
            source, sink = Source(received.reshape(-1, ANTENNAS)), Sink("uint8")
            top.connect(source.block, block, sink.block)
            self.run_flowgraph(top)
            np.testing.assert_array_equal(sink.data, info.ravel())

    def test_impossible_parameters_are_refused(self):
        for position, value, text in (
            (0, 0, "receive_antennas"),
            (3, 0, "symbols"),
            (3, 5, "pilot_symbols"),
            (5, [0], "pilots"),
            (5, [5, 0], "pilot_symbols"),
            (6, "qam17", "qam17"),
            (7, cudaphy.ldpc_code("dvbs2", frame="short", rate="1/2"), "codeword"),
        ):
            arguments = list(ARGUMENTS)
            arguments[position] = value
            with self.assert_refuses(text):
                cudaphy.mimo_receiver(*arguments, backend=BACKEND)
        for options in (
            {"times": [0, 1]},  # of 7 symbols with data
            {"llr_type": "int4"},
            {"method": "best"},
            {"estimate": "best"},
            {"max_iterations": 0},
            {"backend": "gpu"},
        ):
            with self.assertRaises(ValueError):
                cudaphy.mimo_receiver(*ARGUMENTS, **{"backend": BACKEND, **options})
        with self.assertRaises(TypeError):
            cudaphy.mimo_receiver(*ARGUMENTS, backend=BACKEND, colour="red")


class qa_receive_slots(FlowgraphCase):
    def receive(self, received, **options):
        return cudaphy.receive_slots(
            received, PILOTS, PILOT_SYMBOLS, CODE, "qam16", BACKEND, **options
        )

    def test_receive_slots_returns_bits_and_intermediate_results(self):
        received, info, x, h = slots(6)
        received = received.reshape((2, 3) + received.shape[1:])
        for llr_type in ("int8", "float16", "float"):
            bits, iterations, ok, results = self.receive(
                received, llr_type=llr_type, details=True
            )
            self.assertEqual(bits.shape, (2, 3, WORDS, CODE.k))
            np.testing.assert_array_equal(bits.ravel(), info.ravel())
            self.assertTrue(ok.all() and ok.shape == iterations.shape == (2, 3, WORDS))
            self.assertEqual(results["h"].shape, (2, 3, TONES, ANTENNAS, LAYERS))
            self.assertEqual(results["n0"].shape, (2, 3))
            self.assertEqual(results["x"].shape, (2, 3, PLACES, LAYERS))
            self.assertEqual(results["llr"].shape, (2, 3, WORDS, CODE.n))
            dtype = "float32" if llr_type == "float" else llr_type
            self.assertEqual(results["llr"].dtype, np.dtype(dtype))
            self.assertFalse(results["status"].any())
            again, _, _ = cudaphy.ldpc_decode(CODE, results["llr"], backend=BACKEND)
            np.testing.assert_array_equal(again, bits)

    def test_times_give_each_symbol_a_channel(self):
        received, info, _, h = slots(3)
        bits, _, ok, results = self.receive(
            received, times=DATA_SYMBOLS, group_symbols=2, details=True
        )
        np.testing.assert_array_equal(bits, info)
        self.assertEqual(results["h"].shape, (3, 7, TONES, ANTENNAS, LAYERS))
        self.assertEqual(results["n0"].shape, (3, 7))

    def test_shapes_that_do_not_fit_are_refused(self):
        received, _, _, _ = slots(1)
        for wrong in (received[0, 0], received[:, :, 1:], received[:, 1:4]):
            with self.assertRaises(ValueError):
                self.receive(wrong)


if __name__ == "__main__":
    main()
