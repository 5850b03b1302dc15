#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C ends every long call soon, and the module works on."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from qa_support import BACKEND, main

SOON = 2.0  # seconds
# One child makes all calls, which its standard input names line by line.
PROGRAM = f"""
import signal, sys
import numpy as np
from gnuradio import cudaphy
signal.signal(signal.SIGINT, signal.default_int_handler)
backend = "{BACKEND}"
rng = np.random.default_rng(1)
normal = lambda *shape: rng.standard_normal(shape, np.float32)
waves = lambda *shape: (normal(*shape) + 1j * normal(*shape)).astype(np.complex64)
def interrupted(prepare, call, after):
    names = dict(globals())
    exec(prepare, names)
    call = compile(call, "call", "exec")
    print("ready", flush=True)
    try:
        while True:
            exec(call, names)
    except KeyboardInterrupt:
        print("ended", flush=True)
    x, info = cudaphy.invert_symmetric(2 * np.eye(600), backend=backend)
    assert info == 0 and np.allclose(x, np.eye(600) / 2)
    exec(after, names)
    print("works", flush=True)
for line in sys.stdin:
    interrupted(*eval(line))
"""
SYMMETRIC = "a = normal({n}, {n}); a = a + a.T + {shift} * np.eye({n}, dtype='f4')"
CALLS = {
    "invert_symmetric": (
        SYMMETRIC.format(n=6000, shift=0),
        "cudaphy.invert_symmetric(a, backend=backend)",
    ),
    "invert_symmetric, positive": (
        SYMMETRIC.format(n=7000, shift=1000),
        "cudaphy.invert_symmetric(a, 'positive', backend=backend)",
    ),
    "invert_symmetric, bordering": (
        SYMMETRIC.format(n=4000, shift=500),
        "cudaphy.invert_symmetric(a, algorithm='bordering', backend=backend)",
    ),
    "invert_symmetric of a batch": (
        "a = np.broadcast_to(100 * np.eye(400) + 1, (300, 400, 400))",
        "cudaphy.invert_symmetric(a, backend=backend)",
    ),
    "update_inverse": (
        "x = np.eye(4000); v = rng.standard_normal((4000, 32))",
        "cudaphy.update_inverse(x, v, backend=backend)",
    ),
    "invert": (
        "a = waves(20, 64, 64).repeat(1000, axis=0)",
        "cudaphy.invert(a, backend=backend)",
    ),
    "invert_triangular": (
        "a = np.broadcast_to(np.tri(1000) / 1000 + np.eye(1000), (40, 1000, 1000))",
        "cudaphy.invert_triangular(a, backend=backend)",
    ),
    "solve_triangular": (
        "a = np.tri(1000) / 1000 + np.eye(1000); b = rng.standard_normal((1000, 50000))",
        "cudaphy.solve_triangular(a, b, backend=backend)",
    ),
    "ldpc_decode": (
        "code = cudaphy.ldpc_code('wifi', n=1944, rate='1/2')\n"
        "llr = rng.integers(-20, 20, (20000, 1944), np.int8)",
        "cudaphy.ldpc_decode(code, llr, 1000, early_stop=False, backend=backend)",
    ),
    "ldpc_decode, a frame that takes a minute": (
        "code = cudaphy.ldpc_code('dvbs2', frame='normal', rate='1/2')\n"
        "llr = normal(1, 64800)",
        "cudaphy.ldpc_decode(code, llr, 1000, 'sum_product', backend=backend)",
    ),
    "ldpc_encode": (
        "code = cudaphy.ldpc_code('wifi', n=1944, rate='1/2')\n"
        "bits = rng.integers(0, 2, (200000, 972), np.uint8)",
        "cudaphy.ldpc_encode(code, bits, backend=backend)",
    ),
    "ldpc_code.from_parity_check": (
        "import scipy.sparse\n"
        "at = rng.integers(0, [[9000], [18000]], (2, 1620000))\n"
        "h = scipy.sparse.csr_matrix((np.ones(1620000), at), (9000, 18000))\n"
        "h.data[:] = 1",
        "cudaphy.ldpc_code.from_parity_check(h)",
    ),
    "estimate_channel": (
        "y = waves(200, 4, 1000, 4); pilots = cudaphy.orthogonal_pilots(4, 4)",
        "cudaphy.estimate_channel(y, pilots, method='mmse', backend=backend)",
    ),
    "equalize": (
        "y = waves(40000, 16); h = waves(40000, 16, 16)",
        "cudaphy.equalize(y, h, 0.1, backend=backend)",
    ),
    "demap": (
        "x = waves(8000000)",
        "cudaphy.demap(x, 0.1, 'qam1024', backend=backend)",
    ),
    "sparse_product": (
        "import scipy.sparse\n"
        "a = scipy.sparse.diags([normal(200000)] * 9, range(-4, 5), (200000, 200000))\n"
        "product = cudaphy.sparse_product(a, backend=backend); x = normal(300, 200000)",
        "product(x)",
    ),
    "fdtd": (
        "room = cudaphy.fdtd((60, 60, 60), 1e-3, backend=backend)\n"
        "room.add_source((30, 30, 30), 'ez')",
        "room.step(steps=1000000)",
        "assert np.isfinite(room.step(steps=1)).all()",
    ),
    "simulate_error_rate": (
        "sim = cudaphy.error_rate_simulation('wifi n=1944 rate=1/2', backend=backend)",
        "sim.run(1.0, max_frame_errors=None, max_frames=None, max_seconds=1e6)",
    ),
}


