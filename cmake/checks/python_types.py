#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""python_types.py FOLDER: the stubs in FOLDER/gnuradio/cudaphy are valid, agree with the module,
accept a right program and refuse a wrong one. Exit status 77: mypy is missing."""

import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gnuradio import cudaphy

HERE = Path(__file__).resolve().parent
STUBS = ("gnuradio.cudaphy.cudaphy_python", "gnuradio.cudaphy.nr5g")
ERROR = re.compile(r"^.*?:(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)
# GNU Radio itself has no types. As installed without them, all its names are Any.
GNU_RADIO = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"


def run_mypy(folder, module, *arguments):
    """Exit status and output of mypy or its stubtest, which see the stubs alone."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", module, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def copy_stubs(source, folder):
    shutil.copytree(source / "gnuradio", folder / "gnuradio")
    (folder / "gnuradio/__init__.pyi").write_text(GNU_RADIO)
    (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n")


def write_allowlist(path):
    """What stubtest cannot see otherwise: pybind11's metaclass, and modules without stubs."""
    names = [
        module.name
        for module in pkgutil.walk_packages(cudaphy.__path__, "gnuradio.cudaphy.")
        if module.name not in STUBS
    ]
    for module in (cudaphy, cudaphy.cudaphy_python):
        for name, thing in vars(module).items():
            if type(thing).__name__ == "pybind11_type":
                names.append(f"{module.__name__}.{name}")
    path.write_text("".join(f"{re.escape(name)}\n" for name in names))


def marked(program):
    """[(line, code of error)] that the program's comments name."""
    lines = program.read_text().splitlines()
    marks = [(i, re.search(r"  # ([a-z-]+)$", line)) for i, line in enumerate(lines, 1)]
    return [(line, found.group(1)) for line, found in marks if found]


def refused(folder, program):
    """[(line, code of error)] that mypy finds in the program."""
    _, output = run_mypy(folder, "mypy", "--config-file", "mypy.ini", program)
    return sorted({(int(line), code) for line, code in ERROR.findall(output)}), output


def compare(name, found, expected, output):
    if found != expected:
        sys.exit(f"{name}: expected {expected}, found {found}\n{output}")
    print(f"{name}: as expected")


def main():
    if importlib.util.find_spec("mypy") is None:
        print("skipped: mypy is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy_stubs(Path(sys.argv[1]), folder)
        config = ("--config-file", "mypy.ini")
        status, output = run_mypy(folder, "mypy", *config, "-p", "gnuradio.cudaphy")
        compare("stubs", status, 0, output)

        for name in ("right.py", "wrong.py"):
            program = HERE / "typed" / name
            found, output = refused(folder, program)
            compare(name, found, marked(program), output)

        # A name that the module lacks is found, and nothing else differs.
        stub = folder / "gnuradio/cudaphy/nr5g.pyi"
        stub.write_text(stub.read_text() + "\ndef crcs() -> None: ...\n")
        write_allowlist(folder / "allowed")
        stubtest = ("--allowlist", "allowed", "--ignore-unused-allowlist")
        stubtest += ("--mypy-config-file", "mypy.ini", "gnuradio.cudaphy")
        status, output = run_mypy(folder, "mypy.stubtest", *stubtest)
        differences = sorted(re.findall(r"^error: (\S+ is not .*)$", output, re.M))
        wanted = ["gnuradio.cudaphy.nr5g.crcs is not present at runtime"]
        compare("stubs beside the module", differences, wanted, output)
        found = re.findall(r"^Found (\d+) errors? ", output, re.M)
        compare("number of differences", found, ["1"], output)


if __name__ == "__main__":
    main()
