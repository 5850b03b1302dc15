# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that play and make recordings in SigMF (https://sigmf.org, version 1.2), with the radio's
tags; sigmf.py says which recordings."""

import math

import numpy as np
import pmt
from gnuradio import gr

from .sigmf import (
    FORMATS,
    HIGHEST_FREQUENCY,
    HIGHEST_RATE,
    PACKET_LABEL,
    SigmfError,
    _checked_channels,
    _checked_type,
    _metadata,
    _paths,
    _write_metadata,
    capture,
    read_metadata,
    text_of,
)


def _real_number(value):
    """What a PMT holds, NaN where that is no real number."""
    real = pmt.is_real(value) or pmt.is_integer(value) or pmt.is_uint64(value)
    return float(pmt.to_python(value)) if real else math.nan


def _time(value):
    """What a tag rx_time holds, or None."""
    try:
        whole, part = pmt.to_python(value)
        time = int(whole), float(part)
        text_of(time)
    except (TypeError, ValueError, OverflowError):
        return None
    return time


class sigmf_source(gr.sync_block):
    """Plays a recording: complex samples with the tags rx_rate, rx_freq and rx_time on captures,
    and a length tag on each packet. Each channel has an output, with all tags.

    file: either file of the recording, or its name without suffix. repeat: begins again at the
    end, with all tags. packet_label: of the annotations that are packets; length_tag_key: of their
    tags, empty for none. channels: of the recording, 1 to 64. Raises SigmfError (a ValueError) as
    read_metadata, and for a recording of another number of channels."""

    def __init__(
        self,
        file,
        repeat=False,
        length_tag_key="packet_len",
        packet_label=PACKET_LABEL,
        channels=1,
    ):
        channels = _checked_channels(channels)
        gr.sync_block.__init__(self, "sigmf_source", None, channels * [np.complex64])
        self.recording = found = read_metadata(file, packet_label)
        if found.channels != channels:
            raise SigmfError(
                f"{found.data}: has {found.channels} channels, not {channels}"
            )
        self._form = FORMATS[found.datatype]
        self._repeat = bool(repeat) and found.samples > 0
        self._raw = None
        self._next = 0
        tags = []
        if found.sample_rate:
            tags.append((0, "rx_rate", pmt.from_double(found.sample_rate)))
        for one in found.captures:
            if one.frequency is not None:
                tags.append((one.start, "rx_freq", pmt.from_double(one.frequency)))
            if one.time is not None:
                whole, part = one.time
                time = pmt.make_tuple(pmt.from_uint64(whole), pmt.from_double(part))
                tags.append((one.start, "rx_time", time))
        if length_tag_key:
            for start, count in found.packets:
                tags.append((start, length_tag_key, pmt.from_long(count)))
        tags.sort(key=lambda tag: tag[0])
        self._tags = [(item, pmt.intern(key), value) for item, key, value in tags]
        self._tag_items = np.array([item for item, _, _ in self._tags], np.int64)

    def start(self):
        self._next = 0
        if self.recording.samples:
            self._raw = np.memmap(self.recording.data, self._form.dtype, "r")
        return super().start()

    def stop(self):
        self._raw = None
        return super().stop()

    def work(self, input_items, output_items):
        if self._next == self.recording.samples and self._repeat:
            self._next = 0
        count = min(len(output_items[0]), self.recording.samples - self._next)
        if count == 0:
            return -1  # the end
        first, last = self._next, self._next + count
        numbers = 2 * len(output_items)  # of all channels' samples at a time
        raw = self._raw[numbers * first : numbers * last]
        if len(raw) < numbers * count:
            gr.log.error(f"{self.recording.data}: the file became shorter")
            return -1
        samples = self._form.to_samples(np.asarray(raw)).reshape(count, -1)
        begin, end = np.searchsorted(self._tag_items, (first, last))
        for channel, out in enumerate(output_items):
            out[:count] = samples[:, channel]
            at = self.nitems_written(channel) - first
            for item, key, value in self._tags[begin:end]:
                self.add_item_tag(channel, at + item, key, value)
        self._next = last
        return count


class sigmf_sink(gr.sync_block):
    """Records complex samples: a capture from each tag rx_time or rx_freq on, an annotation for
    each packet that a length tag tells of. Each channel has an input; the tags are input 0's.

    file: either file of the recording, or its name without suffix; both are written anew.
    sample_rate: in Hz, up to 1e12; 0: from the tag rx_rate. datatype: a name of FORMATS; samples beyond full
    scale (1) are clipped and counted. channels: 1 to 64. description, author, hw: texts for the metadata, which are
    complete when the flowgraph has stopped, and describe the data in type and rate from its start.
    Raises ValueError for another datatype, OSError where the files can't be written."""

    def __init__(
        self,
        file,
        sample_rate=0,
        datatype="cf32_le",
        length_tag_key="packet_len",
        packet_label=PACKET_LABEL,
        description="",
        author="",
        hw="",
        channels=1,
    ):
        channels = _checked_channels(channels)
        gr.sync_block.__init__(self, "sigmf_sink", channels * [np.complex64], None)
        self._channels = channels
        if not 0 <= sample_rate <= HIGHEST_RATE:
            raise ValueError(f"sample_rate {sample_rate} is not in 0 to {HIGHEST_RATE:g}")
        self._form = _checked_type(datatype)
        self._meta, self._data = _paths(file)
        self._data.open("ab").close()  # says early what can't be written
        self._datatype, self._given_rate, self._label = (
            datatype,
            sample_rate,
            packet_label,
        )
        self._about = {"description": description, "author": author, "hw": hw}
        self._key = pmt.intern(length_tag_key) if length_tag_key else None
        self._file = None
        self._clear()

    def _clear(self):
        self._captures, self._packets = {}, []
        self._rate = self._given_rate
        self._written = self._clipped = 0

    def clipped(self):
        """Real and imaginary parts that were beyond full scale, or NaN."""
        return self._clipped

    def samples(self):
        """Of each channel, written since the start."""
        return self._written

    def _describe(self):
        captures = [self._captures[item] for item in sorted(self._captures)]
        if captures and captures[0].start > 0:
            captures.insert(0, capture(0))
        # A packet that the end has cut is none.
        whole = [(s, n) for s, n in self._packets if s + n <= self._written]
        _write_metadata(
            self._meta,
            _metadata(
                self._datatype,
                self._channels,
                self._rate,
                captures,
                whole,
                self._label,
                self._about,
            ),
        )

    def start(self):
        self._clear()
        self._file = open(self._data, "wb")
        self._describe()
        return super().start()

    def stop(self):
        if self._file:
            self._file.close()
            self._file = None
            self._describe()
        if self._clipped:
            gr.log.warn(f"{self._data}: {self._clipped} numbers beyond full scale")
        return super().stop()

    def _heed(self, tag):
        name = pmt.symbol_to_string(tag.key)
        if name in ("rx_time", "rx_freq"):
            here = self._captures.setdefault(tag.offset, capture(tag.offset))
            if name == "rx_freq":
                frequency = _real_number(tag.value)
                if abs(frequency) <= HIGHEST_FREQUENCY:
                    here.frequency = frequency
                else:
                    gr.log.warn(f"a tag rx_freq at item {tag.offset} is no frequency")
            else:
                time = _time(tag.value)
                if time:
                    here.time = time
                else:
                    gr.log.warn(f"a tag rx_time at item {tag.offset} is no time")
            # A capture says all that holds from it on.
            earlier = [c for c in self._captures.values() if c.start < tag.offset]
            if here.frequency is None and earlier:
                here.frequency = max(earlier, key=lambda c: c.start).frequency
        elif name == "rx_rate" and not self._given_rate:
            rate = _real_number(tag.value)
            if not 0 < rate <= HIGHEST_RATE:
                gr.log.warn(f"a tag rx_rate at item {tag.offset} is no rate")
                return
            if self._rate and rate != self._rate:
                gr.log.warn(f"the rate changes to {rate}: a recording has one alone")
            self._rate = self._rate or rate
        elif self._key is not None and pmt.eqv(tag.key, self._key):
            if pmt.is_integer(tag.value) and pmt.to_long(tag.value) > 0:
                self._packets.append((tag.offset, pmt.to_long(tag.value)))

    def work(self, input_items, output_items):
        count = len(input_items[0])
        first = self.nitems_read(0)
        for tag in self.get_tags_in_range(0, first, first + count):
            self._heed(tag)
        raw, clipped = self._form.from_samples(np.stack(input_items, axis=1).ravel())
        try:
            raw.tofile(self._file)
        except OSError as problem:
            gr.log.error(f"{self._data}: {problem}: the recording ends here")
            return -1
        self._clipped += clipped
        self._written += count
        return count
