#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio Companion's files of the 5G NR blocks: they refuse what the constructors refuse."""

import unittest

from qa_grc import ParameterCases
from qa_support import main

OFDM_GOOD = [
    {"numerology": "0", "subcarriers": "3300", "fft_size": "4096"},
    {"numerology": "two", "extended_prefix": "True", "fft_size": "628", "slot": "39"},
    {"subcarriers": "1", "fft_size": "128", "middle": "-64"},
    {"carrier_frequency": "3.5e9", "length_tag_key": "key"},
]
OFDM_BAD = [
    {"numerology": "5"},
    {"numerology": "-1"},
    {"extended_prefix": "True"},
    {"subcarriers": "0"},
    {"subcarriers": "3301", "fft_size": "4096"},
    {"fft_size": "512"},
    {"fft_size": "1000"},
    {"fft_size": "65664"},
    {"slot": "20"},
    {"slot": "-1"},
    {"middle": "513"},
    {"length_tag_key": '""'},
]


class qa_grc_nr(ParameterCases, unittest.TestCase):
    PARAMETERS = {
        "cudaphy_nr_ofdm_modulator": (
            [*OFDM_GOOD, {"ports": "64"}, {"window": "72"}],
            [*OFDM_BAD, {"ports": "0"}, {"ports": "65"}, {"window": "73"}],
        ),
        "cudaphy_nr_ofdm_demodulator": (
            [*OFDM_GOOD, {"antennas": "64"}, {"advance": "72"}, {"start": '"tag"'}],
            [
                *OFDM_BAD,
                {"antennas": "0"},
                {"antennas": "65"},
                {"advance": "73"},
                {"advance": "-2"},
                {"start": '"now"'},
                {"tolerance": "-1"},
            ],
        ),
    }


if __name__ == "__main__":
    main()
