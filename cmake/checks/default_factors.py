#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails if the table of default factors in docs/conventions.md differs from
lib/kernels/ldpc/codes/default_factors.cc. With --write, writes the table from that
file."""

import argparse
import itertools
import re
import sys
from pathlib import Path

CODE, DOCS = "lib/kernels/ldpc/codes/default_factors.cc", "docs/conventions.md"
ROW = re.compile(
    r'\{ "([^"]+)", "([^"]*)", \{ ([.\d]+)f, (\w+(?:, \w+)?) \}, "([^"]+)" \},'
)
BEGIN, END = "<!-- factors, from the code -->\n", "<!-- end of factors -->\n"


def table(code):
    """The lines of the documents' table."""
    lines = ["| code | s | | simulated |", "|---|---|---|---|"]
    rows = ROW.findall(code)
    for (family, how, codes), group in itertools.groupby(
        rows, lambda row: (row[0], row[3], row[4])
    ):
        group = list(group)
        variants = " ".join(f"`{row[1]}`" for row in group if row[1])
        factors = " ".join(f"{float(row[2]):g}" for row in group)
        lines.append(f"| {family} {variants} | {factors} | {how} | {codes} |")
    return "".join(line.replace("  ", " ") + "\n" for line in lines)


def problems(root, write=False):
    root = Path(root)
    docs, wanted = (root / DOCS).read_text(), table((root / CODE).read_text())
    if BEGIN not in docs or END not in docs:
        return [f"{DOCS}: has no lines {BEGIN.strip()} and {END.strip()}"]
    before, rest = docs.split(BEGIN, 1)
    found, after = rest.split(END, 1)
    if found == wanted:
        return []
    if write:
        (root / DOCS).write_text(before + BEGIN + wanted + END + after)
        return []
    return [f"{DOCS}: its table of factors is not that of {CODE}; --write writes it"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = problems(given.root, given.write)
    print("\n".join(found) or "the tables agree")
    sys.exit(bool(found))
