#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes python/cudaphy/tests/nr/pdsch_vectors.npz by py3gpp.

    pip install py3gpp
    lib/kernels/nr/testing/make_pdsch_vectors.py

py3gpp 0.6.0 has PDSCH of one layer, mapping type A and single-symbol DM-RS on port 0. Left out is what it does
otherwise than the standard: DM-RS of 8, 9 and 12 symbols with some additional positions, PT-RS behind a short
allocation, numerologies from 2 on, and base graph 2 for up to 640 bits with CRC, whose lifting set it takes from
the padded length (those of PUSCH's vectors are Sionna's).
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import py3gpp
from py3gpp.configs.nrCarrierConfig import nrCarrierConfig
from py3gpp.configs.nrPDSCHConfig import nrPDSCHConfig
from py3gpp.nrPDSCHDMRS import PDSCHDMRSSyms

ROOT = Path(__file__).resolve().parents[4]
TESTS = ROOT / "python/cudaphy/tests"
sys.path.insert(0, str(TESTS / "qa_support"))
import nr_vectors  # noqa: E402

CONFIGURATIONS = 40
NAMES = {2: "QPSK", 4: "16QAM", 6: "64QAM", 8: "256QAM"}
# Order and rate of some indices of tables 5.1.3.1-1 and -2 of TS 38.214.
CODINGS = {
    ("qam64", 0): (2, 120),
    ("qam64", 9): (2, 679),
    ("qam64", 13): (4, 490),
    ("qam64", 16): (4, 658),
    ("qam64", 17): (6, 438),
    ("qam64", 28): (6, 948),
    ("qam256", 20): (8, 682.5),
    ("qam256", 27): (8, 948),
}


def draw(chance):
    """Arguments of nr_shared_channel."""
    kind = chance.randint(1, 2)
    additional = chance.randint(0, 3)
    symbols = chance.choice((4, 6, 7, 10, 11, 13, 14, 14))
    table, mcs = chance.choice(list(CODINGS))
    size = chance.choice((4, 11, 25))
    start = chance.randrange(size)
    return {
        "numerology": chance.randint(0, 1),
        "grid_size": size,
        "prbs": [start, chance.randint(1, size - start)],
        "symbols": symbols,
        "dmrs_type": kind,
        "dmrs_type_a_position": 2 if additional == 3 else chance.randint(2, 3),
        "dmrs_additional_position": additional,
        "cdm_groups_without_data": kind + 1,
        "dmrs_n_id": chance.randint(0, 65535),
        "dmrs_amplitude": 1.0,
        "ptrs": symbols == 14 and chance.random() < 0.6,
        "ptrs_time_density": chance.choice((1, 2, 4)),
        "ptrs_frequency_density": chance.choice((2, 4)),
        "ptrs_offset": chance.randint(0, 3),
        "n_id": chance.randint(0, 1007),
        "rnti": chance.randint(1, 65535),
        "mcs": mcs,
        "mcs_table": table,
    }


def configs(of, slot):
    carrier = nrCarrierConfig(
        NSizeGrid=of["grid_size"],
        NSlot=slot,
        SubcarrierSpacing=15 * 2 ** of["numerology"],
    )
    pdsch = nrPDSCHConfig()
    pdsch.NSizeBWP, pdsch.NStartBWP = of["grid_size"], 0
    start, length = of["prbs"]
    pdsch.PRBSet = list(range(start, start + length))
    pdsch.SymbolAllocation = [0, of["symbols"]]
    pdsch.RNTI = of["rnti"]
    pdsch.DMRS.DMRSConfigurationType = of["dmrs_type"]
    pdsch.DMRS.DMRSTypeAPosition = of["dmrs_type_a_position"]
    pdsch.DMRS.DMRSAdditionalPosition = of["dmrs_additional_position"]
    pdsch.DMRS.DMRSLength = 1
    pdsch.DMRS.NIDNSCID = of["dmrs_n_id"]
    pdsch.EnablePTRS = int(of["ptrs"])
    pdsch.PTRS.TimeDensity = of["ptrs_time_density"]
    pdsch.PTRS.FrequencyDensity = of["ptrs_frequency_density"]
    pdsch.PTRS.REOffset = f"{of['ptrs_offset']:02b}"
    return carrier, pdsch


