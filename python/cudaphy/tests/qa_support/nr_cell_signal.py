# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cell of 5G NR broadcasts, as samples: SS/PBCH blocks, PDCCH and PDSCH of SIB1.

Written from 3GPP TS 38.211, 38.212 and 38.213, apart from what receives it. Polar code, PSS, SSS and
PBCH's DM-RS are the module's own, which are tested against other makers (qa_nr_cell_steps.py), and so is PDSCH.
Each symbol is a sum of exponentials at the times of its samples: any sample rate, frequency and time will do.
"""

import dataclasses
import functools
import math

import numpy as np
from gnuradio import cudaphy
from gnuradio.cudaphy import cudaphy_python as native

_G = [16, 23, 18, 17, 8, 30, 10, 6, 24, 7, 0, 5, 3, 2, 1, 4]
_G += [9, 11, 12, 13, 14, 15, 19, 20, 21, 22, 25, 26, 27, 28, 29, 31]


@functools.cache
def gold(c_init, count):
    """c(n) of 38.211, 5.2.1, bit by bit."""
    x1 = [1] + [0] * 30
    x2 = [c_init >> i & 1 for i in range(31)]
    for n in range(count + 1600 - 31):
        x1.append(x1[n + 3] ^ x1[n])
        x2.append(x2[n + 3] ^ x2[n + 2] ^ x2[n + 1] ^ x2[n])
    return np.bitwise_xor(x1, x2)[1600 : 1600 + count]


def tones(t, row, spacing):
    """The sum of row[k] exp(2 pi i k spacing t). Groups of subcarriers share their exponentials."""
    width = math.isqrt(len(row)) + 1
    groups = np.resize(np.append(row, np.zeros(width)), (-(-len(row) // width), width))
    low = np.exp(2j * np.pi * np.outer(t, np.arange(width) * spacing))
    high = np.exp(2j * np.pi * np.outer(t, np.arange(len(groups)) * width * spacing))
    return ((low @ groups.T) * high).sum(axis=1)


def qpsk(bits):
    pairs = 1 - 2.0 * np.asarray(bits).reshape(-1, 2)
    return (pairs @ [1, 1j]) / np.sqrt(2)


def bits_of(value, count):
    return [value >> (count - 1 - i) & 1 for i in range(count)]


@dataclasses.dataclass
class Cell:
    """A cell, and which of its blocks are sent."""

    cell: int = 123
    scs: int = 30000  # of the SS/PBCH block, Hz
    case: str = "C"
    most_blocks: int = 8  # L_max
    blocks: tuple = (0,)  # SSB indices
    half_frame: int = 0
    common: int = 1  # subCarrierSpacingCommon
    k_ssb: int = 6
    coreset_zero: int = 0
    search_space_zero: int = 4
    wide: bool = False
    type_a_position: int = 2
    barred: bool = False
    spare: int = 0
    sib1: bytes = b""
    level: int = 8  # aggregation level
    candidate: int = 0
    prbs: tuple = (2, 20)  # first one, how many
    time_allocation: int = 0
    interleaved: bool = False
    mcs: int = 4
    version: int = 0
    indicator: int = 0  # system information indicator
    pss_boost: float = 1.0

    @property
    def common_scs(self):
        return (60000 if self.scs >= 120000 else 15000) << self.common


# -- PBCH


def payload_bits(cell, frame, block):
    """a of 38.212, 7.1.1: 32 bits, interleaved."""
    mib = [0] + bits_of(frame >> 4, 6) + [cell.common] + bits_of(cell.k_ssb & 15, 4)
    mib += [cell.type_a_position - 2] + bits_of(cell.coreset_zero, 4)
    mib += bits_of(cell.search_space_zero, 4) + [int(not cell.barred), 0, cell.spare]
    a = [None] * 32
    sfn = mib[1:7] + bits_of(frame & 15, 4)
    if cell.most_blocks == 64:
        last = bits_of(block >> 3, 3)
    else:
        last = [cell.k_ssb >> 4, 0, 0]
    for j, bit in enumerate(sfn + [cell.half_frame] + last + [mib[0]] + mib[7:]):
        a[_G[j]] = bit
    return a


def pbch_bits(cell, frame, block):
    """The 864 bits that PBCH sends (38.212, 7.1; 38.211, 7.3.3.1)."""
    a = payload_bits(cell, frame, block)
    unscrambled = {_G[10], _G[7], _G[8]}
    if cell.most_blocks == 64:
        unscrambled |= {_G[11], _G[12], _G[13]}
    m = 26 if cell.most_blocks == 64 else 29
    v = 2 * a[_G[7]] + a[_G[8]]
    sequence = list(gold(cell.cell, 4 * m)[v * m :])
    a = [bit if i in unscrambled else bit ^ sequence.pop(0) for i, bit in enumerate(a)]
    coded = native._nr_polar_encode(cudaphy.nr5g.attach_crc(np.array(a), "24C"), 864)
    v = block % (4 if cell.most_blocks == 4 else 8)
    return coded ^ gold(cell.cell, 8 * 864)[v * 864 : (v + 1) * 864]


def ssb_grid(cell, frame, block):
    """Four symbols of 240 subcarriers (38.211, 7.4.3.1)."""
    grid = np.zeros((4, 240), complex)
    grid[0, 56:183] = cell.pss_boost * native._nr_primary_sequence(cell.cell % 3)
    grid[2, 56:183] = native._nr_secondary_sequence(cell.cell)
    pilot = block % 8 if cell.most_blocks > 4 else block + 4 * cell.half_frame
    dmrs = list(native._nr_pbch_dmrs(cell.cell, pilot))
    data = list(qpsk(pbch_bits(cell, frame, block)))
    for symbol in (1, 2, 3):
        for k in range(240):
            if symbol != 2 or k < 48 or k >= 192:
                of = dmrs if k % 4 == cell.cell % 4 else data
                grid[symbol, k] = of.pop(0)
    assert not dmrs and not data
    return grid


# -- PDCCH and PDSCH of SIB1


def dci_bits(cell, size):
    """DCI format 1_0 with SI-RNTI (38.212, 7.3.1.2.1)."""
    start, length = cell.prbs
    if length - 1 <= size // 2:
        value = size * (length - 1) + start
    else:
        value = size * (size - length + 1) + size - 1 - start
    bits = bits_of(value, int(np.ceil(np.log2(size * (size + 1) / 2))))
    bits += bits_of(cell.time_allocation, 4) + [int(cell.interleaved)]
    bits += bits_of(cell.mcs, 5) + bits_of(cell.version, 2) + [cell.indicator]
    return np.array(bits + [0] * 15)


def dci_coded(cell, size, count):
    """CRC with 24 bits 1 before, masked by SI-RNTI; polar code; scrambling."""
    bits = dci_bits(cell, size)
    crc = cudaphy.nr5g.attach_crc(np.concatenate([np.ones(24, int), bits]), "24C")[-24:]
    crc = crc ^ np.array([0] * 8 + [1] * 16)
    coded = native._nr_polar_encode(np.concatenate([bits, crc]), count)
    return coded ^ gold(cell.cell, count)


def add_pdcch(cell, grid, coreset, slot, first):
    """Adds PDCCH and its DM-RS to a slot (14, subcarriers) (38.211, 7.3.2 and 7.4.1.3)."""
    size, symbols = coreset["blocks"], coreset["symbols"]
    cces = size * symbols // 6
    level = cell.level
    most = {4: 4, 8: 2, 16: 1}[level]
    start = level * (cell.candidate * cces // (level * most) % (cces // level))
    columns = cces // 2
    regs = set()
    for cce in range(start, start + level):
        c, r = divmod(cce, 2)
        bundle = (r * columns + c + cell.cell) % cces
        regs |= set(range(6 * bundle, 6 * bundle + 6))
    data = list(qpsk(dci_coded(cell, size, 108 * level)))
    for symbol in range(symbols):
        number = 14 * slot + first + symbol + 1
        c_init = (2**17 * number * (2 * cell.cell + 1) + 2 * cell.cell) % 2**31
        dmrs = qpsk(gold(c_init, 6 * size))
        for block in range(size):
            if block * symbols + symbol not in regs:
                continue
            for k in range(12):
                if k % 4 == 1:
                    value = dmrs[3 * block + k // 4]
                else:
                    value = data.pop(0)
                grid[first + symbol, 12 * block + k] = value
    assert not data


# Mapping type, first symbol and symbols of some rows of 38.214, tables 5.1.2.1.1-2 (pattern 1), -4 and -5.
TIMES = {
    (1, 0): ("A", 2, 12),
    (1, 1): ("A", 2, 10),
    (1, 5): ("B", 9, 4),
    (1, 8): ("B", 5, 2),
    (1, 13): ("A", 2, 4),
    (2, 1): ("B", 4, 2),
    (3, 4): ("B", 10, 2),
}


def sib1_channel(cell, coreset):
    kind, first, symbols = TIMES[coreset["pattern"], cell.time_allocation]
    if cell.type_a_position == 3 and kind == "A" and cell.time_allocation < 5:
        first, symbols = first + 1, symbols - 1
    return cudaphy.nr_shared_channel(
        "pdsch",
        numerology=int(np.log2(cell.common_scs / 15000)),
        grid_size=coreset["blocks"],
        prbs=cell.prbs,
        vrb_bundle=2 if cell.interleaved else 0,
        mapping_type=kind,
        first_symbol=first,
        symbols=symbols,
        dmrs_type_a_position=cell.type_a_position,
        dmrs_additional_position=2,
        cdm_groups_without_data=1 if (kind, symbols) == ("B", 2) else 2,
        dmrs_n_id=cell.cell,
        n_id=cell.cell,
        rnti=0xFFFF,
        mcs=cell.mcs,
    )


def add_sib1(cell, grid, coreset, slot):
    channel = sib1_channel(cell, coreset)
    room = channel.tbs[0] // 8
    assert len(cell.sib1) <= room, f"SIB1 has {len(cell.sib1)} bytes, room for {room}"
    sent = cell.sib1 + bytes(room - len(cell.sib1))
    grid += cudaphy.nr_pdsch_transmit(
        channel,
        np.unpackbits(np.frombuffer(sent, np.uint8)),
        slot=slot,
        redundancy_version=cell.version,
    )[0]


# -- samples


def symbol_start(symbol, scs):
    """s from the frame's start to the symbol's prefix, and the prefix's length (38.211, 5.3.1)."""
    mu = int(np.log2(scs / 15000))
    lengths = np.full(symbol + 1, (2048 + 144) / 2**mu)
    lengths[:: 7 * 2**mu] += 16
    prefix = 144 / 2**mu + (16 if symbol % (7 * 2**mu) == 0 else 0)
    return lengths[:symbol].sum() / 30.72e6, prefix / 30.72e6


