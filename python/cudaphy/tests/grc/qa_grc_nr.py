#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio Companion's files of the 5G NR blocks: they refuse what the constructors refuse."""

import unittest

from gnuradio import cudaphy
from qa_grc import Flowgraph, ParameterCases, add
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

CHANNELS = {
    "pusch": 'cudaphy.nr_shared_channel("pusch", grid_size=6)',
    "pdsch": 'cudaphy.nr_shared_channel("pdsch", grid_size=6, layers=2)',
}
OTHER_GRID = {
    link: f'cudaphy.nr_shared_channel("{link}", grid_size=7)' for link in CHANNELS
}


def transmitter_cases(link, other):
    good = {"channel": CHANNELS[link]}
    pdsch = link == "pdsch"
    return (
        [
            {**good, "slot": "19", "user": "3", "every_slot": "True"},
            {**good, "backend": "where", "length_tag_key": "key"},
            *([{**good, "precoding": "[[1, 0], [0, 1], [1, 1]]"}] if pdsch else []),
        ],
        [
            {"channel": "7"},
            {"channel": CHANNELS[other]},
            {**good, "slot": "20"},
            {**good, "user": "-1"},
            {**good, "backend": '"gpu"'},
            {**good, "length_tag_key": '""'},
            *([{**good, "precoding": "[[1], [1]]"}] if pdsch else []),
        ],
    )


def receiver_cases(link, other):
    good = {"channels": CHANNELS[link]}
    both = f"[{CHANNELS[link]}, {CHANNELS[link]}]"
    return (
        [
            {**good, "antennas": "16", "backend": "where"},
            {**good, "slots": "[[0, 19]]", "slot": "19", "processes": "32"},
            {"channels": both, "slots": "[[], [1]]", "packed": "False"},
            {**good, "estimator": '"ls"', "interference": '"irc"', "status_period": "0"},
            {**good, "delay_spread": "1e-7", "doppler": "70", "harq_bytes": "0"},
        ],
        [
            {"channels": "7"},
            {"channels": "[]"},
            {"channels": CHANNELS[other]},
            {"channels": f"[{CHANNELS[link]}, {OTHER_GRID[link]}]"},
            {**good, "antennas": "0"},
            {**good, "antennas": "129"},
            {**good, "slots": "[[20]]"},
            {**good, "slots": "[[1], [2]]"},
            {**good, "slot": "20"},
            {**good, "processes": "0"},
            {**good, "processes": "33"},
            {**good, "estimator": '"best"'},
            {**good, "interference": '"none"'},
            {**good, "delay_spread": "1"},
            {**good, "doppler": "1e5"},
            {**good, "max_iterations": "0"},
            {**good, "status_period": "0.001"},
            {**good, "backend": '"gpu"'},
        ],
    )


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

    def flowgraph(self, **parameters):
        made = Flowgraph(None, {})
        channel = add(
            made.graph, "variable_cudaphy_nr_shared_channel", "channel", parameters
        )
        return made, channel

    def test_the_channel_is_that_of_its_parameters(self):
        for parameters, tbs in (
            ({}, cudaphy.nr_shared_channel("pusch", mcs=10, dmrs_additional_position=1)),
            (
                {"link": '"pdsch"', "layers": "6", "mcs": "(5, 9)", "dmrs_length": "2"},
                cudaphy.nr_shared_channel(
                    "pdsch",
                    layers=6,
                    mcs=(5, 9),
                    dmrs_length=2,
                    dmrs_additional_position=1,
                ),
            ),
            (
                {"prbs": "(3, 9)", "antenna_ports": "two", "tpmi": "1"},
                cudaphy.nr_shared_channel(
                    "pusch",
                    prbs=(3, 9),
                    antenna_ports=2,
                    tpmi=1,
                    mcs=10,
                    dmrs_additional_position=1,
                ),
            ),
        ):
            with self.subTest(**parameters):
                made, block = self.flowgraph(**parameters)
                self.assertEqual(made.errors(), [])
                self.assertEqual(made.graph.evaluate("channel.tbs"), tbs.tbs)
                self.assertEqual(
                    made.graph.evaluate("channel.grid_shape"), tbs.grid_shape
                )

    def test_a_wrong_channel_is_red_and_names_the_clause(self):
        for parameters, clause in (
            ({"layers": "5"}, "TS 38"),
            ({"mcs": "29"}, "5.1.3"),
            ({"grid_size": "276"}, "4.4"),
            ({"extended_prefix": "True"}, "4.2"),
            ({"prbs": "(50, 9)"}, "5.1.2.2.2"),
            ({"symbols": "15"}, "TS 38"),
        ):
            with self.subTest(**parameters):
                made, block = self.flowgraph(**parameters)
                said = [text for text in made.errors() if "channel" in text]
                self.assertIn(clause, " ".join(said))
                self.assertFalse(block.is_valid())


class qa_grc_nr_channels(ParameterCases, unittest.TestCase):
    """Blocks that have no default channel."""

    PARAMETERS = {
        "cudaphy_nr_pusch_transmitter": transmitter_cases("pusch", "pdsch"),
        "cudaphy_nr_pdsch_transmitter": transmitter_cases("pdsch", "pusch"),
        "cudaphy_nr_pusch_receiver": receiver_cases("pusch", "pdsch"),
        "cudaphy_nr_pdsch_receiver": receiver_cases("pdsch", "pusch"),
    }

    def test_good_parameters_make_a_valid_flowgraph_and_a_block(self):
        for kind, (good, _) in self.PARAMETERS.items():
            for parameters in good:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    self.assertEqual(flowgraph.errors(), [])
                    flowgraph.make()


if __name__ == "__main__":
    main()
