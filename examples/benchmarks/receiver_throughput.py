#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO Receiver in a flowgraph: cells of 20 MHz (1200 tones, 14 symbols a millisecond, 4 x 4, 64-QAM, 5G LDPC
rate 1/2, DM-RS in 2 symbols) in real time, with GNU Radio's Copy in its place turn by turn; then between sources
and a sink that touch no item, beside the chain of blocks that it stands for, whose streams stay on the GPU
(channel estimator, equalizer, soft demapper, LDPC decoder), in pairs of runs, since rates differ from run to run;
and the latency of a slot that comes alone, from
GNU Radio's buffer to the bits in the sink. The slots are noise, so that every codeword takes all iterations."""

import argparse
import statistics
import time

import numpy as np
import pmt
from device_streams import idle_source
from gnuradio import blocks, cudaphy, gr

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
    source.set_min_output_buffer(4 * arguments.max_batch * ITEMS)
    head = blocks.head(VECTOR, arguments.slots * ITEMS)
    head.set_min_output_buffer(4 * arguments.max_batch * ITEMS)
    top = gr.top_block()
    top.connect(source, head, block, blocks.null_sink(item))
    start = time.perf_counter()
    top.run()
    return arguments.slots / (time.perf_counter() - start)


def chain(arguments, top, sources):
    """The receiver block by block, behind sources of the pilots and of the data; gives the decoder."""
    where = dict(backend=arguments.backend)
    slots, data = arguments.max_batch, SYMBOLS - len(PILOT_SYMBOLS)
    words = ITEMS * ANTENNAS * 6 // CODE.n
    estimator = cudaphy.mimo_channel_estimator(
        ANTENNAS,
        ANTENNAS,
        TONES,
        PILOTS,
        max_batch=slots,
        errors_as_noise=True,
        **where,
    )
    equalizer = cudaphy.mimo_equalizer(
        ANTENNAS,
        ANTENNAS,
        symbols=data,
        tones=TONES,
        noise_input=True,
        max_batch=slots,
        **where,
    )
    demapper = cudaphy.soft_demapper(
        "qam64",
        vlen=ANTENNAS,
        noise_input=True,
        type="int8",
        max_batch=slots * data * TONES,
        **where,
    )
    decoder = cudaphy.ldpc_decoder(
        CODE,
        max_iterations=arguments.iterations,
        type="int8",
        max_batch=slots * words,
        **where,
    )
    top.connect(sources[0], estimator)
    top.connect(sources[1], (equalizer, 0))
    for port in (0, 1):  # channel matrices, noise variance
        top.connect((estimator, port), (equalizer, 1 + port))
        top.connect((equalizer, port), (demapper, port))  # layers, their noise
    top.connect(demapper, decoder, blocks.null_sink(1))
    return decoder


def words_between_idle(arguments, slots, whole):
    """Codewords a second between sources and a sink that touch no item, in one block or block by block."""
    top = gr.top_block()
    symbols = [SYMBOLS] if whole else [len(PILOT_SYMBOLS), SYMBOLS - len(PILOT_SYMBOLS)]
    sources = []
    for count in symbols:
        items = count * TONES
        content = slots[:, :items].reshape(-1, ANTENNAS)
        sources.append(idle_source(content, arguments.idle_slots * items))
        sources[-1].set_min_output_buffer(4 * arguments.max_batch * items)
    if whole:
        last = receiver(arguments, max_batch=arguments.max_batch)
        top.connect(*sources, last, blocks.null_sink(1))
    else:
        last = chain(arguments, top, sources)
    all_items = arguments.idle_slots * count * TONES  # of the last source
    start = time.perf_counter()
    top.run()
    end = time.perf_counter()
    start, items = sources[-1].began or (start, all_items)
    return last.frames() * items / all_items / (end - start)


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


def median_between(values):
    """Between which of them the median of what they are drawn from lies, with 95 % certainty."""
    rank = int(max(0, (len(values) - 1.96 * len(values) ** 0.5) / 2 - 1))
    ordered = sorted(values)
    return ordered[rank], ordered[-1 - rank]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=8000, help="a run (default 8000)")
    parser.add_argument(
        "--idle-slots",
        type=int,
        default=30000,
        help="a run between sources and a sink that touch no item (default 30000)",
    )
    parser.add_argument("--max-batch", type=int, default=16, help="slots a launch")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--alone", type=int, default=1000, help="slots, for the latency")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--pairs", type=int, default=21, help="of runs, block by block and in one"
    )
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()

    rng = np.random.default_rng()
    slots = rng.standard_normal((arguments.max_batch, ITEMS, ANTENNAS, 2)) @ [1, 1j]
    slots = slots.astype(np.complex64)
    copies, received = [], []
    for _ in range(arguments.repeat):
        copies.append(rate(arguments, slots, blocks.copy(VECTOR), VECTOR))
        block = receiver(arguments, max_batch=arguments.max_batch)
        received.append(rate(arguments, slots, block, 1))
    copy, cells = statistics.median(copies), statistics.median(received)
    print(f"backend {block.backend()}, {block.words()} codewords a slot")
    print(
        f"MIMO Receiver {cells:.0f} slots/s, {cells / 1000:.2f} cells in real time, {cells / copy:.2f} of "
        f"Copy's {copy:.0f}"
    )
    rates = {True: [], False: []}
    for pair in range(arguments.pairs):
        for whole in (pair % 2 == 0, pair % 2 == 1):  # by turns the first one
            rates[whole].append(words_between_idle(arguments, slots, whole))
    fused, apart = (statistics.median(rates[whole]) for whole in (True, False))
    shares = np.divide(rates[False], rates[True])
    least, most = median_between(shares)
    print(
        f"between a source and a sink that cost nothing: {fused:.4g} codewords/s in one block, {apart:.4g} block by "
        f"block, {np.median(shares):.2f} of it, median of {arguments.pairs} pairs, with 95 % certainty {least:.2f} to "
        f"{most:.2f}"
    )
    late = latency(arguments, slots)
    median, late99 = np.percentile(late, [50, 99])
    print(f"a slot alone: median {median:.0f} us, 99th percentile {late99:.0f} us")


if __name__ == "__main__":
    main()
