#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""PT-RS of PUSCH with transform precoding, against the clauses of TS 38.211 written out here."""

import itertools
import unittest

import numpy as np
from gnuradio import cudaphy
from qa_nr_shared_channel import data_of, gold, random_bits, received
from qa_support import BACKEND, main

GROUPS = ((2, 2), (2, 4), (4, 2), (4, 4), (8, 4))
SIGNS = {  # table 6.4.1.2.1.2-1: by N_samp and n_RNTI mod N_samp
    2: ((1, 1), (1, -1)),
    4: ((1, 1, 1, 1), (1, -1, 1, -1), (1, 1, -1, -1), (1, -1, -1, 1)),
}
OUTERMOST = {
    1: 1,
    2: 1,
    4: 3 / 5**0.5,
    6: 7 / 21**0.5,
    8: 15 / 85**0.5,
}  # 38.214, 6.2.3.2-2
MCS = {1: 0, 2: 5, 4: 12, 6: 20}  # of table 6.1.4.1-1 with pi/2-BPSK


def places_of(groups, samples, m_sc):
    """Table 6.4.1.2.2.2-1, row by row."""
    ends = [0, 1, 2, 3], [m_sc - 4, m_sc - 3, m_sc - 2, m_sc - 1]
    rows = {
        (2, 2): [s * (m_sc // 4) + k for s in (1, 3) for k in (-1, 0)],
        (2, 4): ends[0] + ends[1],
        (4, 2): [s * m_sc // 8 + k for s in (1, 3, 5, 7) for k in (-1, 0)],
        (4, 4): ends[0]
        + [s * m_sc // 4 + m_sc // 8 + k for s in (1, 2) for k in (-2, -1, 0, 1)]
        + ends[1],
        (8, 4): ends[0]
        + [s * m_sc // 8 + m_sc // 16 + k for s in range(1, 7) for k in (-2, -1, 0, 1)]
        + ends[1],
    }
    return rows[groups, samples]


def values_of(groups, samples, m_sc, slot, symbol, n_id, rnti, order):
    """r_m(m') of 6.4.1.2.1.2, times beta'."""
    c_init = ((14 * slot + symbol + 1) * (2 * n_id + 1) * 2**17 + 2 * n_id) % 2**31
    bits = gold(c_init, groups * samples)
    signs = SIGNS[samples][rnti % samples]
    out = []
    for i, m in enumerate(places_of(groups, samples, m_sc)):
        half_turn = np.exp(1j * np.pi / 2 * (m % 2)) / np.sqrt(2)
        one = 1 - 2.0 * bits[i]
        out.append(signs[i % samples] * half_turn * (one + 1j * one))
    return OUTERMOST[order] * np.array(out)


def channel_of(order, blocks=24, **options):
    table = "qam256" if order == 8 else "transform_qam64"
    given = dict(
        transform_precoding=True,
        mcs_table=table,
        mcs=20 if order == 8 else MCS[order],
        pi2_bpsk=order == 1,
        prbs=(3, blocks),
        ptrs=True,
    )
    return cudaphy.nr_shared_channel("pusch", **{**given, **options})


def symbols_of(channel, grid, blocks=24):
    """Symbols before the transform: (OFDM symbols with data, M_sc)."""
    spread = data_of(channel, grid).reshape(-1, 12 * blocks)
    return np.fft.ifft(spread, axis=1) * np.sqrt(12 * blocks)


class qa_nr_precoded_ptrs(unittest.TestCase):
    def test_ptrs_stands_where_and_as_the_clauses_say(self):
        cases = itertools.product(GROUPS, (4, 9, 24, 45), (1, 2, 4, 6, 8))
        for number, ((groups, samples), blocks, order) in enumerate(cases):
            slot, rnti, n_id = number % 20, 17 * number % 65536, 101 * number % 1008
            with self.subTest(groups=groups, samples=samples, blocks=blocks, order=order):
                channel = channel_of(
                    order,
                    blocks,
                    ptrs_groups=groups,
                    ptrs_samples=samples,
                    rnti=rnti,
                    n_rs_id=n_id,
                )
                plain = channel_of(order, blocks, ptrs=False)
                payload = random_bits(channel.tbs[0], number)
                grid = cudaphy.nr_pusch_transmit(channel, payload, slot, backend=BACKEND)
                symbols = symbols_of(channel, grid, blocks)
                m_sc = 12 * blocks
                places = places_of(groups, samples, m_sc)
                # All symbols but 2, which has DM-RS; the first one is 0.
                self.assertEqual(symbols.shape, (13, m_sc))
                expected = values_of(groups, samples, m_sc, slot, 0, n_id, rnti, order)
                for one in symbols:
                    np.testing.assert_allclose(one[places], expected, atol=2e-5)
                got = channel.precoded_ptrs(slot)
                np.testing.assert_array_equal(got[0], np.delete(np.arange(14), 2))
                np.testing.assert_array_equal(got[1], places)
                np.testing.assert_allclose(got[2], expected, atol=1e-6)
                lost = 13 * groups * samples * order
                self.assertEqual(channel.coded_bits[0], plain.coded_bits[0] - lost)
                self.assertEqual(channel.tbs, plain.tbs)
                if order <= 2 and channel.tbs[0] < 0.8 * channel.coded_bits[0]:
                    data = np.delete(symbols, places, axis=1)
                    bits, ok = received(channel, 0, data.reshape(1, -1))
                    self.assertTrue(ok)
                    np.testing.assert_array_equal(bits, payload)

    def test_time_density_counts_anew_behind_dmrs(self):
        channel = channel_of(2, ptrs_time_density=2, dmrs_additional_position=1)
        tracked = [0, 4, 6, 8, 10, 13]  # DM-RS at 2 and 11
        np.testing.assert_array_equal(channel.precoded_ptrs(0)[0], tracked)
        payload = random_bits(channel.tbs[0])
        grid = cudaphy.nr_pusch_transmit(channel, payload, backend=BACKEND)
        symbols = symbols_of(channel, grid)
        places = places_of(2, 2, 288)
        data = []
        for number, one in zip(np.delete(np.arange(14), (2, 11)), symbols):
            data.append(np.delete(one, places) if number in tracked else one)
        bits, ok = received(channel, 0, np.concatenate(data)[None])
        self.assertTrue(ok)
        np.testing.assert_array_equal(bits, payload)

    def test_a_receiver_tracks_the_phase_of_each_symbol(self):
        chance = np.random.default_rng(4)
        for order, (groups, samples), density in (
            (1, (2, 2), 1),
            (4, (4, 4), 2),
            (6, (8, 4), 1),
        ):
            options = dict(
                ptrs_groups=groups, ptrs_samples=samples, ptrs_time_density=density
            )
            channel = channel_of(order, **options)
            payload = random_bits(channel.tbs[0])
            grid = cudaphy.nr_pusch_transmit(channel, payload, 5, backend=BACKEND)
            parts = chance.normal(size=(2, 2, *grid.shape[1:]))
            noise = (parts[0] + 1j * parts[1]) * np.sqrt(0.5e-3)
            phases = np.cumsum(chance.normal(0, 0.15, 14))
            turns = np.exp(1j * (phases - phases[2]))[:, None]
            path = np.array([1, 0.7j])[:, None, None]
            got = self.receive(channel, path * grid * turns + noise)
            with self.subTest(order=order):
                self.assertEqual(got.ok, (True,))
                np.testing.assert_array_equal(got.payload[0], payload)
                still = self.receive(channel, path * grid + noise)
                self.assertGreater(got.sinr_db[0], still.sinr_db[0] - 1)
        # Without PT-RS 64-QAM does not survive the same phases.
        plain = channel_of(6, ptrs=False)
        grid = cudaphy.nr_pusch_transmit(plain, random_bits(plain.tbs[0]), 5)
        self.assertEqual(self.receive(plain, path * grid * turns + noise).ok, (False,))

    def test_noisy_ptrs_does_not_turn_symbols_that_stand(self):
        chance = np.random.default_rng(8)
        lost = {}
        for ptrs in (True, False):
            channel = channel_of(2, 8, mcs=2, ptrs=ptrs, dmrs_additional_position=1)
            lost[ptrs] = 0
            for seed in range(60):
                payload = random_bits(channel.tbs[0], seed)
                grid = cudaphy.nr_pusch_transmit(channel, payload, 5)
                parts = chance.normal(size=(2, 1, *grid.shape[1:]))
                noise = (parts[0] + 1j * parts[1]) * np.sqrt(0.5 * 10**0.25)
                lost[ptrs] += not self.receive(channel, grid + noise).ok[0]
        self.assertLessEqual(lost[True], lost[False] + 6)

    def test_erased_symbols_tell_no_phase(self):
        channel = channel_of(2, mcs=3, ptrs_groups=4)
        payload = random_bits(channel.tbs[0])
        grid = cudaphy.nr_pusch_transmit(channel, payload, 5)
        grid[:, 5] = np.nan
        got = self.receive(channel, grid)
        self.assertEqual(got.ok, (True,))
        np.testing.assert_array_equal(got.payload[0], payload)

    @staticmethod
    def receive(channel, grid):
        return cudaphy.nr_pusch_receive(channel, grid, 5, backend=BACKEND)


if __name__ == "__main__":
    main()
