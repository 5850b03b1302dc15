#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the built module into an empty folder and uses it from there as others will:
find_package(gnuradio-cudaphy) from other CMake projects, the blocks' files where GRC looks
for them, and `from gnuradio import cudaphy`."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def call(*command, skips=False, **environment):
    """Runs a command, which must succeed; `skips`: or end with 77, for want of a GPU."""
    print("$", *command, flush=True)
    done = subprocess.run([*map(str, command)], env={**os.environ, **environment})
    if not (skips and done.returncode == 77):
        done.check_returncode()


def only(prefix, pattern):
    """The one path under prefix that fits the pattern."""
    found = sorted(prefix.rglob(pattern))
    if len(found) != 1:
        sys.exit(f"expected one {pattern}, found {[str(path) for path in found]}")
    return found[0]


def check_cmake_package(prefix, folder, arguments):
    """A small consumer, and the examples in C++ as they are installed."""
    only(prefix, "gnuradio-cudaphyConfig.cmake")
    examples = prefix / "share/gnuradio/examples/cudaphy/cpp"
    version = f"-DCUDAPHY_VERSION={arguments.version}"
    for source, options in ((HERE / "consumer", [version]), (examples, [])):
        work = folder / source.name
        call(
            arguments.cmake,
            *("-S", source, "-B", work, "-G", arguments.generator),
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            *options,
        )
        call(arguments.cmake, "--build", work)
    call(folder / "consumer/consumer")
    call(folder / "cpp/invert_anywhere")
    if (folder / "cpp/invert_on_your_stream").exists():
        call(folder / "cpp/invert_on_your_stream", skips=True)


def check_python_module(prefix, libraries):
    packages = only(prefix, "gnuradio/cudaphy/__init__.py").parents[2]
    program = (
        "from gnuradio import cudaphy; print(cudaphy.__file__, cudaphy.backends());"
        f"assert cudaphy.__file__.startswith({str(prefix)!r}), 'another one was imported'"
    )
    finds = {"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(libraries)}
    call(sys.executable, "-B", "-c", program, **finds)
    # With the published curves that are installed beside it.
    call(
        sys.executable,
        "-B",
        only(prefix, "bin/cudaphy_ber"),
        "--list-references",
        **finds,
    )


def check_blocks(prefix):
    folder = prefix / "share/gnuradio/grc/blocks"
    source = {path.name for path in (HERE.parents[1] / "grc").glob("*.block.yml")}
    missing = source - {path.name for path in folder.glob("*.block.yml")}
    if missing:
        sys.exit(f"not installed into {folder}: {sorted(missing)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cmake", "generator", "compiler", "build", "version"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--with-python", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "prefix")
        call(arguments.cmake, "--install", arguments.build, "--prefix", prefix)
        libraries = only(prefix, "libgnuradio-cudaphy.so").parent
        check_cmake_package(prefix, Path(folder), arguments)
        check_blocks(prefix)
        if arguments.with_python:
            check_python_module(prefix, libraries)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        sys.exit(str(failure))
