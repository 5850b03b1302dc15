#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files of LDPC codes: each is read as a code, or refused with a short
ValueError, within its time. Another process reads the files, so that a crash or a loop is
noticed.

PYTHONPATH=build/test_modules python3 fuzz/fuzz_ldpc_files.py --seconds 60 --seed 1
"""

import faulthandler
import multiprocessing
import pickle
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import fuzzing
import numpy as np
from gnuradio import cudaphy

WORDS = "-1 0 1 2 3 7 8 64 511 4096 65536 1048576 1048577 99999999999999999999 -9 1e3 0x2 +1 3/1 1/1 / 2-1 0-3 -"
WORDS = WORDS.split() + ["punctured", "shortened", "visited", "#", "1 0 1", "0-1048575"]
BYTES = b"0123456789 -/\n\r\t#.x\xff\x00,"
MEMORY = 4 << 30
# Seconds of a core that a file may take: for reading, and for the largest elimination
# that its length allows. The clock may show a multiple, because others use the cores too.
READING, ELIMINATION, PATIENCE = 2.0, 30.0, 10


def alist_text(code):
    with tempfile.TemporaryDirectory() as folder:
        code.to_alist(f"{folder}/a")
        return Path(folder, "a").read_bytes()


def qc_text(code):
    with tempfile.TemporaryDirectory() as folder:
        code.to_qc(f"{folder}/a")
        return Path(folder, "a").read_bytes()


def valid_files():
    """(reader, text) of files that are read as codes."""
    make = cudaphy.ldpc_code
    small = b"6 3 4 # a comment\n0 2 -1 1 0 -1\n3 -1 1/2 -1 0 0\n-1 1 0/1/3 0 -1 0\n"
    yield "qc", small + b"punctured 0-3\nshortened 11 8\nvisited 2 0-1\n"
    yield "qc", small + b"1 1 1 0 1 1\n"
    hamming = make.from_parity_check([[1, 1, 1, 0, 1, 0, 0], [1, 1, 0, 1, 0, 1, 0]])
    yield "alist", alist_text(hamming)
    for code in (
        make("wifi", n=648, rate="5/6"),
        make("ccsds", family="tc", k=64),
        make("ccsds", family="ar4ja", k=1024, rate="4/5"),
        make("nr5g", base_graph=2, lifting_size=4, rows=9, fillers=3),
        make("regular", n=240),
    ):
        yield "qc", qc_text(code)
        yield "alist", alist_text(code)


def mutated(roll, text):
    """One to four changes of bytes, words or lines."""
    for _ in range(roll.randint(1, 4)):
        at = roll.randrange(len(text) + 1)
        what = roll.randrange(9)
        if what == 0:
            text = text[:at]
        elif what == 1:
            text = (
                text[:at] + bytes([roll.choice(BYTES)]) + text[at + roll.randint(0, 1) :]
            )
        elif what == 2:
            text = text[:at] + text[at + roll.randint(1, 9) :]
        elif what == 3:
            piece = text[at : at + roll.randint(1, 200)]
            where = roll.randrange(len(text) + 1)
            text = text[:where] + piece * roll.choice([1, 2, 50]) + text[where:]
        elif what == 4:
            lines = text.split(b"\n")
            i, j = roll.randrange(len(lines)), roll.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = b"\n".join(lines)
        else:
            words = text.split(b" ")
            word = roll.choice(WORDS).encode()
            words[roll.randrange(min(len(words), roll.choice([4, len(words)])))] = word
            text = b" ".join(words)
    return text


def asks_for_much(roll):
    """A well-formed file whose few bytes stand for a large matrix."""
    kind = roll.randrange(5)
    if kind == 0:
        n = roll.choice([1000, 100000, 300000])
        order = roll.choice([f"visited 0-{n - 1}\n", ""])
        return (
            "qc",
            f"1 {n} 1\n{'0' + chr(10)}".encode() + b"0\n" * (n - 1) + order.encode(),
        )
    if kind == 1:  # one heavy column, or one heavy row
        n = roll.choice([10, 1000, 50000])
        ones = " ".join(str(i + 1) for i in range(n))
        column = f"1 {n}\n{n} 1\n{n}\n{'1 ' * n}\n{ones}\n" + "1\n" * n
        row = f"{n} 1\n1 {n}\n{'1 ' * n}\n{n}\n" + "1\n" * n + ones + "\n"
        return "alist", roll.choice([column, row]).encode()
    columns, rows = roll.randint(2, 12), roll.randint(1, 8)
    z = int(2 ** roll.uniform(1, 20))
    lines = [
        " ".join(
            "-1"
            if roll.random() < 0.2
            else "/".join(
                str(roll.randrange(z)) for _ in range(roll.choice([1, 1, 1, 3]))
            )
            for _ in range(columns)
        )
        for _ in range(rows)
    ]
    ending = roll.choice(["", "1 " * (columns - 1) + "0\n", f"punctured 0-{z - 1}\n"])
    comment = "#" * roll.choice([0, 0, 1 << 10, 1 << 16])
    text = f"{columns} {rows} {z}\n" + "\n".join(lines) + f"\n{ending}{comment}"
    return "qc", text.encode()


def check(path, reader):
    """The result of a file: the code's sizes, or the error's text."""
    try:
        code = getattr(cudaphy.ldpc_code, f"from_{reader}")(str(path))
    except ValueError as error:
        text = str(error)
        assert len(text) < 1000, f"an error of {len(text)} letters"
        assert str(path) in text, f"{text!r} does not name the file"
        return text
    assert 0 < code.k <= code.variables >= code.n > 0, code
    left_out = len(code.punctured) + len(code.shortened)
    assert code.variables == code.n + left_out, code
    if code.edges < 20000:
        again = pickle.loads(pickle.dumps(code))
        assert again == code and hash(again) == hash(code), code
    if code.variables < 300 and code.checks < 300:
        words = cudaphy.ldpc_encode(code, np.ones((1, code.k), np.uint8), "cpu")
        bits, _, ok = cudaphy.ldpc_decode(code, 9 - 18.0 * words, backend="cpu")
        assert words.shape == (1, code.n) and bits.shape == (1, code.k)
    return f"n {code.n}, k {code.k}"


def reading(files, folder):
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = Path(folder, "file")
    while True:
        reader, text = files.recv()
        fuzzing.write(path, text)
        began = time.process_time()
        try:
            files.send((True, check(path, reader), time.process_time() - began))
        except BaseException as problem:
            files.send((False, f"{type(problem).__name__}: {problem}", 0.0))


class readers:
    """The process that reads files, made anew after a crash or a loop."""

    def __init__(self, folder):
        self._folder, self._process = folder, None

    def read(self, reader, text, limit):
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other_end = context.Pipe()
            self._process = context.Process(
                target=reading, args=(other_end, self._folder), daemon=True
            )
            self._process.start()
            other_end.close()
        try:
            self._pipe.send((reader, text))
            if self._pipe.poll(limit * PATIENCE):
                return self._pipe.recv()
            problem = f"takes more than {limit * PATIENCE:.0f} s"
        except (EOFError, BrokenPipeError):
            self._process.join()
            problem = f"ends the process with status {self._process.exitcode}"
        self.end()
        return False, problem, 0.0

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def main():
    parser = fuzzing.parser(__doc__)
    parser.add_argument("--keep", default=".", help="folder for files that fail")
    given = parser.parse_args()
    seed = given.seed
    print(f"--seed {seed}", flush=True)
    roll, corpus = random.Random(seed), list(valid_files())
    ends = time.monotonic() + given.seconds
    tried = codes = wrong = 0
    slowest = (0.0, 0, "")
    with fuzzing.folder() as folder:
        process = readers(folder)
        while time.monotonic() < ends and wrong < 10:
            if roll.random() < 0.03:
                reader, text = asks_for_much(roll)
            else:
                reader, text = roll.choice(corpus)
                text = mutated(roll, text)
            # Two million bits of elimination a byte, 2^31 at most, whatever the reader.
            bits = min(1.0, len(text) * 2**21 / 2**31) if reader == "qc" else 1.0
            limit = READING + ELIMINATION * bits + len(text) * 2e-6
            fine, what, took = process.read(reader, text, limit)
            tried += 1
            codes += what.startswith("n ")
            slowest = max(slowest, (took, len(text), what[-120:]))
            if not fine or took > limit:
                wrong += 1
                path = Path(given.keep, f"failed_{seed}_{tried}.{reader}")
                path.write_bytes(text)
                print(f"{path}: {what}; {took:.1f} s of {limit:.1f} s", flush=True)
        process.end()
    print(f"{tried} files, {codes} codes, {wrong} failures; slowest: {slowest}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
