#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Default decoders of the standards' codes against their best fixed factor of min-sum.

By hand:
"--all" compares all codes with more frames, "--all ar4ja" only codes with "ar4ja" in their names.
"--measure" looks for the best factors and prints the lines of POINTS (hours for all codes on two
cores). "--loss" finds what int8 arithmetic, the default, loses against float32 where a frame in a
hundred fails: with "--json loss.json" in a file, with "--backend cuda" on a GPU. "--seconds 600" sets
the time for each code.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import sys
import time
import unittest
import zlib

import numpy as np
from gnuradio import cudaphy
from qa_support import BACKEND, need_backend
from qa_support.ldpc_points import POINTS

ARITHMETICS = "float32", "int8"
MARGIN = 0.05  # dB, which the default may lose against the best fixed factor

# Only the code under test is kept: the matrix of a long code takes megabytes.
code_of = functools.lru_cache(1)(cudaphy.code_from_text)


def iterations_of(name):
    """The number of iterations with which POINTS was measured."""
    if name.startswith(("ccsds family=ar4ja", "ccsds family=tc")):
        return 50
    return 25 if name.startswith("dvb") else 10 if name.startswith("nr5g") else 20


class channel:
    """Random words of a code over BPSK and white noise.

    All settings that are compared decode the same words with the same noise.
    """

    def __init__(self, name, frames, seed, backend=BACKEND):
        self.code, self.frames, self._backend = code_of(name), frames, backend
        self._seed = [zlib.crc32(name.encode()), seed]
        self._piece = max(1, min(frames, (1 << 22) // self.code.n))

    def _failed(self, runs, first):
        """Whether each frame of a piece fails, (runs, frames)."""
        random = np.random.default_rng([*self._seed, first])
        words = min(self._piece, self.frames - first)
        info = random.integers(0, 2, (words, self.code.k), np.uint8)
        sent = cudaphy.ldpc_encode(self.code, info, self._backend)
        noise = random.standard_normal(sent.shape, np.float32)
        symbols = 1 - 2 * sent.astype(np.float32)
        received_at, found = None, []
        for eb_n0, settings in runs:
            if eb_n0 != received_at:
                sigma = np.float32((0.5 / self.code.rate / 10 ** (eb_n0 / 10)) ** 0.5)
                llr = (noise * sigma + symbols) * (2 / sigma**2)
                received_at = eb_n0
            how = {**settings, "backend": self._backend}
            got = cudaphy.ldpc_decode(self.code, llr, **how)[0]
            found.append((got != info).any(1))
        return np.array(found)

    def failed(self, *runs):
        """Whether each frame fails, (runs, frames). A run: a pair of Eb/N0 in dB and a decoder's settings."""
        pieces = range(0, self.frames, self._piece)
        # On a GPU the noise takes most of the time.
        workers = (os.cpu_count() or 1) if self._backend == "cuda" else 1
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            each = pool.map(functools.partial(self._failed, runs), pieces)
            return np.concatenate(list(each), 1)

    def errors(self, *runs):
        """The frame errors of each run, as failed()."""
        return self.failed(*runs).sum(1)


def compared(name, frames, seed, margin=MARGIN):
    """(arithmetic, whether the default fails `margin` above the point, and the best fixed factor at the point)."""
    eb_n0, *factors = POINTS[name]
    how = {"max_iterations": iterations_of(name)}
    defaults = [(eb_n0 + margin, {**how, "arithmetic": each}) for each in ARITHMETICS]
    fixed = [
        (eb_n0, {**how, "arithmetic": each, "scale": factor})
        for each, factor in zip(ARITHMETICS, factors)
    ]
    failed = channel(name, frames, seed).failed(*defaults, *fixed)
    return list(zip(ARITHMETICS, failed[: len(defaults)], failed[len(defaults) :]))


def frames_of(name, seconds):
    """The number of frames whose comparison takes `seconds` on two cores of 2023."""
    return max(16, int(seconds * 4e6 / code_of(name).n))


def tested_margin(name):
    """Less than MARGIN, because few frames show no small loss. DVB's rising factors lose nothing."""
    return 0 if name.startswith("dvb") else 0.03


class qa_ldpc_default_factors(unittest.TestCase):
    def check(self, name, frames, seed):
        for arithmetic, default, fixed in compared(
            name, frames, seed, tested_margin(name)
        ):
            with self.subTest(code=name, arithmetic=arithmetic):
                # Frames that both or neither decode tell nothing (McNemar 1947, doi:10.1007/BF02295996).
                worse, better = np.sum(default & ~fixed), np.sum(fixed & ~default)
                self.assertLessEqual(worse - better, 3.5 * max(worse + better, 4) ** 0.5)
                # At the point a tenth to three tenths of the frames fail.
                self.assertLess(fixed.sum(), 0.4 * frames + 4 * frames**0.5)

    def test_default_decoders_are_within_a_twentieth_of_a_decibel_of_the_best_factor(
        self,
    ):
        seed = int(os.environ.get("CUDAPHY_TEST_SEED", time.time_ns() % 1000000))
        print(f"CUDAPHY_TEST_SEED={seed}")
        for name in POINTS:
            self.check(name, frames_of(name, 0.12), seed)

    def test_every_point_is_of_a_code_with_a_factor_above_a_half(self):
        for name, (_, *factors) in POINTS.items():
            self.assertTrue(all(0.5 <= factor <= 1 for factor in factors), name)


def point_of(name, seconds):
    """Eb/N0 where 0.1 to 0.2 of the frames fail with the table's factor fixed."""
    code = code_of(name)
    how = {"max_iterations": iterations_of(name), "scale": code.default_scale}
    words = channel(name, max(150, min(2000, (1 << 21) // code.n)), 7)
    low, high = -3.0, 12.0
    while high - low > 0.01:
        middle = round((low + high) / 2, 2)
        rate = words.errors((middle, how))[0] / words.frames
        if 0.1 <= rate <= 0.2:
            break
        low, high = (middle, high) if rate > 0.2 else (low, middle)
    return middle


def measure(name, seconds):
    """Prints a code's line of POINTS, with the best factors of a grid, and a comment line."""
    eb_n0, found, text = point_of(name, seconds), [], []
    code = code_of(name)
    steps = np.arange(-4, 5) * 0.025
    factors = [
        round(float(s), 4)
        for s in code.default_scale + steps
        if s + code.default_scale <= 1
    ]
    words = channel(name, frames_of(name, seconds / 40), 3)
    for arithmetic in ARITHMETICS:
        how = {"max_iterations": iterations_of(name), "arithmetic": arithmetic}
        grid = [(eb_n0, {**how, "scale": each}) for each in factors]
        *fixed, default, above = words.errors(*grid, (eb_n0, how), (eb_n0 + MARGIN, how))
        found.append(factors[int(np.argmin(fixed))])
        slope = np.log(max(default, 1) / max(above, 1)) / MARGIN
        loss = np.log(max(default, 1) / max(min(fixed), 1)) / max(slope, 1)
        text.append(f"{default} default, {min(fixed)} fixed, {loss:+.3f} dB")
    print(f"    {name!r}: ({eb_n0}, {found[0]}, {found[1]}),", flush=True)
    print(f"    # {words.frames} frames: {'; '.join(text)}", flush=True)


def hundredth_of(name, backend):
    """Eb/N0 where about a frame in a hundred fails."""
    code, how = code_of(name), {"max_iterations": iterations_of(name)}
    words = channel(name, max(500, min(4000, (1 << 25) // code.n)), 5, backend)
    low, high = POINTS[name][0] - 0.4, POINTS[name][0] + 2
    while high - low > 0.005:
        middle = round((low + high) / 2, 3)
        rate = words.errors((middle, how))[0] / words.frames
        if 0.007 <= rate <= 0.014:
            return middle
        low, high = (middle, high) if rate > 0.014 else (low, middle)
    return low  # where more than that fail: a long code's errors end within 0.1 dB


def loss(name, seconds, backend, wrong=100):
    """What the default loses against float32, in dB, from `wrong` frame errors and more."""
    eb_n0, code = hundredth_of(name, backend), code_of(name)
    how = {"max_iterations": iterations_of(name)}
    exact = {**how, "arithmetic": "float32"}
    ends, failed, seed = time.monotonic() + seconds, [], 10
    while True:
        words = channel(name, max(1000, min(20000, (1 << 25) // code.n)), seed, backend)
        failed.append(words.failed((eb_n0, exact), (eb_n0, how), (eb_n0 - 0.1, how)))
        seed += 1
        counts = sum(each.sum(1) for each in failed)
        if counts[0] >= wrong or time.monotonic() > ends:
            break
    by_float, by_default, below = np.maximum(counts, 1).tolist()
    # Errors fall by so many e-folds a dB.
    slope = max(math.log(below / by_default) / 0.1, 1)
    enough = counts.min() >= 10
    differing = sum(int((each[0] != each[1]).sum()) for each in failed)
    return {
        "code": name,
        "iterations": how["max_iterations"],
        "eb_n0_db": eb_n0,
        "frames": sum(each.shape[1] for each in failed),
        "float32": int(counts[0]),
        "default": int(counts[1]),
        "loss_db": round(math.log(by_default / by_float) / slope, 4) if enough else None,
        "deviation_db": round(differing**0.5 / by_float / slope, 4) if enough else None,
    }


def by_hand():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of codes' names")
    parser.add_argument("--all", action="store_true", help="compare, do not test")
    parser.add_argument("--measure", action="store_true", help="look for the factors")
    parser.add_argument("--loss", action="store_true", help="of int8 against float32")
    parser.add_argument("--json", help="a file for the results of --loss")
    parser.add_argument("--backend", default=BACKEND, help="of --loss")
    parser.add_argument("--seconds", type=float, default=20, help="for each code")
    wanted = parser.parse_args()
    cudaphy.resolve_backend(wanted.backend, 0)  # raises if it is missing
    wrong, losses = 0, []
    for name in POINTS:
        if wanted.names and not any(part in name for part in wanted.names):
            continue
        if wanted.measure:
            measure(name, wanted.seconds)
            continue
        if wanted.loss:
            losses.append(loss(name, wanted.seconds, wanted.backend))
            print(json.dumps(losses[-1]), flush=True)
            if wanted.json:
                with open(wanted.json, "w", encoding="utf-8") as file:
                    json.dump(losses, file, indent=1)
            continue
        frames = frames_of(name, wanted.seconds / 4)
        for arithmetic, default, fixed in compared(name, frames, 1):
            default, fixed = int(default.sum()), int(fixed.sum())
            worse = default > fixed + 2 * max(fixed, 4) ** 0.5
            wrong += worse
            print(
                f"{name:44s} {arithmetic:8s} {frames:7d} frames: {default:6d} default at "
                f"+{MARGIN} dB, {fixed:6d} best factor{' WORSE' if worse else ''}",
                flush=True,
            )
    return wrong > 0


if __name__ == "__main__":
    if {"--all", "--measure", "--loss"} & set(sys.argv):
        sys.exit(by_hand())
    need_backend()
    unittest.main()
