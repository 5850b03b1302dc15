#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks mimo_channel_estimator and mimo_equalizer in flowgraphs."""

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

NAN, INF = float("nan"), float("inf")


def estimator(receive_antennas, tones, pilots, **options):
    return cudaphy.mimo_channel_estimator(
        receive_antennas,
        pilots.shape[1],
        tones,
        pilots,
        **{"backend": BACKEND, **options},
    )


class qa_mimo_channel_estimator(FlowgraphCase):
    def estimates(self, received, pilots, tags=(), **options):
        """The sinks of H and noise for received (slots, pilot symbols, tones, Nr)."""
        slots, _, tones, antennas = received.shape
        block = estimator(antennas, tones, pilots, **options)
        outputs = [("complex64", antennas * pilots.shape[1]), ("float32", 0)]
        sinks = self.through(block, [received.reshape(-1, antennas)], outputs, tags)
        return sinks, block

    def test_finds_the_channel_and_no_noise_where_there_is_none(self):
        for antennas, pilots, tones in (
            (1, np.ones((2, 1), "complex64"), 1),
            (4, cudaphy.orthogonal_pilots(6, 4), 7),
            (3, gaussian((5, 2), 8), 4),  # other pilots
            (2, cudaphy.orthogonal_pilots(20, 16), 3),
        ):
            for slots in (0, 1, 33):
                with self.subTest(antennas=antennas, pilots=pilots.shape, slots=slots):
                    h = gaussian((slots, tones, antennas, pilots.shape[1]))
                    received = np.einsum("pl,stal->spta", pilots, h)
                    (channel, noise), _ = self.estimates(received, pilots)
                    got = channel.data.reshape(h.shape)
                    self.assertLess(np.abs(got - h).max(initial=0), 1e-5)
                    self.assertEqual(noise.data.shape, (slots,))
                    self.assertLess(noise.data.max(initial=0), 1e-9)

    def test_agrees_with_numpys_least_squares_in_noise(self):
        pilots, n0 = cudaphy.orthogonal_pilots(8, 4), 0.05
        h = gaussian((50, 24, 4, 4))
        received = np.einsum("pl,stal->spta", pilots, h)
        received = received + gaussian(received.shape, 2) * np.float32(np.sqrt(n0))
        for max_batch in (0, 1, 7):
            (channel, noise), _ = self.estimates(received, pilots, max_batch=max_batch)
            expected = np.einsum("lp,spta->stal", np.linalg.pinv(pilots), received)
            self.assertLess(np.abs(channel.data.reshape(h.shape) - expected).max(), 1e-5)
            left = received - np.einsum("pl,stal->spta", pilots, expected)
            variance = (np.abs(left) ** 2).sum(axis=(1, 2, 3)) / (24 * 4 * (8 - 4))
            np.testing.assert_allclose(noise.data, variance, rtol=1e-4)
            self.assertAlmostEqual(noise.data.mean(), n0, delta=0.1 * n0)

    def test_as_many_pilot_symbols_as_layers_take_the_noise_from_neighbouring_tones(self):
        pilots, n0, slots, tones = cudaphy.orthogonal_pilots(4, 4), 0.1, 20, 64
        h = gaussian((slots, 1, 4, 4)) + gaussian((slots, 1, 4, 4), 3) * np.arange(
            tones, dtype="float32"
        ).reshape(1, -1, 1, 1)
        received = np.einsum("pl,stal->spta", pilots, h)
        received = received + gaussian(received.shape, 2) * np.float32(np.sqrt(n0))
        (_, noise), _ = self.estimates(received, pilots)
        self.assertAlmostEqual(noise.data.mean(), n0, delta=0.1 * n0)

    def test_a_slot_that_is_not_finite_harms_no_other(self):
        pilots = cudaphy.orthogonal_pilots(3, 2)
        h = gaussian((20, 5, 2, 2))
        received = np.einsum("pl,stal->spta", pilots, h)
        received[0, 1, 2, 0] = NAN
        received[13, 0, 4, 1] = INF
        for max_batch in (0, 1, 4):
            with captured_log() as log:
                (channel, noise), block = self.estimates(
                    received, pilots, max_batch=max_batch
                )
            got = channel.data.reshape(h.shape)
            self.assertFalse(got[0, 2].any())
            self.assertFalse(got[13, 4].any())
            expected = h.copy()
            expected[0, 2] = expected[13, 4] = 0
            self.assertLess(np.abs(got - expected).max(), 1e-5)
            np.testing.assert_array_equal(np.isnan(noise.data).nonzero()[0], [0, 13])
            self.assertEqual(block.failures(), 2)
            self.assertIn("slot 0 are not finite", log.text)

    def test_packets_are_counted_in_the_items_of_each_output(self):
        pilots, tones, lengths = cudaphy.orthogonal_pilots(4, 2), 6, [1, 3, 20, 1, 2]
        h = gaussian((sum(lengths), tones, 2, 2))
        received = np.einsum("pl,stal->spta", pilots, h)
        heads = np.cumsum([0] + lengths[:-1])
        items = 4 * tones
        tags = packet_tags([n * items for n in lengths])
        tags += [tag(int(head) * items, "rx_time", int(head)) for head in heads]
        tags += [tag(3 * items + 13, "within", "a slot")]  # a little after its middle
        for max_batch in (0, 1, 4):
            (channel, noise), _ = self.estimates(
                received, pilots, tags, length_tag_key=KEY, max_batch=max_batch
            )
            for sink, each in ((channel, tones), (noise, 1)):
                packets = [(head * each, n * each) for head, n in zip(heads, lengths)]
                self.assertEqual(sink.tags(KEY), packets)
                times = [(head * each, head) for head in heads]
                self.assertEqual(sink.tags("rx_time"), times)
                within = [(3 * each + each // 2, "a slot")]
                self.assertEqual(sink.tags("within"), within)
            self.assertLess(np.abs(channel.data.reshape(h.shape) - h).max(), 1e-5)

    def test_a_packet_that_is_no_whole_number_of_slots_ends_the_flowgraph(self):
        received = gaussian((3, 4, 6, 2))
        with captured_log() as log:
            (channel, _), _ = self.estimates(
                received,
                cudaphy.orthogonal_pilots(4, 2),
                packet_tags([24, 25]),
                length_tag_key=KEY,
            )
        self.assertEqual(len(channel.data), 6)
        for text in ("item 24 of input 0", "25 items", "24 items of one frame"):
            self.assertIn(text, log.text)

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        pilots = cudaphy.orthogonal_pilots(4, 4)
        for antennas in (0, 129, -1):
            with self.assert_refuses(str(antennas), "1", "128"):
                estimator(antennas, 8, pilots)
        for tones in (0, -5, 65537):
            with self.assert_refuses(str(tones), "1", "65536"):
                estimator(4, tones, pilots)
        with self.assert_refuses("2", "3"):
            estimator(4, 2, pilots)
        with self.assert_refuses("rank"):
            estimator(4, 8, np.ones((4, 4), "complex64"))
        with self.assert_refuses("17", "1", "16"):
            estimator(4, 8, np.eye(17, dtype="complex64"))
        for wrong in (pilots.ravel(), pilots[:, :3], pilots[np.newaxis]):
            with self.assertRaises(ValueError):
                cudaphy.mimo_channel_estimator(4, 4, 8, wrong, backend=BACKEND)


def equalizer(receive_antennas, layers, **options):
    return cudaphy.mimo_equalizer(
        receive_antennas, layers, **{"backend": BACKEND, **options}
    )


def equalized(y, h, n0, method, unbiased):
    """x and noise by the textbook for y (slots, symbols, tones, Nr), h (slots, tones, Nr,
    Nt)."""
    h, y = h.astype("complex128"), y.astype("complex128")
    n0 = np.asarray(n0, "float64").reshape(-1, 1, 1, 1)
    gram = np.conj(np.swapaxes(h, -1, -2)) @ h
    load = 0 if method == "zf" else n0 * np.eye(h.shape[-1])
    inverse = np.linalg.inv(gram + load)
    w = inverse @ np.conj(np.swapaxes(h, -1, -2))
    x = np.einsum("stla,spta->sptl", w, y)
    gain = np.einsum("stla,stal->stl", w, h).real[:, np.newaxis]
    if method == "zf":
        noise = n0 * np.einsum("stll->stl", inverse).real[:, np.newaxis]
    elif unbiased:
        x, noise = x / gain, (1 - gain) / gain
    else:
        noise = gain * (1 - gain)
    return x, np.broadcast_to(noise, x.shape)


class qa_mimo_equalizer(FlowgraphCase):
    def equalize(self, y, h, noise=None, tags=(), **options):
        """The sinks of x and noise, and the block."""
        _, symbols, tones, antennas = y.shape
        layers = h.shape[-1]
        block = equalizer(
            antennas,
            layers,
            symbols=symbols,
            tones=tones,
            noise_input=noise is not None,
            **options,
        )
        inputs = [y.reshape(-1, antennas), h.reshape(-1, antennas * layers)]
        if noise is not None:
            inputs.append(np.asarray(noise, "float32"))
        outputs = [("complex64", layers), ("float32", layers)]
        return self.through(block, inputs, outputs, tags), block

    def assert_equalized(self, sinks, expected, keep=None):
        for sink, want in zip(sinks, expected):
            want = want.reshape(-1, want.shape[-1])
            got = sink.data
            self.assertEqual(got.shape, want.shape)
            if keep is not None:
                got, want = got[keep], want[keep]
            error = np.abs(got - want) / (np.abs(want).max(axis=-1, keepdims=True) + 1e-9)
            self.assertLess(error.max(initial=0), 2e-3)

    def test_agrees_with_the_textbook(self):
        for antennas, layers, symbols, tones in (
            (1, 1, 1, 1),
            (2, 2, 1, 1),
            (4, 4, 14, 12),
            (4, 2, 1, 7),
            (8, 3, 5, 1),
            (16, 16, 2, 3),
            (2, 3, 14, 12),
            (1, 6, 1, 1),
            (7, 12, 3, 1),
            (64, 16, 14, 3),
            (128, 5, 1, 2),
        ):
            methods = (("mmse", True), ("mmse", False), ("zf", True))
            for method, unbiased in methods[: 3 if layers <= antennas else 2]:
                for slots in (0, 1, 33):
                    with self.subTest(n=(antennas, layers), method=method, slots=slots):
                        h = gaussian((slots, tones, antennas, layers))
                        h = h + np.eye(antennas, layers, dtype="complex64") * 2
                        y = gaussian((slots, symbols, tones, antennas), 2)
                        sinks, block = self.equalize(
                            y, h, noise_variance=0.1, method=method, unbiased=unbiased
                        )
                        self.assert_equalized(
                            sinks, equalized(y, h, 0.1, method, unbiased)
                        )
                        self.assertEqual(block.failures(), 0)

    def test_takes_a_noise_variance_for_each_slot_from_its_third_input(self):
        n0 = np.random.default_rng(5).uniform(0.01, 1, 100)
        h = gaussian((100, 3, 4, 2))
        y = gaussian((100, 4, 3, 4), 2)
        for max_batch in (0, 1, 7, 100000):
            sinks, _ = self.equalize(y, h, n0, max_batch=max_batch)
            self.assert_equalized(sinks, equalized(y, h, n0, "mmse", True))

    def test_the_noise_variance_can_be_set_between_runs(self):
        h, y = gaussian((10, 1, 3, 3)), gaussian((10, 1, 1, 3), 2)
        top = gr.top_block()
        sources = [Source(y.reshape(-1, 3)), Source(h.reshape(-1, 9))]
        sinks = [Sink("complex64", 3), Sink("float32", 3)]
        block = equalizer(3, 3, noise_variance=1)
        for port in (0, 1):
            top.connect(sources[port].block, (block, port))
            top.connect((block, port), sinks[port].block)
        for n0 in (1, 0.01, 0.25):
            block.set_noise_variance(n0)
            self.assertAlmostEqual(block.noise_variance(), n0)
            self.run_flowgraph(top)
            self.assert_equalized(sinks, equalized(y, h, n0, "mmse", True))
            for each in sources:
                each.block.rewind()
            for each in sinks:
                each.block.reset()

    def test_a_channel_that_cannot_be_used_is_an_erasure_with_a_tag(self):
        h = gaussian((20, 2, 3, 2)) + np.eye(3, 2, dtype="complex64") * 2
        y = gaussian((20, 3, 2, 3), 2)
        bad = {(0, 1): -1, (4, 0): -1, (5, 1): 1}
        h[0, 1, 0, 0] = NAN
        h[4, 0, 2, 1] = INF
        h[5, 1] = 0  # no rank: an error for zero forcing, and of no use for MMSE
        erased = [slot * 6 + 2 * p + tone for slot, tone in bad for p in range(3)]
        fine = [item for item in range(120) if item not in erased]
        usable = np.nan_to_num(h, posinf=1)
        usable[5, 1] = np.eye(3, 2)
        for method in ("zf", "mmse"):
            found = [(slot * 6 + tone, step) for (slot, tone), step in bad.items()]
            if method == "mmse":
                found = found[:2]
            for max_batch in (0, 1, 7):
                with captured_log() as log:
                    sinks, block = self.equalize(
                        y, h, method=method, max_batch=max_batch, noise_variance=0.1
                    )
                x, noise = sinks
                self.assertFalse(x.data[erased].any())
                self.assertTrue(np.isposinf(noise.data[erased]).all())
                expected = equalized(y, usable, 0.1, method, True)
                self.assert_equalized(sinks, expected, fine)
                self.assertEqual(x.tags("singular"), found)
                self.assertEqual(block.failures(), len(found))
                self.assertIn("can't be used", log.text)

    def test_a_noise_variance_that_is_not_positive_and_finite_is_an_erasure(self):
        h, y = gaussian((8, 2, 4, 4)), gaussian((8, 1, 2, 4), 2)
        n0 = np.array([0.1, 0, 0.2, -1, NAN, INF, 0.3, 0.1])
        bad = [1, 3, 4, 5]
        for method in ("zf", "mmse"):
            sinks, block = self.equalize(y, h, n0, method=method)
            x, noise = sinks
            erased = [2 * slot + tone for slot in bad for tone in (0, 1)]
            fine = [item for item in range(16) if item not in erased]
            self.assertFalse(x.data[erased].any())
            self.assertTrue(np.isposinf(noise.data[erased]).all())
            self.assertEqual(x.tags("singular"), [(item, -1) for item in erased])
            self.assertEqual(block.failures(), 8)
            usable = np.where(np.isin(np.arange(8), bad), 1, n0)
            self.assert_equalized(sinks, equalized(y, h, usable, method, True), fine)

    def test_a_received_vector_that_is_not_finite_is_an_erasure_by_itself(self):
        h, y = gaussian((3, 1, 2, 2)), gaussian((3, 4, 1, 2), 2)
        y[1, 2, 0, 1] = NAN
        sinks, block = self.equalize(y, h, noise_variance=0.1)
        self.assertFalse(sinks[0].data[6].any())
        self.assertTrue(np.isposinf(sinks[1].data[6]).all())
        fine = [item for item in range(12) if item != 6]
        self.assert_equalized(sinks, equalized(y, h, 0.1, "mmse", True), fine)
        self.assertEqual(sinks[0].tags("singular"), [])

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        for antennas, layers, method, texts in (
            (0, 1, "mmse", ("0", "1", "128")),
            (129, 1, "mmse", ("129", "1", "128")),
            (4, 0, "mmse", ("0", "1", "16")),
            (4, 17, "mmse", ("17", "1", "16")),
            (4, 5, "zf", ("5", "1", "4")),
        ):
            with self.assert_refuses(*texts):
                equalizer(antennas, layers, method=method)
        with self.assert_refuses("best", "zf", "mmse"):
            equalizer(4, 4, method="best")
        for name in ("symbols", "tones"):
            for value in (0, 65537):
                with self.assert_refuses(str(value), "1", "65536"):
                    equalizer(4, 4, **{name: value})
        block = equalizer(4, 4, noise_variance=0.5)
        for value in (0, -1, NAN, INF):
            with self.assert_refuses("noise variance", "positive and finite"):
                equalizer(4, 4, noise_variance=value)
            with self.assert_refuses("noise variance", "positive and finite"):
                block.set_noise_variance(value)
        self.assertEqual(block.noise_variance(), 0.5)


if __name__ == "__main__":
    main()
