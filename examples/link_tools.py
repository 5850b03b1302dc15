# SPDX-License-Identifier: GPL-3.0-or-later
"""What the simulated links of this folder share: the command line's common part, pieces of
flowgraphs, running one under a progress bar, tables, and the look of the pictures."""

import argparse
import math
import sys
import threading
import time
from pathlib import Path

from gnuradio import analog, blocks, cudaphy, digital, gr
from gnuradio.cudaphy.error_rates.plots import STYLE
from gnuradio.cudaphy.whole_files import write_whole
from tqdm import tqdm

BACKENDS = ("auto", "cuda", "cpu", "reference")
UNAVAILABLE = 77  # exit status where a backend can't be had; test drivers read "skipped"
INTERRUPTED = 130

BLUE, ORANGE, GREEN, RED, GREY = "#1f6fb4", "#e07b00", "#2a9d5c", "#c43c39", "#8a8f98"


class flowgraph_failed(RuntimeError):
    """A flowgraph ended before all its frames had come through."""


def number_list(text):
    """Numbers from "1,2.5" or "8:20:2", the last of which is included."""
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if step <= 0 or last < first:
                raise ValueError
            return [first + i * step for i in range(int((last - first) / step + 1.001))]
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'"{text}" is neither numbers like 8,12,16 nor first:last:step'
        ) from None


def count(text):
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number of at least 1')
    return int(text)


def new_parser(description):
    """A parser with the arguments that every link has."""
    parser = argparse.ArgumentParser(
        description=description,
        epilog="Lists are written 8,12,16 or first:last:step; a list that begins with "
        "a minus sign as --option=-2,0. Exit status: 0 if every check holds, 1 if not, "
        f"{UNAVAILABLE} if the backend can't be had here.",
    )
    parser.add_argument(
        "--backend", choices=BACKENDS, default="auto", help="default: auto"
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        choices=BACKENDS,
        metavar=("A", "B"),
        help="receive the same samples on two backends, and check that all decisions agree",
    )
    parser.add_argument("--device", type=int, default=0, help="index of the GPU")
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds: fewer frames"
    )
    parser.add_argument("--seed", type=int, default=1, help="of data, channel and noise")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=Path("."),
        help="where the picture goes; default: here",
    )
    return parser


def chosen_backends(arguments):
    """The backends to receive on, with "auto" resolved; says which, and why."""
    names = []
    for asked in arguments.compare or [arguments.backend]:
        name, reason = cudaphy.resolve_backend(asked, arguments.device)
        print(f"backend {name}: {reason}" if reason else f"backend {name}")
        names.append(name)
    return names


def error_counter(top, got, expected, *sizes):
    """A Frame Error Counter (made from sizes) in the flowgraph top, between two streams of bits."""
    counter = cudaphy.frame_error_counter(*sizes)
    top.connect(got, (counter, 0))
    top.connect(expected, (counter, 1))
    return counter


def difference_counter(top, decided, *sizes):
    """A Frame Error Counter in the flowgraph top between the bits that two backends decided; None for one
    backend."""
    return error_counter(top, *decided, *sizes) if len(decided) == 2 else None


def white_noise(variance, seed):
    """A source of complex Gaussian noise: picks at random from samples made before, since a source that makes
    each sample anew takes more time than an LDPC decoder."""
    samples = 2**17  # so that their variance is within 0.02 dB of what is asked for
    return analog.fastnoise_source_c(
        analog.GR_GAUSSIAN, math.sqrt(variance), seed, samples
    )


def decided_bits(top, symbols, constellation):
    """Bits of a stream of QPSK symbols in the flowgraph top, each symbol decided alone."""
    bits = blocks.unpack_k_bits_bb(2)
    top.connect(symbols, digital.constellation_decoder_cb(constellation), bits)
    return bits


def product(top, matrices, vectors, order):
    """Matrices times vectors in the flowgraph top, from streams of elements: each vector once
    for every row, multiplied element by element, and summed over the row."""
    whole = blocks.stream_to_vector(gr.sizeof_gr_complex, order)
    repeated = blocks.repeat(gr.sizeof_gr_complex * order, order)
    elements = blocks.vector_to_stream(gr.sizeof_gr_complex, order)
    products, sums = blocks.multiply_cc(), blocks.integrate_cc(order)
    top.connect(vectors, whole, repeated, elements)
    top.connect(matrices, (products, 0))
    top.connect(elements, (products, 1))
    top.connect(products, sums)
    return sums


