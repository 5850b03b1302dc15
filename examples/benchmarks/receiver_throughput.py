#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO Receiver in a flowgraph: cells of 20 MHz (1200 tones, 14 symbols a millisecond, 4 x 4, 64-QAM, 5G LDPC
rate 1/2, DM-RS in 2 symbols) in real time, with GNU Radio's Copy in its place turn by turn; and the latency of a
slot that comes alone, from GNU Radio's buffer to the bits in the sink. The slots are noise, so that every codeword
takes all iterations. bench_receiver_streams measures it between sources and sinks that cost nothing."""

import argparse
import statistics
import time

import numpy as np
import pmt
from gnuradio import blocks, cudaphy, gr
from gnuradio.cudaphy.blocks.block_guard import guarded
from records import record

ANTENNAS, RESOURCE_BLOCKS, SYMBOLS, PILOT_SYMBOLS = 4, 100, 14, [2, 3]
TONES = 12 * RESOURCE_BLOCKS
ITEMS = TONES * SYMBOLS  # a slot
VECTOR = gr.sizeof_gr_complex * ANTENNAS
INFORMATION = 22 * 384  # bits of a codeword
PILOTS = cudaphy.nr_dmrs_pilots(ANTENNAS, RESOURCE_BLOCKS, [0], double_symbol=True)
CODE = cudaphy.ldpc_code("nr5g", base_graph=1, lifting_size=384, rows=24)


def receiver(arguments, **options):
    return cudaphy.mimo_receiver(
        ANTENNAS,
        ANTENNAS,
        TONES,
        SYMBOLS,
        PILOTS,
        PILOT_SYMBOLS,
        "qam64",
        CODE,
        backend=arguments.backend,
        max_iterations=arguments.iterations,
        **options,
    )


def rate(arguments, slots, block, item):
    """Slots a second through a block whose items have that size."""
    source = blocks.vector_source_c(slots.ravel(), True, ANTENNAS)
    head = blocks.head(VECTOR, arguments.slots * ITEMS)
    for before in (source, head):
        before.set_min_output_buffer(4 * arguments.max_batch * ITEMS)
    top = gr.top_block()
    top.connect(source, head, block, blocks.null_sink(item))
    start = time.perf_counter()
    top.run()
    return arguments.slots / (time.perf_counter() - start)


@guarded
class slot_source(gr.sync_block):
    """A slot, and the next when `sink` has had its bits."""

    def __init__(self, slots, count):
        shape = (np.complex64, (ANTENNAS,))
        gr.sync_block.__init__(self, "slot_source", in_sig=None, out_sig=[shape])
        self._slots, self._count = slots, count
        self.set_output_multiple(ITEMS)
        self.sink, self.sent = None, []

    def work(self, input_items, output_items):
        if len(self.sent) == self._count:
            return -1
        while self.sink.slots < len(self.sent):
            time.sleep(1e-6)
        output_items[0][:ITEMS] = self._slots[len(self.sent) % len(self._slots)]
        self.add_item_tag(
            0, self.nitems_written(0), pmt.intern("packet_len"), pmt.from_long(ITEMS)
        )
        self.sent.append(time.perf_counter())
        return ITEMS


@guarded
class bit_sink(gr.sync_block):
    """Notes when each slot's bits are complete."""

    def __init__(self, bits):
        gr.sync_block.__init__(self, "bit_sink", in_sig=[np.uint8], out_sig=None)
        self._bits, self._items, self.slots, self.came = bits, 0, 0, []

    def work(self, input_items, output_items):
        self._items += len(input_items[0])
        while self._items >= (self.slots + 1) * self._bits:
            self.came.append(time.perf_counter())
            self.slots += 1
        return len(input_items[0])


def latency(arguments, slots):
    """Microseconds that each slot took."""
    block = receiver(arguments, max_batch=1, length_tag_key="packet_len")
    source = slot_source(slots, arguments.alone)
    source.sink = bit_sink(block.words() * INFORMATION)
    top = gr.top_block()
    top.connect(source, block, source.sink)
    top.run()
    late = 1e6 * (np.array(source.sink.came) - np.array(source.sent))
    return late[len(late) // 10 :]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=8000, help="a run (default 8000)")
    parser.add_argument("--max-batch", type=int, default=16, help="slots a launch")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--alone", type=int, default=1000, help="slots, for the latency")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()

    rng = np.random.default_rng()
    slots = rng.standard_normal((arguments.max_batch, ITEMS, ANTENNAS, 2)) @ [1, 1j]
    slots = slots.astype(np.complex64)
    copies, received = [], []
    for _ in range(arguments.repeat):
        in_place = blocks.copy(VECTOR)
        ring = 4 * arguments.max_batch * ITEMS
        in_place.set_min_output_buffer(0, ring)  # no effect on Copy without a port
        copies.append(rate(arguments, slots, in_place, VECTOR))
        block = receiver(arguments, max_batch=arguments.max_batch)
        received.append(rate(arguments, slots, block, 1))
    copy, cells = statistics.median(copies), statistics.median(received)
    print(f"backend {block.backend()}, {block.words()} codewords a slot")
    print(
        f"MIMO Receiver {cells:.0f} slots/s, {cells / 1000:.2f} cells in real time, {cells / copy:.2f} of "
        f"Copy's {copy:.0f}"
    )
    case = (
        f"MIMO Receiver in Copy's place, {arguments.max_batch} slots, {block.backend()}"
    )
    record(case, cells, "slots/s", copy, "GNU Radio's Copy")
    late = latency(arguments, slots)
    median, late99 = np.percentile(late, [50, 99])
    print(f"a slot alone: median {median:.0f} us, 99th percentile {late99:.0f} us")
    record(
        f"MIMO Receiver between Python blocks, {block.backend()}, median", median, "us"
    )
    record(f"MIMO Receiver between Python blocks, {block.backend()}, 99 %", late99, "us")


if __name__ == "__main__":
    main()
