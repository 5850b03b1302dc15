# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the fuzzers: arguments, and damage to the bytes of a file."""

import argparse
import os
import random
import resource
import tempfile
from pathlib import Path


def parser(text):
    """--seconds and --seed, whose default is CUDAPHY_TEST_SEED."""
    made = argparse.ArgumentParser(description=text)
    made.add_argument("--seconds", type=float, default=60, help="how long")
    given = os.environ.get("CUDAPHY_TEST_SEED")
    seed = int(given) if given else random.SystemRandom().getrandbits(32)
    made.add_argument("--seed", type=int, default=seed)
    return made


def damaged(content, dice, letters, words):
    """The bytes `content` with up to 20 places cut out or off, repeated, zeroed, or replaced by some of
    the bytes `letters` or one of the byte strings `words`."""
    content = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        at = dice.randrange(len(content) + 1)
        end = min(len(content), at + dice.choice((1, 1, 3, 40, 400)))
        kind = dice.randrange(7)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            del content[at:end]
        elif kind == 2:
            content[at:end] = dice.choices(letters, k=dice.choice((1, 1, 2, 9)))
        elif kind == 3:
            content[at:at] = content[at:end] * dice.choice((1, 1, 2, 50))
        elif kind == 4:
            content[at:end] = bytes(end - at)
        else:
            content[at : end if kind == 5 else at] = dice.choice(words)
    return bytes(content)


def folder():
    """A temporary folder in memory where there is one, because disks take longer than the trials."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    return tempfile.TemporaryDirectory(dir=memory if usable else None)


def write(path, content):
    """Writes bytes to a new file: ext4 waits for the disk if a file is written over."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def limit_memory(more):
    """Limits this process to `more` bytes of addresses beyond those that it has."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (in_use + more,) * 2)
