#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails if a source file does not begin with its licence, or is too long to be read in
one go. Fails if a GRC block file is not under [CUDA PHY], not documented, or not named
after its id."""

import re
import sys
from pathlib import Path

import tree
import yaml

LICENCE = "SPDX-License-Identifier: GPL-3.0-or-later"
SOURCES = (*tree.CPP, ".py", ".cmake", ".in", ".sh")
SCRIPTS = ("run", ".ci/run")
LARGEST = 20 * 1024


def is_source(path):
    return path.suffix in SOURCES or path.name == "CMakeLists.txt"


def is_table(path):
    """Tables of constants may be long. Their names say so: x_table.h, tables_dvb.cc."""
    return re.search(r"(^|_)tables?(_|$)", path.stem) is not None


def problems_of_source(root, path):
    content = (root / path).read_text()
    head = content.splitlines()[:2]
    if head and head[0].startswith("#!"):
        head = head[1:]
    if not head or LICENCE not in head[0]:
        yield f"{path}: does not begin with {LICENCE}"
    if len(content.encode()) > LARGEST and not is_table(path):
        yield f"{path}: {len(content.encode())} bytes are more than {LARGEST}"


def problems_of_block(root, path):
    try:
        block = yaml.safe_load((root / path).read_text())
    except yaml.YAMLError as error:
        yield f"{path}: {error}"
        return
    if block.get("id") != path.name.removesuffix(".block.yml"):
        yield f"{path}: its id is {block.get('id')}"
    if not str(block.get("category", "")).startswith("[CUDA PHY]"):
        yield f"{path}: its category does not begin with [CUDA PHY]"
    if len(str(block.get("documentation") or "").split()) < 10:
        yield f"{path}: has no documentation"
    if block.get("file_format") != 1:
        yield f"{path}: its file_format is not 1"


def problems(root):
    """The problems of the tree at root, and the number of files read."""
    root, wrong = Path(root), []
    sources = [path for path in tree.files(root) if is_source(path)]
    sources += [Path(name) for name in SCRIPTS if (root / name).is_file()]
    for path in sources:
        wrong += problems_of_source(root, path)
    blocks = [p for p in tree.files(root, ["grc"]) if p.name.endswith(".block.yml")]
    for path in blocks:
        wrong += problems_of_block(root, path)
    return wrong, len(sources) + len(blocks)


if __name__ == "__main__":
    sys.exit(tree.report(*problems(tree.ROOT)))
