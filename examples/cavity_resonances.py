#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resonances of a conducting box, found by full-wave simulation and held against theory.

Short pulse at one place -> Maxwell's equations in matrix form, step by step -> the field at another place
-> its spectrum -> peaks. The box resonates at (c/2) sqrt((m/a)^2 + (n/b)^2 + (p/d)^2), at most one of m, n, p being
zero (Pozar, Microwave Engineering, section 6.3). The grid has resonances of its own, which are known exactly:
sin(pi f dt) = c dt sqrt(sum of [sin(m pi D / 2a) / D]^2 over the axes) with cells D (Taflove and Hagness,
Computational Electrodynamics, section 4.3): to these the peaks must be true within a fraction of the
spectrum's resolution, and to the box's within what the cells allow."""

import itertools

import link_tools
import numpy as np
from gnuradio import cudaphy

LIGHT = 299792458.0
SIZE = (60e-3, 50e-3, 40e-3)  # metres
CELLS = (24, 20, 16)
STEPS, QUICK_STEPS = 1 << 17, 1 << 14
SOURCE, PROBE = (0.13, 0.17, 0.21), (0.81, 0.77, 0.68)  # parts of the box
FIELDS = ("ex", "ey", "ez")
# A window of four terms: half the width of its main lobe in units of 1 / (time observed), and its
# sidelobes (Harris, Proc. IEEE 66(1), 1978).
WINDOW = (0.35875, 0.48829, 0.14128, 0.01168)
LOBE, FLOOR_DB = 4, -85
NEAR = 0.01  # of that unit: how well a peak's place is found


def half_waves(limit):
    """(m, n, p) that a box supports, up to so many half waves along each axis."""
    for numbers in itertools.product(*(range(most + 1) for most in limit)):
        if numbers.count(0) <= 1:
            yield numbers


def box_resonance(numbers, size):
    """Hz, in the box."""
    return LIGHT / 2 * np.sqrt(sum((m / a) ** 2 for m, a in zip(numbers, size)))


def grid_resonance(numbers, size, cells, time_step):
    """Hz, on the grid."""
    parts = [np.sin(m * np.pi / (2 * n)) * n / a for m, a, n in zip(numbers, size, cells)]
    return np.arcsin(LIGHT * time_step * np.hypot.reduce(parts)) / (np.pi * time_step)


def resonances(size, cells, time_step, highest, resolved):
    """[(modes, Hz of the box, Hz of the grid)] up to the highest frequency, ascending; modes
    that lie closer together than `resolved` Hz are one."""
    limit = [min(int(2 * a * highest / LIGHT) + 1, n - 1) for a, n in zip(size, cells)]
    found = sorted(
        (grid_resonance(numbers, size, cells, time_step), numbers)
        for numbers in half_waves(limit)
    )
    groups = []
    for frequency, numbers in found:
        if frequency > highest:
            break
        if groups and frequency - groups[-1][-1][0] < resolved:
            groups[-1].append((frequency, numbers))
        else:
            groups.append([(frequency, numbers)])
    return [
        (
            [numbers for _, numbers in group],
            np.mean([box_resonance(numbers, size) for _, numbers in group]),
            [frequency for frequency, _ in group],
        )
        for group in groups
    ]


def simulate(size, cells, steps, highest, arguments, backend):
    """The fields at the probe, (steps, 3), and the time step in seconds."""
    spacing = [a / n for a, n in zip(size, cells)]
    sim = cudaphy.fdtd(
        cells,
        spacing,
        boundary="pec",
        dtype=arguments.dtype,
        format=arguments.format,
        backend=backend,
        device=arguments.device,
    )
    for field in FIELDS:
        sim.add_source([int(part * n) for part, n in zip(SOURCE, cells)], field)
        sim.add_probe([int(part * n) for part, n in zip(PROBE, cells)], field)
    # A Gaussian of which a tenth is left at the highest frequency, differentiated: without a
    # constant part, which would stay in the box as charge.
    spread = np.sqrt(2 * np.log(10)) / (2 * np.pi * highest)
    t = (np.arange(int(10 * spread / sim.time_step)) - 5 * spread / sim.time_step + 1) * (
        sim.time_step / spread
    )
    excitation = np.zeros((steps, len(FIELDS)), np.float32)
    excitation[: len(t)] = (-t * np.exp(-(t**2) / 2))[:, None]
    print(
        f"{cells[0]} x {cells[1]} x {cells[2]} cells, {steps} steps of {1e12 * sim.time_step:.3f} ps, "
        f"{arguments.dtype}, {sim.backend}"
    )
    seen = sim.step(excitation, progress=True)
    return seen[len(t) :].astype(np.float64), sim.time_step


class spectrum:
    """Amplitudes of records (steps, columns) over frequency, all columns together."""

    def __init__(self, records, time_step):
        count = len(records)
        turn = 2 * np.pi * (np.arange(count) + 0.5) / count
        window = sum(a * (-1) ** k * np.cos(k * turn) for k, a in enumerate(WINDOW))
        self.time_step = time_step
        self.resolution = 1 / (count * time_step)
        length = 4 * count
        self.frequencies = np.fft.rfftfreq(length, time_step)
        lines = np.fft.rfft(window[:, None] * records / count, length, axis=0)
        self.amplitudes = np.sqrt((np.abs(lines) ** 2).sum(1))

    def peaks(self, highest):
        """Hz of each local maximum above the sidelobes, by a parabola through the logarithms."""
        middle = self.amplitudes[1:-1]
        at = 1 + np.flatnonzero(
            (middle > self.amplitudes[:-2])
            & (middle >= self.amplitudes[2:])
            & (self.frequencies[1:-1] < highest)
        )
        at = at[self.amplitudes[at] > self.amplitudes.max() * 10 ** (FLOOR_DB / 20)]
        below, here, above = (np.log(self.amplitudes[at + d]) for d in (-1, 0, 1))
        shift = 0.5 * (below - above) / (below - 2 * here + above)
        step = self.frequencies[1]
        return self.frequencies[at] + shift * step


def compare_with_theory(size, cells, highest, seen):
    """Prints the table; gives its rows (modes, box, grid, found) and whether all is as it should be."""
    resolved = 2 * LOBE * seen.resolution
    expected = resonances(size, cells, seen.time_step, highest, resolved)
    peaks = seen.peaks(highest + resolved)
    rows = link_tools.table(
        f"resonances below {highest / 1e9:.2f} GHz, resolution {seen.resolution / 1e6:.2f} MHz",
        [
            ("mode", "s", 16),
            ("box GHz", ".5f", 9),
            ("grid GHz", ".6f", 10),
            ("found GHz", ".6f", 10),
            ("to grid, 1e-6", ".2f", 13),
            ("to box, %", ".3f", 9),
        ],
    )
    out, good, explained = [], True, np.zeros(len(peaks), bool)
    for modes, box, grid in expected:
        name = " ".join("".join(map(str, numbers)) for numbers in modes)
        name = name if len(name) <= 16 else name[:14] + ".."
        near = (peaks > grid[0] - resolved / 2) & (peaks < grid[-1] + resolved / 2)
        explained |= near
        middle = np.mean(grid)
        if not near.any():
            rows.row(name, box / 1e9, middle / 1e9, np.nan, np.nan, np.nan)
            good = link_tools.check(False, f"mode {name} is missing")
            continue
        found = peaks[near][np.abs(peaks[near] - middle).argmin()]
        off = found - middle
        rows.row(
            name,
            box / 1e9,
            middle / 1e9,
            found / 1e9,
            1e6 * off / middle,
            100 * (found / box - 1),
        )
        # Where lines merge, the peak lies anywhere between them.
        if abs(off) > NEAR * seen.resolution + grid[-1] - grid[0]:
            good = link_tools.check(False, f"mode {name} is {off / 1e3:.1f} kHz off")
        out.append((modes, box, middle, found))
    strangers = peaks[~explained & (peaks < highest)]
    good &= link_tools.check(
        len(strangers) == 0,
        f"{len(strangers)} peaks are no mode"
        + "".join(f", {peak / 1e9:.5f} GHz" for peak in strangers[:4]),
    )
    good &= link_tools.check(
        len(out) == len(expected) > 0, f"{len(out)} of {len(expected)} resonances found"
    )
    alone = [abs(found / grid - 1) for modes, _, grid, found in out if len(modes) == 1]
    if alone:
        print(f"single modes lie within {max(alone):.1e} of the grid's resonances")
    return out, good


def draw(rows, size, cells, highest, seen, arguments, backend):
    figure, (axis, below) = link_tools.styled_pyplot().subplots(
        2, 1, figsize=(10, 6.6), sharex=True, height_ratios=(2.2, 1)
    )
    shown = seen.frequencies < highest
    level = 20 * np.log10(seen.amplitudes[shown] / seen.amplitudes[shown].max() + 1e-9)
    axis.plot(seen.frequencies[shown] / 1e9, level, color=link_tools.BLUE, linewidth=0.8)
    for number, (modes, box, grid, _) in enumerate(rows):
        first = number == 0
        axis.axvline(
            box / 1e9,
            color=link_tools.ORANGE,
            linestyle="--",
            linewidth=0.8,
            label="resonance of the box" if first else None,
        )
        axis.plot(
            grid / 1e9,
            2,
            "v",
            color=link_tools.GREEN,
            markersize=4,
            label="exact resonance of the grid" if first else None,
        )
        if len(rows) <= 40:
            axis.text(
                grid / 1e9,
                5,
                " ".join("".join(map(str, numbers)) for numbers in modes[:2]),
                rotation=90,
                fontsize=6,
                ha="center",
                va="bottom",
            )
    axis.set(ylim=(-110, 26), ylabel="field at the probe (dB)")
    axis.set_xlim(0.9 * rows[0][2] / 1e9, highest / 1e9)
    axis.legend(loc="center left", fontsize=8)
    off = [(f / 1e9, 100 * (found / box - 1)) for _, box, f, found in rows]
    below.plot(*zip(*off), "o", color=link_tools.ORANGE, ms=4)
    below.set(xlabel="frequency (GHz)", ylabel="found to box (%)")
    figure.suptitle(
        f"Conducting box of {size[0] * 1e3:g} x {size[1] * 1e3:g} x {size[2] * 1e3:g} mm, "
        f"{cells[0]} x {cells[1]} x {cells[2]} cells, {arguments.dtype}, backend {backend}",
        fontsize=10,
    )
    link_tools.save(figure, arguments, "cavity_resonances.png")


def main():
    parser = link_tools.new_parser(__doc__)
    parser.add_argument(
        "--size",
        type=link_tools.number_list,
        default=SIZE,
        help="of the box, metres; default: 0.06,0.05,0.04",
    )
    parser.add_argument(
        "--cells",
        type=link_tools.number_list,
        default=CELLS,
        help="default: 24,20,16",
    )
    parser.add_argument("--steps", type=link_tools.count)
    parser.add_argument(
        "--highest", type=float, help="Hz; default: twice the lowest resonance, and 1 %%"
    )
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument(
        "--format",
        choices=("dictionary", "subdivided_crs", "crs", "diagonal"),
        default="dictionary",
    )
    arguments = parser.parse_args()
    size, cells = tuple(arguments.size), tuple(int(n) for n in arguments.cells)
    if len(size) != 3 or len(cells) != 3 or min(size) <= 0 or min(cells) < 4:
        raise ValueError(
            "a box has three sizes above 0, and at least 4 cells along each axis"
        )
    steps = arguments.steps or (QUICK_STEPS if arguments.quick else STEPS)
    lowest = min(box_resonance(numbers, size) for numbers in half_waves((1, 1, 1)))
    highest = arguments.highest or 2.01 * lowest
    backends = link_tools.chosen_backends(arguments)
    records = [
        simulate(size, cells, steps, highest, arguments, backend) for backend in backends
    ]
    seen = spectrum(*records[0])
    rows, good = compare_with_theory(size, cells, highest, seen)
    if len(records) == 2:
        off = np.abs(records[0][0] - records[1][0]).max() / np.abs(records[0][0]).max()
        good &= link_tools.check(
            off < (1e-9 if arguments.dtype == "float64" else 1e-3),
            f"{backends[0]} and {backends[1]} see the same fields within {off:.1e}",
        )
    if rows:
        draw(rows, size, cells, highest, seen, arguments, backends[0])
    return good


if __name__ == "__main__":
    link_tools.main(main)
