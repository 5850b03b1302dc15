#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails if an include or an import runs against the layers:

    common <- linalg, symmetric, ldpc, mimo, fdtd <- nr <- runtime <- blocks
        <- python <- examples, apps, bench

Kernel folders may use each other, but not in a circle. lib/kernels and the kernels' public
headers may not include GNU Radio or pmt. Only these may include CUDA's headers and *.cuh:
*.cu, *.cuh, the CUDA files of lib/kernels/common, lib/runtime, bench/streams, examples/cpp. In
lib/ only scheduler_port.cc and tests may include GNU Radio's scheduler and its rings.
"""

import ast
import re
import sys
from pathlib import Path

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
CUDA = re.compile(
    r"^(cuda|cublas|cusolver|cusparse|cufft|curand|cub/|thrust/|nvrtc|nvml|nvtx"
    r"|cooperative_groups|device_launch_parameters|vector_types|mma\.h|sm_\d)"
)
GNU_RADIO = re.compile(r"^(gnuradio|pmt)/")
SCHEDULER = re.compile(r"^gnuradio/(block_detail|tpb_detail|buffer\w*)\.h$")
PUBLIC = "include/gnuradio/cudaphy/"
RANKS = {"common": 0, "kernels": 1, "runtime": 2, "blocks": 3, "python": 4, "programs": 5}


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.files = tree.files(self.root, suffixes=(*tree.CPP, ".py"))
        self.owners = self._owners_of_public_headers()

    def _owners_of_public_headers(self):
        """kernels/x.h belongs to the folder of lib/kernels that implements x."""
        owners = {}
        for path in self.files:
            if path.as_posix().startswith("lib/kernels/") and path.suffix != ".h":
                if len(path.parts) > 3 and not path.stem.startswith("qa_"):
                    owners.setdefault(path.stem, path.parts[2])
        return owners

    def room(self, path):
        """(layer, folder of lib/kernels or None) of a file."""
        name = path.as_posix()
        if name.startswith(PUBLIC + "kernels/"):
            folder = self.owners.get(path.stem, "common")
        elif name.startswith("lib/kernels/"):
            folder = path.parts[2] if len(path.parts) > 3 else "common"
        elif name == PUBLIC + "api.h":
            folder = "common"
        elif name.startswith(("lib/runtime/", PUBLIC + "runtime/")):
            return "runtime", None
        elif name.startswith(("lib/", "include/")):
            return "blocks", None
        elif name.startswith("python/"):
            return "python", None
        else:
            return "programs", None
        return ("common" if folder == "common" else "kernels"), folder

    def resolve(self, path, target):
        """The file of this tree that an include means; None for others' files."""
        for base in (
            path.parent,
            Path("lib"),
            Path("include"),
            Path("python/cudaphy"),
            Path(),
        ):
            parts = []
            for part in (base / target).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            if (self.root / Path(*parts)).is_file():
                return Path(*parts)
        return None


def may_see_cuda(path):
    name = path.as_posix()
    return (
        path.suffix in (".cu", ".cuh")
        or name.startswith(("lib/runtime/", "examples/cpp/", "bench/streams/"))
        or (name.startswith("lib/kernels/common/") and "cuda" in path.name)
    )


def may_see_scheduler(path):
    return (
        path.parts[0] != "lib"
        or path.name.startswith("qa_")
        or path.as_posix() == "lib/runtime/scheduler_port.cc"
    )


def problems_of_includes(repository, path, uses):
    layer, folder = repository.room(path)
    for target in INCLUDE.findall((repository.root / path).read_text(errors="replace")):
        found = repository.resolve(path, target)
        if found is None and target.startswith(
            ("gnuradio/cudaphy/", "kernels/", "runtime/", "blocks/", "bench/")
        ):
            yield f"{path}: includes {target}, which does not exist"
        elif found is None and CUDA.match(target) and not may_see_cuda(path):
            yield f"{path}: includes CUDA's {target}"
        elif found is None and GNU_RADIO.match(target) and layer in ("common", "kernels"):
            yield f"{path}: a kernel includes GNU Radio's {target}"
        elif SCHEDULER.match(target) and not may_see_scheduler(path):
            yield f"{path}: includes {target}, which only scheduler_port.cc may"
        elif found is not None:
            other, other_folder = repository.room(found)
            if RANKS[other] > RANKS[layer]:
                yield f"{path}: {layer} includes {target} of {other}"
            elif found.suffix == ".cuh" and not may_see_cuda(path):
                yield f"{path}: includes {target}, a CUDA header"
            elif other == layer == "kernels" and other_folder != folder:
                uses.setdefault(folder, {}).setdefault(other_folder, (path, target))


def problems_of_circles(uses):
    def reaches(start, goal, seen):
        return start == goal or any(
            reaches(following, goal, seen | {start})
            for following in uses.get(start, ())
            if following not in seen
        )

    for folder, used in sorted(uses.items()):
        for other, (path, target) in sorted(used.items()):
            if reaches(other, folder, set()):
                yield f"{path}: includes {target}, but {other} uses {folder} as well"


def modules_of(path):
    """Dotted names that a Python file imports, but for relative ones, which stay in the package."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            yield from (f"{module}.{alias.name}".strip(".") for alias in node.names)


def problems_of_imports(repository, path, programs):
    if repository.room(path)[0] == "python":
        for module in modules_of(repository.root / path):
            if module.split(".")[0] in programs:
                yield f"{path}: python imports {module} of examples or apps"


def problems(root):
    """The problems of the tree at root, and the number of files read."""
    repository = Tree(root)
    programs = {"examples", "apps", "bench"}
    programs |= {p.stem for p in repository.files if p.parts[0] in ("examples", "apps")}
    uses, wrong = {}, []
    for path in repository.files:
        if path.suffix == ".py":
            wrong += problems_of_imports(repository, path, programs)
        elif path.parts[0] != "cmake":
            wrong += problems_of_includes(repository, path, uses)
    return wrong + list(problems_of_circles(uses)), len(repository.files)


if __name__ == "__main__":
    sys.exit(tree.report(*problems(tree.ROOT)))
