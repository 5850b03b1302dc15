#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a block of this module costs a flowgraph: its rate beside that of the same flowgraph with GNU Radio's
Copy block in its place, turn by turn."""

import argparse
import statistics
import time

import numpy as np
from gnuradio import blocks, cudaphy, gr
from records import record


def rate(source, block, item_bytes, items, buffer_items):
    """Items a second from a repeating source through `block` to a null sink."""
    top = gr.top_block()
    head = blocks.head(item_bytes, items)
    sink = blocks.null_sink(item_bytes)
    for before in (source, head, block):
        before.set_min_output_buffer(0, buffer_items)  # no effect on Copy without a port
    top.connect(source, head, block, sink)
    start = time.perf_counter()
    top.run()
    return items / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--order", type=int, default=4, help="of the complex matrices (default 4)"
    )
    parser.add_argument(
        "--gigabytes", type=float, default=2.0, help="through each flowgraph"
    )
    parser.add_argument("--max-batch", type=int, nargs="+", default=[2048, 8192, 32768])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()

    order = arguments.order
    rng = np.random.default_rng()
    shape = (4096, order, order)
    matrices = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(
        np.complex64
    )
    values = matrices.ravel().tolist()
    item_bytes = 8 * order * order
    items = int(arguments.gigabytes * 1e9 / item_bytes)
    print(
        f"{order} x {order} complex64, {item_bytes} bytes a matrix, {items} matrices, median of {arguments.repeat}"
    )
    print(
        f"{'max_batch':>10} {'copy':>12} {'inverse':>12}  matrices/s   {'backend':>9} {'ratio':>6} {'GB/s':>6}"
    )
    for max_batch in arguments.max_batch:
        buffer_items = 4 * max_batch
        copy, inverse, backend = [], [], ""

        def through(block):
            source = blocks.vector_source_c(values, True, order * order)
            return rate(source, block, item_bytes, items, buffer_items)

        for _ in range(arguments.repeat):
            copy.append(through(blocks.copy(item_bytes)))
            block = cudaphy.matrix_inverse(order, max_batch=max_batch)
            backend = block.backend()
            inverse.append(through(block))
            if block.failures():
                raise SystemExit(f"{block.failures()} matrices were not inverted")
        ours, theirs = statistics.median(inverse), statistics.median(copy)
        print(
            f"{max_batch:>10} {theirs:>12.4g} {ours:>12.4g}               {backend:>9} {ours / theirs:>6.3f}"
            f" {ours * item_bytes / 1e9:>6.2f}",
            flush=True,
        )
        record(
            f"Matrix Inverse in Copy's place, {order} x {order}, max_batch {max_batch}, {backend}",
            ours * item_bytes / 1e9,
            "GB/s",
            theirs * item_bytes / 1e9,
            "GNU Radio's Copy",
        )


if __name__ == "__main__":
    main()
