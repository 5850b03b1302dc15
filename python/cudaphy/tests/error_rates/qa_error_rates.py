#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated error rates beside theory and published points."""

import math
import os
import pickle
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.error_rates import link as error_rate_link
from gnuradio.cudaphy.error_rates import plots as error_rate_plots
from gnuradio.cudaphy.error_rates import names as error_rate_names
from gnuradio.cudaphy.error_rates import theory as error_rate_theory
from qa_support import BACKEND, main

SHORT = "wifi n=648 rate=1/2"
ONES = "3 1 1\n0 0 0\n"  # a quasi-cyclic matrix: one check of three bits


def simulate(code, eb_n0_db=None, **options):
    return cudaphy.simulate_error_rate(code, eb_n0_db, **{"backend": BACKEND, **options})


def counts(points):
    return [(p.frames, p.frame_errors, p.bit_errors, p.iterations) for p in points]


class qa_theory(unittest.TestCase):
    def test_uncoded_rates_are_those_of_the_textbook(self):
        def tail(x):
            return 0.5 * math.erfc(x / math.sqrt(2))

        for eb_n0_db in (-3.0, 0.0, 4.0, 8.0):
            snr = 10 ** (eb_n0_db / 10)
            binary = tail(math.sqrt(2 * snr))
            for name in ("bpsk", "qpsk", "wifi_qpsk", "dvbs2_qpsk"):
                got = error_rate_theory.uncoded_bit_error_rate(name, eb_n0_db)
                self.assertAlmostEqual(got / binary, 1, 5, name)
            # Cho and Yoon, IEEE Trans. Commun. 50(7), 2002, equations 9 to 16, for 16-QAM.
            x = math.sqrt(4 * snr / 5)
            sixteen = (3 * tail(x) + 2 * tail(3 * x) - tail(5 * x)) / 4
            for name in ("qam16", "wifi_qam16"):
                got = error_rate_theory.uncoded_bit_error_rate(name, eb_n0_db)
                self.assertAlmostEqual(got / sixteen, 1, 5, name)
        self.assertIsNone(error_rate_theory.uncoded_bit_error_rate("dvbs2_8psk", 3.0))
        several = error_rate_theory.uncoded_bit_error_rate("bpsk", [0.0, 1.0])
        self.assertEqual(several.shape, (2,))

    def test_shannon_limits_are_the_known_ones(self):
        # Binary input; Richardson and Urbanke, Modern Coding Theory, 2008: 0.187 dB at 1/2.
        for rate, limit in ((1 / 2, 0.187), (1 / 3, -0.495)):
            self.assertAlmostEqual(error_rate_theory.shannon_limit_db(rate), limit, 2)
            quadrature = error_rate_theory.shannon_limit_db(rate, "qpsk")
            self.assertAlmostEqual(quadrature, limit, 2)
        for rate in (0.25, 0.5, 0.75):
            unbounded = 10 * math.log10((2 ** (4 * rate) - 1) / (4 * rate))
            limit = error_rate_theory.shannon_limit_db(rate, "qam16")
            self.assertGreater(limit, unbounded)
            self.assertLess(limit, unbounded + 1)
        for rate in (0, 1, -1, 2, math.nan):
            with self.assertRaisesRegex(ValueError, "rate"):
                error_rate_theory.shannon_limit_db(rate)

    def test_intervals(self):
        self.assertEqual(error_rate_theory.binomial_interval(0, 0), (0, 1))
        low, high = error_rate_theory.binomial_interval(0, 100)
        self.assertEqual(low, 0)
        self.assertAlmostEqual(high, 1 - 0.025 ** (1 / 100))
        low, high = error_rate_theory.binomial_interval(100, 100)
        self.assertAlmostEqual(low, 0.025 ** (1 / 100))
        self.assertEqual(high, 1)
        # About one in twenty of many intervals misses the true rate.
        random = np.random.default_rng(1)
        missed = bits_missed = 0
        for _ in range(400):
            frames = np.where(random.random(500) < 0.1, random.integers(1, 40, 500), 0)
            low, high = error_rate_theory.binomial_interval(int((frames > 0).sum()), 500)
            missed += not low <= 0.1 <= high
            low, high = error_rate_theory.bit_error_interval(
                int(frames.sum()), int((frames**2).sum()), 500 * 100, 500
            )
            bits_missed += not low <= 0.1 * 20 / 100 <= high
        self.assertLess(missed, 40)
        self.assertLess(bits_missed, 45)
        self.assertGreater(bits_missed, 4)


