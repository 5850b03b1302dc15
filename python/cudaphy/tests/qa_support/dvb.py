# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport streams, and what GNU Radio's transmitter for DVB-S2 makes of them."""

import functools

import numpy as np
from gnuradio import blocks, dtv, gr

FRAMES = {"normal": dtv.FECFRAME_NORMAL, "short": dtv.FECFRAME_SHORT}


def transport_stream(packets, seed=1):
    """(packets, 188) bytes."""
    rng = np.random.default_rng(seed)
    stream = rng.integers(0, 256, (packets, 188), np.uint8)
    stream[:, 0] = 0x47
    stream[:, 1] &= 0x7F
    return stream


def sent_by_gnuradio(stream, frame, rate, end="bch"):
    """Bits of whole frames up to this step of the transmitter: "scrambler" (baseband frames), "bch" or
    "ldpc" (words of these codes)."""
    arguments = (
        dtv.STANDARD_DVBS2,
        FRAMES[frame],
        getattr(dtv, "C" + rate.replace("/", "_")),
    )
    steps = {
        "header": dtv.dvb_bbheader_bb(
            *arguments,
            dtv.RO_0_20,
            dtv.INPUTMODE_NORMAL,
            dtv.INBAND_OFF,
            168,
            4000000,
        ),
        "scrambler": dtv.dvb_bbscrambler_bb(*arguments),
        "bch": dtv.dvb_bch_bb(*arguments),
        "ldpc": dtv.dvb_ldpc_bb(*arguments, dtv.MOD_OTHER),
    }
    names = list(steps)
    used = [steps[name] for name in names[: names.index(end) + 1]]
    source, sink = blocks.vector_source_b(stream.ravel().tolist()), blocks.vector_sink_b()
    graph = gr.top_block()
    graph.connect(source, *used, sink)
    graph.run()
    return np.array(sink.data(), np.uint8)


def crc8(data):
    """Of DVB-S2: EN 302 307-1, section 5.1.4."""
    state = 0
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state << 1 ^ (0x1D5 if state & 0x80 else 0)) & 0x1FF
    return state & 0xFF


@functools.cache
def scrambler(count):
    """The first bytes of the sequence 1 + x^14 + x^15: EN 302 307-1, section 5.2.2."""
    register = [1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    bits = []
    for _ in range(8 * count):
        bits.append(register[13] ^ register[14])
        register = [bits[-1], *register[:-1]]
    return np.packbits(bits)


def baseband_frame(data, size, matype=0xF0, isi=0, upl=188 * 8, start=0):
    """Bytes of a scrambled frame. start: SYNCD in bits."""
    head = [matype, isi, *divmod(upl, 256), *divmod(8 * len(data), 256), 0x47]
    head += divmod(start, 256)
    frame = bytes([*head, crc8(head)]) + bytes(data)
    frame = np.frombuffer(frame.ljust(size, b"\0"), np.uint8)
    return frame ^ scrambler(size)


def gse_unit(data, protocol=0x0800, label=b""):
    """A whole packet in one unit: TS 102 606-1, section 4.2."""
    kind = {6: 0, 3: 1, 0: 2}[len(label)]
    body = protocol.to_bytes(2, "big") + label + data
    return (0xC000 | kind << 12 | len(body)).to_bytes(2, "big") + body


def user_packets(stream, nulls=None):
    """The data that transport packets become: CRC-8 of the packet before in the sync byte's place, and behind
    each packet, with `nulls`, how many null packets were taken out before it."""
    made, crc = bytearray(), 0
    for number, packet in enumerate(stream):
        body = bytes(packet[1:])
        if nulls is not None:
            body += bytes([nulls[number]])
        made += bytes([crc]) + body
        crc = crc8(body)
    return bytes(made) + bytes([crc])
