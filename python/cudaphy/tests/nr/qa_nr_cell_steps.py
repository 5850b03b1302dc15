#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of cell search are those of other makers (lib/kernels/nr_cell/testing/make_cell_vectors.py), and the
tables of CORESET 0 those of TS 38.213."""

import json
import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy import cudaphy_python as native
from qa_support import main, nr_vectors

FILE = Path(__file__).with_name("cell_vectors.npz")
with np.load(FILE) as file:
    ARRAYS = dict(file)
TEXT = json.loads(ARRAYS["text"].tobytes())
MAKER = TEXT["maker"]


def bits_of(name, count):
    return np.unpackbits(ARRAYS[name], axis=-1)[..., :count]


def with_crc(bits):
    return cudaphy.nr5g.attach_crc(bits, "24C")


def noisy(bits, snr_db, chance):
    """LLRs of BPSK at unit energy."""
    variance = 10 ** (-snr_db / 10)
    y = 1 - 2.0 * bits + np.sqrt(variance) * chance.standard_normal(bits.shape)
    return (2 * y / variance).astype(np.float32)


class qa_nr_cell_steps(unittest.TestCase):
    def test_polar_codes_are_those_of_sionna(self):
        self.assertGreaterEqual(len(TEXT["polar"]), 60)
        for number, (k, e) in enumerate(TEXT["polar"]):
            with self.subTest(maker=MAKER, k=k, e=e):
                bits = with_crc(nr_vectors.payload(k, 1000 + number))
                coded = native._nr_polar_encode(bits, e)
                np.testing.assert_array_equal(coded, bits_of(f"polar{number}", e))

    def test_polar_codes_are_decoded_with_as_many_paths_as_are_wanted(self):
        for number, (k, e) in enumerate(TEXT["polar"]):
            bits = with_crc(nr_vectors.payload(k, 1000 + number))
            llr = 10 - 20.0 * bits_of(f"polar{number}", e)
            for paths in (1, 2, 3, 8, 32):
                with self.subTest(k=k, e=e, paths=paths):
                    found = native._nr_polar_decode(llr, k + 24, paths, 0, 0)
                    np.testing.assert_array_equal(found, bits)

    def test_a_longer_list_decodes_more(self):
        chance = np.random.default_rng(5)
        failed = {}
        for paths in (1, 2, 8):
            chance = np.random.default_rng(5)
            failed[paths] = 0
            for _ in range(200):
                bits = with_crc(chance.integers(0, 2, 40))
                llr = noisy(native._nr_polar_encode(bits, 216), -1.3, chance)
                found = native._nr_polar_decode(llr, 64, paths, 0, 0)
                failed[paths] += found is None or (found != bits).any()
        # CA-SCL with 8 paths gains about 1 dB over SC here.
        self.assertLess(failed[8], 0.5 * failed[1])
        self.assertLessEqual(failed[8], failed[2])

    def test_noise_and_zeros_decode_to_nothing(self):
        chance = np.random.default_rng(6)
        for _ in range(300):
            llr = chance.standard_normal(432).astype(np.float32)
            self.assertIsNone(native._nr_polar_decode(llr, 63, 8, 24, 0xFFFF))
        for value in (0.0, np.nan):
            llr = np.full(432, value, np.float32)
            self.assertIsNone(native._nr_polar_decode(llr, 63, 8, 0, 0))

    def test_repeated_bits_are_those_of_the_code_again(self):
        bits = with_crc(nr_vectors.payload(39, 1))
        coded = native._nr_polar_encode(bits, 1728)
        np.testing.assert_array_equal(coded[512:1024], coded[:512])
        np.testing.assert_array_equal(coded[1024:], coded[:704])
        found = native._nr_polar_decode(1 - 2.0 * coded, 63, 8, 0, 0)
        np.testing.assert_array_equal(found, bits)

    def test_polar_codes_that_the_standard_has_not_are_refused(self):
        for k, e in ((24, 108), (165, 512), (64, 63), (64, 8193)):
            with self.subTest(k=k, e=e), self.assertRaisesRegex(ValueError, "38.212"):
                native._nr_polar_encode(np.zeros(k, np.uint8), e)

    def test_pss_and_sss_are_those_of_py3gpp(self):
        for i in range(3):
            got = native._nr_primary_sequence(i) < 0
            np.testing.assert_array_equal(got, bits_of("pss", 127)[i])
        for cell in range(1008):
            got = native._nr_secondary_sequence(cell) < 0
            np.testing.assert_array_equal(got, bits_of("sss", 127)[cell])
        for cell in (-1, 1008):
            with self.assertRaisesRegex(ValueError, "7.4.2.1"):
                native._nr_secondary_sequence(cell)

    def test_pbch_and_its_pilots_are_those_of_py3gpp(self):
        for number, (cell, sfn, half, most, block) in enumerate(TEXT["pbch"]):
            with self.subTest(maker=MAKER, cell=cell, sfn=sfn, most=most, block=block):
                index = block + 4 * half if most == 4 else block
                r = native._nr_pbch_dmrs(cell, index)
                got = np.stack([r.real < 0, r.imag < 0], -1).ravel()
                np.testing.assert_array_equal(got, bits_of(f"dmrs{number}", 288))
                llr = 1 - 2.0 * bits_of(f"pbch{number}", 864)
                found = native._nr_decode_pbch(llr, cell, index, False)
                self.assertEqual(found["system_frame_number"], sfn)
                self.assertEqual(found["half_frame"], half)
                self.assertEqual(found["ssb_index"], block)
                mib = nr_vectors.payload(24, cell)
                bits = "".join(map(str, mib[7:]))
                self.assertEqual(found["bits"][7:], bits)
                self.assertEqual(found["bits"][1:7], f"{sfn >> 4:06b}")
                self.assertEqual(found["subcarrier_offset"], int(bits[1:5], 2))
                self.assertEqual(found["coreset_zero"], int(bits[6:10], 2))
                wrong = native._nr_decode_pbch(llr, (cell + 1) % 1008, index, False)
                self.assertIsNone(wrong)

    def test_samples_of_py3gpp_are_found(self):
        for number, (khz, frequency) in enumerate(TEXT["samples"]):
            cell, sfn, half, most, block = TEXT["pbch"][number]
            with self.subTest(maker=MAKER, cell=cell, khz=khz, frequency=frequency):
                parts = ARRAYS[f"samples{number}"].astype(float)
                found = cudaphy.nr_cell_search(
                    parts @ [1, 1j],
                    256e3 * khz,
                    ssb_frequency=0,
                    center_frequency=frequency or None,
                    subcarrier_spacing=1000 * khz,
                    sib1=False,
                )
                self.assertEqual([c.cell_id for c in found], [cell])
                self.assertEqual(found[0].ssb_index, block)
                self.assertEqual(found[0].mib.system_frame_number, sfn)
                # Two symbols, of which the first has the longer prefix.
                longer = 16 * 256 * khz / 30720
                self.assertAlmostEqual(found[0].sample, 2 * 274 + longer, delta=0.2)
                self.assertLess(abs(found[0].frequency_offset), 0.01 * khz * 1000)

    def test_coreset_zero_is_that_of_the_tables(self):
        for (ssb, pdcch, index, k_ssb, wide), expected in {
            (15, 15, 14, 0, False): (1, 96, 3, 38),  # table 13-1
            (15, 30, 8, 0, False): (1, 48, 1, 18),  # 13-2
            (30, 15, 6, 0, False): (1, 96, 1, 28),  # 13-3
            (30, 30, 15, 0, False): (1, 48, 2, 16),  # 13-4
            (30, 15, 4, 0, True): (1, 96, 1, 56),  # 13-5
            (30, 30, 9, 0, True): (1, 48, 3, 28),  # 13-6
            (120, 60, 8, 0, False): (2, 48, 1, -41),  # 13-7
            (120, 60, 10, 3, False): (2, 96, 1, -42),
            (120, 120, 4, 0, False): (3, 24, 2, -20),  # 13-8
            (120, 120, 6, 1, False): (3, 48, 2, -21),
            (240, 60, 3, 0, False): (1, 96, 2, 16),  # 13-9
            (240, 120, 7, 0, False): (2, 48, 1, 49),  # 13-10
        }.items():
            got = native._nr_coreset_zero(1000 * ssb, 1000 * pdcch, index, k_ssb, wide)
            names = ("pattern", "blocks", "symbols", "offset")
            self.assertEqual(tuple(got[n] for n in names), expected)
        for ssb, pdcch, index in ((15, 15, 15), (30, 15, 9), (240, 60, 4), (30, 60, 0)):
            self.assertIsNone(
                native._nr_coreset_zero(1000 * ssb, 1000 * pdcch, index, 0, False)
            )

    def test_monitoring_occasions_are_those_of_the_tables(self):
        def at(pattern, index, search_space, scs, symbols=2, sfn=5, symbol=0, ssb=None):
            set_ = {"pattern": pattern, "blocks": 48, "symbols": symbols, "offset": 0}
            return native._nr_monitoring_occasions(
                set_, index, sfn, symbol, ssb or scs, search_space, scs
            )

        # Table 13-11, 15 and 30 kHz.
        self.assertEqual(at(1, 0, 0, 15000), [(0, 0, 0), (0, 1, 0)])
        self.assertEqual(at(1, 3, 4, 30000), [(0, 13, 0), (0, 14, 0)])
        self.assertEqual(at(1, 3, 1, 30000, 3), [(0, 1, 3), (0, 2, 3)])
        self.assertEqual(at(1, 2, 8, 30000), [(0, 4, 0), (0, 5, 0)])
        self.assertEqual(at(1, 7, 6, 15000), [(1, 4, 0), (1, 5, 0)])
        self.assertEqual(at(1, 2, 6, 15000), [(0, 9, 0), (1, 0, 0)])
        self.assertEqual(at(1, 0, 15, 15000), [(0, 5, 2), (0, 6, 2)])
        # Table 13-12.
        self.assertEqual(at(1, 1, 2, 120000), [(0, 21, 0), (0, 22, 0)])
        self.assertEqual(at(1, 3, 1, 120000), [(0, 1, 7), (0, 2, 7)])
        self.assertEqual(at(1, 63, 10, 60000), [(1, 21, 7), (1, 22, 7)])
        self.assertEqual(at(1, 0, 14, 120000), [])
        # Tables 13-13 to 13-15.
        self.assertEqual(at(2, 6, 0, 60000, 1, symbol=44, ssb=120000), [(1, 1, 6)])
        self.assertEqual(at(2, 5, 0, 120000, 1, symbol=36, ssb=240000), [(1, 0, 13)])
        self.assertEqual(at(3, 9, 0, 120000, 2, symbol=64), [(1, 4, 8)])
        self.assertEqual(at(3, 0, 1, 120000), [])

    def test_the_raster_is_that_of_the_standard(self):
        low = cudaphy.nr_synchronization_raster(2.1e9, 2.1012e9)
        np.testing.assert_allclose(low, [2100.05e6, 2100.15e6, 2100.25e6])
        high = cudaphy.nr_synchronization_raster(3.5e9, 3.503e9)
        np.testing.assert_allclose(high, [3501.12e6, 3502.56e6])
        mm_wave = cudaphy.nr_synchronization_raster(24e9, 24.27e9)
        np.testing.assert_allclose(mm_wave[-2:], [24250.08e6, 24267.36e6])

    def test_identities_of_sib1_are_those_of_pycrate(self):
        for entry in TEXT["sib1"]:
            with self.subTest(maker=MAKER, **entry):
                data = bytes.fromhex(entry["bytes"])
                found = cudaphy.nr_sib1_identities(data + bytes(5))
                (owner,) = found["owners"]
                self.assertEqual(owner["plmns"], entry["plmns"])
                self.assertEqual(owner["tracking_area_code"], entry["tac"])
                self.assertEqual(owner["cell_identity"], entry["cell_identity"])
        self.assertEqual(
            cudaphy.nr_sib1_identities(bytes.fromhex(TEXT["sib1"][0]["bytes"]))[
                "q_rx_lev_min"
            ],
            -120,
        )
        for bad in (b"", b"\x00" * 20, data[:9]):
            with self.assertRaisesRegex(ValueError, "SIB1"):
                cudaphy.nr_sib1_identities(bad)


if __name__ == "__main__":
    main()
