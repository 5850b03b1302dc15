# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings in SigMF (https://sigmf.org, version 1.2) as numpy arrays; sigmf_blocks.py has the blocks.

Samples are complex64; the data file holds cf32_le, ci16_le, ci8 or cu8, where integers are numbers of
full scale 1. Where there are several channels, such as a receiver's antennas, it holds a sample of each
in turn. A capture's frequency and time are the tags rx_freq and rx_time on its first sample; an
annotation with the packet's label is a packet, which carries a length tag."""

import datetime
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

VERSION = "1.2.0"
PACKET_LABEL = "packet"
MOST_CHANNELS = 64
HIGHEST_RATE, HIGHEST_FREQUENCY = 1e12, 1e15  # Hz


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
    samples: int  # of each channel
    sample_rate: float = None
    channels: int = 1
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
    """The ISO 8601 text of (whole seconds since 1970, fraction), to the nanosecond. Raises ValueError
    for what is no such time, or after the year 9999."""
    seconds, part = time
    if not (seconds >= 0 and 0 <= part < 1):
        raise ValueError(f"{time!r} is no time since 1970")
    nanoseconds = min(round(part * 1e9), 10**9 - 1)
    try:
        when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError(f"{time!r} is after the year 9999") from None
    return f"{when:%Y-%m-%dT%H:%M:%S}.{nanoseconds:09d}Z"


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
    those above, and metadata that the data belie."""
    meta, data = _paths(path)
    read = _reader(meta)
    found = read.load()
    about = found["global"]
    datatype = about.get("core:datatype")
    if not isinstance(datatype, str) or datatype not in FORMATS:
        read.fail(f"core:datatype {datatype!r} is none of {', '.join(FORMATS)}")
    channels = read.count(about, "core:num_channels", "global", 1)
    if not 1 <= channels <= MOST_CHANNELS:
        read.fail(f"core:num_channels {channels} is not in 1 to {MOST_CHANNELS}")
    rate = read.number(about, "core:sample_rate", HIGHEST_RATE)
    if rate is not None and rate <= 0:
        read.fail(f"core:sample_rate {rate} is not above 0")
    if "core:dataset" in about:
        name = about["core:dataset"]
        good = isinstance(name, str) and name.isprintable() and name not in ("", "..")
        if not good or Path(name).name != name:
            read.fail(f"core:dataset {name!r} is no name of a file in the same folder")
        data = meta.with_name(name)

    try:
        size = data.stat().st_size
    except OSError as problem:
        raise SigmfError(f"{data}: {problem.strerror}") from None
    if not data.is_file():
        raise SigmfError(f"{data}: is no file")
    sample_bytes = FORMATS[datatype].sample_bytes * channels
    if size % sample_bytes:
        of_each = f" of {channels} channels" if channels > 1 else ""
        raise SigmfError(
            f"{data}: {size} bytes are no whole number of samples of {sample_bytes} bytes "
            f"({datatype}{of_each}): the file is cut short, or of another type"
        )
    made = recording(data, datatype, size // sample_bytes, rate, channels, about=about)
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
            capture(start, read.number(one, "core:frequency", HIGHEST_FREQUENCY), time)
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
    """(complex64 samples, or of several channels (channels, samples); the recording). Raises
    SigmfError as read_metadata."""
    found = read_metadata(path)
    form = FORMATS[found.datatype]
    samples = form.to_samples(np.fromfile(found.data, form.dtype))
    if found.channels > 1:
        samples = np.ascontiguousarray(samples.reshape(-1, found.channels).T)
    return samples, found


def _metadata(datatype, channels, sample_rate, captures, packets, label, about):
    described = {
        "core:datatype": datatype,
        "core:version": VERSION,
        "core:num_channels": channels,
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


def _checked_channels(channels):
    if not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"channels {channels} is not in 1 to {MOST_CHANNELS}")
    return int(channels)


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
    """Writes complex samples, or (channels, samples), and what is known of them; `about` are texts
    such as description, author, hw. Gives the number of parts that were beyond full scale and
    clipped."""
    form = _checked_type(datatype)
    meta, data = _paths(path)
    samples = np.atleast_2d(samples)
    channels = _checked_channels(len(samples))
    raw, clipped = form.from_samples(samples.T.ravel())
    raw.tofile(data)
    known = (datatype, channels, sample_rate, captures, packets, packet_label, about)
    _write_metadata(meta, _metadata(*known))
    return clipped
