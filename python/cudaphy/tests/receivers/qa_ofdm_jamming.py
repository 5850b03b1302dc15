#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeating signals neither slow the OFDM front end down nor hide frames."""

import time

import numpy as np
from gnuradio import cudaphy
from qa_ofdm import FFT, FRAME, PREFIX, SYMBOLS, TONES, OfdmCase, qpsk
from qa_support import gaussian, main

LONG = dict(
    fft_size=2048,
    cyclic_prefix=144,
    tone_numbers=[t for t in range(-600, 601) if t],
    symbols=4,
)
SHORT = dict(fft_size=FFT, cyclic_prefix=PREFIX, tone_numbers=TONES, symbols=SYMBOLS)
COUNT = 300000


def preamble(shape):
    word = cudaphy.ofdm_preamble(shape["fft_size"], shape["tone_numbers"])
    half = np.fft.ifft(np.fft.ifftshift(word))[: shape["fft_size"] // 2]
    return half / np.sqrt(np.mean(np.abs(half) ** 2))


def inputs(shape):
    """Signals (COUNT,) that an adversary or a bad radio may send."""
    n = np.arange(COUNT)
    size = shape["fft_size"]
    noise = gaussian((COUNT,), 4)
    always = np.resize(preamble(shape), COUNT)
    return {
        "silence": np.zeros(COUNT),
        "DC": np.ones(COUNT),
        "a carrier": np.exp(0.63j * n),
        "a carrier in noise": np.exp(0.63j * n) + 0.1 * noise,
        "a short period": np.resize(noise[:32], COUNT),
        "a period of half a symbol": np.resize(noise[: size // 2], COUNT),
        "the preamble without end": always,
        "the preamble too high": always * np.exp(2j * np.pi * 6 * n / size),
        "the preamble beside DC": always + 1,
        "the preamble in its own noise": always
        + 0.8 * np.resize(noise[: size // 2], COUNT),
        "1e38": noise * 1e38,
        "NaN": np.full(COUNT, np.nan),
        "bursts of 1e30": np.where(n % 5000 < 3, 1e30, 1e-3),
        "a burst each half symbol": np.where(n % (size // 2) == 0, 1e30, 1e-3),
        "waves that decay": 2.0 ** -(n % 100) * np.exp(0.63j * n),
    }


class qa_ofdm_jamming(OfdmCase):
    def seconds(self, x, shape, enough=0.0):
        """The least processor time of three runs, or of those up to one below `enough`."""
        spent = []
        x = np.asarray(x, "complex64")
        for _ in range(3):
            block = cudaphy.mimo_ofdm_receiver_frontend(2, **shape)
            began = time.process_time()
            self.through(block, [x, x], [("complex64", 2)])
            spent.append(time.process_time() - began)
            if spent[-1] < enough:
                break
        return min(spent)

    def found(self, air, **options):
        """Where frames begin."""
        block = cudaphy.mimo_ofdm_receiver_frontend(2, transmit_antennas=2, **options)
        air = [np.asarray(row, "complex64") for row in air]
        (sink,) = self.through(block, air, [("complex64", 2)])
        return [v for _, v in sink.tags("frame_start")]

    def test_no_input_takes_much_longer_than_noise(self):
        for shape in (SHORT, LONG):
            noise = self.seconds(gaussian((COUNT,), 3), shape)
            with np.errstate(over="ignore"):
                tried = inputs(shape)
            for name, x in tried.items():
                with self.subTest(name, fft_size=shape["fft_size"]):
                    most = 5 * noise + 0.1
                    self.assertLess(self.seconds(x, shape, most), most)

    def test_frames_are_found_beside_a_carrier_of_a_tenth_of_their_power(self):
        """Frames with gaps, in which the carrier is alone and its metric high."""
        for shape in (SHORT, LONG):
            size, prefix = shape["fft_size"], shape["cyclic_prefix"]
            frames, gap = 12, 3 * size
            tones = qpsk((frames, shape["symbols"], len(shape["tone_numbers"]), 2))
            sent = self.sent(tones, gap=gap, **shape)
            air = np.pad(sent, ((0, 0), (gap, size)))
            period = (shape["symbols"] + 1) * (size + prefix) + gap
            n = np.arange(air.shape[1])
            for offset, carrier in ((0.0, 0.0), (0.6, 0.0), (-0.4, 0.7), (0.5, 11.5)):
                with self.subTest(fft_size=size, offset=offset, carrier=carrier):
                    got = air * np.exp(2j * np.pi * offset * n / size)
                    got = got + np.sqrt(0.1) * np.exp(2j * np.pi * carrier * n / size)
                    got = got + 0.05 * gaussian(air.shape, 7)
                    found = self.found(got, **shape)
                    expected = gap + period * np.arange(frames)
                    np.testing.assert_allclose(found, expected, atol=prefix // 2)

    def test_a_burst_before_a_frame_and_in_the_one_before_hides_nothing(self):
        tones = qpsk((3, SYMBOLS, len(TONES), 2))
        sent = np.pad(self.sent(tones, gap=200), ((0, 0), (500, 100)))
        starts = 500 + (FRAME + 200) * np.arange(3)
        for burst in (1e4, 1e15, 1e30):
            for start in (starts[1] - 1, starts[1] - 90, starts[1] - 205):
                air = sent.astype("complex64")
                air[:, start] = burst
                found = self.found(air, advance=0, **SHORT)
                self.assertLessEqual({starts[1], starts[2]}, set(found), (burst, start))


if __name__ == "__main__":
    main()
