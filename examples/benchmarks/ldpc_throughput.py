#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What LDPC Decoder carries from GNU Radio's buffer to GNU Radio's buffer, int8 LLRs in and packed bits out,
beside the same flowgraph with GNU Radio's Copy block in its place, turn by turn."""

import argparse
import statistics

import numpy as np
from flowgraph_throughput import rate
from gnuradio import blocks, cudaphy
from records import record

CODES = {
    "nr5g-1/3": dict(family="nr5g", base_graph=1, lifting_size=384, rows=46),
    "nr5g-.917": dict(family="nr5g", base_graph=1, lifting_size=384, rows=4),
    "wifi-1/2": dict(family="wifi", n=1944, rate="1/2"),
    "dvbs2-1/2": dict(family="dvbs2", frame="normal", rate="1/2"),
}


def code_named(name):
    arguments = dict(CODES[name])
    return cudaphy.ldpc_code(arguments.pop("family"), **arguments)


def received(code, words, eb_n0, rng):
    """LLRs of the all-zero word in steps, 8 a unit, (words * n) int8."""
    sigma2 = 1 / (2 * code.k / code.n * 10 ** (eb_n0 / 10))
    y = 1 + np.sqrt(sigma2) * rng.standard_normal(words * code.n, np.float32)
    return np.clip(np.rint(8 * 2 / sigma2 * y), -127, 127).astype(np.int8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codes", nargs="+", default=list(CODES), choices=CODES)
    parser.add_argument("--eb-n0", type=float, default=4.5, help="dB")
    parser.add_argument("--iterations", type=int, default=10, help="always run")
    parser.add_argument(
        "--gigabytes", type=float, default=2.0, help="of LLRs through each flowgraph"
    )
    parser.add_argument("--max-batch", type=int, default=1056, help="codewords")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()

    rng = np.random.default_rng()
    print(
        f"{'code':<10} {'backend':>7} {'Copy, GB/s of LLRs':>19} {'decoder':>8} {'ratio':>6} {'information Gb/s':>17}"
    )
    for name in arguments.codes:
        code = code_named(name)
        llr = received(code, 256, arguments.eb_n0, rng)
        words = int(arguments.gigabytes * 1e9 / code.n)
        buffer_bytes = 4 * arguments.max_batch * code.n
        copy, decoded = [], []

        def through(block):
            source = blocks.vector_source_b(llr.view(np.uint8), True)
            return rate(source, block, 1, words * code.n, buffer_bytes) / code.n

        for _ in range(arguments.repeat):
            copy.append(through(blocks.copy(1)))
            block = cudaphy.ldpc_decoder(
                code,
                max_iterations=arguments.iterations,
                early_stop=False,
                type="int8",
                packed=True,
                backend=arguments.backend,
                max_batch=arguments.max_batch,
            )
            decoded.append(through(block))
            if block.frames() != words:
                raise SystemExit(f"{block.frames()} of {words} words came through")
        ours, theirs = statistics.median(decoded), statistics.median(copy)
        print(
            f"{name:<10} {block.backend():>7} {theirs * code.n / 1e9:>19.2f} {ours * code.n / 1e9:>8.2f}"
            f" {ours / theirs:>6.2f} {ours * code.k / 1e9:>17.2f}",
            flush=True,
        )
        record(
            f"LDPC Decoder in Copy's place, {name}, {block.backend()}",
            ours * code.n / 1e9,
            "GB/s",
            theirs * code.n / 1e9,
            "GNU Radio's Copy",
        )


if __name__ == "__main__":
    main()
