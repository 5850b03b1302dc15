# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared channels of 5G NR, PUSCH and PDSCH (3GPP TS 38.211, 38.212 and 38.214), and their OFDM.

Grids are complex64 (ports, symbols, subcarriers). Wrong values raise ValueError that names the clause of
the standard, wrong types TypeError.
"""

import operator

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import bit_array, number_array


def _integer(value, name):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} is {type(value).__name__}; expected an integer"
        ) from None
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} is {value}; expected an integer of 32 bits")
    return value


def _real(value, name):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {type(value).__name__}; expected a number") from None


def _text(value, name):
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__}; expected a string")
    return value


def _integers(values, name):
    """A list of integers, also of a single one."""
    if np.ndim(values) == 0 and not isinstance(values, (str, bytes)):
        values = [values]
    return [_integer(value, name) for value in values]


def _pair(values, name):
    values = _integers(values, name)
    if len(values) not in (1, 2):
        raise ValueError(f"{name} has {len(values)} values; expected one or two")
    return values[0], values[-1]


def _contiguous(prbs, bwp_size):
    if not 1 <= bwp_size <= 275:
        raise ValueError(
            f"a bandwidth part of {bwp_size} resource blocks; allowed: 1 to 275 (TS 38.211, 4.4.5)"
        )
    start, length = (0, bwp_size) if prbs is None else _pair(prbs, "prbs")
    if not (0 <= start and 1 <= length and start + length <= bwp_size):
        raise ValueError(
            f"prbs: {length} from {start} on do not lie within a bandwidth part of {bwp_size} "
            "(TS 38.214, 5.1.2.2.2 and 6.1.2.2.2)"
        )
    return list(range(start, start + length))


def _mask(reserved, shape):
    if reserved is None:
        return np.zeros(0, np.uint8)
    mask = bit_array(reserved, "reserved")
    if mask.shape != shape:
        raise ValueError(
            f"reserved has shape {mask.shape}; expected (symbols, subcarriers), {shape}"
        )
    return mask.reshape(-1)


class nr_shared_channel:
    """A slot of PUSCH or PDSCH: checked parameters, and all that follows from them.

    link: "pusch" or "pdsch". Resource blocks are counted as common resource blocks in grid_start and
    bwp_start, and from the bandwidth part's first one in prbs.

    numerology: mu, 0 to 4. extended_prefix: with numerology 2 alone.
    grid_start, grid_size: the resource grid. bwp_start, bwp_size: the bandwidth part; None: the grid.
    prbs: (start, length), None for all of the bandwidth part; or rbg_bitmap, a string of 0 and 1 for each
    resource block group (allocation type 0) with rbg_configuration 1 or 2. vrb_bundle: 0, or on PDSCH 2 or 4
    for interleaved resource blocks.
    mapping_type: "A" or "B". first_symbol, symbols: of the slot.
    dmrs_type: 1 or 2. dmrs_length: 1 or 2 symbols. dmrs_type_a_position: 2 or 3.
    dmrs_additional_position: 0 to 3. cdm_groups_without_data: 1 to 3. dmrs_ports: each layer's, from 0 on;
    None: 0, 1, 2 ... n_scid: 0 or 1. dmrs_n_id: N_ID, one or that of each n_scid, 0 to 65535. n_rs_id and
    hopping ("neither", "group", "sequence"): with transform precoding. dmrs_reference_block: where the
    sequence starts, on PDSCH of CORESET 0 that CORESET's first block. dmrs_amplitude: over the data's; None:
    that of TS 38.214, sqrt(cdm_groups_without_data).
    ptrs: whether there is PT-RS; its time density L (1, 2, 4), frequency density K (2, 4), offset (0 to 3),
    port (None: the lowest of dmrs_ports) and amplitude (None: sqrt(layers)). With transform precoding PT-RS
    has ptrs_groups (2, 4, 8) of ptrs_samples (2, 4) in a symbol instead of frequency density, offset and port;
    its amplitude is that of the outermost points.
    layers: 1 to 4, on PDSCH to 8. transform_precoding, antenna_ports (None: no codebook; 1, 2, 4) and tpmi:
    on PUSCH.
    n_id: of scrambling, 0 to 1023. rnti: 0 to 65535.
    mcs: index, or one of each codeword. mcs_table: "qam64", "qam256", "qam64_low_se", "qam1024",
    "transform_qam64" or "transform_qam64_low_se". pi2_bpsk: tp-pi2BPSK. overhead: xOverhead, 0, 6, 12 or 18.
    limited_buffer: TBS_LBRM (nr_limited_buffer), 0 for the whole buffer.
    reserved: resource elements without data, None or (symbols, subcarriers) of 0 and 1.
    """

    def __init__(
        self,
        link,
        *,
        numerology=1,
        extended_prefix=False,
        grid_start=0,
        grid_size=52,
        bwp_start=None,
        bwp_size=None,
        prbs=None,
        rbg_bitmap=None,
        rbg_configuration=1,
        vrb_bundle=0,
        mapping_type="A",
        first_symbol=0,
        symbols=14,
        dmrs_type=1,
        dmrs_length=1,
        dmrs_type_a_position=2,
        dmrs_additional_position=0,
        cdm_groups_without_data=2,
        dmrs_ports=None,
        n_scid=0,
        dmrs_n_id=0,
        n_rs_id=0,
        hopping="neither",
        dmrs_reference_block=0,
        dmrs_amplitude=None,
        ptrs=False,
        ptrs_time_density=1,
        ptrs_frequency_density=2,
        ptrs_offset=0,
        ptrs_port=None,
        ptrs_amplitude=None,
        ptrs_groups=2,
        ptrs_samples=2,
        layers=1,
        transform_precoding=False,
        antenna_ports=None,
        tpmi=0,
        n_id=0,
        rnti=1,
        mcs=0,
        mcs_table="qam64",
        pi2_bpsk=False,
        overhead=0,
        limited_buffer=0,
        reserved=None,
    ):
        if link not in ("pusch", "pdsch"):
            raise ValueError(f'link is {link!r}; expected "pusch" or "pdsch"')
        given = {"link": link}
        integers = {
            "numerology": numerology,
            "grid_start": grid_start,
            "grid_size": grid_size,
            "bwp_start": grid_start if bwp_start is None else bwp_start,
            "bwp_size": grid_size if bwp_size is None else bwp_size,
            "vrb_bundle": vrb_bundle,
            "first_symbol": first_symbol,
            "symbols": symbols,
            "dmrs_type": dmrs_type,
            "dmrs_length": dmrs_length,
            "dmrs_type_a_position": dmrs_type_a_position,
            "dmrs_additional_position": dmrs_additional_position,
            "cdm_groups_without_data": cdm_groups_without_data,
            "n_scid": n_scid,
            "n_rs_id": n_rs_id,
            "dmrs_reference_block": dmrs_reference_block,
            "ptrs_time_density": ptrs_time_density,
            "ptrs_frequency_density": ptrs_frequency_density,
            "ptrs_offset": ptrs_offset,
            "ptrs_port": -1 if ptrs_port is None else ptrs_port,
            "ptrs_groups": ptrs_groups,
            "ptrs_samples": ptrs_samples,
            "layers": layers,
            "antenna_ports": 0 if antenna_ports is None else antenna_ports,
            "tpmi": tpmi,
            "n_id": n_id,
            "rnti": rnti,
            "overhead": overhead,
            "limited_buffer": limited_buffer,
        }
        given.update({name: _integer(value, name) for name, value in integers.items()})
        bwp = given["bwp_start"], given["bwp_size"]
        if rbg_bitmap is None:
            given["resource_blocks"] = _contiguous(prbs, bwp[1])
        elif prbs is not None:
            raise ValueError("give one of prbs and rbg_bitmap")
        else:
            given["resource_blocks"] = _native._nr_bitmap_resource_blocks(
                _text(rbg_bitmap, "rbg_bitmap"),
                *bwp,
                _integer(rbg_configuration, "rbg_configuration"),
            )
        given["dmrs_ports"] = (
            list(range(max(0, min(given["layers"], 12))))
            if dmrs_ports is None
            else _integers(dmrs_ports, "dmrs_ports")
        )
        given["dmrs_n_id"] = _pair(dmrs_n_id, "dmrs_n_id")
        given["mcs"] = _pair(mcs, "mcs")
        for name, value in (
            ("dmrs_amplitude", dmrs_amplitude),
            ("ptrs_amplitude", ptrs_amplitude),
        ):
            given[name] = 0.0 if value is None else _real(value, name)
        for name, value in (
            ("mapping_type", mapping_type),
            ("hopping", hopping),
            ("mcs_table", mcs_table),
        ):
            given[name] = _text(value, name)
        given["extended_prefix"] = bool(extended_prefix)
        given["transform_precoding"] = bool(transform_precoding)
        given["pi2_bpsk"] = bool(pi2_bpsk)
        given["ptrs"] = bool(ptrs)
        symbols_per_slot = 12 if extended_prefix else 14
        given["reserved"] = _mask(reserved, (symbols_per_slot, 12 * given["grid_size"]))
        self._given = given
        self._channel = _native._nr_channel(given)
        self._senders = {}

    def __repr__(self):
        bits = " + ".join(str(one) for one in self.tbs)
        return f"{self.link.upper()}, {self.layers} layer{'s' * (self.layers > 1)}, {bits} bits"

    def _sender(self, *where):
        """The transmitter of a backend and device; its encoders are made once."""
        if where not in self._senders:
            self._senders[where] = _native._nr_transmitter(self._channel, *where)
        return self._senders[where]

    @property
    def link(self):
        """ "pusch" or "pdsch"."""
        return self._channel.link()

    @property
    def numerology(self):
        """mu: subcarriers are 15 · 2^mu kHz apart (TS 38.211, 4.2)."""
        return self._given["numerology"]

    @property
    def layers(self):
        """Layers of all codewords."""
        return self._channel.layers()

    @property
    def codewords(self):
        """1, or 2 for more than four layers."""
        return len(self._channel.payload())

    @property
    def grid_shape(self):
        """(ports, symbols, subcarriers) of a slot: antenna ports by codebook, else layers."""
        return self._channel.grid_shape()

    @property
    def tbs(self):
        """Bits of the transport block of each codeword, without CRC (TS 38.214, 5.1.3.2): a tuple."""
        return self._channel.payload()

    @property
    def coded_bits(self):
        """G, bits that the slot carries of each codeword (TS 38.212, 6.2.5): a tuple."""
        return self._channel.coded()

    @property
    def modulation_order(self):
        """Q_m of each codeword: a tuple."""
        return self._channel.order()

    @property
    def code_rate(self):
        """Target code rate of each codeword (TS 38.214, 5.1.3.1): a tuple."""
        return self._channel.rate()

    @property
    def segmentation(self):
        """How each transport block falls into code blocks: a tuple of nr5g_segmentation."""
        return self._channel.segmentation()

    @property
    def scrambling_c_init(self):
        """c_init of each codeword's scrambling (TS 38.211, 6.3.1.1 and 7.3.1.1): a tuple."""
        return self._channel.c_init()

    @property
    def resource_blocks(self):
        """Allocated physical resource blocks of the grid, ascending, int32."""
        return self._channel.blocks()

    @property
    def data_elements(self):
        """symbol · subcarriers + subcarrier of each data symbol of a layer, in their order, uint32."""
        return self._channel.data()

    @property
    def ptrs_elements(self):
        """symbol · subcarriers + subcarrier of each element with PT-RS, uint32; none with transform precoding."""
        return self._channel.ptrs()

    def precoded_ptrs(self, slot):
        """PT-RS before transform precoding, in a slot of a frame (TS 38.211, 6.4.1.2.1.2 and 6.4.1.2.2.2).

        Returns symbols, int32 (s,); places m in each, int32 (p,); and values, complex64 (p,), of all symbols.
        """
        return self._channel.precoded_ptrs(_integer(slot, "slot"))

    @property
    def dmrs_symbols(self):
        """Symbols of the slot with DM-RS, int32 (TS 38.211, 6.4.1.1.3 and 7.4.1.1.2)."""
        return self._channel.dmrs_symbols()

    @property
    def precoding(self):
        """Weights of the layers on the grid's ports, complex64 (ports, layers) (TS 38.211, 6.3.1.5)."""
        return self._channel.precoding()

    def dmrs(self, slot):
        """DM-RS in a slot of a frame, without amplitude and the ports' signs.

        Returns symbols, int32 (s,); subcarriers of each CDM group without data, uint32 (groups, pilots); and
        values, complex64 (s, pilots), which are the same for all groups.
        """
        return self._channel.dmrs(_integer(slot, "slot"))


