#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged Matrix Market files: each is read within a bounded time and memory, or refused with a ValueError of
less than 1,000 characters. Undamaged ones are read as SciPy reads them.

Prints the seed; the same seed tries the same. Exit status 1 if anything else happened."""

import bz2
import gzip
import random
import sys
import time
from pathlib import Path

import fuzzing
import numpy as np
import scipy.io
import scipy.sparse
from gnuradio import cudaphy

LONGEST_TEXT = 1000
LONGEST_READ = 5.0  # seconds
MOST_MEMORY = 3 << 30  # bytes of address space beyond what the program begins with
BYTES = b"0123456789 -+.eEdDnaif%\n\r\t\x00\xff"
WORDS = (
    *(b"-1", b"0", b"1", b"2147483647", b"2147483648", b"9" * 30, b"1" * 70000),
    *(b"1.5D+03", b"nan", b"-inf", b"1e999", b"0x10", b"1_0", b"%", b"%%MatrixMarket"),
    *(b"symmetric", b"skew-symmetric", b"hermitian", b"general", b"pattern", b"complex"),
    *(b"real", b"integer", b"array", b"coordinate", b"\n2147483647 2147483647 1\n"),
)
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


def valid_file(dice, path):
    """Writes a matrix of a random size, field and symmetry with SciPy. Returns the matrix
    as SciPy reads it."""
    rows = dice.randrange(1, 40)
    symmetry = dice.choice(("general", "symmetric", "skew-symmetric", "hermitian"))
    columns = dice.randrange(1, 40) if symmetry == "general" else rows
    rng = np.random.default_rng(dice.randrange(1 << 30))
    a = np.round(rng.standard_normal((rows, columns)), 3) * (
        rng.random((rows, columns)) < 0.3
    )
    field = dice.choice(("real", "integer", "complex"))
    if symmetry == "hermitian":
        field = "complex"
    if field == "integer":
        a = np.round(9 * a).astype(np.int64)
    elif field == "complex":
        a = a + 1j * a[::-1, ::-1]
    if symmetry != "general":
        lower = np.tril(a, -1)
        other = {"symmetric": lower.T, "skew-symmetric": -lower.T}
        a = lower + other.get(symmetry, lower.conj().T)
    # SciPy 1.10 writes an array of this kind that it can't read itself.
    sparse = dice.randrange(3) or (field, symmetry) == ("complex", "skew-symmetric")
    written = scipy.sparse.coo_matrix(a) if sparse else a
    scipy.io.mmwrite(str(path), written, symmetry=symmetry)
    return a


def main():
    options = fuzzing.parser(__doc__).parse_args()
    seed = options.seed
    print(f"seed {seed}", flush=True)
    dice = random.Random(seed)
    fuzzing.limit_memory(MOST_MEMORY)
    end = time.monotonic() + options.seconds
    tried = refused = 0
    with fuzzing.folder() as folder:
        plain = Path(folder, "matrix.mtx")
        while time.monotonic() < end:
            expected = valid_file(dice, plain)
            whole = plain.read_bytes()
            np.testing.assert_allclose(
                cudaphy.read_matrix_market(plain).toarray(), expected, atol=1e-12
            )
            for _ in range(20):
                tried += 1
                suffix = dice.choice(tuple(PACKERS))
                path = Path(folder, "damaged.mtx" + suffix)
                content = PACKERS[suffix](fuzzing.damaged(whole, dice, BYTES, WORDS))
                if suffix and not dice.randrange(3):
                    content = fuzzing.damaged(content, dice, BYTES, WORDS)
                fuzzing.write(path, content)
                begin = time.monotonic()
                try:
                    cudaphy.read_matrix_market(path)
                except ValueError as problem:
                    refused += 1
                    if len(str(problem)) >= LONGEST_TEXT or path.name not in str(problem):
                        print(f"a text that is too long, or without the name: {problem}")
                        return fail(path, seed)
                except BaseException as problem:
                    print(f"{type(problem).__name__}: {problem}")
                    return fail(path, seed)
                if time.monotonic() - begin > LONGEST_READ:
                    print(f"took {time.monotonic() - begin:.1f} s")
                    return fail(path, seed)
    print(f"{tried} files, {refused} refused")
    return 0


def fail(path, seed):
    print(f"seed {seed}; the file: {path.read_bytes()[:2000]!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
