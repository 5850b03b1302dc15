#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block files of GNU Radio Companion. Each file loads, and a good flowgraph validates
and becomes a Python program that runs. GRC refuses every parameter that a block's
constructor would refuse."""

import logging
import os
import runpy
import shutil
import tempfile
import unittest
from pathlib import Path

import yaml
from gnuradio import cudaphy, gr

# platform first: io.yaml of GNU Radio 3.10.12 needs what it imports.
from gnuradio.grc.core import Constants, Messages, platform as grc_platform
from gnuradio.grc.core import schema_checker
from gnuradio.grc.core.io import yaml as grc_yaml
from qa_support import BACKEND, main, need_backend
from qa_support.grc_parameters import PARAMETERS

FOLDER = Path(__file__).resolve().parents[4] / "grc"
# GNU Radio's own blocks and this tree's, which an installed copy would shadow.
os.environ["GR_CONF_GRC_GLOBAL_BLOCKS_PATH"] = os.pathsep.join(
    [str(Path(gr.prefix()) / "share/gnuradio/grc/blocks"), str(FOLDER)]
)

BLOCKS = {
    "cudaphy_matrix_inverse": {},
    "cudaphy_triangular_inverse": {},
    "cudaphy_symmetric_inverse": {"order": "3"},
    "cudaphy_sparse_matvec": {},
    "cudaphy_mimo_channel_estimator": {},
    "cudaphy_mimo_equalizer": {},
    "cudaphy_soft_demapper": {},
    "cudaphy_mimo_receiver": {"code": "code"},
    "cudaphy_ldpc_encoder": {"code": "code"},
    "cudaphy_ldpc_decoder": {"code": "code"},
}
COMMON_GOOD = [
    {"backend": "where"},  # the name of a variable
    {"backend": BACKEND},
    {"length_tag_key": "packet_len"},
    {"length_tag_key": "key"},
    {"max_batch": "16384", "max_latency": "0.5"},
    {"max_batch": "1"},
]
COMMON_BAD = [
    {"backend": '"gpu"'},
    {"backend": "7"},
    {"device": "-1"},
    {"max_batch": "-1"},
    {"max_batch": "16777217"},
    {"max_latency": "-0.1"},
    {"max_latency": "3601"},
    {"max_latency": 'float("nan")'},
]
VARIABLES = {
    "where": f'"{BACKEND}"',
    "key": '"packet_len"',
    "two": "2",
    "modulation": '"qam64"',
    "pilots": "[[1, 1], [1, -1]]",
    "pattern": "cudaphy.comb_pilots(2, 2, 52)",
}


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.found = []

    def emit(self, record):
        self.found.append(record.getMessage())


def c_safe_load(text):
    """yaml.safe_load by libyaml's parser, which takes a twentieth of the time."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


# GNU Radio Companion reads six hundred files at every start.
grc_yaml.safe_load = c_safe_load


def build_library(platform):
    """Loads all block files without the user's cache, maybe of another checkout. Tests of one build
    share a cache, which is replaced as a whole because they run at the same time."""
    shared = os.environ.get("CUDAPHY_TEST_GRC_CACHE", "")
    with tempfile.TemporaryDirectory() as folder:
        Constants.CACHE_FILE = os.path.join(folder, "cache.json")
        if os.path.exists(shared):
            shutil.copy2(shared, Constants.CACHE_FILE)
        platform.build_library()
        # Newer versions of GNU Radio keep theirs elsewhere.
        written = os.path.exists(Constants.CACHE_FILE)
        if shared and written and not os.path.exists(shared):
            made = f"{shared}.{os.getpid()}"
            shutil.copy2(Constants.CACHE_FILE, made)
            os.replace(made, shared)


