#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""build.py --output FOLDER: the documentation as a site, in FOLDER/html.

Sphinx has the pages of docs/, the blocks of GNU Radio Companion and the Python module, which
must be on PYTHONPATH. Doxygen has the C++ headers, in FOLDER/html/cpp. A warning of either is an
error, and so is a link that leads nowhere. Exit status 77: Sphinx, its extensions, Doxygen or the module is missing."""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import links

SITE = Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parent
SAME = re.compile(r"<!-- the same as (\S+): -->\n```\w*\n(.*?)```", re.DOTALL)
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)#\s]*)(#[^)\s]*)?\)")
MODULES = ["sphinx", "myst_parser", "sphinx_rtd_theme", "yaml", "gnuradio.cudaphy"]
MODULES += ["gnuradio.grc"]
PAGES = ["tutorial", "howto/index", "conventions", "live", "error_rates", "fdtd"]
PAGES += ["gpu_arrays", "cpp", "troubleshooting", "performance", "install"]
INSIDE = ["architecture", "your_own_block", "add_a_code"]


def missing():
    """What the site cannot be built without and is not there."""
    found = [] if shutil.which("doxygen") else ["doxygen"]
    for name in MODULES:
        try:
            if importlib.util.find_spec(name) is None:
                found.append(name)
        except ModuleNotFoundError:
            found.append(name)
    return found


def link_in_site(page, match):
    """A link of a page in docs/ as the site has it. What is not in the site becomes text."""
    text, target, anchor = match.group(1), match.group(2), match.group(3) or ""
    if not target or ":" in target:
        return match.group(0)
    path = (page.parent / target).resolve()
    if not path.exists():
        sys.exit(f"{page.relative_to(ROOT)}: links to {target}, which does not exist")
    is_in_site = path.is_dir() or path.suffix in (".md", ".png")
    if DOCS not in path.parents or not is_in_site:
        return f"{text[1:-1]} (`{path.relative_to(ROOT)}`)"
    if path.is_dir():
        return f"{text}({target.rstrip('/')}/index.md)"
    return match.group(0)


def check_code(page, text):
    """Code that a page shows must be that of the file that it names."""
    for name, code in SAME.findall(text):
        if code != (ROOT / name).read_text():
            sys.exit(f"{page.relative_to(ROOT)}: its code is not that of {name}")


def copy_pages(source):
    for page in sorted(DOCS.rglob("*.md")):
        if SITE in page.parents:
            continue
        made, text = source / page.relative_to(DOCS), page.read_text()
        check_code(page, text)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(LINK.sub(lambda match: link_in_site(page, match), text))
    shutil.copytree(DOCS / "images", source / "images")
    for path in (ROOT / "examples").rglob("*.grc"):  # to be downloaded
        made = source / path.relative_to(ROOT)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, made)


def toctree(caption, names):
    entries = "".join(f"   {name}\n" for name in names)
    return f".. toctree::\n   :caption: {caption}\n   :maxdepth: 1\n\n{entries}\n"


def write_indexes(source):
    for folder, title in (("design", "Design"), ("notebook", "Notebook")):
        if (source / folder).is_dir() and not (source / folder / "index.md").exists():
            (source / folder / "index.md").write_text(
                f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n:glob:\n\n*\n```\n"
            )
    with (source / "howto/index.md").open("a") as index:  # its table names the pages
        index.write("\n```{toctree}\n:hidden:\n:glob:\n\n[!i]*\n```\n")
    found = {
        str(page.relative_to(source).with_suffix(""))
        for page in [*source.glob("*.md"), *source.glob("*/index.md")]
    }
    further = sorted(found - {*PAGES, *INSIDE})
    (source / "index.rst").write_text(
        "gr-cudaphy\n==========\n\n"
        "Physical-layer blocks for GNU Radio 3.10. Their arithmetic runs on an NVIDIA GPU, or on "
        "all cores of the CPU.\n\n"
        "The C++ headers have `pages of their own <cpp/index.html>`__.\n\n"
        + toctree("Use", [name for name in PAGES if name in found])
        + toctree("Reference", ["blocks/index", "python"])
        + toctree("Inside", [name for name in INSIDE if name in found])
        + toctree("Further pages", further)
    )
    (source / "python.rst").write_text(
        "Python\n======\n\n"
        ".. automodule:: gnuradio.cudaphy\n   :members:\n   :imported-members:\n"
        "   :exclude-members: nr5g\n\n"
        ".. automodule:: gnuradio.cudaphy.nr5g\n   :members:\n"
    )


def run_doxygen(html):
    settings = (SITE / "Doxyfile").read_text()
    html.mkdir(parents=True)
    settings += f"OUTPUT_DIRECTORY = {html}\nHTML_OUTPUT = cpp\n"
    return subprocess.run(
        ["doxygen", "-"], input=settings, text=True, cwd=ROOT
    ).returncode


def run_sphinx(source, output):
    program = [
        sys.executable,
        "-B",
        "-m",
        "sphinx",
        "-b",
        "html",
        "-q",
        "-W",
        "--keep-going",
    ]
    program += ["-c", SITE, "-d", output / "doctrees", source, output / "html"]
    paths = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(program, env=environment).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    output = parser.parse_args().output.resolve()
    if missing():
        print("skipped: missing are", ", ".join(missing()))
        return 77
    for made in ("source", "html", "doctrees"):
        shutil.rmtree(output / made, ignore_errors=True)
    source = output / "source"
    copy_pages(source)
    import grc_pages  # needs the module

    grc_pages.write(ROOT / "grc", source / "blocks")
    write_indexes(source)
    failed = run_doxygen(output / "html")
    failed = run_sphinx(source, output) or failed
    broken = [*links.html_problems(output / "html"), *links.markdown_problems(ROOT)]
    print("".join(f"{one}\n" for one in broken), end="")
    failed = failed or broken
    print(f"{output / 'html' / 'index.html'}" if not failed else "The site has faults.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
