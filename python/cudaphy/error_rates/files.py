# SPDX-License-Identifier: GPL-3.0-or-later
"""Error-rate curves in CSV files: a line a point, and any number of curves in a file. A
line is added when a point ends, so that an interrupted run loses nothing.

A crash or a full disk can tear the last line. A torn line is left out with a warning, and
the next point replaces it. A line is whole if it has all columns and ends with a line
feed."""

import contextlib
import csv
import dataclasses
import fcntl
import io
import math
import os
import stat
import warnings
from pathlib import Path

from .simulation import error_rate_point

IDENTITY = ("code", "constellation", "demapper", "decoder", "data")
COUNTS = {
    "eb_n0_db": float,
    "es_n0_db": float,
    "frames": int,
    "bits": int,
    "frame_errors": int,
    "bit_errors": int,
    "bit_errors_squared": int,
    "undetected_errors": int,
    "iterations": int,
    "seconds": float,
    "slices": int,
}
RATES = (
    "frame_error_rate",
    "frame_error_rate_low",
    "frame_error_rate_high",
    "bit_error_rate",
    "bit_error_rate_low",
    "bit_error_rate_high",
    "mean_iterations",
)
RUN = ("backend", "seed", "batch")
MOST = 10**18  # of what is counted
COLUMNS = (*IDENTITY, *COUNTS, *RATES, *RUN)
HEAD = ",".join(COLUMNS).encode() + b"\n"
LONGEST_HEAD = 1 << 16


@dataclasses.dataclass
class curve:
    """Points of one link. identity: the simulated link, by the names of IDENTITY. points:
    {Es/N0 in dB, rounded to six decimals: (point, seed, batch)}, from the last line of
    each."""

    identity: dict
    points: dict = dataclasses.field(default_factory=dict)

    def sorted_points(self):
        return [self.points[key][0] for key in sorted(self.points)]

    def known(self, seed, batch, enough):
        """The points that a run may use: those for which enough(point) holds, and those
        that a run with this seed and batch can continue."""
        return [
            point
            for point, of_seed, of_batch in self.points.values()
            if enough(point) or (of_seed, of_batch) == (seed, batch)
        ]


def identity_of(simulation):
    """The identity of an error_rate_simulation for a file: texts without line feeds."""
    texts = [" ".join(text.split()) for text in simulation.identity()]
    return dict(zip(IDENTITY, texts))


def read_curves(path):
    """The curves of a file, in the order of their first points; a torn last line is left out, with
    a warning.

    Raises OSError, and ValueError with the line of a file that is none of error rates.
    """
    with open(path, "rb") as file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_SH)
        content = file.read(LONGEST_HEAD)
        if b"\n" in content:
            content += file.read()
    head, *lines = _whole_lines(path, content)[0] or [COLUMNS]
    found = {}
    missing = [name for name in COLUMNS if name not in head]
    if missing:
        raise _not_ours(path, 1, f"there is no column {missing[0]}")
    for number, cells in enumerate(lines, 2):
        try:
            if len(cells) not in (0, len(head)):
                raise ValueError(f"there are {len(cells)} columns, not {len(head)}")
            if cells:
                _add_row(found, dict(zip(head, cells)))
        except ValueError as problem:
            raise _not_ours(path, number, problem) from None
    return list(found.values())


def _whole_lines(path, content):
    """The cells of a file's whole lines, and the bytes of these lines: all but a torn end."""
    # A disk that loses power may leave zeros in place of the last data.
    *lines, rest = content.rstrip(b"\0").split(b"\n")
    if not lines and (not HEAD.startswith(rest) or len(content) == LONGEST_HEAD):
        raise _not_ours(path, 1, "it does not begin with the columns' names")
    cells = []
    for number, line in enumerate(lines, 1):
        try:
            cells += list(csv.reader([line.decode()])) or [[]]
        except (UnicodeDecodeError, csv.Error) as problem:
            raise _not_ours(path, number, problem) from None
    if len(lines) > 1 and (b"\0" in lines[-1] or 0 < len(cells[-1]) < len(cells[0])):
        del lines[-1], cells[-1]
    whole = sum(len(line) + 1 for line in lines)
    if whole < len(content):
        text = f"{path}: the last line is torn: {len(content) - whole} bytes are left out"
        warnings.warn(text, stacklevel=3)
    for number, line in enumerate(lines, 1):
        if b"\0" in line:
            raise _not_ours(path, number, "there are zero bytes; remove this line")
    return cells, whole


def _not_ours(path, number, problem):
    text = f"{path}, line {number}: not a file of error rates: {_short(problem)}"
    return ValueError(text)


def _short(problem):
    """The text of an error, in which a long line is shortened."""
    text = str(problem)
    return text if len(text) <= 200 else text[:200] + " ..."


