#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged .npy files of impulse responses: each is read within a bounded time and memory, or refused with
a ValueError of less than 1,000 characters.

Prints the seed; the same seed tries the same. Exit status 1 if anything else happened."""

import io
import random
import sys
import time
from pathlib import Path

import fuzzing
import numpy as np
from gnuradio.cudaphy.impulse_responses import impulse_responses

LONGEST_TEXT = 1000
LONGEST_READ = 2.0  # seconds
MOST_MEMORY = 3 << 30  # bytes of address space beyond what the program begins with
LETTERS = b"0123456789 ()[]{}',:<>|bifcOUV\n\x00\x01\x93\xff"
WORDS = (
    *(b"2147483648", b"-1", b"9" * 5000, b"99999999999, ", b"'descr'", b"<c16", b"|O"),
    *(
        b"[('a', '<f4')]",
        b"True",
        b"(1, 1, 1)",
        b"\xff\xff",
        b"__import__('os')",
        b"(" * 500,
    ),
)
TYPES = ("<c8", ">c8", "<c16", "<f4", ">f8", "<i2", "|u1", "?", "<U3", "<M8[s]")


def content_of(dice):
    """The bytes of a file, and whether the file holds impulse responses."""
    kind = dice.choice(TYPES)
    shape = [dice.randrange(1, 5) for _ in range(dice.choice((3, 3, 3, 2, 4)))]
    file = io.BytesIO()
    if dice.randrange(8) == 0:
        np.savez(file, h=np.ones(shape, np.complex64))
        return file.getvalue(), False
    version = dice.choice(((1, 0), (2, 0), (3, 0)))
    values = np.asfortranarray if dice.randrange(2) else np.ascontiguousarray
    np.lib.format.write_array(file, values(np.ones(shape, np.int8).astype(kind)), version)
    return file.getvalue(), len(shape) == 3 and kind[1:2] not in "UM"


def attack(path, dice, read):
    """The problem of reading one file, or None."""
    content, whole = content_of(dice)
    if dice.randrange(10):
        content, whole = fuzzing.damaged(content, dice, LETTERS, WORDS), False
    fuzzing.write(path, content)
    begin, refused = time.monotonic(), None
    try:
        h = impulse_responses(str(path))
        if h.dtype != np.complex64 or h.ndim != 3 or not np.isfinite(h).all():
            return f"gives {h.dtype} of shape {h.shape}"
    except ValueError as problem:
        refused = str(problem)
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"[:2000]
    if time.monotonic() - begin > LONGEST_READ:
        return f"took {time.monotonic() - begin:.1f} s"
    if refused and (whole or len(refused) >= LONGEST_TEXT or path.name not in refused):
        return f"is whole, or has a text that is too long or without a name: {refused}"
    return None


def main():
    options = fuzzing.parser(__doc__).parse_args()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    fuzzing.limit_memory(MOST_MEMORY)
    end, tried = time.monotonic() + options.seconds, 0
    with fuzzing.folder() as folder:
        path = Path(folder, "h.npy")
        while time.monotonic() < end:
            problem = attack(path, dice, impulse_responses)
            tried += 1
            if problem:
                print(f"file {tried}, {path.read_bytes()[:2000]!r}: {problem}")
                return 1
    print(f"{tried} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
