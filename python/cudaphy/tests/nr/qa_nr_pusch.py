#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""PUSCH's transmitter is that of Sionna (lib/kernels/nr/testing/make_pusch_vectors.py)."""

import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main, nr_vectors

MAKER, ENTRIES = nr_vectors.load(Path(__file__).with_name("pusch_vectors.npz"))


class qa_nr_pusch(unittest.TestCase):
    def test_grids_are_those_of_sionna(self):
        self.assertGreaterEqual(len(ENTRIES), 60)
        for number, entry in enumerate(ENTRIES):
            with self.subTest(number, maker=MAKER, **entry["channel"]):
                channel = cudaphy.nr_shared_channel("pusch", **entry["channel"])
                self.assertEqual(channel.tbs, (entry["tbs"],))
                bits = nr_vectors.payload(entry["tbs"], number)
                grid = cudaphy.nr_pusch_transmit(
                    channel, bits, entry["slot"], backend=BACKEND
                )
                first = entry["channel"]["first_symbol"]
                last = first + entry["channel"]["symbols"]
                used = grid[:, first:last]
                self.assertEqual(used.shape[:2], entry["sums"].shape[:2])
                self.assertFalse(grid[:, :first].any() or grid[:, last:].any())
                # float32 differs by some 1e-7 of each of up to 948 subcarriers.
                np.testing.assert_allclose(
                    nr_vectors.sums(used), entry["sums"], atol=3e-4
                )


if __name__ == "__main__":
    main()