class Air:
    """Samples that grids are added to.

    frame_start: sample at which the first frame begins, any number. reference: centre frequency, Hz, that phases
    are compensated for.
    """

    def __init__(self, count, rate, frame_start=0.0, reference=0.0):
        self.samples = np.zeros(count, complex)
        self.rate, self.frame_start, self.reference = rate, frame_start, reference

    def add(self, grid, first_symbol, scs, first_frequency):
        """Symbols from `first_symbol` of the first frame on; subcarrier 0 is at first_frequency, Hz."""
        for l, row in enumerate(grid):
            used = np.flatnonzero(row)
            if not used.size:
                continue
            start, prefix = symbol_start(first_symbol + l, scs)
            start += self.frame_start / self.rate
            n = np.arange(
                np.ceil(start * self.rate - 1e-6),
                np.ceil((start + prefix + 1 / scs) * self.rate - 1e-6),
            ).astype(int)
            n = n[(n >= 0) & (n < self.samples.size)]
            t = n / self.rate - start - prefix
            wave = tones(t, row[used[0] : used[-1] + 1], scs)
            wave *= np.exp(2j * np.pi * t * (first_frequency + used[0] * scs))
            turns = self.reference * (start + prefix - self.frame_start / self.rate)
            self.samples[n] += wave * np.exp(-2j * np.pi * turns)


