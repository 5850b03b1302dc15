#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""run_tests.py [NAME...]: runs the tests of the functions with the package cudaphy that is installed.

They are qa_wheel.py, and python/cudaphy/tests/*/qa_*.py, those of GNU Radio's build too.
without_gnuradio stands for GNU Radio: a test that calls it is skipped. CUDAPHY_TEST_BACKEND chooses the backend. Fails if a test
does, or if few tests ran, which a fault of without_gnuradio would make."""

import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "python/cudaphy/tests"
ALONE = Path(__file__).resolve().with_name("qa_wheel.py")
LEFT_OUT = (TESTS / "without_gnuradio/left_out.txt").read_text().splitlines()
LEAST = 220  # tests that run, of all
# Runs a file, and counts a test of which any part is skipped as skipped.
ONE = """
import runpy, sys, unittest
skipped = set()
class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        skipped.add(getattr(test, "test_case", test).id())
unittest.TextTestRunner.resultclass = Result
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    print(f"{len(skipped)} tests skipped", flush=True)
"""


def run(file):
    """(file, tests that ran, skipped ones, output if it failed)"""
    path = f"{TESTS / 'without_gnuradio'}{os.pathsep}{TESTS}"
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    if file == ALONE:
        environment["PYTHONPATH"] = ""
    done = subprocess.run(
        [sys.executable, "-c", ONE, file],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
    )
    ran, skipped = (
        sum(map(int, re.findall(pattern, done.stdout, re.MULTILINE)))
        for pattern in (r"^Ran (\d+) tests?", r"^(\d+) tests skipped")
    )
    # 77: no backend; 5: Python 3.12 and later ran no test, since all of a class are skipped.
    good = done.returncode in (0, 5, 77)
    return file, max(0, ran - skipped), skipped, "" if good else done.stdout


def main():
    files = [
        file
        for file in (ALONE, *sorted(TESTS.glob("*/qa_*.py")))
        if file.parent.name not in LEFT_OUT
        and file.stem not in LEFT_OUT
        and (len(sys.argv) == 1 or file.stem in sys.argv[1:])
    ]
    if not files:
        sys.exit(f"no test of these names: {sys.argv[1:]}")
    total, failed = 0, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for file, ran, skipped, output in pool.map(run, files):
            print(f"{file.stem}: {ran} ran, {skipped} skipped", flush=True)
            total += ran
            if output:
                failed.append(file.stem)
                print(output, flush=True)
    print(f"{total} tests of {len(files)} files ran; failed: {failed or 'none'}")
    if failed or (len(sys.argv) == 1 and total < LEAST):
        sys.exit(1)


if __name__ == "__main__":
    main()