def coded_bits(bits, rate, order, count, version):
    info = py3gpp.nrDLSCHInfo(len(bits), rate)
    block = py3gpp.nrCRCEncode(bits, info["CRC"])[:, 0]
    blocks = py3gpp.nrCodeBlockSegmentLDPC(block, info["BGN"])
    words = py3gpp.nrLDPCEncode(blocks, info["BGN"])
    return py3gpp.nrRateMatchLDPC(words, count, version, NAMES[order], 1).astype(int)


def grid_of(of, slot, version, number):
    """The resource grid (1, symbols, subcarriers) or None, and the transport block size."""
    carrier, pdsch = configs(of, slot)
    order, rate = CODINGS[of["mcs_table"], of["mcs"]]
    dmrs = len(PDSCHDMRSSyms(pdsch))
    size = int(
        py3gpp.nrTBS(
            NAMES[order], 1, of["prbs"][1], 12 * (of["symbols"] - dmrs), rate / 1024
        )
    )
    info = py3gpp.nrDLSCHInfo(size, rate / 1024)
    if info["BGN"] == 2 and size + info["L"] <= 640:
        return None, size
    data = py3gpp.nrPDSCHIndices(carrier, pdsch)
    tracking = py3gpp.nrPDSCHPTRSIndices(carrier, pdsch)
    data = data[~np.isin(data, tracking)]
    bits = nr_vectors.payload(size, number).astype(int)
    coded = coded_bits(bits, rate / 1024, order, order * len(data), version)
    flat = np.zeros(14 * 12 * of["grid_size"], complex)
    flat[data] = py3gpp.nrPDSCH([coded], [NAMES[order]], 1, of["n_id"], of["rnti"])[0]
    flat[py3gpp.nrPDSCHDMRSIndices(carrier, pdsch)] = py3gpp.nrPDSCHDMRS(pdsch, carrier)
    if of["ptrs"]:
        flat[tracking] = py3gpp.nrPDSCHPTRS(carrier, pdsch)
    return flat.reshape(1, 14, -1), size


def ofdm_entry(numerology, subcarriers, size, frequency):
    """Sums of the samples of slot 0, whose grid are payload bits as QPSK."""
    bits = nr_vectors.payload(2 * 14 * subcarriers, 0).reshape(14, subcarriers, 2)
    grid = (1 - 2.0 * bits) @ [1, 1j]
    carrier = nrCarrierConfig(
        NSizeGrid=subcarriers // 12, SubcarrierSpacing=15 * 2**numerology
    )
    samples, _ = py3gpp.nrOFDMModulate(
        carrier,
        grid.T.copy(),
        scs=15 * 2**numerology,
        Nfft=size,
        SampleRate=size * 15000 * 2**numerology,
        CarrierFrequency=frequency,
    )
    return nr_vectors.sums(samples[None, None] * np.sqrt(size)), len(samples)


def main():
    chance = random.Random(38212)
    entries, arrays, ofdm = [], {}, []
    while len(entries) < CONFIGURATIONS:
        number, of = len(entries), draw(chance)
        slot = chance.randrange(10 * 2 ** of["numerology"])
        redundancy_version = chance.randint(0, 3)
        grid, size = grid_of(of, slot, redundancy_version, number)
        if grid is None:
            continue
        entries.append(
            {
                "channel": of,
                "slot": slot,
                "tbs": size,
                "redundancy_version": redundancy_version,
            }
        )
        arrays[f"sums{number}"] = nr_vectors.sums(grid).astype(np.complex64)
        print(number, size)
    for i, (numerology, subcarriers, size, frequency) in enumerate(
        (
            (0, 300, 512, 0),
            (0, 624, 1024, 2.5e9),
            (1, 612, 1024, 3.51e9),
            (1, 48, 128, 1e8),
        )
    ):
        arrays[f"ofdm{i}"], count = ofdm_entry(numerology, subcarriers, size, frequency)
        ofdm.append([numerology, subcarriers, size, frequency, count])
    maker = f"py3gpp {version('py3gpp')}"
    text = json.dumps({"maker": maker, "entries": entries, "ofdm": ofdm})
    to = TESTS / "nr/pdsch_vectors.npz"
    np.savez_compressed(to, text=np.frombuffer(text.encode(), np.uint8), **arrays)
    print(to.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