class qa_code_from_text(unittest.TestCase):
    def test_reads_families_files_and_no_code(self):
        code = cudaphy.code_from_text("  wifi   rate=5/6 n=648 ")
        self.assertEqual((code.n, code.k), (648, 540))
        self.assertEqual(cudaphy.code_from_text("uncoded").k, 1000)
        self.assertEqual(cudaphy.code_from_text("uncoded n=7").n, 7)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a code.qc")
            path.write_text(ONES)
            self.assertEqual(cudaphy.code_from_text(f"qc:{path}").n, 3)

    def test_errors_name_what_is_wrong(self):
        for text, message in (
            ("", "family"),
            ("nothing n=3", "nothing"),
            ("wifi", "n"),
            ("wifi n=648", "rate"),
            ("wifi n=648 rate", "rate"),
            ("wifi n=648 n=648 rate=1/2", "once"),
            ("wifi n=x rate=1/2", "wifi n=x"),
            ("wifi n=649 rate=1/2", "648"),
            ("wifi n=99999999999999999999 rate=1/2", "wifi"),
            ('wifi n=648 rate="1/2', "quotation"),
            ("wifi rate=1/2 n=" + 5000 * "9", "5016 characters, more than 200"),
            ("uncoded n=0", "uncoded"),
            ("uncoded m=3", "uncoded"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                cudaphy.code_from_text(text)
        for kind in ("alist", "qc"):
            with self.assertRaises(OSError):
                cudaphy.code_from_text(f"{kind}:/nowhere/at/all")

    def test_files_that_have_no_end_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = str(Path(folder, "pipe"))
            os.mkfifo(pipe)
            for path in ("/dev/zero", pipe, folder):
                for kind in ("alist", "qc"):
                    for read in (cudaphy.code_from_text, cudaphy.error_rate_simulation):
                        with self.assertRaisesRegex(ValueError, "regular file"):
                            read(f"{kind}:{path}")

    def test_every_listed_code_exists(self):
        families = {line.split()[0] for line in error_rate_names.list_codes()}
        documented = re.findall(r'ldpc_code\("([\w-]+)"', cudaphy.ldpc_code.__doc__)
        self.assertTrue({"wifi", "dvbs2"} <= set(documented))
        self.assertEqual(set(documented) - families, set())
        lines = list(error_rate_names.list_codes("wifi"))
        self.assertEqual(len(lines), 1 + 12)
        self.assertIn("1944   1620", lines[-1])
        with self.assertRaisesRegex(ValueError, "nothing.*wifi"):
            list(error_rate_names.list_codes("nothing"))
        self.assertEqual(
            error_rate_names.canonical("wifi rate=1/2  n=648"),
            error_rate_names.canonical(SHORT),
        )


class qa_simulation(unittest.TestCase):
    def uncoded_errors(self, name, eb_n0_db, bits):
        (point,) = simulate(
            "uncoded n=1000",
            eb_n0_db,
            constellation=name,
            max_log=True,
            max_frame_errors=None,
            max_frames=bits // 1000,
            batch=1000,
        )
        self.assertEqual(point.bits, bits)
        return point.bit_errors

    def test_uncoded_bits_fail_as_often_as_theory_says(self):
        # Theory 0.2 dB away differs by at least 11 standard deviations.
        for name, eb_n0_db in (("bpsk", 4.0), ("qpsk", 4.0), ("qam16", 7.0)):
            bits = 2_000_000
            theory, less, more = (
                bits * error_rate_theory.uncoded_bit_error_rate(name, eb_n0_db + shift)
                for shift in (0, 0.2, -0.2)
            )
            spread = math.sqrt(theory)
            self.assertGreater(min(theory - less, more - theory), 11 * spread)
            errors = self.uncoded_errors(name, eb_n0_db, bits)
            self.assertLess(abs(errors - theory), 5 * spread, name)

    def test_symbols_take_the_bits_of_their_labels(self):
        # At a high Eb/N0 no bit is wrong, even if symbols straddle words. The nearest
        # points, of 256APSK 20/30, are 1.4e-4 apart.
        for name in cudaphy.constellation_names():
            for length in (1, 7, 648):
                (point,) = simulate(
                    f"uncoded n={length}",
                    es_n0_db=100.0,
                    constellation=name,
                    max_frames=5,
                    batch=5,
                )
                self.assertEqual((point.frames, point.bit_errors), (5, 0), name)

    def test_a_code_fails_as_often_as_published(self):
        # AFF3CT's references, git 021a9e0: factor 1, 10 iterations.
        points = simulate(
            "wifi n=648 rate=5/6",
            [3.5, 4.0],
            max_frame_errors=200,
            max_frames=10_000,
            max_iterations=10,
            scale=1.0,
        )
        for point, published in zip(points, (2.28e-1, 3.63e-2)):
            expected = published * point.frames
            allowed = 0.1 * expected + 4 * math.sqrt(expected)
            self.assertLess(abs(point.frame_errors - expected), allowed)
            low, high = point.frame_error_interval
            self.assertTrue(low < point.frame_error_rate < high)

    def test_the_zero_word_fails_as_often_as_others(self):
        options = {"max_frame_errors": None, "max_frames": 4000, "batch": 1000}
        (zeros,) = simulate(SHORT, 1.5, data="zeros", **options)
        (words,) = simulate(SHORT, 1.5, **options)
        spread = math.sqrt(zeros.frame_errors + words.frame_errors)
        self.assertLess(abs(zeros.frame_errors - words.frame_errors), 5 * spread)
        self.assertGreater(zeros.frame_errors, 200)

    def test_counts_depend_on_the_seed_alone(self):
        options = {"max_frame_errors": 60, "batch": 100}
        one, again = (
            counts(simulate(SHORT, [1.0, 1.5], workers=workers, **options))
            for workers in (1, 4)
        )
        self.assertEqual(one, again)
        self.assertNotEqual(one, counts(simulate(SHORT, [1.0, 1.5], seed=2, **options)))
        # A point's noise does not depend on the other points.
        self.assertEqual(one[1:], counts(simulate(SHORT, 1.5, **options)))
        if BACKEND != "cpu":
            # int8 has finer steps on a GPU.
            exact = {**options, "arithmetic": "float32"}
            there = counts(simulate(SHORT, [1.0, 1.5], **exact))
            here = counts(simulate(SHORT, [1.0, 1.5], **{**exact, "backend": "cpu"}))
            self.assertEqual(there, here)

    def test_a_point_ends_at_each_limit(self):
        (point,) = simulate(SHORT, 0.0, max_frame_errors=3, batch=2)
        self.assertTrue(3 <= point.frame_errors <= 4)
        (point,) = simulate(SHORT, 5.0, max_frames=7, batch=2)
        self.assertEqual(point.frames, 8)
        (point,) = simulate(
            SHORT, 5.0, max_frames=None, max_frame_errors=None, max_seconds=0.2, batch=50
        )
        self.assertTrue(0 < point.frames)
        self.assertLess(point.seconds, 60)
        self.assertEqual(simulate(SHORT, []), [])

    def test_a_known_point_is_continued(self):
        options = {"batch": 100, "max_frames": None}
        whole = simulate(SHORT, 1.5, max_frame_errors=90, **options)
        part = simulate(SHORT, 1.5, max_frame_errors=30, **options)
        calls = []
        got = simulate(
            SHORT,
            [1.5],
            max_frame_errors=90,
            known=part,
            on_point=lambda point, new: calls.append((point.frames, new)),
            **options,
        )
        self.assertEqual(counts(got), counts(whole))
        self.assertEqual(calls, [(whole[0].frames, True)])
        self.assertLess(part[0].frames, whole[0].frames)
        simulate(
            SHORT,
            [1.5],
            max_frame_errors=90,
            known=got,
            on_point=lambda point, new: calls.append((point.frames, new)),
            **options,
        )
        self.assertEqual(calls[1:], [(whole[0].frames, False)])

    def test_points_under_way_are_reported_when_interrupted(self):
        reported = []

        def interrupt(state):
            if state.point.frames:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            simulate(
                SHORT,
                5.0,
                max_frames=10**9,
                batch=10,
                on_point=lambda point, new: reported.append(point.frames),
                on_progress=interrupt,
            )
        self.assertEqual(len(reported), 1)
        self.assertGreater(reported[0], 0)

    def test_es_n0_is_eb_n0_with_rate_and_symbol(self):
        link = cudaphy.error_rate_simulation("wifi n=648 rate=3/4", "qam16")
        self.assertAlmostEqual(link.es_n0_db(1.0), 1 + 10 * math.log10(3))
        options = {"constellation": "qam16", "batch": 50, "max_frames": 100}
        (one,) = simulate(SHORT, 5.0, **options)
        (other,) = simulate(SHORT, es_n0_db=one.es_n0_db, **options)
        self.assertEqual(counts([one]), counts([other]))
        self.assertAlmostEqual(other.eb_n0_db, 5.0)

    def test_undetected_errors_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "single.qc")
            path.write_text(ONES)
            (point,) = simulate(f"qc:{path}", -3.0, max_frames=2000, batch=1000)
        self.assertGreater(point.undetected_errors, 100)
        self.assertLessEqual(point.undetected_errors, point.frame_errors)

    def test_takes_a_code_as_an_object(self):
        code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
        options = {"batch": 50, "max_frames": 100}
        self.assertEqual(
            counts(simulate(code, 1.0, **options)),
            counts(simulate(SHORT, 1.0, **options)),
        )

    def test_refuses_what_makes_no_sense(self):
        for options, message in (
            ({"data": "ones"}, "data"),
            ({"constellation": "qam17"}, "qam17"),
            ({"seed": -1}, "seed"),
            ({"batch": 0}, "batch"),
            ({"workers": 0}, "workers"),
            ({"max_frames": 0}, "max_frames"),
            ({"max_seconds": -1}, "max_seconds"),
            ({"max_frames": None, "max_frame_errors": None}, "ends"),
            ({"es_n0_db": 1.0}, "eb_n0_db"),
            ({"max_iterations": 0}, "iterations"),
            ({"algorithm": "guessing"}, "guessing"),
            ({"colour": "blue"}, "colour"),
            ({"output": "codeword"}, "output"),
            ({"eb_n0_db": math.nan}, "dB"),
            ({"eb_n0_db": math.inf}, "dB"),
        ):
            given = {"eb_n0_db": 1.0, "max_frames": 10, **options}
            with self.assertRaisesRegex(ValueError, message):
                simulate(SHORT, **given)
        with self.assertRaisesRegex(ValueError, "text"):
            code = cudaphy.ldpc_code("wifi", n=648, rate="1/2")
            simulate(code, 1.0, scheduler="tcp://nowhere:1")
        with self.assertRaises(cudaphy.BackendUnavailable):
            simulate(SHORT, 1.0, **{"backend": "cuda", "device": 99})

    def test_a_worker_elsewhere_needs_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "single.qc")
            path.write_text(ONES)
            link = cudaphy.error_rate_simulation(f"qc:{path}", backend="cpu")._link
        error_rate_link.code_of.cache_clear()
        sent = pickle.loads(pickle.dumps(link))
        self.assertEqual(error_rate_link.run_slice(sent, 5.0, 10, (1, 2))["frames"], 10)


