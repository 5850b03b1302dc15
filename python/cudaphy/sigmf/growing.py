# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes metadata of SigMF, at once or while a recording grows.

While a recording grows, its file is whole after each write, so that a killed process
leaves a recording that any program reads. Writing all metadata anew for each tag would
take time in proportion to the square of their number. Instead an entry is one write in
place. Annotations stand last in the file, so that ",\\n{...}\\n]}" overwrites its end
"\\n]}". Captures stand before them, and overwrite blanks behind the last capture, because
JSON allows blanks anywhere. If the blanks are used up, the whole file is written anew with
as many blanks again as there are captures, and then renamed. That happens so seldom that it
costs no more than the entries themselves.

The kernel completes a killed process's last write, except that the write may end at the
end of a page of the file (4096 bytes). Such an entry was not yet reported, and
sigmf_reader.py leaves it out."""

import contextlib
import json
import os

from .files import replacing, write_all
from .formats import text_of
from .reader import MOST_BYTES, MOST_OBJECTS, UNFINISHED

VERSION = "1.2.0"
_LEAST_ROOM = 4096
_BETWEEN, _END = b',\n"annotations": [\n', b"\n]}\n"
_CLOSE = b"\n]"


def about_recording(datatype, channels, sample_rate, about):
    """The object "global"."""
    described = {
        "core:datatype": datatype,
        "core:version": VERSION,
        "core:num_channels": channels,
    }
    if sample_rate:
        described["core:sample_rate"] = float(sample_rate)
    described.update({"core:" + name: text for name, text in about.items() if text})
    return described


def capture_entry(one):
    entry = {"core:sample_start": int(one.start)}
    if one.frequency is not None:
        entry["core:frequency"] = float(one.frequency)
    if one.time is not None:
        entry["core:datetime"] = text_of(one.time)
    return entry


def packet_entry(start, count, label):
    return {
        "core:sample_start": int(start),
        "core:sample_count": int(count),
        "core:label": label,
    }


def _line(entry):
    return json.dumps(entry, allow_nan=False).encode()


def _head(about):
    return b'{"global": ' + _line(about) + b',\n"captures": [\n'


def whole_text(about, captures, annotations):
    """The metadata of these entries, one a line."""
    lists = (b",\n".join(map(_line, entries)) for entries in (captures, annotations))
    return _head(about) + next(lists) + _CLOSE + _BETWEEN + next(lists) + _END


class growing_metadata:
    """The metadata of a growing recording. Each method raises OSError if it can't write;
    the file then stays whole as before."""

    def __init__(self, path, about):
        self._path, self._file = path, None
        self._captures, self._notes, self._entries = bytearray(), bytearray(), 0
        self.describe(about)

    def describe(self, about):
        """Another object "global"."""
        self._about = about
        mark = {
            UNFINISHED: True,
            "core:extensions": [
                {"name": "cudaphy", "version": "1.0.0", "optional": True}
            ],
        }
        self._rewrite(_head({**about, **mark}))

    def has_room(self):
        """Whether more entries can be read again."""
        used = len(self._head) + 2 * len(self._captures) + len(self._notes)
        return used < MOST_BYTES - (1 << 20) and self._entries < MOST_OBJECTS - 100_000

    def add(self, captures, packets):
        """Appends entries, which come in order."""
        new_captures = self._joined(self._captures, captures)
        new_notes = self._joined(self._notes, packets)
        if len(new_captures) + len(_CLOSE) > self._room:
            self._rewrite(self._head, new_captures, new_notes)
        else:
            end = len(self._head) + len(self._captures)
            if new_captures:
                self._put(new_captures + _CLOSE, end, _CLOSE)
                self._captures += new_captures
            end += self._room + len(_BETWEEN) + len(self._notes)
            self._room -= len(new_captures)
            if new_notes:
                self._put(new_notes + _END, end, _END)
                self._notes += new_notes
        self._entries += len(captures) + len(packets)

    @staticmethod
    def _joined(before, entries):
        return (b",\n" if before and entries else b"") + b",\n".join(map(_line, entries))

    def finish(self):
        """The last write, without blanks and the mark of an unfinished recording."""
        self.close()
        content = _head(self._about) + self._captures + _CLOSE + _BETWEEN + self._notes
        with replacing(self._path) as file:
            write_all(file, content + _END, 0)

    def close(self):
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _rewrite(self, head, new_captures=b"", new_notes=b""):
        captures, notes = self._captures + new_captures, self._notes + new_notes
        room = max(_LEAST_ROOM, len(captures))
        with replacing(self._path) as file:
            write_all(
                file, head + captures + _CLOSE.ljust(room) + _BETWEEN + notes + _END, 0
            )
            copy = os.dup(file)
        self.close()
        self._file, self._head, self._room = copy, head, room
        self._captures, self._notes = captures, notes

    def _put(self, text, at, end):
        """Writes over the end of a list. If that fails, puts the end back."""
        try:
            write_all(self._file, text, at)
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.pwrite(self._file, end.ljust(len(text)), at)
            problem.filename = str(self._path)
            raise
