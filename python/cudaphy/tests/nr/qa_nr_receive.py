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


if __name__ == "__main__":
    main()