class qa_files(unittest.TestCase):
    def test_a_file_gives_back_what_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rates.csv")
            link = cudaphy.error_rate_simulation(SHORT, backend=BACKEND, batch=50, seed=3)
            identity = error_rate_files.identity_of(link)
            self.assertEqual(error_rate_files.read_curve(path, identity).points, {})
            points = link.run([0.5, 1.0], max_frames=100)
            for point in (points[1], points[0], points[1]):
                error_rate_files.append_point(path, link, point)
            (curve,) = error_rate_files.read_curves(path)
            self.assertEqual(curve.identity, identity)
            self.assertEqual(counts(curve.sorted_points()), counts(points))
            self.assertEqual(len(curve.known(3, 50, lambda point: False)), 2)
            self.assertEqual(len(curve.known(4, 50, lambda point: False)), 0)
            self.assertEqual(len(curve.known(4, 50, lambda point: True)), 2)

    def test_says_which_line_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rates.csv")
            link = cudaphy.error_rate_simulation(SHORT, backend=BACKEND, batch=50)
            (point,) = link.run(1.0, max_frames=50)
            error_rate_files.append_point(path, link, point)
            good = path.read_text()
            head, line = good.splitlines()
            for text, number in (
                ("a,b\n1,2\n", 1),
                (head.replace("frames", "fram"), 1),
                (good + line.replace(",50,", ",-50,") + "\n", 3),
                (good.replace(",50,", ",many,"), 2),
            ):
                path.write_text(text)
                with self.assertRaisesRegex(ValueError, f"rates.csv, line {number}"):
                    error_rate_files.read_curves(path)
            path.write_text("something else\n")
            with self.assertRaisesRegex(ValueError, "not a file of error rates"):
                error_rate_files.append_point(path, link, point)
            self.assertEqual(path.read_text(), "something else\n")
            path.write_bytes(b"\xff\xfe\x00")
            with self.assertRaises(ValueError):
                error_rate_files.read_curves(path)

    def test_draws_points_without_errors_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rates.png")
            link = cudaphy.error_rate_simulation(SHORT, backend=BACKEND, batch=50)
            curve = error_rate_files.curve(error_rate_files.identity_of(link))
            for point in link.run([0.0, 6.0], max_frames=50):
                curve.points[point.es_n0_db] = (point, 1, 50)
            error_rate_plots.draw_error_rates([curve], path)
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG"))
            with self.assertRaisesRegex(ValueError, "nothing to draw"):
                error_rate_plots.draw_error_rates([], path)


if __name__ == "__main__":
    main()