def nr_limited_buffer(prbs, layers=4, modulation_order=8):
    """TBS_LBRM of limited-buffer rate matching (TS 38.212, 5.4.2.1).

    prbs: resource blocks of the largest bandwidth part, 1 to 275. layers: the most of a transport block, 1 to
    4. modulation_order: the highest configured, 6, 8 or 10. Raises ValueError.
    """
    return _native._nr_limited_buffer_block_size(
        _integer(prbs, "prbs"),
        _integer(layers, "layers"),
        _integer(modulation_order, "modulation_order"),
    )


def _payload(given):
    """Bits of a transport block: of bytes, the highest bit of each first."""
    if isinstance(given, (bytes, bytearray, memoryview)):
        return np.unpackbits(np.frombuffer(given, np.uint8))
    bits = bit_array(given, "payload")
    if bits.ndim != 1:
        raise ValueError(f"payload has shape {bits.shape}; expected one dimension")
    return bits


def _transmit(link, channel, payload, slot, redundancy_version, backend, device):
    if not isinstance(channel, nr_shared_channel):
        raise TypeError("channel is no nr_shared_channel")
    if channel.link != link:
        raise ValueError(f"channel is of {channel.link}; expected one of {link}")
    if channel.codewords == 1:
        payload = [payload]
    versions = _integers(redundancy_version, "redundancy_version")
    if len(versions) == 1:
        versions *= channel.codewords
    return channel._sender(backend, device).run(
        [_payload(one) for one in payload], _integer(slot, "slot"), versions
    )


