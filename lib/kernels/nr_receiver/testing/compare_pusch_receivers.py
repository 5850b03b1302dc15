#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block error rates of PUSCH with estimated channels: this project's receiver beside Sionna's, on equal slots.

Needs sionna-no-rt and this module's wheel in one environment. Sionna sends the slots (PUSCHTransmitter), has them
go over TDL channels (3GPP TR 38.901, section 7.7.2, antennas independent), and receives them: PUSCHReceiver with
least squares, linear interpolation, LMMSE, 20 iterations, and the noise variance known. Processes beside it receive the
same slots by nr_pusch_receive, with MMSE estimates and with least squares, which know channel and numbering alone.

    compare_pusch_receivers.py [--slots N] [--device cuda:0] [--only TEXT] [--json FILE]

--also timed: Sionna's receiver once more, the channel's mean delay taken out of its slots before.
--also lmmse: Sionna's PUSCHLMMSEChannelEstimator, told the channel's true covariances over frequency and time.

A line tells of a scenario and a receiver: SNR:block error rate, and the SNR of BLER 0.1 with an interval of 95 %
(bootstrap over slots). Gains are over Sionna's receiver, intervals of differences on equal slots.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

CARRIER = 3.5e9  # Hz
SPACING = 30e3
PRBS = 24
SLOT = 3
MCS = {"qam16": 13, "qam64": 20}  # rates 0.48 and 0.55, table 5.1.3.1-1
PROFILES = (("A", 30e-9), ("C", 300e-9))
WAYS = {"mmse": {}, "ls": {"estimator": "ls"}}
# Lowest SNR (dB) of this module's points, 1 dB apart, by profile, antennas and modulation.
LOWEST = {
    ("A", 2, "qam16"): 10,
    ("A", 2, "qam64"): 17,
    ("A", 4, "qam16"): 7,
    ("A", 4, "qam64"): 15,
    ("C", 2, "qam16"): 8,
    ("C", 2, "qam64"): 14,
    ("C", 4, "qam16"): 6,
    ("C", 4, "qam64"): 14,
}
POINTS = 7
FURTHEST = 10  # dB above the lowest, where the search for Sionna's BLER 0.1 ends


def scenarios():
    for (profile, spread), antennas, modulation, speed in itertools.product(
        PROFILES, (2, 4), MCS, (3, 30)
    ):
        name = f"TDL-{profile} {spread * 1e9:.0f} ns {antennas}x{antennas} {modulation} {speed} km/h"
        yield name, profile, spread, antennas, modulation, speed


# --- this module's receiver, in processes of their own


def begin_worker(numbers, backend):
    """Each process on a core of its own: a slot then takes one thread."""
    global BACKEND
    BACKEND = backend
    os.sched_setaffinity(0, {numbers.get()})


def receive(folder, antennas, modulation, snrs, first, last):
    """Wrong blocks: way -> (SNRs, slots) bool."""
    try:
        import cudaphy
    except ImportError:
        from gnuradio import cudaphy

    channel = cudaphy.nr_shared_channel(
        "pusch",
        grid_size=PRBS,
        layers=antennas,
        mcs=MCS[modulation],
        dmrs_additional_position=1,
        n_id=1,
        dmrs_n_id=1,
    )
    clean, noise, bits = (
        np.load(f"{folder}/{name}.npy", mmap_mode="r")[first:last]
        for name in ("clean", "noise", "bits")
    )
    wrong = {way: np.zeros((len(snrs), last - first), bool) for way in WAYS}
    for i, snr in enumerate(snrs):
        grids = clean + noise * np.float32(10 ** (-snr / 20))
        for way, how in WAYS.items():
            for slot, grid in enumerate(grids):
                got = cudaphy.nr_pusch_receive(
                    channel, grid, SLOT, backend=BACKEND, **how
                )
                wrong[way][i, slot] = (
                    not got.ok[0] or (got.payload[0] != bits[slot]).any()
                )
    return first, wrong