def run_delays(pid):
    """{thread: seconds for which it was ready to run, but had no processor}, on Linux."""
    delays = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):
            delays[path.parent.name] = int(path.read_text().split()[1]) / 1e9
    return delays


class qa_interrupts(unittest.TestCase):
    def start(self, *program, **options):
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        child = subprocess.Popen(
            [sys.executable, "-c", *program], text=True, **pipes, **options
        )
        self.addCleanup(child.__exit__, None, None, None)
        self.addCleanup(child.kill)
        return child

    def press_ctrl_c(self, child):
        """Returns a function for the seconds since Ctrl-C. The longest wait of one of the
        child's threads for a processor is subtracted, because other programs cause it."""
        before, began = run_delays(child.pid), time.monotonic()
        child.send_signal(signal.SIGINT)

        def seconds():
            took, now = time.monotonic() - began, run_delays(child.pid)
            waits = [delay - before.get(thread, 0) for thread, delay in now.items()]
            return took - max(waits, default=0)

        return seconds

    def interrupt(self, child, prepare, call, after=""):
        print((prepare, call, after), file=child.stdin, flush=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(0.3)
        seconds = self.press_ctrl_c(child)
        self.assertEqual(child.stdout.readline(), "ended\n")
        self.assertLess(seconds(), SOON)
        self.assertEqual(child.stdout.readline(), "works\n")

    def test_ctrl_c_ends_long_calls_soon(self):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        child = self.start(PROGRAM, env=environment)
        for name, steps in CALLS.items():
            with self.subTest(call=name):
                try:
                    self.interrupt(child, *steps)
                except (AssertionError, BrokenPipeError) as problem:
                    child.kill()
                    errors = child.communicate()[1]
                    child = self.start(PROGRAM, env=environment)
                    raise AssertionError(f"{problem}\n{errors}") from problem
        _, problems = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, problems)

    def test_an_uncaught_ctrl_c_ends_the_program(self):
        program = (
            "import numpy as np\nfrom gnuradio import cudaphy\n"
            "a = np.eye(7000)\nprint('ready', flush=True)\n"
            f"while True: cudaphy.invert_symmetric(a, backend='{BACKEND}')"
        )
        child = self.start(program)
        child.stdout.readline()
        time.sleep(0.3)
        seconds, took = self.press_ctrl_c(child), 0
        while child.poll() is None and took < SOON + 1:  # and the exit
            took = seconds()
            time.sleep(0.01)
        self.assertLess(took, SOON + 1)
        self.assertIn("KeyboardInterrupt", child.stderr.read())
        self.assertNotEqual(child.returncode, 0)


if __name__ == "__main__":
    main()
