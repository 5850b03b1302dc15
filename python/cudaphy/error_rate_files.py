# SPDX-License-Identifier: GPL-3.0-or-later
"""Error-rate curves in CSV files: a line a point, any number of curves in a file, and added to
whenever a point ends, so that an interrupted run loses nothing."""

import csv
import dataclasses
import math
import os
from pathlib import Path

from .error_rates import error_rate_point

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


@dataclasses.dataclass
class curve:
    """Points of one link. identity: what was simulated, by the names of IDENTITY; points: (point,
    seed, batch) by Es/N0 in dB, rounded to six decimals, the last one written of each."""

    identity: dict
    points: dict = dataclasses.field(default_factory=dict)

    def sorted_points(self):
        return [self.points[key][0] for key in sorted(self.points)]

    def known(self, seed, batch, enough):
        """Points of which a run may make use: those for which enough(point) holds, and those
        that a run with this seed and batch can continue."""
        return [
            point
            for point, of_seed, of_batch in self.points.values()
            if enough(point) or (of_seed, of_batch) == (seed, batch)
        ]


def identity_of(simulation):
    """What an error_rate_simulation simulates, as a file names it."""
    return dict(zip(IDENTITY, simulation.identity()))


def read_curves(path):
    """The curves of a file, in the order of their first points.

    Raises OSError, and ValueError with the line of a file that is none of error rates.
    """
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        try:
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise ValueError(f"there is no column {missing[0]}")
            for row in rows:
                _add_row(found, row)
        except (ValueError, TypeError, UnicodeDecodeError, csv.Error) as problem:
            raise ValueError(
                f"{path}, line {rows.line_num}: not a file of error rates: {_short(problem)}"
            ) from None
    return list(found.values())


def _short(problem):
    """What is wrong, without all of a long line."""
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
    one.points[key] = (point, int(row["seed"]), int(row["batch"]))


def read_curve(path, identity):
    """The curve of this identity in a file; an empty one where there is none, or no file."""
    if not Path(path).exists() or Path(path).stat().st_size == 0:
        return curve(identity)
    for one in read_curves(path):
        if one.identity == identity:
            return one
    return curve(identity)


def append_point(path, simulation, point):
    """Adds a line to a file, which is made with its head where there is none.

    Raises OSError; ValueError where the file is another one than of error rates.
    """
    low, high = point.frame_error_interval
    bit_low, bit_high = point.bit_error_interval
    row = {**identity_of(simulation), **dataclasses.asdict(point)}
    row.update(zip(RATES[:3], (point.frame_error_rate, low, high)))
    row.update(zip(RATES[3:6], (point.bit_error_rate, bit_low, bit_high)))
    row["mean_iterations"] = point.mean_iterations
    row.update(zip(RUN, (simulation.backend, simulation.seed, simulation.batch)))
    with open(path, "a+", newline="", encoding="utf-8") as file:
        file.seek(0)
        head = file.readline()
        if head and head.strip().split(",") != list(COLUMNS):
            raise ValueError(
                f"{path} is not a file of error rates, or of another version"
            )
        file.seek(0, os.SEEK_END)
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not head:
            writer.writeheader()
        writer.writerow(
            {k: f"{v:.6g}" if k in RATES or k == "seconds" else v for k, v in row.items()}
        )


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
