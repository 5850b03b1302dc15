#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""try_wheel.py WHEEL [--no-tests] [--beside FOLDER]: a release's wheel, in environments made for it.

In an empty one: only the wheel and what it names are installed, and then the package is imported, README.md's lines of
Python run, with `import cudaphy`, and the wheel's tests. --beside FOLDER also runs programs that import GNU Radio's module
from that folder (build/test_modules, or where it is installed) and the wheel's, either first; this Python must have GNU
Radio. CUDAPHY_TEST_BACKEND chooses the backend of the tests. pip's options stand in its variables, such as PIP_NO_INDEX."""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake/checks"))
from code_blocks import blocks_of  # noqa: E402

# What both modules say of the same words, and what a module says of the other's code.
BESIDE = """
import numpy as np
{imports}

for module in (radio, alone):
    assert module.backends()[-1] == "reference", module.backends()
assert radio is not alone and not hasattr(alone, "ldpc_decoder")
random = np.random.default_rng(1)
a = random.standard_normal((100, 8, 8))
for backend in ("cpu", "reference"):
    both = [module.invert(a, backend=backend)[0] for module in (radio, alone)]
    assert np.array_equal(*both)
codes = [module.ldpc_code("wifi", n=648, rate="1/2") for module in (radio, alone)]
bits = random.integers(0, 2, (20, codes[0].k), np.uint8)
words = [m.ldpc_encode(c, bits, backend="cpu") for m, c in zip((radio, alone), codes)]
assert np.array_equal(*words)
llr = 4 * (1 - 2.0 * words[0] + random.normal(0, 0.7, words[0].shape))
found = [m.ldpc_decode(c, llr, backend="cpu") for m, c in zip((radio, alone), codes)]
assert all(map(np.array_equal, *found)) and np.array_equal(found[0][0], bits)
for module, code in ((radio, codes[1]), (alone, codes[0])):
    try:
        module.ldpc_encode(code, bits)
    except TypeError:
        continue
    raise AssertionError(f"{{module}} took the other one's code")
from gnuradio import blocks, gr
top, sink = gr.top_block(), blocks.vector_sink_b()
top.connect(
    blocks.vector_source_f(llr.ravel().astype("f4").tolist()),
    radio.ldpc_decoder(codes[0], backend="cpu"),
    sink,
)
top.run()
assert np.array_equal(np.reshape(sink.data(), bits.shape), bits)
"""
IMPORTS = ["from gnuradio import cudaphy as radio", "import cudaphy as alone"]


def environment(folder, with_system=False):
    """The Python of a new environment."""
    venv.create(folder, with_pip=True, system_site_packages=with_system)
    return folder / "bin/python"


def run(what, python, *arguments, code=None, path="", prints=()):
    print(f"-- {what}", flush=True)
    variables = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    if not path:
        variables.pop("PYTHONPATH")
    done = subprocess.run(
        [python, *map(str, arguments)],
        cwd=python.parent,
        env=variables,
        input=code,
        stdout=subprocess.PIPE if code else None,
        text=True,
    )
    missing = [line for line in prints if line not in (done.stdout or "")]
    if done.returncode or missing:
        sys.exit(f"{what}: exit status {done.returncode}, not printed: {missing}")


def try_alone(wheel, folder, with_tests):
    python = environment(folder)
    run("install", python, "-m", "pip", "install", "--quiet", f"{wheel}[plots]")
    blocks = [
        one
        for one in blocks_of(Path("README.md"), (ROOT / "README.md").read_text())
        if one.language == "python" and not one.marked
    ]
    code = "".join(one.code for one in blocks)
    assert "from gnuradio import cudaphy\n" in code
    code = code.replace("from gnuradio import cudaphy\n", "import cudaphy\n")
    prints = [one.prints for one in blocks if one.prints]
    run("README.md's Python", python, "-", code=code, prints=prints)
    if with_tests:
        run("the wheel's tests", python, ROOT / "packaging/wheel/run_tests.py")


def try_beside(wheel, folder, modules):
    python = environment(folder, with_system=True)
    run("install", python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    for imports in (IMPORTS, IMPORTS[::-1]):
        code = BESIDE.format(imports="\n".join(imports))
        run(f"{imports[0]} first", python, "-", code=code, path=str(modules))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--beside", metavar="FOLDER", type=Path)
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve(strict=True)
    with tempfile.TemporaryDirectory() as folder:
        try_alone(wheel, Path(folder, "alone"), not arguments.no_tests)
        if arguments.beside:
            try_beside(wheel, Path(folder, "beside"), arguments.beside.resolve())
    print("The wheel works.")


if __name__ == "__main__":
    main()
