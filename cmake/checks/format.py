#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the C++, CUDA and Python files to the house's format; with --check it changes
nothing and fails where something would change. Exit status 77: a formatter is missing.

Formatters differ from version to version; the house's are those of Debian 12."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tree

FORMATTERS = {"clang-format-14": "version 14.", "/usr/bin/black": "black, 23."}


def missing_formatter():
    for program, version in FORMATTERS.items():
        try:
            found = subprocess.check_output([program, "--version"], text=True)
        except FileNotFoundError:
            return f"{program} is not installed"
        if version not in found:
            return f"{program} is not of {version} but {found.splitlines()[0]}"
    return None


def format_cpp(path, check):
    how = ["--dry-run", "--Werror"] if check else ["-i"]
    return formats(path, ["clang-format-14", "--style=file", *how])


def format_python(path, check):
    how = ["--check"] if check else []
    return formats(path, ["/usr/bin/black", "--quiet", "--line-length=90", *how])


def formats(path, command):
    done = subprocess.run([*command, path], cwd=tree.ROOT, capture_output=True, text=True)
    if done.returncode == 1:
        print(f"{path}: is not formatted; ./run format does it")
    elif done.returncode:
        print(done.stderr)
    return done.returncode == 0


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: format.py [--check]")
    missing = missing_formatter()
    if missing:
        print(f"skipped: {missing}")
        return 77
    cpp = tree.files(tree.ROOT, suffixes=tree.CPP)
    python = tree.files(tree.ROOT, suffixes=(".py",))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = [
            *pool.map(lambda path: format_cpp(path, check), cpp),
            *pool.map(lambda path: format_python(path, check), python),
        ]
    if check:
        print(f"{len(cpp) + len(python)} files read, {good.count(False)} problems")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
