#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block soft_demapper in flowgraphs, and the whole way from pilots to LLRs."""

import numpy as np
from gnuradio import blocks, cudaphy, gr
from qa_support import (
    BACKEND,
    KEY,
    FlowgraphCase,
    Sink,
    Source,
    gaussian,
    main,
    packet_tags,
    tag,
)

NAN, INF = float("nan"), float("inf")


def llrs(x, n, name, max_log):
    """Textbook: LLRs (symbols, bits), positive for 0."""
    c = cudaphy.constellation(name)
    points = c.points.astype("complex128")
    metric = -np.abs(np.asarray(x, "complex128")[:, np.newaxis] - points) ** 2
    metric = metric / np.broadcast_to(np.asarray(n, "float64"), x.shape)[:, np.newaxis]
    result = np.empty((len(x), c.bits))
    add = (
        (lambda m: m.max(axis=1))
        if max_log
        else (lambda m: np.logaddexp.reduce(m, axis=1))
    )
    for bit in range(c.bits):
        one = (np.arange(len(points)) >> (c.bits - 1 - bit) & 1).astype(bool)
        result[:, bit] = add(metric[:, ~one]) - add(metric[:, one])
    return result


def demapper(name, **options):
    return cudaphy.soft_demapper(name, **{"backend": BACKEND, **options})


class qa_soft_demapper(FlowgraphCase):
    def demap(self, name, x, noise=None, tags=(), **options):
        """The sink of LLRs for x (items) or (items, vlen)."""
        vlen = x.shape[1] if x.ndim == 2 else 1
        block = demapper(name, vlen=vlen, noise_input=noise is not None, **options)
        inputs = [x] if noise is None else [x, np.asarray(noise, "float32")]
        return self.through(block, inputs, [("float32", 0)], tags)[0]

    def assert_llrs(self, got, expected):
        self.assertEqual(got.shape, (expected.size,))
        error = np.abs(got - expected.ravel()) / (1 + np.abs(expected.ravel()))
        self.assertLess(error.max(initial=0), 1e-3)

    def test_agrees_with_the_textbook_for_every_constellation(self):
        for name in cudaphy.constellation_names():
            for max_log in (True, False):
                with self.subTest(constellation=name, max_log=max_log):
                    x = gaussian((333,))
                    got = self.demap(name, x, max_log=max_log, noise_variance=0.2)
                    self.assert_llrs(got.data, llrs(x, 0.2, name, max_log))

    def test_a_noiseless_symbol_gives_its_own_bits(self):
        for name in cudaphy.constellation_names():
            c = cudaphy.constellation(name)
            got = self.demap(name, c.points, noise_variance=0.01).data
            bits = (got < 0).reshape(-1, c.bits) @ (1 << np.arange(c.bits)[::-1])
            np.testing.assert_array_equal(bits, np.arange(len(c.points)))

    def test_takes_noise_variances_from_its_second_input(self):
        x = gaussian((500, 3))
        n = np.random.default_rng(2).uniform(0.01, 2, x.shape)
        for max_batch in (0, 1, 7):
            got = self.demap("qam16", x, n, max_batch=max_batch)
            self.assert_llrs(got.data, llrs(x.ravel(), n.ravel(), "qam16", True))

    def test_positive_may_mean_one(self):
        x = gaussian((100,))
        one = self.demap("wifi_qam64", x, llr_positive=1, noise_variance=0.2)
        self.assert_llrs(one.data, -llrs(x, 0.2, "wifi_qam64", True))

    def test_llrs_may_be_float16_or_int8(self):
        x = gaussian((300,))

        def numbers(sink, number, **options):
            top = gr.top_block()
            block = demapper("qam64", noise_variance=0.02, **options)
            top.connect(blocks.vector_source_c(x), block, sink)
            top.run()
            return np.array(sink.data()).astype(number)

        for max_log in (True, False):
            floats = self.demap("qam64", x, noise_variance=0.02, max_log=max_log).data
            options = dict(type="float16", max_log=max_log)
            bits = numbers(blocks.vector_sink_s(), "int16", **options)
            np.testing.assert_array_equal(bits.view("float16"), floats.astype("float16"))
            options = dict(type="int8", llr_steps=3, max_log=max_log)
            steps = numbers(blocks.vector_sink_b(), "uint8", **options)
            wanted = np.rint(np.clip(floats * np.float32(3), -127, 127))
            np.testing.assert_array_equal(steps.view("int8"), wanted.astype("int8"))
        with self.assert_refuses("float8", "float16", "int8"):
            demapper("qam64", type="float8")

    def test_what_is_not_known_is_an_erasure(self):
        x = gaussian((8,))
        x[2], x[3] = NAN, complex(0, INF)
        n = np.array([0.1, 0, 0.1, 0.1, -1, NAN, INF, 0.1])
        got = self.demap("qam16", x, n).data.reshape(8, 4)
        self.assertFalse(got[1:7].any())
        self.assertTrue((got[[0, 7]] != 0).all())
        self.assertFalse(np.isnan(got).any())

    def test_packets_are_counted_in_llrs(self):
        lengths = [1, 5, 3, 700]
        x = gaussian((sum(lengths), 2))
        heads = np.cumsum([0] + lengths[:-1])
        tags = packet_tags(lengths) + [tag(int(h), "rx_time", int(h)) for h in heads]
        got = self.demap("dvbs2_8psk", x, None, tags, length_tag_key=KEY, max_batch=4)
        packets = [(6 * head, 6 * n) for head, n in zip(heads, lengths)]
        self.assertEqual(got.tags(KEY), packets)
        self.assertEqual(got.tags("rx_time"), [(6 * head, head) for head in heads])
        self.assert_llrs(got.data, llrs(x.ravel(), 0.01, "dvbs2_8psk", True))

    def test_the_noise_variance_can_be_set_and_read(self):
        block = demapper("qpsk", noise_variance=0.5)
        block.set_noise_variance(0.25)
        self.assertEqual(block.noise_variance(), 0.25)
        x = gaussian((10,))
        got = self.through(block, [x], [("float32", 0)])[0]
        self.assert_llrs(got.data, llrs(x, 0.25, "qpsk", True))
        with self.assert_refuses("positive and finite"):
            block.set_noise_variance(0)

    def test_refuses_parameters_out_of_range_and_says_the_range(self):
        with self.assert_refuses("qam17", "qpsk", "qam256", "dvbs2_16apsk_2/3"):
            demapper("qam17")
        for vlen in (0, -1, 65537):
            with self.assert_refuses(str(vlen), "1", "65536"):
                demapper("qpsk", vlen=vlen)
        for positive in (-1, 2):
            with self.assert_refuses(str(positive), "0", "1"):
                demapper("qpsk", llr_positive=positive)
        with self.assert_refuses("positive and finite"):
            demapper("qpsk", noise_variance=-0.5)


