#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Formats the C++, CUDA and Python files. With --check changes nothing, and fails if a
file would change. Exit status 77: a formatter is missing.

Formatters differ from version to version; these are Debian 12's."""

import os
import re
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


def format_cpp(paths, check):
    """One process for many files: its start takes longer than most files."""
    how = ["--dry-run", "--Werror"] if check else ["-i"]
    command = ["clang-format-14", "--style=file", *how, *paths]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True)
    if done.returncode:
        named = dict.fromkeys(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M))
        print("\n".join(f"would reformat {path}" for path in named) or done.stderr)
    return done.returncode == 0


def format_python(paths, check):
    how = ["--check"] if check else ["--quiet"]
    command = ["/usr/bin/black", "--line-length=90", *how, *paths]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, end="")
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
        shares = [cpp[i :: 2 * os.cpu_count()] for i in range(2 * os.cpu_count())]
        good = list(
            pool.map(lambda paths: format_cpp(paths, check), filter(None, shares))
        )
    good.append(format_python(python, check))
    if check:
        hint = "all formatted" if all(good) else "./run format does what is missing"
        print(f"{len(cpp) + len(python)} files read, {hint}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