# --- Sionna


class link:
    """Sionna's transmitter, channel and receivers of a scenario."""

    def __init__(self, scenario, device, also):
        from sionna.phy.channel import OFDMChannel
        from sionna.phy.channel.tr38901 import TDL
        from sionna.phy.nr import PUSCHConfig, PUSCHReceiver, PUSCHTransmitter

        _, profile, spread, antennas, modulation, speed = scenario
        config = PUSCHConfig()
        config.carrier.subcarrier_spacing = SPACING / 1e3
        config.carrier.n_size_grid, config.carrier.slot_number = PRBS, SLOT
        config.num_layers = config.num_antenna_ports = antennas
        config.precoding = "non-codebook"
        config.n_rnti = 1
        config.dmrs.dmrs_port_set = list(range(antennas))
        config.dmrs.num_cdm_groups_without_data = 2
        config.dmrs.additional_position = 1
        config.dmrs.n_id = [1, 1]
        config.tb.mcs_index, config.tb.n_id = MCS[modulation], 1
        self.device = device
        self.sender = PUSCHTransmitter(config, device=device)
        model = TDL(
            profile,
            spread,
            CARRIER,
            min_speed=speed / 3.6,
            num_rx_ant=antennas,
            num_tx_ant=antennas,
            device=device,
        )
        self._channel = OFDMChannel(model, self.sender.resource_grid, device=device)
        self.receivers = {"sionna": PUSCHReceiver(self.sender, device=device)}
        self._turn = None
        if "timed" in also:
            self.receivers["timed"] = self.receivers["sionna"]
            mean = float((model.delays * model.mean_powers).sum().cpu())
            tones = SPACING * (np.arange(12 * PRBS) - 6 * PRBS)
            self._turn = np.exp(2j * np.pi * tones * mean).astype(np.complex64)
        if "lmmse" in also:
            self.receivers["lmmse"] = self._with_statistics(scenario)

    def _with_statistics(self, scenario):
        from sionna.phy.nr import PUSCHLMMSEChannelEstimator, PUSCHReceiver
        from sionna.phy.ofdm import tdl_freq_cov_mat, tdl_time_cov_mat

        _, profile, spread, _, _, speed = scenario
        grid = self.sender.resource_grid
        where = {"device": self.device}
        estimator = PUSCHLMMSEChannelEstimator(
            grid,
            1,  # symbols of a DM-RS position
            1,  # additional positions
            2,  # CDM groups without data
            tdl_time_cov_mat(
                profile, speed / 3.6, CARRIER, grid.ofdm_symbol_duration, 14, **where
            ),
            tdl_freq_cov_mat(profile, SPACING, 12 * PRBS, spread, **where),
            order="f-t",
            **where,
        )
        return PUSCHReceiver(self.sender, channel_estimator=estimator, **where)

    def send(self, count, seed):
        """Received slots without noise, their noise of variance 1, and the bits."""
        import torch
        from sionna.phy import config

        config.seed = seed
        with torch.no_grad():
            sent, bits = self.sender(count)
            clean = self._channel(sent)
            parts = torch.randn(
                (*clean.shape, 2),
                device=clean.device,
                generator=config.torch_rng(self.device),
            )
        noise = torch.view_as_complex(parts) * np.float32(np.sqrt(0.5))
        return clean, noise, bits

    def wrong(self, who, slots, snr):
        """Whether the receiver has each slot wrong at an SNR: bool (slots,)."""
        import torch

        clean, noise, bits = slots
        with torch.no_grad():
            grids = clean + noise * float(np.float32(10 ** (-snr / 20)))
            if who == "timed":
                grids = grids * torch.tensor(self._turn, device=grids.device)
            variance = torch.tensor(10 ** (-snr / 10), device=grids.device)
            got = self.receivers[who](grids, variance)
            return (got != bits).flatten(1).any(1).cpu().numpy()


# --- figures


