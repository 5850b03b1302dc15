#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Array Covariance, MVDR Weights and MIMO Fixed Channel in GNU Radio Companion."""

import unittest

from qa_grc import Flowgraph, ParameterCases
from qa_support import main

# (good parameters, bad parameters), as they are typed in GRC.
PARAMETERS = {
    "cudaphy_array_covariance": (
        [{"elements": "1", "snapshots": "1"}, {"elements": "1024"}, {"loading": "0.5"}]
        + [{"elements": "two", "length_tag_key": ""}],
        [{"elements": "0"}, {"elements": "1025"}, {"snapshots": "0"}]
        + [{"loading": "-1"}, {"loading": 'float("inf")'}, {"loading": 'float("nan")'}],
    ),
    "cudaphy_mvdr_weights": (
        [{"elements": "two", "steering": "[1, -1j]"}, {"length_tag_key": ""}],
        [{"elements": "0", "steering": "[]"}]
        + [{"elements": "two", "steering": "[0, 0]"}]
        + [{"elements": "two", "steering": '[1, float("nan")]'}],
    ),
    "cudaphy_mimo_fixed_channel": (
        [
            {
                "transmit_antennas": "1",
                "receive_antennas": "two",
                "impulse_response": "[[[1, 0.5]], [[1j, 0]]]",
            }
        ],
        [{"transmit_antennas": "3"}, {"receive_antennas": "1"}]
        + [{"impulse_response": "[]"}, {"impulse_response": "7"}]
        + [{"impulse_response": "[[[1], [0]], [[0]]]"}]
        + [{"impulse_response": "[[[], []], [[], []]]"}],
    ),
}


class qa_grc_beamforming(ParameterCases, unittest.TestCase):
    PARAMETERS = PARAMETERS

    def test_a_steering_vector_of_another_length_is_refused(self):
        flowgraph = Flowgraph("cudaphy_mvdr_weights", {"elements": "3"})
        flowgraph.errors()
        self.assertFalse(flowgraph.block.is_valid())


if __name__ == "__main__":
    main()
