#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MIMO blocks fit each other with their default parameters in GNU Radio Companion: a
link of these blocks decodes every bit."""

import runpy
import tempfile
import threading
import unittest

import numpy as np
from gnuradio import cudaphy
from qa_grc import PLATFORM, add, new_flowgraph
from qa_support import BACKEND, main

FRAMES = 12
PILOTS, DATA, LAYERS = 2 * 52, 24 * 52, 2  # vectors of a frame
N, K = 1944, 972  # of LDPC Code's default
BITS = f"__import__('random').Random(3).choices((0, 1), k={FRAMES * 2 * K})"


class Link:
    """A flowgraph of blocks by name. This module's blocks keep all default parameters but
    the backend and the code."""

    def __init__(self):
        self.graph = new_flowgraph("link")
        self.blocks = {}
        add(self.graph, "variable_cudaphy_ldpc_code", "code", {})
        add(self.graph, "import", "imported", {"imports": "from gnuradio import cudaphy"})

    def add(self, kind, name, **parameters):
        if kind.startswith("cudaphy"):
            assert set(parameters) <= {"code"}, parameters
            known = {p["id"] for p in PLATFORM.blocks[kind].parameters_data}
            if "backend" in known:
                parameters["backend"] = f'"{BACKEND}"'
        self.blocks[name] = add(self.graph, kind, name, parameters)

    def connect(self, *ends):
        """Connects a row of names, with a port's number after a colon if it is not 0. An
        inner block has the same port number on both sides."""
        ports = [
            (name, int(port or 0)) for name, _, port in (e.partition(":") for e in ends)
        ]
        for (a, out), (b, into) in zip(ports, ports[1:]):
            source, sink = self.blocks[a], self.blocks[b]
            self.graph.connect(source.active_sources[out], sink.active_sinks[into])

    def errors(self):
        self.graph.rewrite()
        self.graph.validate()
        return [f"{where}: {text}" for where, text in self.graph.iter_error_messages()]

    def run(self, case):
        """Generates the program, runs it to its end, and returns its top block."""
        case.assertEqual(self.errors(), [])
        with tempfile.TemporaryDirectory() as folder:
            generator = PLATFORM.Generator(self.graph, folder)
            generator.write()
            top = runpy.run_path(generator.file_path)["link"]()
        top.start()
        waiter = threading.Thread(target=top.wait, daemon=True)
        waiter.start()
        waiter.join(60)
        if waiter.is_alive():
            top.stop()
            case.fail("the flowgraph did not end")
        return top

    def add_transmitter(self, pad):
        """From coded bits of two words a frame to the samples of two antennas. Zeros may
        fill up the frame behind the words."""
        self.add(
            "blocks_vector_source_x", "bits", type="byte", vector=BITS, repeat="False"
        )
        self.add("cudaphy_ldpc_encoder", "encoder", code="code")
        coded = ["encoder"]
        if pad:
            self.add("blocks_vector_source_x", "zeros", type="byte", vector="[0]")
            lengths = f"[{2 * N}, {DATA * LAYERS * 2 - 2 * N}]"
            self.add("blocks_stream_mux", "padded", type="byte", lengths=lengths)
            self.connect("zeros", "padded:1")
            coded.append("padded")
        self.add(
            "blocks_repack_bits_bb", "labels", k="1", l="2", endianness="gr.GR_MSB_FIRST"
        )
        points = 'list(cudaphy.constellation("qpsk").points)'
        table = {"in_type": "byte", "dimension": "1", "symbol_table": points}
        self.add("digital_chunks_to_symbols_xx", "points", **table)
        vectors = {"type": "complex", "num_items": str(LAYERS)}
        self.add("blocks_stream_to_vector", "layers", **vectors)
        pilots = "list(cudaphy.orthogonal_pilots(2, 2).repeat(52, 0).reshape(2, 52, 2).ravel())"
        self.add("blocks_vector_source_x", "pilots", vector=pilots, vlen=str(LAYERS))
        sizes = {"vlen": str(LAYERS), "lengths": f"[{PILOTS}, {DATA}]"}
        self.add("blocks_stream_mux", "frame", **sizes)
        self.add("cudaphy_mimo_ofdm_transmitter", "transmitter")
        self.connect("bits", *coded, "labels", "points", "layers", "frame:1")
        self.connect("pilots", "frame")
        self.connect("frame", "transmitter")

    def add_channel(self, kind):
        self.add(kind, "channel")
        self.add("cudaphy_mimo_ofdm_receiver_frontend", "frontend")
        for antenna in ("", ":1"):
            self.connect(
                "transmitter" + antenna, "channel" + antenna, "frontend" + antenna
            )

    def check(self, case, decoder):
        self.add("blocks_vector_sink_x", "decoded", type="byte")
        self.connect(decoder, "decoded")
        top = self.run(case)
        sent = np.array(eval(BITS), np.uint8)
        got = np.array(top.decoded.data(), np.uint8)
        case.assertGreaterEqual(len(got), len(sent) - 2 * 3 * K)
        np.testing.assert_array_equal(got, sent[: len(got)])
        return top


CHANNELS = ("cudaphy_mimo_fixed_channel", "cudaphy_mimo_multipath_channel")


class qa_grc_link(unittest.TestCase):
    def test_a_link_of_single_blocks_decodes_with_the_parameters_they_are_dragged_with(
        self,
    ):
        for channel in CHANNELS:
            with self.subTest(channel=channel):
                link = Link()
                link.add_transmitter(pad=False)
                link.add_channel(channel)
                parts = {"vlen": str(LAYERS), "lengths": f"[{PILOTS}, {DATA}]"}
                link.add("blocks_stream_demux", "parts", num_outputs="2", **parts)
                link.add("cudaphy_mimo_channel_estimator", "estimator")
                link.add("cudaphy_mimo_equalizer", "equalizer")
                serial = {"type": "complex", "num_items": str(LAYERS)}
                link.add("blocks_vector_to_stream", "serial", **serial)
                link.add("cudaphy_soft_demapper", "demapper")
                link.add("cudaphy_ldpc_decoder", "decoder", code="code")
                link.connect("frontend", "parts")
                link.connect("parts", "estimator")
                link.connect("parts:1", "equalizer")
                link.connect("estimator", "equalizer:1")
                link.connect("equalizer", "serial", "demapper", "decoder")
                # No output noise is connected.
                link.check(self, "decoder")

    def test_mimo_receiver_decodes_behind_the_front_end_with_the_parameters_it_is_dragged_with(
        self,
    ):
        for channel in CHANNELS:
            with self.subTest(channel=channel):
                link = Link()
                link.add_transmitter(pad=True)
                link.add_channel(channel)
                link.add("cudaphy_mimo_receiver", "receiver", code="code")
                link.connect("frontend", "receiver")
                link.check(self, "receiver")

    def test_channel_model_and_frame_filler_have_the_sizes_of_the_other_blocks(self):
        link = Link()
        link.add_transmitter(pad=True)
        link.add_channel(CHANNELS[0])
        link.add("cudaphy_frame_filler", "filler")
        link.add("cudaphy_mimo_receiver", "receiver", code="code")
        link.connect("frontend", "filler", "receiver")
        link.check(self, "receiver")
        link = Link()
        link.add_transmitter(pad=True)
        link.graph.remove_element(link.blocks["transmitter"])
        link.add("cudaphy_mimo_channel_model", "channel")
        link.add("cudaphy_mimo_receiver", "receiver", code="code")
        link.connect("frame", "channel", "receiver")
        link.check(self, "receiver")

    def test_all_blocks_have_the_same_sizes(self):
        sizes = {
            "receive_antennas": "2",
            "transmit_antennas": "2",
            "antennas": "2",
            "layers": "2",
            "tones": "52",
        }
        for kind, block in PLATFORM.blocks.items():
            if kind.startswith("cudaphy_mimo"):
                for parameter in block.parameters_data:
                    default = str(parameter.get("default"))
                    self.assertEqual(default, sizes.get(parameter["id"], default), kind)
        self.assertEqual(cudaphy.ldpc_code("wifi", n=N, rate="1/2").k, K)


if __name__ == "__main__":
    main()
