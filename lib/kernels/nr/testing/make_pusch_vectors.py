#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes python/cudaphy/tests/nr/pusch_vectors.npz by Sionna's transmitter of PUSCH.

    pip install sionna-no-rt
    lib/kernels/nr/testing/make_pusch_vectors.py

Of each configuration the file has arguments of nr_shared_channel, and for each port and allocated symbol of
the grid what nr_vectors.sums keeps.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from sionna.phy.nr import PUSCHConfig, PUSCHTransmitter

ROOT = Path(__file__).resolve().parents[4]
TESTS = ROOT / "python/cudaphy/tests"
sys.path.insert(0, str(TESTS / "qa_support"))
import nr_vectors  # noqa: E402

CONFIGURATIONS = 80
TABLES = {1: "qam64", 2: "qam256", 3: "qam64_low_se"}
COLUMNS = {(1, 2): 6, (1, 4): 28, (2, 2): 3, (2, 4): 22, (3, 4): 7, (4, 4): 5}


def draw(chance):
    """Arguments of nr_shared_channel, and of the transmission; None if Sionna takes them not."""
    layers = chance.randint(1, 4)
    mapping = chance.choice("AB")
    kind, length = chance.randint(1, 2), chance.randint(1, 2)
    groups = chance.randint(1, 1 + kind)
    first = 0 if mapping == "A" else chance.randint(0, 9)
    symbols = chance.randint(4, 14 - first)
    ports = [
        port for port in range(2 * (1 + kind) * length) if port // 2 % (1 + kind) < groups
    ]
    antennas = chance.choice([None] + [n for n in (2, 4) if (layers, n) in COLUMNS] * 2)
    table = chance.randint(1, 3)
    extended = chance.random() < 0.1
    start = chance.choice((0, 0, 7))
    prbs = chance.choice((1, 2, 4, 11, 24, 52, 79))
    if len(ports) < layers or (extended and first + symbols > 12):
        return None
    return {
        "numerology": 2 if extended else chance.randint(0, 3),
        "extended_prefix": extended,
        "grid_start": start,
        "grid_size": prbs,
        "mapping_type": mapping,
        "first_symbol": first,
        "symbols": symbols,
        "dmrs_type": kind,
        "dmrs_length": length,
        "dmrs_type_a_position": chance.randint(2, 3),
        "dmrs_additional_position": chance.randint(0, 3 if length == 1 else 1),
        "cdm_groups_without_data": groups,
        "dmrs_ports": sorted(chance.sample(ports, layers)),
        # Sionna starts the sequence at the grid.
        "dmrs_reference_block": start,
        "n_scid": chance.randint(0, 1),
        "dmrs_n_id": [chance.randint(0, 65535), chance.randint(0, 65535)],
        "layers": layers,
        "antenna_ports": antennas,
        "tpmi": chance.randrange(COLUMNS[layers, antennas]) if antennas else 0,
        "n_id": chance.randint(0, 1023),
        "rnti": chance.randint(1, 65535),
        "mcs": chance.randint(0, 27),
        "mcs_table": TABLES[table],
    }


def sionna_config(of, slot):
    config = PUSCHConfig()
    carrier, dmrs, tb = config.carrier, config.dmrs, config.tb
    carrier.subcarrier_spacing = 15 * 2 ** of["numerology"]
    carrier.cyclic_prefix = "extended" if of["extended_prefix"] else "normal"
    carrier.n_size_grid, carrier.n_start_grid = of["grid_size"], of["grid_start"]
    carrier.slot_number = slot
    config.mapping_type = of["mapping_type"]
    config.symbol_allocation = [of["first_symbol"], of["symbols"]]
    config.num_layers = of["layers"]
    config.num_antenna_ports = of["antenna_ports"] or of["layers"]
    config.precoding = "codebook" if of["antenna_ports"] else "non-codebook"
    config.tpmi = of["tpmi"]
    config.n_rnti = of["rnti"]
    dmrs.config_type, dmrs.length = of["dmrs_type"], of["dmrs_length"]
    dmrs.type_a_position = of["dmrs_type_a_position"]
    dmrs.additional_position = of["dmrs_additional_position"]
    dmrs.num_cdm_groups_without_data = of["cdm_groups_without_data"]
    dmrs.dmrs_port_set = of["dmrs_ports"]
    dmrs.n_scid, dmrs.n_id = of["n_scid"], of["dmrs_n_id"]
    tb.mcs_index, tb.n_id = of["mcs"], of["n_id"]
    tb.mcs_table = {name: number for number, name in TABLES.items()}[of["mcs_table"]]
    return config


def main():
    chance = random.Random(38211)
    entries, arrays = [], {}
    while len(entries) < CONFIGURATIONS:
        of = draw(chance)
        if of is None:
            continue
        slot = chance.randrange(10 * 2 ** of["numerology"])
        try:
            config = sionna_config(of, slot)
            config.check_config()
            sender = PUSCHTransmitter(config, return_bits=False, device="cpu")
        except ValueError:
            continue
        number = len(entries)
        bits = nr_vectors.payload(config.tb_size, number)
        sent = sender(torch.tensor(bits, dtype=torch.float32)[None, None])
        grid = sent.numpy()[0, 0]
        sums = nr_vectors.sums(grid)
        entries.append({"channel": of, "slot": slot, "tbs": config.tb_size})
        arrays[f"sums{number}"] = sums.astype(np.complex64)
        print(number, config.tb_size, grid.shape)
    text = json.dumps({"maker": f"sionna {version('sionna-no-rt')}", "entries": entries})
    to = TESTS / "nr/pusch_vectors.npz"
    to.parent.mkdir(exist_ok=True)
    np.savez_compressed(to, text=np.frombuffer(text.encode(), np.uint8), **arrays)
    print(to.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
