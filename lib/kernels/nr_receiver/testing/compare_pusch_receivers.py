#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block error rates of PUSCH with estimated channels: this project's receiver beside Sionna's, on equal grids.

    compare_pusch_receivers.py ours FOLDER [--slots N] [--only TEXT]
    compare_pusch_receivers.py sionna FOLDER [--slots N] [--only TEXT]  # needs sionna-no-rt

`ours` sends slots over TDL channels (3GPP TR 38.901, section 7.7.2, antennas independent), receives them, and
keeps the received grids in FOLDER. `sionna` receives the same grids by PUSCHReceiver: least squares, linear
interpolation, LMMSE, 20 iterations, the noise variance known. Both write a line for each scenario: the
block error rate at each SNR, and the SNR of BLER 0.1; `sionna` also those of ours on the slots that it receives.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

# Normalised delays and powers, dB: TR 38.901, tables 7.7.2-1 and 7.7.2-3.
PROFILES = {
    "TDL-A": (
        "0 .3819 .4025 .5868 .4610 .5375 .6708 .5750 .7618 1.5375 1.8978 2.2242 2.1718 2.4942 2.5119 3.0582 "
        "4.0810 4.4579 4.5695 4.7966 5.0066 5.3043 9.6586",
        "-13.4 0 -2.2 -4 -6 -8.2 -9.9 -10.5 -7.5 -15.9 -6.6 -16.7 -12.4 -15.2 -10.8 -11.3 -12.7 -16.2 -18.3 "
        "-18.9 -16.6 -19.9 -29.7",
    ),
    "TDL-C": (
        "0 .2099 .2219 .2329 .2176 .6366 .6448 .6560 .6584 .7935 .8213 .9336 1.2285 1.3083 2.1704 2.7105 4.2589 "
        "4.6003 5.4902 5.6077 6.3065 6.6374 7.0427 8.6523",
        "-4.4 -1.2 -3.5 -5.2 -2.5 0 -2.2 -3.9 -7.4 -7.1 -10.7 -11.1 -5.1 -6.8 -8.7 -13.2 -13.9 -13.9 -15.8 "
        "-17.1 -16 -15.7 -21.6 -22.8",
    ),
}
CARRIER = 3.5e9  # Hz
SPACING = 30e3
SYMBOL = 0.5e-3 / 14
PRBS = 24
MCS = {"qam16": 13, "qam64": 20}  # rates 0.48 and 0.55, table 5.1.3.1-1
# Least SNR (dB) of a scenario's six, 1.5 dB apart, by profile, antennas and modulation.
STARTS = {
    ("TDL-A", 2, "qam16"): 9,
    ("TDL-A", 2, "qam64"): 16,
    ("TDL-A", 4, "qam16"): 7.5,
    ("TDL-A", 4, "qam64"): 15,
    ("TDL-C", 2, "qam16"): 7.5,
    ("TDL-C", 2, "qam64"): 14,
    ("TDL-C", 4, "qam16"): 7,
    ("TDL-C", 4, "qam64"): 13.5,
}
STEP = 1.5


def scenarios():
    for (profile, spread), antennas, modulation, speed in itertools.product(
        (("TDL-A", 30e-9), ("TDL-C", 300e-9)), (2, 4), MCS, (3, 30)
    ):
        name = f"{profile} {spread * 1e9:.0f} ns {antennas}x{antennas} {modulation} {speed} km/h"
        yield name, profile, spread, antennas, modulation, speed


def channel_of(chance, profile, spread, antennas, speed, subcarriers, symbols=14):
    """(antennas, layers, symbols, subcarriers): Rayleigh taps of 24 waves from all around (Clarke's model)."""
    delays, powers = (np.array(text.split(), float) for text in PROFILES[profile])
    powers = 10 ** (powers / 10)
    powers /= powers.sum()
    doppler = speed / 3.6 * CARRIER / 299792458.0
    shape = antennas, antennas, delays.size, 24
    angles = chance.uniform(0, 2 * np.pi, shape)
    phases = chance.uniform(0, 2 * np.pi, shape)
    times = SYMBOL * np.arange(symbols)
    waves = np.exp(
        1j * (2 * np.pi * doppler * np.cos(angles)[..., None] * times + phases[..., None])
    )
    taps = waves.sum(3) / np.sqrt(24) * np.sqrt(powers)[:, None]
    tones = SPACING * (np.arange(subcarriers) - subcarriers / 2)
    turns = np.exp(-2j * np.pi * tones[None] * (delays * spread)[:, None])
    return np.einsum("abdt,dk->abtk", taps, turns)


def arguments(antennas, modulation):
    return {
        "grid_size": PRBS,
        "layers": antennas,
        "mcs": MCS[modulation],
        "dmrs_additional_position": 1,
        "n_id": 1,
        "dmrs_n_id": 1,
    }


def at_tenth(snrs, rates):
    """SNR of BLER 0.1, the logarithm interpolated; nan if the rates do not reach it."""
    for i in range(len(snrs) - 1):
        high, low = rates[i], rates[i + 1]
        if high >= 0.1 > low:
            low = max(low, 1e-3)
            part = (np.log(high) - np.log(0.1)) / (np.log(high) - np.log(low))
            return snrs[i] + part * (snrs[i + 1] - snrs[i])
    return float("nan")


