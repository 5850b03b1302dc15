#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs in C++ that GNU Radio Companion writes. One flowgraph has every block with a class in C++; as a C++
program and as a Python program it puts out the same bytes."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy import companion_cpp
from qa_grc import FOLDER, PLATFORM, add, new_flowgraph
from qa_support import BACKEND, main


INCLUDE = FOLDER.parent / "include"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
LIBRARIES = "gnuradio-cudaphy gnuradio-blocks gnuradio-runtime gnuradio-pmt"
LOGGING = "spdlog fmt"  # of GNU Radio's headers
# Classes without a block in C++: why Companion writes none.
NOT_IN_CPP = {
    "ofdm_synchronizer": "a part of MIMO OFDM Receiver Front End, which is written in Python",
    "ldpc_encoder_def": "for GNU Radio's FEC blocks, which Companion writes in Python alone",
    "ldpc_decoder_def": "for GNU Radio's FEC blocks, which Companion writes in Python alone",
}
WAITING = ("nr_pdsch_transmitter", "nr_pusch_transmitter")  # for messages, without end
# In noise without tags.
NOTHING_FOUND = ("dvbs2_frame_sync", "bb_deframer", "nr_ofdm_modulator")
ITEMS = 10000
NUMPY = {
    "complex": np.complex64,
    "float": np.float32,
    "short": np.float16,
    "byte": np.uint8,
}
VARIABLES = {
    "three": "3",
    "key": '""',
    "variance": "0.25",
    "where": f'"{BACKEND}"',
}
OBJECTS = {
    "wifi": ("ldpc", {"family": "wifi", "n": "648", "wifi_rate": "2/3"}),
    "nr": (
        "ldpc",
        {"family": "nr5g", "base_graph": "2", "lifting_size": "8", "rows": "20"},
    ),
    "dvb": ("ldpc", {"family": "dvbs2x", "dvbs2x_frame": '"medium"'}),
    "tc": ("ldpc", {"family": "ccsds", "ccsds_family": '"tc"'}),
    "wimax": ("ldpc", {"family": "wimax", "wimax_n": "576"}),
    "regular": ("ldpc", {"family": "regular"}),
    "ten_g": ("ldpc", {"family": "ten_gbase_t"}),
    "primitive": (
        "bch",
        {"family": "primitive", "m": "8", "t": "three", "shortened": "5"},
    ),
    "grant": ("nr_channel", {"layers": "three - 1", "dmrs_ports": "[0, 2]", "mcs": "9"}),
    "downlink": (
        "nr_channel",
        {
            "link": '"pdsch"',
            "prbs": "(3, 9)",
            "ptrs": "True",
            "mcs_table": '"qam256"',
            "reserved": "[[1] * 10 + [0] * 614] + [[0] * 624] * 13",
        },
    ),
    "outer": ("bch", {"family": "dvbt2", "frame": '"short"', "dvbt2_rate": '"3/5"'}),
    "room": (
        "scene",
        {
            "cells": "(40, 30)",
            "spacing": "[0.01, 0.02]",
            "boundary": '["cpml", ("pec", "pmc")]',
            "boxes": '[((12, 2), (16, 28), {"eps_r": 4, "debye": [(1.5, 1e-11)]})]',
            "conductors": "[((20, 4), (20, 9))]",
            "ports": '[((11, 20), "ez", 75), ((30, 20), "ez", 50, False)]',
            "sources": '[((25, 15), "ez", "current")]',
            "probes": '[((28, 15), "hx")]',
        },
    ),
    "line": ("scene", {"cells": "60", "spacing": "[0.01]", "dtype": '"float64"'}),
}
KINDS = {
    "ldpc": "variable_cudaphy_ldpc_code",
    "bch": "variable_cudaphy_bch_code",
    "scene": "variable_cudaphy_fdtd_scene",
    "nr_channel": "variable_cudaphy_nr_shared_channel",
}
OBJECTS["line"][1].update(boxes="[]", sources='[((30,), "ez")]', probes='[((40,), "ez")]')
# Blocks with parameters that differ from the defaults in all that changes the output.
BLOCKS = [
    ("bb_deframer", {"frame_bits": "2000 + three", "isi": "7", "gse": "False"}),
    ("bch_encoder", {"code": "primitive"}),
    ("bch_decoder", {"code": "outer", "packed_output": "True"}),
    ("dvbs2_frame_sync", {"gold_code": "5", "pls": "[4, 6]", "most_frequency": "0.1"}),
    ("fdtd_channel", {"simulation": "room", "plane": '("ez", "y", 15)'}),
    ("fdtd_channel", {"simulation": "line", "format": '"crs"', "plane": "[3, 1]"}),
    ("ldpc_encoder", {"code": "tc"}),
    ("ldpc_encoder", {"code": "ten_g", "packed_input": "True"}),
    (
        "ldpc_decoder",
        {"code": "nr", "max_iterations": "2 * three", "scale": "0.7", "packed": "True"},
    ),
    (
        "ldpc_decoder",
        {"code": "wimax", "algorithm": '"sum_product"', "output": '"codeword"'},
    ),
    (
        "ldpc_decoder",
        {"code": "wifi", "soft_output": "True", "arithmetic": '"float32"'},
    ),
    (
        "ldpc_decoder_pdu",
        {"code": "wifi", "codes": "{'a \"b\"': regular}", "stop_crc": '"16"'},
    ),
    ("ldpc_encoder_pdu", {"code": "regular", "codes": "[dvb, wifi]"}),
    ("matrix_inverse", {"order": "three", "pivoting": '"partial"'}),
    ("mimo_channel_estimator", {"method": '"mmse"', "delay_spread": "0.1"}),
    (
        "mimo_channel_estimator",
        {
            "pilot_kind": "own",
            "pilots": "[[1, 1], [1j, -1j], [1, -1]]",
            "tones": "9",
            "times": "[0, 1.5]",
            "tone_numbers": "[-5, -4, -3, -2, -1, 1, 2, 3, 4]",
        },
    ),
    (
        "mimo_channel_estimator",
        {"pilot_kind": "pattern", "pilots": "cudaphy.comb_pilots(2, 2, 52)"},
    ),
    ("mimo_equalizer", {"method": '"zf"', "noise_variance": "variance", "layers": "1"}),
    ("mimo_equalizer", {"noise_input": "True", "unbiased": "False", "tones": "4"}),
    (
        "mimo_receiver",
        {"code": "wifi", "pilots": "cudaphy.orthogonal_pilots(2, 2)", "max_log": "False"},
    ),
    (
        "nr_ofdm_demodulator",
        {"numerology": "three - 1", "subcarriers": "24", "fft_size": "128", "slot": "5"},
    ),
    (
        "nr_ofdm_modulator",
        {
            "numerology": "2",
            "extended_prefix": "True",
            "subcarriers": "24",
            "fft_size": "36",
            "carrier_frequency": "3.5e9",
            "middle": "-three",
            "window": "4",
        },
    ),
    ("nr_pdsch_receiver", {"channels": "[downlink]", "slots": "[[1, 2]]"}),
    (
        "nr_pdsch_transmitter",
        {"channel": "downlink", "precoding": "[[1], [1j]]", "user": "three"},
    ),
    ("nr_pusch_receiver", {"channels": "grant", "antennas": "2", "packed": "False"}),
    ("nr_pusch_transmitter", {"channel": "grant", "slot": "three"}),
    ("packet_resync", {"type": "float", "packet_length": "100", "stamp": "True"}),
    ("soft_demapper", {"constellation": '"qam16"', "noise_variance": "variance"}),
    (
        "soft_demapper",
        {"points": "[1, 1j, -1, -1j]", "labels": "[0, 1, 3, 2]", "type": "float16"},
    ),
    (
        "soft_demapper",
        {
            "constellation": '"dvbs2_8psk"',
            "bit_interleaver": '"210"',
            "frame_symbols": "100",
            "type": "int8",
            "llr_steps": "5.5",
            "noise_input": "True",
        },
    ),
    ("sparse_matvec", {"matrix": "[[1, 0, 2j]]", "rows": "1", "columns": "three"}),
    ("sparse_matvec", {"type": "float", "format": '"diagonal"'}),
    ("symbol_sync", {"samples_per_symbol": "2.5", "roll_off": "0.35", "span": "20"}),
    ("symmetric_inverse", {"order": "6", "check": "False", "definite": '"positive"'}),
    ("triangular_inverse", {"order": "4", "lower": "False", "type": "float"}),
    ("triangular_inverse", {"order": "5", "unit_diagonal": "True"}),
]


