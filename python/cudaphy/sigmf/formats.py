# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples and times of SigMF: every datatype of version 1.2, and times in UTC."""

import datetime
import re
from dataclasses import dataclass

import numpy as np

_YEAR_1970 = datetime.datetime(1970, 1, 1)
_PIECE = 1 << 18  # numbers that are converted at a time, while they are in the cache


@dataclass(frozen=True)
class sample_format:
    """A datatype. Integers have full scale 1; real samples have no imaginary part."""

    dtype: str
    scale: float = 1
    middle: float = 0
    is_complex: bool = True

    @property
    def numbers(self):
        """Of one sample."""
        return 2 if self.is_complex else 1

    @property
    def sample_bytes(self):
        return self.numbers * np.dtype(self.dtype).itemsize

    @property
    def _between(self):
        """float32 has too few bits for integers of 32."""
        return np.float64 if np.dtype(self.dtype).itemsize > 2 else np.float32

    @property
    def is_as_in_memory(self):
        """Whether samples in the file are complex64 already."""
        return self.is_complex and np.dtype(self.dtype) == np.float32

    def to_samples(self, raw):
        """The complex64 samples that an array of `dtype` holds."""
        if self.is_as_in_memory:
            return raw.view(np.complex64)
        if np.dtype(self.dtype).kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                parts = raw.astype(np.float32)
        else:
            parts = raw.astype(self._between)
            if self.middle:
                parts -= self._between(self.middle)
            parts *= self._between(1 / self.scale)  # a power of 2: exact
            parts = parts.astype(np.float32, copy=False)
        return parts.view(np.complex64) if self.is_complex else parts.astype(np.complex64)

    def from_samples(self, samples):
        """(raw numbers, the number of clipped ones)"""
        parts = np.ascontiguousarray(samples, np.complex64).view(np.float32)
        if np.dtype(self.dtype).kind == "f":
            return parts.astype(self.dtype, copy=False), 0
        raw, clipped = np.empty(parts.shape, self.dtype), 0
        for first in range(0, len(parts), _PIECE):
            piece = slice(first, first + _PIECE)
            raw[piece], beyond = self._rounded(parts[piece])
            clipped += beyond
        return raw, clipped

    def _rounded(self, parts):
        limits = np.iinfo(self.dtype)
        clipped = np.count_nonzero(np.isnan(parts))
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = np.nan_to_num(parts, nan=0, posinf=np.inf, neginf=-np.inf)
            wanted = wanted.astype(self._between, copy=False) * self._between(self.scale)
            wanted = np.rint(wanted) + self._between(self.middle)
        clipped += np.count_nonzero((wanted < limits.min) | (wanted > limits.max))
        return np.clip(wanted, limits.min, limits.max), int(clipped)


def _all_formats():
    made = {}
    for kind in "cr":
        for order, suffix in (("<", "_le"), (">", "_be")):
            for width in (32, 64):
                made[f"{kind}f{width}{suffix}"] = sample_format(
                    f"{order}f{width // 8}", is_complex=kind == "c"
                )
            for width in (16, 32, 8):
                end = suffix if width > 8 else ""
                half = 2.0 ** (width - 1)
                for sign, middle in (("i", 0), ("u", half)):
                    made[f"{kind}{sign}{width}{end}"] = sample_format(
                        f"{order}{sign}{width // 8}", half, middle, kind == "c"
                    )
    return made


FORMATS = _all_formats()
# The datatypes that a sink of complex samples can write.
COMPLEX_FORMATS = tuple(name for name, one in FORMATS.items() if one.is_complex)


def format_of(name):
    """The format of a datatype's name. Raises ValueError for an unknown name. SigMF's
    schema lets single bytes name an order of bytes, which means nothing."""
    known = name
    if isinstance(name, str) and re.fullmatch(r"[cr][iu]8_[lb]e", name):
        known = name[:3]
    if not isinstance(known, str) or known not in FORMATS:
        kinds = "cf32_le, ci16_le, ci8, cu8 and their like: c or r, f, i or u, bits, _le or _be"
        raise ValueError(f"is none of {kinds}")
    return FORMATS[known]


_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?"
    r"(?: ?(?:(?:[+-]00:?00)?[Zz]|([+-])(\d\d)(?::?(\d\d))?))?",
    re.ASCII,
)


def has_zone(text):
    """Whether a time names UTC, or its distance from UTC."""
    return re.search(r"([Zz]|[+-]\d\d(:?\d\d)?)$", text.partition(":")[2]) is not None


def time_of(text):
    """(whole seconds since 1970, fraction of at least 0) of an ISO 8601 time, in UTC where no zone
    is named; seconds are negative before 1970. Second 60, such as a leap second, is the next
    minute's second 0, as in all times that count from 1970. Raises ValueError."""
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise ValueError("is no time such as 2026-01-31T12:00:00.25Z")
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    try:
        when = datetime.datetime(year, month, day, hour, minute, min(second, 59))
        if second > 60 or (found[9] and int(found[10] or 0) > 59):
            raise ValueError
        seconds = (when - _YEAR_1970) // datetime.timedelta(seconds=1) + second // 60
        if found[8]:
            east = int(found[9]) * 3600 + int(found[10] or 0) * 60
            seconds -= east if found[8] == "+" else -east
        text_of((seconds, 0.0))
    except (ValueError, OverflowError):
        raise ValueError("is no time between the years 1 and 9999") from None
    # With many digits the nearest number may be 1 itself.
    return seconds, min(float("0." + (found[7] or "0")[:40]), 1 - 2.0**-53)


def text_of(time):
    """The ISO 8601 text of (whole seconds since 1970, fraction), to the nanosecond. Raises ValueError
    for what is no such time, or not in the years 1 to 9999."""
    seconds, part = time
    if not 0 <= part < 1:
        raise ValueError(f"{time!r} is no time: the fraction is not in 0 to 1")
    nanoseconds = min(round(part * 1e9), 10**9 - 1)
    try:
        when = _YEAR_1970 + datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError(f"{time!r} is not in the years 1 to 9999") from None
    return f"{when.isoformat(timespec='seconds')}.{nanoseconds:09d}Z"
