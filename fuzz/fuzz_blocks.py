#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every block of the module in random flowgraphs: samples (good, huge, not finite, any
bits), tags and messages of every type, buffer sizes, early ends, stops and starts. No
flowgraph may hang, and no process may crash.

Trials run in child processes, several in each, so that a crash is reported with the seed
that repeats it."""

import faulthandler
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import fuzzing
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/cudaphy/tests"))
TRIALS = 100  # in one process, whose start takes as long as fifteen

SPECIAL = [
    0,
    1,
    -1,
    2,
    7,
    10,
    100,
    648,
    2**31,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
]
BAD = [np.nan, np.inf, -np.inf, 1e38, -3.4e38, 1e30, 1e15, 1e-40, 0]
KEYS = ["packet_len", "rx_time", "rx_rate", "rx_freq", "unknown", "", "iterations"]


def random_bytes(rng, count):
    return rng.integers(0, 256, count, dtype=np.uint8).tobytes()


def random_pmt(rng, depth=2):
    """A PMT of any type."""
    import pmt

    number = lambda: int(rng.choice(SPECIAL))  # noqa: E731
    length = int(rng.choice([0, 1, 2, 5, 324, 648, 700]))
    ints = lambda low, high: rng.integers(low, high, length).tolist()  # noqa: E731
    real = lambda: float(rng.choice([*BAD, 0.5, -2.0, 1e3]))  # noqa: E731
    inner = lambda: random_pmt(rng, depth - 1)  # noqa: E731
    makers = [
        lambda: pmt.from_long(number()),
        lambda: pmt.from_long(int(rng.integers(-10, 1000))),
        lambda: pmt.from_uint64(number() % 2**64),
        lambda: pmt.from_double(real()),
        lambda: pmt.from_complex(complex(real(), real())),
        lambda: pmt.PMT_NIL,
        lambda: pmt.PMT_T,
        lambda: pmt.PMT_F,
        lambda: pmt.PMT_EOF,
        lambda: pmt.intern(str(rng.choice(["", "a", "channel", "done", "\u00e9\n"]))),
        lambda: pmt.make_dict(),
        lambda: pmt.init_u8vector(length, ints(0, 256)),
        lambda: pmt.init_s8vector(length, ints(-128, 128)),
        lambda: pmt.init_u16vector(length, ints(0, 2**16)),
        lambda: pmt.init_s16vector(length, ints(-(2**15), 2**15)),
        lambda: pmt.init_u32vector(length, ints(0, 2**32)),
        lambda: pmt.init_s32vector(length, ints(-(2**31), 2**31)),
        lambda: pmt.init_f32vector(length, (rng.standard_normal(length) * 4).tolist()),
        lambda: pmt.init_f32vector(length, [real() for _ in range(length)]),
        lambda: pmt.init_f64vector(length, [real() for _ in range(length)]),
        lambda: pmt.init_c32vector(length, [complex(real(), 1) for _ in range(length)]),
        lambda: pmt.init_c64vector(length, [complex(real(), 1) for _ in range(length)]),
        lambda: pmt.make_vector(length % 7, pmt.from_long(number())),
        # A radio's time, good or nearly.
        lambda: pmt.make_tuple(
            pmt.from_uint64(number() % 2**64), pmt.from_double(rng.random())
        ),
    ]
    if depth > 0:
        makers += [
            lambda: pmt.cons(inner(), inner()),
            lambda: pmt.cons(pmt.make_dict(), inner()),
            lambda: pmt.cons(
                pmt.dict_add(pmt.make_dict(), pmt.intern("ldpc_code"), inner()), inner()
            ),
            lambda: pmt.make_tuple(inner(), inner()),
            lambda: pmt.make_tuple(inner(), inner(), inner()),
            lambda: pmt.dict_add(pmt.make_dict(), inner(), inner()),
            lambda: pmt.list2(inner(), inner()),
        ]
    return makers[rng.integers(len(makers))]()


def random_samples(rng, good):
    """Random items of the type of an array of good ones: mostly good, mostly fewer."""
    count = rng.integers(0, len(good) + 1) if rng.random() < 0.7 else len(good)
    x = np.array(good[:count])
    kind = rng.integers(6)
    if kind == 0:
        raw = random_bytes(rng, x.nbytes)
        return np.frombuffer(raw, x.dtype).reshape(x.shape).copy()
    if x.dtype.kind in "fc" and x.size:
        flat = x.reshape(-1).view(np.float32)
        if kind == 1:
            flat *= np.float32(10.0 ** rng.integers(-30, 20))
        elif kind == 2:
            flat[:] = rng.choice(BAD)
        elif kind == 3:
            flat[rng.integers(0, len(flat), 5)] = rng.choice(BAD, 5)
        elif kind == 4:
            flat[:] = rng.standard_normal(len(flat))
    return x


def random_tags(rng, items, a_frame, keys):
    """Length tags of packets, nonsense, both or none."""
    import pmt
    from qa_support import tag

    made = []
    kind = rng.integers(4)
    if kind in (1, 3):
        at = 0
        while at < items:
            length = a_frame * int(rng.integers(1, 9))
            if rng.random() < 0.02:
                length += int(rng.integers(-3, 4))
            value = pmt.from_uint64 if rng.random() < 0.3 else pmt.from_long
            made.append(tag(at, "packet_len", value(max(length, 0))))
            at += max(length, 1)
    if kind in (2, 3) and items:
        for _ in range(rng.integers(1, 30)):
            key = str(rng.choice([*keys, *keys, *KEYS]))
            where = int(rng.integers(items)) // a_frame * a_frame
            if rng.random() < 0.3:
                where = int(rng.integers(items))
            made.append(tag(where, key, random_pmt(rng)))
    return made[:5000]


class Hang(Exception):
    pass


def returns(call, seconds):
    """Whether a call returns in time. The call must release Python's lock."""
    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    caller.join(seconds)
    return not caller.is_alive()


