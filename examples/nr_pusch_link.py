#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""PUSCH of 5G NR from bytes to samples and back, with what a receiver must find out by itself: the channel,
when the slot begins, the carrier's offset, noise and interference; and with retransmissions (HARQ).

Transport block -> CRC, LDPC, rate matching, scrambling, QAM, layers, DM-RS -> OFDM -> taps with Rayleigh fading,
delay, carrier offset and noise -> OFDM -> channel estimate, MMSE, LLRs, LDPC with what earlier transmissions of
the block left, CRC. Each line of the output tells of one transmission.
"""

import argparse
import sys

import link_tools
import numpy as np
from gnuradio import cudaphy

VERSIONS = (0, 2, 3, 1)  # redundancy versions of a block's transmissions
NUMEROLOGY = 1
PREFIX_PART = 0.5  # of the cyclic prefix, at which transforms start


def gaussian(chance, *shape):
    parts = chance.normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]) * np.sqrt(0.5)


class air:
    """Taps between all antennas, a delay of whole samples, and a carrier offset."""

    def __init__(self, chance, antennas, layers, given, sample_rate):
        delays = np.arange(0, 4 * given.delay_spread * sample_rate)
        powers = np.exp(-delays / max(given.delay_spread * sample_rate, 1e-9))
        powers /= powers.sum()
        self._taps = gaussian(chance, antennas, layers, delays.size) * np.sqrt(powers)
        self._late = round(given.late * sample_rate)
        self._turns = given.offset / sample_rate
        self._noise = 10 ** (-given.snr / 10)

    def __call__(self, chance, samples):
        count = samples.shape[1]
        out = np.sqrt(self._noise) * gaussian(chance, self._taps.shape[0], count)
        for delay in range(self._taps.shape[2]):
            shift = delay + self._late
            out[:, shift:] += self._taps[:, :, delay] @ samples[:, : count - shift]
        turns = np.exp(2j * np.pi * self._turns * np.arange(count))
        return (out * turns).astype(np.complex64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--snr", type=float, default=14, help="at one antenna, dB")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--antennas", type=int, default=2)
    parser.add_argument("--prbs", type=int, default=52)
    parser.add_argument("--mcs", type=int, default=18, help="of table 5.1.3.1-1")
    parser.add_argument("--delay-spread", type=float, default=200e-9, help="rms, seconds")
    parser.add_argument("--late", type=float, default=300e-9, help="seconds")
    parser.add_argument("--offset", type=float, default=150.0, help="Hz")
    parser.add_argument("--estimator", choices=("mmse", "ls"), default="mmse")
    parser.add_argument("--blocks", type=int, default=20, help="transport blocks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    given = parser.parse_args()
    if given.backend not in ["auto", *cudaphy.backends()]:
        print(f"skipped: no backend {given.backend} here, only {cudaphy.backends()}")
        return link_tools.UNAVAILABLE

    channel = cudaphy.nr_shared_channel(
        "pusch",
        numerology=NUMEROLOGY,
        grid_size=given.prbs,
        layers=given.layers,
        mcs=given.mcs,
        dmrs_additional_position=1,
        n_id=42,
        dmrs_n_id=42,
        rnti=0x4601,
    )
    subcarriers = channel.grid_shape[2]
    fft_size = max(128, 1 << (subcarriers - 1).bit_length())
    sample_rate = 15e3 * 2**NUMEROLOGY * fft_size
    advance = int(PREFIX_PART * fft_size * 144 // 2048)
    chance = np.random.default_rng(given.seed)
    harq = cudaphy.nr_harq(processes=1)
    print(
        f"{channel.tbs[0]} bits in a slot: {channel.tbs[0] / 0.5e-3 / 1e6:.1f} Mbit/s, "
        f"{sample_rate / 1e6:.2f} MS/s"
    )
    slot = sent = decoded = wrong = 0
    for block in range(given.blocks):
        payload = chance.integers(0, 2, channel.tbs[0], np.uint8)
        for version in VERSIONS:
            grid = cudaphy.nr_pusch_transmit(
                channel, payload, slot, version, given.backend
            )
            samples = cudaphy.nr_ofdm_modulate(grid, NUMEROLOGY, slot=slot)
            through = air(chance, given.antennas, given.layers, given, sample_rate)
            received = cudaphy.nr_ofdm_demodulate(
                through(chance, samples),
                subcarriers,
                NUMEROLOGY,
                slot=slot,
                advance=advance,
            )
            got = cudaphy.nr_pusch_receive(
                channel,
                received,
                slot,
                version,
                estimator=given.estimator,
                harq=harq,
                new_data=version == VERSIONS[0],
                backend=given.backend,
            )
            sent += 1
            print(
                f"block {block:3} rv {version} {'ok  ' if got.ok[0] else 'lost'} SINR {got.sinr_db[0]:5.1f} dB, "
                f"late {got.timing_offset * 1e9:5.0f} ns, offset {got.frequency_offset:6.1f} Hz, "
                f"delay spread {got.delay_spread * 1e9:4.0f} ns, iterations {got.iterations[0].mean():.1f}"
            )
            slot = (slot + 1) % (10 * 2**NUMEROLOGY)
            if got.ok[0]:
                decoded += 1
                wrong += (got.payload[0] != payload).any()
                break
    print(
        f"{decoded} of {given.blocks} blocks with {sent} transmissions; {wrong} of those with a good CRC are wrong"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
