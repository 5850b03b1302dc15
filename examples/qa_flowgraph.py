#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""qa_flowgraph.py FILE.grc [FOLDER]: grcc compiles the flowgraph without a complaint, and it runs, without a
display, until its frame error counter has seen enough frames, most of them right; or, where it has
none, until its FDTD channel has done as many time steps.

qa_flowgraph.py --compile FOLDER FILE.grc...: one grcc compiles them all, for tests with this FOLDER.

Exit status 77: grcc or, for a flowgraph with windows, PyQt5 is missing."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gnuradio import gr

PATIENCE = 60  # seconds
FRAMES = 100

# GNU Radio's own blocks and these, not an installed copy of these, which would shadow them.
os.environ["GR_CONF_GRC_GLOBAL_BLOCKS_PATH"] = os.pathsep.join(
    [
        str(Path(gr.prefix()) / "share/gnuradio/grc/blocks"),
        str(Path(__file__).resolve().parents[1] / "grc"),
    ]
)


def compile_all(paths, folder):
    done = subprocess.run(["grcc", "-o", folder, *paths], capture_output=True, text=True)
    missing = [path for path in paths if not program_of(path, folder).exists()]
    if done.returncode or missing:
        sys.exit(
            f"grcc {missing or paths}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        )


def program_of(path, folder):
    """What grcc writes: its name is the flowgraph's Id."""
    name = re.search(r"\bid: (\w+)", Path(path).read_text())[1]
    return Path(folder, f"{name}.py")


def flowgraph_class(program):
    # Blocks in Python that the flowgraph embeds stand beside it.
    sys.path.insert(0, str(program.parent))
    spec = importlib.util.spec_from_file_location(program.stem, program)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, program.stem)


def counter_of(top):
    """A Frame Error Counter, or a receiver that counts."""
    return getattr(top, "counter", getattr(top, "receiver", None))


def counted(top):
    counter = counter_of(top)
    return counter.frames() if counter else top.channel.steps()


def run(top, turn):
    """Until FRAMES frames or time steps have been counted or time is up."""
    top.start()
    ends = time.monotonic() + PATIENCE
    while counted(top) < FRAMES and time.monotonic() < ends:
        turn()
        time.sleep(0.02)
    top.stop()
    top.wait()


def main():
    if not shutil.which("grcc"):
        print("skipped: there is no grcc")
        return 77
    if sys.argv[1] == "--compile":
        shutil.rmtree(sys.argv[2], ignore_errors=True)
        os.makedirs(sys.argv[2])
        compile_all(sys.argv[3:], sys.argv[2])
        return 0
    path, *made = (Path(one).resolve() for one in sys.argv[1:])
    has_windows = "generate_options: qt_gui" in path.read_text()
    turn = lambda: None  # noqa: E731
    if has_windows:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        try:
            from PyQt5 import Qt
        except ImportError as missing:
            print(f"skipped: {missing}")
            return 77
        application = Qt.QApplication(sys.argv[:1])
        turn = application.processEvents
    with tempfile.TemporaryDirectory() as folder:
        if not made:
            compile_all([path], folder)
        flowgraph = flowgraph_class(program_of(path, made[0] if made else folder))
        # The examples' data lie beside them; what a flowgraph writes goes with the folder.
        for data in path.parent.glob("*.npy"):
            (Path(folder) / data.name).symlink_to(data)
        os.chdir(folder)
        top = flowgraph()
        run(top, turn)
    counter = counter_of(top)
    wrong = counter.frame_errors() if counter else 0
    print(f"{counted(top)} frames or time steps, {wrong} wrong")
    good = counted(top) >= FRAMES and wrong <= counted(top) // 4
    # Qt takes the interpreter down with it where it tidies up in another order than Python.
    sys.stdout.flush()
    os._exit(0 if good else 1)


if __name__ == "__main__":
    sys.exit(main())