# Their length tag key must not be empty, as the variable "key" is.
WITH_PACKETS = ("cudaphy_packet_resync", "cudaphy_dvbs2_frame_sync", "cudaphy_nr_")


def samples(kind, count, seed):
    """Random items of a port's type, of unit variance; bits if they are bytes."""
    random = np.random.default_rng(seed)
    if kind == "byte":
        return random.integers(0, 2, count, np.uint8)
    parts = random.standard_normal((count, 2)).astype(np.float32)
    return (
        parts.view(np.complex64) if kind == "complex" else parts[:, 0].astype(NUMPY[kind])
    )


class Flowgraph:
    """All blocks between files."""

    def __init__(self, folder, language, blocks=BLOCKS):
        self.folder, self.outputs = Path(folder), []
        self.graph = new_flowgraph(f"all_{language}", language, run="run")
        for name, value in VARIABLES.items():
            add(self.graph, "variable", name, {"value": value}, whole=False)
        for name, (kind, parameters) in OBJECTS.items():
            add(self.graph, KINDS[kind], name, parameters, whole=False)
        if language == "python":
            imports = {"imports": "from gnuradio import cudaphy"}
            add(self.graph, "import", "imported", imports, whole=False)
        self.graph.rewrite()
        for number, (kind, parameters) in enumerate(blocks):
            self.add(f"cudaphy_{kind}", f"{kind}_{number}", parameters, language)
        self.graph.rewrite()
        self.graph.validate()

    def add(self, kind, name, parameters, language):
        known = {one["id"] for one in PLATFORM.blocks[kind].parameters_data}
        common = {"backend": "where"}
        if not kind.startswith(WITH_PACKETS):
            common["length_tag_key"] = "key"
        values = {key: one for key, one in common.items() if key in known}
        # The first one's imports are all blocks', and its rewriting the whole flowgraph's.
        first = not self.outputs
        block = add(self.graph, kind, name, {**values, **parameters}, whole=first)
        for side in (block.active_sinks, block.active_sources):
            for index, port in enumerate(one for one in side if one.domain == "stream"):
                self.end(
                    port, f"{name}_{'out' if port.is_source else 'in'}{index}", language
                )

    def end(self, port, name, language):
        """A file at a port."""
        file = self.folder / (f"{name}.{language}" if port.is_source else name)
        common = {"type": port.dtype, "vlen": str(port.vlen), "file": f'"{file}"'}
        if port.is_source:
            sink = add(self.graph, "blocks_file_sink", name, common, whole=False)
            self.outputs.append(file)
            self.graph.connect(port, sink.active_sinks[0])
        else:
            samples(port.dtype, ITEMS * port.vlen, seed=len(name)).tofile(file)
            more = {"repeat": "False", "begin_tag": "pmt.PMT_NIL"}
            source = add(
                self.graph, "blocks_file_source", name, {**common, **more}, whole=False
            )
            self.graph.connect(source.active_sources[0], port)

    def errors(self):
        return [f"{where}: {text}" for where, text in self.graph.iter_error_messages()]

    def write(self):
        PLATFORM.Generator(self.graph, str(self.folder)).write()


