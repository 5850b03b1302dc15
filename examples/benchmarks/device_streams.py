#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it gains that streams between neighbours stay on the GPU: blocks of this module in a row, Matrix
Inverse each, between a source and a sink that touch no item, with and without, turn by turn. Rate, and
the latency of a packet that comes alone. With several --devices: what a branch of one flowgraph on each of
them comes to together, beside one branch alone."""

import argparse
import statistics
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy.blocks.block_guard import guarded
from records import record


@guarded
class idle_source(gr.sync_block):
    """Publishes items without touching them, once its buffer has been filled."""

    def __init__(self, matrices, items):
        shape = (np.complex64, matrices.shape[1:])
        gr.sync_block.__init__(self, "idle_source", in_sig=None, out_sig=[shape])
        self._matrices, self._left, self._filled = matrices, items, 0

    def work(self, input_items, output_items):
        out = output_items[0]
        count = min(len(out), self._left)
        if self._filled < 1 << 22:  # more than any buffer of its
            at = np.arange(self._filled, self._filled + count) % len(self._matrices)
            out[:count] = self._matrices[at]
            self._filled += count
        self._left -= count
        return count or -1


@guarded
class packet_source(gr.sync_block):
    """A packet, and the next when `sink` has had it."""

    def __init__(self, matrices, packets):
        shape = (np.complex64, matrices.shape[1:])
        gr.sync_block.__init__(self, "packet_source", in_sig=None, out_sig=[shape])
        self._matrices, self._packets = matrices, packets
        self.set_output_multiple(len(matrices))
        self.sink, self.sent = None, []

    def work(self, input_items, output_items):
        if len(self.sent) == self._packets:
            return -1
        while self.sink.packets < len(self.sent):
            time.sleep(1e-6)
        count = len(self._matrices)
        output_items[0][:count] = self._matrices
        self.add_item_tag(
            0, self.nitems_written(0), pmt.intern("packet_len"), pmt.from_long(count)
        )
        self.sent.append(time.perf_counter())
        return count


@guarded
class packet_sink(gr.sync_block):
    """Notes when each packet is complete."""

    def __init__(self, order, length):
        shape = (np.complex64, (order * order,))
        gr.sync_block.__init__(self, "packet_sink", in_sig=[shape], out_sig=None)
        self._length, self._items, self.packets, self.came = length, 0, 0, []

    def work(self, input_items, output_items):
        self._items += len(input_items[0])
        while self._items >= (self.packets + 1) * self._length:
            self.came.append(time.perf_counter())
            self.packets += 1
        return len(input_items[0])


def inverses(arguments, device=None, **options):
    if device is None:
        device = arguments.devices[0]
    where = dict(backend=arguments.backend, device=device)
    return [
        cudaphy.matrix_inverse(arguments.order, **where, **options)
        for _ in range(arguments.blocks)
    ]


def check(row):
    failures = sum(block.failures() for block in row)
    if failures:
        raise SystemExit(f"{failures} matrices were not inverted")


def rate(arguments, matrices, devices=(None,)):
    """Matrices a second, of a branch on each device."""
    items = int(arguments.gigabytes * 1e9 / matrices[0].nbytes)
    top, branches = gr.top_block(), []
    for device in devices:
        row = inverses(arguments, device, max_batch=arguments.max_batch)
        source = idle_source(matrices, items)
        source.set_min_output_buffer(4 * arguments.max_batch)
        top.connect(source, *row, blocks.null_sink(matrices[0].nbytes))
        branches.append((source, row))  # a Python block lives as long as it is held
    start = time.perf_counter()
    top.run()
    seconds = time.perf_counter() - start
    for _, row in branches:
        check(row)
    return items * len(branches) / seconds


def compare_branches(arguments, matrices):
    alone, together = [], []
    for _ in range(arguments.repeat):
        alone.append(rate(arguments, matrices, arguments.devices[:1]))
        together.append(rate(arguments, matrices, arguments.devices))
    one, all_of_them = statistics.median(alone), statistics.median(together)
    print(
        f"a branch on each of the devices {arguments.devices}: {all_of_them:.4g} matrices/s, "
        f"{all_of_them / one:.2f} x one alone ({one:.4g})"
    )
    case = f"{arguments.blocks} blocks on each of the devices {arguments.devices}"
    record(case, all_of_them / 1e6, "M/s", one / 1e6, "one device")


def latency(arguments, matrices):
    """Median and 99th percentile in microseconds, of 1200 matrices a packet."""
    top = gr.top_block()
    row = inverses(arguments, max_batch=1200, length_tag_key="packet_len")
    source = packet_source(matrices[:1200], arguments.packets)
    source.sink = packet_sink(arguments.order, 1200)
    top.connect(source, *row, source.sink)
    top.run()
    check(row)
    late = 1e6 * (np.array(source.sink.came) - np.array(source.sent))
    return np.percentile(late[len(late) // 10 :], [50, 99])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=3, help="in a row (default 3)")
    parser.add_argument("--order", type=int, default=4, help="of the complex matrices")
    parser.add_argument("--max-batch", type=int, default=32768)
    parser.add_argument("--gigabytes", type=float, default=4.0, help="through each block")
    parser.add_argument("--packets", type=int, default=2000, help="for the latency")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--devices", type=int, nargs="+", default=[0], help="GPUs")
    arguments = parser.parse_args()

    rng = np.random.default_rng()
    shape = (8192, arguments.order, arguments.order, 2)
    matrices = rng.standard_normal(shape).view(np.float64) @ [1, 1j]
    matrices += 4 * np.eye(arguments.order)
    matrices = matrices.reshape(len(matrices), -1).astype(np.complex64)
    if len(arguments.devices) > 1:
        compare_branches(arguments, matrices)
        return
    rates, late = {True: [], False: []}, {True: [], False: []}
    for _ in range(arguments.repeat):
        for stay in (True, False):
            gr.prefs().set_bool("cudaphy", "stay_on_device", stay)
            rates[stay].append(rate(arguments, matrices))
            late[stay].append(latency(arguments, matrices))
    backend = inverses(arguments)[0].backend()
    print(
        f"{arguments.blocks} blocks, {arguments.order} x {arguments.order} complex64, backend {backend}, "
        f"median of {arguments.repeat}"
    )
    print(
        f"{'streams between them':<22} {'matrices/s':>11} {'GB/s':>6} {'us':>8} {'p99':>8}"
    )
    for stay, name in ((True, "stay on the device"), (False, "through the host")):
        speed = statistics.median(rates[stay])
        median, worst = np.median(late[stay], axis=0)
        print(
            f"{name:<22} {speed:>11.4g} {speed * matrices[0].nbytes / 1e9:>6.2f} {median:>8.0f} {worst:>8.0f}"
        )
        case = f"{arguments.blocks} blocks, {arguments.order} x {arguments.order}, {name}"
        record(f"{case}, {backend}", speed * matrices[0].nbytes / 1e9, "GB/s")
        record(f"{case}, {backend}, a packet alone", median, "us")


if __name__ == "__main__":
    main()