def run(top, counter, frames, bar):
    """Runs a flowgraph to its end, moves the bar with the counter, gives the seconds.

    Raises flowgraph_failed if fewer frames than expected came, KeyboardInterrupt after
    the flowgraph has been stopped.
    """
    began, seen, ended = time.monotonic(), 0, threading.Event()

    def wait():
        top.wait()
        ended.set()

    top.start()
    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    try:
        while not ended.wait(0.05):
            now = counter.frames()
            bar.update(now - seen)
            seen = now
    except KeyboardInterrupt:
        top.stop()
        waiter.join()
        raise
    seconds = time.monotonic() - began
    bar.update(counter.frames() - seen)
    if counter.frames() != frames:
        raise flowgraph_failed(
            f"the flowgraph ended after {counter.frames()} of {frames} frames; "
            "the lines above say why"
        )
    return seconds


def progress(total, unit, text):
    """A progress bar on standard error, none where that is no terminal."""
    return tqdm(
        total=total, unit=unit, desc=text, disable=None, leave=False, smoothing=0.1
    )


class table:
    """Prints rows under a head as they come: columns are (title, format, width)."""

    def __init__(self, title, columns):
        self._columns = columns
        tqdm.write(f"\n{title}")
        tqdm.write("  ".join(name.rjust(width) for name, _, width in columns))
        tqdm.write("  ".join("-" * width for _, _, width in columns))

    def row(self, *values):
        cells = zip(values, self._columns)
        tqdm.write("  ".join(format(v, form).rjust(w) for v, (_, form, w) in cells))
        sys.stdout.flush()


def rate_text(rate):
    """An error rate as tables show it."""
    return f"{rate:.1e}" if rate else "0"


def check(holds, text):
    """Prints whether a check holds, and gives it back."""
    tqdm.write(f"{'ok:    ' if holds else 'FAILED:'} {text}")
    return bool(holds)


def check_agreement(backends, frames, wrong, differing):
    """Checks that two backends decided alike: wrong is the pair of their frame errors,
    differing counts the frames whose decisions differ, both of so many frames.

    The reference computes in double precision: there, and where a frame can't be decoded,
    rounding decides which bits come out. Between the others every decision must agree.
    """
    if "reference" in backends:
        return check(
            abs(wrong[0] - wrong[1]) <= 0.01 * frames,
            f"{backends[0]} and {backends[1]} lose as many of {frames} frames within 1 %: "
            f"{wrong[0]} and {wrong[1]}",
        )
    return check(
        differing == 0,
        f"{backends[0]} and {backends[1]} decide alike: {differing} of {frames} frames differ",
    )


class agreement:
    """How alike two backends decided at the points of a table; one backend agrees with itself."""

    def __init__(self, backends):
        self._backends = backends
        self._frames, self._wrong, self._differing = 0, [0, 0], 0

    def add(self, frames, counters, difference):
        """A point with so many frames, of which the backends' counters and their
        difference_counter have counted errors."""
        if difference:
            self._frames += frames
            self._wrong = [n + c.frame_errors() for n, c in zip(self._wrong, counters)]
            self._differing += difference.frame_errors()

    def holds(self):
        """Prints check_agreement() of all points, and whether it holds."""
        sums = self._frames, self._wrong, self._differing
        return len(self._backends) < 2 or check_agreement(self._backends, *sums)


def styled_pyplot():
    """matplotlib's pyplot in the house's look, without a display."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(STYLE)
    return pyplot


def save(figure, arguments, name):
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / name
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150))
    print(f"\npicture: {path}")


def main(program):
    """Runs program() and turns what it raises into a message and an exit status."""
    gr.logging().set_default_level(
        gr.log_levels.warn
    )  # one line a block is too much here
    try:
        sys.exit(0 if program() else 1)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except cudaphy.BackendUnavailable as problem:
        print(f"skipped: {problem}", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    except (flowgraph_failed, ValueError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(1)
