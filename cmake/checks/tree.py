# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the source tree, as the checks see them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "include",
    "lib",
    "python",
    "grc",
    "examples",
    "apps",
    "bench",
    "fuzz",
    "cmake",
    "docs",
    "packaging",
)
CPP = (".h", ".inl", ".cc", ".cu", ".cuh")


def files(root, folders=FOLDERS, suffixes=None):
    """Paths relative to root, sorted, without files that a build or a run left behind."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and not {"__pycache__", "output"} & set(relative.parts):
                if suffixes is None or path.suffix in suffixes:
                    found.append(relative)
    return found


def report(problems, read):
    """Prints the problems. Returns the exit status of a check."""
    for problem in problems:
        print(problem)
    print(f"{read} files read, {len(problems)} problems")
    return 1 if problems or not read else 0
