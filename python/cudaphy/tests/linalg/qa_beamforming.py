#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample covariances of an array, and the weights from their inverses, in flowgraphs."""

import numpy as np
from gnuradio import cudaphy, gr
from gnuradio.cudaphy.antenna_arrays import uniform_array
from gnuradio.cudaphy.blocks.beamforming import array_covariance, mvdr_weights
from qa_support import BACKEND, KEY, FlowgraphCase, Sink, Source
from qa_support import captured_log, gaussian, main, tag


def covariances(x, count):
    parts = x[: len(x) // count * count].reshape(-1, count, x.shape[1])
    return np.einsum("mki,mkj->mij", parts, parts.conj()) / count


class qa_array_covariance(FlowgraphCase):
    def covariance(self, x, count, **options):
        n = x.shape[1]
        block = array_covariance(n, count, **options)
        sink = self.through(block, [x], [("complex64", n)])[0]
        self.assertEqual(len(sink.data) % n, 0)
        return sink, sink.data.reshape(-1, n, n)

    def test_is_the_mean_of_outer_products_and_hermitian(self):
        for n in (1, 2, 7, 64):
            for count in (1, 5, 700):
                for matrices, rest in ((0, 0), (1, 0), (3, count - 1)):
                    with self.subTest(n=n, count=count, matrices=matrices):
                        x = gaussian((count * matrices + rest, n), seed=n)
                        sink, got = self.covariance(x, count)
                        expected = covariances(x.astype("complex128"), count)
                        self.assertEqual(len(got), matrices)
                        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
                        turned = got.conj().swapaxes(1, 2)
                        np.testing.assert_array_equal(got, turned)
                        heads = [(n * m, n) for m in range(matrices)]
                        self.assertEqual(sink.tags(KEY), heads)

    def test_the_diagonal_is_loaded_and_the_tag_named(self):
        x = gaussian((40, 4))
        plain = self.covariance(x, 20)[1]
        sink, loaded = self.covariance(x, 20, loading=2.5, length_tag_key="")
        np.testing.assert_allclose(
            loaded - plain, [2.5 * np.eye(4)] * 2, rtol=1e-5, atol=1e-6
        )
        self.assertEqual(len(sink.block.tags()), 0)
        sink, _ = self.covariance(x, 20, length_tag_key="rows")
        self.assertEqual(sink.tags("rows"), [(0, 4), (4, 4)])

    def test_a_nan_spoils_its_own_matrix_alone(self):
        x = gaussian((60, 5))
        x[25, 3] = np.nan
        x[45, 0] = np.inf
        got = self.covariance(x, 20)[1]
        self.assertFalse(np.isfinite(got[1].diagonal()).any())
        self.assertFalse(np.isfinite(got[2].diagonal()).any())
        np.testing.assert_allclose(got[0], covariances(x[:20], 20)[0], rtol=1e-5)

    def test_a_block_begins_anew_when_started_again(self):
        x = gaussian((50, 3))  # and ten remaining snapshots
        source, sink = Source(x), Sink("complex64", 3)
        top = gr.top_block()
        block = array_covariance(3, 20)
        top.connect(source.block, block, sink.block)
        for _ in range(3):
            self.run_flowgraph(top)
            got = sink.data.reshape(-1, 3, 3)
            np.testing.assert_allclose(got, covariances(x, 20), rtol=1e-5, atol=1e-6)
            source.block.rewind()
            sink.block.reset()

    def test_refuses_what_can_not_be(self):
        for arguments, text in (
            ((0, 4), "elements 0"),
            ((1025, 4), "elements 1025"),
            ((4, 0), "snapshots 0"),
            ((4, 2.5), "snapshots 2.5"),
            ((4, 4, -1), "loading -1"),
            ((4, 4, np.nan), "loading nan"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                array_covariance(*arguments)


class qa_mvdr_weights(FlowgraphCase):
    def weights(self, inverses, steering, tags=()):
        n = len(steering)
        rows = inverses.reshape(-1, n)
        return self.through(mvdr_weights(steering), [rows], [("complex64", n)], tags)[0]

    def test_passes_the_wanted_direction_and_has_the_least_power(self):
        for n in (1, 2, 16, 40):
            a = uniform_array(n, 20)
            x = gaussian((60 * n, n))
            r = covariances(x, 20 * n).astype("complex128")
            w = self.weights(np.linalg.inv(r).astype("complex64"), a).data
            self.assertEqual(w.shape, (3, n))
            np.testing.assert_allclose(w.conj() @ a, np.ones(3), atol=1e-5)
            power = np.einsum("mi,mij,mj->m", w.conj(), r, w).real
            rng = np.random.default_rng(2)
            for _ in range(20 if n > 1 else 0):
                other = rng.standard_normal((n, 2)) @ [1, 1j]
                other = other - a * (a.conj() @ other) / n  # w + other passes A too
                moved = w + 0.05 * other
                more = np.einsum("mi,mij,mj->m", moved.conj(), r, moved).real
                self.assertTrue((more > power).all())

    def test_a_matrix_without_an_inverse_gives_zeros(self):
        inverses = np.stack([np.eye(3), 0 * np.eye(3), np.eye(3), -np.eye(3)])
        inverses[2, 1, 1] = np.nan
        tags = [tag(0, KEY, 3), tag(3, "singular", 3), tag(7, "rx_time", 5)]
        sink = self.weights(inverses.astype("complex64"), [1, 1j, 1], tags)
        np.testing.assert_allclose(sink.data[0], np.array([1, 1j, 1]) / 3, rtol=1e-6)
        self.assertFalse(sink.data[1:].any())
        self.assertEqual(sink.tags(KEY), [])
        self.assertEqual(sink.tags("singular"), [(1, 3)])
        self.assertEqual(sink.tags("rx_time"), [(2, 5)])

    def test_fewer_snapshots_than_elements_give_one_warning_and_are_counted(self):
        n = 16
        for snapshots, loading, failures in ((15, 0, 40), (15, 1e-3, 0), (16, 0, 0)):
            source = Source(gaussian((40 * snapshots, n), seed=8))
            weights, sink = mvdr_weights(uniform_array(n, 10)), Sink("complex64", n)
            inverse = cudaphy.symmetric_matrix_inverse(
                n, length_tag_key=KEY, backend=BACKEND
            )
            top = gr.top_block()
            covariance = array_covariance(n, snapshots, loading)
            top.connect(source.block, covariance, inverse, weights, sink.block)
            with captured_log() as log:
                self.run_flowgraph(top)
            self.assertEqual((len(sink.data), weights.failures()), (40, failures))
            self.assertEqual(len(sink.tags("singular")), failures)
            self.assertEqual((~sink.data.any(1)).sum(), failures)
            self.assertEqual(log.text.count("has no inverse"), min(failures, 1))

    def test_steering_can_be_set(self):
        block = mvdr_weights([1, 1])
        block.set_steering([1, -1])
        rows = np.eye(2, dtype="complex64")
        sink = self.through(block, [rows], [("complex64", 2)])[0]
        np.testing.assert_allclose(sink.data, [[0.5, -0.5]])
        for steering, text in (
            ([1, 1, 1], "3 elements, must have 2"),
            ([0, 0], "all zeros"),
            ([1, np.inf], "not finite"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                block.set_steering(steering)
        with self.assertRaisesRegex(ValueError, "0 elements"):
            mvdr_weights([])

    def test_the_array_is_a_line_of_half_wavelengths(self):
        np.testing.assert_allclose(uniform_array(3, 0), np.ones(3))
        np.testing.assert_allclose(uniform_array(3, 30), [1, 1j, -1], atol=1e-15)
        self.assertEqual(uniform_array(4, [0, 10, 20]).shape, (3, 4))
        np.testing.assert_allclose(uniform_array(2, 90, 1)[1], 1)

    def test_with_the_inverse_between_them_an_interferer_is_nulled(self):
        n, count = 12, 120
        wanted, other = uniform_array(n, 10), uniform_array(n, -35)
        noise = gaussian((5 * count, n), seed=4)
        x = noise + 30 * gaussian((5 * count,), seed=5)[:, None] * other
        source, sink = Source(x.astype("complex64")), Sink("complex64", n)
        top = gr.top_block()
        covariance, weights = array_covariance(n, count), mvdr_weights(wanted)
        inverse = cudaphy.symmetric_matrix_inverse(
            n, definite="positive", length_tag_key=KEY, backend=BACKEND
        )
        top.connect(source.block, covariance, inverse, weights, sink.block)
        self.run_flowgraph(top)
        self.assertEqual(sink.data.shape, (5, n))
        response = np.abs(sink.data.conj() @ np.stack([wanted, other], 1))
        np.testing.assert_allclose(response[:, 0], 1, atol=1e-4)
        self.assertLess(response[:, 1].max(), 10 ** (-40 / 20))


if __name__ == "__main__":
    main()
