#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finite-difference time-domain simulations from Python."""

import contextlib
import io
import types
import unittest
import warnings

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, main

C = 299792458.0


def grid(cells, spacing=1e-3, **options):
    return cudaphy.fdtd(cells, spacing, backend=BACKEND, **options)


def matrices(sim):
    """RE and RH of a lossless simulation as scipy's CSR matrices."""
    (_, rh), (first, re) = sim.system.updates
    shape = (rh[0][0], re[0][0])

    def rows(matrix, columns, shift):
        return types.SimpleNamespace(
            shape=(matrix[0][0], columns),
            indptr=matrix[1],
            indices=matrix[2] - shift,
            data=matrix[3],
        )

    return rows(re, shape[0], 0), rows(rh, shape[1], first)


def turned_on(steps, frequency, time_step):
    t = (np.arange(steps) + 0.5) * time_step
    width = 1 / frequency
    return np.exp(-(((t - 3 * width) / width) ** 2)) * np.sin(
        2 * np.pi * frequency * (t - 3 * width)
    )


class qa_steps(unittest.TestCase):
    def test_goes_on_where_it_stopped(self):
        for format in ("crs", "subdivided_crs", "dictionary"):
            for dtype in ("float32", "float64"):
                sim = grid((7, 8, 9), dtype=dtype, format=format)
                self.assertEqual(sim.add_source((3, 3, 3), "ez"), 0)
                self.assertEqual(sim.add_probe((4, 4, 4), "ez"), 0)
                self.assertEqual(sim.add_probe((3, 4, 4), "hx"), 1)
                self.assertEqual((sim.sources, sim.probes), (1, 2))
                given = np.random.default_rng(1).standard_normal(150)
                whole = sim.step(given)
                self.assertEqual((whole.shape, whole.dtype), ((150, 2), np.dtype(dtype)))
                self.assertGreater(np.abs(whole).max(), 0)
                sim.reset()
                self.assertEqual(sim.steps_done, 0)
                parts = [sim.step(given[a:b]) for a, b in ((0, 1), (1, 60), (60, 60))]
                parts.append(sim.step(given[60:, None]))
                self.assertTrue(np.array_equal(np.concatenate(parts), whole))
                self.assertEqual(sim.steps_done, 150)
                self.assertEqual(sim.backend, BACKEND)
                self.assertGreater(sim.matrix_bytes, 0)

    def test_fields_can_be_read_and_set(self):
        sim = grid((5, 6, 7), dtype="float64")
        rng = np.random.default_rng(2)
        ez = rng.standard_normal((5, 6, 7))
        sim.set_field("ez", ez)
        self.assertTrue(np.array_equal(sim.field("ez"), ez))
        self.assertTrue(np.array_equal(sim.plane("ez", "y", 2), ez[:, 2]))
        self.assertTrue(np.array_equal(sim.plane("ez", 0, 4), ez[4]))
        self.assertFalse(sim.field("hx").any())
        sim.step(steps=1)
        # h -= dt / mu0 curl e, by numpy.
        e = np.pad(ez, 1)[1:, 1:, 1:-1]
        truth = -sim.time_step / 1.25663706212e-6 * (e[:-1, 1:] - e[:-1, :-1]) / 1e-3
        expected = sim.field("hx")
        np.testing.assert_allclose(expected, truth, rtol=1e-12, atol=1e-15)
        flat = grid((5, 6))
        self.assertEqual(flat.plane("ez").shape, (5, 6))
        self.assertEqual(flat.components, ("ez", "hx", "hy"))
        self.assertEqual(grid(9).field("hy").shape, (9,))
        with self.assertRaisesRegex(ValueError, r"\(5, 6\)"):
            flat.set_field("ez", np.zeros((6, 5)))

    def test_a_cavity_resonates(self):
        sim = grid((20, 16), dtype="float32")
        i, j = np.meshgrid(np.arange(20), np.arange(16), indexing="ij")
        sim.add_probe((7, 5), "ez")
        sim.set_field("ez", np.sin(np.pi * i / 20) * np.sin(np.pi * j / 16))
        x = sim.step(steps=600)[:, 0].astype(np.float64)
        m = 32
        cosine = (x[2 * m :] + x[: -2 * m]) @ x[m:-m] / (2 * (x[m:-m] @ x[m:-m]))
        terms = [np.sin(np.pi / 2 / n) / 1e-3 for n in (20, 16)]
        angle = 2 * np.arcsin(C * sim.time_step * np.hypot(*terms))
        self.assertAlmostEqual(cosine, np.cos(m * angle), delta=1e-5 * m * angle)

    def test_takes_spacings_and_boundaries_in_every_form(self):
        graded = np.linspace(1e-3, 2e-3, 6)
        shortest = 1e-3 / C
        for cells, spacing, boundary, most in (
            (6, graded, "pec", 1),
            (6, [1e-3], ("cpml", "pec"), 1),
            ((6, 4), [graded, 1e-3], [("cpml", "pec"), "periodic"], 2),
            ((6, 4, 5), [graded, 1e-3, [1e-3] * 5], ["pmc", "pec", "cpml"], 3),
            ((6, 4, 5), 1e-3, "pmc", 3),
        ):
            sim = grid(cells, spacing, boundary=boundary, cpml_thickness=2, courant=0.98)
            sim.add_source(np.full(np.size(cells), 2), "ez")
            sim.add_probe(np.full(np.size(cells), 3), "ez")
            self.assertGreater(sim.time_step, 0.97 * shortest / np.sqrt(most))
            self.assertAlmostEqual(sim.time_step / sim.largest_time_step, 0.98)
            seen = sim.step(np.eye(1, 2000)[0])
            self.assertGreater(np.abs(seen).max(), 0)
            self.assertLess(np.abs(seen[-100:]).max(), 10)

    def test_a_growing_field_is_named(self):
        sim = grid((6, 6, 6))
        sim.add_probe((3, 3, 3), "ez")
        ez = np.zeros((6, 6, 6))
        ez[2, 2, 2] = np.inf
        sim.set_field("ez", ez)
        with self.assertRaisesRegex(FloatingPointError, r"after \d+ time steps"):
            sim.step(steps=100)

    def test_progress_is_shown(self):
        sim = grid((6, 6, 6))
        log = io.StringIO()
        with contextlib.redirect_stderr(log):
            sim.step(steps=100, progress=True)
        self.assertIn("100 %", log.getvalue())
        self.assertIn("Mcells/s", log.getvalue())

    def test_refuses_what_does_not_fit(self):
        sim = grid((6, 6, 6))
        sim.add_source((3, 3, 3), "ez")
        for cell in ((6, 0, 0), (-1, 0, 0)):
            with self.assertRaisesRegex(ValueError, r"outside the grid.*\(5, 5, 5\)"):
                sim.add_probe(cell, "ez")
        with self.assertRaisesRegex(ValueError, "2 numbers, the grid 3 axes"):
            sim.add_probe((1, 1), "ez")
        with self.assertRaisesRegex(ValueError, "soft, hard or current"):
            sim.add_source((1, 1, 1), "ez", "loud")
        with self.assertRaisesRegex(ValueError, "either an excitation"):
            sim.step()
        with self.assertRaisesRegex(ValueError, r"expected \(steps, 1\)"):
            sim.step(np.zeros((5, 2)))
        with self.assertRaisesRegex(ValueError, "7 steps"):
            sim.step(np.zeros(5), steps=7)
        with self.assertRaisesRegex(RuntimeError, "nothing can be added"):
            sim.step(np.zeros(5))
            sim.add_probe((1, 1, 1), "ez")
        for options in (
            {"courant": 1.5},
            {"time_step": 1e-9},
            {"boundary": "none"},
            {"boundary": "cpml"},
            {"dtype": "float16"},
            {"spacing": -1},
        ):
            with self.assertRaises(ValueError, msg=options):
                cudaphy.fdtd((6, 6, 6), **{"spacing": 1e-3, **options})
        with self.assertRaisesRegex(ValueError, "format"):
            grid((6, 6, 6), format="sparse").step(steps=1)


