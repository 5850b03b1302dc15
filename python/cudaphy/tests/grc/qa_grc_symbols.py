#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block file of Symbol Sync in GNU Radio Companion."""

import unittest

from qa_grc import ParameterCases
from qa_support import BACKEND, main

PARAMETERS = {
    "cudaphy_symbol_sync": (
        [
            {"samples_per_symbol": "two", "roll_off": "0.35"},
            {"samples_per_symbol": "1.5", "roll_off": "0.5"},
            {"samples_per_symbol": "16", "roll_off": "0.02"},
            {"span": "128", "averaging": "131072"},
            {"most_offset": "0", "sample_rate": "1e6"},
            {"most_offset": "0.5"},
            {"backend": f'"{BACKEND}"'},
            {"backend": "where"},
        ],
        [
            {"samples_per_symbol": "1.4"},
            {"samples_per_symbol": "17"},
            {"roll_off": "0"},
            {"roll_off": "1.1"},
            {"samples_per_symbol": "1.5", "roll_off": "0.6"},
            {"span": "-1"},
            {"span": "129"},
            {"averaging": "-1"},
            {"averaging": "131073"},
            {"most_offset": "-0.1"},
            {"most_offset": "0.51"},
            {"sample_rate": "-1"},
            {"backend": '"gpu"'},
        ],
    )
}


class qa_grc_symbols(ParameterCases, unittest.TestCase):
    PARAMETERS = PARAMETERS


if __name__ == "__main__":
    main()
