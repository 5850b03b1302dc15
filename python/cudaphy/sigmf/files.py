# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of SigMF recordings: found, opened and locked; sigmf_archive.py has those in archives."""

import contextlib
import fcntl
import os
import reprlib
import stat
from dataclasses import dataclass
from pathlib import Path

META, DATA, ARCHIVE, COLLECTION = (
    ".sigmf-meta",
    ".sigmf-data",
    ".sigmf",
    ".sigmf-collection",
)


class SigmfError(ValueError):
    """The error of a recording; the text names the file."""


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 100
_short.maxlong = 40
_short.maxlevel = 2
_short.maxlist = _short.maxdict = 3


def shown(value):
    """A value for an error's text: at most about 100 characters."""
    try:
        text = _short.repr(value)
    except ValueError:  # Python prints no whole number of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 120 else text[:117] + "..."


def absolute(path):
    """The absolute path. Raises SigmfError for a wrong name."""
    base_of(path)
    return os.path.abspath(os.fsdecode(path))


def base_of(path):
    """The name of a recording, of which `path` is that name or either file. Raises SigmfError."""
    path = os.fsdecode(path)
    for suffix in (META, DATA, ARCHIVE):
        if path.endswith(suffix):
            path = path[: -len(suffix)]
            break
    if not os.path.basename(path) or "\0" in path:
        raise SigmfError(f"{shown(path)} is no name of a recording")
    return path


def paths_of(path):
    """The metadata and the data of a recording, named by either of them or without a suffix."""
    base = base_of(path)
    return Path(base + META), Path(base + DATA)


def open_to_read(path):
    """A descriptor of a regular file. Raises SigmfError for others: pipes do not end."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as problem:
        raise SigmfError(f"{path}: {problem.strerror}") from None
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise SigmfError(f"{path}: is no file")
    return found


def read_up_to(found, count, begin=0):
    """Bytes of an open file, fewer at its end."""
    pieces = []
    while count > 0:
        piece = os.pread(found, min(count, 1 << 24), begin)
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
        begin += len(piece)
    return b"".join(pieces)


def read_into(found, buffer, begin):
    """Fills a buffer of bytes from an open file. Returns the number of bytes read."""
    got = os.preadv(found, [buffer], begin)
    while 0 < got < len(buffer):
        count = os.preadv(found, [buffer[got:]], begin + got)
        if count == 0:
            break
        got += count
    return got


def write_all(found, text, begin):
    """Writes all of the bytes at this position of an open file. Raises OSError."""
    view = memoryview(text)
    while len(view):
        count = os.pwrite(found, view, begin)
        view, begin = view[count:], begin + count


class locked_files:
    """Locks files: several blocks may play them, or one block alone may write them. The
    lock (flock) belongs to the file under all its names, and holds for other processes
    too. It ends when the file is closed here or with the last reference."""

    def __init__(self):
        self._open = []

    def __bool__(self):
        return bool(self._open)

    def add(self, found, path, alone):
        """Locks an open file and keeps it. Raises SigmfError if another block has it."""
        self._open.append(found)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise SigmfError(f"{path}: is no file")
        try:
            how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
            fcntl.flock(found, how | fcntl.LOCK_NB)
        except BlockingIOError:
            other = "a SigMF Source or Sink" if alone else "a SigMF Sink"
            raise SigmfError(
                f"{path}: is in use by {other} of this process or another, until that has "
                "stopped"
            ) from None
        except OSError:
            pass  # a file system without locks

    @property
    def first(self):
        return self._open[0]

    def first_is(self, path):
        """Whether the first file still has this name."""
        try:
            return os.path.samestat(os.stat(path), os.fstat(self.first))
        except OSError:
            return False

    def close(self):
        while self._open:
            os.close(self._open.pop())

    __del__ = close


@contextlib.contextmanager
def replacing(path):
    """A context with a new file, open to be written, which takes this name at the end.
    The old file stays whole until then, and if anything fails."""
    path = os.path.realpath(path)
    beside = path + ".part"
    made = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        yield made
        os.replace(beside, path)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(problem, OSError) and not problem.filename:
            problem.filename = path
        raise
    finally:
        os.close(made)


@dataclass
class extent:
    """A part of a file that holds samples or metadata."""

    file: Path
    begin: int
    size: int
    name: str  # as messages have it


@dataclass
class folder_files:
    """A recording of two files in a folder."""

    meta: Path

    @property
    def name(self):
        return str(self.meta)

    @property
    def locked(self):
        """The files, except the data, that a block locks when it plays the recording."""
        return [self.meta]

    def metadata(self, most):
        """Up to `most` bytes."""
        found = open_to_read(self.meta)
        try:
            return read_up_to(found, most)
        finally:
            os.close(found)

    def data(self, name=None):
        """The extent of the samples in a file beside the metadata. Raises SigmfError."""
        path = self.meta.with_name(name or self.meta.name[: -len(META)] + DATA)
        found = open_to_read(path)
        try:
            return extent(path, 0, os.fstat(found).st_size, str(path))
        finally:
            os.close(found)