class qa_materials(unittest.TestCase):
    def test_arrays_and_boxes_are_the_same(self):
        def seen(fill):
            sim = grid((30, 20), boundary=["cpml", ("pec", "pmc")], cpml_thickness=5)
            sim.add_source((8, 8), "ez")
            sim.add_probe((22, 12), "ez")
            fill(sim)
            return sim.step(turned_on(200, 20e9, sim.time_step))

        def boxes(sim):
            sim.add_box((12, 5), (16, 15), eps_r=3, sigma=0.1)
            sim.add_box((16, 5), (18, 15), eps_r=2)

        def arrays(sim):
            eps_r, sigma = np.ones((30, 20)), np.zeros((30, 20))
            eps_r[12:16, 5:15], sigma[12:16, 5:15], eps_r[16:18, 5:15] = 3, 0.1, 2
            sim.add_cells(eps_r=eps_r, sigma=sigma)

        def masks(sim):
            mask = np.zeros((30, 20), bool)
            mask[12:16, 5:15] = True
            sim.add_cells(mask, eps_r=3, sigma=0.1)
            mask = np.zeros((30, 20), bool)
            mask[16:18, 5:15] = True
            sim.add_cells(mask, eps_r=2)

        alone = seen(lambda sim: None)
        self.assertTrue(np.array_equal(seen(boxes), seen(arrays)))
        self.assertTrue(np.array_equal(seen(boxes), seen(masks)))
        self.assertGreater(np.abs(seen(boxes) - alone).max(), 0.1 * np.abs(alone).max())
        with self.assertRaisesRegex(ValueError, "replace"):
            seen(lambda sim: (boxes(sim), masks(sim), sim.add_box((0, 0), (14, 9), 4)))

    def test_conductors_shield_and_water_absorbs(self):
        def energy(fill):
            sim = grid((24, 20, 20), boundary="cpml", cpml_thickness=5)
            sim.add_source((8, 10, 10), "ez", "current")
            sim.add_probe((16, 10, 10), "ez")
            fill(sim)
            return (sim.step(turned_on(160, 15e9, sim.time_step)) ** 2).sum()

        alone = energy(lambda sim: None)
        water = {"eps_r": 5, "debye": [(73, 8.3e-12)]}
        metal = energy(lambda sim: sim.add_box((11, 0, 0), (13, 20, 20), conductor=True))
        sheet = energy(lambda sim: sim.add_conductor((12, 0, 0), (12, 20, 20)))
        wet = energy(lambda sim: sim.add_box((11, 0, 0), (14, 20, 20), **water))
        self.assertEqual((metal, sheet), (0, 0))
        self.assertGreater(wet, 0)
        self.assertLess(wet, 0.3 * alone)


