#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The split receiver in two processes over loopback: nothing is lost while both live; one is killed
and comes back, what was lost is counted, and nothing hangs."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from gnuradio import cudaphy, gr

HERE = Path(__file__).resolve().parent
BACKEND = os.environ.get("CUDAPHY_TEST_BACKEND", "cpu")
PATIENCE = 60  # seconds


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{one.getsockname()[1]}"


class side:
    """A process of either half."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-B",
                HERE / f"split_receiver_{name}.py",
                *map(str, arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []

    def numbers(self, line):
        return {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", line)}

    def until(self, good):
        """The numbers of the first report that good() takes."""
        ends = time.monotonic() + PATIENCE
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("received") and good(self.numbers(line)):
                return self.numbers(line)
            if time.monotonic() > ends:
                break
        raise AssertionError("".join(self.lines))

    def end(self):
        """The numbers of the last report, once the process has ended by itself."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.lines += out.splitlines(True)
        if self.process.returncode != 0:
            raise AssertionError(f"{self.process.returncode}\n{''.join(self.lines)}")
        return self.numbers([line for line in self.lines if line.startswith("end:")][0])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class qa_split_receiver(unittest.TestCase):
    def setUp(self):
        self.address = free_address()
        self.sides = []

    def tearDown(self):
        for one in self.sides:
            if one.process.poll() is None:
                one.process.kill()
            one.process.wait()
            one.process.stdout.close()

    def start(self, name, *arguments):
        common = ("--address", self.address, "--backend", BACKEND)
        self.sides.append(side(name, *common, *arguments))
        return self.sides[-1]

    def back(self, *arguments):
        return self.start("back", "--every", 0.1, *arguments)

    def stop(self, back, good):
        """The numbers at the end of a back that is stopped once a report is good."""
        back.until(good)
        back.process.send_signal(signal.SIGTERM)
        return back.end()

    def test_every_frame_comes_while_both_live(self):
        back = self.back("--frames", 40)
        self.start("front", "--frames", 40)
        end = back.end()
        self.assertEqual((end["received"], end["lost"], end["torn"]), (40, 0, 0))
        self.assertEqual((end["wrong"], end["last"]), (0, 39))

    def test_the_front_is_killed_and_comes_back(self):
        back = self.back()
        front = self.start("front")
        back.until(lambda n: n["received"] >= 30)
        front.kill()
        self.start("front", "--frames", 30)
        end = self.stop(back, lambda n: n["restarts"] and n["last"] == 29)
        # The second one's frames come, all of them, behind what the first one sent.
        self.assertEqual(end["restarts"], 1)
        self.assertEqual(end["last"], 29)
        self.assertEqual((end["lost"], end["wrong"]), (0, 0))
        self.assertLessEqual(end["torn"], 1)
        self.assertGreaterEqual(end["received"], 60)

    def test_the_back_is_killed_and_comes_back(self):
        first = self.back()
        front = self.start("front", "--frames", 300)
        seen = first.until(lambda n: n["received"] >= 30)
        first.kill()
        time.sleep(0.5)
        self.assertIsNone(front.process.poll())  # it waits
        second = self.back()
        # Before its first frame the last is None, no number.
        end = self.stop(second, lambda n: n.get("last") == 299)
        self.assertEqual((end["last"], end["wrong"]), (299, 0))
        # Lost is what was on its way: what ZeroMQ and the kernel's sockets held.
        gone = 300 - seen["received"] - end["received"]
        self.assertGreaterEqual(gone, 0)
        self.assertLess(gone, 250)
        self.assertEqual(end["lost"], 0)

    def wait_until_stoppable(self, part):
        """Until it catches SIGTERM, however slowly it starts."""
        bit = 1 << (signal.SIGTERM - 1)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(f"/proc/{part.process.pid}/status") as status:
                caught = next(line for line in status if line.startswith("SigCgt"))
            if int(caught.split()[1], 16) & bit:
                break
            time.sleep(0.05)

    def test_a_side_without_the_other_can_be_stopped(self):
        back = self.start("back")
        self.address = free_address()
        front = self.start("front")
        for alone in (back, front):
            self.wait_until_stoppable(alone)
        time.sleep(2)  # so that both wait for what does not come
        for alone in (back, front):
            alone.process.send_signal(signal.SIGTERM)
        self.assertEqual(back.end()["received"], 0)
        front.process.communicate(timeout=PATIENCE)
        self.assertEqual(front.process.returncode, 0)


@unittest.skipUnless(shutil.which("grcc"), "there is no grcc")
class qa_split_flowgraphs(unittest.TestCase):
    """The flowgraphs of GNU Radio Companion, one process each."""

    def test_they_compile_and_every_frame_comes(self):
        # GNU Radio's own blocks and these, not an installed copy of these.
        paths = [Path(gr.prefix()) / "share/gnuradio/grc/blocks", HERE.parent / "grc"]
        environment = dict(
            os.environ,
            GR_CONF_GRC_GLOBAL_BLOCKS_PATH=os.pathsep.join(map(str, paths)),
        )
        address, sides = free_address(), {}
        with tempfile.TemporaryDirectory() as folder:
            for name in ("back", "front"):
                path = Path(folder, f"split_receiver_{name}.grc")
                text = (HERE / path.name).read_text()
                self.assertIn("tcp://127.0.0.1:5555", text)
                text = text.replace("tcp://127.0.0.1:5555", address)
                path.write_text(text.replace("value: '400'", "value: '20'"))
                done = subprocess.run(
                    ["grcc", "-o", folder, path],
                    capture_output=True,
                    text=True,
                    env=environment,
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                sides[name] = Path(folder, f"split_receiver_{name}_flowgraph.py")
            spec = importlib.util.spec_from_file_location("back", sides["back"])
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            top = module.split_receiver_back_flowgraph()
            top.start()
            front = subprocess.Popen([sys.executable, "-B", sides["front"]], cwd=folder)
            try:
                ends = time.monotonic() + PATIENCE
                while top.counter.received() < 20 and time.monotonic() < ends:
                    time.sleep(0.05)
                self.assertEqual(front.wait(PATIENCE), 0)
            finally:
                front.kill()
                front.wait()
                top.stop()
                top.wait()
        self.assertEqual((top.counter.received(), top.counter.lost()), (20, 0))
        self.assertEqual(top.decoder.frame_errors(), 0)


if __name__ == "__main__":
    try:
        from gnuradio import zeromq  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    if BACKEND not in cudaphy.backends():
        print(f"skipped: no backend {BACKEND} here")
        sys.exit(77)
    unittest.main()
