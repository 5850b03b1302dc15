#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of PUSCH with up to 128 antennas: many layers, interference, failures."""

import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main


def gaussian(chance, *shape):
    parts = chance.normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]) * np.sqrt(0.5)


def users_of(count, prbs):
    """Users of four layers each, on the twelve ports of DM-RS of type 2 and two symbols."""
    return [
        cudaphy.nr_shared_channel(
            "pusch",
            grid_size=prbs,
            mcs=12,
            layers=4,
            dmrs_type=2,
            dmrs_length=2,
            dmrs_ports=list(range(4 * i, 4 * i + 4)),
            cdm_groups_without_data=3,
            rnti=10 + i,
            n_id=3,
        )
        for i in range(count)
    ]


def send(chance, users, antennas, slot, noise):
    """Payloads and the grid at the antennas, over flat channels."""
    payloads, grid = [], 0
    for user in users:
        payload = chance.integers(0, 2, user.tbs[0], np.uint8)
        sent = cudaphy.nr_pusch_transmit(user, payload, slot, 0, backend=BACKEND)
        grid = grid + np.tensordot(gaussian(chance, antennas, sent.shape[0]), sent, 1)
        payloads.append(payload)
    grid = grid + np.sqrt(noise) * gaussian(chance, *grid.shape)
    return payloads, grid.astype(np.complex64)


def receive(users, grid, slot, **named):
    return cudaphy.nr_pusch_receive(users, grid, slot, backend=BACKEND, **named)


class qa_nr_receive_many_antennas(unittest.TestCase):
    def test_twelve_layers_of_three_users_are_separated(self):
        chance = np.random.default_rng(1)
        for antennas in (17, 64, 100):
            users = users_of(3, 8)
            payloads, grid = send(chance, users, antennas, 2, 0.05)
            for estimator in ("mmse", "ls"):
                with self.subTest(antennas=antennas, estimator=estimator):
                    got = receive(users, grid, 2, estimator=estimator)
                    for one, payload in zip(got, payloads):
                        self.assertEqual(one.ok, (True,))
                        np.testing.assert_array_equal(one.payload[0], payload)

    def test_irc_suppresses_a_user_of_which_nothing_is_known(self):
        chance = np.random.default_rng(2)
        # The allocation has two bundles and more, and one that is not full.
        for antennas, prbs in ((17, 52), (33, 25), (64, 52), (128, 106)):
            channel = cudaphy.nr_shared_channel("pusch", grid_size=prbs, mcs=5)
            (payload,), grid = send(chance, [channel], antennas, 1, 0.01)
            other = gaussian(chance, antennas, 1, 1) * gaussian(
                chance, 1, *grid.shape[1:]
            )
            grid = (grid + other).astype(np.complex64)
            with self.subTest(antennas=antennas):
                got = receive(channel, grid, 1)
                self.assertTrue(got.irc)
                self.assertEqual(got.ok, (True,))
                np.testing.assert_array_equal(got.payload[0], payload)
                white = receive(channel, grid, 1, interference="white")
                self.assertGreater(got.sinr_db[0], white.sinr_db[0] + 5)

    def test_white_noise_is_found_white_and_its_sinr_grows_with_the_antennas(self):
        chance = np.random.default_rng(3)
        channel = cudaphy.nr_shared_channel("pusch", grid_size=52, mcs=3)
        for antennas in (32, 128):
            colored, sinr = 0, []
            for _ in range(10):
                (payload,), grid = send(chance, [channel], antennas, 0, 4.0)
                got = receive(channel, grid, 0)
                self.assertEqual(got.ok, (True,))
                np.testing.assert_array_equal(got.payload[0], payload)
                colored += got.irc
                sinr.append(got.sinr_db[0])
            self.assertLessEqual(colored, 1)
            # Of an exact channel: antennas over the noise. Estimates cost some of it.
            self.assertAlmostEqual(
                np.mean(sinr), 10 * np.log10(antennas / 4.0), delta=1.5
            )

    def test_irc_without_interference_loses_little(self):
        chance = np.random.default_rng(4)
        channel = cudaphy.nr_shared_channel("pusch", grid_size=24, mcs=3)
        for antennas in (32, 128):
            (payload,), grid = send(chance, [channel], antennas, 0, 2.0)
            white = receive(channel, grid, 0, interference="white")
            irc = receive(channel, grid, 0, interference="irc")
            self.assertTrue(irc.irc)
            np.testing.assert_array_equal(irc.payload[0], payload)
            self.assertLess(abs(irc.sinr_db[0] - white.sinr_db[0]), 0.5)

    def test_data_that_is_not_finite_is_erased(self):
        chance = np.random.default_rng(5)
        channel = cudaphy.nr_shared_channel("pusch", grid_size=24, mcs=3)
        (payload,), grid = send(chance, [channel], 40, 0, 0.1)
        grid[39, 13, ::2] = np.nan
        got = receive(channel, grid, 0)
        np.testing.assert_array_equal(got.payload[0], payload)
        grid[
            20, channel.dmrs_symbols[0] if hasattr(channel, "dmrs_symbols") else 2
        ] = np.inf
        self.assertEqual(receive(channel, grid, 0).reason, "not_finite")

    def test_more_than_128_antennas_are_refused(self):
        channel = cudaphy.nr_shared_channel("pusch", grid_size=2, mcs=3)
        with self.assertRaisesRegex(ValueError, "1 to 128"):
            receive(channel, np.zeros((129, 14, 24), np.complex64), 0)


if __name__ == "__main__":
    main()