class qa_matrices(unittest.TestCase):
    def test_a_grids_own_matrices_give_its_fields(self):
        sim = grid((6, 7, 8))
        sim.add_source((3, 3, 3), "ez")
        sim.add_probe((4, 3, 5), "ex")
        sim.add_probe((4, 3, 5), "hy")
        same = cudaphy.fdtd.from_matrices(
            *matrices(sim), time_step=sim.time_step, backend=BACKEND
        )
        count = 3 * 6 * 7 * 8
        same.add_source(sim.element((3, 3, 3), "ez"))
        same.add_probe(sim.element((4, 3, 5), "ex"))
        same.add_probe(sim.element((4, 3, 5), "hy") - count, "h")
        given = np.random.default_rng(3).standard_normal(100)
        self.assertTrue(np.array_equal(sim.step(given), same.step(given)))
        self.assertEqual(same.time_step, sim.time_step)
        self.assertTrue(np.array_equal(same.field("h")[:336], sim.field("hx").ravel()))

    def test_products_of_a_grids_matrices_are_its_time_steps(self):
        for boundary in ("pec", "cpml"):
            sim = grid((9, 8, 7), boundary=boundary, cpml_thickness=2)
            rng = np.random.default_rng(4)
            updates = sim.matrices()
            state = np.zeros(updates[0][1].shape[1], np.float32)
            for name in ("ex", "ey", "ez", "hx", "hy", "hz"):
                first, count = sim.element((0, 0, 0), name), 9 * 8 * 7
                values = rng.standard_normal(count).astype(np.float32)
                state[first : first + count] = values
                sim.set_field(name, values.reshape(9, 8, 7))
            self.assertEqual(len(updates), 2 if boundary == "pec" else 4)
            for format in ("crs", "subdivided_crs", "dictionary", "ccs", "bcrs") * 2:
                for first, a in updates:
                    there = slice(first, first + a.shape[0])
                    state[there] = cudaphy.multiply_sparse(
                        a, state, state[there], format, BACKEND
                    )
            sim.step(steps=10)
            for name in ("ex", "ey", "ez", "hx", "hy", "hz"):
                first = sim.element((0, 0, 0), name)
                np.testing.assert_allclose(
                    sim.field(name).ravel(),
                    state[first : first + 9 * 8 * 7],
                    rtol=1e-4,
                    atol=1e-4 * np.abs(state).max(),
                )

    def test_unstable_pairs_are_refused_with_a_remedy(self):
        re, rh = matrices(grid((6, 7, 8)))
        re.data = re.data * np.float32(1.3)
        with self.assertRaisesRegex(ValueError, "largest stable time step is 0.9") as got:
            cudaphy.fdtd.from_matrices(re, rh)
        factor = np.float32(str(got.exception).split("step is ")[1].split()[0])
        re.data, rh.data = re.data * factor, rh.data * factor
        sim = cudaphy.fdtd.from_matrices(re, rh, backend=BACKEND)
        sim.add_probe(0)
        sim.set_field("e", np.ones(3 * 6 * 7 * 8))
        sim.step(steps=500)
        self.assertLess(np.abs(sim.field("e")).max(), 1e3)
        rh.data = -rh.data
        with self.assertRaisesRegex(ValueError, "negative eigenvalue"):
            cudaphy.fdtd.from_matrices(re, rh)

    def test_broken_matrices_are_named(self):
        re, rh = matrices(grid((3, 3, 3)))
        with self.assertRaisesRegex(ValueError, "RE must be"):
            cudaphy.fdtd.from_matrices(
                types.SimpleNamespace(**{**vars(re), "shape": (81, 82)}), rh
            )
        far = types.SimpleNamespace(**{**vars(re), "indices": re.indices + 81})
        with self.assertRaises(ValueError):
            cudaphy.fdtd.from_matrices(far, rh)
        sim = cudaphy.fdtd.from_matrices(re, rh, backend=BACKEND)
        with self.assertRaisesRegex(ValueError, "element 81 of e, which has 81"):
            sim.add_probe(81)
        with self.assertRaisesRegex(ValueError, '"e" or "h"'):
            sim.add_source(0, "b")


