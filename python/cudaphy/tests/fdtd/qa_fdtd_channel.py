#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block fdtd_channel in flowgraphs."""

import threading
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr, pdu
from qa_support import BACKEND, FlowgraphCase, Sink, Source, captured_log, main, tag

SPACING = 1e-2


def scene(cells=(14, 11), boundary="cpml", dtype="float32", **options):
    """Two sources and three probes around a box."""
    return cudaphy.fdtd_scene(
        cells,
        SPACING,
        boundary,
        boxes=[((5, 2), (7, 9), {"eps_r": 3.0, "sigma": 0.02})],
        sources=[((3, 5), "ez"), ((4, 7), "hx", "hard")],
        probes=[((9, 5), "ez"), ((10, 6), "hy"), ((2, 5), "ez")],
        dtype=dtype,
        backend=BACKEND,
        cpml_thickness=2,
        **options,
    )


def excitation(steps, sources=2, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((steps, sources)).astype("float32")


def by_hand(sim, given, every=0, plane=("ez",)):
    """The probes, and a plane every `every` time steps, from fdtd.step()."""
    sim.reset()
    seen, planes = [], []
    for first in range(0, len(given), every or len(given) or 1):
        piece = given[first : first + (every or len(given))]
        seen.append(sim.step(piece))
        if every and len(piece) == every:
            planes.append(sim.plane(*plane).ravel())
    seen = np.concatenate(seen) if seen else np.zeros((0, sim.probes))
    return seen.astype("float32"), np.array(planes, "float32")


class Pieces(gr.sync_block):
    """Passes a stream of floats on in pieces of random sizes."""

    def __init__(self, seed):
        gr.sync_block.__init__(self, "pieces", in_sig=["f4"], out_sig=["f4"])
        self._rng = np.random.default_rng(seed)

    def work(self, input_items, output_items):
        some = min(len(output_items[0]), int(2 ** self._rng.uniform(0, 7)))
        output_items[0][:some] = input_items[0][:some]
        return some


class qa_fdtd_channel(FlowgraphCase):
    def channel(self, sim, **options):
        block = cudaphy.fdtd_channel(sim, **{"backend": BACKEND, **options})
        self.assertEqual(block.backend(), BACKEND)
        return block

    def stepped(self, block, given, probes, points=0, tags=()):
        """The block's output for an excitation: probes (steps, probes), planes, sinks."""
        outputs = [("float32", 0)] * probes + ([("float32", points)] if points else [])
        sinks = self.through(block, list(np.ascontiguousarray(given.T)), outputs, tags)
        seen = np.stack([sink.data for sink in sinks[:probes]], axis=1)
        return seen, sinks[-1].data if points else None, sinks

    def test_the_probes_are_those_of_the_simulation_bit_for_bit(self):
        for dtype in ("float32", "float64"):
            for boundary in ("pec", "cpml"):
                for format in ("dictionary", "crs", "subdivided_crs"):
                    sim = scene(boundary=boundary, dtype=dtype, format=format)
                    given = excitation(700)
                    expected, _ = by_hand(sim, given)
                    self.assertGreater(np.abs(expected).max(axis=0).min(), 1e-6)
                    block = self.channel(sim)
                    seen, _, _ = self.stepped(block, given, 3)
                    np.testing.assert_array_equal(seen, expected)
                    self.assertEqual(block.steps(), 700)
                    self.assertEqual(block.time_step(), sim.time_step)
                    self.assertEqual(block.matrix_bytes(), sim.matrix_bytes)

    def test_any_number_of_time_steps_and_any_batch(self):
        sim = scene()
        for steps in (0, 1, 31, 32, 33, 5000):
            given = excitation(steps)
            expected, planes = by_hand(sim, given, 7)
            for max_batch in (0, 1, 6, 7, 65536):
                if max_batch == 1 and steps > 100:
                    continue
                with self.subTest(steps=steps, max_batch=max_batch):
                    block = self.channel(
                        sim, max_batch=max_batch, plane=("ez", "z", 0), plane_every=7
                    )
                    seen, got, _ = self.stepped(block, given, 3, 14 * 11)
                    np.testing.assert_array_equal(seen, expected)
                    np.testing.assert_array_equal(got, planes.reshape(-1, 14 * 11))

    def test_pieces_of_the_streams_may_have_any_size(self):
        sim = scene()
        given = excitation(4000)
        expected, planes = by_hand(sim, given, 11)
        for seed in range(4):
            top = gr.top_block()
            block = self.channel(sim, plane=("ez",), plane_every=11)
            sinks = [Sink("float32") for _ in range(3)] + [Sink("float32", 14 * 11)]
            # Python frees a block that no name refers to.
            cuts = [Pieces(10 * seed + k) for k in range(5)]
            for port in range(2):
                way = [cuts[port]] if seed % 2 else []  # or all at once
                top.connect(Source(given[:, port]).block, *way, (block, port))
            for port in range(3):
                block.set_max_output_buffer(port, 1024)
                top.connect((block, port), cuts[2 + port], sinks[port].block)
            top.connect((block, 3), sinks[3].block)
            self.run_flowgraph(top)
            for port in range(3):
                np.testing.assert_array_equal(sinks[port].data, expected[:, port])
            np.testing.assert_array_equal(sinks[3].data, planes)

    def test_a_plane_alone_and_planes_of_any_component_and_interval(self):
        sim = cudaphy.fdtd_scene(
            (5, 6, 7), SPACING, sources=[((2, 3, 3), "ez")], backend=BACKEND
        )
        given = excitation(100, 1)
        for plane, points in (
            (("ez", "z", 3), 5 * 6),
            (("hx", "x", 1), 6 * 7),
            (("ey", 1, 2), 5 * 7),
        ):
            for every in (1, 3, 100, 101, 1 << 30):
                count = 100 // every
                _, planes = by_hand(sim, given, every, plane)
                block = self.channel(sim, plane=plane, plane_every=every)
                got = self.through(block, [given[:, 0]], [("float32", points)])
                np.testing.assert_array_equal(got[0].data, planes.reshape(count, points))
        elements = [sim.element((2, 3, 3), "ez"), sim.element((2, 3, 4), "ez")]
        block = self.channel(sim, plane=elements)
        got = self.through(block, [given[:, 0]], [("float32", 2)])[0].data
        np.testing.assert_array_equal(got[99], sim.plane("ez", "x", 2)[3, 3:5])

    def test_planes_wait_for_room_in_a_short_buffer(self):
        sim = scene((64, 64))
        given = excitation(400)
        expected, planes = by_hand(sim, given, 1)
        block = self.channel(sim, plane=("ez",), max_batch=65536)
        seen, got, _ = self.stepped(block, given, 3, 64 * 64)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(got, planes)

    def test_a_simulation_of_matrices(self):
        grid = cudaphy.fdtd((9,), SPACING, backend=BACKEND)
        (_, rh), (first, re) = grid.system.updates

        class Rows:
            def __init__(self, matrix, columns, shift):
                self.shape = (matrix[0][0], columns)
                self.indptr, self.data = matrix[1], matrix[3]
                self.indices = matrix[2] - shift

        sim = cudaphy.fdtd.from_matrices(
            Rows(re, rh[0][0], 0), Rows(rh, re[0][0], first), 1e-12, backend=BACKEND
        )
        sim.add_source(4, "e")
        sim.add_probe(2, "h", coefficient=377.0)
        given = excitation(300, 1)
        expected = sim.step(given)
        block = self.channel(sim, plane=[3, 5], plane_every=300)
        self.assertEqual(block.time_step(), 1e-12)
        seen, got, _ = self.stepped(block, given, 1, 2)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(got[0], sim.field("e")[[3, 5]])
        with self.assert_refuses("numbers of its elements"):
            self.channel(sim, plane=("ez", "z", 0))

    def test_tags_go_to_the_item_of_the_same_time_step(self):
        places = [0, 1, 6, 7, 62, 63, 64, 1000, 4999]
        for max_batch in (0, 7, 64):
            block = self.channel(
                scene(), max_batch=max_batch, plane=("ez",), plane_every=7
            )
            given = excitation(5000)
            tags = [tag(n, "mark", n) for n in places]
            _, _, sinks = self.stepped(block, given, 3, 14 * 11, tags)
            for sink in sinks[:3]:
                self.assertEqual(sink.tags("mark"), [(n, n) for n in places])
            # The last tag comes after the last whole plane.
            self.assertEqual(
                sinks[3].tags("mark"),
                [(n // 7, n) for n in places if n // 7 < 5000 // 7],
            )

    def test_tags_of_every_input_and_equal_ones_once(self):
        top = gr.top_block()
        block = self.channel(scene())
        given = excitation(50)
        tags = [
            [tag(3, "same", 1), tag(5, "own", 1), tag(9, "own", 1)],
            [tag(3, "same", 1), tag(5, "own", 2), tag(8, "own", 1)],
        ]
        for port in range(2):
            top.connect(Source(given[:, port], tags[port]).block, (block, port))
        sinks = [Sink("float32") for _ in range(3)]
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        self.run_flowgraph(top)
        for sink in sinks:
            self.assertEqual(sink.tags("same"), [(3, 1)])
            self.assertEqual(sink.tags("own"), [(5, 1), (5, 2), (8, 1), (9, 1)])

    def test_fields_stay_from_start_to_start_and_reset_clears_them(self):
        sim = scene()
        given = excitation(90)
        expected, _ = by_hand(sim, given)
        block = self.channel(sim, plane=("ez",), plane_every=20)
        top = gr.top_block()
        sinks = [Sink("float32") for _ in range(3)] + [Sink("float32", 14 * 11)]
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        sources = [blocks.vector_source_f([]) for _ in range(2)]
        for port, source in enumerate(sources):
            top.connect(source, (block, port))

        def run(piece):
            for port, source in enumerate(sources):
                source.set_data(piece[:, port].tolist())
                source.rewind()
            for sink in sinks:
                sink.block.reset()
            self.run_flowgraph(top)
            return np.stack([sink.data for sink in sinks[:3]], axis=1)

        np.testing.assert_array_equal(run(given[:50]), expected[:50])
        self.assertEqual(block.steps(), 50)
        np.testing.assert_array_equal(run(given[50:]), expected[50:])
        self.assertEqual(block.steps(), 90)
        self.assertEqual(len(sinks[3].data), 2)  # planes are counted from the start
        block.reset()
        self.assertEqual(block.steps(), 0)
        np.testing.assert_array_equal(run(given[:50]), expected[:50])
        block.to_basic_block()._post(pmt.intern("reset"), pmt.PMT_T)
        np.testing.assert_array_equal(run(given), expected)

    def test_items_are_stepped_as_soon_as_they_come(self):
        """A source that sends one item at a time, and waits until it comes back."""
        sim = scene()
        given = excitation(20)
        expected, _ = by_hand(sim, given)
        block = self.channel(sim)
        top = gr.top_block()
        sinks = [Sink("float32") for _ in range(3)]
        sources = [pdu.pdu_to_tagged_stream(gr.types.float_t) for _ in range(2)]
        for port, source in enumerate(sources):
            top.connect(source, (block, port))
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink.block)
        top.start()
        try:
            for n in range(len(given)):
                for port, source in enumerate(sources):
                    item = pmt.init_f32vector(1, [float(given[n, port])])
                    source._post(pmt.intern("pdus"), pmt.cons(pmt.PMT_NIL, item))
                ends = time.monotonic() + 30
                while min(len(sink.data) for sink in sinks) <= n:
                    self.assertLess(time.monotonic(), ends, f"time step {n} is held back")
                    time.sleep(0.001)
            for port, sink in enumerate(sinks):
                np.testing.assert_array_equal(sink.data, expected[:, port])
        finally:
            top.stop()
            waiter = threading.Thread(target=top.wait, daemon=True)
            waiter.start()
            waiter.join(10)

    def ends_with(self, given, sim, *texts, plane_every=10):
        """The probes and planes of a stream that ends early with this message."""
        points = int(np.prod(sim.cells))
        block = self.channel(sim, plane=("ez",), plane_every=plane_every)
        with captured_log() as log:
            seen, planes, _ = self.stepped(block, given, sim.probes, points)
        for text in texts:
            self.assertIn(text, log.text)
        self.assertTrue(np.isfinite(seen).all() and np.isfinite(planes).all())
        self.assertEqual(len(planes), len(seen) // plane_every)
        self.assertEqual(block.stats()["failures"], 1)
        return block, seen

    def test_growth_ends_the_flowgraph_with_the_step_and_the_largest_stable_one(self):
        for dtype in ("float32", "float64"):
            sim = scene(boundary="pec", dtype=dtype)
            given = excitation(300)
            given[100:, 0] = 3.4e38 * np.sign(given[100:, 0])
            limit = f"largest stable time step is {sim.largest_time_step:.6g}"
            block, seen = self.ends_with(given, sim, "grew beyond all numbers", limit)
            self.assertGreaterEqual(len(seen), 90)
            self.assertLess(len(seen), 290)
            if dtype == "float64" or BACKEND == "reference":
                continue  # double holds these fields; the stream's floats do not
            with captured_log() as log:  # the error stays until reset()
                again, _, _ = self.stepped(block, given[:20], 3, 14 * 11)
            self.assertEqual(len(again), 0)
            self.assertIn(f"grew beyond all numbers after {len(seen)} time", log.text)
            block.reset()
            again, _, _ = self.stepped(block, given[:20], 3, 14 * 11)
            np.testing.assert_array_equal(again, by_hand(sim, given[:20])[0])

    def test_fields_that_grow_where_no_probe_is_are_found(self):
        sim = cudaphy.fdtd_scene(
            (40,),
            SPACING,
            sources=[((30,), "ez")],
            probes=[((10,), "ez")],
            conductors=[((20,), (20,))],
            backend=BACKEND,
        )
        given = np.full((500, 1), 3.4e38, "float32")
        for every in (10, 501):
            _, seen = self.ends_with(
                given, sim, "grew beyond all numbers", plane_every=every
            )
            self.assertLess(len(seen), 500)
            self.assertEqual(np.abs(seen).max(initial=0), 0)

    def test_an_excitation_that_is_not_finite_is_refused_by_its_place(self):
        sim = scene()
        for bad in (np.nan, np.inf, -np.inf):
            for port, at in ((0, 0), (1, 47), (0, 299)):
                given = excitation(300)
                given[at:, port] = bad
                given[min(at + 1, 299) :, 1 - port] = bad
                where = f"the excitation at input {port} in time step {at}"
                _, seen = self.ends_with(given, sim, where)
                np.testing.assert_array_equal(
                    seen, by_hand(scene(), given[:at])[0].reshape(at, 3)
                )

    def test_a_flowgraph_can_be_stopped_at_any_time(self):
        for _ in range(3):
            top = gr.top_block()
            block = self.channel(scene((60, 60)), plane=("ez",), plane_every=5)
            for port in range(2):
                top.connect(blocks.null_source(gr.sizeof_float), (block, port))
            for port in range(3):
                top.connect((block, port), blocks.null_sink(gr.sizeof_float))
            top.connect((block, 3), blocks.null_sink(gr.sizeof_float * 3600))
            top.start()
            ends = time.monotonic() + 30
            while block.steps() < 100:
                self.assertLess(time.monotonic(), ends)
                time.sleep(0.01)
            top.stop()
            waiter = threading.Thread(target=top.wait, daemon=True)
            waiter.start()
            waiter.join(30)
            self.assertFalse(waiter.is_alive())
            stats = block.stats()
            self.assertEqual(stats["frames"], block.steps())
            self.assertEqual(stats["failures"], 0)

    def test_wrong_parameters_are_refused(self):
        good = scene()
        for options, *texts in (
            ({"format": "bcrs"}, "bcrs", "dictionary"),
            ({"format": "ellpack"}, "ellpack"),
            ({"backend": "gpu"}, "gpu"),
            ({"plane": ("ey", "z", 0)}, "ey"),
            ({"plane": ("ez", "z", 9)}, "9"),
            ({"plane": [-1]}, "element -1"),
            ({"plane": [0, 10**6]}, "element 1000000"),
            ({"plane": [0], "plane_every": 0}, "plane_every 0"),
            ({"plane": [0], "plane_every": (1 << 30) + 1}, "plane_every"),
            ({"max_batch": -1}, "max_batch -1"),
            ({"max_batch": 65537}, "max_batch 65537"),
        ):
            with self.assert_refuses(*texts):
                self.channel(good, **options)
        with self.assertRaisesRegex(TypeError, "int is no FDTD simulation"):
            self.channel(7)
        probe, source = [((1,), "ez")], [((2,), "ez")]
        with self.assert_refuses("has no source"):
            self.channel(cudaphy.fdtd_scene((5,), SPACING, probes=probe))
        with self.assert_refuses("no probe", "no plane"):
            self.channel(cudaphy.fdtd_scene((5,), SPACING, sources=source))
        with self.assert_refuses("conductor"):
            self.channel(
                cudaphy.fdtd_scene(
                    (5,), SPACING, sources=source, conductors=[((2,), (2,))]
                )
            )

    def test_a_scene_is_what_its_parts_make(self):
        made = cudaphy.fdtd((24, 16, 12), SPACING, ("cpml", "pec", "pmc"), courant=0.9)
        made.add_box((11, 11, 0), (13, 13, 12), eps_r=2.0)
        made.add_conductor((3, 3, 0), (3, 3, 4))
        made.add_port((12, 5, 5), "ez", 75.0)
        made.add_source((13, 6, 6), "hx")
        made.add_probe((14, 7, 7), "ey")
        scene = cudaphy.fdtd_scene(
            (24, 16, 12),
            SPACING,
            ("cpml", "pec", "pmc"),
            boxes=[((11, 11, 0), (13, 13, 12), {"eps_r": 2.0})],
            conductors=[((3, 3, 0), (3, 3, 4))],
            ports=[((12, 5, 5), "ez", 75.0)],
            sources=[((13, 6, 6), "hx")],
            probes=[((14, 7, 7), "ey")],
            courant=0.9,
        )
        self.assertEqual((scene.sources, scene.probes), (2, 2))
        self.assertEqual(scene.time_step, made.time_step)
        given = excitation(60)
        np.testing.assert_array_equal(scene.step(given), made.step(given))
        with self.assert_refuses("material"):
            boxes = [((0,), (3,), {"eps_r": 2}), ((2,), (4,), {"eps_r": 3})]
            cudaphy.fdtd_scene((4,), SPACING, boxes=boxes)


if __name__ == "__main__":
    main()