class qa_mimo_chain(FlowgraphCase):
    def test_pilots_to_llrs_in_one_flowgraph(self):
        antennas, layers, symbols, tones, slots = 4, 2, 6, 12, 30
        pilots = cudaphy.orthogonal_pilots(4, layers)
        c = cudaphy.constellation("qam16")
        rng = np.random.default_rng(9)
        sent = rng.integers(0, 16, (slots, symbols, tones, layers))
        h = gaussian((slots, tones, antennas, layers))
        h = h + 2 * np.eye(antennas, layers, dtype="complex64")
        y = np.einsum("stal,sptl->spta", h, c.points[sent])
        received = np.einsum("pl,stal->spta", pilots, h)
        n0 = 1e-4
        y = y + gaussian(y.shape, 3) * np.float32(np.sqrt(n0))
        received = received + gaussian(received.shape, 4) * np.float32(np.sqrt(n0))

        top = gr.top_block()
        data = Source(
            y.reshape(-1, antennas).astype("complex64"),
            packet_tags([symbols * tones * 3] * 10),
        )
        training = Source(
            received.reshape(-1, antennas).astype("complex64"),
            packet_tags([4 * tones * 3] * 10),
        )
        options = {"length_tag_key": KEY, "backend": BACKEND}
        estimate = cudaphy.mimo_channel_estimator(
            antennas, layers, tones, pilots, **options
        )
        equalize = cudaphy.mimo_equalizer(
            antennas,
            layers,
            symbols=symbols,
            tones=tones,
            noise_input=True,
            max_batch=7,
            **options,
        )
        demap = demapper("qam16", vlen=layers, noise_input=True, length_tag_key=KEY)
        sink = Sink("float32")
        top.connect(training.block, estimate)
        top.connect(data.block, (equalize, 0))
        top.connect((estimate, 0), (equalize, 1))
        top.connect((estimate, 1), (equalize, 2))
        top.connect((equalize, 0), (demap, 0))
        top.connect((equalize, 1), (demap, 1))
        top.connect(demap, sink.block)
        for _ in range(2):
            self.run_flowgraph(top)
            got = (sink.data < 0).reshape(-1, 4) @ [8, 4, 2, 1]
            np.testing.assert_array_equal(got, sent.ravel())
            items = symbols * tones * 3 * layers * 4
            self.assertEqual(sink.tags(KEY), [(i * items, items) for i in range(10)])
            data.block.rewind()
            training.block.rewind()
            sink.block.reset()


if __name__ == "__main__":
    main()