def nr_pusch_transmit(
    channel, payload, slot=0, redundancy_version=0, backend="auto", device=0
):
    """The resource grid of a slot of PUSCH (TS 38.212, 6.2; TS 38.211, 6.3.1 and 6.4.1).

    channel: nr_shared_channel("pusch", ...). payload: the transport block, uint8 bits (tbs,) or bytes, the
    highest bit of a byte first. slot: in the frame. redundancy_version: 0 to 3. backend, device: of the LDPC
    encoder. Returns complex64 channel.grid_shape, 0 where the channel sends nothing; data elements have
    unit mean energy before precoding. Raises ValueError, BackendUnavailable.
    """
    return _transmit("pusch", channel, payload, slot, redundancy_version, backend, device)


def nr_pdsch_transmit(
    channel,
    payload,
    slot=0,
    redundancy_version=0,
    precoding=None,
    backend="auto",
    device=0,
):
    """The resource grid of a slot of PDSCH (TS 38.212, 7.2; TS 38.211, 7.3.1 and 7.4.1).

    channel: nr_shared_channel("pdsch", ...). payload: as of nr_pusch_transmit; a list of two with two
    codewords. redundancy_version: one, or that of each codeword. precoding: None, or weights of the layers on
    antennas, (antennas, layers). Returns complex64 (layers or antennas, symbols, subcarriers). Raises
    ValueError, BackendUnavailable.
    """
    grid = _transmit("pdsch", channel, payload, slot, redundancy_version, backend, device)
    if precoding is None:
        return grid
    weights = number_array(precoding, "precoding").astype(np.complex64)
    if weights.ndim != 2 or weights.shape[1] != grid.shape[0]:
        raise ValueError(
            f"precoding has shape {weights.shape}; expected (antennas, {grid.shape[0]})"
        )
    return np.tensordot(weights, grid, 1)


