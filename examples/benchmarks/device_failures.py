#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a flowgraph whose GPU fails, on a chain of two Matrix Inverse blocks:

memory exhausted, before it starts: an error names the device; with room again, a new flowgraph in the same
process works. Too little memory for the stream between the blocks alone: it goes through the host.

a context lost while it runs, as after a kernel's error or a GPU gone from the bus: the flowgraph ends by
itself, and what came out until then is right. CUDA gives the process no other context: a new flowgraph with
backend "cuda" is refused, with the reason, until the process is started anew; with "auto" it works on the CPU.

On the CPU nothing of this can happen; there, what is left are the flowgraphs before and after."""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gpu_tools  # noqa: E402
import link_tools  # noqa: E402
import numpy as np  # noqa: E402
from gnuradio import blocks, cudaphy, gr  # noqa: E402

ORDER, MATRICES = 4, 4096
BATCH = 1 << 16  # 8 MB
SECONDS = 60  # in which a flowgraph that has failed must have ended


class chain(gr.top_block):
    """Matrices, inverted twice; `rounds` of them, 0 for no end."""

    def __init__(self, arguments, rounds):
        gr.top_block.__init__(self, "device_failures", catch_exceptions=True)
        rng = np.random.default_rng(arguments.seed)
        parts = rng.standard_normal((MATRICES, ORDER, ORDER, 2)) @ [1, 1j]
        self.wanted = (parts + 8 * np.eye(ORDER)).reshape(MATRICES, -1).astype("c8")
        flat, vlen = self.wanted.ravel().tolist(), ORDER * ORDER
        self.sink = blocks.vector_sink_c(vlen)
        where = dict(backend=arguments.backend, device=arguments.device)
        if arguments.backend != "cpu":
            where["max_batch"] = BATCH
        source = blocks.vector_source_c(flat * max(rounds, 1), rounds == 0, vlen)
        row = [cudaphy.matrix_inverse(ORDER, **where) for _ in range(2)]
        self.connect(source, *row, self.sink)

    def is_right(self):
        """Whether all that came out is what went in."""
        got = np.array(self.sink.data()).reshape(-1, ORDER * ORDER)
        wanted = self.wanted[np.arange(len(got)) % MATRICES]
        return np.allclose(got, wanted, rtol=0, atol=1e-3)

    def ends(self, seconds):
        """Whether it ends by itself in that time."""
        waiter = threading.Thread(target=self.wait, daemon=True)
        waiter.start()
        waiter.join(seconds)
        return not waiter.is_alive()


def works(arguments):
    top = chain(arguments, 2)
    top.start()
    ended = top.ends(SECONDS)
    return ended and len(top.sink.data()) == 2 * MATRICES * ORDER**2 and top.is_right()


def exhausted(arguments):
    good = True
    for leave, text in (
        (2 << 20, "no memory"),
        (112 << 20, "memory for the blocks alone"),
    ):
        with gpu_tools.memory_taken(arguments.device, leave):
            try:
                held = works(arguments)
                print(f"{text}: runs")
                good &= link_tools.check(held, f"with {text} what comes out is right")
            except (MemoryError, RuntimeError) as problem:
                print(f"{text}: {type(problem).__name__}: {problem}")
        good &= link_tools.check(
            works(arguments), "with memory again, a new flowgraph in this process works"
        )
    return good


def killed(arguments):
    top = chain(arguments, 0)
    top.start()
    while top.sink.nitems_read(0) < 10 * MATRICES:
        time.sleep(0.001)
    gpu_tools.kill_context(arguments.device)
    good = link_tools.check(top.ends(SECONDS), "a flowgraph whose context is lost ends")
    good &= link_tools.check(
        top.is_right(),
        f"what it had put out is right: {len(top.sink.data()) // ORDER**2} matrices",
    )
    return good & works_without(arguments)


def works_without(arguments):
    """What a process can do that has lost its GPU."""
    refusal = "none"
    try:
        works(arguments)
    except cudaphy.BackendUnavailable as problem:
        refusal = str(problem)
    good = link_tools.check(
        f"device {arguments.device}" in refusal and "lost" in refusal,
        f"a new flowgraph there is refused: {refusal}",
    )
    arguments.backend = "auto"
    backend, reason = cudaphy.resolve_backend("auto", arguments.device)
    return good & link_tools.check(
        backend == "cpu" and works(arguments),
        f'with backend "auto" it works in this process ({backend}: {reason})',
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--killed", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.backend, _ = cudaphy.resolve_backend(arguments.backend, arguments.device)
    if arguments.killed:
        return killed(arguments)
    good = link_tools.check(works(arguments), "a flowgraph works")
    if arguments.backend == "cuda":
        good &= exhausted(arguments)
        # In a process of its own, for which the device is lost then.
        status = subprocess.run([sys.executable, *sys.argv, "--killed"], timeout=600)
        good &= status.returncode == 0
    return good & link_tools.check(works(arguments), "a flowgraph works afterwards")


if __name__ == "__main__":
    link_tools.main(main)