class qa_responses(unittest.TestCase):
    def matched_line(self, length=120):
        """One dimension, 377 ohms: two matched ports 60 cells apart."""
        sim = grid(length, boundary="cpml", dtype="float64", courant=0.5)
        ports = [sim.add_port(at, "ez", 188.365) for at in (30, 90)]
        return sim, ports

    def test_a_line_delays_and_divides(self):
        sim, (a, b) = self.matched_line()
        f = np.array([4e9, 6e9, 8e9])
        h = sim.frequency_response(a, b, f)
        # Half of the generator's voltage is at its port. The other port's resistor lies
        # across the line and reflects half of the wave. The generator's resistor reflects
        # half of the returning wave.
        first = sim.frequency_response(a, a, f)
        impedance, delay = 376.73 / 2, np.exp(-2j * np.pi * f * 60e-3 / C)
        part, back = impedance / (impedance + 188.365), -impedance / (impedance + 188.365)
        rounds = 1 / (1 - (back * delay) ** 2)
        self.assertEqual(h.shape, (3,))
        np.testing.assert_allclose(h, part * (1 + back) * delay * rounds, rtol=0.03)
        echo = back * delay**2 * (1 + back) * rounds
        np.testing.assert_allclose(first, part * (1 + echo), rtol=0.03)

    def test_taps_are_the_channel_at_baseband(self):
        sim, (a, b) = self.matched_line()
        carrier, bandwidth, lead = 6e9, 2e9, 8
        taps = sim.impulse_response([a, b], [a, b], carrier, bandwidth, lead=lead)
        self.assertEqual((taps.dtype, taps.shape[:2]), (np.complex64, (2, 2)))
        np.testing.assert_allclose(taps[0, 1], taps[1, 0], atol=1e-5)
        offset = np.array([-0.35, 0.0, 0.2, 0.4]) * bandwidth
        n = np.arange(taps.shape[2])
        phase = np.exp(-2j * np.pi * np.outer(offset / bandwidth, n - lead))
        h = sim.frequency_response([a, b], [a, b], carrier + offset)
        np.testing.assert_allclose(phase @ taps[1, 0], h[1, 0], atol=0.01)
        np.testing.assert_allclose(phase @ taps[0, 0], h[0, 0], atol=0.01)
        short = sim.impulse_response(a, b, carrier, bandwidth, taps=10, lead=lead)
        np.testing.assert_allclose(short, taps[1, 0, :10], atol=1e-4)

    def test_antennas_in_a_room_are_reciprocal(self):
        sim = grid((24, 20, 18), 5e-3, boundary="cpml", cpml_thickness=5)
        sim.add_box((10, 6, 6), (13, 14, 12), eps_r=3, sigma=0.05)
        a = sim.add_dipole((7, 9, 8), "ez", 3)
        b = sim.add_dipole((17, 11, 10), "ey", 3, resistance=75)
        probe = sim.add_probe((12, 10, 5), "ex")
        taps = sim.impulse_response([a, b], [a, b, probe], 3e9, 1.5e9)
        self.assertEqual(taps.shape[:2], (3, 2))
        self.assertGreater(np.abs(taps[1, 0]).max(), 1e-5)
        error = np.abs(taps[1, 0] / 75 - taps[0, 1] / 50).max()
        self.assertLess(error, 1e-4 * np.abs(taps[1, 0] / 75).max())

    def test_a_response_that_does_not_decay_is_warned_of(self):
        sim = grid((10, 10))
        sim.add_source((5, 5), "ez")
        sim.add_probe((3, 4), "ez")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sim.impulse_response(0, 0, 20e9, 5e9, max_steps=2000)
        self.assertIn("not died away", str(caught[0].message))

    def test_refuses_what_is_out_of_range(self):
        sim, (a, b) = self.matched_line()
        load = sim.add_port(60, "ez", 1e6, driven=False)
        self.assertIsNone(load.source)
        for arguments, text in (
            ((load, b, 6e9, 1e9), "not driven"),
            ((2, b, 6e9, 1e9), "source 2"),
            ((a, 5, 6e9, 1e9), "probe 5"),
            ((a, b, 1e9, 4e9), "the band"),
            ((a, b, 1e15, 4e9), "the band"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                sim.impulse_response(*arguments)


if __name__ == "__main__":
    main()