def load_platform():
    """GRC's platform with every block, and GRC's warnings while loading them."""
    warnings, messages = Warnings(), []
    logging.getLogger("gnuradio.grc").addHandler(warnings)
    logging.getLogger().addHandler(warnings)
    Messages.register_messenger(messages.append)
    version = (gr.major_version(), gr.api_version(), gr.minor_version())
    platform = grc_platform.Platform(
        name="test", prefs=gr.prefs(), version=gr.version(), version_parts=version
    )
    build_library(platform)
    # GNU Radio before 3.10.12 does not know the links to pages; what is installed there has none.
    unknown = [] if "doc_url" in schema_checker.BLOCK_SCHEME else ["doc_url"]
    said = [
        text
        for text in warnings.found + messages
        if not any(word in text for word in unknown)
    ]
    return platform, [text for text in said if "cudaphy" in text.lower()]


need_backend()  # skip before loading, which takes seconds
PLATFORM, WARNINGS = load_platform()


def new_flowgraph(name, language="python", run="prompt"):
    """An empty flowgraph without a window. GNU Radio 3.10.12 has options for each pair of language and kind."""
    flowgraph = PLATFORM.make_flow_graph()
    kind = {"output_language": language, "generate_options": "no_gui"}
    for key, value in kind.items():
        flowgraph.options_block.params[key].set_value(value)
        flowgraph.rewrite()
    for key, value in {"id": name, "run_options": run}.items():
        flowgraph.options_block.params[key].set_value(value)
    return flowgraph


def add(flowgraph, kind, name, parameters, whole=True):
    """A new block. whole: evaluate references to and from the block at once."""
    block = flowgraph.new_block(kind)
    block.params["id"].set_value(name)
    for key, value in parameters.items():
        block.params[key].set_value(value)
    (flowgraph if whole else block).rewrite()
    return block


def end_ports(flowgraph, block):
    """Null sources and sinks on all stream ports of a block."""
    for number, port in enumerate([*block.active_ports()]):
        if port.domain == "message":
            continue
        kind = "blocks_null_sink" if port.is_source else "blocks_null_source"
        parameters = {"type": port.dtype, "vlen": str(port.vlen)}
        end = add(flowgraph, kind, f"end{number}", parameters, whole=False)
        if port.is_source:
            flowgraph.connect(port, end.active_sinks[0])
        else:
            flowgraph.connect(end.active_sources[0], port)


class Flowgraph:
    """One block, with null sources and sinks on all of its ports."""

    def __init__(self, kind, parameters, code={}):
        self.graph = new_flowgraph("tried")
        for name, value in VARIABLES.items():
            add(self.graph, "variable", name, {"value": value}, whole=False)
        variable = "variable_cudaphy_ldpc_code"
        self.code = add(self.graph, variable, "code", code, whole=not kind)
        if kind:
            self.block = add(self.graph, kind, "tried_block", parameters)
            end_ports(self.graph, self.block)

    def errors(self):
        self.graph.rewrite()
        self.graph.validate()
        return [f"{where}: {text}" for where, text in self.graph.iter_error_messages()]

    def make(self):
        """Makes the block as a generated program would."""
        names = {name: eval(value) for name, value in VARIABLES.items()}
        exec(self.block.templates.render("imports"), names)
        exec(self.code.templates.render("var_make").replace("self.code = ", ""), names)
        return eval(self.block.templates.render("make"), names)


class ParameterCases:
    """Tests of blocks without a backend, for a TestCase with PARAMETERS: for each block (good parameters,
    bad parameters), as they are typed in GRC."""

    def test_good_parameters_make_a_valid_flowgraph_and_a_block(self):
        for kind, (good, _) in self.PARAMETERS.items():
            for parameters in [{}, *good]:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    self.assertEqual(flowgraph.errors(), [])
                    flowgraph.make()

    def test_bad_parameters_make_the_block_invalid_as_its_constructor_would(self):
        for kind, (_, bad) in self.PARAMETERS.items():
            for parameters in bad:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    flowgraph.errors()
                    self.assertFalse(flowgraph.block.is_valid())
                    with self.assertRaises((ValueError, TypeError)):
                        flowgraph.make()


