# SPDX-License-Identifier: GPL-3.0-or-later
"""Baseband frames of DVB-S2, behind the channel decoders."""

import collections

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import bit_array

generic_packet = collections.namedtuple("generic_packet", "data isi protocol label")
generic_packet.__doc__ = """A packet of a generic stream.

data: bytes. isi: input stream, 0 to 255. protocol: the EtherType of a GSE packet, such as 0x0800 for
IPv4; else -1. label: a GSE packet's address, 6, 3 or no bytes.
"""


class bb_frame_reader:
    """Takes packets out of the baseband frames of DVB-S2 and S2X.

    isi: the input stream whose transport packets are wanted, 0 to 255; None: the first one that comes.
    gse: whether continuous generic streams are GSE; else each frame's data are a packet.
    Transport packets get their sync byte back, deleted null packets return, ISSY fields are left out. A
    packet whose CRC-8 is wrong, or that lies in a frame that could not be decoded, has
    transport_error_indicator set. (ETSI EN 302 307-1, sections 5.1, 5.2.2, annex D; TS 102 606-1.)
    Raises ValueError if isi is out of range. For one thread at a time.
    """

    def __init__(self, isi=None, gse=True):
        self._native = _native._bb_frame_reader(-1 if isi is None else isi, gse)

    def take(self, frames, ok=True, packed=False):
        """Takes frames in the order in which they came.

        frames: scrambled frames as the BCH decoder gives them, (..., k) bits, 0 or 1; packed: (..., k /
        8), eight bits a byte, the first one highest. ok: (...), whether each could be decoded.
        Returns the transport packets that are whole by now, bytes, a multiple of 188; and the packets of
        generic streams, a list of generic_packet.
        Raises ValueError for a wrong shape, less than 80 bits, or a bit that is neither 0 nor 1.
        """
        frames = bit_array(frames, "frames", packed)
        if not packed:
            frames = np.packbits(frames, axis=-1)
        if frames.ndim < 1 or frames.shape[-1] < 10:
            raise ValueError(
                f"frames has shape {frames.shape}; a frame has 80 bits or more"
            )
        rows = frames.reshape(-1, frames.shape[-1])
        ok = np.broadcast_to(np.asarray(ok, bool), frames.shape[:-1]).reshape(-1)
        transport, packets = self._native.take(rows, ok)
        return transport, [generic_packet(*packet) for packet in packets]

    def counts(self):
        """What has come since the object was made, as a dict: frames, bad_frames (not decoded),
        bad_headers (whose data are lost), transport_packets, bad_packets (CRC wrong, or of a bad frame),
        lost_starts (times that packets had to be found anew), returned_nulls, other_streams (frames).
        """
        return self._native.counts()

    def header(self):
        """The last header as a dict: content ("transport", "packets", "continuous", "gse_hem"),
        single_stream, constant_coding (CCM), isi, roll_off (None: not told), packet_bits, data_bits;
        None before the first one."""
        return self._native.header()


def dvbs2_frames(
    symbols,
    gold_code=0,
    pls=(),
    most_frequency=0.25,
    backend="auto",
    carrier_changes=(),
    device=0,
    vl_snr=False,
):
    """The frames of DVB-S2 and S2X among symbols, a list of dvbs2_frame in their order.

    symbols: complex, one sample each, of any amplitude, (n); their carrier may be off by `most_frequency`
    cycles a symbol or less, at most 0.25. gold_code: of the physical layer scrambling, 0 to 262142. pls:
    of the frames that are wanted, as dvb_mode has them; none: all. Dummy frames are left out.
    backend: that corrects the frames' symbols: "cuda", "cpu", or "reference" for the textbook's loop;
    "auto" is "cpu", because the symbols come from the host and go there. device: index of the GPU.
    carrier_changes: of sync_symbols(), where it has begun to remove another carrier offset: what changes is
    put back, so that no frame is lost by it. vl_snr: look for VL-SNR frames of S2X too; any of `pls` that names
    one, 256 and more, implies it.
    Each frame has: mode (dvb_mode), first (its header's first symbol), frequency (cycles a symbol), es_n0
    (dB), noise_variance, symbols (complex64: header, pilots, scrambling and carrier are gone).
    Symbols that are not finite or larger than 1e15 count as zeros. (ETSI EN 302 307-1, section 5.5.)
    Raises ValueError for a parameter out of range or symbols of another shape, BackendUnavailable.
    """
    symbols = np.asarray(symbols, np.complex64)
    if symbols.ndim != 1:
        raise ValueError(f"symbols has shape {symbols.shape}, must be (n)")
    return _native._dvbs2_frames(
        symbols,
        gold_code,
        list(pls),
        most_frequency,
        vl_snr,
        "cpu" if backend == "auto" else backend,
        device,
        carrier_changes,
    )
