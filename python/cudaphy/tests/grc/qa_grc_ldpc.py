#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block files of the LDPC blocks in GNU Radio Companion: further parameters, PDU blocks,
coder objects; and GNU Radio's own LDPC flowgraphs with the coders of this module."""

import os
import runpy
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import yaml
from gnuradio import cudaphy, gr
from qa_grc import PLATFORM, VARIABLES, Flowgraph, add
from qa_support import BACKEND, main

EXAMPLES = Path(gr.prefix()) / "share/gnuradio/examples/fec"
OPTIONS = (
    [
        {"algorithm": "offset_min_sum", "offset": "0.3"},
        {"algorithm": '"sum_product"', "schedule": "flooding"},
        {"arithmetic": "int8", "llr_steps": "4"},
        {"arithmetic": "int8", "llr_steps": "0"},
        {"algorithm": "sum_product", "llr_scale": "1 / 12"},
        {"stop_crc": "24A"},
        {"early_stop": "False", "scale": "0.8"},
    ],
    [
        {"code": "None"},
        {"algorithm": "bp"},
        {"offset": "-1"},
        {"offset": "10001"},
        {"schedule": "random"},
        {"arithmetic": "int4"},
        {"arithmetic": "int8", "schedule": "flooding"},
        {"arithmetic": "int8", "algorithm": "sum_product"},
        {"llr_steps": "-1"},
        {"llr_steps": "65"},
        {"llr_scale": "0"},
        {"llr_scale": "-1"},
        {"stop_crc": "CRC24"},
        {"max_iterations": "0"},
        {"scale": "1.5"},
        {"backend": '"gpu"'},
    ],
)
CODES = "{'other': cudaphy.ldpc_code('wifi', n=648, rate='3/4')}"
SEVERAL = (
    [{"codes": CODES}, {"codes": CODES[10:-1].join("[]")}, {"codes": "{}"}],
    [{"codes": "{'other': 7}"}, {"codes": CODES, "code_tag_key": '""'}],
)
KEY = {"length_tag_key": "packet_len"}
STREAM = ([{**p, **KEY} for p in SEVERAL[0]], SEVERAL[1] + [{"codes": CODES}])
PACKED = [{"packed_input": "True"}, {"packed_output": "True"}]
# (good parameters, bad parameters), as they are typed in GRC.
PARAMETERS = {
    "cudaphy_ldpc_decoder": (
        OPTIONS[0]
        + STREAM[0]
        + [{"type": "int8", "packed": "True"}, {"type": "float16"}],
        OPTIONS[1] + STREAM[1],
    ),
    "cudaphy_ldpc_encoder": (STREAM[0] + PACKED, STREAM[1]),
    "cudaphy_ldpc_decoder_pdu": (
        OPTIONS[0] + SEVERAL[0] + [{"soft_output": "True", "packed": "True"}],
        OPTIONS[1] + SEVERAL[1] + [{"max_batch": "-1"}],
    ),
    "cudaphy_ldpc_encoder_pdu": (
        SEVERAL[0] + PACKED,
        SEVERAL[1] + [{"max_batch": "16777217"}],
    ),
    "variable_cudaphy_ldpc_decoder_def": (
        OPTIONS[0] + [{"ndim": "1", "dim1": "3"}, {"ndim": "2", "batch": "4"}],
        OPTIONS[1] + [{"batch": "0"}, {"batch": "65537"}, {"info_bits": "first"}],
    ),
    "variable_cudaphy_ldpc_encoder_def": (
        [{"ndim": "1", "dim1": "3"}, {"batch": "32768"}],
        [{"batch": "0"}, {"batch": "65536"}, {"code": "two"}, {"backend": "7"}],
    ),
}


class Coder(Flowgraph):
    """One coder object, which is a variable."""

    def __init__(self, kind, parameters):
        super().__init__(None, {})
        self.block = add(self.graph, kind, "coder", parameters)
        self.graph.rewrite()

    def make(self):
        names = {name: eval(value) for name, value in VARIABLES.items()}
        exec(self.block.templates.render("imports"), names)
        exec(self.code.templates.render("var_make").replace("self.code = ", ""), names)
        exec(self.block.templates.render("var_make").replace("self.coder = ", ""), names)
        made = names["coder"]
        while isinstance(made, list):
            made = made[0]
        return made


