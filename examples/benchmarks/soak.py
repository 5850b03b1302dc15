#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A long run at full rate: packets through a chain of blocks for so many seconds, or thousands of
starts and stops. Every packet is accounted for, memory of host and GPU must stay flat, and the worst
latency of a packet is printed.

Chain: numbered packets of QAM symbols -> soft demapper -> LDPC decoder -> count and compare. Latency is
from a packet's entry into the demapper to its leaving the decoder; at full rate that is how long the buffers
hold it. The Python blocks at both ends cost by the packet and by the symbol: large packets of high order
leave the rate to the blocks between."""

import argparse
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gpu_tools  # noqa: E402
import link_tools  # noqa: E402
import numpy as np  # noqa: E402
import pmt  # noqa: E402
from gnuradio import blocks, cudaphy, gr  # noqa: E402
from gnuradio.cudaphy.blocks.block_guard import guarded, whole_number  # noqa: E402
from tqdm import tqdm  # noqa: E402

PACKET = "packet_len"
FRAMES = [1, 4, 2, 16, 3]  # codewords of packets, over and over, times --scale
RING = 4 << 20  # bytes of each ring before the demapper, where packets are large
MODULATION, NOISE = "qam256", 0.016  # 18 dB, at which the code corrects every error
SETTLING = 0.25  # of the run, in which memory may still grow
FLAT = 8 << 20  # bytes by which memory may grow then


def memory():
    """Resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def device_memory(arguments):
    """Bytes that the GPU has not free, up to a constant; None on the CPU."""
    backend, _ = cudaphy.resolve_backend(arguments.backend, arguments.device)
    return -gpu_tools.free_memory(arguments.device) if backend == "cuda" else None


