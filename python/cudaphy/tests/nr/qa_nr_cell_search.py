#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells are found in samples, and MIB and SIB1 are read (qa_support/nr_cell_signal.py makes the signals)."""

import dataclasses
import unittest

import numpy as np
from gnuradio import cudaphy
from qa_support import gaussian, main
from qa_support import nr_cell_signal as signal

SIB1 = bytes(range(60, 100))


def received(cell, rate, snr_db=15, seconds=0.025, seed=1, **how):
    samples = signal.broadcast(cell, int(rate * seconds), rate, **how)
    return signal.with_noise(samples, snr_db, cell.scs, rate, seed)


class qa_nr_cell_search(unittest.TestCase):
    def check(self, cell, found, rate, frame=0, frame_start=0.0, offset=0.0, **_):
        """One cell, with all that was sent."""
        self.assertEqual(len(found), 1, found)
        (got,) = found
        self.assertEqual(got.cell_id, cell.cell)
        self.assertEqual(got.subcarrier_spacing, cell.scs)
        self.assertLess(abs(got.frequency_offset - offset), 0.02 * cell.scs)
        self.assertIn(got.mib.system_frame_number, {(frame + i) % 1024 for i in range(4)})
        self.assertEqual(got.mib.subcarrier_offset, cell.k_ssb)
        self.assertEqual(got.mib.common_spacing, cell.common_scs)
        self.assertEqual(got.mib.coreset_zero, cell.coreset_zero)
        self.assertEqual(got.mib.search_space_zero, cell.search_space_zero)
        self.assertEqual(got.mib.dmrs_type_a_position, cell.type_a_position)
        self.assertEqual(got.mib.half_frame, cell.half_frame)
        self.assertEqual(got.mib.cell_barred, cell.barred)
        self.assertEqual(got.ssb_index, cell.blocks[0])
        self.assertEqual(got.ssb_case, cell.case)
        away = (got.mib.system_frame_number - frame) % 1024
        expected = frame_start + away * 10e-3 * rate
        tolerance = 0.5 * rate / (256 * cell.scs)  # half a sample of the block's band
        self.assertAlmostEqual(got.frame_sample, expected, delta=tolerance)
        self.assertEqual(got.sib1_reason, "")
        self.assertEqual(got.sib1[: len(cell.sib1)], cell.sib1)
        self.assertFalse(any(got.sib1[len(cell.sib1) :]))

    def found(self, cell, rate, more=None, **how):
        """Makes a cell's signal, finds it again and checks everything."""
        samples = received(cell, rate, **how)
        given = {"ssb_frequency": how.get("nominal", 0.0)}
        if how.get("reference"):
            given["center_frequency"] = how["reference"]
        found = cudaphy.nr_cell_search(samples, rate, **given, **(more or {}))
        self.check(cell, found, rate, **how)
        return found[0]

    def test_cells_of_fr1_at_any_time_frequency_and_rate(self):
        chance = np.random.default_rng(38)
        base = signal.Cell(sib1=SIB1)
        for number, (rate, change) in enumerate(
            (
                (15.36e6, {}),
                (30.72e6, {"case": "B", "blocks": (3,), "coreset_zero": 1}),
                (20e6, {"blocks": (3,), "k_ssb": 17, "type_a_position": 3}),
                (23.04e6, {"blocks": (7,), "half_frame": 1, "interleaved": True}),
                (10e6, {"blocks": (1,), "level": 4, "candidate": 1}),
                (18.123457e6, {"coreset_zero": 5, "search_space_zero": 5, "level": 8}),
                (30.72e6, {"coreset_zero": 13, "level": 16, "prbs": (4, 40)}),
            )
        ):
            cell = dataclasses.replace(base, cell=int(chance.integers(1008)), **change)
            how = {
                "frame": int(chance.integers(1024)),
                "frame_start": float(chance.uniform(0, 3e-3) * rate),
                "offset": float(chance.uniform(-1, 1) * cell.scs),
                "reference": 3.5e9 + float(chance.integers(1000)) * 15e3,
                # CORESET 0 of one row reaches far below the block.
                "nominal": 3e6 if cell.coreset_zero == 13 else 0.0,
                "seconds": 0.035,
            }
            with self.subTest(cell=cell, rate=rate, **how):
                self.found(cell, rate, **how)

    def test_cells_of_15_khz_with_and_without_phase_compensation(self):
        cell = signal.Cell(
            cell=500, scs=15000, case="A", most_blocks=4, blocks=(3,), common=0
        )
        cell = dataclasses.replace(cell, half_frame=1, sib1=SIB1, k_ssb=5, barred=True)
        for rate, reference in ((7.68e6, 0.0), (9.6e6, 2.1e9 + 12.5e3)):
            for k_ssb in (0, 11):
                with self.subTest(rate=rate, reference=reference, k_ssb=k_ssb):
                    self.found(
                        dataclasses.replace(cell, k_ssb=k_ssb),
                        rate,
                        reference=reference,
                        offset=-14000.0,
                        frame=17,
                        seconds=0.03,
                    )

    def test_a_coreset_of_another_spacing(self):
        base = signal.Cell(cell=77, sib1=SIB1, level=8)
        cases = (
            {"scs": 15000, "case": "A", "common": 1, "coreset_zero": 0, "k_ssb": 3},
            {"common": 0, "coreset_zero": 2, "k_ssb": 9},
        )
        for change in cases:
            cell = dataclasses.replace(base, **change)
            with self.subTest(**change):
                self.found(cell, 15.36e6, reference=2.5e9, offset=4000.0, seconds=0.03)

    def test_a_cell_of_fr2_with_every_multiplexing_pattern(self):
        base = signal.Cell(
            cell=901, scs=120000, case="D", most_blocks=64, blocks=(29,), k_ssb=0
        )
        base = dataclasses.replace(
            base, sib1=SIB1[:20], search_space_zero=0, prbs=(0, 24)
        )
        rate = 122.88e6
        for change in (
            {},
            {"coreset_zero": 5, "time_allocation": 4},  # pattern 3
            {"common": 0, "coreset_zero": 9, "time_allocation": 1, "prbs": (3, 40)},
        ):
            cell = dataclasses.replace(base, **change)
            how = {"reference": 28e9 + 60e3, "offset": -50000.0, "seconds": 0.021}
            # CORESET 0 of patterns 2 and 3 lies beside the block.
            how["nominal"] = 20e6 if cell.coreset_zero else 0.0
            with self.subTest(**change):
                self.found(cell, rate, **how)

    def test_every_time_allocation_of_the_generator(self):
        base = signal.Cell(cell=321, sib1=SIB1[:10], mcs=3)
        for row in sorted(r for pattern, r in signal.TIMES if pattern == 1):
            for position in (2, 3):
                if position == 3 and row in (5, 13):
                    continue  # rows that the generator has for position 2
                cell = dataclasses.replace(
                    base, time_allocation=row, type_a_position=position
                )
                with self.subTest(row=row, position=position):
                    self.found(cell, 15.36e6)

    def test_redundancy_version_2_alone_is_decoded(self):
        cell = signal.Cell(sib1=SIB1[:20], version=2, mcs=2)
        got = self.found(cell, 15.36e6)
        self.assertEqual(got.dci["redundancy_version"], 2)

    def test_the_raster_is_searched_with_a_known_centre_frequency(self):
        rate, centre = 30.72e6, 3600e6
        raster = cudaphy.nr_synchronization_raster(centre - 10e6, centre + 10e6)
        nominal = float(raster[3] - centre)
        cell = signal.Cell(sib1=SIB1)
        samples = received(cell, rate, nominal=nominal, reference=centre, offset=9e3)
        found = cudaphy.nr_cell_search(samples, rate, center_frequency=centre)
        self.check(cell, found, rate, offset=9e3)
        self.assertAlmostEqual(found[0].ssb_frequency, nominal, delta=1)

    def test_several_cells_and_blocks_at_once(self):
        rate = 15.36e6
        cells = [
            signal.Cell(cell=30, blocks=(0, 1, 2), sib1=SIB1),
            signal.Cell(cell=31, blocks=(4,), sib1=SIB1[::-1], search_space_zero=6),
        ]
        count = int(0.045 * rate)
        samples = sum(
            amplitude
            * signal.broadcast(cell, count, rate, frame_start=start, offset=offset)
            for cell, amplitude, start, offset in zip(
                cells, (1, 0.7), (0.0, 5000.5), (200.0, -3000.0)
            )
        )
        found = cudaphy.nr_cell_search(signal.with_noise(samples, 20, 30000, rate), rate)
        names = [(c.cell_id, c.ssb_index) for c in found]
        self.assertEqual(sorted(names), [(30, 0), (30, 1), (30, 2), (31, 4)])
        self.assertTrue(all(c.mib for c in found))
        got = {c.cell_id: c.sib1[: len(SIB1)] for c in found if c.sib1}
        self.assertEqual(got, {30: SIB1, 31: SIB1[::-1]})

    def test_echoes_within_the_prefix(self):
        rate = 15.36e6
        cell = signal.Cell(sib1=SIB1)
        sent = signal.broadcast(cell, int(0.025 * rate), rate)
        taps = np.zeros(20, complex)
        taps[[0, 5, 17]] = 0.8, 0.5j, -0.3  # 1.1 us, the prefix has 2.3
        heard = np.convolve(sent, taps)[: sent.size]
        found = cudaphy.nr_cell_search(signal.with_noise(heard, 15, 30000, rate), rate)
        self.assertEqual([c.cell_id for c in found], [cell.cell])
        self.assertEqual(found[0].sib1[: len(SIB1)], SIB1)

    def test_snr_is_that_of_a_resource_element(self):
        rate = 7.68e6
        cell = signal.Cell()
        for snr_db in (0, 10, 25):
            samples = received(cell, rate, snr_db, 0.006, with_sib1=False)
            (got,) = cudaphy.nr_cell_search(samples, rate, sib1=False)
            self.assertAlmostEqual(got.snr_db, snr_db, delta=1.5)
            self.assertEqual(got.sib1_reason, "not asked for")

    def test_noise_has_no_cells(self):
        for seed in range(5):
            samples = gaussian((200000,), seed)
            self.assertEqual(cudaphy.nr_cell_search(samples, 7.68e6), [])

    def test_why_there_is_no_sib1(self):
        rate = 15.36e6
        for change, how, why in (
            ({"k_ssb": 30}, {}, "k_SSB is 30"),
            ({}, {"seconds": 0.004}, "25 ms"),
            ({"coreset_zero": 15}, {}, "the sample rate does not hold"),
            ({}, {"with_sib1": False}, "no DCI of SIB1"),
            ({"indicator": 1}, {}, "no DCI of SIB1"),
            (
                {"scs": 15000, "case": "A", "common": 0, "coreset_zero": 15},
                {},
                "reserved",
            ),
        ):
            cell = dataclasses.replace(signal.Cell(sib1=SIB1), **change)
            with self.subTest(why=why):
                samples = received(cell, rate, **how)
                (got,) = cudaphy.nr_cell_search(samples, rate)
                self.assertEqual(got.sib1, b"")
                self.assertIn(why, got.sib1_reason)

    def test_a_block_that_the_recording_cuts_is_not_a_cell(self):
        rate = 7.68e6
        samples = received(signal.Cell(), rate, with_sib1=False, frame_start=100.0)
        start = int(100 + signal.symbol_start(2, 30000)[0] * rate)
        for cut in (samples[: start + 1000], samples[start + 100 :]):
            self.assertEqual(cudaphy.nr_cell_search(cut[:100000], rate), [])
        (got,) = cudaphy.nr_cell_search(samples[start : start + 1096], rate)
        self.assertEqual(got.cell_id, 123)
        self.assertAlmostEqual(got.sample, 0, delta=0.6)

    def test_zeros_a_carrier_and_clipping(self):
        rate = 7.68e6
        samples = received(signal.Cell(), rate, 20, 0.01, with_sib1=False)
        self.assertEqual(cudaphy.nr_cell_search(np.zeros(50000), rate), [])
        self.assertEqual(cudaphy.nr_cell_search(np.full(50000, 1 + 1j), rate), [])
        strong = samples + 20.0  # a mixer's DC is one subcarrier
        for kind, changed in (
            ("weak", samples * 1e-12),
            ("strong", samples * 1e12),
            ("carrier", strong),
            ("clipped", np.sign(samples.real) + 1j * np.sign(samples.imag)),
            ("silence around", np.concatenate([np.zeros(9000), samples, np.zeros(9000)])),
        ):
            with self.subTest(kind):
                found = cudaphy.nr_cell_search(changed, rate)
                self.assertEqual([c.cell_id for c in found], [123])
                self.assertIsNotNone(found[0].mib)

    def test_a_wrong_rate_finds_nothing(self):
        samples = received(signal.Cell(), 7.68e6, 20, 0.01, with_sib1=False)
        self.assertEqual(cudaphy.nr_cell_search(samples, 10e6), [])

    def test_wrong_arguments(self):
        samples = np.zeros(10000, np.complex64)
        search = cudaphy.nr_cell_search
        for value in (np.nan, np.inf, -np.inf * 1j):
            broken = samples.copy()
            broken[77] = value
            with self.assertRaisesRegex(ValueError, "sample 77 is not finite"):
                search(broken, 7.68e6)
        for given, rate, text in (
            ({}, 0, "sample_rate"),
            ({}, np.nan, "sample_rate"),
            ({}, 2e6, "7.4.3.1"),
            ({"subcarrier_spacing": 60000}, 7.68e6, "15, 30, 120 or 240"),
            ({"subcarrier_spacing": []}, 7.68e6, "15, 30, 120 or 240"),
            ({"ssb_frequency": 3e6}, 7.68e6, "7.4.3.1"),
            ({"ssb_frequency": np.nan}, 7.68e6, "finite"),
            ({"center_frequency": -1}, 7.68e6, "center_frequency"),
            ({"center_frequency": 3000.7e6}, 3.84e6, "5.4.3.1"),
            ({"threshold": 0}, 7.68e6, "threshold"),
            ({"max_candidates": 0}, 7.68e6, "most_candidates"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                search(samples, rate, **given)
        for short in (samples[:0], samples[:500]):
            with self.assertRaisesRegex(ValueError, "too few"):
                search(short, 7.68e6)
        with self.assertRaisesRegex(ValueError, "shape"):
            search(samples.reshape(100, 100), 7.68e6)
        for wrong in ("text", None, [object()]):
            with self.assertRaises(TypeError):
                search(wrong, 7.68e6)
        with self.assertRaises(TypeError):
            search(samples, "fast")


if __name__ == "__main__":
    main()
