# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are whole or missing: a full disk or a crash leaves no half of one."""

import os
import shutil
from pathlib import Path


def write_whole(path, write):
    """Calls write(name) with the name of a file beside `path`, and then renames that file
    to `path`.

    If write fails, a file that was at `path` stays unchanged. If `path` is no ordinary file, but a device
    for example, it is written directly. Raises what write raises, and OSError.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        write(path)
        return
    # The name keeps the suffix, because writers choose a format by it.
    beside = path.with_name(f".{os.getpid()}.{path.name}"[-255:])
    try:
        write(beside)
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