def check_memory(samples, first):
    """Whether memory, (host, device) of each sample, is the same from `first` on; says so.

    One sample says little: what the allocator holds differs by more than a leak adds. So the middle
    one of the last third is compared with that of the first."""
    good = True
    third = max(1, (len(samples) - first) // 3)
    for where, sizes in zip(("host", "GPU, all its programs,"), zip(*samples[first:])):
        if sizes[0] is None:
            continue
        before, after = np.median(sizes[:third]), np.median(sizes[-third:])
        good &= link_tools.check(
            after - before < FLAT,
            f"memory of the {where} is flat: {(after - before) / 2**20:+.1f} MiB, single samples "
            f"{(min(sizes) - before) / 2**20:+.1f} to {(max(sizes) - before) / 2**20:+.1f}",
        )
    return good


@guarded
class clock(gr.sync_block):
    """Notes when packets pass, by their number: a tap on a stream.

    With `expected`, which must come over and over, the stream ends here and is compared.
    """

    def __init__(self, kind, ledger, expected=None):
        onward = [kind] if expected is None else []
        gr.sync_block.__init__(self, "clock", [kind], onward)
        self._ledger, self._expected = ledger, expected
        self._key = pmt.intern(PACKET)
        self._number = 0

    def work(self, input_items, output_items):
        first, count = self.nitems_read(0), len(input_items[0])
        if self._expected is None:
            count = min(count, len(output_items[0]))
            output_items[0][:count] = input_items[0][:count]
        else:
            at = first % len(self._expected)
            count = min(count, len(self._expected) - at)
            same = np.array_equal(input_items[0][:count], self._expected[at : at + count])
            self._ledger.unlike += not same
        now = time.monotonic()
        tags = self.get_tags_in_range(0, first, first + count, self._key)
        for tag in sorted(tags, key=lambda tag: tag.offset):
            if self._expected is None:
                self._ledger.enter(self._number, now)
            else:
                self._ledger.leave(self._number, whole_number(tag.value), now)
            self._number += 1
        return count


class ledger:
    """Packets on their way, and what became of them."""

    def __init__(self, bits):
        self._lock, self._bits = threading.Lock(), bits  # of packets, over and over
        self._waiting = {}
        self.entered = self.left = self.wrong = self.unlike = 0
        self.worst = self.total = 0.0

    def enter(self, number, now):
        with self._lock:
            self._waiting[number] = now
            self.entered += 1

    def leave(self, number, length, now):
        with self._lock:
            self.left += 1
            began = self._waiting.pop(number, None)
            self.wrong += began is None or length != self._bits[number % len(self._bits)]
            if began is not None:
                self.worst = max(self.worst, now - began)
                self.total += now - began

    def waiting(self):
        with self._lock:
            return len(self._waiting)


class chain(gr.top_block):
    """The flowgraph; `rounds` of FRAMES packets, 0 for no end."""

    def __init__(self, code, rounds, arguments, rng):
        gr.top_block.__init__(self, "soak", catch_exceptions=True)
        frames = [n * arguments.scale for n in FRAMES]
        self.ledger = ledger([n * code.k for n in frames])
        constellation = cudaphy.constellation(MODULATION)
        width = constellation.bits
        lengths = [n * code.n // width for n in frames]
        bits = rng.integers(0, 2, (sum(frames), code.k), dtype=np.uint8)
        coded = cudaphy.ldpc_encode(code, bits, backend="cpu").reshape(-1, width)
        noise = rng.standard_normal((len(coded), 2)) @ [1, 1j] * np.sqrt(NOISE / 2)
        x = constellation.points[coded @ (1 << np.arange(width)[::-1])] + noise
        heads = np.cumsum([0, *lengths[:-1]])
        tags = [
            gr.python_to_tag((int(h), pmt.intern(PACKET), pmt.from_long(n)))
            for h, n in zip(heads, lengths)
        ]
        where = dict(
            length_tag_key=PACKET, backend=arguments.backend, device=arguments.device
        )
        self.demapper = cudaphy.soft_demapper(MODULATION, noise_variance=NOISE, **where)
        self.decoder = cudaphy.ldpc_decoder(code, max_iterations=20, **where)
        source = blocks.vector_source_c(x.tolist(), True, 1, tags)
        parts = [source]
        if rounds:
            parts.append(blocks.head(gr.sizeof_gr_complex, rounds * len(x)))
        parts += [
            clock(np.complex64, self.ledger),
            self.demapper,
            self.decoder,
            clock(np.uint8, self.ledger, bits.ravel()),
        ]
        if arguments.scale > 1:
            for part in parts[: parts.index(self.demapper)]:
                part.set_min_output_buffer(0, RING // gr.sizeof_gr_complex)
        self.parts = parts  # Python blocks live as long as somebody holds them
        self.connect(*parts)


def soak(code, arguments, rng):
    """Runs for the time; whether all checks hold."""
    top = chain(code, 0, arguments, rng)
    samples, times, began = [], [], time.monotonic()
    top.start()
    with tqdm(total=arguments.seconds, unit="s", disable=None, leave=False) as bar:
        try:
            while (now := time.monotonic() - began) < arguments.seconds:
                samples.append((memory(), device_memory(arguments)))
                times.append(now)
                bar.update(min(now, arguments.seconds) - bar.n)
                time.sleep(min(0.25, arguments.seconds / 40))
        finally:
            top.stop()
            top.wait()
    seconds = time.monotonic() - began
    book, words = top.ledger, top.decoder.frames()
    print(
        f"{seconds:.0f} s on {top.decoder.backend()}: {book.left} packets, {words} codewords, "
        f"{words * code.k / seconds / 1e6:.1f} Mb/s of information"
    )
    mean = book.total / max(book.left, 1)
    print(f"latency: worst {1e3 * book.worst:.1f} ms, mean {1e3 * mean:.1f} ms")
    print(f"decoder: {top.decoder.stats()}")
    settled = next(i for i, when in enumerate(times) if when >= SETTLING * seconds)
    print(
        f"memory: {samples[0][0] / 2**20:.1f} MiB at first, {samples[settled][0] / 2**20:.1f} after "
        f"{SETTLING * seconds:.0f} s, {samples[-1][0] / 2**20:.1f} at the end"
    )
    good = check_memory(samples, settled)
    # What was stopped on its way is still noted as waiting: nothing vanishes.
    good &= link_tools.check(
        book.entered == book.left + book.waiting() and book.left > 0,
        f"every packet is accounted for: {book.entered} entered, {book.left} left, "
        f"{book.waiting()} were on their way when it was stopped",
    )
    good &= link_tools.check(
        book.wrong == 0, f"{book.wrong} out of order or of wrong length"
    )
    good &= link_tools.check(book.unlike == 0, f"{book.unlike} times other bits came out")
    return good & link_tools.check(
        top.decoder.frame_errors() == 0, f"{top.decoder.frame_errors()} codewords wrong"
    )


def cycles(code, arguments, rng):
    """Flowgraphs made, run to their end or stopped amid, and thrown away."""
    samples, lost, cut = [], 0, 0
    began = time.monotonic()
    for number in tqdm(range(arguments.cycles), disable=None, leave=False):
        rounds = 0 if number % 4 == 3 else 2
        top = chain(code, rounds, arguments, rng)
        top.start()
        if rounds:
            top.wait()
            lost += top.ledger.left != rounds * len(FRAMES)
        else:
            time.sleep(0.001 * (number % 16))
            top.stop()
            top.wait()
            cut += 1
        lost += top.ledger.wrong + top.ledger.unlike + top.decoder.frame_errors() != 0
        del top
        samples.append((memory(), device_memory(arguments)))
    print(
        f"{arguments.cycles} starts and stops, {cut} of them amid, in "
        f"{time.monotonic() - began:.0f} s"
    )
    first = int(SETTLING * len(samples))
    print(
        f"memory: {samples[first][0] / 2**20:.1f} MiB, {samples[-1][0] / 2**20:.1f} at the end"
    )
    good = check_memory(samples, first)
    return good & link_tools.check(lost == 0, f"{lost} cycles lost a packet")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="default: 60")
    parser.add_argument(
        "--cycles",
        type=link_tools.count,
        help="starts and stops, in place of a long run",
    )
    parser.add_argument(
        "--scale",
        type=link_tools.count,
        help="packets have as many times 1 to 16 codewords (default: 64, and 1 with --cycles)",
    )
    parser.add_argument("--backend", choices=link_tools.BACKENDS, default="auto")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.scale = arguments.scale or (1 if arguments.cycles else 64)
    code = cudaphy.ldpc_code("wifi", n=1944, rate="1/2")
    rng = np.random.default_rng(arguments.seed)
    return (cycles if arguments.cycles else soak)(code, arguments, rng)


if __name__ == "__main__":
    link_tools.main(main)