def common(kind, cases):
    """The cases whose parameters the block has."""
    known = {parameter["id"] for parameter in PLATFORM.blocks[kind].parameters_data}
    return [case for case in cases if known.issuperset(case)]


class qa_grc(unittest.TestCase):
    def test_every_file_loads_without_a_warning(self):
        self.assertEqual(WARNINGS, [])
        files = list(FOLDER.glob("*.block.yml"))
        self.assertGreaterEqual(len(files), 7)
        for file in files:
            kind = PLATFORM.blocks[file.name.removesuffix(".block.yml")]
            self.assertEqual(Path(kind.loaded_from).parent, FOLDER)
            self.assertEqual(kind.category[0].strip("[]"), "CUDA PHY")
            text = file.read_text()
            self.assertEqual(c_safe_load(text), yaml.safe_load(text))
            self.assertGreater(len(kind.documentation[""].split()), 20)

    def test_good_parameters_make_a_valid_flowgraph_and_a_block(self):
        for kind, base in BLOCKS.items():
            for parameters in [{}] + common(kind, COMMON_GOOD) + PARAMETERS[kind][0]:
                parameters = {"backend": BACKEND, **base, **parameters}
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(kind, parameters)
                    self.assertEqual(flowgraph.errors(), [])
                    self.assertEqual(flowgraph.make().backend(), BACKEND)

    def test_bad_parameters_make_the_block_invalid_as_its_constructor_would(self):
        for kind, base in BLOCKS.items():
            for parameters in common(kind, COMMON_BAD) + PARAMETERS[kind][1]:
                with self.subTest(block=kind, parameters=parameters):
                    flowgraph = Flowgraph(
                        kind, {"backend": BACKEND, **base, **parameters}
                    )
                    flowgraph.errors()
                    self.assertFalse(flowgraph.block.is_valid())
                    if parameters != {"device": "-1"} or BACKEND == "cuda":
                        with self.assertRaises(
                            (ValueError, TypeError, RuntimeError, NameError)
                        ):
                            flowgraph.make()

    def test_a_parameter_without_an_effect_is_hidden(self):
        for kind, parameters, hidden, shown in (
            ("cudaphy_mimo_equalizer", {}, [], ["noise_variance"]),
            ("cudaphy_mimo_equalizer", {"noise_input": "True"}, ["noise_variance"], []),
            ("cudaphy_mimo_equalizer", {"method": "zf"}, ["unbiased"], []),
            ("cudaphy_soft_demapper", {"noise_input": "True"}, ["noise_variance"], []),
            ("cudaphy_matrix_inverse", {"backend": "cpu"}, ["device"], ["backend"]),
            ("cudaphy_mimo_channel_estimator", {}, ["pilots"], ["pilot_symbols"]),
        ):
            block = Flowgraph(kind, parameters).block
            for names, hide in ((hidden, ("all",)), (shown, ("none", "part"))):
                for name in names:
                    self.assertIn(block.params[name].hide, hide, (kind, name))

    def test_ports_follow_the_parameters(self):
        def ports(kind, **parameters):
            block = Flowgraph(kind, parameters).block
            sides = block.active_sinks, block.active_sources
            return [[(p.name, p.dtype, p.vlen) for p in side] for side in sides]

        self.assertEqual(
            ports("cudaphy_matrix_inverse", order="3", type="float"),
            [[("in ◆", "float", 9)], [("out ◆", "float", 9)]],
        )
        self.assertEqual(
            ports("cudaphy_mimo_channel_estimator", receive_antennas="8", layers="2"),
            [
                [("pilots ◆", "complex", 8)],
                [("H ◆", "complex", 16), ("noise ◆", "float", 1)],
            ],
        )
        outputs = [("x ◆", "complex", 2), ("noise ◆", "float", 2)]
        inputs = [("y ◆", "complex", 8), ("H ◆", "complex", 16)]
        noise_var = ("noise_var", "message", 1)
        sizes = {"receive_antennas": "8", "layers": "two"}
        self.assertEqual(
            ports("cudaphy_mimo_equalizer", **sizes), [inputs + [noise_var], outputs]
        )
        self.assertEqual(
            ports("cudaphy_mimo_equalizer", noise_input="True", **sizes),
            [inputs + [("noise ◆", "float", 1)], outputs],
        )
        self.assertEqual(
            ports("cudaphy_soft_demapper", vlen="4"),
            [
                [("x ◆", "complex", 4), ("noise_variance", "message", 1)],
                [("llr ◆", "float", 1)],
            ],
        )
        self.assertEqual(
            ports("cudaphy_soft_demapper", vlen="4", noise_input="True")[0],
            [("x ◆", "complex", 4), ("noise ◆", "float", 4)],
        )

    def test_ports_whose_items_can_stay_on_the_gpu_are_marked(self):
        for path in FOLDER.glob("*.block.yml"):
            block = c_safe_load(path.read_text())
            ports = block.get("inputs", []) + block.get("outputs", [])
            labels = [p.get("label", "") for p in ports if p["domain"] == "stream"]
            # These are the parameters of the blocks that gather batches.
            names = {p["id"] for p in block.get("parameters", [])}
            batches = {"device", "max_batch", "max_latency"} <= names
            for label in labels:
                self.assertEqual(label.endswith(" ◆"), batches, (path.name, label))

    def test_noise_variance_can_be_changed_while_a_flowgraph_runs(self):
        for kind in ("cudaphy_mimo_equalizer", "cudaphy_soft_demapper"):
            flowgraph = Flowgraph(kind, {"noise_variance": "0.25", "backend": BACKEND})
            (callback,) = flowgraph.block.templates.render("callbacks")
            block = flowgraph.make()
            eval("block." + callback.replace("0.25", "0.5"))
            self.assertEqual(block.noise_variance(), 0.5)

    def test_constellations_are_those_of_the_module(self):
        text = (FOLDER / "cudaphy_soft_demapper.block.yml").read_text()
        by_id = {p["id"]: p for p in c_safe_load(text)["parameters"]}
        names = [name.strip('"') for name in by_id["constellation"]["options"]]
        self.assertEqual(names, cudaphy.constellation_names())
        self.assertEqual(len(by_id["constellation"]["option_labels"]), len(names))

    def codes(self):
        """Good (parameters of the code's block, n)."""
        for n in (648, 1296, 1944):
            for rate in ("1/2", "2/3", "3/4", "5/6"):
                yield {"family": "wifi", "n": str(n), "wifi_rate": f'"{rate}"'}, n
        for rate in "1/4 1/3 2/5 1/2 3/5 2/3 3/4 4/5 5/6 8/9 9/10".split():
            yield {"family": "dvbs2", "dvbs2_rate": f'"{rate}"'}, 64800
            if rate != "9/10":
                short = {
                    "family": "dvbs2",
                    "frame": '"short"',
                    "dvbs2_rate": f'"{rate}"',
                }
                yield short, 16200
        yield {"family": "wifi", "wifi_rate": "3/4"}, 1944  # typed without quotes
        yield {"family": "dvbs2x", "dvbs2x_normal_rate": '"154/180"'}, 64800
        yield {"family": "dvbs2x", "dvbs2x_frame": '"medium"'}, 30780
        sf2 = '"11/45 VL-SNR SF2"'
        yield {
            "family": "dvbs2x",
            "dvbs2x_frame": '"short"',
            "dvbs2x_short_rate": sf2,
        }, 15390
        yield {"family": "dvbt2", "frame": '"short"', "dvbt2_rate": '"1/4"'}, 16200
        graph = {"base_graph": "2", "lifting_size": "9", "rows": "5", "fillers": "3"}
        yield {"family": "nr5g", **graph}, (10 + 5 - 2) * 9 - 3
        yield {"family": "ccsds", "ar4ja_rate": '"4/5"'}, 1280
        yield {"family": "ccsds", "ccsds_family": '"tc"', "tc_k": "256"}, 512
        yield {"family": "ccsds", "ccsds_family": '"c2"', "c2_k": "7136"}, 8158
        yield {"family": "wimax", "wimax_n": "672", "wimax_rate": '"3/4B"'}, 672
        yield {"family": "ten_gbase_t"}, 2048
        yield {"family": "regular"}, 1024

    def test_codes(self):
        for parameters, n in self.codes():
            with self.subTest(parameters=parameters):
                flowgraph = Flowgraph(None, {}, parameters)
                self.assertEqual(flowgraph.errors(), [])
                self.assertEqual(flowgraph.graph.evaluate("code.n"), n)
                self.assertGreater(flowgraph.graph.evaluate("code.k"), 0)
        for parameters in (
            {"family": "wifi", "n": "649"},
            {"family": "wifi", "wifi_rate": '"7/8"'},
            {"family": "dvbs2", "frame": '"long"'},
            {"family": "dvbs2", "frame": '"short"', "dvbs2_rate": '"9/10"'},
            {"family": "dvbs2", "dvbs2_rate": '"1/5"'},
            {
                "family": "dvbs2x",
                "dvbs2x_frame": '"medium"',
                "dvbs2x_medium_rate": "1/2",
            },
            {"family": "dvbt2", "dvbt2_rate": '"1/4"'},
            {"family": "nr5g", "lifting_size": "17"},
            {"family": "nr5g", "base_graph": "2"},
            {"family": "nr5g", "fillers": "7680"},
            {"family": "ccsds", "ar4ja_k": "1000"},
            {"family": "ccsds", "ccsds_family": '"tc"', "tc_k": "128"},
            {"family": "wimax", "wimax_n": "577"},
            {"family": "wimax", "wimax_rate": '"2/3"'},
            {"family": "regular", "regular_n": "1023"},
            {"family": "regular", "row_weight": "3"},
            {"family": "alist"},
            {"family": "qc"},
            {"family": "qc", "file": "no/such/file"},
        ):
            with self.subTest(parameters=parameters):
                flowgraph = Flowgraph(None, {}, parameters)
                flowgraph.errors()
                self.assertFalse(flowgraph.code.is_valid())

    def test_codes_from_files(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {"qc": "4 2 3\n0 1 0 -1\n2 0 -1 0\n"}
            files[
                "alist"
            ] = "4 2\n1 3\n1 1 1 1\n2 2\n1 0 0\n1 0 0\n2 0 0\n2 0 0\n1 2 0\n3 4 0\n"
            for family, text in files.items():
                path = Path(folder) / family
                path.write_text(text)
                code = {"family": family, "file": str(path)}
                flowgraph = Flowgraph("cudaphy_ldpc_encoder", {"code": "code"}, code)
                self.assertEqual(flowgraph.errors(), [])
                self.assertGreater(flowgraph.graph.evaluate("code.k"), 0)
                self.assertTrue(flowgraph.make())

    def test_generated_programs_run(self):
        for kind, base in BLOCKS.items():
            parameters = {"backend": "where", "max_batch": "two", **base}
            flowgraph = Flowgraph(kind, parameters)
            self.assertEqual(flowgraph.errors(), [])
            with tempfile.TemporaryDirectory() as folder:
                generator = PLATFORM.Generator(flowgraph.graph, folder)
                generator.write()
                program = runpy.run_path(generator.file_path)
            top = program["tried"]()
            self.assertEqual(top.tried_block.backend(), BACKEND)
            top.start()
            top.stop()
            top.wait()


if __name__ == "__main__":
    main()
