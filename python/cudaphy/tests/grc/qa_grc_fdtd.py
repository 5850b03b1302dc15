#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block files of FDTD Channel and FDTD Scene in GNU Radio Companion."""

import runpy
import tempfile
import time
import unittest

from gnuradio import cudaphy
from qa_grc import PLATFORM, Flowgraph, add, end_ports
from qa_support import BACKEND, main

CUBE = {
    "cells": "(5, 6, 7)",
    "spacing": "[1e-3, 2e-3, [1e-3] * 7]",
    "boundary": '("pec", ("pec", "pmc"), "periodic")',
    "boxes": "[]",
    "ports": '[((1, 2, 3), "ez"), ((2, 2, 3), "ez", 75.0, False)]',
    "sources": '[((3, 3, 3), "hx", "hard")]',
    "probes": '[((1, 1, 1), "ez")]',
    "conductors": "[((4, 4, 0), (4, 4, 4))]",
}
GOOD_SCENES = [
    {},
    CUBE,
    {"mode": '"te"', "sources": '[((30, 50), "hz")]', "probes": '[((9, 9), "ex")]'},
    {
        "cells": "(64,)",
        "boxes": "[]",
        "sources": '[((9,), "ez")]',
        "probes": '[((8,), "hy")]',
    },
    {"courant": "0.5", "dtype": '"float64"', "spacing": "two"},
]
BAD_SCENES = [
    {"cells": "(0, 4)"},
    {"cells": '"many"'},
    {"spacing": "-1.0"},
    {"boundary": '"open"'},
    {"courant": "0"},
    {"courant": "1.01"},
    {"mode": '"tem"'},
    {"dtype": '"float16"'},
    {"sources": '[((30, 100), "ez")]'},
    {"sources": '[((30, 50), "ex")]'},
    {"probes": '[((30,), "ez")]'},
    {"boxes": '[((0, 0), (9, 9), {"eps": 4})]'},
    {"boxes": '[((9, 9), (9, 10), {"eps_r": 4})]'},
]
GOOD = [
    {},
    {"plane": '("ez", "z", 0)', "plane_every": "10"},
    {"plane": "[0, 7]", "format": '"crs"'},
    {"format": '"subdivided_crs"', "max_batch": "65536"},
    {"backend": "where", "max_batch": "two"},
    {
        "simulation": 'cudaphy.fdtd_scene((9,), 1, sources=[((1,), "ez")], probes=[((1,), "ez")])'
    },
]
BAD = [
    {"simulation": "None"},
    {"simulation": "two"},
    {"simulation": "cudaphy.fdtd((9,), 1)"},
    {"simulation": 'cudaphy.fdtd_scene((9,), 1, sources=[((1,), "ez")])'},
    {"simulation": 'cudaphy.fdtd_scene((9,), 1, probes=[((1,), "ez")])'},
    {"plane": '("ey", "z", 0)'},
    {"plane": '("ez", "z", 1)'},
    {"plane": '("ez", "z", 0)', "plane_every": "0"},
    {"format": '"bcrs"'},
    {"backend": '"gpu"'},
    {"max_batch": "-1"},
    {"max_batch": "65537"},
]


class Channel(Flowgraph):
    """A scene, and its channel with null sources and sinks on all ports."""

    def __init__(self, parameters={}, scene={}):
        super().__init__(None, {})
        graph = self.graph
        self.scene = add(graph, "variable_cudaphy_fdtd_scene", "scene", scene)
        parameters = {"simulation": "scene", "backend": BACKEND, **parameters}
        self.block = add(graph, "cudaphy_fdtd_channel", "tried_block", parameters)
        end_ports(graph, self.block)

    def run(self):
        """Runs the program that GRC generates until the channel has done time steps."""
        with tempfile.TemporaryDirectory() as folder:
            generator = PLATFORM.Generator(self.graph, folder)
            generator.write()
            program = runpy.run_path(generator.file_path)
        top = program["tried"]()
        top.start()
        ends = time.monotonic() + 30
        while top.tried_block.steps() == 0 and time.monotonic() < ends:
            time.sleep(0.001)
        top.stop()
        top.wait()
        assert top.tried_block.steps() > 0
        return top


class qa_grc_fdtd(unittest.TestCase):
    def test_good_parameters_make_a_flowgraph_that_runs(self):
        for parameters in GOOD:
            with self.subTest(parameters=parameters):
                flowgraph = Channel(parameters)
                self.assertEqual(flowgraph.errors(), [])
                self.assertEqual(flowgraph.run().tried_block.backend(), BACKEND)

    def test_bad_parameters_make_the_block_invalid(self):
        for parameters in BAD:
            with self.subTest(parameters=parameters):
                flowgraph = Channel(parameters)
                flowgraph.errors()
                self.assertFalse(flowgraph.block.is_valid())

    def test_scenes_that_are_good(self):
        for scene in GOOD_SCENES:
            with self.subTest(scene=scene):
                plane = {"plane": '("ez", "z", 0)'} if "mode" not in scene else {}
                flowgraph = Channel(plane, scene)
                self.assertEqual(flowgraph.errors(), [])
                here = flowgraph.graph.evaluate("scene")
                there = flowgraph.run().scene
                self.assertIsInstance(there, cudaphy.fdtd)
                self.assertEqual(here.cells, there.cells)
                self.assertEqual(here.time_step, there.time_step)

    def test_scenes_that_are_bad(self):
        for scene in BAD_SCENES:
            with self.subTest(scene=scene):
                flowgraph = Channel({}, scene)
                flowgraph.errors()
                self.assertFalse(flowgraph.scene.is_valid())

    def test_ports_follow_the_scene(self):
        def ports(parameters, scene):
            block = Channel(parameters, scene).block
            sides = block.active_sinks, block.active_sources
            return [[(p.name, p.dtype, p.vlen) for p in side] for side in sides]

        reset = ("reset", "message", 1)
        self.assertEqual(
            ports({}, {}), [[("in", "float", 1), reset], [("probe", "float", 1)]]
        )
        inputs = [("in0", "float", 1), ("in1", "float", 1), reset]
        outputs = [(f"probe{n}", "float", 1) for n in range(3)]
        self.assertEqual(ports({}, CUBE), [inputs, outputs])
        self.assertEqual(
            ports({"plane": '("hx", "x", 2)'}, CUBE)[1],
            outputs + [("plane", "float", 7 * 7)],
        )


if __name__ == "__main__":
    main()
