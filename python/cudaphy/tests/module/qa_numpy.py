#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions on numpy arrays."""

import tempfile
import unittest
from concurrent import futures

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, gaussian, main

NAN, INF = float("nan"), float("inf")


class NumpyCase(unittest.TestCase):
    def assert_close(self, got, expected, tolerance=1e-4):
        self.assertEqual(got.shape, expected.shape)
        error = np.abs(got - expected) / (1 + np.abs(expected))
        self.assertLess(error.max(initial=0), tolerance)


class qa_backends(NumpyCase):
    def test_backends_are_named_best_first(self):
        names = cudaphy.backends()
        self.assertIn(BACKEND, names)
        self.assertEqual(names, [n for n in ("cuda", "cpu", "reference") if n in names])
        self.assertEqual(names[-2:], ["cpu", "reference"])
        self.assertEqual("cuda" in names, len(cudaphy.devices()) > 0)
        for number, device in enumerate(cudaphy.devices()):
            self.assertEqual(device.index, number)
            self.assertTrue(device.name)
            self.assertGreaterEqual(device.compute_capability, 50)
            self.assertGreater(device.memory, 1 << 28)

    def test_resolves_names_with_a_reason(self):
        found, reason = cudaphy.resolve_backend()
        self.assertEqual(found, cudaphy.backends()[0])
        self.assertTrue(reason)
        self.assertEqual(cudaphy.resolve_backend(BACKEND)[0], BACKEND)
        with self.assertRaisesRegex(ValueError, "gpu.*auto.*cuda.*cpu.*reference"):
            cudaphy.resolve_backend("gpu")
        with self.assertRaisesRegex(cudaphy.BackendUnavailable, "cuda"):
            cudaphy.resolve_backend("cuda", device=99)
        with self.assertRaises(cudaphy.BackendUnavailable):
            cudaphy.invert(np.eye(2), backend="cuda", device=99)


class qa_estimate_channel(NumpyCase):
    def test_finds_the_channel_for_any_leading_dimensions(self):
        pilots = cudaphy.orthogonal_pilots(6, 3)
        self.assert_close(pilots.conj().T @ pilots, 6 * np.eye(3))
        for leading in ((), (1,), (5,), (2, 3), (0,), (2, 0)):
            h = gaussian(leading + (4, 2, 3))
            received = np.einsum("pl,...tal->...pta", pilots, h)
            got, n0 = cudaphy.estimate_channel(received, pilots, backend=BACKEND)
            self.assertEqual((got.dtype, n0.dtype), (np.complex64, np.float32))
            self.assert_close(got, h)
            self.assertEqual(n0.shape, leading)
            self.assertLess(n0.max(initial=0), 1e-9)

    def test_dm_rs_ports_may_be_a_list(self):
        all_ports = cudaphy.nr_dmrs_pilots(8, 3, [2], True).pilots
        for ports in ([5], [0, 1, 2], [6, 3], np.array([1, 4, 7]), (2, 3)):
            some = cudaphy.nr_dmrs_pilots(ports, 3, [2], True)
            np.testing.assert_array_equal(some.pilots, all_ports[:, :, list(ports)])
        pattern = cudaphy.nr_dmrs_pilots([2, 3], 4)
        h = gaussian((2, 2))
        received = np.einsum("pkl,al->pka", pattern.pilots, h)
        got, _ = cudaphy.estimate_channel(received, pattern, backend=BACKEND)
        self.assert_close(got, np.broadcast_to(h, got.shape))
        for ports in ([], [8], [-1], [1, 1], 0, 9):
            with self.assertRaisesRegex(ValueError, "port"):
                cudaphy.nr_dmrs_pilots(ports, 3, [2], True)

    def test_a_pilot_that_is_not_finite_harms_its_tone_and_noise_alone(self):
        pilots = cudaphy.orthogonal_pilots(4, 2)
        received = np.einsum("pl,stal->spta", pilots, gaussian((3, 5, 2, 2)))
        received[1, 2, 3, 0] = NAN
        h, n0 = cudaphy.estimate_channel(received, pilots, backend=BACKEND)
        np.testing.assert_array_equal(np.isnan(n0), [False, True, False])
        self.assertFalse(h[1, 3].any())
        self.assertTrue(np.isfinite(h).all() and h[1, :3].any() and h[0].any())

    def test_refuses_what_does_not_fit(self):
        pilots = cudaphy.orthogonal_pilots(4, 2)
        for received, sent in (
            (np.ones((4, 5)), pilots),
            (np.ones((3, 5, 2)), pilots),
            (np.ones((4, 5, 2)), pilots[0]),
        ):
            with self.assertRaisesRegex(ValueError, r"expected \(\.\.\., P, tones, Nr\)"):
                cudaphy.estimate_channel(received, sent, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "129.*1.*128"):
            cudaphy.estimate_channel(np.ones((4, 5, 129)), pilots, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "rank"):
            cudaphy.estimate_channel(np.ones((4, 5, 2)), np.ones((4, 2)), backend=BACKEND)
        for pilot_symbols, layers in ((2, 3), (2, 0), (0, 0), (-1, -1)):
            with self.assertRaises(ValueError):
                cudaphy.orthogonal_pilots(pilot_symbols, layers)


