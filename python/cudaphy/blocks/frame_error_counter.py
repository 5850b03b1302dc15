# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts a receiver's errors."""

import threading

import numpy as np
import pmt
from gnuradio import gr

from .block_guard import guarded, whole_number


@guarded
class frame_error_counter(gr.sync_block):
    """Compares decoded bits with those that were sent, frame by frame.

    In 0: bytes, one decoded bit each; in 1: bytes, one sent bit each. Both are streams of
    frames of `frame_length` bits, in the same order; a frame counts as an error if any of
    its bits differs. A decoder in front must not drop frames (on_failure="mark").

    The tags that an LDPC decoder sets on the first bit of each frame are counted too:
    `iterations` (a whole number) and `ldpc_ok` (pmt bool). If a stream has length tags, each
    must be on the first bit of a frame and count whole frames. Otherwise the block
    logs an error that gives both numbers, and ends the flowgraph. A tag whose value is no whole
    number (pmt long or uint64) is ignored.

    Any thread may read the counters while the flowgraph runs; they count whole
    frames. When the flowgraph stops, the block logs them.

    Args:
        frame_length: bits in a frame, 1 to 2^24
        length_tag_key: names the tag with a packet's length in bits; empty: none is looked for
        correctable: wrong bits that an outer code corrects in a frame, 0 or more; see
            correctable_frames()

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(self, frame_length, length_tag_key="", correctable=0):
        if int(frame_length) != frame_length or not 1 <= frame_length <= 1 << 24:
            raise ValueError(
                f"frame_length {frame_length} is not a whole number in 1 to {1 << 24} bits"
            )
        if int(correctable) != correctable or correctable < 0:
            raise ValueError(f"correctable {correctable} is not a whole number from 0 on")
        gr.sync_block.__init__(
            self, name="frame_error_counter", in_sig=[np.uint8, np.uint8], out_sig=None
        )
        self._length = int(frame_length)
        self._correctable = int(correctable)
        self._length_key = pmt.intern(length_tag_key) if length_tag_key else None
        self._iterations_key = pmt.intern("iterations")
        self._ok_key = pmt.intern("ldpc_ok")
        self._lock = threading.Lock()
        self.reset()
        self.set_output_multiple(self._length)

    def reset(self):
        """Sets every counter to 0."""
        with self._lock:
            self._frames = self._frame_errors = self._bit_errors = 0
            self._tagged = self._iterations = self._not_ok = self._small = 0

    def frames(self):
        """Frames compared."""
        with self._lock:
            return self._frames

    def frame_errors(self):
        """Frames with a wrong bit."""
        with self._lock:
            return self._frame_errors

    def correctable_frames(self):
        """Frames with wrong bits, but no more than the outer code corrects."""
        with self._lock:
            return self._small

    def bits(self):
        """Bits compared."""
        return self.frames() * self._length

    def bit_errors(self):
        """Bits that were wrong."""
        with self._lock:
            return self._bit_errors

    def frame_error_rate(self):
        """The part of the compared frames that is wrong; 0 before the first."""
        with self._lock:
            return self._frame_errors / max(1, self._frames)

    def bit_error_rate(self):
        """The part of the compared bits that is wrong; 0 before the first."""
        with self._lock:
            return self._bit_errors / max(1, self._frames * self._length)

    def average_iterations(self):
        """The mean of the tags `iterations`; 0 before the first."""
        with self._lock:
            return self._iterations / max(1, self._tagged)

    def decoder_failures(self):
        """Frames that the decoder itself tagged with `ldpc_ok` false."""
        with self._lock:
            return self._not_ok

    def _wrong_length(self, port, items):
        """The problem of the length tags on a port's next items, or ""."""
        if self._length_key is None:
            return ""
        start = self.nitems_read(port)
        for tag in self.get_tags_in_window(port, 0, items, self._length_key):
            length = whole_number(tag.value)
            if length is None:
                continue
            name = pmt.symbol_to_string(self._length_key)
            if (tag.offset - start) % self._length:
                return (
                    f"the tag {name} on bit {tag.offset} of input {port} does not stand "
                    f"on the first bit of a frame of {self._length} bits"
                )
            if length < 1 or length % self._length:
                return (
                    f"the tag {name} on bit {tag.offset} of input {port} says {length} "
                    f"bits, which is no whole number of frames of {self._length} bits"
                )
        return ""

    def work(self, input_items, output_items):
        frames = min(map(len, input_items)) // self._length
        bits = frames * self._length
        problem = self._wrong_length(0, bits) or self._wrong_length(1, bits)
        if problem:
            return self.fail(problem)
        decoded, sent = (items[:bits].reshape(frames, -1) for items in input_items)
        wrong = np.count_nonzero(decoded != sent, axis=1)
        iterations = [
            whole_number(tag.value)
            for tag in self.get_tags_in_window(0, 0, bits, self._iterations_key)
        ]
        iterations = [number for number in iterations if number is not None]
        not_ok = [
            tag.offset
            for tag in self.get_tags_in_window(0, 0, bits, self._ok_key)
            if pmt.is_false(tag.value)
        ]
        with self._lock:
            self._frames += frames
            self._frame_errors += int(np.count_nonzero(wrong))
            self._bit_errors += int(wrong.sum())
            self._small += int(
                np.count_nonzero((wrong > 0) & (wrong <= self._correctable))
            )
            self._tagged += len(iterations)
            self._iterations += sum(iterations)
            self._not_ok += len(not_ok)
        return bits

    def stop(self):
        gr.logger(self.alias()).info(
            f"{self.frames()} frames of {self._length} bits, {self.frame_errors()} in error "
            f"(FER {self.frame_error_rate():.2e}, BER {self.bit_error_rate():.2e})"
            + (
                f", {self.correctable_frames()} of which the outer code would correct"
                if self._correctable
                else ""
            )
        )
        return True
