#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""equalize() gives the same for channels, noise and covariances that lack dimensions as for whole ones."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

RANDOM = np.random.default_rng(37)
NR, NT = 4, 2


def complex64(*shape):
    return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(
        "c8"
    )


def covariances(*shape):
    a = complex64(*shape, NR, 2 * NR)
    return (a @ np.conj(np.swapaxes(a, -1, -2))).astype("c8")


class qa_equalize_shapes(unittest.TestCase):
    def check(self, y, h, noise_var, covariance=None):
        leading = y.shape[:-1]
        options = {"backend": BACKEND}
        if covariance is None:
            whole = np.array(np.broadcast_to(noise_var, leading), "f4")
        else:
            options |= {"method": "mmse_irc", "covariance": covariance}
            whole = None
        x, noise = cudaphy.equalize(y, h, noise_var, **options)
        if covariance is not None:
            options["covariance"] = np.array(
                np.broadcast_to(covariance, leading + (NR, NR))
            )
        wanted = cudaphy.equalize(
            y, np.array(np.broadcast_to(h, leading + (NR, NT))), whole, **options
        )
        self.assertEqual((x.shape, noise.shape), (leading + (NT,),) * 2)
        np.testing.assert_allclose(x, wanted[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(noise, wanted[1], rtol=1e-4)

    def test_a_channel_lacks_dimensions(self):
        y = complex64(3, 5, 4, 6, NR)
        for own in (
            *((), (6,), (4, 6), (1, 6), (5, 4, 6), (5, 1, 6), (5, 4, 1), (1, 1, 6)),
            *((3, 1, 4, 6), (3, 1, 1, 6), (3, 5, 1, 6), (3, 5, 4, 1), (3, 1, 1, 1)),
            *((3, 1, 4, 1), (1, 5, 1, 6), (1, 1, 1, 1), (3, 5, 4, 6)),
        ):
            for of_noise in (
                (),
                (6,),
                (3, 1, 1, 1),
                (3, 5, 1, 1),
                (3, 5, 4, 6),
                (5, 1, 1),
            ):
                with self.subTest(channel=own, noise=of_noise):
                    noise_var = RANDOM.uniform(0.1, 1, of_noise).astype("f4")
                    self.check(y, complex64(*own, NR, NT), noise_var)

    def test_a_covariance_lacks_dimensions(self):
        y = complex64(3, 5, 6, NR)
        for own in ((6,), (1, 6), (3, 1, 6), (3, 5, 1), (3, 5, 6)):
            for of_noise in ((), (6,), (3, 1, 1), (3, 1, 6), (5, 1), (5, 6), (3, 5, 6)):
                with self.subTest(channel=own, covariance=of_noise):
                    h = complex64(*own, NR, NT)
                    self.check(y, h, None, covariances(*of_noise))

    def test_many_slots(self):
        """A GPU takes them in pieces."""
        y, h = complex64(41, 14, 600, NR), complex64(41, 1, 600, NR, NT)
        noise_var = RANDOM.uniform(0.1, 1, (41, 1, 1)).astype("f4")
        noise_var[7] = -1
        x, noise = cudaphy.equalize(y, h, noise_var, backend=BACKEND)
        self.assertTrue((x[7] == 0).all() and np.isposinf(noise[7]).all())
        for slot in (0, 7, 20, 40):
            wanted = cudaphy.equalize(
                y[slot], h[slot, 0], noise_var[slot, 0, 0], backend=BACKEND
            )
            np.testing.assert_array_equal(x[slot], wanted[0])
            np.testing.assert_array_equal(noise[slot], wanted[1])
        r = covariances(41, 1, 600)
        x, noise = cudaphy.equalize(y, h, None, "mmse_irc", covariance=r, backend=BACKEND)
        for slot in (0, 20, 40):
            wanted = cudaphy.equalize(
                *(y[slot], h[slot, 0], None, "mmse_irc"),
                covariance=r[slot, 0],
                backend=BACKEND,
            )
            np.testing.assert_array_equal(x[slot], wanted[0])

    def test_shapes_that_do_not_fit(self):
        y = complex64(3, 5, 6, NR)
        for own, of_noise in (
            *(((2, 1, 6), ()), ((7,), ()), ((9, 3, 5, 6), ())),
            *(((6,), (4, 1)), ((3, 1, 6), (2, 1, 1)), ((6,), (9, 3, 5, 6))),
        ):
            with self.subTest(channel=own, noise=of_noise), self.assertRaises(ValueError):
                h, noise_var = complex64(*own, NR, NT), np.ones(of_noise, "f4")
                cudaphy.equalize(y, h, noise_var, backend=BACKEND)


if __name__ == "__main__":
    main()
