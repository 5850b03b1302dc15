#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one waits for behind DVB-S2 Receiver, whose samples come at the pace of a radio.

acquisition: frames from the first sample of a signal, which begins anywhere in a frame, to the first transport
packet; noise comes before. Each start has another timing, frequency and phase. A frame takes 20 ms, so that
the time for computing counts for little. The receiver decodes the one MODCOD alone, so that it is made sooner; it
looks for all of them nevertheless.

latency: from the last symbol of each frame to the last transport packet that ends in the frame."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dvbs2_live
import dvbs2_signal
import numpy as np
from gnuradio import cudaphy, gr

MODCODS = [
    *("qpsk-1/4-normal", "qpsk-1/2-normal", "qpsk-1/2-normal-no-pilots"),
    *("8psk-3/4-normal", "16apsk-3/4-normal-no-pilots", "32apsk-4/5-normal"),
    *("qpsk-1/4-short", "8psk-3/5-short-no-pilots", "16apsk-2/3-short"),
]
FRAME_SECONDS = 0.02  # of acquisition


def start(mode, bits, margin, most, options, rng):
    """Frames until the first packet, of the first `most`; infinite if there is none."""
    sent = dvbs2_signal.signal(mode, delay=rng.random(), bits=bits)
    es_n0 = dvbs2_signal.quasi_error_free(mode) + margin
    piece = sent.piece(most, es_n0, rng, frequency=rng.uniform(-0.2, 0.2))
    rate = mode.length / FRAME_SECONDS
    # Noise alone before, so that the flowgraph runs already.
    samples_a_second = rate * sent.samples_per_symbol
    silence = int(samples_a_second * rng.uniform(0.2, 0.3))
    noise = rng.standard_normal((silence, 2), np.float32).view(np.complex64).ravel()
    noise *= np.float32(np.sqrt(sent.samples_per_symbol / 2 * 10 ** (-es_n0 / 10)))
    piece.samples = np.concatenate([noise, piece.samples])
    top = dvbs2_live.reception(
        piece, rate, sent.samples_per_symbol, modes=[mode.pls], **options
    )
    top.start()
    came = top.clock.first.wait(len(piece.samples) / samples_a_second + 5)
    top.stop()
    top.wait()
    if not came:
        return np.inf
    passed = top.clock.times[0] - top.radio.began - silence / samples_a_second
    return passed / FRAME_SECONDS


def acquisition(name, arguments, options):
    """For each margin, how many frames the starts took."""
    mode = dvbs2_signal.all_modes()[name]
    bits, _ = dvbs2_live.numbered_frames(mode)
    for margin, most in ((3, 4), (0, 50)):

        def one(number):
            rng = np.random.default_rng((arguments.seed, number))
            return start(mode, bits, margin, most + 10, options, rng)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            took = list(pool.map(one, range(arguments.starts)))
        yield {
            "what": "acquisition",
            "modcod": name,
            "margin": margin,
            "starts": len(took),
            "median": round(float(np.median(took)), 2),
            "most": round(float(max(took)), 2),
            "within": most,
            "late": int(np.sum(np.array(took) > most)),
        }


def latency(name, arguments, options):
    mode = dvbs2_signal.all_modes()[name]
    rate = arguments.rate * 1e6
    bits, last = dvbs2_live.numbered_frames(mode)
    sent = dvbs2_signal.signal(mode, bits=bits)
    frames = min(arguments.frames, max(20, int(arguments.seconds * rate / mode.length)))
    es_n0 = dvbs2_signal.quasi_error_free(mode) + arguments.margin
    piece = sent.piece(frames, es_n0, np.random.default_rng(arguments.seed))
    top = dvbs2_live.reception(piece, rate, sent.samples_per_symbol, **options)
    top.run()
    numbers, times = top.clock.numbers, top.clock.times - top.radio.began
    waited, at = [], 0
    for i, place in enumerate(piece.places):
        place += mode.length * sent.step
        found = np.flatnonzero(numbers[at:] == last[piece.frames[i]])
        if len(found):
            at += int(found[0]) + 1
            waited.append(times[at - 1] - place / (rate * sent.samples_per_symbol))
    late = 1e3 * np.array(waited[len(waited) // 4 :])  # behind the start
    yield {
        "what": "latency",
        "modcod": name,
        "symbol_rate": rate,
        "frames": frames,
        "came": len(waited),
        "frame_ms": round(1e3 * mode.length / rate, 3),
        "median_ms": round(float(np.median(late)), 3),
        "p99_ms": round(float(np.quantile(late, 0.99)), 3),
        "most_ms": round(float(late.max()), 3),
    }


def table(points):
    rows = {
        "acquisition": [
            "| MODCOD | dB above threshold | starts | median | most | asked |"
        ],
        "latency": ["| MODCOD | Msym/s | a frame takes, ms | median, ms | 99 % | most |"],
    }
    for kind in rows.values():
        kind.append("|---|---|---|---|---|---|")
    for one in points:
        if one["what"] == "acquisition":
            cells = one["margin"], one["starts"], one["median"], one["most"]
            cells += (one["within"],)
        else:
            cells = one["symbol_rate"] / 1e6, one["frame_ms"], one["median_ms"]
            cells += one["p99_ms"], one["most_ms"]
        cells = " | ".join(map(str, (one["modcod"], *cells)))
        rows[one["what"]].append(f"| {cells} |")
    return [line for kind in rows.values() if len(kind) > 2 for line in [*kind, ""]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("acquisition", "latency"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--modcods", nargs="+", default=MODCODS)
    parser.add_argument("--starts", type=int, default=30, help="of acquisition")
    parser.add_argument("--jobs", type=int, default=1, help="starts at the same time")
    parser.add_argument("--rate", type=float, default=2, help="latency: Msym/s")
    parser.add_argument("--seconds", type=float, default=1, help="of a latency's signal")
    parser.add_argument("--frames", type=int, default=500, help="of it, at most")
    parser.add_argument("--margin", type=float, default=1, help="latency: dB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="JSON lines, appended to")
    parser.add_argument(
        "--table", type=Path, metavar="JSON", help="print this file as Markdown"
    )
    arguments = parser.parse_args()
    if arguments.table:
        lines = arguments.table.read_text().splitlines()
        print("\n".join(table([json.loads(line) for line in lines])))
        return 0
    gr.logging().set_default_level(gr.log_levels.error)
    backend = cudaphy.resolve_backend(arguments.backend, arguments.device)[0]
    options = {"backend": backend, "device": arguments.device}
    measure = acquisition if arguments.what == "acquisition" else latency
    for name in dvbs2_signal.chosen_modes(arguments.modcods):
        for one in measure(name, arguments, options):
            one["backend"] = backend
            print(one, flush=True)
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(one) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
