#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""BCH Code, BCH Encoder, BCH Decoder and Baseband Deframer in GNU Radio Companion."""

import unittest

from gnuradio import cudaphy
from qa_grc import COMMON_BAD, COMMON_GOOD, VARIABLES, Flowgraph, ParameterCases, add
from qa_support import BACKEND, main

CODE = "cudaphy.bch_code(5, 2)"
CODES = "{'other': cudaphy.bch_code(6, 3)}"
KEY = {"length_tag_key": "packet_len"}
GOOD = COMMON_GOOD + [
    {"packed_input": "True"},
    {"packed_output": "True"},
    {"codes": CODES, **KEY},
    {"codes": "[cudaphy.bch_code(6, 3)]", "code_tag_key": '"ldpc_code"', **KEY},
    {"codes": "{}"},
]
BAD = [case for case in COMMON_BAD if case != {"device": "-1"}] + [
    {"code": "None"},
    {"code": "two"},
    {"code": "code"},  # an LDPC code
    {"codes": CODES},
    {"codes": "{'other': 7}", **KEY},
    {"codes": CODES, "code_tag_key": '""', **KEY},
]
OUTPUT = (
    [{"on_failure": "drop"}, {"word_tags": "failed"}],
    [{"on_failure": "ignore"}, {"word_tags": "none"}],
)


def with_defaults(cases):
    return [{"backend": BACKEND, "code": CODE, **case} for case in cases]


class BchCode(Flowgraph):
    """A BCH code, which is a variable."""

    def __init__(self, parameters):
        super().__init__(None, {})
        self.block = add(self.graph, "variable_cudaphy_bch_code", "outer", parameters)
        self.graph.rewrite()

    def make(self):
        names = {name: eval(value) for name, value in VARIABLES.items()}
        exec(self.block.templates.render("imports"), names)
        exec(self.block.templates.render("var_make").replace("self.outer = ", ""), names)
        return names["outer"]


class qa_grc_dvb(ParameterCases, unittest.TestCase):
    # (good parameters, bad parameters), as they are typed in GRC.
    PARAMETERS = {
        "cudaphy_bb_deframer": (
            [{"frame_bits": "7032"}, {"isi": "255"}, {"packed": "True", "gse": "False"}]
            + [{"length_tag_key": "", "frame_bits": "two * 40"}],
            [{"frame_bits": "79"}, {"frame_bits": "64801"}, {"frame_bits": "-1"}]
            + [{"isi": "256"}, {"isi": "-2"}, {"length_tag_key": ""}],
        )
    }

    def test_bch_blocks(self):
        for kind, (good, bad) in {
            "cudaphy_bch_encoder": ([], []),
            "cudaphy_bch_decoder": OUTPUT,
        }.items():
            for parameters in with_defaults([{}] + GOOD + good):
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    self.assertEqual(flowgraph.errors(), [])
                    self.assertEqual(flowgraph.make().backend(), BACKEND)
            for parameters in with_defaults(BAD + bad):
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    flowgraph.errors()
                    self.assertFalse(flowgraph.block.is_valid())
                    with self.assertRaises((ValueError, TypeError)):
                        flowgraph.make()

    def test_the_program_makes_the_code_that_other_parameters_see(self):
        for parameters, code in (
            ({}, cudaphy.bch_code.dvbs2("normal", "1/2")),
            (
                {"frame": '"short"', "dvbs2_rate": '"8/9"'},
                cudaphy.bch_code.dvbs2("short", "8/9"),
            ),
            (
                {"family": "dvbs2x", "dvbs2x_normal_rate": '"154/180"'},
                cudaphy.bch_code.dvbs2x("normal", "154/180"),
            ),
            (
                {"family": "dvbs2x", "dvbs2x_frame": '"medium"'},
                cudaphy.bch_code.dvbs2x("medium", "1/5 VL-SNR"),
            ),
            (
                {"family": "dvbs2x", "dvbs2x_frame": '"short"'},
                cudaphy.bch_code.dvbs2x("short", "11/45"),
            ),
            (
                {"family": "dvbt2", "frame": '"short"', "dvbt2_rate": '"3/5"'},
                cudaphy.bch_code.dvbt2("short", "3/5"),
            ),
            (
                {"family": "primitive", "t": "3", "shortened": "100", "m": "two * 4"},
                cudaphy.bch_code(8, 3, 100),
            ),
            (
                {"family": "primitive", "polynomial": "0x409"},
                cudaphy.bch_code(10, 4, 0, 0x409),
            ),
        ):
            with self.subTest(parameters):
                flowgraph = BchCode(parameters)
                self.assertEqual(flowgraph.errors(), [])
                self.assertEqual(flowgraph.make(), code)
                self.assertEqual(flowgraph.graph.evaluate("outer"), code)
                self.assertEqual(flowgraph.graph.evaluate("outer.k"), code.k)

    def test_one_wrong_value_is_one_message_that_says_what_is_wrong(self):
        for parameters, part in (
            ({"frame": "long"}, "normal"),
            ({"frame": "short", "dvbs2_rate": '"9/10"'}, "9/10"),
            ({"family": "dvbs2x", "dvbs2x_frame": "huge"}, "medium"),
            ({"family": "primitive", "t": "65"}, "t is 65"),
            ({"family": "primitive", "m": "2"}, "m is 2"),
            ({"family": "primitive", "polynomial": "0x40b"}, "not primitive"),
        ):
            with self.subTest(parameters):
                (error,) = BchCode(parameters).errors()
                self.assertIn(part, error.splitlines()[-1])


if __name__ == "__main__":
    main()
