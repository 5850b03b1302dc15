#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes python/cudaphy/tests/nr/cell_vectors.npz by Sionna, py3gpp and pycrate.

    pip install sionna-no-rt py3gpp pycrate
    lib/kernels/nr_cell/testing/make_cell_vectors.py

Polar codes are Sionna's; it encodes those of the downlink with their CRC24C. PSS, SSS, DM-RS and bits of PBCH, and
OFDM samples of SS/PBCH blocks are py3gpp's. SIB1 is encoded by pycrate from the ASN.1 of TS 38.331.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import py3gpp
import torch
from pycrate_asn1dir import RRCNR
from sionna.phy.fec.polar import Polar5GEncoder

ROOT = Path(__file__).resolve().parents[4]
TESTS = ROOT / "python/cudaphy/tests"
sys.path.insert(0, str(TESTS / "qa_support"))
import nr_vectors  # noqa: E402


def signs(values):
    """Bits: 1 where a value is negative."""
    return np.packbits(np.real(values) < 0)


def polar(chance):
    """[payload bits, coded bits] of DCIs and others, up to Sionna's limit, and what it sends."""
    sizes = [(k, 108 * level) for k in (37, 39, 41) for level in (1, 2, 4)]
    while len(sizes) < 60:
        k = chance.randint(12, 140)
        sizes.append((k, chance.randint(k + 25, 576)))
    entries, arrays = [], {}
    for k, e in sizes:
        encoder = Polar5GEncoder(k, e, channel_type="downlink")
        bits = nr_vectors.payload(k, 1000 + len(entries))
        sent = encoder(torch.tensor(bits[None].astype(np.float32))).numpy()[0]
        arrays[f"polar{len(entries)}"] = np.packbits(sent.astype(np.uint8))
        entries.append([k, e])
    return entries, arrays


def pbch_entry(chance):
    """A cell's broadcast: [cell, SFN, half frame, L_max, i_SSB], and PBCH's bits and DM-RS.

    py3gpp takes the highest bits of the SFN from the MIB, and numbers DM-RS as it is told.
    """
    cell, sfn = chance.randrange(1008), chance.randrange(1024)
    half, most = chance.randint(0, 1), chance.choice((4, 8))
    block = chance.randrange(most)
    mib = nr_vectors.payload(24, cell).astype(int)
    mib[0] = 0
    mib[1:7] = [sfn >> (9 - i) & 1 for i in range(6)]
    coded = py3gpp.nrBCH(mib, sfn, half, most, 0, cell)
    symbols = py3gpp.nrPBCH(cell, block % most, coded)
    pilots = py3gpp.nrPBCHDMRS(cell, block + 4 * half if most == 4 else block)
    return [cell, sfn, half, most, block], mib, symbols, pilots


def block_grid(entry, symbols, pilots):
    cell = entry[0]
    grid = np.zeros(4 * 240, complex)
    grid[py3gpp.nrPSSIndices()] = py3gpp.nrPSS(cell)
    grid[py3gpp.nrSSSIndices()] = py3gpp.nrSSS(cell)
    grid[py3gpp.nrPBCHIndices(cell)] = symbols
    grid[py3gpp.nrPBCHDMRSIndices(cell)] = pilots
    return grid.reshape(4, 240)


def samples_of(grid, khz, first_symbol, frequency):
    """Slot 0 at 256 samples a symbol, int8 of real and imaginary parts."""
    slot = np.zeros((14, 240), complex)
    slot[first_symbol : first_symbol + 4] = grid
    samples, _ = py3gpp.nrOFDMModulate(
        grid=slot.T.copy(),
        scs=khz,
        Nfft=256,
        SampleRate=256000 * khz,
        CarrierFrequency=frequency,
    )
    parts = np.stack([samples.real, samples.imag], -1)
    return np.round(parts * 100 / np.abs(parts).max()).astype(np.int8)


def sib1():
    """BCCH-DL-SCH-Message with a SIB1, by name its fields and bytes."""
    message = RRCNR.NR_RRC_Definitions.BCCH_DL_SCH_Message
    out = []
    for number, (mcc, mnc, tac, cell) in enumerate(
        (
            ("001", "01", 0x000001, 0x123456789),
            ("262", "03", 0xABCDEF, 0xFFFFFFFFF),
            ("310", "410", 0x00F00D, 0x000000042),
        )
    ):
        plmn = {"mcc": [int(d) for d in mcc], "mnc": [int(d) for d in mnc]}
        info = {
            "plmn-IdentityList": [plmn],
            "trackingAreaCode": (tac, 24),
            "cellIdentity": (cell, 36),
            "cellReservedForOperatorUse": "notReserved",
        }
        if number == 1:  # a second PLMN that shares the cell
            info["plmn-IdentityList"].append({"mnc": [7, 7]})
        body = {"cellAccessRelatedInfo": {"plmn-IdentityInfoList": [info]}}
        if number != 2:
            body["cellSelectionInfo"] = {"q-RxLevMin": -60, "q-QualMin": -20}
        if number == 1:
            body["connEstFailureControl"] = {
                "connEstFailCount": "n2",
                "connEstFailOffsetValidity": "s60",
            }
        message.set_val({"message": ("c1", ("systemInformationBlockType1", body))})
        hexadecimal = message.to_uper().hex()
        plmns = [f"{mcc}-{mnc}"] + ([f"{mcc}-77"] if number == 1 else [])
        out.append(
            {"bytes": hexadecimal, "plmns": plmns, "tac": tac, "cell_identity": cell}
        )
    return out


def main():
    chance = random.Random(38213)
    entries, arrays = polar(chance)
    text = {
        "maker": ", ".join(
            f"{name} {version(name)}" for name in ("sionna-no-rt", "py3gpp", "pycrate")
        ),
        "polar": entries,
        "pbch": [],
        "samples": [],
        "sib1": sib1(),
    }
    arrays["pss"] = np.stack([signs(py3gpp.nrPSS(cell)) for cell in range(3)])
    arrays["sss"] = np.stack([signs(py3gpp.nrSSS(cell)) for cell in range(1008)])
    for number in range(30):
        entry, mib, symbols, pilots = pbch_entry(chance)
        text["pbch"].append(entry)
        bits = np.stack([np.real(symbols) < 0, np.imag(symbols) < 0], -1)
        arrays[f"pbch{number}"] = np.packbits(bits)
        bits = np.stack([np.real(pilots) < 0, np.imag(pilots) < 0], -1)
        arrays[f"dmrs{number}"] = np.packbits(bits)
        if number < 4:
            khz = 15 if number % 2 else 30
            frequency = (0, 0, 3.5e9 + 15e3, 2.1e9)[number]
            # Places of i_SSB 0: cases A and C.
            arrays[f"samples{number}"] = samples_of(
                block_grid(entry, symbols, pilots), khz, 2, frequency
            )
            text["samples"].append([khz, frequency])
    to = TESTS / "nr/cell_vectors.npz"
    np.savez_compressed(
        to, text=np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays
    )
    print(len(entries), "polar codes,", to.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