def mmse(y, h, n0):
    """Textbook: unbiased MMSE and its noise."""
    hh = np.conj(np.swapaxes(h, -1, -2))
    load = np.asarray(n0)[..., np.newaxis, np.newaxis] * np.eye(h.shape[-1])
    w = np.linalg.inv(hh @ h + load) @ hh
    gain = np.einsum("...ij,...ji->...i", w, h).real
    return (w @ y[..., np.newaxis])[..., 0] / gain, (1 - gain) / gain


class qa_equalize(NumpyCase):
    def test_broadcasts_channel_and_noise_to_the_received_vectors(self):
        for leading, channel, noise in (
            ((), (), ()),
            ((5,), (5,), ()),
            ((5,), (), ()),  # one channel for all
            ((5,), (), (5,)),
            ((5,), (5,), (5,)),
            ((4, 5), (5,), (4, 1)),
            ((4, 5), (1, 5), ()),
            ((0,), (0,), ()),
            ((0,), (), ()),
            ((3, 0), (0,), (3, 1)),
            ((70000,), (), ()),
        ):
            with self.subTest(leading=leading, channel=channel, noise=noise):
                y, h = gaussian(leading + (4,)), gaussian(channel + (4, 2), 2)
                n0 = np.random.default_rng(3).uniform(0.1, 1, noise)
                x, n = cudaphy.equalize(y, h, n0, backend=BACKEND)
                self.assertEqual((x.dtype, n.dtype), (np.complex64, np.float32))
                expected_x, expected_n = mmse(y, h, n0)
                self.assert_close(x, np.broadcast_to(expected_x, leading + (2,)))
                self.assert_close(n, np.broadcast_to(expected_n, leading + (2,)))

    def test_methods(self):
        h = gaussian((9, 4, 4)) + 3 * np.eye(4)
        sent = gaussian((9, 4), 2)
        y = np.einsum("nij,nj->ni", h, sent)
        x, n = cudaphy.equalize(y, h, 0.5, method="zf", backend=BACKEND)
        self.assert_close(x, sent)
        gram = np.linalg.inv(np.conj(np.swapaxes(h, 1, 2)) @ h)
        self.assert_close(n, 0.5 * np.einsum("nii->ni", gram).real)
        biased, _ = cudaphy.equalize(y, h, 0.5, unbiased=False, backend=BACKEND)
        right, _ = cudaphy.equalize(y, h, 0.5, backend=BACKEND)
        self.assertTrue((np.abs(biased) < np.abs(right)).all())

    def test_channels_that_cannot_be_used_are_erasures(self):
        y, h = gaussian((6, 3)), gaussian((6, 3, 2))
        h[1], y[2, 0], h[3, 1, 1] = 0, NAN, INF
        n0 = np.array([0.1, 0.1, 0.1, 0.1, 0, 0.1])
        x, n = cudaphy.equalize(y, h, n0, method="zf", backend=BACKEND)
        self.assertFalse(x[1:5].any())
        self.assertTrue(np.isposinf(n[1:5]).all())
        self.assertTrue(np.isfinite(n[[0, 5]]).all())
        x, n = cudaphy.equalize(y, h[0], NAN, backend=BACKEND)
        self.assertFalse(x.any())
        self.assertTrue(np.isposinf(n).all())

    def test_refuses_what_does_not_fit(self):
        y, h = np.ones((5, 4)), np.ones((5, 4, 2))
        for yy, hh in ((y, h[0, 0]), (y[:, :3], h), (np.float32(1), h)):
            with self.assertRaisesRegex(ValueError, r"expected \(\.\.\., Nr\)"):
                cudaphy.equalize(yy, hh, 0.1, backend=BACKEND)
        for hh, n0 in ((h[:3], 0.1), (h, np.ones(3)), (np.ones((2, 5, 4, 2)), 0.1)):
            with self.assertRaises(ValueError):
                cudaphy.equalize(y, hh, n0, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "3.*1.*2"):
            cudaphy.equalize(
                np.ones((5, 2)), np.ones((5, 2, 3)), 0.1, method="zf", backend=BACKEND
            )
        with self.assertRaisesRegex(ValueError, "sic.*zf.*mmse"):
            cudaphy.equalize(y, h, 0.1, method="sic", backend=BACKEND)