def at_tenth(snrs, rates, slots):
    """SNR of BLER 0.1, the logarithm interpolated; nan if the rates do not reach it."""
    for i in range(len(snrs) - 1):
        high, low = rates[i], rates[i + 1]
        if high >= 0.1 > low:
            low = max(low, 0.5 / slots)
            part = (np.log(high) - np.log(0.1)) / (np.log(high) - np.log(low))
            return snrs[i] + part * (snrs[i + 1] - snrs[i])
    return float("nan")


class outcome:
    """Wrong blocks of a scenario, by receiver and SNR, all of the same slots."""

    def __init__(self):
        self.wrong = {}  # receiver -> SNR -> list of bool arrays

    def add(self, who, snr, wrong):
        self.wrong.setdefault(who, {}).setdefault(snr, []).append(wrong)

    def table(self, who):
        """SNRs, and wrong blocks (SNRs, slots): of the SNRs at which every slot was received."""
        rows = {snr: np.concatenate(parts) for snr, parts in self.wrong[who].items()}
        slots = max(map(len, rows.values()))
        snrs = sorted(snr for snr, row in rows.items() if len(row) == slots)
        return snrs, np.stack([rows[snr] for snr in snrs])

    def report(self, name, chance, samples=1000):
        tables = {who: self.table(who) for who in self.wrong}
        slots = min(wrong.shape[1] for _, wrong in tables.values())
        drawn = chance.multinomial(slots, np.full(slots, 1 / slots), samples) / slots
        places, kept = {}, {}
        for who, (snrs, wrong) in tables.items():
            rates = wrong[:, :slots].mean(1)
            spread = [at_tenth(snrs, one, slots) for one in drawn @ wrong[:, :slots].T]
            places[who] = at_tenth(snrs, rates, slots), np.array(spread)
            kept[who] = {
                "snrs": snrs,
                "rates": rates.tolist(),
                "snr": places[who][0],
                "interval": interval(places[who][1]),
                "gain": places["sionna"][0] - places[who][0],
                "gain_interval": interval(places["sionna"][1] - places[who][1]),
            }
            one = kept[who]
            print(
                f"{name:32} {who:6} {slots} slots",
                *(f"{snr}:{rate:.3f}" for snr, rate in zip(snrs, rates)),
                " BLER 0.1 at {:.2f} dB ({:.2f} to {:.2f}),".format(
                    one["snr"], *one["interval"]
                ),
                "gain {:.2f} dB ({:.2f} to {:.2f})".format(
                    one["gain"], *one["gain_interval"]
                ),
                flush=True,
            )
        return {"slots": slots, **kept}


def interval(values):
    """That of 95 %; infinite where samples do not reach BLER 0.1, nan where too many have no value."""
    if np.isnan(values).mean() > 0.5:
        return [float("nan")] * 2
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    return [float(ordered[int(part * (ordered.size - 1))]) for part in (0.025, 0.975)]


# --- the measurement