def stop(top, seconds):
    return returns(top.stop, seconds) and returns(top.wait, seconds)


def end(top, seconds, run_number):
    if not returns(top.wait, seconds):
        stops = "ends" if stop(top, 20) else "does not end"
        raise Hang(
            f"no end within {seconds} s in run {run_number}; with stop() it {stops}"
        )


def ports_of(ports):
    """Names of message ports, but for GNU Radio's own."""
    import pmt

    names = [
        pmt.symbol_to_string(pmt.vector_ref(ports, i)) for i in range(pmt.length(ports))
    ]
    return [name for name in names if name != "system"]


def post(rng, block, count):
    import pmt

    ports = ports_of(block.message_ports_in())
    for _ in range(count if ports else 0):
        port = pmt.intern(ports[rng.integers(len(ports))])
        block.to_basic_block()._post(port, random_pmt(rng, 3))


def trial(rng, name, backend, seconds):
    """Runs one block in a flowgraph. Raises Hang, or the block's exception."""
    from gnuradio import blocks, gr
    from qa_support.block_table import entry

    row, options = entry(name), {}
    for option, choices in (
        ("length_tag_key", ["", "packet_len"]),
        ("backend", [backend]),
        ("max_batch", [0, 1, 3, 64]),
        ("max_latency", [0, 0, 0.001]),
    ):
        value = choices[rng.integers(len(choices))]
        if option in row.takes:
            options[option] = value
    block, top = row.make(**options), gr.top_block()
    sources, alive = [], [block]
    if row.outputs and hasattr(block, "output_multiple") and rng.random() < 0.3:
        multiple = block.output_multiple()
        block.set_min_output_buffer(int(rng.integers(1, 50000)))
        if rng.random() < 0.5:
            block.set_max_output_buffer(multiple * int(rng.choice([2, 5])))
    for port, good in enumerate(row.inputs):
        x = random_samples(rng, good)
        a_frame = max(1, len(good) // max(1, row.frames))
        tags = random_tags(rng, len(x), a_frame, row.keys)
        if row.tags and rng.random() < 0.5:
            tags += [each for each in row.tags if each.offset < len(x)]
        size = good.itemsize * (good.shape[1] if good.ndim == 2 else 1)
        source = blocks.vector_source_b(list(x.tobytes()), False, size, tags)
        sources.append(source)
        pieces = blocks.copy(size)  # a source with tags gives no fewer items than `size`
        if rng.random() < 0.5:
            pieces.set_max_noutput_items(int(rng.choice([1, 7, 100, 1000])))
        if rng.random() < 0.3:
            pieces.set_min_output_buffer(int(rng.integers(1, 50000)))
        top.connect(source, pieces, (block, port))
    for port, (dtype, vlen) in enumerate(row.outputs):
        size = np.dtype(dtype).itemsize * max(1, vlen)
        sink = blocks.null_sink(size)
        if rng.random() < 0.2:
            head = blocks.head(size, int(rng.integers(0, 5000)))
            top.connect((block, port), head)
            top.connect(head, sink)
        else:
            top.connect((block, port), sink)
        if rng.random() < 0.2:
            top.connect((block, port), blocks.vector_sink_b(size))
    for port in ports_of(block.message_ports_out()):
        alive.append(blocks.message_debug())
        top.msg_connect(block, port, alive[-1], "store")
    for run_number in range(rng.integers(1, 4)):
        for source in sources:
            source.rewind()
        post(rng, block, rng.integers(0, 5))
        top.start()
        post(rng, block, rng.integers(0, 10))
        if not row.inputs or rng.random() < 0.3:
            time.sleep(rng.random() * 0.03)
            if not stop(top, seconds):
                raise Hang(f"no end within {seconds} s of stop() in run {run_number}")
        else:
            end(top, seconds, run_number)
    for figures in ("stats", "problem", "frames", "failures"):
        if hasattr(block, figures):
            getattr(block, figures)()


def run_trials(arguments):
    """In a child: prints each trial before it begins."""
    from qa_support.block_table import TABLE

    faulthandler.enable()
    for number in range(arguments.trials):
        seed = arguments.seed + number
        rng = np.random.default_rng(seed)
        name = str(rng.choice(list(TABLE)))  # drawn even if --block overrides it
        name = arguments.block or name
        print(f"trial {seed} {name}", flush=True)
        # Beyond every limit of trial(): a call that holds Python's lock.
        faulthandler.dump_traceback_later(3 * arguments.limit + 60, exit=True)
        try:
            trial(rng, name, arguments.backend, arguments.limit)
        except Hang as problem:
            print(f"HANG: {problem}", flush=True)
            faulthandler.dump_traceback()
            os._exit(3)
        faulthandler.cancel_dump_traceback_later()
    print("all trials ended", flush=True)
    os._exit(0)  # flowgraphs and their logs have ended, so leave without clean-up


def run_child(arguments, seed):
    """(trials, the failure or None)"""
    command = [sys.executable, __file__, "--trials", str(TRIALS), "--seed", str(seed)]
    command += ["--limit", str(arguments.limit), "--backend", arguments.backend]
    command += ["--block", arguments.block] if arguments.block else []
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = child.wait(arguments.limit * TRIALS)
        except subprocess.TimeoutExpired:
            child.kill()
            status = child.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    lines = [line.split(maxsplit=2) for line in text.splitlines() if line[:6] == "trial "]
    if status == 0 and "all trials ended" in text:
        return len(lines), None
    if not lines:
        return 0, f"exit status {status} before the first trial\n{text[-3000:]}"
    _, last, name = lines[-1]
    return len(lines), (
        f"{name}: exit status {status}. To repeat it:\n"
        f"  {__file__} --trials 1 --seed {last} --block '{name}'\n"
        f"{text[text.rindex(f'trial {last} '):][-6000:]}"
    )


def main():
    parser = fuzzing.parser(__doc__)
    parser.add_argument("--block", default="", help="test only this block")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--limit", type=float, default=60, help="seconds a flowgraph")
    parser.add_argument(
        "--trials", type=int, help="run only this number, in this process"
    )
    arguments = parser.parse_args()
    if arguments.trials:
        run_trials(arguments)
    print(f"CUDAPHY_TEST_SEED={arguments.seed}", flush=True)
    ends = time.monotonic() + arguments.seconds
    trials, failures, seed = 0, [], arguments.seed * 1000003
    while time.monotonic() < ends and len(failures) < 10:
        count, failed = run_child(arguments, seed)
        seed += TRIALS
        trials += count
        if failed:
            failures.append(failed)
            print(failed, flush=True)
    print(f"{trials} trials, {len(failures)} failures")
    return 1 if failures or not trials else 0


if __name__ == "__main__":
    sys.exit(main())
