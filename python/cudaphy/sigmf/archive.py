# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF archives: tar files (POSIX.1-2001) with recordings, read where they stand.

Python's tarfile is no choice for damaged archives: it may loop for ever, or read a header
that claims to have gigabytes."""

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .files import ARCHIVE, DATA, META, SigmfError, extent, open_to_read
from .files import read_up_to, shown

_BLOCK = 512
_MOST_MEMBERS = 1 << 16
_MOST_HEADER = 1 << 20  # bytes of names and the like before a member
_FILES, _WITHOUT_DATA = (b"0", b"\0", b"7"), (b"1", b"2", b"3", b"4", b"5", b"6")
_EXTENSIONS = (b"x", b"g", b"L", b"K")  # POSIX's and GNU's


def _number(field):
    """A header's number, in octal digits, or in bytes if it is large; else None."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    text = field.strip(b" \0")
    return int(text or b"0", 8) if all(c in b"01234567" for c in text) else None


def _decimal(digits, position):
    if not digits.isdigit() or len(digits) > 20:
        raise SigmfError(f"{position} has no size")
    return int(digits)


def _text(field):
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _records(content, position):
    """The lines "length key=value" of a POSIX header."""
    found, at = {}, 0
    while at < len(content) and content[at]:
        digits = content[at : at + 20].partition(b" ")[0]
        length = _decimal(digits, position)
        line = content[at + len(digits) + 1 : at + length - 1]
        key, equal, value = line.partition(b"=")
        if length <= len(digits) + 2 or at + length > len(content) or not equal:
            raise SigmfError(f"{position} has a header that is damaged")
        found[_text(key)] = value
        at += length
    return found


def _members(found, size, archive):
    """{name: (begin, bytes)} of the plain files of an archive."""
    members, after, at = {}, {}, 0
    for _ in range(_MOST_MEMBERS):
        head = read_up_to(found, _BLOCK, at)
        position = f"{archive}: the header at byte {at}"
        if not any(head) and at and len(head) in (0, _BLOCK):
            return members
        checked = head[:148] + b" " * 8 + head[156:]
        if len(head) < _BLOCK or _number(head[148:156]) != sum(checked):
            raise SigmfError(f"{position} is none of a tar archive, or is damaged")
        kind, begin = head[156:157], at + _BLOCK
        length = _number(head[124:136])
        if length is None:
            raise SigmfError(f"{position} has no size")
        if kind in _EXTENSIONS:
            if length > _MOST_HEADER:
                raise SigmfError(
                    f"{position} has {length} bytes, more than {_MOST_HEADER}"
                )
            content = read_up_to(found, length, begin)
            if kind == b"L":
                after["path"] = content
            elif kind == b"x":
                after.update(_records(content, position))
        else:
            name = _text(head[:100])
            if head[257:263] == b"ustar\0" and head[345]:
                name = _text(head[345:500]) + "/" + name
            name = _text(after["path"]) if "path" in after else name
            if "size" in after:
                length = _decimal(after["size"], position)
            if kind in _WITHOUT_DATA:
                length = 0
            sparse = any(key.startswith("GNU.sparse") for key in after)
            if kind in _FILES and not name.endswith("/") and not sparse:
                members[str(PurePosixPath(name))] = begin, length
            after = {}
        if begin + length > size:
            raise SigmfError(
                f"{position} says that {length} bytes follow, but the archive ends before"
            )
        at = begin + -(-length // _BLOCK) * _BLOCK
    raise SigmfError(f"{archive}: has more than {_MOST_MEMBERS} files")


@dataclass
class archive_files:
    """A recording in an archive."""

    archive: Path
    inner: str  # path of the metadata in the archive, without suffix
    members: dict

    @property
    def name(self):
        return f"{self.archive}/{shown(self.inner + META)[1:-1]}"

    locked = ()

    def metadata(self, most):
        begin, length = self.members[self.inner + META]
        found = open_to_read(self.archive)
        try:
            return read_up_to(found, min(most, length), begin)
        finally:
            os.close(found)

    def data(self, name=None):
        path = self.inner + DATA
        if name:
            path = posixpath.join(posixpath.dirname(self.inner), name)
        shown_name = f"{self.archive}/{shown(path)[1:-1]}"
        if path not in self.members:
            raise SigmfError(f"{shown_name}: No such file in the archive")
        return extent(self.archive, *self.members[path], shown_name)


def in_archive(archive, wanted=None):
    """The recording of this name in an archive; without a name, the only one. Raises SigmfError."""
    found = open_to_read(archive)
    try:
        members = _members(found, os.fstat(found).st_size, archive)
    finally:
        os.close(found)
    # macOS puts a file "._x" beside x.
    names = [
        name[: -len(META)]
        for name in members
        if name.endswith(META) and not PurePosixPath(name).name.startswith("._")
    ]
    if wanted is not None:
        for suffix in (META, DATA):
            wanted = wanted[: -len(suffix)] if wanted.endswith(suffix) else wanted
        exact = [name for name in names if name == wanted]
        found = exact or [n for n in names if PurePosixPath(n).name == wanted]
    else:
        found = names
    if len(found) == 1:
        return archive_files(archive, found[0], members)
    some = ", ".join(shown(name) for name in names[:4])
    some += f" and {len(names) - 4} more" if len(names) > 4 else ""
    if not names:
        raise SigmfError(f"{archive}: has no recording")
    if wanted is not None:
        raise SigmfError(f"{archive}: has no recording {shown(wanted)}, but {some}")
    raise SigmfError(
        f"{archive}: has the recordings {some}: open one as {archive.name}/NAME"
    )


def archive_of(path):
    """(archive, name in it or None) of a path to an archive, or into one as if it were a folder;
    else None."""
    path = Path(os.fsdecode(path))
    for whole in (path, *path.parents):
        if whole.suffix == ARCHIVE and os.path.isfile(whole):
            return whole, str(path.relative_to(whole)) if whole != path else None
    if path.name and not path.name.endswith((META, DATA)):
        beside, meta = (path.with_name(path.name + end) for end in (ARCHIVE, META))
        if os.path.isfile(beside) and not os.path.exists(meta):
            return beside, None
    return None
