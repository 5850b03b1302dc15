# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings in SigMF (https://sigmf.org, version 1.2): blocks that play and make them, with the
radio's tags, and functions on numpy arrays.

Samples are complex64; the data file holds cf32_le, ci16_le, ci8 or cu8, one channel, where integers
are numbers of full scale 1. A capture's frequency and time are the tags rx_freq and rx_time on its
first sample; an annotation with the packet's label is a packet, which carries a length tag."""

import datetime
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pmt
from gnuradio import gr

VERSION = "1.2.0"
PACKET_LABEL = "packet"


class SigmfError(ValueError):
    """What is wrong with a recording, and in which file."""


@dataclass(frozen=True)
class _format:
    dtype: str
    scale: float  # of full scale 1
    middle: float = 0

    def to_samples(self, raw):
        if self.scale == 1:
            return raw.view("<f4").view("<c8").astype(np.complex64, copy=False)
        parts = (raw.astype(np.float32) - np.float32(self.middle)) / np.float32(
            self.scale
        )
        return parts.view(np.complex64)

    def from_samples(self, samples):
        """(raw numbers, how many of them were clipped)"""
        parts = np.ascontiguousarray(samples, np.complex64).view(np.float32)
        if self.scale == 1:
            return parts.astype(self.dtype, copy=False), 0
        limits = np.iinfo(self.dtype)
        wanted = np.rint(np.nan_to_num(parts) * self.scale + self.middle)
        clipped = np.count_nonzero((wanted < limits.min) | (wanted > limits.max))
        clipped += np.count_nonzero(np.isnan(parts))
        return np.clip(wanted, limits.min, limits.max).astype(self.dtype), clipped

    @property
    def sample_bytes(self):
        return 2 * np.dtype(self.dtype).itemsize


FORMATS = {
    "cf32_le": _format("<f4", 1),
    "ci16_le": _format("<i2", 32768),
    "ci8": _format("i1", 128),
    "cu8": _format("u1", 128, 128),
}


@dataclass
class capture:
    """From this sample on: frequency in Hz, and time as (whole seconds since 1970, fraction)."""

    start: int
    frequency: float = None
    time: tuple = None


@dataclass
class recording:
    """What the metadata say, checked against the data file."""

    data: Path
    datatype: str
    samples: int
    sample_rate: float = None
    captures: list = field(default_factory=list)
    packets: list = field(default_factory=list)  # (first sample, samples)
    annotations: list = field(default_factory=list)  # as in the file
    about: dict = field(default_factory=dict)  # the object "global"


def _paths(path):
    """The files of a recording, named by either of them or without a suffix."""
    path = str(path)
    for suffix in (".sigmf-meta", ".sigmf-data", ".sigmf"):
        if path.endswith(suffix):
            path = path[: -len(suffix)]
            break
    return Path(path + ".sigmf-meta"), Path(path + ".sigmf-data")


def time_of(text):
    """(whole seconds since 1970, fraction) of an ISO 8601 time in UTC. Raises ValueError."""
    if not isinstance(text, str) or not text.endswith("Z"):
        raise ValueError(f"{text!r} is no time such as 2026-01-31T12:00:00.25Z")
    whole, _, part = text[:-1].partition(".")
    when = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    if part and not part.isdigit():
        raise ValueError(f"{text!r} is no time such as 2026-01-31T12:00:00.25Z")
    seconds = int(when.replace(tzinfo=datetime.timezone.utc).timestamp())
    if seconds < 0:
        raise ValueError(f"{text!r} is before 1970")
    return seconds, float("0." + part) if part else 0.0


def text_of(time):
    """The ISO 8601 text of (whole seconds since 1970, fraction), to the nanosecond."""
    nanoseconds = round(time[1] * 1e9)
    seconds = time[0] + nanoseconds // 10**9
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