class qa_demap(NumpyCase):
    def test_every_constellation_for_any_leading_dimensions(self):
        names = cudaphy.constellation_names()
        self.assertEqual(len(names), 62)
        for name in names:
            c = cudaphy.constellation(name)
            self.assertEqual(len(c.points), 1 << c.bits)
            self.assertAlmostEqual(np.mean(np.abs(c.points) ** 2), 1, places=5)
            self.assertEqual(len(set(np.round(c.points, 5))), len(c.points))
            for leading in ((), (6,), (2, 3), (0,), (2, 0)):
                labels = np.random.default_rng(1).integers(0, 1 << c.bits, leading)
                for which in (name, c):
                    llr = cudaphy.demap(c.points[labels], 0.01, which, backend=BACKEND)
                    self.assertEqual(llr.shape, leading + (c.bits,))
                    self.assertEqual(llr.dtype, np.float32)
                    bits = labels[..., np.newaxis] >> np.arange(c.bits)[::-1] & 1
                    np.testing.assert_array_equal(llr < 0, bits == 1)

    def test_bpsk_is_four_times_the_real_part_over_the_noise(self):
        x, n = gaussian((3, 50)), np.random.default_rng(2).uniform(0.1, 2, (3, 50))
        for max_log in (True, False):
            llr = cudaphy.demap(x, n, "bpsk", max_log, backend=BACKEND)
            self.assert_close(llr[..., 0], 4 * x.real / n)
            turned = cudaphy.demap(x, n, "bpsk", max_log, 1, backend=BACKEND)
            self.assert_close(turned[..., 0], -4 * x.real / n)
        rows = cudaphy.demap(x, n[:, :1], "bpsk", backend=BACKEND)
        self.assert_close(rows[..., 0], 4 * x.real / n[:, :1])

    def test_erasures_and_refusals(self):
        x = np.full(6, 0.7 + 0.3j, "complex64")
        x[4] = NAN
        n = np.array([0, -1, NAN, INF, 0.1, 0.1])
        llr = cudaphy.demap(x, n, backend=BACKEND)
        self.assertFalse(llr[:5].any())
        self.assertTrue(llr[5].all())
        with self.assertRaisesRegex(ValueError, "qam8.*qpsk.*qam256"):
            cudaphy.demap(x, 1.0, "qam8", backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "2.*0.*1"):
            cudaphy.demap(x, 1.0, llr_positive=2, backend=BACKEND)
        with self.assertRaises(ValueError):
            cudaphy.demap(x, np.ones(4), backend=BACKEND)


