#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers of PDSCH and MCS tables are those of Sionna (lib/kernels/nr/testing/make_layer_vectors.py)."""

import json
import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main, nr_vectors

FILE = Path(__file__).with_name("layer_vectors.npz")
MAKER, ENTRIES = nr_vectors.load(FILE)


class qa_nr_layers(unittest.TestCase):
    def test_symbols_of_one_to_eight_layers_are_those_of_sionna(self):
        self.assertEqual(
            {entry["channel"]["layers"] for entry in ENTRIES}, set(range(1, 9))
        )
        for number, entry in enumerate(ENTRIES):
            with self.subTest(number, maker=MAKER, **entry["channel"]):
                channel = cudaphy.nr_shared_channel("pdsch", **entry["channel"])
                self.assertEqual(channel.tbs, tuple(entry["tbs"]))
                payloads = [
                    nr_vectors.payload(size, 100 * codeword + number)
                    for codeword, size in enumerate(entry["tbs"])
                ]
                grid = cudaphy.nr_pdsch_transmit(
                    channel,
                    payloads if len(payloads) > 1 else payloads[0],
                    backend=BACKEND,
                )
                symbols = grid.reshape(len(grid), -1)[:, channel.data_elements]
                np.testing.assert_allclose(
                    nr_vectors.sums(symbols[None]), entry["sums"], atol=2e-3
                )

    def test_mcs_tables_are_those_of_sionna(self):
        with np.load(FILE) as file:
            rows = json.loads(file["text"].tobytes())["mcs"]
        self.assertEqual(len(rows), 29 + 28 + 29 + 27 + 4 * 28)
        for name, bpsk, index, order, rate in rows:
            transform = name.startswith("transform")
            with self.subTest(maker=MAKER, table=name, bpsk=bpsk, index=index):
                channel = cudaphy.nr_shared_channel(
                    "pusch" if transform else "pdsch",
                    grid_size=4,
                    transform_precoding=transform,
                    mcs_table=name,
                    mcs=index,
                    pi2_bpsk=bpsk,
                )
                self.assertEqual(channel.modulation_order, (order,))
                self.assertAlmostEqual(channel.code_rate[0], rate, places=6)


if __name__ == "__main__":
    main()