def without_sanitizer():
    """The environment for programs that have none."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


def logging_flags():
    """Of the libraries that GNU Radio's headers need, as far as pkg-config knows them."""
    flags = []
    for name in LOGGING.split() if shutil.which("pkg-config") else ():
        command = ["pkg-config", "--cflags", "--libs", name]
        found = subprocess.run(command, capture_output=True, text=True)
        flags += found.stdout.split() if found.returncode == 0 else []
    return flags


def library_folder():
    """Of the library that this process has loaded."""
    maps = Path("/proc/self/maps").read_text()
    return Path(re.search(r"(/\S*libgnuradio-cudaphy\S*)", maps).group(1)).parent


class qa_grc_cpp(unittest.TestCase):
    def test_every_class_has_a_block_in_cpp_or_a_reason(self):
        headers = {
            path.stem
            for path in (INCLUDE / "gnuradio/cudaphy").glob("*.h")
            if "static sptr make(" in path.read_text()
        }
        included = {}
        for kind, block in PLATFORM.blocks.items():
            templates = getattr(block, "cpp_templates", {})
            text = "\n".join(templates.get("includes", []))
            found = re.findall(r"gnuradio/cudaphy/(\w+)\.h", text)
            if kind.startswith("cudaphy_") and found:
                self.assertTrue("cpp" in block.flags, kind)
                included[found[0]] = kind
        self.assertEqual(headers - set(included), set(NOT_IN_CPP))
        tried = {f"cudaphy_{kind}" for kind, _ in BLOCKS}
        self.assertEqual(set(included.values()), tried)

    @unittest.skipUnless(COMPILER, "there is no compiler")
    def test_programs_in_cpp_and_python_put_out_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            ending = [one for one in BLOCKS if one[0] not in WAITING]
            in_cpp, in_python = (
                Flowgraph(folder, one, ending) for one in ("cpp", "python")
            )
            self.assertEqual(in_cpp.errors(), [])
            self.assertEqual(in_python.errors(), [])
            in_cpp.write()
            in_python.write()
            source = Path(folder, "all_cpp/all_cpp.cpp")
            recipe = source.with_name("CMakeLists.txt").read_text()
            self.assertIn("find_package(gnuradio-cudaphy)", recipe)
            self.assertIn("gnuradio::gnuradio-cudaphy", recipe)
            if not self.compile(source):
                return
            for program in (
                [source.with_suffix("")],
                [sys.executable, folder + "/all_python.py"],
            ):
                done = subprocess.run(
                    program, timeout=120, capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            full = 0
            for cpp, python in zip(in_cpp.outputs, in_python.outputs):
                with self.subTest(output=cpp.stem):
                    self.assertEqual(cpp.stem, python.stem)
                    self.assertEqual(cpp.read_bytes(), python.read_bytes())
                    full += cpp.stat().st_size > 0
            self.assertEqual(full, len(in_cpp.outputs) - len(NOTHING_FOUND))

    @unittest.skipUnless(COMPILER, "there is no compiler")
    def test_programs_with_blocks_that_never_end_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            waiting = [one for one in BLOCKS if one[0] in WAITING]
            graph = Flowgraph(folder, "cpp", waiting)
            self.assertEqual(graph.errors(), [])
            graph.write()
            self.compile(Path(folder, "all_cpp/all_cpp.cpp"))

    def compile(self, source):
        """Returns whether there is a program. Beside a sanitizer, which has a runtime of its own, there is none."""
        flags = [
            "-std=c++17",
            "-O0",
            "-Wall",
            "-Werror",
            "-Wno-error=deprecated-declarations",
        ]
        command = [COMPILER, *flags, f"-I{INCLUDE}", source]
        if os.environ.get("LD_PRELOAD"):
            command.append("-fsyntax-only")
            subprocess.run(command, check=True, env=without_sanitizer())
            return False
        folder = library_folder()
        command += ["-o", source.with_suffix(""), f"-L{folder}", f"-Wl,-rpath,{folder}"]
        command += [f"-l{name}" for name in LIBRARIES.split()] + logging_flags()
        subprocess.run(command, check=True)
        return True

    def test_what_cpp_cannot_have_is_refused_with_the_block_that_has_it(self):
        for kind, parameters, said in (
            ("ldpc_encoder", {"code": "cudaphy.ldpc_code('regular')"}, "is no ID"),
            (
                "ldpc_encoder_pdu",
                {"code": "wifi", "codes": "dict(a=nr)"},
                "C\\+\\+ takes",
            ),
        ):
            with tempfile.TemporaryDirectory() as folder:
                graph = Flowgraph(folder, "cpp", [(kind, parameters)])
                with self.assertRaisesRegex(Exception, f"{kind}_0.*{said}"):
                    graph.write()

    def test_expressions_that_cpp_reads_otherwise_become_their_values(self):
        with tempfile.TemporaryDirectory() as folder:
            graph = Flowgraph(folder, "cpp", []).graph
            block = add(graph, "cudaphy_matrix_inverse", "tried", {})
            for typed, wanted in (
                ("three", "three"),
                ("2 * three - 1", "((2 * three) - 1)"),
                ("three ** 2", "9"),
                ("7 // 2", "3"),
                ("nr.k", "80"),
                ("int(6.5)", "6"),
                ("0x10", "16"),
            ):
                block.params["order"].set_value(typed)
                graph.rewrite()
                given = block.params["order"].template_arg
                self.assertEqual(companion_cpp.number(given), wanted, typed)
            for typed, wanted in (
                ("where", "where"),
                ('"where"', '"where"'),
                ("packet_len", '"packet_len"'),
                ("", '""'),
                ("'a\"b'", '"a\\"b"'),
            ):
                block.params["length_tag_key"].set_value(typed)
                graph.rewrite()
                given = block.params["length_tag_key"].template_arg
                self.assertEqual(companion_cpp.text(given), wanted, typed)

    def test_values_that_cpp_cannot_have_are_refused(self):
        for value in (float("nan"), float("inf"), None, object()):
            with self.assertRaises(ValueError):
                companion_cpp.literal(value)


if __name__ == "__main__":
    main()
