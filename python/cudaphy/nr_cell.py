# SPDX-License-Identifier: GPL-3.0-or-later
"""Cell search of 5G NR, and what cells broadcast: MIB and SIB1 (3GPP TS 38.211, 38.212, 38.213, 38.214)."""

import dataclasses

import numpy as np

from . import cudaphy_python as _native
from .nr import _integer, _integers, _real
from .numpy_arguments import number_array

_FR2 = 24.25e9  # Hz; TS 38.104, table 5.1-1


@dataclasses.dataclass(frozen=True)
class nr_mib:
    """What a PBCH says (3GPP TS 38.331, 6.2.2; TS 38.212, 7.1.1).

    system_frame_number: 0 to 1023. half_frame: of the block, 0 or 1. common_spacing: subCarrierSpacingCommon, Hz.
    subcarrier_offset: k_SSB; above 23 (FR2: 11) the cell has no SIB1 here. dmrs_type_a_position: 2 or 3.
    coreset_zero, search_space_zero: halves of pdcch-ConfigSIB1, 0 to 15. cell_barred, intra_frequency_reselection:
    bool, reselection is allowed. spare: MIB's last bit. bits: the 24 bits of BCCH-BCH-Message, a string.
    """

    system_frame_number: int
    half_frame: int
    common_spacing: int
    subcarrier_offset: int
    dmrs_type_a_position: int
    coreset_zero: int
    search_space_zero: int
    cell_barred: bool
    intra_frequency_reselection: bool
    spare: int
    bits: str


@dataclasses.dataclass(frozen=True)
class nr_cell:
    """An SS/PBCH block of a cell, as nr_cell_search() finds it.

    cell_id: N_ID^cell, 0 to 1007. ssb_index: i_SSB, or None without MIB. subcarrier_spacing: of the block, Hz.
    ssb_frequency: of its subcarrier 120 on the raster, Hz above the samples' centre. frequency_offset: Hz that it is
    received higher. sample: where the block begins with its prefix, a fraction. frame_sample: where its frame begins,
    or None. snr_db: of a resource element. pss_correlation, sss_correlation: 0 to 1, the part of the energy there
    that is PSS or SSS. ssb_case: A to E (TS 38.213, 4.1), or None. mib: nr_mib, or None if PBCH's CRC fails.
    sib1: bytes of BCCH-DL-SCH-Message with their padding, empty if not read; sib1_reason: why not. coreset_zero: None,
    or a dict of pattern, blocks, symbols, offset (resource blocks) and spacing (Hz). dci: None, or a dict of the
    fields of SIB1's DCI, and of where it was found.
    """

    cell_id: int
    ssb_index: "int | None"
    subcarrier_spacing: int
    ssb_frequency: float
    frequency_offset: float
    sample: float
    frame_sample: "float | None"
    snr_db: float
    pss_correlation: float
    sss_correlation: float
    ssb_case: "str | None"
    mib: "nr_mib | None"
    sib1: bytes
    sib1_reason: str
    coreset_zero: "dict | None"
    dci: "dict | None"


def _mib_of(found, spacing):
    if found is None:
        return None
    fields = {name: found[name] for name in nr_mib.__dataclass_fields__}
    low = 60000 if spacing >= 120000 else 15000
    fields["common_spacing"] = low << found["common_spacing"]
    return nr_mib(**fields)


def _cell_of(found):
    mib, sib1 = found["mib"], found["sib1"]
    known = mib is not None
    coreset = None if sib1["coreset"] is None else dict(sib1["coreset"])
    if coreset is not None:
        coreset["spacing"] = sib1["scs"]
    return nr_cell(
        cell_id=found["cell"],
        ssb_index=mib["ssb_index"] if known else None,
        subcarrier_spacing=found["scs"],
        ssb_frequency=found["ssb_frequency"],
        frequency_offset=found["frequency_offset"],
        sample=found["time"],
        frame_sample=found["frame_time"] if known else None,
        snr_db=found["snr"],
        pss_correlation=found["pss_correlation"],
        sss_correlation=found["sss_correlation"],
        ssb_case=found["pattern"] if known else None,
        mib=_mib_of(mib, found["scs"]),
        sib1=sib1["bytes"],
        sib1_reason=sib1["reason"],
        coreset_zero=coreset,
        dci=sib1["dci"],
    )


def nr_synchronization_raster(first, last):
    """Frequencies of the synchronization raster from first to last, Hz (3GPP TS 38.104, 5.4.3.1).

    There subcarrier 120 of SS/PBCH blocks may be. Returns float64 (n,), ascending. Raises ValueError.
    """
    return np.array(
        _native._nr_synchronization_raster(_real(first, "first"), _real(last, "last"))
    )


def nr_cell_search(
    samples,
    sample_rate,
    *,
    ssb_frequency=None,
    center_frequency=None,
    subcarrier_spacing=None,
    threshold=0.1,
    max_candidates=32,
    sib1=True,
):
    """Cells of 5G NR in samples, and what they broadcast: a list of nr_cell, the strongest first.

    samples: complex (n,), 20 ms or more; PDCCH and PDSCH of SIB1 need 25. sample_rate: samples/s, any that holds the
    240 subcarriers of an SS/PBCH block. center_frequency: of the samples, Hz; transmitters compensate phases for
    their carrier (TS 38.211, 5.4), and some tables depend on the band. None: not known, or not compensated.
    ssb_frequency: one or several places of a block's subcarrier 120, Hz above the samples' centre; None: the whole
    synchronization raster in the samples' band (TS 38.104, 5.4.3.1) if center_frequency is given, else 0. The
    signal may be up to one subcarrier beside. subcarrier_spacing: one or several of 15000, 30000, 120000 and 240000
    Hz; None: the first two, above 24.25 GHz the last two. threshold: least correlation with PSS that is looked into,
    above 0 to 1. max_candidates: peaks of PSS that are looked into. sib1: whether to go on to SIB1.

    Each block (cell and SSB index) is told once. No cell: an empty list. Raises ValueError that says what is
    allowed, TypeError for other types.
    """
    array = number_array(samples, "samples")
    if array.ndim != 1:
        raise ValueError(f"samples has shape {array.shape}; expected (n,)")
    rate = _real(sample_rate, "sample_rate")
    centre = (
        0.0 if center_frequency is None else _real(center_frequency, "center_frequency")
    )
    if subcarrier_spacing is None:
        spacings = [120000, 240000] if centre >= _FR2 else [15000, 30000]
    else:
        spacings = _integers(subcarrier_spacing, "subcarrier_spacing")
    if ssb_frequency is not None:
        places = [
            _real(f, "ssb_frequency") for f in np.atleast_1d(ssb_frequency).tolist()
        ]
    elif center_frequency is None or not np.isfinite(centre + rate):
        places = [0.0]
    else:
        reach = rate / 2 - 121 * min(spacings, default=0)
        raster = nr_synchronization_raster(centre - reach, centre + reach)
        places = (raster - centre).tolist()
        if not places and reach >= 0:
            raise ValueError(
                "no place of the synchronization raster lies in the samples' band (TS 38.104, 5.4.3.1); "
                "give ssb_frequency, or samples of a higher rate"
            )
    found = _native._nr_cell_search(
        array.astype(np.complex64, copy=False),
        rate,
        centre,
        places or [0.0],
        spacings,
        _real(threshold, "threshold"),
        _integer(max_candidates, "max_candidates"),
        bool(sib1),
    )
    return [_cell_of(one) for one in found]
