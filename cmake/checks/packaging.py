#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""packaging.py [STAGE]: fails if the files for publication disagree or cannot be read.

With STAGE, a folder with an installation below STAGE/usr: fails if a file of it is in no Debian
package or in two, or in no rpm package."""

import fnmatch
import re
import sys
from pathlib import Path

import tree
import yaml

sys.path.insert(0, str(tree.ROOT / "packaging"))
import release  # noqa: E402

# The rpm's folders as Fedora has them, and what stands for them in an installation on Debian.
RPM_FOLDERS = {
    "%{_bindir}": "usr/bin",
    "%{_libdir}": "usr/lib*",
    "%{python3_sitearch}": "usr/lib*/python3*/*-packages",
    "%{_datadir}": "usr/share",
    "%{_mandir}": "usr/share/man",
    "%{_includedir}": "usr/include",
    "%{_docdir}": "usr/share/doc",
    "%{name}": "gr-cudaphy",
}
LEFT_OUT = (
    "usr/share/doc/gr-cudaphy/LICENSE",
)  # Both kinds of package have a place of its own.


def read_yaml(path, problems):
    try:
        return yaml.safe_load(path.read_text())
    except yaml.YAMLError as failure:
        problems.append(f"{path.name}: {failure}")
        return {}


def workflow_problems(name, workflow):
    """What a forge would refuse in a workflow."""
    for key in ("name", "jobs", "permissions"):
        if key not in workflow:
            yield f"{name}: no {key}"
    for job, what in workflow.get("jobs", {}).items():
        if "runs-on" not in what or not what.get("steps"):
            yield f"{name}: job {job} has no runs-on, or no steps"
        for step in what.get("steps", []):
            if ("run" in step) == ("uses" in step):
                yield f"{name}: a step of {job} has not one of run and uses: {step}"
            # A program of the repository that a step runs must be there.
            for program in re.findall(r"(?:^|\s)(packaging/\S+)", step.get("run", "")):
                if "$" not in program and not (tree.ROOT / program).exists():
                    yield f"{name}: {job} runs {program}, which does not exist"


def manifest_problems(old, new):
    """MANIFEST.md and MANIFEST.yml are read by different versions of GNU Radio."""
    for key in ("title", "brief", "tags", "author", "copyright_owner", "license", "repo"):
        if old.get(key) != new.get(key):
            yield f"MANIFEST.yml: {key} is not that of MANIFEST.md"


def debian_patterns():
    """{package: patterns of the files in it}"""
    folder = tree.ROOT / "packaging/debian"
    return {path.stem: path.read_text().split() for path in folder.glob("*.install")}


def rpm_patterns():
    text = (tree.ROOT / "packaging/rpm/gr-cudaphy.spec").read_text()
    patterns = re.findall(
        r"^(%\{_?\w+\}/\S+)$", text.partition("%files")[2], re.MULTILINE
    )
    for name, path in RPM_FOLDERS.items():
        patterns = [pattern.replace(name, path) for pattern in patterns]
    return patterns


def fits(name, patterns):
    """A pattern names files, or folders with all that is in them."""
    return any(
        fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, f"{pattern}/*")
        for pattern in patterns
    )


def unpackaged(stage):
    """A line for each installed file that is not in one package of each kind."""
    debian, rpm = debian_patterns(), rpm_patterns()
    files = [path for path in sorted(stage.rglob("*")) if not path.is_dir()]
    for path in files:
        name = str(path.relative_to(stage))
        if name in LEFT_OUT:
            continue
        owners = [package for package, patterns in debian.items() if fits(name, patterns)]
        if len(owners) != 1:
            yield f"{name}: is in the Debian packages {owners}, not in one"
        if not fits(name, rpm):
            yield f"{name}: is in no rpm package"
    if not files:
        yield f"{stage}: nothing is installed there"


def main():
    problems = release.disagreements(tree.ROOT)
    workflows = sorted((tree.ROOT / ".github/workflows").glob("*.yml"))
    for path in workflows:
        problems += workflow_problems(path.name, read_yaml(path, problems))
    others = sorted((tree.ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    others += sorted((tree.ROOT / "packaging/pybombs").glob("*.lwr"))
    others += [tree.ROOT / "CITATION.cff"]
    for path in others:
        if not read_yaml(path, problems):
            problems.append(f"{path.name}: empty")
    head = (tree.ROOT / "MANIFEST.md").read_text().partition("---")[0]
    problems += manifest_problems(
        yaml.safe_load(head), read_yaml(tree.ROOT / "MANIFEST.yml", problems)
    )
    if len(sys.argv) > 1:
        problems += unpackaged(Path(sys.argv[1]))
    return tree.report(problems, len(workflows) + len(others))


if __name__ == "__main__":
    sys.exit(main())