class measurement:
    def __init__(self, given, pool):
        self._given, self._pool = given, pool
        self._waiting = []  # (outcome, SNRs, folder, results)
        self._points = {}  # scenario's name, receiver -> SNRs
        self._links = {}
        self.outcomes = {}

    def batch(self, number, scenario, round):
        name, profile, _, antennas, modulation, _ = scenario
        if name not in self._links:
            self._links[name] = link(scenario, self._given.device, self._given.also)
            self.outcomes[name] = outcome()
        through, out = self._links[name], self.outcomes[name]
        count = min(self._given.batch, self._given.slots - round * self._given.batch)
        slots = through.send(count, 1000 * round + number)
        lowest = LOWEST[profile, antennas, modulation]
        self._submit(out, slots, antennas, modulation, range(lowest, lowest + POINTS))
        start = time.time()
        for who in through.receivers:
            key = name, who
            known = {}
            if key not in self._points:
                self._points[key], known = self._search(through, who, slots, lowest)
            for snr in self._points[key]:
                if snr not in known:
                    known[snr] = through.wrong(who, slots, snr)
                out.add(who, snr, known[snr])
        print(f"# {name}, round {round}: {time.time() - start:.2f} s", flush=True)

    def _search(self, through, who, slots, lowest):
        """Three SNRs around BLER 0.1, as these slots tell; and what is wrong at the SNRs tried."""
        wrong, snr = {}, lowest + 3
        while lowest - 2 <= snr <= lowest + FURTHEST and snr not in wrong:
            wrong[snr] = through.wrong(who, slots, snr)
            rate = wrong[snr].mean()
            snr += -1 if rate < 0.1 else 2 if rate > 0.4 else 1
        nearest = min(
            wrong, key=lambda one: abs(np.log(max(wrong[one].mean(), 1e-3) / 0.1))
        )
        return (nearest - 1, nearest, nearest + 1), wrong

    def _submit(self, out, slots, antennas, modulation, snrs):
        self.gather(self._given.processes)
        folder = tempfile.mkdtemp(dir=self._given.folder)
        clean, noise, bits = (part.cpu().numpy() for part in slots)
        count, shape = clean.shape[0], (clean.shape[0], antennas, 14, 12 * PRBS)
        np.save(f"{folder}/clean.npy", clean.reshape(shape))
        np.save(f"{folder}/noise.npy", noise.reshape(shape))
        np.save(f"{folder}/bits.npy", bits.reshape(count, -1).astype(np.uint8))
        pieces = np.linspace(0, count, min(count, 8) + 1, dtype=int)
        results = [
            self._pool.apply_async(
                receive, (folder, antennas, modulation, snrs, first, last)
            )
            for first, last in zip(pieces[:-1], pieces[1:])
        ]
        self._waiting.append((out, snrs, folder, results))

    def gather(self, left=0):
        """Waits until at most so many batches wait."""
        while len(self._waiting) > left:
            out, snrs, folder, results = self._waiting.pop(0)
            parts = [one.get()[1] for one in results]
            shutil.rmtree(folder)
            for way in WAYS:
                whole = np.concatenate([part[way] for part in parts], axis=1)
                for snr, row in zip(snrs, whole):
                    out.add(way, snr, row)

    def report(self):
        chance = np.random.default_rng(1)
        kept = {
            name: out.report(name, chance)
            for name, out in self.outcomes.items()
            if out.wrong
        }
        if self._given.json:
            self._given.json.write_text(json.dumps(kept, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=2000, help="of each scenario")
    parser.add_argument(
        "--batch", type=int, default=250, help="slots that Sionna takes at once"
    )
    parser.add_argument("--only", default="", help="scenarios whose name has this text")
    parser.add_argument("--also", nargs="*", choices=("timed", "lmmse"), default=())
    parser.add_argument("--device", default="cpu", help="Sionna's: cpu, cuda:0")
    parser.add_argument("--backend", default="cpu", help="this module's")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="no batch starts after these"
    )
    parser.add_argument(
        "--folder", default="/dev/shm", help="for slots between processes"
    )
    parser.add_argument("--json", type=Path, help="keeps the figures")
    given = parser.parse_args()
    start = time.time()
    # Made before PyTorch begins: its threads and CUDA do not survive a fork.
    numbers = multiprocessing.Queue()
    for number in itertools.islice(
        itertools.cycle(sorted(os.sched_getaffinity(0))), given.processes
    ):
        numbers.put(number)
    with multiprocessing.Pool(
        given.processes, begin_worker, (numbers, given.backend)
    ) as pool:
        run = measurement(given, pool)
        try:
            for round in range(-(-given.slots // given.batch)):
                for number, scenario in enumerate(scenarios()):
                    late = time.time() - start > given.seconds
                    if given.only in scenario[0] and not late:
                        run.batch(number, scenario, round)
        finally:
            run.gather()
            run.report()
    print(f"# {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
