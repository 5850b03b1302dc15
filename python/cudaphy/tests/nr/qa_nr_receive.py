#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of PUSCH and PDSCH decode what the transmitters send, of every configuration."""

import random
import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

CONFIGURATIONS = 60


def bits_of(channel, seed=1):
    chance = np.random.default_rng(seed)
    return [chance.integers(0, 2, count, np.uint8) for count in channel.tbs]


def gaussian(chance, *shape):
    parts = chance.normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]) * np.sqrt(0.5)


def sent(channel, payload, slot=0, version=0):
    if channel.link == "pusch":
        return cudaphy.nr_pusch_transmit(
            channel, payload[0], slot, version, backend=BACKEND
        )
    one = payload if channel.codewords == 2 else payload[0]
    return cudaphy.nr_pdsch_transmit(channel, one, slot, version, backend=BACKEND)


def receive(channel, *given, **named):
    one = channel[0] if isinstance(channel, (list, tuple)) else channel
    by = cudaphy.nr_pusch_receive if one.link == "pusch" else cudaphy.nr_pdsch_receive
    return by(channel, *given, backend=BACKEND, **named)


def over(grid, matrix, noise=0.0, seed=2):
    """The grid of the ports at the antennas, with noise of this variance."""
    out = np.tensordot(matrix, grid, 1)
    chance = np.random.default_rng(seed)
    return (out + np.sqrt(noise) * gaussian(chance, *out.shape)).astype(np.complex64)


