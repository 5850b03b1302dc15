# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers packets at the sender, and counts missing packets at the receiver."""

import threading

import numpy as np
import pmt
from gnuradio import gr

from .block_guard import guarded, whole_number

NUMBER = "packet_number"
MOST_NUMBER = 1 << 48  # beyond any sender's count: 9 years at a million a second
MOST_LOST = 1 << 32  # more packets than a link loses in a row
_TYPES = {"complex": np.complex64, "float": np.float32, "byte": np.uint8}


def _item_type(name):
    if name not in _TYPES:
        raise ValueError(f'type "{name}" is none of {", ".join(_TYPES)}')
    return _TYPES[name]


@guarded
class packet_numberer(gr.sync_block):
    """Puts the tag packet_number (pmt long, from 0) on every packet's first item, which has a length tag that
    is a whole number (pmt long or uint64). Items of a type, "complex", "float" or "byte", pass
    unchanged. Raises ValueError for another type."""

    def __init__(self, type="complex", length_tag_key="packet_len"):
        kind = _item_type(type)
        gr.sync_block.__init__(self, "packet_numberer", [kind], [kind])
        self._key = pmt.intern(length_tag_key)
        self._next = 0

    def start(self):
        self._next = 0
        return super().start()

    def work(self, input_items, output_items):
        count = len(output_items[0])
        output_items[0][:] = input_items[0][:count]
        first = self.nitems_read(0)
        tags = self.get_tags_in_range(0, first, first + count, self._key)
        heads = {tag.offset for tag in tags if whole_number(tag.value) is not None}
        for head in sorted(heads):
            self.add_item_tag(0, head, pmt.intern(NUMBER), pmt.from_long(self._next))
            self._next += 1
        return count


@guarded
class packet_loss_counter(gr.sync_block):
    """Counts packets by their tag packet_number, and those that are missing between them.

    A number that is not above the one before means that the sender began anew. A tag that
    can't be a packet's number is ignored: one that is neither pmt long nor uint64, is below 0 or from
    2^48 on, or would mean more than 2^32 packets lost at once. The block is a sink of items of `type`,
    "complex", "float" or "byte"; ValueError for another. Any thread may read the counters while the
    flowgraph runs."""

    def __init__(self, type="byte"):
        gr.sync_block.__init__(self, "packet_loss_counter", [_item_type(type)], None)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self):
        self._last = None
        self._received = self._no_numbers = self._lost = self._restarts = 0

    def start(self):
        with self._lock:
            self._clear()
        return super().start()

    def received(self):
        """Packets that came."""
        with self._lock:
            return self._received

    def lost(self):
        """Packets whose numbers were left out; what a sender lost before its first packet came
        here, or a restarted one after its last, nobody can know."""
        with self._lock:
            return self._lost

    def restarts(self):
        """Times that the sender began anew."""
        with self._lock:
            return self._restarts

    def no_numbers(self):
        """Tags packet_number that were ignored."""
        with self._lock:
            return self._no_numbers

    def last_number(self):
        """The number of the last packet, None before the first."""
        with self._lock:
            return self._last

    def work(self, input_items, output_items):
        count = len(input_items[0])
        first = self.nitems_read(0)
        tags = self.get_tags_in_range(0, first, first + count, pmt.intern(NUMBER))
        with self._lock:
            for tag in sorted(tags, key=lambda tag: tag.offset):
                self._count(tag)
        return count

    def _count(self, tag):
        number = whole_number(tag.value)
        good = number is not None and 0 <= number < MOST_NUMBER
        restarts, lost = False, 0
        if good and self._last is not None:
            restarts = number <= self._last
            lost = number if restarts else number - self._last - 1
        if not good or lost > MOST_LOST:
            if self._no_numbers == 0:
                gr.logger(self.alias()).warn(
                    f"the tag {NUMBER} at item {tag.offset} is no number of a packet: "
                    "such are not counted"
                )
            self._no_numbers += 1
            return
        self._received += 1
        self._restarts += restarts
        self._lost += lost
        self._last = number
