#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the built module into an empty folder and uses it there: by
find_package(gnuradio-cudaphy) from other CMake projects, the blocks' files where GRC
looks for them, `from gnuradio import cudaphy`, the programs and the documentation. Then
installs the module below /usr in another empty folder, as packages do, and uninstalls
it."""

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def call(*command, skips=False, **environment):
    """Runs a command, which must succeed, or with `skips` may end with 77 (no GPU)."""
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


def check_pkg_config(prefix, libraries, folder, arguments):
    """A small consumer without CMake."""
    file = only(prefix, "gnuradio-cudaphy.pc")
    found = {"PKG_CONFIG_PATH": str(file.parent)}
    query = ["pkg-config", "gnuradio-cudaphy"]
    version = subprocess.check_output(
        [*query, "--modversion"], env={**os.environ, **found}, text=True
    )
    if version.strip() != arguments.version:
        sys.exit(f"{file} has version {version}")
    flags = subprocess.check_output(
        [*query, "--cflags", "--libs"], env={**os.environ, **found}, text=True
    )
    program = folder / "by_pkg_config"
    source = HERE / "consumer/main.cc"
    call(arguments.compiler, "-std=c++17", source, "-o", program, *flags.split())
    call(program, LD_LIBRARY_PATH=str(libraries))


def check_python_module(prefix, libraries):
    packages = only(prefix, "gnuradio/cudaphy/__init__.py").parents[2]
    program = (
        "from gnuradio import cudaphy; print(cudaphy.__file__, cudaphy.backends());"
        f"assert cudaphy.__file__.startswith({str(prefix)!r}), 'another one was imported'"
    )
    finds = {"PYTHONPATH": str(packages), "LD_LIBRARY_PATH": str(libraries)}
    call(sys.executable, "-B", "-c", program, **finds)
    for name in ("py.typed", "__init__.pyi", "cudaphy_python.pyi", "nr5g.pyi"):
        only(packages / "gnuradio/cudaphy", name)
    # The program finds the published curves that are installed beside it.
    call(
        sys.executable,
        "-B",
        only(prefix, "bin/cudaphy_ber"),
        "--list-references",
        **finds,
    )


def check_files(folder, source, pattern):
    """All files of a source folder that fit the pattern are installed. Tests and the
    scripts of the documentation's site are not."""
    files = {path.relative_to(source) for path in source.glob(pattern) if path.is_file()}
    files = {
        path
        for path in files
        if path.parts[0] != "site" and not path.name.startswith("qa_")
    }
    missing = [str(path) for path in sorted(files) if not (folder / path).is_file()]
    if missing or not files:
        sys.exit(f"not installed into {folder}: {missing}")


def check_data(prefix):
    """What GRC and readers look for."""
    check_files(prefix / "share/gnuradio/grc/blocks", SOURCE / "grc", "*.block.yml")
    documents = prefix / "share/doc/gr-cudaphy"
    check_files(documents / "docs", SOURCE / "docs", "**/*")
    for name in ("README.md", "CHANGELOG.md", "LICENSE"):
        check_files(documents, SOURCE, name)


def check_programs(prefix, libraries, folder, version):
    """The programs run by name even if the first python3 on PATH is another one."""
    for path in prefix.rglob("*"):
        if path.is_file():
            first = path.open("rb").readline().decode(errors="replace").strip()
            if first.startswith("#!") and first != f"#!{sys.executable}":
                sys.exit(f"{path} begins with {first}, not with #!{sys.executable}")
    other = folder / "other"
    other.mkdir()
    (other / "python3").write_text("#!/bin/sh\nexit 99\n")
    (other / "python3").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{other}:{os.environ['PATH']}",
        "PYTHONPATH": str(only(prefix, "gnuradio/cudaphy/__init__.py").parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": str(libraries),
    }
    for name in ("cudaphy_ber", "cudaphy_info"):
        only(prefix / "share/man/man1", f"{name}.1")
        out = subprocess.check_output(
            [prefix / "bin" / name, "--version"], env=environment, text=True
        )
        if out != f"{name} {version}\n":
            sys.exit(f"{name} --version prints {out}")


def check_below_usr(folder, arguments):
    """A build for a package: no tests, prefix /usr, and the libraries built already."""
    tree, stage = folder / "package", folder / "stage"
    call(
        arguments.cmake,
        *("-S", SOURCE, "-B", tree, "-G", arguments.generator),
        "-DCMAKE_INSTALL_PREFIX=/usr",
        f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
        f"-DPYTHON_EXECUTABLE={sys.executable}",
        f"-DENABLE_PYTHON={'ON' if arguments.with_python else 'OFF'}",
        *("-DENABLE_TESTING=OFF", "-DENABLE_BENCHMARKS=OFF", "-DENABLE_CUDA=OFF"),
        "-DCMAKE_SKIP_RPATH=ON",
    )
    package = Path("test_modules/gnuradio/cudaphy")
    types = "types/gnuradio/cudaphy/*"
    for pattern in (
        "lib/libgnuradio-cudaphy.so*",
        f"{package}/cudaphy_python*.so",
        types,
    ):
        for built in Path(arguments.build).glob(pattern):
            to = tree / built.relative_to(arguments.build)
            shutil.copy2(built, to, follow_symlinks=False)

    uninstall = [arguments.cmake, "--build", tree, "--target", "uninstall"]
    staged = {**os.environ, "DESTDIR": str(stage)}
    done = subprocess.run(uninstall, env=staged, capture_output=True, text=True)
    if done.returncode == 0 or "Nothing to uninstall" not in done.stdout + done.stderr:
        sys.exit(f"uninstall, with nothing installed: {done.stdout}{done.stderr}")

    call(arguments.cmake, "--install", tree, DESTDIR=str(stage))
    check_data(stage / "usr")
    if arguments.with_python:
        site = only(stage, "gnuradio/cudaphy/__init__.py").parents[2]
        if f"/{site.relative_to(stage)}" not in sys.path:
            sys.exit(f"installed into {site}, but {sys.executable} looks in {sys.path}")
        call(sys.executable, "-B", HERE / "packaging.py", stage)
        compileall.compile_dir(site, quiet=1)
    call(*uninstall, DESTDIR=str(stage))
    left = [path for path in stage.rglob("*") if not path.is_dir()]
    left += [path for path in stage.rglob("*cudaphy*")]
    if left:
        sys.exit(f"left after uninstall: {[str(path) for path in left]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cmake", "generator", "compiler", "build", "version"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--with-python", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "prefix")
        # A component has its own list of files; the user's installation keeps its list.
        everything = ("--component", "Unspecified")
        call(
            arguments.cmake, "--install", arguments.build, "--prefix", prefix, *everything
        )
        libraries = only(prefix, "libgnuradio-cudaphy.so").parent
        check_cmake_package(prefix, Path(folder), arguments)
        check_pkg_config(prefix, libraries, Path(folder), arguments)
        check_data(prefix)
        if arguments.with_python:
            check_python_module(prefix, libraries)
            check_programs(prefix, libraries, Path(folder), arguments.version)
        check_below_usr(Path(folder), arguments)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        sys.exit(str(failure))
