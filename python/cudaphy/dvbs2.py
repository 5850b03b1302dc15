# SPDX-License-Identifier: GPL-3.0-or-later
"""Reception of DVB-S2 and DVB-S2X on numpy arrays."""

import collections
import weakref

import numpy as np

from . import cudaphy_python as _native
from .bch import bch_decode
from .dvb import bb_frame_reader, dvbs2_frames
from .ldpc import ldpc_decode
from .mimo import demap
from .symbols import sync_symbols

ITERATIONS = 50
ALGORITHM = "normalized_min_sum"
FIRST_VL_SNR = 256  # dvb_mode.pls of VL-SNR frames and more
VL_SNR_AVERAGING = 131072  # symbols that Symbol Sync needs at -9.9 dB

received_frame = collections.namedtuple(
    "received_frame", "mode es_n0 frequency first_sample bits ok"
)
received_frame.__doc__ = """A frame that dvbs2_receive() found.

mode: dvb_mode, what the header says. es_n0: in dB. frequency: of the carrier, in cycles a symbol.
first_sample: where the header's first symbol lies among the samples, a float. bits (k), uint8: the
BBFRAME, still scrambled. ok: it was decoded.
"""


def dvbs2_modes(modes=(), extended=True, vl_snr=False):
    """The dvb_modes of PLS codes `modes`; none: all of DVB-S2, with `extended` all of S2X too, with `vl_snr` those of
    VL-SNR frames too, without dummy frames. Raises ValueError for a PLS code that names no frame with data.
    """
    wanted = list(modes) or [
        *range(256 if extended else 128),
        *(range(FIRST_VL_SNR, 272) if vl_snr else ()),
    ]
    found = [(pls, _native.dvb_mode.of(pls)) for pls in wanted]
    if len(modes):
        for pls, mode in found:
            if mode is None or mode.dummy:
                raise ValueError(f"PLS code {pls} names no frame with data")
    return [mode for _, mode in found if mode is not None and not mode.dummy]


def llr_steps_of(backend, device=0):
    """Steps in a unit of LLR for the LDPC decoder's int8 arithmetic. On a CPU that has room for 63 steps in all;
    more than 4 a unit saturate, and lose 0.2 dB at 12. On CUDA it has room for a thousand.
    """
    return 12 if _native.resolve_backend(backend, device)[0] == "cuda" else 4


# Codes in use: to make the 60 codes of a receiver takes half a second.
_codes = weakref.WeakValueDictionary()


def _code(mode, make):
    key = make, mode.extended, mode.frame, mode.rate
    found = _codes.get(key)
    if found is None:
        found = _codes[key] = make(mode)
    return found


def _make_ldpc_code(mode):
    family = "dvbs2x" if mode.extended else "dvbs2"
    return _native.ldpc_code(family, frame=mode.frame, rate=mode.rate)


def _make_bch_code(mode):
    made = _native.bch_code.dvbs2x if mode.extended else _native.bch_code.dvbs2
    return made(mode.frame, mode.rate)


def ldpc_code_of(mode):
    """The LDPC code of a dvb_mode, the same object while one is in use."""
    return _code(mode, _make_ldpc_code)


def bch_code_of(mode):
    """The BCH code of a dvb_mode, the same object while one is in use."""
    return _code(mode, _make_bch_code)


def decode_frames(
    mode,
    frames,
    iterations=ITERATIONS,
    algorithm=ALGORITHM,
    backend="auto",
    device=0,
):
    """BBFRAMEs (n, k), uint8, and whether each was decoded (n), of frames of one mode: dvbs2_frame objects, or
    others with `symbols` and `noise_variance`."""
    where = {"backend": backend, "device": device}
    steps = llr_steps_of(backend, device)
    symbols = np.stack([frame.symbols for frame in frames])
    noise = np.array([[frame.noise_variance] for frame in frames], np.float32)
    ldpc, interleaver = ldpc_code_of(mode), mode.bit_interleaver
    llr = demap(
        symbols,
        noise,
        mode.constellation,
        dtype="int8",
        llr_steps=steps,
        bit_interleaver=interleaver,
        frame_bits=ldpc.n if interleaver else 0,
        **where,
    )
    words = ldpc_decode(
        ldpc,
        llr.reshape(len(frames), -1)[:, : ldpc.n],
        iterations,
        algorithm,
        llr_scale=1 / steps,
        packed=True,
        **where,
    )[0]
    bits, corrected = bch_decode(bch_code_of(mode), words, packed_input=True, **where)
    return bits, corrected >= 0


def dvbs2_receive(
    samples,
    samples_per_symbol,
    roll_off=0.2,
    gold_code=0,
    modes=(),
    iterations=ITERATIONS,
    algorithm=ALGORITHM,
    most_offset=0.25,
    isi=None,
    backend="auto",
    device=0,
    vl_snr=False,
    averaging=0,
):
    """Receives the frames of a DVB-S2 or S2X signal, and its transport stream.

    samples (n): complex, of one carrier; or (n, 2), int16 or int8: real and imaginary parts.
    samples_per_symbol: 1.5 to 16, any real number. roll_off: 0.05 to 0.35. gold_code: of the physical
    layer scrambling, 0 to 262142. modes: of the frames that are wanted, as dvb_mode has them; none: all. iterations:
    of the LDPC decoder, at most. algorithm: of the LDPC decoder, as ldpc_decode() has it. most_offset: of
    the carrier, in symbol rates, at most 0.25. isi: the input stream whose transport packets are wanted, 0
    to 255; None: the first one that comes. vl_snr: receive VL-SNR frames of S2X too, at an Es/N0 down to -10 dB;
    any of `modes` that is one, 256 and more, implies it. averaging: symbols that an instant is estimated from, as
    sync_symbols() has it; 0: 1536 / roll_off, and with vl_snr 131072, which a clock must be steady for.

    Returns the frames, a list of received_frame in their order, and the transport packets, bytes.
    MODCOD, frame size, pilots, timing, gain and carrier are found; dummy frames are left out.
    Raises ValueError for a wrong shape or a number out of range, TypeError, BackendUnavailable.
    (ETSI EN 302 307-1 and -2.)
    """
    where = {"backend": backend, "device": device}
    codes = [mode.pls for mode in dvbs2_modes(modes)] if len(modes) else ()
    vl_snr = vl_snr or any(code >= FIRST_VL_SNR for code in codes)
    reader = bb_frame_reader(isi)
    symbols, timing = sync_symbols(
        samples,
        samples_per_symbol,
        roll_off,
        averaging=averaging or (VL_SNR_AVERAGING if vl_snr else 0),
        most_offset=most_offset,
        info=True,
        **where,
    )
    frames = dvbs2_frames(
        symbols,
        gold_code,
        codes,
        0.25,
        carrier_changes=timing.carrier_changes,
        vl_snr=vl_snr,
    )
    of_mode = collections.defaultdict(list)
    for place, frame in enumerate(frames):
        of_mode[frame.mode.pls].append(place)
    received = [None] * len(frames)
    for places in of_mode.values():
        some = [frames[place] for place in places]
        bits, ok = decode_frames(some[0].mode, some, iterations, algorithm, **where)
        for place, frame, word, good in zip(places, some, bits, ok):
            received[place] = received_frame(
                frame.mode,
                frame.es_n0,
                frame.frequency,
                float(timing.instants[frame.first]),
                word,
                bool(good),
            )
    transport = [reader.take(frame.bits, frame.ok)[0] for frame in received]
    return received, b"".join(bytes(packets) for packets in transport)
