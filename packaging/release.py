#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version and the addresses of repository and documentation, in every file that names one of them.

release.py --check            fails if the files disagree
release.py --version 1.2.3    writes the version everywhere
release.py --address URL      writes the repository's address everywhere
release.py --site URL         writes the address of the documentation's site everywhere
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# (file, what stands around the version or the address); the first file is the one that decides.
VERSION = [
    ("CMakeLists.txt", r"^project\(gr-cudaphy VERSION ([\d.]+) "),
    ("CITATION.cff", r"^version: (.+)$"),
    ("MANIFEST.yml", r"^version: (.+)$"),
    (".conda/recipe/meta.yaml", r'^{% set version = "(.+)" %}$'),
    ("packaging/rpm/gr-cudaphy.spec", r"^Version: +(.+)$"),
]
ADDRESS = [
    ("packaging/address", r"^(.+)$"),
    ("CITATION.cff", r"^repository-code: (.+)$"),
    ("MANIFEST.md", r"^repo: (.+)$"),
    ("MANIFEST.yml", r"^repo: (.+)$"),
    (".conda/recipe/meta.yaml", r"^  url: (.+)/archive/"),
    (".conda/recipe/meta.yaml", r"^  home: (.+)$"),
    (".conda/recipe/meta.yaml", r"^  dev_url: (.+)$"),
    ("packaging/rpm/gr-cudaphy.spec", r"^URL: +(.+)$"),
    ("pyproject.toml", r'^Repository = "(.+)"$'),
    ("packaging/pybombs/gr-cudaphy.lwr", r"^source: git\+(.+)\.git$"),
]
# Each block has a page on the site, to which Companion links.
BLOCKS = sorted(path.name for path in (ROOT / "grc").glob("*.block.yml"))
SITE = [("packaging/site", r"^(.+)$")] + [
    (f"grc/{name}", rf"^doc_url: (.+)/blocks/{name.removesuffix('.block.yml')}\.html$")
    for name in BLOCKS
]


def found(root, places):
    """[(file, value)], in the order of the places; the value is None if there is none."""
    values = []
    for file, pattern in places:
        match = re.search(pattern, (root / file).read_text(), re.MULTILINE)
        values.append((file, match and match.group(1)))
    return values


def disagreements(root):
    """A line for each file that does not say what the first one of its table says."""
    lines = []
    for what, places in (("version", VERSION), ("address", ADDRESS), ("site", SITE)):
        (first, wanted), *others = found(root, places)
        lines += [
            f"{file}: {what} {value}, but {first} has {wanted}"
            for file, value in others
            if value != wanted or wanted is None
        ]
    return lines


def write(root, places, value):
    for file, pattern in places:
        text = (root / file).read_text()
        match = re.search(pattern, text, re.MULTILINE)
        if not match:
            sys.exit(f"{file}: nothing that fits {pattern}")
        text = text[: match.start(1)] + value + text[match.end(1) :]
        (root / file).write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--version", metavar="X.Y.Z")
    parser.add_argument("--address", metavar="URL")
    parser.add_argument("--site", metavar="URL")
    arguments = parser.parse_args()
    if arguments.version and not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version):
        parser.error(f"{arguments.version} is not a version such as 1.2.3")
    for address in filter(None, (arguments.address, arguments.site)):
        if not re.fullmatch(r"https://\S+[^/.\s]", address):
            parser.error(f"{address} is not an address such as https://a.org/b")
    for places, value in (
        (VERSION, arguments.version),
        (ADDRESS, arguments.address),
        (SITE, arguments.site),
    ):
        if value:
            write(ROOT, places, value)
    lines = disagreements(ROOT)
    if lines:
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
