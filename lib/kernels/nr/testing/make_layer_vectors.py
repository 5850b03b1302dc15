#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes python/cudaphy/tests/nr/layer_vectors.npz by parts of Sionna.

    pip install sionna-no-rt
    lib/kernels/nr/testing/make_layer_vectors.py

PDSCH of one to eight layers up to the layers' symbols: transport block size with overhead, encoding, scrambling of
both codewords, constellation, layer mapping. DM-RS symbols carry no data. Beside it all MCS tables. Sionna encodes
no rates below 1/5, nor large blocks below 1/3.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from sionna.phy.mapping import Mapper
from sionna.phy.nr import LayerMapper, TBEncoder, calculate_tb_size
from sionna.phy.nr.utils import decode_mcs_index

ROOT = Path(__file__).resolve().parents[4]
TESTS = ROOT / "python/cudaphy/tests"
sys.path.insert(0, str(TESTS / "qa_support"))
import nr_vectors  # noqa: E402

CONFIGURATIONS = 40
TABLES = {1: "qam64", 2: "qam256", 3: "qam64_low_se", 4: "qam1024"}


def draw(chance, number):
    """Arguments of nr_shared_channel, and the number of the MCS table."""
    layers = 1 + number % 8
    table = 1 + number // 8 % 4
    last = {1: 28, 2: 27, 3: 28, 4: 26}[table]
    return {
        "grid_size": chance.choice((3, 10, 24)),
        "symbols": chance.randint(7, 14),
        "dmrs_length": 1 if layers <= 4 else 2,
        "layers": layers,
        "n_id": chance.randint(0, 1023),
        "rnti": chance.randint(1, 65535),
        "mcs": [chance.randint(0, last), chance.randint(0, last)],
        "mcs_table": TABLES[table],
        "overhead": chance.choice((0, 6, 12, 18)),
    }, table


def base_graph(size, rate):
    """The base graph of TS 38.212, 7.2.2. Sionna takes the bits with CRC and the rate sent."""
    return 2 if size <= 292 or (size <= 3824 and rate <= 0.67) or rate <= 0.25 else 1


def layer_symbols(of, table, number):
    """Symbols (1, layers, data), and the transport block sizes; None if Sionna takes another base graph."""
    layers, blocks = of["layers"], of["grid_size"]
    split = [layers] if layers <= 4 else [layers // 2, (layers + 1) // 2]
    elements = 12 * blocks * (of["symbols"] - of["dmrs_length"])
    streams, sizes = [], []
    for codeword, part in enumerate(split):
        order, rate = (
            value.item() if hasattr(value, "item") else value
            for value in decode_mcs_index(of["mcs"][codeword], table, is_pusch=False)
        )
        size = int(
            calculate_tb_size(
                modulation_order=order,
                target_coderate=rate,
                num_prbs=blocks,
                num_ofdm_symbols=of["symbols"],
                num_dmrs_per_prb=12 * of["dmrs_length"],
                num_layers=part,
                num_ov=of["overhead"],
                verbose=False,
            )[0]
        )
        coded = elements * order * part
        if base_graph(size, rate) != base_graph(size + 16, size / coded):
            return None, None
        encode = TBEncoder(
            size,
            coded,
            rate,
            order,
            part,
            of["rnti"],
            of["n_id"],
            "PDSCH",
            codeword,
            device="cpu",
        )
        bits = nr_vectors.payload(size, 100 * codeword + number).astype(np.float32)
        word = encode(torch.tensor(bits)[None])
        streams.append(Mapper("qam", order, device="cpu")(word))
        sizes.append(size)
    inputs = streams[0] if len(streams) == 1 else streams
    return LayerMapper(layers, device="cpu")(inputs).numpy(), sizes


def mcs_tables():
    """Name of the table, whether with pi/2-BPSK, index, order and rate."""
    rows = []
    for table, transform, bpsk, name in (
        *((table, False, False, name) for table, name in TABLES.items()),
        *((1, True, bpsk, "transform_qam64") for bpsk in (False, True)),
        *((2, True, bpsk, "transform_qam64_low_se") for bpsk in (False, True)),
    ):
        for index in range(29):
            try:
                order, rate = decode_mcs_index(
                    index, table, transform, transform, bpsk, device="cpu"
                )
            except ValueError:
                continue
            rows.append([name, bpsk, index, int(order), float(rate)])
    return rows


def main():
    chance = random.Random(38214)
    entries, arrays = [], {}
    while len(entries) < CONFIGURATIONS:
        number = len(entries)
        of, table = draw(chance, number)
        try:
            symbols, sizes = layer_symbols(of, table, number)
        except ValueError as problem:
            if "coderate" not in str(problem):
                raise
            continue
        if symbols is None:
            continue
        entries.append({"channel": of, "tbs": sizes})
        arrays[f"sums{number}"] = nr_vectors.sums(symbols).astype(np.complex64)
        print(number, sizes, symbols.shape)
    maker = f"sionna {version('sionna-no-rt')}"
    text = json.dumps({"maker": maker, "entries": entries, "mcs": mcs_tables()})
    to = TESTS / "nr/layer_vectors.npz"
    np.savez_compressed(to, text=np.frombuffer(text.encode(), np.uint8), **arrays)
    print(to.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
