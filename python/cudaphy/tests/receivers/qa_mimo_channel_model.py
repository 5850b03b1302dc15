#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The channel model fades, delays and adds noise as its parameters say."""

import math
import os
import sys
import unittest

import numpy as np
from gnuradio import blocks, gr
from gnuradio.cudaphy.blocks.mimo_channel_model import mimo_channel_model

TONES, SYMBOLS = 12, 5


def random_symbols(slots, antennas, seed=3):
    parts = np.random.default_rng(seed).standard_normal(
        (slots * SYMBOLS * TONES, antennas, 2)
    )
    return (parts @ [1, 1j] / math.sqrt(2)).astype(np.complex64)


def through(model, sent, receive_antennas, chunk=0):
    top = gr.top_block()
    source = blocks.vector_source_c(sent.ravel(), False, sent.shape[1])
    sink = blocks.vector_sink_c(receive_antennas)
    if chunk:
        model.set_max_noutput_items(chunk)
    top.connect(source, model, sink)
    top.run()
    return np.array(sink.data(), np.complex64).reshape(-1, receive_antennas)


def a_model(**changes):
    parameters = {
        "transmit_antennas": 2,
        "receive_antennas": 3,
        "tones": TONES,
        "symbols": SYMBOLS,
        "snr_db": math.inf,
        "taps": 4,
        "delay_spread": 2.0,
        "seed": 7,
    }
    return mimo_channel_model(**{**parameters, **changes})


def measured_channels(slots, **changes):
    """H of every slot and tone, from unit vectors sent in its first two symbols."""
    sent = np.zeros((slots, SYMBOLS, TONES, 2), np.complex64)
    sent[:, 0, :, 0] = sent[:, 1, :, 1] = 1
    got = through(a_model(**changes), sent.reshape(-1, 2), 3)
    return got.reshape(slots, SYMBOLS, TONES, 3)[:, :2].transpose(0, 2, 3, 1)


class qa_mimo_channel_model(unittest.TestCase):
    def test_a_given_impulse_response_is_every_slots_channel(self):
        rng = np.random.default_rng(9)
        for taps in (1, 5, TONES, 3 * TONES + 1):  # more than tones: taps wrap round
            h = rng.standard_normal((3, 2, taps)) + 1j * rng.standard_normal((3, 2, taps))
            cycles = np.outer(np.arange(TONES), np.arange(taps)) / TONES
            expected = np.einsum("kn,rtn->krt", np.exp(-2j * np.pi * cycles), h)
            got = measured_channels(3, impulse_response=h)
            for slot in got:
                np.testing.assert_allclose(slot, expected, atol=1e-5 * taps)
        for shape in ((2, 3, 4), (3, 2), (3, 2, 0)):
            with self.assertRaisesRegex(ValueError, "the impulse response"):
                a_model(impulse_response=np.ones(shape))
        with self.assertRaisesRegex(ValueError, "not finite"):
            a_model(impulse_response=np.full((3, 2, 4), np.nan))

    def test_a_channel_is_constant_in_its_slot_and_new_in_the_next(self):
        sent = np.ones((3 * SYMBOLS * TONES, 2), np.complex64)
        got = through(a_model(), sent, 3).reshape(3, SYMBOLS, TONES, 3)
        np.testing.assert_allclose(got, got[:, :1] + 0 * got, rtol=1e-5)
        self.assertGreater(np.abs(got[0] - got[1]).max(), 0.1)

    def test_tones_have_unit_mean_energy(self):
        energy = np.mean(np.abs(measured_channels(2000)) ** 2, axis=0)
        np.testing.assert_allclose(energy, 1, atol=0.15)

    def test_paths_decay_by_the_delay_spread(self):
        paths = np.fft.ifft(measured_channels(4000), axis=1)
        energy = np.mean(np.abs(paths) ** 2, axis=(0, 2, 3))
        np.testing.assert_allclose(energy[1:4] / energy[:3], math.exp(-0.5), rtol=0.1)
        self.assertLess(energy[4:].max(), 1e-9)

    def test_antennas_fade_independently(self):
        h = measured_channels(4000)[:, 0].reshape(-1, 6)
        correlation = h.conj().T @ h / len(h)
        np.testing.assert_allclose(correlation, np.eye(6), atol=0.08)

    def test_noise_has_the_variance_that_it_reports(self):
        sent = random_symbols(400, 2)
        clean = through(a_model(), sent, 3)
        model = a_model(snr_db=7)
        noise = through(model, sent, 3) - clean
        self.assertAlmostEqual(model.noise_variance(), 2 * 10**-0.7, places=6)
        measured = np.mean(np.abs(noise) ** 2, axis=0)
        np.testing.assert_allclose(measured, model.noise_variance(), rtol=0.05)
        self.assertLess(abs(np.mean(noise**2)), 0.02)

    def test_snr_is_that_at_one_receive_antenna(self):
        clean = through(a_model(seed=8), random_symbols(3000, 2), 3)
        received = np.mean(np.abs(clean) ** 2)
        self.assertAlmostEqual(
            received / a_model(snr_db=3).noise_variance(), 10**0.3, delta=0.1
        )

    def test_a_seed_gives_the_same_whatever_the_size_of_calls(self):
        sent = random_symbols(40, 2)
        whole = through(a_model(snr_db=10), sent, 3)
        slot_by_slot = through(a_model(snr_db=10), sent, 3, SYMBOLS * TONES)
        np.testing.assert_array_equal(whole, slot_by_slot)
        other = through(a_model(snr_db=10, seed=8), sent, 3)
        self.assertGreater(np.abs(whole - other).max(), 0.1)

    def test_a_part_of_a_slot_is_not_put_out(self):
        sent = random_symbols(3, 2)[:-1]
        self.assertEqual(len(through(a_model(), sent, 3)), 2 * SYMBOLS * TONES)

    def test_parameters_out_of_range_are_refused(self):
        for name, value in (
            ("transmit_antennas", 0),
            ("receive_antennas", 65),
            ("tones", 0),
            ("symbols", 1.5),
            ("taps", TONES + 1),
            ("delay_spread", 0),
            ("snr_db", math.nan),
        ):
            with self.assertRaisesRegex(ValueError, f"{name} {value} is not"):
                a_model(**{name: value})


if __name__ == "__main__":
    if os.environ.get("CUDAPHY_TEST_BACKEND") == "cuda":
        print("skipped: the channel model is the same on every backend")
        sys.exit(77)
    unittest.main()
