#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio Companion's window as a user sees it: positions of blocks in the list and in
the examples, and the blocks' help. GRC's own drawing code gives the blocks' sizes."""

import os
import re
import tempfile
import types
import unittest
from unittest import mock

from qa_grc import FOLDER, PLATFORM, build_library, c_safe_load

EXAMPLES = FOLDER.parent / "examples"
FLOWGRAPHS = sorted([*EXAMPLES.glob("*.grc"), *EXAMPLES.glob("live/*.grc")])
# GRC shortens a long value only if its label has fewer characters.
LONGEST_LABEL = 22

try:
    import cairo
    import gi

    gi.require_version("Gtk", "3.0")
    gi.require_version("PangoCairo", "1.0")
    from gi.repository import Gio, Gtk, PangoCairo

    # GRC needs these when it is imported; without a display there is no screen.
    Gtk.StyleContext.add_provider_for_screen = lambda *_: None
    Gio.Application.set_default(Gtk.Application())
    from gnuradio import gr
    from gnuradio.grc.core.FlowGraph import FlowGraph
    from gnuradio.grc.gui.canvas import block as drawn_block
    from gnuradio.grc.gui.canvas import port as drawn_port
    from gnuradio.grc.gui.Platform import Platform
except (ImportError, ValueError) as missing:
    Platform, MISSING = None, str(missing)


def drawing_platform():
    """GRC's platform whose blocks know their sizes, without a window."""
    context = cairo.Context(cairo.ImageSurface(cairo.FORMAT_ARGB32, 8, 8))

    class Area:
        def create_pango_layout(self, text):
            layout = PangoCairo.create_layout(context)
            layout.set_text(text, -1)
            return layout

    for module in (drawn_block, drawn_port):
        module.Gtk = types.SimpleNamespace(DrawingArea=Area)
    Platform.FlowGraph = FlowGraph
    # GRC makes its folder in the user's home.
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home):
        platform = Platform(
            prefs=gr.prefs(),
            install_prefix=gr.prefix(),
            version=gr.version(),
            version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()),
        )
    build_library(platform)
    return platform


def box(block):
    """(left, top, right, bottom) of a block with its ports and comment."""
    block.create_labels()
    block.create_shapes()
    x, y = block.coordinate
    widths = [
        max([port.width_with_label for port in ports], default=0)
        for ports in (block.active_sinks, block.active_sources)
    ]
    left, right = widths[::-1] if block.rotation == 180 else widths
    below = block._comment_layout.get_pixel_size()[1] if block._comment_layout else 0
    return x - left, y, x + block.width + right, y + block.height + below


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


class qa_grc_window(unittest.TestCase):
    @unittest.skipIf(Platform is None, "no GTK 3 with Pango and cairo for Python")
    def test_no_block_of_an_example_lies_over_another(self):
        platform = drawing_platform()
        for path in FLOWGRAPHS:
            flowgraph = platform.make_flow_graph(str(path))
            flowgraph.rewrite()
            flowgraph.validate()
            boxes = {block.name: box(block) for block in flowgraph.blocks}
            self.assertGreater(len(boxes), 5)
            names = sorted(boxes)
            over = [
                (a, b)
                for number, a in enumerate(names)
                for b in names[:number]
                if overlap(boxes[a], boxes[b])
            ]
            self.assertEqual(over, [], path.name)
            for name, (left, top, right, bottom) in boxes.items():
                inside = left >= 0 and top >= 0 and right <= 3000 and bottom <= 3000
                self.assertTrue(inside, (path.name, name, boxes[name]))

    def test_windows_open_large_enough(self):
        seen = 0
        for path in FLOWGRAPHS:
            graph = c_safe_load(path.read_text())
            if graph["options"]["parameters"]["generate_options"] != "qt_gui":
                continue
            seen += 1
            codes = [
                block["parameters"]["code"]
                for block in graph["blocks"]
                if block["id"] == "snippet"
                and block["parameters"]["section"] == "init_before_blocks"
            ]
            sizes = re.findall(r"self\.resize\((\d+), (\d+)\)", "".join(codes))
            self.assertEqual(len(sizes), 1, path.name)
            self.assertGreaterEqual(int(sizes[0][0]), 1000, path.name)
            self.assertGreaterEqual(int(sizes[0][1]), 700, path.name)
        self.assertGreater(seen, 5)

    def test_help_names_examples_that_have_the_block(self):
        named = 0
        for path in FOLDER.glob("*.block.yml"):
            block = c_safe_load(path.read_text())
            text = block["documentation"]
            for name in re.findall(r"[\w/]+\.grc\b", text):
                example = EXAMPLES / name.removeprefix("examples/")
                self.assertTrue(example.is_file(), (path.name, name))
            for name in re.findall(r"Examples?: (?:examples/)?([\w/]+\.grc)", text):
                named += 1
                graph = c_safe_load((EXAMPLES / name).read_text())
                ids = {one["id"] for one in graph["blocks"]}
                self.assertIn(block["id"], ids, (path.name, name))
        self.assertGreater(named, 15)

    def test_blocks_stand_where_a_user_looks(self):
        for name, category in (
            ("cudaphy_soft_demapper", "Modulation"),
            ("cudaphy_dvbs2_frame_sync", "Synchronization"),
            ("cudaphy_mimo_equalizer", "MIMO"),
            ("cudaphy_mimo_ofdm_transmitter", "MIMO"),
            ("cudaphy_ldpc_decoder", "LDPC"),
            ("cudaphy_packet_resync", "Packets"),
        ):
            where = PLATFORM.blocks[name].category
            self.assertEqual(where, ["CUDA PHY", category], name)

    def test_labels_on_a_block_leave_room_for_their_values(self):
        for path in FOLDER.glob("*.block.yml"):
            for parameter in c_safe_load(path.read_text())["parameters"]:
                if parameter["dtype"] == "raw" and parameter.get("hide") != "part":
                    label = parameter["label"]
                    self.assertLessEqual(len(label), LONGEST_LABEL, (path.name, label))


if __name__ == "__main__":
    os.environ.pop("DISPLAY", None)  # the same on every machine
    unittest.main()