def _ofdm(subcarriers, numerology, extended_prefix, fft_size, frequency, middle, window):
    if fft_size is None:
        fft_size = max(128, 1 << (max(subcarriers, 1) - 1).bit_length())
    return _native._nr_ofdm(
        _integer(numerology, "numerology"),
        bool(extended_prefix),
        subcarriers,
        _integer(fft_size, "fft_size"),
        _real(frequency, "carrier_frequency"),
        _integer(middle, "middle"),
        _integer(window, "window"),
    )


def nr_ofdm_modulate(
    grid,
    numerology=1,
    *,
    slot=0,
    fft_size=None,
    extended_prefix=False,
    carrier_frequency=0.0,
    middle=0,
    window=0,
):
    """OFDM samples of whole slots (TS 38.211, 5.3.1).

    grid: (symbols, subcarriers) or (ports, symbols, subcarriers), whole slots. numerology: mu, 0 to 4. slot: in
    the frame, of the first one. fft_size: samples of a symbol, a multiple of 128 (extended prefix: 4); None:
    the power of two at or above the subcarriers. carrier_frequency: f_0 of the phase compensation (5.4), Hz; 0:
    none. middle: k_0, subcarriers that the grid's middle lies above the carrier. window: samples that
    neighbouring symbols overlap. The sample rate is 15 kHz · 2^mu · fft_size; transforms are scaled by
    1 / sqrt(fft_size). Returns complex64 (samples,) or (ports, samples). Raises ValueError.
    """
    grid = number_array(grid, "grid").astype(np.complex64, copy=False)
    if grid.ndim not in (2, 3):
        raise ValueError(
            f"grid has shape {grid.shape}; expected (symbols, subcarriers) or (ports, symbols, subcarriers)"
        )
    with_ofdm = _ofdm(
        grid.shape[-1],
        numerology,
        extended_prefix,
        fft_size,
        carrier_frequency,
        middle,
        window,
    )
    samples = with_ofdm.modulate(
        grid if grid.ndim == 3 else grid[None], _integer(slot, "slot")
    )
    return samples if grid.ndim == 3 else samples[0]


