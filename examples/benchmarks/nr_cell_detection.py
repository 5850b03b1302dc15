#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often nr_cell_search finds a cell, and reads its MIB and SIB1, at each SNR; and what it finds in noise.

White noise, any of the 1008 cells, any time, and frequency offsets up to a subcarrier. The signals are those of
python/cudaphy/tests/qa_support/nr_cell_signal.py."""

import argparse
import functools
import multiprocessing
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/cudaphy/tests"))

import link_tools  # noqa: E402
from gnuradio import cudaphy  # noqa: E402
from qa_support import nr_cell_signal as signal  # noqa: E402

SCS = 30000
SIB1 = bytes(range(1, 41))


def trial(snr_db, seed, with_sib1):
    """(found, MIB, SIB1, wrong cells, frequency error in subcarriers, time error in samples)."""
    chance = np.random.default_rng(seed)
    cell = signal.Cell(cell=int(chance.integers(1008)), sib1=SIB1, mcs=1)
    rate = 15.36e6 if with_sib1 else 7.68e6
    seconds = 8e-3 if with_sib1 else 3e-3
    start, offset = chance.uniform(0, 1e-3) * rate, chance.uniform(-1, 1) * SCS
    reference = 3.5e9 + 15e3 * chance.integers(1000)
    samples = signal.broadcast(
        cell,
        int(seconds * rate),
        rate,
        frame=2 * int(chance.integers(512)),  # SIB1 comes in even frames
        frame_start=start,
        reference=reference,
        offset=offset,
        with_sib1=with_sib1,
        frames=1,
    )
    noisy = signal.with_noise(samples, snr_db, SCS, rate, seed + 1)
    cells = cudaphy.nr_cell_search(
        noisy,
        rate,
        ssb_frequency=0,
        center_frequency=reference,
        subcarrier_spacing=SCS,
        sib1=with_sib1,
    )
    right = [c for c in cells if c.cell_id == cell.cell]
    wrong = len(cells) - len(right)
    if not right:
        return 0, 0, 0, wrong, np.nan, np.nan
    got = right[0]
    mib = got.mib is not None and got.mib.subcarrier_offset == cell.k_ssb
    sent = start + signal.symbol_start(2, SCS)[0] * rate
    return (
        1,
        int(mib),
        int(got.sib1[: len(SIB1)] == SIB1),
        wrong,
        (got.frequency_offset - offset) / SCS,
        (got.sample - sent) * 256 * SCS / rate,
    )


def false_alarms(seed, seconds=20e-3, rate=7.68e6):
    """Cells that are found in white noise."""
    chance = np.random.default_rng(seed + 10**6)
    noise = chance.standard_normal((int(seconds * rate), 2)) @ [1, 1j]
    return len(cudaphy.nr_cell_search(noise, rate, subcarrier_spacing=SCS))


def begin_worker(cores):
    """A process keeps to a core, so that a search takes one thread."""
    os.sched_setaffinity(0, {cores.get()})


def processes(count):
    """A pool of processes, each on a core of its own while there are enough."""
    allowed = sorted(os.sched_getaffinity(0))
    cores = multiprocessing.Queue()
    for i in range(count):
        cores.put(allowed[i % len(allowed)])
    return multiprocessing.Pool(count, begin_worker, (cores,))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snr", type=link_tools.number_list, default="-12:2:1")
    parser.add_argument("--trials", type=link_tools.count, default=1000)
    parser.add_argument("--noise", type=int, default=1000, help="searches of 20 ms noise")
    parser.add_argument("--no-sib1", action="store_true")
    parser.add_argument("--processes", type=link_tools.count, default=os.cpu_count())
    how = parser.parse_args()
    with processes(how.processes) as pool:
        measure(how, pool)
    return True


def measure(how, pool):
    levels = how.snr if isinstance(how.snr, list) else link_tools.number_list(how.snr)
    print(
        "SNR/dB  found   MIB     SIB1    wrong  frequency  time (rms: subcarriers, 1/256 symbols)"
    )
    for snr_db in levels:
        first = int(1000 * (snr_db + 50)) * 10**5
        one = functools.partial(trial, snr_db, with_sib1=not how.no_sib1)
        rows = np.array(pool.map(one, range(first, first + how.trials), 10))
        found, mib, sib1 = rows[:, :3].mean(0)
        errors = rows[rows[:, 1] > 0, 4:] if mib else np.full((1, 2), np.nan)
        frequency, time = np.sqrt((errors**2).mean(0))
        print(
            f"{snr_db:6.1f}  {found:.3f}   {mib:.3f}   {sib1:.3f}   {int(rows[:, 3].sum()):5d}"
            f"  {frequency:9.4f}  {time:.3f}",
            flush=True,
        )
    if how.noise > 0:
        found = sum(pool.map(false_alarms, range(how.noise), 10))
        print(f"noise: {found} cells in {how.noise} searches of 20 ms")


if __name__ == "__main__":
    link_tools.main(main)
