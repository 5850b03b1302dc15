#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""OFDM and channel blocks in GRC, which refuses what constructors would refuse."""

import unittest

from qa_grc import ParameterCases
from qa_support import main

_OFDM = (
    [
        {"antennas": "1"},
        {"antennas": "16", "fft_size": "2048", "cyclic_prefix": "144", "symbols": "14"},
        {"fft_size": "16", "cyclic_prefix": "7", "tone_numbers": "[-8, 0, 7]"},
        {"tone_numbers": "(-2, 1, two)"},
        {"length_tag_key": "key"},
    ],
    [
        {"antennas": "0"},
        {"antennas": "17"},
        {"fft_size": "14"},
        {"fft_size": "65"},
        {"fft_size": "65538"},
        {"cyclic_prefix": "0"},
        {"cyclic_prefix": "32"},
        {"tone_numbers": "[]"},
        {"tone_numbers": "[1, 3, 5]"},  # the preamble takes even tones
        {"tone_numbers": "[-2, 4, 2]"},
        {"tone_numbers": "[2, 4, 4]"},
        {"tone_numbers": "[-33, 0, 2]"},
        {"tone_numbers": "[-32, 0, 32]"},
        {"symbols": "1"},
        {"symbols": "1025"},
        {"length_tag_key": '""'},
    ],
)
# (good parameters, bad parameters), as they are typed in GRC.
PARAMETERS = {
    "cudaphy_mimo_ofdm_transmitter": (
        _OFDM[0] + [{"gap": "1000"}],
        _OFDM[1] + [{"gap": "-1"}],
    ),
    "cudaphy_mimo_ofdm_receiver_frontend": (
        _OFDM[0]
        + [
            {"transmit_antennas": "16", "advance": "0"},
            {"advance": "15", "most_offset": "0", "threshold": "0.5"},
            {"most_offset": "32", "sample_rate": "20e6"},
        ],
        _OFDM[1]
        + [
            {"transmit_antennas": "0"},
            {"transmit_antennas": "17"},
            {"advance": "-2"},
            {"advance": "16"},
            {"most_offset": "-0.1"},
            {"most_offset": 'float("nan")'},
            {"threshold": "1"},
            {"threshold": "-0.1"},
            {"sample_rate": "-1"},
        ],
    ),
    "cudaphy_mimo_channel_model": (
        [{"transmit_antennas": "64", "receive_antennas": "1"}, {"taps": "52"}],
        [
            {"transmit_antennas": "0"},
            {"receive_antennas": "65"},
            {"tones": "0"},
            {"symbols": "65537"},
            {"taps": "0"},
            {"taps": "53"},
            {"delay_spread": "0"},
            {"delay_spread": 'float("inf")'},
            {"snr_db": 'float("nan")'},
            {"seed": "-1"},
        ],
    ),
    "cudaphy_mimo_multipath_channel": (
        [{"transmit_antennas": "16", "receive_antennas": "1"}, {"taps": "1"}],
        [
            {"transmit_antennas": "0"},
            {"receive_antennas": "17"},
            {"block_length": "0"},
            {"taps": "0"},
            {"taps": "1025"},
            {"delay_spread": "0"},
            {"delay_spread": 'float("inf")'},
            {"delay_spread": 'float("nan")'},
            {"seed": "-1"},
        ],
    ),
}


class qa_grc_mimo(ParameterCases, unittest.TestCase):
    PARAMETERS = PARAMETERS


if __name__ == "__main__":
    main()
