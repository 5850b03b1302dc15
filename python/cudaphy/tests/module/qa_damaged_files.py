#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files: the module's Python reads right values, or refuses the file with its
name. Nothing else happens. (qa_ldpc_code_files_damaged tests files of codes.)"""

import copy
import json
import math
import random
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
from gnuradio.cudaphy import sigmf
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.impulse_responses import impulse_responses
from qa_support import gaussian, main, write_anew

ROUNDS = 3000
BYTES = b'0123456789 -+./\\,:"[]{}#\n\r\tTZeEnNaif\x00\x7f\xc3\xff'
# Values that may replace a value.
ODD = [
    None,
    True,
    0,
    1,
    -1,
    999,
    1000,
    1001,
    2**31,
    2**63,
    10**400,
    0.5,
    1e308,
    math.nan,
    math.inf,
    -math.inf,
    "",
    ".",
    "..",
    "/",
    "a/b",
    "/dev/zero",
    "no such file",
    "nul\x00inside",
    "\ud800",
    "x" * 300,
    "cf32_le",
    "ci16_le",
    "cu8",
    "packet",
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00.²Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999999Z",
    "1955-11-05T14:00:60+05:30",
    "ri32_be",
    "cf64_le",
    [],
    [[]],
    [{}],
    {},
    {"core:sample_start": 3},
]
WORDS = "nan inf -inf -1 0 1 1e400 1_000 0x10 ² true 99999999999999999999".split()
WORDS += ["", '"', "upper", "frames", "9" * 5000]


def damaged_bytes(data, dice):
    """One to three changes: of bytes, of a piece, of the end."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        change = dice.randrange(6)
        if change == 0:
            data[at : at + 1] = bytes([dice.choice(BYTES)])
        elif change == 1:
            data[at:at] = bytes([dice.choice(BYTES)])
        elif change == 2:
            del data[at : at + 1]
        elif change == 3:
            del data[at : min(end, at + 40)]
        elif change == 4:
            data[at:at] = data[at : min(end, at + 40)]
        else:
            del data[dice.randrange(len(data) + 1) :]
    return bytes(data)


def paths_of(value, path=()):
    """The paths of all values within a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield from paths_of(one, (*path, key))


def damaged_json(value, dice):
    """One to three values of JSON are replaced, removed, or repeated."""
    value = copy.deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        inner = [path for path in paths_of(value) if path]
        if not inner:
            break
        *path, last = dice.choice(inner)
        at = value
        for key in path:
            at = at[key]
        change = dice.randrange(5)
        if change == 0:
            del at[last]
        elif change == 1 and isinstance(at, list):
            at.insert(last, copy.deepcopy(at[last]))
        else:
            at[last] = copy.deepcopy(dice.choice(ODD))
    return value


def damaged_table(text, dice):
    """One to three words between commas are replaced."""
    rows = [line.split(",") for line in text.split("\n")]
    for _ in range(dice.randint(1, 3)):
        row = dice.choice(rows)
        row[dice.randrange(len(row))] = dice.choice(WORDS)
    return "\n".join(",".join(row) for row in rows)


class qa_damaged_files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def each(self, name, damaged, read, check):
        """Reads damaged files of this name. `check` tests what was read."""
        path, good = self.folder / name, 0
        for seed in range(ROUNDS):
            content = damaged(random.Random(seed))
            write_anew(path, content)
            with self.subTest(seed=seed, content=content[:2000]):
                try:
                    found = read(path)
                except ValueError as problem:
                    self.assertIn(str(self.folder), str(problem))
                    self.assertLess(len(str(problem)), 1000)
                    continue
                good += 1
                check(found)
        # Most damage is found, and some of it does no harm.
        self.assertTrue(ROUNDS / 100 < good < ROUNDS * 0.9, good)

    def test_metadata_of_a_recording(self):
        times = [sigmf.capture(0, 1e9, (1_700_000_000, 0.25)), sigmf.capture(300, 2e9)]
        sigmf.write_samples(
            self.folder / "take",
            gaussian((1000,)),
            2e6,
            captures=times,
            packets=[(0, 100), (100, 200), (990, 10)],
            dataset="take.sigmf-data",
        )
        whole = (self.folder / "take.sigmf-meta").read_bytes()
        parsed = json.loads(whole)

        def check(got):
            samples, found = got
            self.assertEqual(found.data.parent, self.folder)
            self.assertEqual(samples.size, found.samples * found.channels)
            for one in found.captures:
                self.assertTrue(0 <= one.start <= found.samples)
                self.assertTrue(one.frequency is None or math.isfinite(one.frequency))
                self.assertTrue(one.time is None or 0 <= one.time[1] < 1)
                if one.time is not None:  # a sink writes what a source has read
                    sigmf.text_of(one.time)
            for start, count in found.packets:
                self.assertTrue(0 <= start < start + count <= found.samples)

        for damage in (
            lambda dice: json.dumps(damaged_json(parsed, dice)).encode(),
            lambda dice: damaged_bytes(whole, dice),
        ):
            self.each("take.sigmf-meta", damage, sigmf.read_samples, check)

    def test_error_rates(self):
        row = "wifi,qpsk,max-log,min-sum,random,1.5,1.5,1000,972000,10,200,9000,0,4321,1.25,3"
        row += ",0.01,0.005,0.02,2e-4,1e-4,3e-4,4.321,cpu,1,512"
        whole = "\n".join(
            [",".join(error_rate_files.COLUMNS), row, row.replace("1.5", "2.5"), row, ""]
        )
        self.assertEqual(len(row.split(",")), len(error_rate_files.COLUMNS))

        def check(curves):
            for curve in curves:
                for point in curve.sorted_points():
                    self.assertTrue(math.isfinite(point.eb_n0_db + point.es_n0_db))
                    self.assertTrue(math.isfinite(point.seconds))
                    for low, high in (
                        point.frame_error_interval,
                        point.bit_error_interval,
                    ):
                        self.assertFalse(low > high)

        for damage in (
            lambda dice: damaged_table(whole, dice).encode(),
            lambda dice: damaged_bytes(whole.encode(), dice),
        ):
            self.each("rates.csv", damage, error_rate_files.read_curves, check)

    def test_a_published_curve(self):
        whole = "# code: wifi n=648 rate=1/2\n# constellation: qpsk\n# decoder: spa\n"
        whole += "# source: a paper\neb_n0_db,frame_error_rate,bound\n1.0,0.1,\n1.5,1e-3,\n2,1e-5,upper\n"

        def check(found):
            self.assertTrue(found.code and found.source and found.points)
            for eb_n0, rate, _ in found.points:
                self.assertTrue(math.isfinite(eb_n0) and 0 < rate <= 1)

        for damage in (
            lambda dice: damaged_table(whole, dice).encode(),
            lambda dice: damaged_bytes(whole.encode(), dice),
        ):
            self.each("curve.csv", damage, error_rate_files.read_reference, check)

    def test_impulse_responses(self):
        np.save(self.folder / "h.npy", gaussian((2, 3, 5)))
        whole = (self.folder / "h.npy").read_bytes()
        head = whole.index(b"\n") + 1

        def of_the_head(dice):
            return damaged_bytes(whole[:head], dice) + whole[head:]

        def check(h):
            self.assertEqual((h.ndim, h.dtype), (3, np.complex64))
            self.assertTrue(np.isfinite(h).all())

        # Python's parser reads the head, and may warn of its text.
        warnings.simplefilter("ignore")
        for damage in (of_the_head, lambda dice: damaged_bytes(whole, dice)):
            self.each("h.npy", damage, impulse_responses, check)


if __name__ == "__main__":
    main()
