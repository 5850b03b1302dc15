#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program cudaphy_ber, run as a user runs it."""

import contextlib
import csv
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import cudaphy_ber
from gnuradio import cudaphy
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.error_rates import names as error_rate_names
from gnuradio.cudaphy.error_rates import schedule

HERE = Path(__file__).resolve().parent
BACKEND = os.environ.get("CUDAPHY_TEST_BACKEND", "cpu")
SHORT = "wifi n=648 rate=1/2"
PNG = b"\x89PNG"


def command(*arguments):
    return [sys.executable, "-B", str(HERE / "cudaphy_ber.py"), *map(str, arguments)]


def ber(*arguments, backend=BACKEND, alone=False):
    """Runs the program, and returns what subprocess.run would. Only `alone` takes a
    process of its own, which imports for two seconds."""
    where = ("--backend", backend) if backend else ()
    run = command(*where, *arguments)
    if alone:
        return subprocess.run(run, capture_output=True, text=True, timeout=250)
    out, errors = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", run[2:]):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                status = cudaphy_ber.main()
            except SystemExit as stop:
                status = stop.code
    return subprocess.CompletedProcess(run, status, out.getvalue(), errors.getvalue())


class qa_cudaphy_ber(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.csv, self.png = self.folder / "rates.csv", self.folder / "rates.png"

    def good(self, *arguments, **options):
        done = ber(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout

    def rows(self):
        with open(self.csv, newline="") as file:
            return list(csv.DictReader(file))

    def test_writes_a_plausible_table_csv_and_picture(self):
        out = self.good(
            *("--code", SHORT, "--eb-n0", "1:2:0.5", "--batch", 200, "--csv", self.csv),
            *("--png", self.png, "--title", "A title"),
            alone=True,
        )
        self.assertIn(f"backend {BACKEND}", out)
        self.assertIn(str(self.png), out)
        self.assertTrue(self.png.read_bytes().startswith(PNG))
        self.assertGreater(self.png.stat().st_size, 20_000)
        # Measured with AFF3CT at its best factor: 0.479, 0.117, 0.0094.
        rows = sorted(self.rows(), key=lambda row: float(row["eb_n0_db"]))
        self.assertEqual([float(row["eb_n0_db"]) for row in rows], [1.0, 1.5, 2.0])
        for row, published in zip(rows, (0.479, 0.117, 0.0094)):
            self.assertGreaterEqual(int(row["frame_errors"]), 100)
            low, high = (float(row[f"frame_error_rate_{end}"]) for end in ("low", "high"))
            self.assertTrue(low < float(row["frame_error_rate"]) < high)
            self.assertLess(low, 1.15 * published)
            self.assertGreater(high, 0.6 * published)
            self.assertEqual(int(row["bits"]), 324 * int(row["frames"]))
            self.assertEqual(row["backend"], BACKEND)

    def test_continues_a_file_and_skips_finished_points(self):
        run = ("--code", SHORT, "--batch", 100, "--csv", self.csv)
        self.good(*run, "--eb-n0", "1,1.5", "--errors", 30)
        before = self.rows()
        self.assertEqual(len(before), 2)
        out = self.good(*run, "--eb-n0", "1,1.5", "--errors", 30)
        self.assertEqual(self.rows(), before)
        self.assertEqual(out.count("from the file"), 2)
        # This run wants more errors of the points in the file, and one new point.
        self.good(*run, "--eb-n0", "1,1.5,0.5", "--errors", 90)
        after = self.rows()
        self.assertEqual(after[:2], before)
        self.assertEqual(len(after), 5)
        whole = self.folder / "whole.csv"
        self.good(
            *("--code", SHORT, "--batch", 100, "--csv", whole),
            *("--eb-n0", "0.5,1,1.5", "--errors", 90),
        )
        for path in (self.csv, whole):
            (curve,) = error_rate_files.read_curves(path)
            seen = [(p.frames, p.frame_errors) for p in curve.sorted_points()]
            self.assertEqual(len(seen), 3)
            if path == self.csv:
                expected = seen
        self.assertEqual(seen, expected)
        # Another decoder is another curve in the same file.
        self.good(*run, "--eb-n0", "1", "--errors", 30, "--iterations", 5)
        self.assertEqual(len(error_rate_files.read_curves(self.csv)), 2)

    def test_an_interrupted_run_keeps_its_counts(self):
        run = command(
            *("--code", SHORT, "--eb-n0", "6", "--frames", "none", "--batch", 100),
            *("--backend", BACKEND, "--csv", self.csv),
        )
        # A process group of its own, as a terminal's Ctrl-C reaches it.
        process = subprocess.Popen(
            run,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.assertIn("n 648", process.stdout.readline())
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", errors)
        self.assertNotIn("Traceback", errors)
        (row,) = self.rows()
        self.assertGreaterEqual(int(row["frames"]), 100)

    def test_a_torn_line_is_replaced(self):
        run = ("--code", SHORT, "--batch", 100, "--csv", self.csv, "--errors", 30)
        self.good(*run, "--eb-n0", "1,1.5")
        whole = self.csv.read_bytes()
        self.csv.write_bytes(whole[:-2])
        done = ber(*run, "--eb-n0", "1,1.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "^cudaphy_ber: .*the last line is torn")
        self.assertNotIn("Warning", done.stderr)
        self.assertEqual(done.stdout.count("from the file"), 1)
        rows = csv.DictReader(whole.decode().splitlines())
        same = [
            [(r["frames"], r["bit_errors"]) for r in each] for each in (rows, self.rows())
        ]
        self.assertEqual(*same)

    def test_files_that_cannot_be_written_are_errors_before_the_simulation(self):
        endless = ("--code", SHORT, "--eb-n0", 1, "--errors", "none", "--frames", "none")
        for output in ("--csv", "--png"):
            done = ber(*endless, "--seconds", 1e6, output, self.folder / "no/such/file")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("No such file", done.stderr)

    def test_a_full_disk_is_an_error_that_names_the_file(self):
        run = ("--code", SHORT, "--batch", 100, "--errors", 30, "--eb-n0", 1)
        for output in ("--csv", "--png"):
            done = ber(*run, output, "/dev/full")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("No space left", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_simulates_other_modulations_and_files_with_codes(self):
        matrix = self.folder / "a.qc"
        matrix.write_text("4 2 8\n0 1 0 -1\n3 5 -1 0\n")
        for code in (SHORT, f"qc:{matrix}", "uncoded n=100"):
            for constellation in ("qpsk", "qam16", "dvbs2_8psk"):
                self.good(
                    *(
                        "--code",
                        code,
                        "--constellation",
                        constellation,
                        "--csv",
                        self.csv,
                    ),
                    *("--es-n0", "0,12", "--frames", 200, "--batch", 100),
                    *("--demapper", "max_log", "--data", "zeros"),
                )
        curves = error_rate_files.read_curves(self.csv)
        self.assertEqual(len(curves), 9)
        for curve in curves:
            low, high = curve.sorted_points()
            self.assertGreaterEqual(low.bit_errors, high.bit_errors)
            self.assertGreater(low.bit_errors, 0)
        self.good("--overlay", self.csv, "--png", self.png, backend=None)
        self.assertTrue(self.png.read_bytes().startswith(PNG))

    def test_every_reference_is_complete_and_can_be_drawn(self):
        names = sorted(path.stem for path in (HERE / "reference_curves").glob("*.csv"))
        self.assertEqual(len(names), 18)
        out = self.good("--list-references", backend=None)
        families = {line.split()[0] for line in error_rate_names.list_codes()}
        for name in names:
            self.assertIn(name, out)
            one = error_rate_files.read_reference(HERE / f"reference_curves/{name}.csv")
            self.assertTrue(one.source and one.decoder and one.code)
            rates = [rate for _, rate, _ in sorted(one.points)]
            self.assertEqual(rates, sorted(rates, reverse=True), name)
            if one.code.split()[0] in families:
                self.assertGreater(cudaphy.code_from_text(one.code).n, 0)
        self.good(
            *("--code", SHORT, "--eb-n0", 1, "--errors", 5, "--png", self.png),
            *("--reference", *names),
        )
        self.assertTrue(self.png.read_bytes().startswith(PNG))

    def test_prints_its_version(self):
        done = ber("--version")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, f"cudaphy_ber {cudaphy.__version__}\n")

    def test_lists_codes(self):
        self.assertIn("wifi n=648|1296|1944", self.good("--list-codes", backend=None))
        out = self.good("--list-codes", "wifi", backend=None)
        self.assertEqual(len(out.splitlines()), 13)

    def test_errors_name_what_is_wrong(self):
        points = ("--code", SHORT, "--eb-n0", 1, "--frames", 10)
        self.png.write_text("not a CSV file")
        # Each exit status is tested from a process of its own too.
        self.assertEqual(ber(alone=True).returncode, 2)
        for arguments, message in (
            ((), "--code"),
            (("--code", SHORT), "--eb-n0"),
            (("--code", "wifi n=1 rate=1/2", "--eb-n0", 1), "1944"),
            (("--code", "wify n=648 rate=1/2", "--eb-n0", 1), "wify"),
            (("--code", SHORT, "--eb-n0", "1:2"), "first:last:step"),
            (("--code", SHORT, "--eb-n0", "2:1:0.1"), "first:last:step"),
            (("--code", SHORT, "--eb-n0", 1, "--es-n0", 1), "not allowed"),
            ((*points, "--constellation", "qam17"), "qam17"),
            ((*points, "--errors", 0), "above 0"),
            ((*points, "--seconds", "soon"), "above 0"),
            ((*points, "--iterations", 0), "iterations"),
            ((*points, "--scale", 2), "scale"),
            ((*points, "--csv", self.png), "not a file of error rates"),
            ((*points, "--overlay", self.png), "--png"),
            ((*points, "--png", self.csv, "--reference", "nowhere"), "nowhere"),
            (("--list-codes", "wify"), "wify"),
        ):
            done = ber(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        for arguments in (
            ("--code", "alist:/nowhere", "--eb-n0", 1),
            (*points, "--csv", self.folder / "no/such/folder.csv"),
        ):
            done = ber(*arguments, alone="--csv" in arguments)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("No such file", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        done = ber(*points, "--device", 99, backend="cuda", alone=True)
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_spreads_over_a_dask_cluster(self):
        try:
            from distributed import LocalCluster
        except ImportError:
            self.skipTest("no python3-distributed")
        run = ("--code", SHORT, "--eb-n0", "0.5,1.5", "--errors", 50, "--batch", 100)
        here, there = self.folder / "here.csv", self.folder / "there.csv"
        self.good(*run, "--csv", here)
        with LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            protocol="tcp",
        ) as cluster:
            address = cluster.scheduler_address
            out = self.good(*run, "--csv", there, "--scheduler", address)
        self.assertIn("1.500", out)
        counts = []
        for path in (here, there):
            (curve,) = error_rate_files.read_curves(path)
            counts.append([(p.frames, p.bit_errors) for p in curve.sorted_points()])
        self.assertEqual(*counts)
        with mock.patch.object(schedule, "CONNECT_SECONDS", 1):
            done = ber(*run, "--scheduler", "tcp://127.0.0.1:1")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Traceback (most recent call last)", done.stderr[-300:])

    def test_self_check_passes(self):
        out = self.good("--self-check")
        self.assertIn("ok:", out)
        self.assertNotIn("FAILED", out)


if __name__ == "__main__":
    if BACKEND not in cudaphy.backends():
        print(f"skipped: no backend {BACKEND} here, only {cudaphy.backends()}")
        sys.exit(77)
    unittest.main()