def broadcast(
    cell,
    count,
    rate,
    frame=0,
    frame_start=0.0,
    reference=0.0,
    nominal=0.0,
    offset=0.0,
    with_sib1=True,
    frames=None,
    period=2,
):
    """Samples of what a cell broadcasts: one block and SIB1 every `period` frames.

    frame: SFN of the first one, which begins at sample frame_start. nominal: of the blocks' subcarrier 120, offset:
    of the frequency, Hz. reference: as Air's. An element of the grid has energy 1 at amplitude 1.
    """
    air = Air(count, rate, frame_start, reference)
    coreset = native._nr_coreset_zero(
        cell.scs, cell.common_scs, cell.coreset_zero, cell.k_ssb, cell.wide
    )
    first_of_half = first_symbols(cell.case)
    slots = 10 * cell.common_scs // 15000
    if frames is None:
        frames = int(np.ceil((count - frame_start) / rate / 10e-3)) + 1
    low = nominal - 120 * cell.scs
    unit = cell.common_scs if cell.scs >= 120000 else 15000
    if coreset:
        coreset_low = low - cell.k_ssb * unit - 12 * coreset["offset"] * cell.common_scs
    for number in range(frames):
        sfn = frame + number
        for block in cell.blocks:
            symbol = cell.half_frame * 5 * 14 * cell.scs // 15000 + first_of_half[block]
            if number % period == 0:
                at = number * 10 * 14 * cell.scs // 15000 + symbol
                air.add(ssb_grid(cell, sfn % 1024, block), at, cell.scs, low)
            if not with_sib1 or not coreset:
                continue
            for parity, slot, first in native._nr_monitoring_occasions(
                coreset,
                block,
                sfn % 1024,
                symbol,
                cell.scs,
                cell.search_space_zero,
                cell.common_scs,
            )[:1]:
                if parity != sfn % 2:
                    continue
                grid = np.zeros((14, 12 * coreset["blocks"]), complex)
                add_pdcch(cell, grid, coreset, slot, first)
                if cell.indicator == 0:
                    add_sib1(cell, grid, coreset, slot)
                at = 14 * (number * slots + slot)
                air.add(grid, at, cell.common_scs, coreset_low)
    return air.samples * np.exp(2j * np.pi * offset / rate * np.arange(count))


def first_symbols(case):
    """38.213, 4.1."""
    if case in "AC":
        return [f + 14 * n for n in range(4) for f in (2, 8)]
    if case == "B":
        return [f + 28 * n for n in range(2) for f in (4, 8, 16, 20)]
    groups = [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18]
    if case == "D":
        return [f + 28 * n for n in groups for f in (4, 8, 16, 20)]
    eight = (8, 12, 16, 20, 32, 36, 40, 44)
    return [f + 56 * n for n in groups[:8] for f in eight]


def with_noise(samples, snr_db, scs, rate, seed=1):
    """White noise; the ratio is that of a resource element of energy 1 in subcarriers of scs Hz."""
    chance = np.random.default_rng(seed)
    variance = rate / scs * 10 ** (-snr_db / 10)
    noise = chance.standard_normal((samples.size, 2)) @ [1, 1j]
    return (samples + noise * np.sqrt(variance / 2)).astype(np.complex64)