def report(name, who, snrs, errors, slots):
    rates = [count / slots for count in errors]
    print(
        f"{name:36} {who:8}",
        *(f"{snr:5.1f}:{rate:6.3f}" for snr, rate in zip(snrs, rates)),
        f"  BLER 0.1 at {at_tenth(snrs, rates):6.2f} dB",
        flush=True,
    )


def ours(folder, slots, only, keep):
    from gnuradio import cudaphy

    for number, scenario in enumerate(scenarios()):
        name, profile, spread, antennas, modulation, speed = scenario
        if only not in name:
            continue
        chance = np.random.default_rng(number)
        channel = cudaphy.nr_shared_channel("pusch", **arguments(antennas, modulation))
        snrs = STARTS[profile, antennas, modulation] + STEP * np.arange(6)
        kept = [np.empty((slots, antennas, 14, 12 * PRBS), np.complex64) for _ in snrs]
        ways = {"mmse": {}, "ls": {"estimator": "ls"}}
        errors = {way: np.zeros((len(snrs), slots), bool) for way in ways}
        payloads = chance.integers(0, 2, (slots, channel.tbs[0]), np.uint8)
        for slot in range(slots):
            sent = cudaphy.nr_pusch_transmit(channel, payloads[slot], 3)
            h = channel_of(chance, profile, spread, antennas, speed, 12 * PRBS)
            clean = np.einsum("abtk,btk->atk", h, sent)
            parts = chance.normal(size=(2, *clean.shape))
            noise = (parts[0] + 1j * parts[1]) * np.sqrt(0.5)
            for i, snr in enumerate(snrs):
                kept[i][slot] = clean + noise * 10 ** (-snr / 20)
                for way, how in ways.items():
                    got = cudaphy.nr_pusch_receive(channel, kept[i][slot], 3, **how)
                    wrong = not got.ok[0] or (got.payload[0] != payloads[slot]).any()
                    errors[way][i, slot] = wrong
        for way, counts in errors.items():
            report(name, way, snrs, counts.sum(1), slots)
        if keep:
            described = {
                "name": name,
                "antennas": antennas,
                "modulation": modulation,
                "snrs": list(snrs),
            }
            np.savez(
                folder / f"scenario{number:02}.npz",
                text=np.frombuffer(json.dumps(described).encode(), np.uint8),
                payloads=np.packbits(payloads, axis=1),
                grids=np.stack(kept),
                **errors,
            )


def by_sionna(folder, slots, only, batch=20):
    import torch
    from sionna.phy.nr import PUSCHConfig, PUSCHReceiver, PUSCHTransmitter

    torch.set_num_threads(2)
    for path in sorted(folder.glob("scenario*.npz")):
        with np.load(path) as file:
            described = json.loads(file["text"].tobytes())
            grids, packed = file["grids"], file["payloads"]
            ours_of = {way: file[way] for way in ("mmse", "ls")}
        if only not in described["name"]:
            continue
        antennas = described["antennas"]
        config = PUSCHConfig()
        config.carrier.subcarrier_spacing = 30
        config.carrier.n_size_grid, config.carrier.slot_number = PRBS, 3
        config.num_layers = config.num_antenna_ports = antennas
        config.precoding = "non-codebook"
        config.n_rnti = 1
        config.dmrs.dmrs_port_set = list(range(antennas))
        config.dmrs.num_cdm_groups_without_data = 2
        config.dmrs.additional_position = 1
        config.dmrs.n_id = [1, 1]
        config.tb.mcs_index, config.tb.n_id = MCS[described["modulation"]], 1
        sender = PUSCHTransmitter(config, device="cpu")
        receiver = PUSCHReceiver(sender, device="cpu")
        payloads = np.unpackbits(packed, axis=1)[:, : config.tb_size]
        start, snrs = time.time(), described["snrs"]
        count = min(slots, grids.shape[1])
        rates = {}

        def measure(i):
            wrong = 0
            for first in range(0, count, batch):
                part = torch.tensor(grids[i, first : min(first + batch, count)])[:, None]
                with torch.no_grad():
                    got = receiver(part, torch.tensor(10 ** (-snrs[i] / 10)))
                bits = got.numpy().reshape(part.shape[0], -1)
                sent = payloads[first : first + part.shape[0]]
                wrong += int((bits != sent).any(1).sum())
            rates[i] = wrong

        # Only what lies around BLER 0.1, because a slot takes long.
        good = ours_of["ls"][:, :count].mean(1) < 0.1
        i = int(good.argmax()) if good.any() else len(snrs) - 1
        while 0 <= i < len(snrs) and i not in rates:
            measure(i)
            i += 1 if rates[i] >= 0.1 * count else -1
        found = sorted(rates)
        report(
            described["name"],
            "sionna",
            [snrs[i] for i in found],
            [rates[i] for i in found],
            count,
        )
        for way, wrong in ours_of.items():
            report(described["name"], way, snrs, wrong[:, :count].sum(1), count)
        print(f"# {time.time() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("who", choices=("ours", "sionna"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--slots", type=int, default=200)
    parser.add_argument("--only", default="", help="scenarios whose name has this text")
    parser.add_argument("--no-grids", action="store_true", help="keeps no grids")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.who == "ours":
        ours(given.folder, given.slots, given.only, not given.no_grids)
    else:
        by_sionna(given.folder, given.slots, given.only)


if __name__ == "__main__":
    main()
