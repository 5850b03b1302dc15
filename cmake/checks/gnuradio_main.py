#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""gnuradio_main.py BUILD: compiles runtime and blocks against headers of GNU Radio's main branch, 3.11.

Copies headers of the GNU Radio that is installed, and changes what main has changed: no tag is
marked as deleted, get_tags_in_range() has no id, get_buffer_type() of a ring is abstract, and
generic_work() of a coder takes a constant. Then compiles as BUILD's compile_commands.json says, the
syntax alone, and scheduler_port.cc with public calls and with inner parts. The headers that all
share are compiled once, before; tests are compiled together. Exit status 77: the headers are not those of a 3.10 that it knows."""

import concurrent.futures
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

MAIN = 31100
BODY = r"\s*\{.*?\n    \}\n"
# {header: [(pattern, what main has)]}; each must be found.
CHANGES = {
    "tags.h": [(r"    std::vector<long> marked_deleted;\n", "")],
    "block.h": [
        (rf"    inline void remove_item_tag\([^)]*PMT_F\){BODY}", ""),
        (r"    void remove_item_tag\([^)]*\);\n", ""),
    ],
    "block_detail.h": [
        (r"    void remove_item_tag\([^)]*\);\n", ""),
        (r"(void get_tags_in_range\([^)]*),\s*long id\)", r"\1)"),
    ],
    "buffer.h": [
        (r"    void remove_item_tag\([^)]*\);\n", ""),
        (
            r"(    ~buffer\(\) override;\n)",
            r"\1    virtual int get_buffer_type() const = 0;\n",
        ),
    ],
    "buffer_reader.h": [(r"(void get_tags_in_range\([^)]*),\s*long id\)", r"\1)")],
    "fec/generic_decoder.h": [
        (r"generic_work\((?:const )?void\*", "generic_work(const void*")
    ],
    "fec/generic_encoder.h": [
        (r"generic_work\((?:const )?void\*", "generic_work(const void*")
    ],
}
# What most sources begin with, and what takes most of their time.
SHARED = ["gnuradio/block.h", "gnuradio/io_signature.h", "gnuradio/top_block.h"]
# A header compiled before is of use only to sources with the same of these options.
NOT_ALIKE = re.compile(r"-O.|-f(PIC|PIE)|-c|-D\w*_EXPORTS|-Winvalid-pch")


def header_folder(command):
    """The folder gnuradio that a compiler's command finds."""
    asked = [
        *command,
        "-E",
        "-M",
        "-include",
        "gnuradio/tags.h",
        "-x",
        "c++",
        "/dev/null",
    ]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return Path(re.search(r"(\S+/gnuradio)/tags\.h", found)[1])


def uses_gnuradio(file, folders, seen=None):
    """Whether a file, or one of the repository's that it includes, includes a header of GNU Radio."""
    seen = set() if seen is None else seen
    seen.add(file)
    for name in re.findall(r'^#include ["<](\S+)[">]', file.read_text(), re.MULTILINE):
        places = [folder / name for folder in (file.parent, *folders)]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            if name.startswith(("gnuradio/", "pmt/", "boost/")):
                return True
        elif found not in seen and uses_gnuradio(found, folders, seen):
            return True
    return False


def write_headers(source, target):
    """Raises LookupError if a header has nothing to change."""
    for name, changes in CHANGES.items():
        text = (source / name).read_text()
        for pattern, new in changes:
            text, count = re.subn(pattern, new, text, flags=re.DOTALL)
            if not count:
                raise LookupError(f"{source / name} has nothing like {pattern}")
        path = target / "gnuradio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def without(option, words):
    """The words without the option and its argument."""
    at = words.index(option) if option in words else len(words)
    return words[:at] + words[at + 2 :]


def commands(build, headers):
    """[(file, command)] that check the syntax of those files of runtime and blocks that use GNU Radio."""
    lines = json.loads((build / "compile_commands.json").read_text())
    found = []
    for line in lines:
        file = line["file"]
        if not re.search(r"/lib/(runtime|blocks)/|/gnuradio-cudaphy\.dir/", file):
            continue
        if not file.endswith((".cc", ".cxx")):
            continue
        words = shlex.split(line["command"])
        folders = [Path(word[2:]) for word in words if word.startswith("-I")]
        if not uses_gnuradio(Path(file), folders):
            continue
        # -include is the header that the build compiled before.
        words = without("-include", without("-o", words))
        words = [
            re.sub(
                r"^-DCUDAPHY_GNURADIO_VERSION=.*", f"-DCUDAPHY_GNURADIO_VERSION={MAIN}", w
            )
            for w in words
            if not NOT_ALIKE.fullmatch(w) and w != "-DCUDAPHY_SCHEDULER_INTERNALS"
        ]
        words[1:1] = ["-isystem", str(headers)]
        found.append((file, words))
        if file.endswith("/scheduler_port.cc"):
            found.append((file, [*words, "-DCUDAPHY_SCHEDULER_INTERNALS"]))
    return found


def compile_shared(options, folder):
    """A header for -include, which the compiler has read already."""
    header = Path(folder, "shared.h")
    header.write_text("".join(f"#include <{name}>\n" for name in SHARED))
    made = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
    subprocess.run([*options, *made], check=True)
    return header


def together(tests, folder):
    """(file, command) of all tests as one: what each includes, then each in a namespace of its own."""
    includes = re.compile(r"#include .*|#define BOOST_TEST_MODULE .*")
    heads, bodies = [], []
    for number, (file, _) in enumerate(tests):
        lines = Path(file).read_text().splitlines()
        heads += [line for line in lines if re.match("#(include|if|el|endif)", line)]
        rest = ["" if includes.fullmatch(line) else line for line in lines]
        bodies += [f"namespace test_{number} {{", f'#line 1 "{file}"', *rest, "}"]
    made = Path(folder, "tests.cc")
    made.write_text("\n".join([*heads, *bodies, ""]))
    return made, [*tests[0][1][:-1], str(made)]


def compiled(one):
    file, command = one
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{file}\n{done.stderr}"


def main():
    build = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as headers:
        checks = commands(build, headers)
        options = checks[0][1][:-1]
        source = header_folder(options)
        try:
            write_headers(source, Path(headers))
        except LookupError as unknown:
            print(f"skipped: {unknown}")
            return 77
        shared = ["-include", str(compile_shared(options, headers)), "-fsyntax-only"]
        tests = [check for check in checks if "-DBOOST_TEST_DYN_LINK" in check[1]]
        checks = [check for check in checks if check not in tests]
        found = len(checks) + len(tests)
        checks.append(together(tests, headers))
        checks = [(file, [*words[:-1], *shared, words[-1]]) for file, words in checks]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [text for text in pool.map(compiled, checks) if text]
    print("\n".join(failed))
    print(f"{found} files compiled, {len(failed)} failed")
    return 1 if failed or found < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
