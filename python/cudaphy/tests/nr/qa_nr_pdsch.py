#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""PDSCH's transmitter and OFDM are those of py3gpp (lib/kernels/nr/testing/make_pdsch_vectors.py)."""

import json
import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main, nr_vectors

FILE = Path(__file__).with_name("pdsch_vectors.npz")
MAKER, ENTRIES = nr_vectors.load(FILE)


class qa_nr_pdsch(unittest.TestCase):
    def test_grids_are_those_of_py3gpp(self):
        self.assertGreaterEqual(len(ENTRIES), 40)
        for number, entry in enumerate(ENTRIES):
            with self.subTest(number, maker=MAKER, **entry):
                channel = cudaphy.nr_shared_channel("pdsch", **entry["channel"])
                self.assertEqual(channel.tbs, (entry["tbs"],))
                grid = cudaphy.nr_pdsch_transmit(
                    channel,
                    nr_vectors.payload(entry["tbs"], number),
                    entry["slot"],
                    entry["redundancy_version"],
                    backend=BACKEND,
                )
                np.testing.assert_allclose(
                    nr_vectors.sums(grid), entry["sums"], atol=3e-4
                )

    def test_samples_are_those_of_py3gpp(self):
        with np.load(FILE) as file:
            cases = json.loads(file["text"].tobytes())["ofdm"]
            expected = [file[f"ofdm{i}"] for i in range(len(cases))]
        for case, sums in zip(cases, expected):
            numerology, subcarriers, size, frequency, count = case
            with self.subTest(maker=MAKER, case=case):
                bits = nr_vectors.payload(2 * 14 * subcarriers, 0)
                grid = (1 - 2.0 * bits.reshape(14, subcarriers, 2)) @ [1, 1j]
                samples = cudaphy.nr_ofdm_modulate(
                    grid, numerology, fft_size=size, carrier_frequency=frequency
                )
                self.assertEqual(samples.shape, (count,))
                got = nr_vectors.sums(samples[None, None])
                np.testing.assert_allclose(got, sums, atol=3e-3)


if __name__ == "__main__":
    main()