def nr_ofdm_demodulate(
    samples,
    subcarriers,
    numerology=1,
    *,
    slots=1,
    slot=0,
    fft_size=None,
    extended_prefix=False,
    carrier_frequency=0.0,
    middle=0,
    advance=0,
):
    """The resource grid of samples of whole slots: the inverse of nr_ofdm_modulate.

    samples: (n,) or (ports, n), of `slots` slots, the first one starting at the first sample. subcarriers: of
    the grid. advance: samples that a symbol's transform starts within its prefix; the grid's phases are those of
    0. The others are as of nr_ofdm_modulate. Returns complex64 (symbols, subcarriers) or (ports, symbols,
    subcarriers). Raises ValueError.
    """
    samples = number_array(samples, "samples").astype(np.complex64, copy=False)
    if samples.ndim not in (1, 2):
        raise ValueError(
            f"samples has shape {samples.shape}; expected (n,) or (ports, n)"
        )
    with_ofdm = _ofdm(
        _integer(subcarriers, "subcarriers"),
        numerology,
        extended_prefix,
        fft_size,
        carrier_frequency,
        middle,
        0,
    )
    slots = _integer(slots, "slots")
    if not 0 <= slots <= 10240:
        raise ValueError(f"slots is {slots}; expected 0 to 10240")
    grid = with_ofdm.demodulate(
        np.atleast_2d(samples),
        slots,
        _integer(slot, "slot"),
        _integer(advance, "advance"),
    )
    return grid if samples.ndim == 2 else grid[0]