class qa_ldpc_functions(NumpyCase):
    code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")

    def test_a_code_describes_itself(self):
        c = self.code
        self.assertEqual((c.n, c.k, c.checks, c.rate), (648, 324, 324, 0.5))
        h = c.parity_check()
        self.assertEqual((h.shape, h.nnz), ((324, 648), c.edges))
        np.testing.assert_array_equal(c.info_positions, np.arange(324))
        self.assertEqual(len(c.punctured), 0)
        self.assertTrue(0 < c.default_scale <= 1)
        self.assertIn("648", repr(c))
        self.assertIn("wifi", c.name)

    def test_makes_codes_of_every_family(self):
        dense = self.code.parity_check().toarray()
        again = cudaphy.ldpc_code.from_parity_check(dense)
        self.assertEqual((again.n, again.k), (648, 324))
        self.assertEqual((again.parity_check() != self.code.parity_check()).nnz, 0)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("7 3\n3 4\n1 1 2 1 2 2 3\n4 4 4\n")
            file.write("1 0 0\n2 0 0\n1 2 0\n3 0 0\n1 3 0\n2 3 0\n1 2 3\n")
            file.write("1 3 5 7\n2 3 6 7\n4 5 6 7\n")
            file.flush()
            hamming = cudaphy.ldpc_code.from_alist(file.name)
        self.assertEqual((hamming.n, hamming.k), (7, 4))
        bits = np.array([[int(b) for b in f"{i:04b}"] for i in range(16)], "uint8")
        words = cudaphy.ldpc_encode(hamming, bits, BACKEND)
        self.assertFalse((hamming.parity_check().astype(int) @ words.T % 2).any())
        self.assertEqual(len({tuple(word) for word in words}), 16)

    def test_codes_that_do_not_exist_are_refused(self):
        for family, arguments, text in (
            ("wifi", {"n": 649, "rate": "1/2"}, "(?=.*649)648.*1296.*1944"),
            ("wifi", {"n": 648, "rate": "7/8"}, "(?=.*7/8).*1/2.*2/3.*3/4.*5/6"),
            ("dvbs2", {"frame": "long", "rate": "1/2"}, "(?=.*long)(?=.*normal).*short"),
            ("dvbs2", {"frame": "short", "rate": "9/10"}, "(?=.*9/10).*1/4.*8/9"),
            ("wifi", {"n": 648}, "rate"),
            ("wifi", {"n": 648, "rate": "1/2", "frame": "x"}, "does not take.*frame"),
            ("turbo", {}, "turbo.*wifi.*dvbs2"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                cudaphy.ldpc_code(family, **arguments)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("7 3\n3 4\n1 1 two\n")
            file.flush()
            with self.assertRaisesRegex(cudaphy.CodeFileError, "3"):
                cudaphy.ldpc_code.from_alist(file.name)
        for read in (cudaphy.ldpc_code.from_alist, cudaphy.ldpc_code.from_qc):
            with self.assertRaisesRegex(cudaphy.CodeFileError, "no/such/file"):
                read("no/such/file")

    def test_encodes_and_decodes_any_leading_dimensions(self):
        rng = np.random.default_rng(1)
        for leading in ((), (1,), (33,), (2, 3), (0,), (2, 0)):
            bits = rng.integers(0, 2, leading + (324,)).astype("uint8")
            words = cudaphy.ldpc_encode(self.code, bits, backend=BACKEND)
            self.assertEqual((words.shape, words.dtype), (leading + (648,), np.uint8))
            llr = 4 * (1.0 - 2.0 * words) + 2.5 * rng.standard_normal(words.shape)
            got, iterations, ok = cudaphy.ldpc_decode(self.code, llr, backend=BACKEND)
            np.testing.assert_array_equal(got, bits)
            self.assertEqual((iterations.shape, ok.shape), (leading, leading))
            self.assertEqual((iterations.dtype.kind, ok.dtype), ("i", bool))
            self.assertTrue(ok.all())
            whole, _, _ = cudaphy.ldpc_decode(
                self.code, -llr, llr_positive=1, output="codeword", backend=BACKEND
            )
            np.testing.assert_array_equal(whole, words)

    def test_says_which_words_failed(self):
        words = np.zeros((10, 648))
        llr = 4 - 8 * words
        llr[[2, 9]] = 4 * np.random.default_rng(3).standard_normal((2, 648))
        _, iterations, ok = cudaphy.ldpc_decode(
            self.code, llr, max_iterations=9, scale=0.8, backend=BACKEND
        )
        np.testing.assert_array_equal(~ok, np.isin(np.arange(10), [2, 9]))
        np.testing.assert_array_equal(iterations, np.where(ok, 1, 9))
        _, iterations, _ = cudaphy.ldpc_decode(
            self.code, llr, max_iterations=9, early_stop=False, backend=BACKEND
        )
        self.assertEqual(set(iterations), {9})

    def test_calls_at_the_same_time_and_in_turn_keep_apart(self):
        rng = np.random.default_rng(4)
        codes = [
            cudaphy.ldpc_code("wifi", n=648, rate=rate)
            for rate in ("1/2", "2/3", "3/4", "5/6")
        ]

        def link(number):
            """Parameters differ from call to call, and are more than the cache keeps."""
            code, longest = codes[number % 4], 5 + number // 4
            bits = np.random.default_rng(number).integers(0, 2, (9, code.k))
            llr = 6 * (1.0 - 2.0 * cudaphy.ldpc_encode(code, bits, backend=BACKEND))
            llr[3] = np.random.default_rng(99).standard_normal(code.n)
            got, iterations, ok = cudaphy.ldpc_decode(
                code, llr, max_iterations=longest, backend=BACKEND
            )
            np.testing.assert_array_equal(ok, np.arange(9) != 3)
            np.testing.assert_array_equal(iterations, np.where(ok, 1, longest))
            np.testing.assert_array_equal(got[ok], bits[ok])
            return True

        with futures.ThreadPoolExecutor(4) as threads:
            numbers = rng.permutation(np.repeat(np.arange(16), 3))
            self.assertTrue(all(threads.map(link, numbers)))

    def test_refuses_what_does_not_fit(self):
        llr = np.ones((3, 648))
        with self.assertRaisesRegex(ValueError, r"323.*expected \(\.\.\., 324\)"):
            cudaphy.ldpc_encode(self.code, np.ones((2, 323)), backend=BACKEND)
        with self.assertRaisesRegex(ValueError, r"647.*expected \(\.\.\., 648\)"):
            cudaphy.ldpc_decode(self.code, llr[:, :647], backend=BACKEND)
        with self.assertRaises(ValueError):
            cudaphy.ldpc_decode(self.code, np.float32(1), backend=BACKEND)
        for options, text in (
            ({"max_iterations": 0}, "0.*1.*1000"),
            ({"scale": 1.5}, "1.5.*0.*1"),
            ({"llr_positive": 3}, "3.*0.*1"),
            (
                {"algorithm": "max_product"},
                "max_product.*normalized_min_sum.*sum_product",
            ),
            ({"output": "bits"}, "bits.*info.*codeword"),
            ({"backend": "gpu"}, "gpu"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                cudaphy.ldpc_decode(self.code, llr, **{"backend": BACKEND, **options})


if __name__ == "__main__":
    main()
