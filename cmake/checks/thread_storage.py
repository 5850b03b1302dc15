#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails if a library takes more than 64 KB of thread-local storage. Each thread of a
process has that storage on its stack, and a thread with a smaller stack cannot start."""

import re
import subprocess
import sys

MOST = 64 * 1024


def thread_storage(library):
    """Bytes that the library takes of every thread's stack."""
    segments = subprocess.check_output(["readelf", "-lW", library], text=True)
    if "Program Headers:" not in segments:
        sys.exit(f"{library} is no library")
    # Type, offset, virtual and physical address, size in the file and in memory.
    found = re.findall(
        r"^ +TLS(?: +0x[0-9a-f]+){4} +0x([0-9a-f]+)", segments, re.MULTILINE
    )
    return sum(int(size, 16) for size in found)


def main():
    too_large = False
    for library in sys.argv[1:]:
        size = thread_storage(library)
        print(f"{library}: {size} of at most {MOST} bytes a thread")
        too_large |= size > MOST
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