class qa_grc_ldpc(unittest.TestCase):
    def tried(self, kind, parameters):
        parameters = {"backend": BACKEND, "code": "code", **parameters}
        return (Coder if kind.startswith("variable") else Flowgraph)(kind, parameters)

    def test_good_parameters_make_a_valid_flowgraph_and_a_block(self):
        for kind, (good, _) in PARAMETERS.items():
            for parameters in [{}] + good:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = self.tried(kind, parameters)
                    self.assertEqual(flowgraph.errors(), [])
                    self.assertEqual(flowgraph.make().backend(), BACKEND)

    def test_bad_parameters_make_the_block_invalid_as_its_constructor_would(self):
        for kind, (_, bad) in PARAMETERS.items():
            for parameters in bad:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = self.tried(kind, parameters)
                    flowgraph.errors()
                    self.assertFalse(flowgraph.block.is_valid())
                    with self.assertRaises(
                        (ValueError, TypeError, RuntimeError, NameError)
                    ):
                        flowgraph.make()

    def test_one_wrong_value_in_ldpc_code_is_one_message_that_says_what_is_wrong(self):
        for family, parameters, part in (
            ("wifi", {"n": "100"}, "648, 1296 or 1944, not 100"),
            ("wifi", {"wifi_rate": "0.5"}, "rate"),
            ("dvbs2", {"frame": "long"}, "normal"),
            ("dvbs2", {"frame": "short", "dvbs2_rate": '"9/10"'}, "9/10"),
            ("dvbs2x", {"dvbs2x_frame": "huge"}, "medium"),
            ("dvbs2x", {"dvbs2x_normal_rate": '"1/5"'}, "13/45"),
            ("dvbt2", {"dvbt2_rate": '"7/9"'}, "1/2"),
            ("nr5g", {"rows": "99"}, "4 to 46 rows"),
            ("nr5g", {"lifting_size": "17"}, "lifting size"),
            ("ccsds", {"ccsds_family": "turbo"}, "ar4ja"),
            ("ccsds", {"ar4ja_k": "1000"}, "16384"),
            ("wimax", {"wimax_n": "600"}, "576"),
            ("regular", {"row_weight": "2"}, "heavier"),
            ("alist", {"file": "/nowhere"}, "/nowhere"),
            ("qc", {}, "path"),
        ):
            code = {"family": family, **parameters}
            with self.subTest(code=code):
                (error,) = Flowgraph(None, {}, code).errors()
                self.assertIn(part, error.splitlines()[-1])

    def test_the_program_makes_the_code_that_other_parameters_see(self):
        for family in (
            "wifi",
            "dvbs2",
            "dvbt2",
            "nr5g",
            "wimax",
            "ten_gbase_t",
            "regular",
        ):
            self.check_code({"family": family})
        for frame in ("normal", "medium", "short"):
            self.check_code({"family": "dvbs2x", "dvbs2x_frame": f'"{frame}"'})
        for kind in ("ar4ja", "tc", "c2"):
            self.check_code({"family": "ccsds", "ccsds_family": f'"{kind}"'})
        with tempfile.TemporaryDirectory() as folder:
            path, code = Path(folder, "file"), cudaphy.ldpc_code("regular")
            for family in ("alist", "qc"):
                getattr(code, f"to_{family}")(str(path))
                self.check_code({"family": family, "file": str(path)})

    def check_code(self, parameters):
        graph, names = Flowgraph(None, {}, parameters), {}
        self.assertEqual(graph.errors(), [])
        make = graph.code.templates.render("var_make").replace("self.code = ", "")
        exec(f"from gnuradio import cudaphy\n{make}", names)
        self.assertEqual(graph.graph.evaluate("code"), names["code"], parameters)

    def test_ports_follow_the_parameters(self):
        def ports(kind, **parameters):
            block = self.tried(kind, parameters).block
            sides = block.active_sinks, block.active_sources
            return [[(p.name, p.dtype) for p in side] for side in sides]

        bits, fail = ("bits ◆", "byte"), ("fail", "message")
        kind = "cudaphy_ldpc_decoder"
        self.assertEqual(ports(kind), [[("llr ◆", "float")], [bits]])
        self.assertEqual(ports(kind, type="int8"), [[("llr ◆", "byte")], [bits]])
        self.assertEqual(ports(kind, type="float16"), [[("llr ◆", "short")], [bits]])
        self.assertEqual(
            ports(kind, soft_output="True", codes=CODES, **KEY)[1],
            [bits, ("soft ◆", "float"), fail],
        )
        self.assertEqual(ports("cudaphy_ldpc_encoder", codes=CODES, **KEY)[1][1], fail)
        names = [[name for name, _ in side] for side in ports(kind + "_pdu")]
        self.assertEqual(names, [["pdus"], ["ok", "fail"]])
        names = [name for name, _ in ports(kind + "_pdu", soft_output="True")[1]]
        self.assertEqual(names, ["ok", "fail", "soft"])

    def seen(self, path, sink, wanted):
        """The streams that a file's flowgraph shows on a time sink, once each has `wanted`
        items. The flowgraph's LDPC coders are replaced by this module's coders."""
        graph = yaml.safe_load(path.read_text())
        blocks, ends = [], {}
        for block in graph["blocks"]:
            kind, parameters = block["id"], block["parameters"]
            if kind in ("variable_ldpc_decoder_def", "variable_ldpc_encoder_def"):
                name = block["name"] + "_code"
                code = {"family": "alist", "file": parameters["file"]}
                blocks.append({**block, "name": name, "parameters": code})
                blocks[-1]["id"] = "variable_cudaphy_ldpc_code"
                if kind == "variable_ldpc_decoder_def":
                    block["id"] = "variable_cudaphy_ldpc_decoder_def"
                    coder = {"code": name, "info_bits": '"last"', "backend": BACKEND}
                    block["parameters"] = {**coder, "ndim": parameters["ndim"]}
            if kind == "blocks_throttle":
                parameters["samples_per_second"] = "1e6"
            if not kind.startswith(("qtgui", "blocks_ctrlport")):
                blocks.append(block)
        self.assertTrue([b for b in blocks if b["id"].startswith("variable_cudaphy")])
        names = {block["name"] for block in blocks}
        connections = []
        for start, out, end, port in graph["connections"]:
            if end == sink:
                ends[int(port)] = name = f"seen_{port}"
                parameters = {"type": "float", "vlen": "1", "reserve_items": "1024"}
                state = {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}
                vector = {"name": name, "id": "blocks_vector_sink_x"}
                blocks.append({**vector, "parameters": parameters, "states": state})
                connections.append([start, out, name, "0"])
            elif end.startswith("qtgui"):
                other = {"name": f"other_{len(blocks)}", "id": "blocks_null_sink"}
                parameters = {"type": "float", "vlen": "1", "num_inputs": "1"}
                state = {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}
                blocks.append({**other, "parameters": parameters, "states": state})
                connections.append([start, out, other["name"], "0"])
            elif end in names and start in names:
                connections.append([start, out, end, port])
        graph = {**graph, "blocks": blocks, "connections": connections}
        return self.played(graph, ends, wanted)

    def played(self, graph, ends, wanted):
        """{key: items} of the vector sinks {key: name} of a changed flowgraph, once each
        sink has `wanted` items."""
        graph["options"]["parameters"]["generate_options"] = "no_gui"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "changed.grc"
            file.write_text(yaml.dump(graph))
            flowgraph = PLATFORM.make_flow_graph(str(file))
            flowgraph.import_data(PLATFORM.parse_flow_graph(str(file)))
            flowgraph.rewrite()
            flowgraph.validate()
            if "gr.prefix()" in file.read_text() and "gr" not in flowgraph.namespace:
                self.skipTest(
                    "this Companion does not know gr, which GNU Radio's file names"
                )
            problems = [text for _, text in flowgraph.iter_error_messages()]
            self.assertEqual(problems, [])
            generator = PLATFORM.Generator(flowgraph, folder)
            generator.write()
            program = runpy.run_path(generator.file_path)
        top = program[graph["options"]["parameters"]["id"]]()
        top.start()
        until = time.monotonic() + 30
        sinks = {number: getattr(top, name) for number, name in ends.items()}
        while time.monotonic() < until and any(
            len(sink.data()) < wanted for sink in sinks.values()
        ):
            time.sleep(0.05)
        top.stop()
        top.wait()
        return {
            n: np.array(sink.data()[:wanted]).astype(int) for n, sink in sinks.items()
        }

    def test_own_flowgraph_of_gnu_radio_with_error_rate_curves(self):
        graph = yaml.safe_load((EXAMPLES / "ber_curve_gen_ldpc.grc").read_text())
        blocks = {block["name"]: block for block in graph["blocks"]}
        curve = blocks[
            "fec_bercurve_generator_1"
        ]  # the curve with an LDPC code of rate 1/2
        names = [curve["parameters"][f"{coder}_list"] for coder in ("encoder", "decoder")]
        self.assertEqual(names, ["enc_ldpc", "dec_ldpc"])
        imports = [
            b for b in blocks.values() if b["id"].startswith(("import", "variable"))
        ]
        others = ("_G", "_rep", "_dummy")
        chosen = [b for b in imports if not b["name"].endswith(others)] + [curve]
        original = blocks["dec_ldpc"]
        sizes = {n: original["parameters"][n] for n in ("ndim", "dim1", "dim2")}
        code = {"family": "alist", "file": blocks["H"]["parameters"]["filename"]}
        chosen.append({**original, "name": "code", "parameters": code})
        chosen[-1]["id"] = "variable_cudaphy_ldpc_code"
        original["id"] = "variable_cudaphy_ldpc_decoder_def"
        coder = {"code": "code", "info_bits": '"last"', "backend": BACKEND, **sizes}
        original["parameters"] = coder
        esno = blocks["esno_0"]["parameters"]
        esno["value"] = f"({esno['value']})[:3]"  # 0, 0.5 and 1 dB
        curve["states"].update(bus_source=False, bus_structure=None)
        connections, ends = [], {}
        state = {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}
        for port in range(6):  # bits sent and bits decoded of each point
            ends[port] = f"seen_{port}"
            vector = {"name": ends[port], "id": "blocks_vector_sink_x"}
            parameters = {"type": "byte", "vlen": "1", "reserve_items": "1024"}
            chosen.append({**vector, "parameters": parameters, "states": state})
            connections.append([curve["name"], str(port), ends[port], "0"])
        graph.update(blocks=chosen, connections=connections)
        seen = self.played(graph, ends, 4000)
        for point in range(3):
            self.assertGreater(seen[2 * point].sum(), 100)
            np.testing.assert_array_equal(seen[2 * point + 1], seen[2 * point])

    def test_own_flowgraph_of_gnu_radio_with_extended_decoder(self):
        seen = self.seen(
            EXAMPLES / "fecapi_ldpc_decoders.grc", "qtgui_time_sink_x_0", 4200
        )
        self.assertGreater(seen[0].sum(), 100)
        np.testing.assert_array_equal(seen[1], seen[0])  # by this module's decoder

    def test_own_flowgraph_of_gnu_radio_with_async_decoder(self):
        seen = self.seen(
            EXAMPLES / "fecapi_async_ldpc_decoders.grc", "qtgui_time_sink_x_0", 4200
        )
        self.assertGreater(seen[1].sum(), 100)
        np.testing.assert_array_equal(seen[0], seen[1])

    def test_own_flowgraph_of_gnu_radio_with_tagged_decoder(self):
        seen = self.seen(
            EXAMPLES / "fecapi_tagged_ldpc_decoders.grc", "qtgui_time_sink_x_1", 420
        )
        sent = max(seen)
        self.assertGreater(seen[sent].sum(), 10)
        self.assertTrue(
            any((seen[n] == seen[sent]).all() for n in seen if n != sent), seen
        )


if __name__ == "__main__":
    os.environ.setdefault("GR_CONF_CONTROLPORT_ON", "False")
    main()
