#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers of DVB-S2's and S2X's frames, beside GNU Radio's framer."""

import unittest

import numpy as np
from gnuradio import blocks, cudaphy, dtv, gr
from gnuradio.cudaphy import cudaphy_python as native
from qa_support import main

MODULATIONS = {
    (): {"QPSK": "QPSK", "8PSK": "8PSK", "128APSK": "128APSK", "256APSK": "256APSK"},
    (2, 4, 2): {"8APSK": "8APSK"},
    (4, 12): {"16APSK": "16APSK"},
    (8, 8): {"16APSK": "8_8APSK"},
    (4, 12, 16): {"32APSK": "32APSK"},
    (4, 8, 4, 16): {"32APSK": "4_8_4_16APSK"},
    (16, 16, 16, 16): {"64APSK": "64APSK"},
    (4, 12, 20, 28): {"64APSK": "4_12_20_28APSK"},
    (8, 16, 20, 20): {"64APSK": "8_16_20_20APSK"},
}


def modulation_of(mode):
    """In gr-dtv's words, which tell S2X's 32APSK with S2's rings from S2's by another name."""
    name = MODULATIONS[tuple(mode.rings)][mode.modulation]
    return "MOD_4_12_16APSK" if name == "32APSK" and mode.pls >= 128 else "MOD_" + name


def gnuradio_mode(mode):
    """The first arguments of gr-dtv's blocks."""
    return (
        dtv.FECFRAME_NORMAL if mode.frame == "normal" else dtv.FECFRAME_SHORT,
        getattr(dtv, "C" + mode.rate.replace("/", "_")),
        getattr(dtv, modulation_of(mode)),
    )


def interleaved_by_gnuradio(mode, bits):
    block = dtv.dvbs2_interleaver_bb(*gnuradio_mode(mode))
    graph, sink = gr.top_block(), blocks.vector_sink_b()
    graph.connect(blocks.vector_source_b(bits.tolist()), block, sink)
    graph.run()
    return np.array(sink.data(), np.uint8)


def points_of_gnuradio(mode):
    block = dtv.dvbs2_modulator_bc(*gnuradio_mode(mode), dtv.INTERPOLATION_OFF)
    graph, sink = gr.top_block(), blocks.vector_sink_c()
    labels = list(range(1 << mode.bits_a_symbol))
    graph.connect(blocks.vector_source_b(labels), block, sink)
    graph.run()
    return np.array(sink.data(), np.complex64)


def framed_by_gnuradio(mode, symbols):
    framer = dtv.dvbs2_physical_cc(
        *gnuradio_mode(mode),
        dtv.PILOTS_ON if mode.pilots else dtv.PILOTS_OFF,
        0,
    )
    graph, sink = gr.top_block(), blocks.vector_sink_c()
    ones = blocks.vector_source_c([1] * 100, True)
    graph.connect(ones, framer, blocks.head(gr.sizeof_gr_complex, 2 * symbols), sink)
    graph.run()
    return np.array(sink.data(), np.complex64)[::2]  # zeros stand between


