# SPDX-License-Identifier: GPL-3.0-or-later
"""A DVB-S2 signal that comes at the pace of a radio, and when DVB-S2 Receiver's packets leave it."""

import threading
import time

import dvbs2_signal
import dvbs2_to_ts
import numpy as np
from gnuradio import blocks, cudaphy, dtv, gr
from gnuradio.cudaphy.blocks.block_guard import guarded
from gnuradio.cudaphy.dvbs2 import bch_code_of

PACKET = 188


@guarded
class radio(gr.sync_block):
    """Samples at a rate: sample i is there i / rate seconds after the start."""

    def __init__(self, samples, rate):
        gr.sync_block.__init__(self, "radio", None, [np.complex64])
        self._samples, self._rate = samples, rate
        self._given, self.began = 0, None

    def work(self, _, outputs):
        if self.began is None:
            self.began = time.monotonic()
        if self._given == len(self._samples):
            return -1
        # GNU Radio would wait for a quarter of a second if nothing came out.
        while (there := self._there()) == self._given:
            time.sleep(1e-4)
        count = min(there - self._given, len(outputs[0]))
        outputs[0][:count] = self._samples[self._given : self._given + count]
        self._given += count
        return count

    def _there(self):
        passed = (time.monotonic() - self.began) * self._rate
        return min(len(self._samples), int(passed))


@guarded
class packet_clock(gr.sync_block):
    """Takes transport packets. numbers, times: of each one that came, as numbered_packets() has them."""

    def __init__(self):
        gr.sync_block.__init__(self, "packet_clock", [np.uint8], None)
        self._bytes, self._came = bytearray(), []
        self.first = threading.Event()

    def work(self, inputs, _):
        self._bytes += inputs[0].tobytes()
        self._came.append((len(self._bytes), time.monotonic()))
        self.first.set()
        return len(inputs[0])

    @property
    def numbers(self):
        packets = np.frombuffer(bytes(self._bytes), np.uint8)
        packets = packets[: len(packets) // PACKET * PACKET].reshape(-1, PACKET)
        return packets[:, 4:8].copy().view(">u4").ravel()

    @property
    def times(self):
        ends, times = (np.array(column) for column in zip(*self._came))
        needed = PACKET * np.arange(1, len(self.numbers) + 1)
        return times[np.searchsorted(ends, needed)]


def numbered_frames(mode):
    """BBFRAMEs (frames, k) of S2 that carry a transport stream, by gr-dtv, and for each frame the number of the
    last packet that ends in it: the CRC-8 behind the packet lies in the frame too."""
    frames, k = dvbs2_signal.pool_size(mode), bch_code_of(mode).k
    field = k // 8 - 10
    packets = dvbs2_to_ts.numbered_packets(frames * field // PACKET + 1)
    stream = packets + dvbs2_to_ts.NULL * (2 * field // PACKET)
    how = (
        dtv.STANDARD_DVBS2,
        getattr(dtv, "FECFRAME_" + mode.frame.upper()),
        getattr(dtv, "C" + mode.rate.replace("/", "_")),
    )
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(
        blocks.vector_source_b(list(stream)),
        dtv.dvb_bbheader_bb(
            *how, dtv.RO_0_20, dtv.INPUTMODE_NORMAL, dtv.INBAND_OFF, 168, 4000000
        ),
        dtv.dvb_bbscrambler_bb(*how),
        blocks.head(gr.sizeof_char, frames * k),
        sink,
    )
    top.run()
    bits = np.array(sink.data(), np.uint8).reshape(frames, k)
    return bits, (field * np.arange(1, frames + 1) - 1) // PACKET - 1


class reception(gr.top_block):
    """A piece of a signal through DVB-S2 Receiver at so many symbols a second."""

    def __init__(self, piece, symbol_rate, samples_per_symbol, **options):
        gr.top_block.__init__(self, "reception", catch_exceptions=True)
        self.radio = radio(piece.samples, symbol_rate * samples_per_symbol)
        self.receiver = cudaphy.dvbs2_receiver(samples_per_symbol, 0.2, **options)
        self.clock = packet_clock()
        self.connect(self.radio, self.receiver, self.clock)
