# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a simulated link's frames in step with the sent ones."""

import numpy as np
import pmt
from gnuradio import gr

from ..whole_numbers import whole_between
from .block_guard import guarded, whole_number


@guarded
class frame_filler(gr.basic_block):
    """Puts zeros in the place of frames of a periodic signal that were not found, so that decoded frames can be
    compared with sent ones. Behind a channel estimator the zeros are erasures.

    In: vectors of `vlen` complex, packets of frame_items with the tag `frame_start` of
    mimo_ofdm_receiver_frontend. Out: the same stream without packets. Frame i of the signal begins near
    sample i * period, plus or minus half a period: the block drops a packet for a frame that has passed already,
    and fills the place of one that did not come. It also drops, with a warning, a packet for a frame more than
    max_fill frames ahead, whose frame_start must be damaged, and a packet without a frame_start that is a whole
    number (pmt long or uint64) from 0 on.

    Args:
        vlen: 1 to 65536
        frame_items: vectors in a frame, 1 to 2^24
        period: samples of the signal from frame to frame, 1 to 2^30
        max_fill: frames filled in one gap, 0 to 2^30

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, vlen, frame_items, period, max_fill=10000):
        self._vlen = whole_between("vlen", vlen, 1, 65536)
        self._items = whole_between("frame_items", frame_items, 1, 1 << 24)
        self._period = whole_between("period", period, 1, 1 << 30)
        self._most = whole_between("max_fill", max_fill, 0, 1 << 30)
        item = (np.complex64, self._vlen) if self._vlen > 1 else np.complex64
        gr.basic_block.__init__(self, name="frame_filler", in_sig=[item], out_sig=[item])
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self._key = pmt.intern("frame_start")

    def start(self):
        self._next = 0  # frame that is put out next
        self._fill = self._copy = self._drop = 0  # items
        self._filled = self._too_far = 0
        return True

    def filled(self):
        """Missing frames that were filled with zeros."""
        return self._filled

    def too_far_ahead(self):
        """Packets dropped because their frames were more than max_fill ahead."""
        return self._too_far

    def forecast(self, noutput_items, ninputs):
        return [0 if self._fill else 1] * ninputs

    def general_work(self, input_items, output_items):
        """One step: fills, copies, or drops, or reads a frame's head to know which."""
        received, out = input_items[0], output_items[0]
        if not (self._fill or self._copy or self._drop) and len(received):
            self._read_head()
        if self._fill:
            count = min(self._fill, len(out))
            out[:count] = 0
            self._fill -= count
            return count
        if self._drop:
            count = min(self._drop, len(received))
            self._drop -= count
            self.consume(0, count)
            return 0
        count = min(self._copy, len(received), len(out))
        out[:count] = received[:count]
        self._copy -= count
        self.consume(0, count)
        return count

    def _read_head(self):
        head = self.nitems_read(0)
        tags = self.get_tags_in_range(0, head, head + 1, self._key)
        values = [whole_number(tag.value) for tag in tags]
        starts = [value for value in values if value is not None and value >= 0]
        if not starts:
            self._drop = 1
            return
        frame = (starts[0] + self._period // 2) // self._period
        if frame < self._next:
            self._drop = self._items
            return
        missing = frame - self._next
        if missing > self._most:
            self._drop = self._items
            self._too_far += 1
            if self._too_far == 1:
                gr.logger(self.alias()).warn(
                    f"frame_start {starts[0]} at item {head} would leave {missing} frames to fill, "
                    f"more than max_fill, {self._most}: such packets are dropped"
                )
            return
        self._filled += missing
        self._fill = missing * self._items
        self._copy = self._items
        self._next = frame + 1
