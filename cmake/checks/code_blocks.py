#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""code_blocks.py [--run python|sh|cpp]: the code on the pages of the repository does what the pages say.

Every fenced block of a Markdown page has a language: python, sh, cpp, cmake, or text, which is no code. Each block of
code is run, or the line before it says why not:

    <!-- not run: needs a radio -->
    <!-- the same as examples/file.h: -->        (check_docs compares, and the file has a test of its own)

What a block must print, besides ending well, may stand there too:

    <!-- prints: True True -->

Without --run, says which blocks are neither. --run python runs the blocks of each page one after another in one
process; --run sh runs each in a folder that has what the repository has, with the programs on PATH; --run cpp compiles
each, and runs those with a main(). Exit status 77: there is no compiler, or a sanitizer would make programs too slow."""

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import tree

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"<!-- (?:not run: \S.*|the same as \S+:) -->")
PRINTS = re.compile(r"<!-- prints: (.*) -->")
RUN = ("python", "sh", "cpp")
LANGUAGES = (*RUN, "cmake", "text")
SKIPPED = re.compile(r"build.*|output|\.git.*")  # folders
PATIENCE = 240  # seconds
LIBRARIES = "gnuradio-cudaphy gnuradio-runtime gnuradio-pmt".split()


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    code: str
    marked: bool
    prints: str = ""

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks_of(page, text):
    """The blocks of a page, in order."""
    found = []
    for fence in FENCE.finditer(text):
        before = text[: fence.start()].rstrip("\n").rpartition("\n")[2].strip()
        indent = len(fence["indent"])
        code = "".join(line[indent:] for line in fence["code"].splitlines(True))
        line = text.count("\n", 0, fence.start()) + 1
        marked = MARK.fullmatch(before) is not None
        prints = PRINTS.fullmatch(before)
        language = fence["language"].strip()
        prints = prints.group(1) if prints else ""
        found.append(Block(page, line, language, code, marked, prints))
    return found


def pages(root):
    return [
        path.relative_to(root)
        for path in sorted(root.rglob("*.md"))
        if not any(map(SKIPPED.fullmatch, path.relative_to(root).parts))
    ]


def all_blocks(root):
    return [
        one for page in pages(root) for one in blocks_of(page, (root / page).read_text())
    ]


def problems(blocks):
    """Blocks that are neither run nor marked."""
    for one in blocks:
        if one.language not in LANGUAGES:
            yield f'{one}: language "{one.language}" is none of {", ".join(LANGUAGES)}'
        elif one.language == "text" and one.marked:
            yield f"{one}: text is not run anyway"
        elif one.language not in (*RUN, "text") and not one.marked:
            yield f"{one}: {one.language} can't be run here, and no line says why"


def library_folder():
    """Of the library that the Python module loads."""
    from gnuradio import cudaphy  # noqa: F401

    maps = Path("/proc/self/maps").read_text()
    return Path(re.search(r"(/\S*libgnuradio-cudaphy\S*)", maps).group(1)).parent


def workplace(folder):
    """A folder with what the repository has, and the programs by name on PATH."""
    work, programs = Path(folder, "work"), Path(folder, "bin")
    work.mkdir()
    programs.mkdir()
    for path in tree.ROOT.iterdir():
        if not SKIPPED.fullmatch(path.name):
            (work / path.name).symlink_to(path)
    for name in ("cudaphy_ber", "cudaphy_info"):
        made = programs / name
        program = tree.ROOT / f"apps/{name}.py"
        made.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "{program}" "$@"\n')
        made.chmod(made.stat().st_mode | stat.S_IXUSR)
    (programs / "python3").symlink_to(sys.executable)
    modules = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(one) for one in modules if one),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": folder,
        "MPLBACKEND": "Agg",
        "QT_QPA_PLATFORM": "offscreen",
        "GRC_BLOCKS_PATH": str(tree.ROOT / "grc"),
    }
    return work, environment


def call(command, work, environment, code=None, prints=()):
    """Why a command failed, or None. prints: what must be in its output."""
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            input=code,
            text=True,
            timeout=PATIENCE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired:
        return f"does not end in {PATIENCE} s"
    if done.returncode:
        return f"exit status {done.returncode}\n{done.stdout}"
    missing = [text for text in prints if text not in done.stdout]
    return f"does not print {missing}, but\n{done.stdout}" if missing else None


def run_python(blocks, work, environment):
    """Pages: their blocks make one program each, with lines numbered as on the page."""
    by_page = {}
    for one in blocks:
        by_page.setdefault(one.page, []).append(one)
    for page, those in by_page.items():
        program = ""
        for one in those:
            program += "\n" * (one.line - program.count("\n")) + one.code
        file = work / "page.py"
        file.write_text(program)
        prints = [one.prints for one in those]
        command = [sys.executable, "-B", file]
        yield str(page), call(command, work, environment, prints=prints)


def run_sh(blocks, work, environment):
    """Code that stands on several pages runs once."""
    by_code = {}
    for one in blocks:
        by_code.setdefault(one.code, []).append(one)
    for code, those in by_code.items():
        command = ["bash", "-eu", "-o", "pipefail", "-s"]
        prints = [one.prints for one in those]
        where = ", ".join(map(str, those))
        yield where, call(command, work, environment, code, prints)


def run_cpp(blocks, work, environment, compiler):
    folder = library_folder()
    for one in blocks:
        source, program = work / "page.cc", work / "page"
        source.write_text(one.code)
        command = [compiler, "-std=c++17", "-Wall", f"-I{tree.ROOT / 'include'}", source]
        if "int main(" not in one.code:
            yield str(one), call([*command, "-fsyntax-only"], work, environment)
            continue
        command += ["-o", program, f"-L{folder}", f"-Wl,-rpath,{folder}"]
        command += [f"-l{name}" for name in LIBRARIES]
        failed = call(command, work, environment)
        failed = failed or call([program], work, environment, prints=[one.prints])
        yield str(one), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", choices=RUN)
    parser.add_argument("--only", default="", help="pages whose path has this")
    arguments = parser.parse_args()
    blocks = all_blocks(tree.ROOT)
    if not arguments.run:
        return tree.report(list(problems(blocks)), len(blocks))
    chosen = [
        one
        for one in blocks
        if one.language == arguments.run
        and not one.marked
        and arguments.only in str(one.page)
    ]
    if os.environ.get("LD_PRELOAD"):
        print("skipped: beside a sanitizer")
        return 77
    more = ()
    if arguments.run == "cpp":
        compiler = shutil.which(os.environ.get("CXX", "c++"))
        if not compiler:
            print("skipped: there is no compiler")
            return 77
        more = (compiler,)
    runner = {"python": run_python, "sh": run_sh, "cpp": run_cpp}[arguments.run]
    with tempfile.TemporaryDirectory() as folder:
        results = [
            f"{what}: {failure}"
            for what, failure in runner(chosen, *workplace(folder), *more)
            if failure
        ]
    return tree.report(results, len(chosen))


if __name__ == "__main__":
    sys.exit(main())
