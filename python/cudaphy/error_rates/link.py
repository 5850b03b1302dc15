# SPDX-License-Identifier: GPL-3.0-or-later
"""One slice of an error-rate simulation: words through encoder, noise, demapper and decoder."""

import dataclasses
import functools
import math
import os
import shlex
import stat
import tempfile
import time
from pathlib import Path

import numpy as np

from .. import cudaphy_python as _native
from ..ldpc import ldpc_decode, ldpc_encode
from ..mimo import demap

UNCODED_LENGTH = 1000
LONGEST_NAME = 200  # characters; names of families are shorter
FILES = {"alist": "from_alist", "qc": "from_qc"}


class uncoded:
    """Stands for a code: bits go straight to the symbols."""

    def __init__(self, n):
        self.name, self.n, self.k, self.rate = f"uncoded {n}", n, n, 1.0


def code_from_text(text):
    """The code that a line of text names.

    text: a family of ldpc_code and its arguments, such as 'wifi n=1944 rate=1/2' or, with a space in
    a value, 'dvbs2x frame=normal rate="2/9 VL-SNR"'; "alist:PATH" or "qc:PATH", a file; "uncoded" or "uncoded n=1000", no code at all, frames of n bits.
    Returns an ldpc_code (for "uncoded" an object with its name, n, k and rate).
    Raises ValueError that says what is wrong, CodeFileError, OSError where a file can't be read.
    """
    kind, _, path = text.partition(":")
    if kind in FILES:
        # Pipes and devices are refused, because they could block or have no end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError(f"{path} is no regular file")
        with open(path, "rb"):
            pass  # raises its own error if the file can't be read
        return getattr(_native.ldpc_code, FILES[kind])(path)
    if len(text) > LONGEST_NAME:
        raise ValueError(
            f'code "{text[:50]}..." has {len(text)} characters, more than {LONGEST_NAME}'
        )
    try:
        family, *words = shlex.split(text) or [""]
    except ValueError as problem:
        raise ValueError(f'code "{text}": {problem}') from None
    arguments = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value) or name in arguments:
            raise ValueError(
                f'code "{text}": "{word}" is not an argument like n=1944, given once'
            )
        arguments[name] = int(value) if value.lstrip("-").isdecimal() else value
    if family == "uncoded":
        n = arguments.pop("n", UNCODED_LENGTH)
        if arguments or not isinstance(n, int) or not 1 <= n <= 1 << 20:
            raise ValueError(
                f'code "{text}" is not "uncoded" or "uncoded n=1 to 1048576"'
            )
        return uncoded(n)
    try:
        return _native.ldpc_code(family, **arguments)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise ValueError(f'code "{text}": {problem}') from None


@dataclasses.dataclass(frozen=True)
class link_description:
    """What a worker must know to simulate. The file's content travels with the name."""

    code: object
    constellation: str
    data: str
    max_log: bool
    decoder: tuple
    backend: str
    device: int
    content: bytes = None


@functools.lru_cache(maxsize=8)
def code_of(link):
    if not isinstance(link.code, str):
        return link.code
    if link.content is None:
        return code_from_text(link.code)
    kind = link.code.partition(":")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code")
        path.write_bytes(link.content)
        return code_from_text(f"{kind}:{path}")


def received_llrs(link, code, sent, es_n0, random):
    """LLRs (words, n) of codewords sent through noise. sent None: words of n zeros."""
    words = sent if isinstance(sent, int) else len(sent)
    if link.constellation == "bpsk":
        # LLR = 4 Re(x + w) / N: the noise's other dimension decides nothing.
        llr = random.standard_normal((words, code.n), np.float32)
        llr *= np.float32(math.sqrt(8 * es_n0))
        if isinstance(sent, int):
            llr += np.float32(4 * es_n0)
        else:
            llr += np.array([4, -4], np.float32).take(sent) * np.float32(es_n0)
        return llr
    constellation = constellation_of(link.constellation)
    size = constellation.bits
    total = words * code.n
    symbols = -(-total // size)
    labels = np.zeros(symbols, np.intp)
    if not isinstance(sent, int):
        bits = np.zeros(symbols * size, np.uint8)
        bits[:total] = sent.ravel()
        for column in bits.reshape(symbols, size).T:
            labels = labels * 2 + column
    x = random.standard_normal((symbols, 2), np.float32)
    x *= np.float32(math.sqrt(0.5 / es_n0))
    x = x.view(np.complex64).ravel()
    x += constellation.points.take(labels)
    llr = demap(x, 1 / es_n0, constellation, link.max_log, 0, link.backend, link.device)
    return llr.ravel()[:total].reshape(words, code.n)


@functools.lru_cache(maxsize=32)
def constellation_of(name):
    return _native.constellation(name)


def run_slice(link, es_n0_db, words, seed):
    """Simulates `words` words. Returns the counts of an error_rate_point."""
    began = time.perf_counter()
    code = code_of(link)
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    coded = not isinstance(code, uncoded)
    info = sent = words
    if link.data == "random":
        packed = np.frombuffer(random.bytes(-(-words * code.k // 8)), np.uint8)
        info = np.unpackbits(packed, count=words * code.k).reshape(words, code.k)
        sent = info
        if coded:
            sent = ldpc_encode(code, info, backend=link.backend, device=link.device)
    llr = received_llrs(link, code, sent, 10 ** (es_n0_db / 10), random)
    if coded:
        bits, iterations, ok = ldpc_decode(
            code, llr, backend=link.backend, device=link.device, **dict(link.decoder)
        )
    else:
        bits, iterations, ok = (
            (llr < 0).view(np.uint8),
            np.zeros(1),
            np.zeros(words, bool),
        )
    wrong = bits if isinstance(info, int) else np.bitwise_xor(bits, info)
    failed = np.flatnonzero(wrong.any(axis=1))
    errors = wrong[failed].sum(axis=1, dtype=np.int64)
    return {
        "frames": words,
        "bits": words * code.k,
        "frame_errors": len(failed),
        "bit_errors": int(errors.sum()),
        "bit_errors_squared": int((errors * errors).sum()),
        "undetected_errors": int(ok[failed].sum()),
        "iterations": int(iterations.sum()),
        "seconds": time.perf_counter() - began,
        "slices": 1,
    }