class _reader:
    """Takes values out of the metadata; what is wrong is told with the file and the place."""

    def __init__(self, path):
        self.path = path

    def fail(self, text):
        raise SigmfError(f"{self.path}: {text}")

    def load(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                found = json.load(file)
        except OSError as problem:
            raise SigmfError(f"{self.path}: {problem.strerror}") from None
        except (ValueError, RecursionError) as problem:
            self.fail(f"is no JSON: {problem}")
        if not isinstance(found, dict) or not isinstance(found.get("global"), dict):
            self.fail('has no object "global"')
        return found

    def number(self, where, name, most=math.inf):
        value = where.get(name)
        if value is None:
            return None
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not -most <= value <= most or not math.isfinite(value):
            self.fail(f"{name} is {value!r}, which is no number")
        return float(value)

    def count(self, where, name, place, default=None):
        value = where.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.fail(f"{name} of {place} is {value!r}, not a whole number of at least 0")
        return value

    def objects(self, found, name):
        value = found.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.fail(f'"{name}" is no list of objects')
        return value


def read_metadata(path, packet_label=PACKET_LABEL):
    """The recording that a file describes, checked against its data file.

    Raises SigmfError for a file that is missing, cut short or no SigMF, for another datatype than
    those above, several channels, and metadata that the data belie."""
    meta, data = _paths(path)
    read = _reader(meta)
    found = read.load()
    about = found["global"]
    datatype = about.get("core:datatype")
    if not isinstance(datatype, str) or datatype not in FORMATS:
        read.fail(f"core:datatype {datatype!r} is none of {', '.join(FORMATS)}")
    if read.count(about, "core:num_channels", "global", 1) != 1:
        read.fail("has several channels; only recordings of one are read")
    rate = read.number(about, "core:sample_rate", 1e12)
    if rate is not None and rate <= 0:
        read.fail(f"core:sample_rate {rate} is not above 0")
    if "core:dataset" in about:
        name = about["core:dataset"]
        if not isinstance(name, str) or Path(name).name != name:
            read.fail(f"core:dataset {name!r} is no name of a file in the same folder")
        data = meta.with_name(name)

    try:
        size = data.stat().st_size
    except OSError as problem:
        raise SigmfError(f"{data}: {problem.strerror}") from None
    sample_bytes = FORMATS[datatype].sample_bytes
    if size % sample_bytes:
        raise SigmfError(
            f"{data}: {size} bytes are no whole number of samples of {sample_bytes} bytes "
            f"({datatype}): the file is cut short, or of another type"
        )
    made = recording(data, datatype, size // sample_bytes, rate, about=about)
    _read_captures(read, found, made)
    _read_annotations(read, found, made, packet_label)
    return made


def _read_captures(read, found, made):
    before = -1
    for number, one in enumerate(read.objects(found, "captures")):
        place = f"capture {number}"
        start = read.count(one, "core:sample_start", place)
        if one.get("core:header_bytes"):
            read.fail(f"{place} has core:header_bytes, which are not read")
        if start <= before:
            read.fail(f"{place} begins at sample {start}, not after the one before it")
        if start > made.samples or (start == made.samples and start > 0):
            read.fail(
                f"{place} begins at sample {start}, but {made.data.name} ends after "
                f"{made.samples}"
            )
        time = None
        if "core:datetime" in one:
            try:
                time = time_of(one["core:datetime"])
            except ValueError as problem:
                read.fail(f"core:datetime of {place}: {problem}")
        made.captures.append(
            capture(start, read.number(one, "core:frequency", 1e15), time)
        )
        before = start


def _read_annotations(read, found, made, packet_label):
    made.annotations = read.objects(found, "annotations")
    for number, one in enumerate(made.annotations):
        place = f"annotation {number}"
        start = read.count(one, "core:sample_start", place)
        count = read.count(one, "core:sample_count", place, 0)
        if start + count > made.samples:
            read.fail(
                f"{place} ends at sample {start + count}, but {made.data.name} ends after "
                f"{made.samples}"
            )
        if one.get("core:label") == packet_label and count:
            made.packets.append((start, count))
    made.packets.sort()
    for (start, count), (after, _) in zip(made.packets, made.packets[1:]):
        if start + count > after:
            read.fail(
                f"the packet at sample {after} begins within the one at {start}: packets "
                "can't lie over each other"
            )


def read_samples(path):
    """(complex64 samples, the recording). Raises SigmfError as read_metadata."""
    found = read_metadata(path)
    form = FORMATS[found.datatype]
    return form.to_samples(np.fromfile(found.data, form.dtype)), found


def _metadata(datatype, sample_rate, captures, packets, label, about):
    described = {
        "core:datatype": datatype,
        "core:version": VERSION,
        "core:num_channels": 1,
    }
    if sample_rate:
        described["core:sample_rate"] = float(sample_rate)
    described.update({"core:" + name: text for name, text in about.items() if text})
    lines = []
    for one in captures or [capture(0)]:
        line = {"core:sample_start": int(one.start)}
        if one.frequency is not None:
            line["core:frequency"] = float(one.frequency)
        if one.time is not None:
            line["core:datetime"] = text_of(one.time)
        lines.append(line)
    notes = [
        {
            "core:sample_start": int(start),
            "core:sample_count": int(count),
            "core:label": label,
        }
        for start, count in packets
    ]
    return {"global": described, "captures": lines, "annotations": notes}


def _write_metadata(path, content):
    """All of it or nothing, also where the disk is full."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")
    os.replace(beside, path)


def _checked_type(datatype):
    if datatype not in FORMATS:
        raise ValueError(f'datatype "{datatype}" is none of {", ".join(FORMATS)}')
    return FORMATS[datatype]


def write_samples(
    path,
    samples,
    sample_rate=None,
    datatype="cf32_le",
    captures=(),
    packets=(),
    packet_label=PACKET_LABEL,
    **about,
):
    """Writes complex samples and what is known of them; `about` are texts such as description,
    author, hw. Gives the number of parts that were beyond full scale and clipped."""
    form = _checked_type(datatype)
    meta, data = _paths(path)
    raw, clipped = form.from_samples(np.asarray(samples).ravel())
    raw.tofile(data)
    _write_metadata(
        meta, _metadata(datatype, sample_rate, captures, packets, packet_label, about)
    )
    return clipped


class sigmf_source(gr.sync_block):
    """Plays a recording: complex samples with the tags rx_rate, rx_freq and rx_time on captures,
    and a length tag on each packet.

    file: either file of the recording, or its name without suffix. repeat: begins again at the
    end, with all tags. packet_label: of the annotations that are packets; length_tag_key: of their
    tags, empty for none. Raises SigmfError (a ValueError) as read_metadata."""

    def __init__(
        self, file, repeat=False, length_tag_key="packet_len", packet_label=PACKET_LABEL
    ):
        gr.sync_block.__init__(self, "sigmf_source", None, [np.complex64])
        self.recording = found = read_metadata(file, packet_label)
        self._form = FORMATS[found.datatype]
        self._repeat = bool(repeat) and found.samples > 0
        self._raw = None
        self._next = 0
        tags = []
        if found.sample_rate:
            tags.append((0, "rx_rate", pmt.from_double(found.sample_rate)))
        for one in found.captures:
            if one.frequency is not None:
                tags.append((one.start, "rx_freq", pmt.from_double(one.frequency)))
            if one.time is not None:
                whole, part = one.time
                time = pmt.make_tuple(pmt.from_uint64(whole), pmt.from_double(part))
                tags.append((one.start, "rx_time", time))
        if length_tag_key:
            for start, count in found.packets:
                tags.append((start, length_tag_key, pmt.from_long(count)))
        tags.sort(key=lambda tag: tag[0])
        self._tags = [(item, pmt.intern(key), value) for item, key, value in tags]
        self._tag_items = np.array([item for item, _, _ in self._tags], np.int64)

    def start(self):
        self._next = 0
        if self.recording.samples:
            self._raw = np.memmap(self.recording.data, self._form.dtype, "r")
        return super().start()

    def stop(self):
        self._raw = None
        return super().stop()

    def work(self, input_items, output_items):
        out = output_items[0]
        if self._next == self.recording.samples and self._repeat:
            self._next = 0
        count = min(len(out), self.recording.samples - self._next)
        if count == 0:
            return -1  # the end
        first, last = self._next, self._next + count
        raw = self._raw[2 * first : 2 * last]
        if len(raw) < 2 * count:
            gr.log.error(f"{self.recording.data}: the file became shorter")
            return -1
        out[:count] = self._form.to_samples(np.asarray(raw))
        begin, end = np.searchsorted(self._tag_items, (first, last))
        for item, key, value in self._tags[begin:end]:
            self.add_item_tag(0, self.nitems_written(0) + item - first, key, value)
        self._next = last
        return count


class sigmf_sink(gr.sync_block):
    """Records complex samples: a capture from each tag rx_time or rx_freq on, an annotation for
    each packet that a length tag tells of.

    file: either file of the recording, or its name without suffix; both are written anew.
    sample_rate: in Hz; 0: from the tag rx_rate. datatype: a name of FORMATS; samples beyond full
    scale (1) are clipped and counted. description, author, hw: texts for the metadata, which are
    complete when the flowgraph has stopped, and describe the data in type and rate from its start.
    Raises ValueError for another datatype, OSError where the files can't be written."""

    def __init__(
        self,
        file,
        sample_rate=0,
        datatype="cf32_le",
        length_tag_key="packet_len",
        packet_label=PACKET_LABEL,
        description="",
        author="",
        hw="",
    ):
        gr.sync_block.__init__(self, "sigmf_sink", [np.complex64], None)
        if not 0 <= sample_rate < math.inf:
            raise ValueError(f"sample_rate {sample_rate} is not 0 or more")
        self._form = _checked_type(datatype)
        self._meta, self._data = _paths(file)
        self._data.open("ab").close()  # says early what can't be written
        self._datatype, self._given_rate, self._label = (
            datatype,
            sample_rate,
            packet_label,
        )
        self._about = {"description": description, "author": author, "hw": hw}
        self._key = pmt.intern(length_tag_key) if length_tag_key else None
        self._file = None
        self._clear()

    def _clear(self):
        self._captures, self._packets = {}, []
        self._rate = self._given_rate
        self._written = self._clipped = 0

    def clipped(self):
        """Real and imaginary parts that were beyond full scale, or NaN."""
        return self._clipped

    def samples(self):
        """Written since the start."""
        return self._written

    def _describe(self):
        captures = [self._captures[item] for item in sorted(self._captures)]
        if captures and captures[0].start > 0:
            captures.insert(0, capture(0))
        # A packet that the end has cut is none.
        whole = [(s, n) for s, n in self._packets if s + n <= self._written]
        _write_metadata(
            self._meta,
            _metadata(
                self._datatype, self._rate, captures, whole, self._label, self._about
            ),
        )

    def start(self):
        self._clear()
        self._file = open(self._data, "wb")
        self._describe()
        return super().start()

    def stop(self):
        if self._file:
            self._file.close()
            self._file = None
            self._describe()
        if self._clipped:
            gr.log.warn(f"{self._data}: {self._clipped} numbers beyond full scale")
        return super().stop()

    def _heed(self, tag):
        name = pmt.symbol_to_string(tag.key)
        if name in ("rx_time", "rx_freq"):
            here = self._captures.setdefault(tag.offset, capture(tag.offset))
            if name == "rx_freq" and pmt.is_number(tag.value):
                here.frequency = pmt.to_double(tag.value)
            elif name == "rx_time":
                try:
                    whole, part = pmt.to_python(tag.value)
                    here.time = (int(whole), float(part))
                except (TypeError, ValueError):
                    gr.log.warn(f"a tag rx_time at item {tag.offset} is no time")
            # A capture says all that holds from it on.
            earlier = [c for c in self._captures.values() if c.start < tag.offset]
            if here.frequency is None and earlier:
                here.frequency = max(earlier, key=lambda c: c.start).frequency
        elif name == "rx_rate" and not self._given_rate and pmt.is_number(tag.value):
            rate = pmt.to_double(tag.value)
            if self._rate and rate != self._rate:
                gr.log.warn(f"the rate changes to {rate}: a recording has one alone")
            self._rate = self._rate or rate
        elif self._key is not None and pmt.eqv(tag.key, self._key):
            if pmt.is_integer(tag.value) and pmt.to_long(tag.value) > 0:
                self._packets.append((tag.offset, pmt.to_long(tag.value)))

    def work(self, input_items, output_items):
        samples = input_items[0]
        first = self.nitems_read(0)
        for tag in self.get_tags_in_range(0, first, first + len(samples)):
            self._heed(tag)
        raw, clipped = self._form.from_samples(samples)
        try:
            raw.tofile(self._file)
        except OSError as problem:
            gr.log.error(f"{self._data}: {problem}: the recording ends here")
            return -1
        self._clipped += clipped
        self._written += len(samples)
        return len(samples)
