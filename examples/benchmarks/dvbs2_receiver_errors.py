#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many frames of DVB-S2 and S2X dvbs2_receive() gets wrong in white noise, synchronisation included: the
carrier is off by 0.05 symbol rates, the timing by 0.3 symbols, the clock by 50 ppm; 2 samples a symbol,
roll-off 0.2.

table: each MODCOD at the standard's Es/N0 and a margin. published: QPSK 8/9 of short frames with sum-product,
beside what AFF3CT's receiver is published with. loss: Es/N0 at which a tenth and a hundredth of the frames are
wrong, with synchronisation and with perfect knowledge of the symbols' places, phase and noise.

A frame counts as wrong if it is not found at its place, or if one bit of its BBFRAME is wrong. Each point is
received in pieces, and each piece begins amid a frame with a carrier phase of its own. A file of JSON lines
keeps the points: what is in it is not measured again."""

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from types import SimpleNamespace

PIECE = 2_500_000  # symbols that are received at once, about
SHARE = 70_000_000  # symbols of a point that one process measures
# Frame error rates by Eb/N0 in dB, as published, with 0.1 dB more: AFF3CT's DVB-S2 receiver.
PUBLISHED = {3.8: 2.24e-1, 3.9: 3.55e-2, 4.0: 2.89e-3}
LOSS_MODCODS = [
    *("qpsk-8/9-short", "8psk-8/9-short", "16apsk-8/9-short", "32apsk-8/9-short"),
    *("qpsk-1/4-normal", "8psk-3/5-normal", "16apsk-2/3-normal", "32apsk-3/4-normal"),
]
KEY = ("what", "modcod", "es_n0", "algorithm", "iterations", "ideal", "backend")
COUNTS = ("frames", "lost", "wrong", "undetected", "extra", "pieces", "seconds")


def work_on(core):
    """Leaves this process one core, before the library counts them."""
    os.sched_setaffinity(0, {core})


def tools():
    """What needs the library, which must not be loaded before work_on()."""
    import dvbs2_signal
    import numpy
    from gnuradio import cudaphy

    return SimpleNamespace(numpy=numpy, cudaphy=cudaphy, signal=dvbs2_signal)


_signals = {}


def signal_of(modcod):
    """The signal of a MODCOD; the last one is kept."""
    if modcod not in _signals:
        _signals.clear()
        made = tools().signal
        _signals[modcod] = made.signal(made.all_modes()[modcod])
    return _signals[modcod]


def count_received(sent, piece, received):
    """Counts of a piece of the signal."""
    counts = dict.fromkeys(COUNTS, 0)
    counts.update(frames=len(piece.places), pieces=1)
    at = {}
    for frame in received:
        nearest = abs(piece.places - frame.first_sample).argmin()
        if abs(piece.places[nearest] - frame.first_sample) < sent.step:
            at[nearest] = frame
        elif frame.ok:
            counts["extra"] += 1
    counts["lost"] = len(piece.places) - len(at)
    for number, frame in at.items():
        bits = sent.bits[piece.frames[number]]
        right = frame.mode.pls == sent.mode.pls and (frame.bits == bits).all()
        counts["wrong"] += not (frame.ok and right)
        counts["undetected"] += frame.ok and not right
    return counts


def receive_piece(point, sent, frames, rng, device):
    piece = sent.piece(frames, point["es_n0"], rng)
    received, _ = tools().cudaphy.dvbs2_receive(
        piece.samples,
        sent.samples_per_symbol,
        0.2,
        iterations=point["iterations"],
        algorithm=point["algorithm"],
        backend=point["backend"],
        device=device,
        vl_snr=sent.mode.is_vl_snr,
    )
    return count_received(sent, piece, received)


def decode_ideal(point, sent, frames, rng, device):
    from gnuradio.cudaphy.dvbs2 import decode_frames

    symbols, which = sent.ideal(frames, point["es_n0"], rng)
    noise = 10 ** (-point["es_n0"] / 10) / sent.mode.repeats
    told = [SimpleNamespace(symbols=one, noise_variance=noise) for one in symbols]
    bits, ok = decode_frames(
        sent.mode,
        told,
        point["iterations"],
        point["algorithm"],
        backend=point["backend"],
        device=device,
    )
    right = (bits == sent.bits[which]).all(axis=1)
    counts = dict.fromkeys(COUNTS, 0)
    counts.update(frames=frames, pieces=1, wrong=int((~(right & ok)).sum()))
    counts["undetected"] = int((ok & ~right).sum())
    return counts


def measure(point, frames, errors, share, device, deadline):
    """The point with its counts: until so many frames, or (0: no matter) so many wrong ones. None past the
    deadline, on the monotonic clock."""
    began, sent = time.monotonic(), signal_of(point["modcod"])
    np = tools().numpy
    seed = (share, sent.mode.pls, round(1000 * point["es_n0"]) & 0xFFFF, point["ideal"])
    rng = np.random.Generator(np.random.SFC64(seed))
    piece = max(1, PIECE // sent.mode.length)
    total = dict.fromkeys(COUNTS, 0)
    how = decode_ideal if point["ideal"] else receive_piece
    while total["frames"] < frames:
        if time.monotonic() > deadline:
            return None
        counts = how(point, sent, min(piece, frames - total["frames"]), rng, device)
        for name, value in counts.items():
            total[name] += int(value)
        if errors and total["lost"] + total["wrong"] >= errors:
            break
    total["seconds"] = round(time.monotonic() - began, 2)
    return {**point, **total, "share": share}


def climb(point, frames, errors, share, device, deadline):
    """Points of rising Es/N0, until less than one frame in 200 is wrong."""
    made = []
    while True:
        one = measure(point, frames, errors, share, device, deadline)
        if one is None:
            return made
        made.append(one)
        if rate_of(one) < 5e-3:
            return made
        step = 0.1 if rate_of(one) > 0.8 else 0.05
        point = {**point, "es_n0": round(point["es_n0"] + step, 3)}


def rate_of(point):
    return (point["lost"] + point["wrong"]) / point["frames"]


def read_points(path):
    """{key: counts of all shares}, and the shares that are there, as (key, share)."""
    sums, shares = {}, set()
    if path and path.exists():
        for line in path.read_text().splitlines():
            one = json.loads(line)
            key = tuple(one[name] for name in KEY)
            if (key, one["share"]) in shares:
                continue
            shares.add((key, one["share"]))
            total = sums.setdefault(key, dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                total[name] += one[name]
    return sums, shares


def tasks_of(arguments, backend):
    """(function, point, frames, errors, share) each."""
    made = tools().signal
    base = {
        "what": arguments.what,
        "algorithm": arguments.algorithm,
        "iterations": 50,
        "ideal": False,
        "backend": backend,
    }
    if arguments.what == "loss":
        for name in made.chosen_modes(arguments.modcods or LOSS_MODCODS):
            mode = made.all_modes()[name]
            first = made.threshold_of(mode) - (0.3 if mode.frame == "normal" else 0.5)
            for ideal in (False, True):
                point = {**base, "modcod": name, "es_n0": round(first, 3), "ideal": ideal}
                yield climb, point, arguments.frames, 100, 0
        return
    points = []
    if arguments.what == "published":
        for eb_n0 in PUBLISHED:
            es_n0 = eb_n0 + 10 * math.log10(2 * 14232 / 16200)
            point = {**base, "modcod": "qpsk-8/9-short", "es_n0": round(es_n0, 3)}
            points.append({**point, "algorithm": "sum_product"})
    else:
        for name in made.chosen_modes(arguments.modcods or ["s2", "s2x"]):
            mode = made.all_modes()[name]
            margin = getattr(arguments, mode.frame + "_margin")
            es_n0 = round(made.threshold_of(mode) + margin, 3)
            points.append({**base, "modcod": name, "es_n0": es_n0})
    for point in points:
        length = made.all_modes()[point["modcod"]].length
        shares = max(1, round(arguments.frames * length / SHARE))
        if arguments.what == "published":
            shares = 16
        for share in range(shares):
            frames = arguments.frames * (share + 1) // shares
            frames -= arguments.frames * share // shares
            yield measure, point, frames, 0, share


def run(arguments):
    """Measures what is not in the file yet; prints each point when all of its shares are there."""
    backend = tools().cudaphy.resolve_backend(arguments.backend, arguments.device)[0]
    _, done = read_points(arguments.json)
    left = []
    for task in tasks_of(arguments, backend):
        key = tuple(task[1][name] for name in KEY)
        if (key, task[4]) not in done:
            left.append(task)
    print(f"backend {backend}, {arguments.jobs} processes, {len(left)} parts to measure")
    cores = sorted(os.sched_getaffinity(0))
    # A queue of cores: each process takes one of its own.
    context = multiprocessing.get_context("spawn")
    deadline = time.monotonic() + arguments.seconds
    unmeasured = 0
    queue = context.SimpleQueue()
    for number in range(arguments.jobs):
        queue.put(cores[number % len(cores)])
    with ProcessPoolExecutor(
        arguments.jobs, mp_context=context, initializer=_begin, initargs=(queue,)
    ) as pool:
        futures = {
            pool.submit(task[0], *task[1:], arguments.device, deadline): task
            for task in left
        }
        for future in as_completed(futures):
            result = future.result()
            made = result if isinstance(result, list) else [result] if result else []
            unmeasured += not made
            for point in made:
                if arguments.json:
                    with arguments.json.open("a") as file:
                        file.write(json.dumps(point) + "\n")
                print(line_of(point), flush=True)
    if unmeasured:
        print(f"{unmeasured} parts were not measured in {arguments.seconds:.0f} s")
    return unmeasured == 0


def _begin(queue):
    work_on(queue.get())


def line_of(point):
    ideal = ", perfect synchronisation" if point["ideal"] else ""
    return (
        f"{point['modcod']:34} {point['es_n0']:6.2f} dB{ideal}: {point['frames']} frames, {point['lost']} lost, "
        f"{point['wrong']} wrong, {point['undetected']} undetected, {point['extra']} extra; {point['seconds']:.1f} s"
    )


def table_rows(sums):
    """Markdown: rates in columns, a row for each kind of frame."""
    order = {name: i for i, name in enumerate(tools().signal.all_modes())}
    rows = ["| MODCOD | Es/N0, dB | frames | lost | wrong |", "|---|---|---|---|---|"]
    points = [
        (key, counts) for key, counts in sums.items() if key[KEY.index("what")] == "table"
    ]
    for key, counts in sorted(points, key=lambda point: order[point[0][1]]):
        rows.append(
            f"| {key[1]} | {key[2]:.2f} | {counts['frames']} | {counts['lost']} | {counts['wrong']} |"
        )
    return rows


def published_rows(sums):
    rows = [
        "| Eb/N0, dB | frames | frame error rate | published, 0.1 dB lower |",
        "|---|---|---|---|",
    ]
    shift = 10 * math.log10(2 * 14232 / 16200)
    for key, counts in sorted(sums.items(), key=lambda point: point[0][2]):
        if key[0] == "published":
            eb_n0 = round(key[2] - shift, 1)
            rows.append(
                f"| {eb_n0} | {counts['frames']} | {rate_of(counts):.2e} | {PUBLISHED[eb_n0]:.2e} |"
            )
    return rows


def level(curve, rate):
    """Es/N0 in dB at which a curve [(es_n0, rate)] has fallen to this rate; None: it has not."""
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        if y0 >= rate > y1:
            low = math.log(max(y1, 1e-9))
            return x0 + (x1 - x0) * (math.log(y0) - math.log(rate)) / (math.log(y0) - low)
    return None


def loss_rows(sums):
    rows = [
        "| MODCOD | Es/N0 for 10 % wrong, dB | lost to synchronisation | for 1 % wrong, dB | lost |",
        "|---|---|---|---|---|",
    ]
    curves = {}
    for key, counts in sorted(sums.items(), key=lambda point: point[0][2]):
        if key[0] == "loss":
            curve = curves.setdefault(key[1], {}).setdefault(key[5], [])
            curve.append((key[2], rate_of(counts)))
    for name, both in curves.items():
        cells = []
        for rate in (0.1, 0.01):
            ours, ideal = (level(both.get(ideal, []), rate) for ideal in (False, True))
            whole = ours is not None and ideal is not None
            cells += [f"{ours:.2f}", f"{ours - ideal:.2f}"] if whole else ["", ""]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("table", "published", "loss"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument(
        "--modcods",
        nargs="+",
        help="s2, s2x, vl-snr, or names and patterns such as qpsk-1/2-normal, '*-short-no-pilots'",
    )
    parser.add_argument(
        "--frames", type=int, help="of a point; default: 2000, published 20000"
    )
    parser.add_argument("--normal-margin", type=float, default=0.4, help="dB")
    parser.add_argument("--medium-margin", type=float, default=0.4, help="dB")
    parser.add_argument("--short-margin", type=float, default=0.7, help="dB")
    parser.add_argument("--algorithm", default="normalized_min_sum")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="no part is begun later"
    )
    parser.add_argument("--json", type=Path, help="JSON lines, read and appended to")
    parser.add_argument(
        "--table", type=Path, metavar="JSON", help="print this file's points as Markdown"
    )
    arguments = parser.parse_args()
    if arguments.table:
        rows = {"table": table_rows, "published": published_rows, "loss": loss_rows}
        print("\n".join(rows[arguments.what](read_points(arguments.table)[0])))
        return 0
    if not arguments.frames:
        arguments.frames = 20000 if arguments.what == "published" else 2000
    return 0 if run(arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