class qa_dvb_mode(unittest.TestCase):
    def modes(self):
        return [mode for mode in map(cudaphy.dvb_mode.of, range(256)) if mode]

    def test_there_are_all_modes_of_both_standards(self):
        modes = [mode for mode in self.modes() if not mode.dummy]
        s2 = {(m.modulation, m.rate, m.frame) for m in modes if m.pls < 128}
        self.assertEqual(len(s2), 28 + 24)
        self.assertEqual(sum(m.pls >= 128 for m in modes), 2 * 55)
        for reserved in (-1, 116, 47, 128, 131, 176, 250, 255, 262, 269, 1000):
            self.assertIsNone(cudaphy.dvb_mode.of(reserved))
        dummy = cudaphy.dvb_mode.of(0)
        self.assertTrue(dummy.dummy)
        self.assertEqual(dummy.length, 90 + 36 * 90)

    def test_headers_and_lengths_are_those_that_gnuradio_sends(self):
        for mode in self.modes():
            if mode.dummy:
                continue
            with self.subTest(mode=repr(mode), pls=mode.pls):
                sent = framed_by_gnuradio(mode, mode.length + 90)
                header = native._pl_header(mode.pls)
                np.testing.assert_allclose(sent[:90], header, atol=2e-3)
                np.testing.assert_allclose(sent[mode.length :], header, atol=2e-3)

    def test_lengths_are_those_of_the_standard(self):
        # EN 302 307-1, table 11: slots of normal and short frames.
        slots = {"QPSK": (360, 90), "8PSK": (240, 60), "16APSK": (180, 45)}
        slots.update({"32APSK": (144, 36)})
        for mode in self.modes():
            if mode.pls < 128 and not mode.dummy:
                expected = slots[mode.modulation][mode.frame == "short"]
                pilots = (expected - 1) // 16 * 36 if mode.pilots else 0
                self.assertEqual(mode.length, 90 * (expected + 1) + pilots)

    def test_each_frame_of_a_bch_code_fills_the_information_bits_of_its_ldpc_code(self):
        normal = ("1/2", "3/5", "2/3", "3/4", "4/5", "5/6")
        codes = {("dvbt2", "normal", rate) for rate in normal}
        codes |= {("dvbt2", "short", rate) for rate in ("1/4", "1/3", "2/5", *normal)}
        for mode in filter(None, map(cudaphy.dvb_mode.of, range(272))):
            if not mode.dummy:
                family = "dvbs2x" if mode.extended else "dvbs2"
                codes.add((family, mode.frame, mode.rate))
        self.assertGreater(len(codes), 70)
        for family, frame, rate in codes:
            with self.subTest(family=family, frame=frame, rate=rate):
                outer = getattr(cudaphy.bch_code, family)(frame, rate)
                inner = cudaphy.ldpc_code(family, frame=frame, rate=rate)
                self.assertEqual(outer.n, inner.k)

    def test_bits_are_read_from_columns_as_gnuradio_interleaves_them(self):
        rng = np.random.default_rng(3)
        for mode in self.modes():
            if mode.dummy or mode.pilots:
                continue
            with self.subTest(mode=repr(mode)):
                rows, bits = mode.symbols, mode.bits_a_symbol
                sent = rng.integers(0, 2, rows * bits, np.uint8)
                labels = interleaved_by_gnuradio(mode, sent)[:rows]
                if mode.bit_interleaver:
                    columns = sent.reshape(bits, rows)
                    read = columns[[int(c) for c in mode.bit_interleaver]].T
                else:
                    read = sent.reshape(rows, bits)
                weights = 1 << np.arange(bits)[::-1]
                np.testing.assert_array_equal(labels, read @ weights)

    def test_constellations_are_those_that_gnuradio_transmits(self):
        for mode in self.modes():
            if mode.dummy or mode.pilots:
                continue
            with self.subTest(mode=repr(mode)):
                points = cudaphy.constellation(mode.constellation).points
                sent = points_of_gnuradio(mode)
                # The standard's four decimals of points on no rings make the mean
                # energy 1 to 6e-5 only.
                energy = np.mean(np.abs(sent) ** 2)
                self.assertAlmostEqual(energy, 1, delta=6e-5)
                sent = sent / np.sqrt(energy)
                np.testing.assert_allclose(points, sent, atol=3e-7)

    def test_names_say_what_a_receiver_has_to_know(self):
        of = cudaphy.dvb_mode.of

        def names(pls):
            mode = of(pls)
            return mode.constellation, mode.bit_interleaver, mode.code

        self.assertEqual(names(4 << 2), ("dvbs2_qpsk", "", "dvbs2_normal_1/2"))
        self.assertEqual(names(12 << 2 | 2), ("dvbs2_8psk", "210", "dvbs2_short_3/5"))
        self.assertEqual(names(18 << 2), ("dvbs2_16apsk_2/3", "0123", "dvbs2_normal_2/3"))
        self.assertEqual(names(216), ("dvbs2_qpsk", "", "dvbs2x_short_11/45"))
        self.assertEqual(
            names(186), ("dvbs2x_64apsk_132/180", "520143", "dvbs2x_normal_132/180")
        )
        self.assertEqual(
            [of(pls).constellation for pls in (156, 242, 174, 246)],
            ["dvbs2x_16apsk_3/5"] * 2 + ["dvbs2x_32apsk_2/3", "dvbs2x_short_32apsk_2/3"],
        )
        self.assertEqual(of(0).code, "")

    def test_every_code_is_decided_in_noise(self):
        rng = np.random.default_rng(1)
        for pls in range(256):
            symbols = native._pl_header(pls)[26:]
            decided, correlation, second = native._decide_pls(symbols)
            self.assertEqual(decided, pls)
            self.assertAlmostEqual(correlation, 1, places=5)
            self.assertLessEqual(second, 0.51)
        # At 0 dB a wrong code of distance 32 is decided in 1 of 1e8: 64 symbols.
        noise = rng.standard_normal((4, 256, 64, 2)) @ [1, 1j] / np.sqrt(2)
        for block in noise:
            for pls, one in enumerate(block):
                symbols = (native._pl_header(pls)[26:] + one).astype(np.complex64)
                self.assertEqual(native._decide_pls(symbols)[0], pls)


if __name__ == "__main__":
    main()