def draw(chance, link):
    """Arguments of nr_shared_channel; None if it refuses them."""
    kind, length = chance.randint(1, 2), chance.randint(1, 2)
    mapping = chance.choice("AB")
    first = 0 if mapping == "A" else chance.randint(0, 8)
    prbs = chance.choice((1, 2, 3, 11, 24, 52))
    given = {
        "grid_size": prbs + chance.choice((0, 0, 5)),
        "prbs": (0, prbs),
        "grid_start": chance.choice((0, 7)),
        "numerology": chance.randint(0, 3),
        "mapping_type": mapping,
        "first_symbol": first,
        "symbols": chance.randint(3, 14 - first),
        "dmrs_type": kind,
        "dmrs_length": length,
        "dmrs_additional_position": chance.randint(0, 3 if length == 1 else 1),
        "dmrs_n_id": chance.randint(0, 65535),
        "n_scid": chance.randint(0, 1),
        "n_id": chance.randint(0, 1023),
        "rnti": chance.randint(1, 65535),
    }
    transform = link == "pusch" and chance.random() < 0.25
    if transform:
        given.update(
            transform_precoding=True,
            dmrs_type=1,
            mcs=chance.randint(0, 27),
            mcs_table=chance.choice(("transform_qam64", "qam256")),
            pi2_bpsk=chance.random() < 0.5,
            n_rs_id=chance.randint(0, 1007),
            hopping=chance.choice(("neither", "group", "sequence")),
            ptrs=chance.random() < 0.5,
            ptrs_groups=chance.choice((2, 4)),
            ptrs_samples=chance.choice((2, 4)),
        )
        kind, layers, groups = 1, 1, 2
    else:
        layers = chance.randint(1, 4 if link == "pusch" else 8)
        groups = chance.randint(1, 1 + kind)
        given.update(
            cdm_groups_without_data=groups,
            mcs=chance.randint(0, 27),
            mcs_table=chance.choice(("qam64", "qam256", "qam64_low_se")),
            ptrs=chance.random() < 0.3,
        )
        if link == "pdsch":
            given["vrb_bundle"] = chance.choice((0, 0, 2, 4))
            if chance.random() < 0.2:
                given.update(mcs_table="qam1024", mcs=chance.randint(0, 26))
        elif layers <= 2 and chance.random() < 0.5:
            given.update(antenna_ports=2, tpmi=0)
    ports = [p for p in range(2 * (1 + kind) * length) if p // 2 % (1 + kind) < groups]
    if len(ports) < layers:
        return None
    given.update(layers=layers, dmrs_ports=chance.sample(ports, layers))
    if given.get("ptrs"):
        given["ptrs_port"] = given["dmrs_ports"][0]
        if given["ptrs_port"] >= 2 * (1 + kind):
            return None
    try:
        return cudaphy.nr_shared_channel(link, **given), given
    except ValueError:
        return None


class qa_nr_receive(unittest.TestCase):
    def test_every_configuration_is_decoded_from_a_flat_channel(self):
        chance = random.Random(3)
        for link in ("pusch", "pdsch"):
            done = 0
            while done < CONFIGURATIONS:
                drawn = draw(chance, link)
                if drawn is None:
                    continue
                channel, given = drawn
                # A word whose bits are not all sent can't be decoded alone.
                if max(np.divide(channel.tbs, channel.coded_bits)) > 0.93:
                    continue
                done += 1
                slot = chance.randint(0, 9)
                version = chance.choice((0, 0, 3)) if max(channel.code_rate) < 0.4 else 0
                payload = bits_of(channel, done)
                grid = sent(channel, payload, slot, version)
                rng = np.random.default_rng(done)
                matrix = np.linalg.qr(gaussian(rng, 8, 8))[0][:, : grid.shape[0]]
                for estimator in ("mmse", "ls"):
                    with self.subTest(link, estimator=estimator, slot=slot, **given):
                        got = receive(
                            channel,
                            over(grid, matrix, 1e-5),
                            slot,
                            version,
                            estimator=estimator,
                        )
                        self.assertEqual(got.ok, (True,) * channel.codewords)
                        self.assertEqual(got.reason, "")
                        for one, bits in zip(got.payload, payload):
                            np.testing.assert_array_equal(one, bits)

    def test_timing_and_frequency_offsets_are_found(self):
        chance = np.random.default_rng(1)
        for link in ("pusch", "pdsch"):
            channel = cudaphy.nr_shared_channel(
                link, layers=2, mcs=16, dmrs_additional_position=1, numerology=1
            )
            payload = bits_of(channel)
            grid = over(sent(channel, payload), gaussian(chance, 4, 2), 1e-3)
            late, too_high = 350e-9, -420.0
            tones = np.arange(grid.shape[2]) * 30e3
            times = np.arange(14) * 0.5e-3 / 14
            grid *= np.exp(-2j * np.pi * tones * late)
            grid *= np.exp(2j * np.pi * times * too_high)[:, None]
            got = receive(channel, grid)
            self.assertEqual(got.ok, (True,))
            self.assertAlmostEqual(got.timing_offset * 1e9, 350, delta=3)
            self.assertAlmostEqual(got.frequency_offset, too_high, delta=8)
            self.assertAlmostEqual(got.noise_variance, 1e-3, delta=1e-4)
            # Without tracking, symbols before and behind DM-RS turn too far.
            lost = receive(channel, grid, track_frequency=False)
            self.assertEqual((lost.ok, lost.reason), ((False,), "crc"))

    def test_one_position_of_dmrs_tells_no_frequency(self):
        channel = cudaphy.nr_shared_channel("pusch", grid_size=4)
        got = receive(channel, sent(channel, bits_of(channel)))
        self.assertTrue(got.ok[0])
        self.assertTrue(np.isnan(got.frequency_offset))

    def test_ptrs_tracks_the_phase_of_each_symbol(self):
        chance = np.random.default_rng(5)
        channel = cudaphy.nr_shared_channel("pusch", layers=2, mcs=25, ptrs=True)
        payload = bits_of(channel)
        grid = over(sent(channel, payload), gaussian(chance, 4, 2), 1e-3)
        phases = np.cumsum(chance.normal(0, 0.1, 14))
        turned = grid * np.exp(1j * (phases - phases[2]))[:, None].astype(np.complex64)
        got = receive(channel, turned)
        self.assertEqual(got.ok, (True,))
        np.testing.assert_array_equal(got.payload[0], payload[0])
        still = receive(channel, grid)
        self.assertGreater(got.sinr_db[0], still.sinr_db[0] - 1)

    def test_irc_suppresses_a_user_of_which_nothing_is_known(self):
        chance = np.random.default_rng(6)
        one = cudaphy.nr_shared_channel(
            "pusch", mcs=16, dmrs_n_id=1, rnti=1, grid_size=20
        )
        other = cudaphy.nr_shared_channel(
            "pusch", mcs=16, dmrs_n_id=2, rnti=2, grid_size=20
        )
        payload = bits_of(one)
        grid = over(sent(one, payload, 1), gaussian(chance, 4, 1), 1e-2)
        grid += over(sent(other, bits_of(other, 9), 1), gaussian(chance, 4, 1))
        got = receive(one, grid, 1)
        self.assertTrue(got.irc)
        self.assertEqual(got.ok, (True,))
        np.testing.assert_array_equal(got.payload[0], payload[0])
        white = receive(one, grid, 1, interference="white")
        self.assertFalse(white.irc)
        self.assertGreater(got.sinr_db[0], white.sinr_db[0] + 5)

    def test_white_noise_is_found_white(self):
        chance = np.random.default_rng(7)
        channel = cudaphy.nr_shared_channel("pdsch", layers=2, mcs=10, grid_size=30)
        colored = 0
        for trial in range(40):
            grid = over(
                sent(channel, bits_of(channel)), gaussian(chance, 4, 2), 0.05, trial
            )
            got = receive(channel, grid)
            self.assertEqual(got.ok, (True,))
            colored += got.irc
        self.assertLessEqual(colored, 2)

    def test_users_on_equal_resource_blocks_are_separated(self):
        chance = np.random.default_rng(8)
        # Ports of one group and of another; the third user has half the blocks.
        arguments = [
            {"dmrs_ports": [0], "prbs": (0, 24)},
            {"dmrs_ports": [1], "prbs": (0, 24)},
            {"dmrs_ports": [2, 3], "layers": 2, "prbs": (6, 12), "dmrs_n_id": 77},
        ]
        users = [
            cudaphy.nr_shared_channel(
                "pusch", grid_size=24, mcs=15, rnti=10 + i, n_id=3, **given
            )
            for i, given in enumerate(arguments)
        ]
        payloads = [bits_of(user, i) for i, user in enumerate(users)]
        grid = 0
        for user, payload in zip(users, payloads):
            matrix = gaussian(chance, 6, user.layers)
            grid = grid + over(sent(user, payload, 2), matrix, 1e-3)
        for estimator in ("mmse", "ls"):
            for got, payload in zip(
                receive(users, grid, 2, estimator=estimator), payloads
            ):
                self.assertEqual(got.ok, (True,))
                np.testing.assert_array_equal(got.payload[0], payload[0])

    def test_neighbours_in_frequency_do_not_matter_to_each_other(self):
        users = [
            cudaphy.nr_shared_channel("pusch", grid_size=20, prbs=prbs, rnti=rnti, mcs=9)
            for prbs, rnti in (((0, 8), 1), ((8, 12), 2))
        ]
        grids = [sent(user, bits_of(user)) for user in users]
        whole = over(grids[0] + 30 * grids[1], np.ones((2, 1)), 1e-4)
        # A sample that is not finite is one user's alone.
        for bad in (None, np.nan, np.inf):
            if bad is not None:
                whole[0, 2, 4] = bad
            first, second = receive(users, whole)
            self.assertEqual(second.ok, (True,))
            self.assertEqual(first.ok, (bad is None,))
            self.assertEqual(first.reason, "" if bad is None else "not_finite")

    def test_data_that_is_not_finite_is_erased(self):
        channel = cudaphy.nr_shared_channel("pusch", mcs=10, grid_size=20)
        payload = bits_of(channel)
        grid = over(sent(channel, payload), np.ones((2, 1)), 1e-4)
        grid[0, 5, 3:40] = np.nan
        grid[1, 7, 60] = np.inf
        got = receive(channel, grid)
        self.assertEqual(got.ok, (True,))
        np.testing.assert_array_equal(got.payload[0], payload[0])

    def test_missing_dmrs_and_silence_fail_with_a_reason(self):
        chance = np.random.default_rng(11)
        for link in ("pusch", "pdsch"):
            channel = cudaphy.nr_shared_channel(link, layers=2, grid_size=20)
            grid = sent(channel, bits_of(channel))
            grid[:, channel.dmrs_symbols] = 0
            noisy = over(grid, gaussian(chance, 2, 2), 1e-2)
            for estimator in ("mmse", "ls"):
                got = receive(channel, noisy, estimator=estimator)
                self.assertEqual((got.ok, got.reason), ((False,), "no_dmrs"))
                empty = receive(channel, np.zeros_like(noisy), estimator=estimator)
                self.assertEqual((empty.ok, empty.reason), ((False,), "no_dmrs"))

    def test_any_scale_is_received_and_huge_samples_fail(self):
        chance = np.random.default_rng(12)
        channel = cudaphy.nr_shared_channel("pusch", mcs=9, grid_size=20)
        payload = bits_of(channel)
        grid = over(sent(channel, payload), gaussian(chance, 2, 1), 1e-2)
        for scale in (1e-6, 1e-3, 1e3, 1e10):
            got = receive(channel, grid * np.float32(scale))
            self.assertEqual(got.ok, (True,))
        got = receive(channel, grid * np.float32(1e25))
        self.assertEqual((got.ok, got.reason), ((False,), "not_finite"))

    def test_wrong_arguments_raise(self):
        channel = cudaphy.nr_shared_channel("pusch", grid_size=4)
        downlink = cudaphy.nr_shared_channel("pdsch", grid_size=4)
        good = np.zeros((2, 14, 48), np.complex64)
        for error, arguments, named in (
            (ValueError, (channel, good[:, :13]), {}),
            (ValueError, (channel, good[:, :, :47]), {}),
            (ValueError, (channel, np.zeros((0, 14, 48))), {}),
            (ValueError, (channel, np.zeros((129, 14, 48))), {}),
            (ValueError, (channel, good, 20), {}),
            (ValueError, (channel, good, -1), {}),
            (ValueError, (channel, good, 0, 4), {}),
            (ValueError, (channel, good, 0, (0, 0)), {}),
            (ValueError, (channel, good), {"estimator": "best"}),
            (ValueError, (channel, good), {"interference": "none"}),
            (ValueError, (channel, good), {"max_iterations": 0}),
            (ValueError, (channel, good), {"delay_spread": np.nan}),
            (ValueError, (channel, good), {"new_data": False}),
            (ValueError, ([channel, downlink], good), {}),
            (ValueError, ([], good), {}),
            (ValueError, ([channel, channel], good), {"process": [1]}),
            (ValueError, (downlink, good), {}),
            (TypeError, ("pusch", good), {}),
            (TypeError, (channel, good), {"harq": 3}),
            (TypeError, (channel, np.full((2, 14, 48), "x")), {}),
        ):
            with self.subTest(arguments=arguments[:1], **named):
                with self.assertRaises(error):
                    cudaphy.nr_pusch_receive(*arguments, **named)


class qa_nr_harq(unittest.TestCase):
    def test_redundancy_versions_combined_gain_what_theory_says(self):
        """A block of rate 0.6 at -1 dB: QPSK's capacity there is 0.83 bits a symbol, of which one
        transmission needs 1.2. Two carry 1.66, so nearly all blocks are decoded with two, none with one.
        """
        channel = cudaphy.nr_shared_channel("pusch", grid_size=25, mcs=9)
        self.assertAlmostEqual(channel.code_rate[0], 0.6, delta=0.08)
        noise = 10**0.1
        needed = []
        for trial in range(20):
            harq = cudaphy.nr_harq(2)
            payload = bits_of(channel, trial)
            for count, version in enumerate((0, 2, 3, 1)):
                grid = sent(channel, payload, count, version)
                got = receive(
                    channel,
                    over(grid, np.ones((1, 1)), noise, 10 * trial + count),
                    count,
                    version,
                    harq=harq,
                    process=1,
                    new_data=count == 0,
                )
                if got.ok[0]:
                    np.testing.assert_array_equal(got.payload[0], payload[0])
                    needed.append(count + 1)
                    break
        self.assertEqual(len(needed), 20)
        self.assertGreater(min(needed), 1)
        self.assertLessEqual(np.mean(needed), 2.2)

    def test_processes_and_codewords_do_not_mix(self):
        channel = cudaphy.nr_shared_channel(
            "pdsch", layers=6, dmrs_length=2, mcs=(4, 6), grid_size=12
        )
        harq = cudaphy.nr_harq(3, 1 << 22)
        matrix = np.linalg.qr(gaussian(np.random.default_rng(1), 8, 6))[0]
        payloads = [bits_of(channel, process) for process in range(3)]
        for version in (0, 2):
            for process, payload in enumerate(payloads):
                # At the first transmission noise hides every block.
                grid = over(
                    sent(channel, payload, 1, version),
                    matrix,
                    40.0 if version == 0 else 1e-3,
                    process,
                )
                got = receive(
                    channel,
                    grid,
                    1,
                    version,
                    harq=harq,
                    process=process,
                    new_data=version == 0,
                )
                self.assertEqual(got.ok, (version == 2,) * 2)
                if version == 2:
                    for one, bits in zip(got.payload, payload):
                        np.testing.assert_array_equal(one, bits)
        self.assertTrue(harq.holds(2))
        held = harq.bytes
        harq.release(2)
        self.assertFalse(harq.holds(2))
        self.assertLess(harq.bytes, held)

    def test_wrong_processes_sizes_and_memory_are_refused(self):
        small, large = (
            cudaphy.nr_shared_channel("pusch", grid_size=20, mcs=mcs) for mcs in (5, 9)
        )
        harq = cudaphy.nr_harq(4)
        payload = bits_of(small)
        grid = over(sent(small, payload), np.ones((1, 1)), 1e-3)
        receive(small, grid, harq=harq, process=3)
        held = harq.bytes
        for channel, process, new_data in (
            (small, 4, True),
            (small, -1, True),
            (large, 3, False),
        ):
            with self.assertRaises(ValueError):
                receive(channel, grid, harq=harq, process=process, new_data=new_data)
        self.assertEqual(harq.bytes, held)
        with self.assertRaises(ValueError):
            receive([small, small], grid, harq=harq, process=2)
        tight = cudaphy.nr_harq(4, held + 10)
        receive(small, grid, harq=tight, process=0)
        with self.assertRaisesRegex(ValueError, "max_bytes"):
            receive(small, grid, harq=tight, process=1)
        # New data takes the place of the old.
        self.assertTrue(receive(small, grid, harq=tight, process=0).ok[0])
        for arguments in ((0,), (33,), (4, -1)):
            with self.assertRaises(ValueError):
                cudaphy.nr_harq(*arguments)
        with self.assertRaises(TypeError):
            cudaphy.nr_harq(4, 1.5)

    def test_a_retransmission_whose_first_one_was_missed_stands_alone(self):
        channel = cudaphy.nr_shared_channel("pusch", grid_size=20, mcs=3)
        payload = bits_of(channel)
        grid = over(sent(channel, payload, 0, 3), np.ones((1, 1)), 1e-3)
        got = receive(channel, grid, 0, 3, harq=cudaphy.nr_harq(), new_data=False)
        self.assertEqual(got.ok, (True,))


if __name__ == "__main__":
    main()
