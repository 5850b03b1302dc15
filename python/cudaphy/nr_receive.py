# SPDX-License-Identifier: GPL-3.0-or-later
"""Receivers of 5G NR's shared channels, PUSCH and PDSCH: resource grids to transport blocks (3GPP TS 38.211,
38.212 and 38.214).

Wrong values raise ValueError that names the clause of the standard or says what is allowed, wrong types
TypeError. What is received wrongly never raises: it fails its CRC, with a reason.
"""

import functools
import threading

import numpy as np

from . import cudaphy_python as _native
from .nr import _integer, _integers, _real, _text, nr_shared_channel
from .numpy_arguments import number_array


class nr_harq:
    """HARQ processes of one user and link: what is received of their transport blocks, for retransmissions.

    processes: 1 to 32. max_bytes: of host memory in all processes. A process holds a byte for each bit of its
    circular buffers and each information bit, from its first transmission until release(), or until new data
    needs another size. Threads may share one. (TS 38.212, 5.4.2; TS 38.321, 5.4.2) Raises ValueError.
    """

    def __init__(self, processes=16, max_bytes=1 << 28):
        max_bytes = max_bytes.__index__() if hasattr(max_bytes, "__index__") else None
        if max_bytes is None:
            raise TypeError("max_bytes is no integer")
        if not 0 <= max_bytes < 2**63:
            raise ValueError(f"max_bytes is {max_bytes}; expected 0 to 2^63 - 1")
        self._harq = _native._nr_harq(_integer(processes, "processes"), max_bytes)

    @property
    def processes(self):
        """How many there are; they are numbered from 0."""
        return self._harq.processes()

    @property
    def max_bytes(self):
        """The most that all processes may hold."""
        return self._harq.max_bytes()

    @property
    def bytes(self):
        """What all processes hold now."""
        return self._harq.bytes()

    def holds(self, process):
        """Whether a process has received something since it was released. Raises ValueError if unknown."""
        return self._harq.holds(_integer(process, "process"))

    def release(self, process):
        """Forgets what a process holds. Raises ValueError for an unknown one."""
        self._harq.release(_integer(process, "process"))


class nr_reception:
    """What was received of one shared channel in a slot. Tuples have an item for each codeword.

    payload: transport blocks, uint8 bits (tbs,), hard decisions where a CRC fails. ok: whether the transport
    block's CRC holds. block_ok: whether each code block's holds, bool (blocks,). iterations: of each code block's
    LDPC decoder, int32 (blocks,). sinr_db: of the separated layers, that of the white noise whose capacity is the
    mean over the codeword's symbols.

    reason: why a CRC fails: "" if none does, "not_finite" (a sample of DM-RS is NaN or infinite), "no_dmrs" (DM-RS
    is not above the noise) or "crc". timing_offset: seconds, positive if late: the mean delay of the channel.
    frequency_offset: Hz, positive if received too high; nan with DM-RS at one position alone. noise_variance: of
    a resource element at an antenna, interference included. delay_spread (s) and doppler (Hz): what the channel
    estimate assumed. dmrs_snr_db: of a layer at an antenna, by DM-RS. irc: whether the layers were separated with
    the covariance of the noise.
    """

    payload: tuple
    ok: tuple
    block_ok: tuple
    iterations: tuple
    sinr_db: tuple
    reason: str
    timing_offset: float
    frequency_offset: float
    noise_variance: float
    delay_spread: float
    doppler: float
    dmrs_snr_db: float
    irc: bool

    def __init__(self, values):
        self.__dict__.update(values)

    def __repr__(self):
        sinr = ", ".join(f"{value:.1f}" for value in self.sinr_db)
        return f"<nr_reception ok={self.ok} sinr_db=({sinr}) reason={self.reason!r}>"


# A receiver has decoders, tables and scrambling sequences, which take longer to make than a slot. Each thread
# has its own, so that threads receive at once.
@functools.lru_cache(maxsize=64)
def _receiver(_thread, channels, *arguments):
    return _native._nr_receiver([one._channel for one in channels], *arguments)


def _of_each(values, count, name):
    """A list with an item for each channel: one for all, or a list of them."""
    if not isinstance(values, (list, tuple)):
        return [values] * count
    if len(values) != count:
        raise ValueError(
            f"{name} has {len(values)} items; expected one of each of {count} channels"
        )
    return list(values)


def _versions(given, channel):
    versions = _integers(given, "redundancy_version")
    return versions * channel.codewords if len(versions) == 1 else versions


def _harq(given):
    if given is None:
        return None
    if not isinstance(given, nr_harq):
        raise TypeError(f"harq is {type(given).__name__}; expected nr_harq or None")
    return given._harq


