# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata of a SigMF recording, checked against its data; the package sigmf has the functions."""

import bisect
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .archive import archive_of, in_archive
from .files import COLLECTION, SigmfError, folder_files, open_to_read, paths_of
from .files import read_into, read_up_to, shown
from .formats import format_of, has_zone, text_of, time_of

PACKET_LABEL = "packet"
MOST_CHANNELS = 64
HIGHEST_RATE, HIGHEST_FREQUENCY = 1e12, 1e15  # Hz
# 5 million captures or packets are about 300 MB, and need 3 GB of memory.
MOST_BYTES = 1 << 28
MOST_OBJECTS = 5_000_000
# Set in "global" while a sink writes. Data of a killed sink may end within a sample.
UNFINISHED = "cudaphy:unfinished"


@dataclass
class capture:
    """A capture: from sample `start` on the frequency in Hz, and the time as (whole
    seconds since 1970, fraction)."""

    start: int
    frequency: float = None
    time: tuple = None


@dataclass
class recording:
    """The metadata, checked against the data file. Positions count from the file's first
    sample, which has the number `offset` in a recording of several files."""

    data: Path  # the data file, or the archive
    datatype: str
    samples: int  # of each channel
    sample_rate: float = None
    channels: int = 1
    captures: list = field(default_factory=list)
    packets: list = field(default_factory=list)  # (first sample, samples)
    annotations: list = field(default_factory=list)  # as in the file
    about: dict = field(default_factory=dict)  # the object "global"
    offset: int = 0
    name: str = ""  # of the data, as errors have it
    meta: Path = None
    remarks: list = field(default_factory=list)  # on what was ignored
    sample_bytes: int = 0  # of all channels
    unfinished: bool = False  # its sink has not stopped
    # Runs of samples: (first sample, its byte in the file)
    pieces: list = field(default_factory=lambda: [(0, 0)])

    def read_into(self, found, first, buffer):
        """Fills a buffer of bytes from the open data file with samples of all channels in turn, from
        this one on. Returns the number of samples, fewer than the buffer takes if the
        next ones stand elsewhere in the file. Raises SigmfError if the file became
        shorter."""
        number = bisect.bisect_right(self.pieces, (first, math.inf)) - 1
        start, begin = self.pieces[number]
        last = self.samples
        if number + 1 < len(self.pieces):
            last = min(last, self.pieces[number + 1][0])
        count = min(len(buffer) // self.sample_bytes, last - first)
        size = count * self.sample_bytes
        begin += (first - start) * self.sample_bytes
        if read_into(found, memoryview(buffer)[:size], begin) < size:
            raise SigmfError(f"{self.name}: the file became shorter while it was read")
        return count


def files_of(path):
    """The files of a recording, named by either of them, without a suffix, or in an archive."""
    if os.fsdecode(path).endswith(COLLECTION):
        _refuse_collection(path)
    archive = archive_of(path)
    return in_archive(*archive) if archive else folder_files(paths_of(path)[0])


def _refuse_collection(path):
    found = open_to_read(path)
    try:
        streams = json.loads(read_up_to(found, 1 << 20))["collection"]["core:streams"]
        names = ", ".join(shown(one["name"]) for one in streams[:4])
    except (ValueError, LookupError, TypeError, RecursionError):
        names = "they are not named"
    finally:
        os.close(found)
    raise SigmfError(
        f"{path}: is a collection: open one of its recordings, each by itself ({names})"
    )


def _repaired(content):
    """The metadata of an unfinished recording whose last write is torn. Such a file has
    an entry a line (sigmf_growing.py), and whole lines count. None for other files."""
    head = content.partition("\n")[0]
    if f'"{UNFINISHED}"' not in head or content.count("\n") > MOST_OBJECTS:
        return None
    lines = content.split("\n")[1:]
    lists = {"captures": [], "annotations": []}
    into = lists["captures"]
    try:
        found = json.loads(head.rstrip().removesuffix(",") + "}")
        for line in lines:
            if line.startswith('"annotations"'):
                into = lists["annotations"]
            elif line.startswith("{"):
                try:
                    into.append(json.JSONDecoder().raw_decode(line)[0])
                except ValueError:
                    pass  # the torn one
    except (ValueError, RecursionError):
        return None
    return {**found, **lists}


class metadata_reader:
    """Takes values out of the metadata; an error names the file and the place."""

    def __init__(self, name):
        self.name = name
        self.remarks = {}

    def fail(self, text):
        raise SigmfError(f"{self.name}: {text}")

    def remark(self, kind, text):
        """One warning of each kind is enough."""
        self.remarks.setdefault(kind, f"{self.name}: {text}")

    def parsed(self, content):
        """The metadata in these bytes."""
        if len(content) > MOST_BYTES:
            self.fail(f"has more than {MOST_BYTES >> 20} MiB")
        if content.count(b"{") + content.count(b"[") > MOST_OBJECTS:
            self.fail(f"has more than {MOST_OBJECTS} captures and annotations")
        try:
            text = content.decode("utf-8-sig")
            try:
                found = json.loads(text)
            except ValueError:
                found = _repaired(text)
                if found is None:
                    raise
        except (ValueError, RecursionError) as problem:
            self.fail(f"is no JSON: {str(problem)[:200]}")
        except MemoryError:
            self.fail("needs more memory than there is")
        if not isinstance(found, dict) or not isinstance(found.get("global"), dict):
            self.fail('has no object "global"')
        return found

    def number(self, where, name, most):
        value = where.get(name)
        if value is None:
            return None
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not -most <= value <= most:
            self.fail(f"{name} is {shown(value)}, which is no number up to {most:g}")
        return float(value)

    def count(self, where, name, owner, default=0):
        value = where.get(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.fail(
                f"{name} of {owner} is {shown(value)}, not a whole number of at least 0"
            )
        return value

    def objects(self, found, name):
        value = found.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.fail(f'"{name}" is no list of objects')
        return value


def read_recording(files, packet_label=PACKET_LABEL, content=None):
    """The recording of these files, checked; `content`: its metadata if they are not to be read."""
    read = metadata_reader(files.name)
    found = content or read.parsed(files.metadata(MOST_BYTES + 1))
    about = found["global"]
    try:
        form = format_of(about.get("core:datatype"))
    except ValueError as problem:
        read.fail(f"core:datatype {shown(about.get('core:datatype'))} {problem}")
    channels = read.count(about, "core:num_channels", "global", 1)
    if not 1 <= channels <= MOST_CHANNELS:
        read.fail(f"core:num_channels {shown(channels)} is not in 1 to {MOST_CHANNELS}")
    rate = read.number(about, "core:sample_rate", HIGHEST_RATE)
    if rate is not None and rate <= 0:
        read.fail(f"core:sample_rate {rate} is not above 0")
    data = _data_of(read, files, about)
    made = recording(data.file, about["core:datatype"], 0, rate, channels, about=about)
    made.sample_bytes = form.sample_bytes * channels
    made.unfinished = about.get(UNFINISHED) is True
    made.name, made.meta = data.name, files.locked[0] if files.locked else data.file
    made.offset = read.count(about, "core:offset", "global")
    if made.offset >= 1 << 63:
        read.fail(f"core:offset {shown(made.offset)} is not below 2^63")
    captures = read.objects(found, "captures")
    starts = _starts(read, captures, made.offset)
    _place_samples(read, captures, starts, data, made)
    _read_captures(read, captures, starts, made)
    _read_annotations(read, found, starts, made, packet_label)
    made.remarks = list(read.remarks.values())
    return made


def _data_of(read, files, about):
    name = about.get("core:dataset")
    if "core:dataset" in about:
        good = isinstance(name, str) and name.isprintable() and name not in ("", "..")
        if not good or len(name.encode()) > 255 or Path(name).name != name:
            read.fail(
                f"core:dataset {shown(name)} is no name of a file in the same folder"
            )
    try:
        return files.data(name)
    except SigmfError as problem:
        if about.get("core:metadata_only") is True:
            read.fail(
                f"core:metadata_only: the recording was given without its data ({problem})"
            )
        raise


def _starts(read, captures, offset):
    """The first sample of each capture, counted in the file: negative if before it."""
    starts = []
    for number, one in enumerate(captures):
        start = read.count(one, "core:sample_start", f"capture {number}", offset)
        if starts and start - offset <= starts[-1]:
            read.fail(
                f"capture {number} begins at sample {shown(start)}, not after the one before it"
            )
        starts.append(start - offset)
    return starts


def _place_samples(read, captures, starts, data, made):
    """The number of samples, and the runs of samples between other bytes."""
    at, last, skipped, pieces = data.begin, 0, 0, [(0, data.begin)]
    size = made.sample_bytes
    for number, (one, start) in enumerate(zip(captures, starts)):
        header = read.count(one, "core:header_bytes", f"capture {number}")
        if header and start >= 0:
            at += (start - last) * size + header
            last, skipped = start, skipped + header
            pieces.append((start, at))
    trailing = read.count(made.about, "core:trailing_bytes", "global")
    bytes_left = data.size - skipped - trailing
    if bytes_left < 0:
        raise SigmfError(
            f"{data.name}: has {data.size} bytes, but core:header_bytes and "
            f"core:trailing_bytes are {shown(skipped + trailing)} together"
        )
    rest = bytes_left % size
    if rest and not made.unfinished:
        of_each = f" of {made.channels} channels" if made.channels > 1 else ""
        raise SigmfError(
            f"{data.name}: {bytes_left} bytes are no whole number of samples of {size} "
            f"bytes ({made.datatype}{of_each}): the file is cut short, or of another type"
        )
    if made.unfinished:
        read.remark("end", "is of a recording that goes on or was never finished")
    made.samples = bytes_left // size
    made.pieces = pieces[1:] if len(pieces) > 1 and pieces[1][0] == 0 else pieces


def _time_of(read, one, owner):
    try:
        time = time_of(one["core:datetime"])
    except ValueError as problem:
        read.fail(f"core:datetime of {owner}: {shown(one['core:datetime'])} {problem}")
    if not has_zone(one["core:datetime"]):
        read.remark("zone", f"core:datetime of {owner} names no zone: taken for UTC")
    if time[0] < 0:
        read.remark("1970", f"core:datetime of {owner} is before 1970: no tag rx_time")
    return time


def _later(time, seconds):
    """A time and seconds, or None where that is none."""
    if not time or seconds > 1e12:
        return None
    whole, part = divmod(time[1] + seconds, 1)
    try:
        text_of((time[0] + int(whole), part))
    except ValueError:
        return None
    return time[0] + int(whole), part


def _beyond(read, made, what, item):
    """The problem of an entry beyond the data. An unfinished recording may have lost data
    if the machine failed."""
    text = (
        f"{what} at sample {shown(item + made.offset)}, but {made.data.name} ends after "
    )
    text += f"{made.samples + made.offset}"
    if not made.unfinished:
        read.fail(text)
    read.remark("beyond", text)


def _read_captures(read, captures, starts, made):
    for number, (one, start) in enumerate(zip(captures, starts)):
        owner = f"capture {number}"
        if start > made.samples or (start == made.samples and start > 0):
            _beyond(read, made, f"{owner} begins", start)
            break
        time = _time_of(read, one, owner) if "core:datetime" in one else None
        frequency = read.number(one, "core:frequency", HIGHEST_FREQUENCY)
        if start < 0:
            # The capture goes on into this file, but its time belongs to an earlier
            # sample.
            read.remark("before", f"{owner} begins before the file, at its core:offset")
            time = _later(time, -start / made.sample_rate) if made.sample_rate else None
            start = 0
        if made.captures and made.captures[-1].start == start:
            made.captures.pop()
        made.captures.append(capture(start, frequency, time))


def _read_annotations(read, found, starts, made, packet_label):
    made.annotations = read.objects(found, "annotations")
    for number, one in enumerate(made.annotations):
        owner = f"annotation {number}"
        start = read.count(one, "core:sample_start", owner, made.offset) - made.offset
        if one.get("core:sample_count") is None:  # up to the end of its capture
            after = bisect.bisect_right(starts, start)
            end = starts[after] if after < len(starts) else max(made.samples, start)
        else:
            end = start + read.count(one, "core:sample_count", owner)
        if end > made.samples:
            _beyond(read, made, f"{owner} ends", end)
            continue
        if one.get("core:label") == packet_label and end > start:
            if start < 0:
                read.remark("cut", f"{owner} is a packet that begins before the file")
            else:
                made.packets.append((start, end - start))
    made.packets.sort()
    for (start, count), (after, _) in zip(made.packets, made.packets[1:]):
        if start + count > after:
            read.fail(
                f"the packet at sample {after + made.offset} begins within the one at "
                f"{start + made.offset}: packets can't lie over each other"
            )


def samples_of(made):
    """All samples: complex64, or of several channels (channels, samples). Raises SigmfError."""
    form, first = format_of(made.datatype), 0
    out = np.empty((made.channels, made.samples), np.complex64)
    buffer = np.empty(
        max(1, (1 << 20) // made.sample_bytes) * made.sample_bytes, np.uint8
    )
    found = open_to_read(made.data)
    try:
        while first < made.samples:
            count = made.read_into(found, first, buffer)
            raw = buffer[: count * made.sample_bytes].view(form.dtype)
            out[:, first : first + count] = form.to_samples(raw).reshape(count, -1).T
            first += count
    finally:
        os.close(found)
    return out if made.channels > 1 else out[0]
