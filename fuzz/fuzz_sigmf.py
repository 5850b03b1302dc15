#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged SigMF recordings and archives. Each is read within a bounded time, with all
samples inside the file, or refused with a SigmfError of less than 1,000 characters.

Prints the seed; the same seed tries the same. Exit status 1 if anything else happened."""

import copy
import io
import json
import math
import random
import sys
import tarfile
import tempfile
import time
import warnings
from pathlib import Path

import fuzzing
import numpy as np
from gnuradio.cudaphy import sigmf

LONGEST_TEXT = 1000
LONGEST_READ = 2.0  # seconds
BYTES = b'0123456789 -+./\\,:"[]{}#\n\r\tTZeEnNaif\x00\x7f\x80\xc3\xff'
WORDS = (b"[" * 5000, b"{", b"9" * 5000, b"\0" * 512)
TIMES = (
    "2026-01-31T12:00:00Z 2016-12-31T23:59:60.5Z 1955-11-05T14:00:00.000Z 2026-01-31t12:00:00z "
    "2026-01-31T12:00:00+05:30 2026-01-31T12:00:00 2026-01-31T12:00:00,25Z 0001-01-01T00:00:00+23:59 "
    "9999-12-31T23:59:60Z 9999-12-31T23:59:59-12:00 2026-02-30T00:00:00Z 2026-01-31T24:00:00Z"
).split()
NUMBERS = (
    0,
    1,
    -1,
    3,
    8,
    99,
    100,
    101,
    50.0,
    0.5,
    2**31,
    2**63 - 1,
    2**63,
    2**64,
    10**4000,
)
NUMBERS += (1e308, 1e-308, math.nan, math.inf, -math.inf)
TEXTS = (
    "",
    ".",
    "..",
    "/",
    "a/b",
    "x" * 5000,
    "nul\0",
    "\ud800",
    "²",
    "take.dat",
    "packet",
)
ODD = (*NUMBERS, *TEXTS, *TIMES, *sigmf.FORMATS, None, True, [], [[]], [{}], {})


def recording(dice):
    """(metadata, bytes of data) which are in order."""
    datatype = dice.choice(list(sigmf.FORMATS))
    channels, samples = dice.choice((1, 1, 2, 5)), dice.randrange(1, 120)
    offset, trailing = dice.choice((0, 0, 50, 10**12)), dice.choice((0, 0, 7))
    about = {
        "core:datatype": datatype,
        "core:version": "1.2.0",
        "core:num_channels": channels,
        "core:sample_rate": 2e6,
        "core:offset": offset,
        "core:trailing_bytes": trailing,
    }
    if dice.randrange(4) == 0:
        about["cudaphy:unfinished"] = True
    captures, annotations, headers = [], [], 0
    starts = sorted(dice.sample(range(samples), min(samples, dice.randrange(5))))
    for start in starts:
        one = {"core:sample_start": start + offset}
        if dice.randrange(2):
            one["core:frequency"] = 1e9
        if dice.randrange(2):
            one["core:datetime"] = dice.choice(TIMES[:7])
        if dice.randrange(4) == 0:
            one["core:header_bytes"] = dice.randrange(9)
            headers += one["core:header_bytes"]
        captures.append(one)
    at = 0
    while at < samples:
        count = dice.randrange(1, samples - at + 1)
        one = {"core:sample_start": at + offset, "core:sample_count": count}
        annotations.append({**one, "core:label": "packet"})
        at += count + dice.randrange(9)
    size = samples * channels * sigmf.FORMATS[datatype].sample_bytes + headers + trailing
    metadata = {"global": about, "captures": captures, "annotations": annotations}
    return metadata, dice.randbytes(size)


def paths_of(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield from paths_of(one, (*path, key))


def damaged_json(value, dice):
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 2, 5))):
        inner = [path for path in paths_of(value) if path]
        if not inner:
            break
        *path, last = dice.choice(inner)
        at = value
        for key in path:
            at = at[key]
        kind = dice.randrange(6)
        if kind == 0:
            del at[last]
        elif kind == 1 and isinstance(at, list):
            at.insert(last, copy.deepcopy(at[last]))
        elif kind == 2 and isinstance(at[last], int):
            at[last] += dice.choice((-1, 1, -100, 2**40))
        else:
            at[last] = copy.deepcopy(dice.choice(ODD))
    return value


def archive(parts, dice):
    """A tar file of these (name, content), in one of tar's three forms."""
    form = dice.choice((tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))
    file = io.BytesIO()
    folder = dice.choice(("", "./", "take/", "a" * 90 + "/" + "b" * 60 + "/"))
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name, content in parts:
            member = tarfile.TarInfo(folder + name)
            member.size = len(content)
            if form == tarfile.PAX_FORMAT and dice.randrange(2):
                member.pax_headers = {"comment": "x" * dice.randrange(600)}
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def summed(content, dice):
    """Damages headers of a tar file, and makes their sums right again."""
    content = bytearray(content)
    for _ in range(dice.randrange(1, 5)):
        at = dice.randrange(max(1, len(content) // 512)) * 512
        end = at + dice.choice((100, 124, 136, 156, 157, 263, 345, 500))
        content[end : end + 9] = dice.choices(BYTES, k=9)
        head = content[at : at + 512]
        head[148:156] = b"%06o\0 " % sum(head[:148] + b" " * 8 + head[156:])
        content[at : at + 512] = head
    return bytes(content)


def files_of(dice):
    """{name: content} of a recording that is damaged, or is not, and the name to open."""
    metadata, data = recording(dice)
    whole = dice.randrange(10) == 0
    if not whole:
        metadata = damaged_json(metadata, dice) if dice.randrange(3) else metadata
    text = json.dumps(metadata, indent=dice.choice((None, 1))).encode()
    if not whole and dice.randrange(3) == 0:
        text = fuzzing.damaged(text, dice, BYTES, WORDS)
    if not whole and dice.randrange(4) == 0:
        data = data[: dice.randrange(len(data) + 1)]
    parts = {"take.sigmf-meta": text, "take.sigmf-data": data}
    if dice.randrange(2):
        return parts, "take", whole
    if dice.randrange(4) == 0:
        parts["other.sigmf-meta"] = text
    content, name = archive(parts.items(), dice), "take.sigmf"
    if not whole:
        content = summed(content, dice) if dice.randrange(2) else content
        content = (
            fuzzing.damaged(content, dice, BYTES, WORDS)
            if dice.randrange(3) == 0
            else content
        )
    if len(parts) > 2:
        name += "/" + dice.choice(("take", "take.sigmf-meta", "take/take"))
        whole = False
    return {"take.sigmf": content}, name, whole


def check(samples, found):
    assert samples.shape[-1] == found.samples and samples.dtype == np.complex64
    assert samples.size == found.samples * found.channels
    starts = [one.start for one in found.captures]
    assert starts == sorted(set(starts))
    for one in found.captures:
        assert 0 <= one.start <= found.samples
        assert one.frequency is None or math.isfinite(one.frequency)
        assert (
            one.time is None or sigmf.time_of(sigmf.text_of(one.time))[0] == one.time[0]
        )
    end = 0
    for start, count in found.packets:
        assert end <= start < start + count <= found.samples
        end = start + count


def attack(folder, seed):
    """(the problem of reading one recording or None, whether it was read)"""
    dice = random.Random(seed)
    parts, name, whole = files_of(dice)
    for old in folder.iterdir():
        old.unlink()
    for part, content in parts.items():
        fuzzing.write(folder / part, content)
    begin, refused = time.monotonic(), None
    try:
        check(*sigmf.read_samples(folder / name))
    except sigmf.SigmfError as problem:
        refused = str(problem)
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"[:2000], False
    if time.monotonic() - begin > LONGEST_READ:
        return f"took {time.monotonic() - begin:.1f} s", False
    if refused and (whole or len(refused) >= LONGEST_TEXT or "take" not in refused):
        return (
            f"is whole, or has a text that is too long or without a name: {refused}",
            False,
        )
    return None, refused is None


def main():
    parser = fuzzing.parser(__doc__)
    parser.add_argument(
        "--count", type=int, default=0, help="recordings; 0: as many as fit"
    )
    options = parser.parse_args()
    seed = options.seed
    print(f"seed {seed}", flush=True)
    warnings.simplefilter("ignore")
    end, tried, read = time.monotonic() + options.seconds, 0, 0
    with fuzzing.folder() as folder:
        while time.monotonic() < end and tried != (options.count or -1):
            problem, good = attack(Path(folder), seed + tried)
            if problem:
                print(f"--seed {seed + tried} --count 1: {problem}")
                return 1
            tried, read = tried + 1, read + good
    print(f"{tried} recordings, {read} read, {tried - read} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
