#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged CSV files of error rates, and damaged names of codes: each is read within a bounded time, or
refused with a ValueError of less than 1,000 characters.

Prints the seed; the same seed tries the same. Exit status 1 if anything else happened."""

import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import fuzzing
from gnuradio import cudaphy
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.error_rates import names as error_rate_names

LONGEST_TEXT = 1000
LONGEST_READ = 2.0  # seconds
LONGEST_CODE = 20.0  # seconds: the largest code is made in two
BYTES = b'0123456789 -+./\\,:"=[]#\n\r\tTZeEnNaif\x00\x7f\xc3\xff'
WORDS = (
    *("-1", "0", "1", "384", "65536", "2147483648", "-9223372036854775809", "9" * 5000),
    *(
        "1e308",
        "nan",
        "1/0",
        "0/1",
        "2/9 VL-SNR",
        '"',
        "'",
        "\\",
        "\0",
        "\u2028",
        "\ud800",
    ),
    *("n=", "=", "rate=1/2", "n=648", "x" * 5000, "wifi", "uncoded", "regular"),
)
SPELLED = [word.encode(errors="surrogatepass") for word in WORDS]
CODES = (
    "wifi n=1944 rate=1/2",
    "nr5g base_graph=1 lifting_size=384 rows=46 fillers=8",
    'dvbs2x frame=normal rate="2/9 VL-SNR"',
    "dvbs2 frame=short rate=8/9",
    "ccsds family=ar4ja k=1024 rate=1/2",
    "wimax n=2304 rate=3/4B",
    "10gbase-t",
    "regular n=1024 column_weight=3 row_weight=6",
    "uncoded n=1000",
)


def valid_file(folder):
    """The bytes of a file with points of two codes."""
    path = folder / "valid.csv"
    for code in CODES[:2]:
        identity = (code, "qpsk", "exact", "scale=0.75 a=1, b=2", "random")
        link = SimpleNamespace(
            identity=lambda: identity, backend="cpu", seed=1, batch=4096
        )
        for db in (-1.0, 0.5, 2.25):
            point = cudaphy.error_rate_point(db, db - 1.5, 100, 6400, 10, 50, 300, 1, 900)
            error_rate_files.append_point(path, link, point)
    return path.read_bytes()


def damaged_name(dice):
    words = dice.choice(CODES).split(" ")
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(words) + 1)
        kind = dice.randrange(5)
        if kind == 0 and len(words) > 1:
            del words[min(at, len(words) - 1)]
        elif kind == 1:
            words.insert(at, dice.choice(WORDS))
        elif at < len(words):
            name, equals, value = words[at].partition("=")
            if kind == 2:
                value = dice.choice(WORDS)
            elif kind == 3:
                value = str(
                    dice.choice((-1, 1)) * dice.getrandbits(dice.choice((4, 16, 70)))
                )
            else:
                value = "".join(dice.sample(value, len(value)))
            words[at] = name + (equals or "=") + value
    return " ".join(words)


def try_once(call, given, longest):
    """The problem of call(given), or None."""
    began = time.monotonic()
    try:
        call(given)
    except ValueError as problem:
        if len(str(problem)) >= LONGEST_TEXT:
            return f"its text has {len(str(problem))} characters"
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:200]}"
    took = time.monotonic() - began
    return f"it took {took:.1f} s" if took > longest else None


def main():
    arguments = fuzzing.parser(__doc__).parse_args()
    print(f"seed {arguments.seed}", flush=True)
    warnings.simplefilter("ignore")
    dice = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    tried = bad = 0
    with fuzzing.folder() as folder:
        path = Path(folder, "rates.csv")
        valid = valid_file(Path(folder))

        def read(content):
            fuzzing.write(path, content)
            error_rate_files.read_curves(path)
            for curve in error_rate_files.read_curves(path):
                curve.sorted_points()

        def made(name):
            error_rate_names.canonical(name)
            if not name.startswith(
                ("alist:", "qc:")
            ):  # the readers' own fuzzers do these
                cudaphy.code_from_text(name)

        while time.monotonic() < end:
            if tried % 4:
                given = fuzzing.damaged(valid, dice, BYTES, SPELLED)
                problem = try_once(read, given, LONGEST_READ)
            else:
                given = damaged_name(dice)
                problem = try_once(made, given, LONGEST_CODE)
            tried += 1
            if problem:
                bad += 1
                print(f"BAD: {problem}\n     of {given!r:.300}", flush=True)
    print(f"{tried} tried, {bad} bad")
    return 1 if bad or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