def _add_row(found, row):
    values = {name: kind(row[name]) for name, kind in COUNTS.items()}
    for name, value in values.items():
        least = -MOST if name.endswith("_db") else 0
        if not least <= value <= MOST:
            raise ValueError(f"{name} is {row[name]}")
    point = error_rate_point(**values)
    if point.frame_errors > point.frames or point.bit_errors > point.bits:
        raise ValueError("there are more errors than frames or bits")
    identity = {name: row[name] for name in IDENTITY}
    one = found.setdefault(tuple(identity.values()), curve(identity))
    key = round(point.es_n0_db, 6)
    seed, batch = int(row["seed"]), int(row["batch"])
    if seed < 0 or batch < 1:
        raise ValueError(f"seed is {seed}, batch is {batch}")
    one.points[key] = (point, seed, batch)


def read_curve(path, identity):
    """The curve of this identity in a file; an empty one if the file has none, or there is no file."""
    if not Path(path).exists() or Path(path).stat().st_size == 0:
        return curve(identity)
    for one in read_curves(path):
        if one.identity == identity:
            return one
    return curve(identity)


def append_point(path, simulation, point):
    """Adds a line to a file, which is made with its head if there is no file. Processes that add to one
    file wait for each other. A torn last line is removed with a warning.

    Raises OSError, and then the file has no part of the line. Raises ValueError if the
    file is not one of error rates.
    """
    low, high = point.frame_error_interval
    bit_low, bit_high = point.bit_error_interval
    row = {**identity_of(simulation), **dataclasses.asdict(point)}
    row.update(zip(RATES[:3], (point.frame_error_rate, low, high)))
    row.update(zip(RATES[3:6], (point.bit_error_rate, bit_low, bit_high)))
    row["mean_iterations"] = point.mean_iterations
    row.update(zip(RUN, (simulation.backend, simulation.seed, simulation.batch)))
    line = io.StringIO()
    csv.DictWriter(line, COLUMNS, lineterminator="\n").writerow(
        {k: f"{v:.6g}" if k in RATES or k == "seconds" else v for k, v in row.items()}
    )
    with open(path, "ab+", buffering=0) as file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            _write(file, HEAD + line.getvalue().encode())
            return
        file.seek(0)
        content = file.read(LONGEST_HEAD)
        if b"\n" in content:
            content += file.read()
        cells, whole = _whole_lines(path, content)
        if cells and cells[0] != list(COLUMNS):
            raise ValueError(
                f"{path} is not a file of error rates, or of another version"
            )
        if whole < len(content):
            file.truncate(whole)
        try:
            _write(file, (b"" if cells else HEAD) + line.getvalue().encode())
            os.fsync(file.fileno())
        except OSError as problem:
            file.truncate(whole)
            raise OSError(problem.errno, problem.strerror, str(path)) from None


def _write(file, data):
    """One call writes all, unless a disk fills up or a signal comes."""
    while data:
        data = data[file.write(data) :]


@dataclasses.dataclass
class reference:
    """A published curve. code, constellation, decoder, source: text; points: (Eb/N0 in dB, frame
    error rate, whether it is only an upper bound)."""

    path: Path
    code: str = ""
    constellation: str = "bpsk"
    decoder: str = ""
    source: str = ""
    points: list = dataclasses.field(default_factory=list)


def read_reference(path):
    """A published curve from a file: lines "# code: ...", "# constellation: ...", "# decoder: ..."
    and "# source: ...", then the columns eb_n0_db, frame_error_rate and, where needed, bound.

    Raises OSError, and ValueError with the line that is wrong.
    """
    found = reference(Path(path))
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    head = None
    for number, line in enumerate(lines, 1):
        try:
            if line.startswith("#"):
                name, _, text = line[1:].partition(":")
                name = name.strip()
                if name not in ("code", "constellation", "decoder", "source"):
                    raise ValueError(f'"{name}" is not known')
                setattr(found, name, text.strip())
            elif head is None:
                head = line.split(",")
                if head[:2] != ["eb_n0_db", "frame_error_rate"]:
                    raise ValueError("expected eb_n0_db,frame_error_rate")
            elif line:
                eb_n0, rate, *bound = line.split(",")
                good = 0 < float(rate) <= 1 and math.isfinite(float(eb_n0))
                if not good or bound not in ([], [""], ["upper"]):
                    raise ValueError(f'"{line}"')
                found.points.append((float(eb_n0), float(rate), bound == ["upper"]))
        except ValueError as problem:
            raise ValueError(f"{path}, line {number}: {_short(problem)}") from None
    if not (found.code and found.source and found.points):
        raise ValueError(f"{path}: a code, a source and points are needed")
    return found