def _receive(link, channel, grid, slot, given):
    many = isinstance(channel, (list, tuple))
    channels = tuple(channel) if many else (channel,)
    for one in channels:
        if not isinstance(one, nr_shared_channel):
            raise TypeError("channel is no nr_shared_channel")
        if one.link != link:
            raise ValueError(f"channel is of {one.link}; expected one of {link}")
    if not channels:
        raise ValueError("channel is an empty list")
    grid = number_array(grid, "grid").astype(np.complex64, copy=False)
    shape = channels[0].grid_shape[1:]
    if grid.ndim == 2:
        grid = grid[None]
    if grid.ndim != 3 or grid.shape[1:] != shape or not 1 <= grid.shape[0] <= 128:
        raise ValueError(
            f"grid has shape {grid.shape}; expected (antennas, {shape[0]}, {shape[1]}) of 1 to 128 antennas"
        )
    count = len(channels)
    versions = given["redundancy_version"]
    versions = _of_each(versions, count, "redundancy_version") if many else [versions]
    orders = [
        (_versions(version, one), _harq(harq), _integer(process, "process"), bool(new))
        for one, version, harq, process, new in zip(
            channels,
            versions,
            _of_each(given["harq"], count, "harq"),
            _of_each(given["process"], count, "process"),
            _of_each(given["new_data"], count, "new_data"),
        )
    ]
    estimates = [
        -1.0 if given[name] is None else _real(given[name], name)
        for name in ("delay_spread", "doppler")
    ]
    with_receiver = _receiver(
        threading.get_ident(),
        channels,
        grid.shape[0],
        _text(given["estimator"], "estimator"),
        _text(given["interference"], "interference"),
        *estimates,
        bool(given["track_frequency"]),
        _integer(given["max_iterations"], "max_iterations"),
        _text(given["backend"], "backend"),
        _integer(given["device"], "device"),
    )
    got = with_receiver.run(grid, _integer(slot, "slot"), orders)
    got = [nr_reception(one) for one in got]
    return got if many else got[0]


def nr_pusch_receive(
    channel,
    grid,
    slot=0,
    redundancy_version=0,
    *,
    estimator="mmse",
    interference="auto",
    delay_spread=None,
    doppler=None,
    track_frequency=True,
    harq=None,
    process=0,
    new_data=True,
    max_iterations=20,
    backend="auto",
    device=0,
):
    """Transport blocks of PUSCH from a slot's resource grid (TS 38.211, 6.3.1 and 6.4.1; TS 38.212, 6.2).

    channel: nr_shared_channel("pusch", ...), or a list of those that share the grid, of one grid_size, numerology
    and prefix. Those on the same resource blocks are separated jointly (MU-MIMO) if their DM-RS has the same
    type, length and symbols, other ports, and another CDM group or the same sequence (dmrs_n_id, n_scid). Others
    on the same resource blocks are interference. grid: (antennas, symbols, subcarriers) or, of one antenna,
    (symbols, subcarriers); 1 to 128 antennas. slot: in the frame. redundancy_version: 0 to 3, that of each codeword
    or one.

    estimator: "mmse" over DM-RS in frequency and time, or "ls" with straight lines. interference: "white" noise,
    "irc" for MMSE-IRC with the noise's covariance, "auto" for IRC if the covariance differs from white noise more
    than by chance. delay_spread (rms, s) and doppler (Hz): what "mmse" assumes; None: what DM-RS tells.
    track_frequency: undo the frequency offset that DM-RS at two positions or more tells.
    harq: nr_harq, into whose process the transmission goes; new_data: False for a retransmission, which is combined
    with what the process holds. max_iterations: of the LDPC decoder. backend, device: of all steps.

    Returns nr_reception; of a list of channels a list. redundancy_version, harq, process and new_data are then for
    all, or lists. Samples that are not finite are erased. Raises ValueError, also for an unknown process or a
    retransmission of another size, before anything is decoded; BackendUnavailable.
    """
    return _receive("pusch", channel, grid, slot, dict(locals()))


def nr_pdsch_receive(
    channel,
    grid,
    slot=0,
    redundancy_version=0,
    *,
    estimator="mmse",
    interference="auto",
    delay_spread=None,
    doppler=None,
    track_frequency=True,
    harq=None,
    process=0,
    new_data=True,
    max_iterations=20,
    backend="auto",
    device=0,
):
    """Transport blocks of PDSCH from a slot's resource grid (TS 38.211, 7.3.1 and 7.4.1; TS 38.212, 7.2).

    channel: nr_shared_channel("pdsch", ...), or a list of those that share the grid. Everything else is as of
    nr_pusch_receive; with more than four layers there are two codewords. The layers' precoding is part of the
    channel that DM-RS tells. Returns nr_reception, or a list. Raises ValueError, BackendUnavailable.
    """
    return _receive("pdsch", channel, grid, slot, dict(locals()))
