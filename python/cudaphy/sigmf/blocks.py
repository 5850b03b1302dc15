# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that play and make recordings in SigMF (https://sigmf.org, versions 1.0 to 1.2), with the
radio's tags; sigmf.py says which recordings."""

import math
import os

import numpy as np
import pmt
from gnuradio import gr

from ..blocks.block_guard import guarded, whole_number
from . import checked_channels, checked_type
from .files import SigmfError, absolute, locked_files, open_to_read, paths_of
from .files import write_all
from .formats import format_of, text_of
from .growing import about_recording, capture_entry, growing_metadata, packet_entry
from .reader import HIGHEST_FREQUENCY, HIGHEST_RATE, PACKET_LABEL, capture
from .reader import files_of, read_recording


def _real_number(value):
    """The number in a PMT, or NaN if it holds no real number."""
    whole = whole_number(value)
    if whole is not None:
        return float(whole)
    return pmt.to_double(value) if pmt.is_real(value) else math.nan


def _time(value):
    """The time in a tag rx_time, or None."""
    if not pmt.is_tuple(value) or pmt.length(value) != 2:
        return None
    whole, part = whole_number(pmt.tuple_ref(value, 0)), pmt.tuple_ref(value, 1)
    time = whole, _real_number(part)
    try:
        text_of(time)
    except (TypeError, ValueError):
        return None
    return time if whole >= 0 else None


@guarded
class sigmf_source(gr.sync_block):
    """Plays a recording: complex samples with the tags rx_rate, rx_freq and rx_time on captures,
    and a length tag on each packet. Each channel has an output, with all tags.

    file: either file of the recording, its name without suffix, or an archive (x.sigmf, or
    x.sigmf/NAME if it has several recordings). repeat: begins again at the end, with all tags.
    packet_label: of the annotations that are packets; length_tag_key: of their tags, empty for none.
    channels: of the recording, 1 to 64. Raises SigmfError (a ValueError) as read_metadata does, for
    another number of channels, and for a recording that a SigMF Sink writes.
    No SigMF Sink can write the recording until the block has stopped. If its data file is removed,
    replaced or cut before that, the flowgraph ends; problem() says why."""

    def __init__(
        self,
        file,
        repeat=False,
        length_tag_key="packet_len",
        packet_label=PACKET_LABEL,
        channels=1,
    ):
        channels = checked_channels(channels)
        gr.sync_block.__init__(self, "sigmf_source", None, channels * [np.complex64])
        self._given = absolute(file), packet_label
        self._repeat, self._channels = bool(repeat), channels
        self._key = length_tag_key
        self._files = locked_files()
        self._open()

    def _open(self):
        """Reads the metadata and locks the files."""
        path, label = self._given
        files = files_of(path)
        self.recording = found = read_recording(files, label)
        if found.channels != self._channels:
            raise SigmfError(
                f"{found.name}: has {found.channels} channels, not {self._channels}"
            )
        self._form = format_of(found.datatype)
        # Samples in this form are read straight into the output.
        self._direct = self._channels == 1 and self._form.is_as_in_memory
        self._buffer = np.empty(0, np.uint8)
        self._next = 0
        self._make_tags()
        try:
            for path in (found.data, *files.locked):
                self._files.add(open_to_read(path), path, alone=False)
        except SigmfError:
            self._files.close()
            raise
        for remark in found.remarks:
            gr.log.warn(remark)

    def _make_tags(self):
        found, tags = self.recording, []
        if found.sample_rate:
            tags.append((0, "rx_rate", pmt.from_double(found.sample_rate)))
        for one in found.captures:
            if one.frequency is not None:
                tags.append((one.start, "rx_freq", pmt.from_double(one.frequency)))
            if one.time is not None and one.time[0] >= 0:
                whole, part = one.time
                time = pmt.make_tuple(pmt.from_uint64(whole), pmt.from_double(part))
                tags.append((one.start, "rx_time", time))
        if self._key:
            for start, count in found.packets:
                tags.append((start, self._key, pmt.from_long(count)))
        tags.sort(key=lambda tag: tag[0])
        self._tags = [(item, pmt.intern(key), value) for item, key, value in tags]
        self._tag_items = np.array([item for item, _, _ in self._tags], np.int64)

    def start(self):
        if not self._files:  # started again
            self._open()
        if not self._files.first_is(self.recording.data):
            self.fail(f"{self.recording.name}: the file was removed or replaced")
        self._next = 0
        return super().start()

    def stop(self):
        self._files.close()
        return super().stop()

    def work(self, input_items, output_items):
        found, data = self.recording, self._files.first
        if self._next == found.samples and self._repeat:
            self._next = 0
        count = min(len(output_items[0]), found.samples - self._next)
        if count == 0:
            return -1  # the end
        if os.fstat(data).st_nlink == 0:
            return self.fail(f"{found.name}: the file was removed or replaced")
        size = count * found.sample_bytes
        if not self._direct and len(self._buffer) < size:
            self._buffer = np.empty(size, np.uint8)
        buffer = output_items[0].view(np.uint8) if self._direct else self._buffer
        try:
            count = found.read_into(data, self._next, buffer[:size])
        except SigmfError as problem:
            return self.fail(str(problem))
        except OSError as problem:
            return self.fail(f"{found.name}: {problem.strerror}")
        first, last = self._next, self._next + count
        if not self._direct:
            raw = buffer[: count * found.sample_bytes].view(self._form.dtype)
            samples = self._form.to_samples(raw).reshape(count, -1)
            for channel, out in enumerate(output_items):
                out[:count] = samples[:, channel]
        self._next = last
        begin, end = np.searchsorted(self._tag_items, (first, last))
        for channel in range(len(output_items)):
            at = self.nitems_written(channel) - first
            for item, key, value in self._tags[begin:end]:
                self.add_item_tag(channel, at + item, key, value)
        return count


@guarded
class sigmf_sink(gr.sync_block):
    """Records complex samples: a capture from each tag rx_time or rx_freq on, an annotation for
    each packet with a length tag. Each channel has an input; the tags are input 0's.

    file: either file of the recording, or its name without suffix; the block writes both anew.
    sample_rate: in Hz, up to 1e12; 0: from the tag rx_rate. datatype: a name of COMPLEX_FORMATS in
    sigmf.py; samples beyond full scale (1) are clipped and counted. channels: 1 to 64. description,
    author, hw: texts for the metadata. length_tag_key: of length tags, pmt longs or uint64s of at least
    1, empty for none. A packet that the end of the stream cuts has no annotation; of two packets that overlap
    only the one that ends first has one.

    At any time the files are a recording of at least samples() samples, with their captures and
    packets, also if the process is killed. (Not if the machine fails.)
    Raises ValueError for another datatype or a recording that another block has in use, OSError if
    the files can't be written. A write that fails later ends the flowgraph; problem() says why.
    """

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
        channels = checked_channels(channels)
        gr.sync_block.__init__(self, "sigmf_sink", channels * [np.complex64], None)
        self._channels = channels
        if not 0 <= sample_rate <= HIGHEST_RATE:
            raise ValueError(f"sample_rate {sample_rate} is not in 0 to {HIGHEST_RATE:g}")
        self._form = checked_type(datatype)
        self._sample_bytes = self._form.sample_bytes * channels
        self._meta, self._data = paths_of(absolute(file))
        self._datatype, self._given_rate = datatype, sample_rate
        self._label = packet_label
        self._texts = {"description": description, "author": author, "hw": hw}
        self._key = pmt.intern(length_tag_key) if length_tag_key else None
        self._files, self._growing = locked_files(), None
        self._clear()
        self._open()  # raises early if the files can't be written

    def _clear(self):
        self._rate = self._given_rate
        self._frequency, self._open_packet = None, None
        self._written = self._clipped = 0
        self._warned = set()

    def _open(self):
        """Opens and locks the data file, and locks the metadata that a source may play."""
        self._files.close()
        how = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            self._files.add(os.open(self._data, how, 0o666), self._data, alone=True)
            if os.path.exists(self._meta):
                self._files.add(open_to_read(self._meta), self._meta, alone=True)
        except SigmfError:
            self._files.close()
            raise

    def clipped(self):
        """Real and imaginary parts that were beyond full scale, or NaN."""
        return self._clipped

    def samples(self):
        """Samples of each channel that are written with their captures and packets."""
        return self._written

    def _about(self):
        return about_recording(self._datatype, self._channels, self._rate, self._texts)

    def start(self):
        self._clear()
        if not self._files or not self._files.first_is(self._data):
            self._open()
        # Write the metadata first, so that the files are a recording at any time.
        self._growing = growing_metadata(self._meta, self._about())
        os.ftruncate(self._files.first, 0)
        return super().start()

    def stop(self):
        growing, self._growing = self._growing, None
        try:
            if growing and not self._files.first_is(self._data):
                self.fail(f"{self._data}: the file was removed or replaced")
            elif growing:
                if not self._written:
                    growing.add([capture_entry(capture(0))], [])
                growing.finish()
        finally:
            if growing:
                growing.close()
            self._files.close()
        if self._clipped:
            gr.log.warn(f"{self._data}: {self._clipped} numbers beyond full scale")
        return super().stop()

    def _warn(self, kind, text):
        """Logs each kind of problem once."""
        if kind not in self._warned:
            self._warned.add(kind)
            gr.log.warn(f"{self._data}: {text}")

    def _heed(self, name, tag, item, captures):
        """Takes a tag's time, frequency or rate for the recording."""
        if name == "rx_freq":
            frequency = _real_number(tag.value)
            if abs(frequency) <= HIGHEST_FREQUENCY:
                self._frequency = frequency
            else:
                self._warn(name, f"a tag rx_freq at item {item} is no frequency")
            captures.setdefault(item, capture(item)).frequency = self._frequency
        elif name == "rx_time":
            time = _time(tag.value)
            if not time:
                self._warn(name, f"a tag rx_time at item {item} is no time")
            here = captures.setdefault(item, capture(item))
            here.time = time or here.time
            here.frequency = self._frequency  # a capture says all that holds from it on
        elif name == "rx_rate" and not self._given_rate:
            rate = _real_number(tag.value)
            if not 0 < rate <= HIGHEST_RATE:
                self._warn(name, f"a tag rx_rate at item {item} is no rate")
            elif self._rate and rate != self._rate:
                self._warn(
                    "rates", f"the rate changes to {rate}: a recording has one alone"
                )
            elif not self._rate:
                self._rate = rate
                self._growing.describe(self._about())

    def _heed_packet(self, tag, item, packets):
        """Takes a length tag. A whole packet moves to `packets`."""
        count = whole_number(tag.value)
        if count is None or count < 1:
            return
        self._end_packet(item, packets)
        if self._open_packet:
            self._warn("packets", f"the packet at item {item} lies over the one before")
            if item + count >= self._open_packet[1]:
                return
        self._open_packet = item, item + count

    def _end_packet(self, end, packets):
        if self._open_packet and self._open_packet[1] <= end:
            start, after = self._open_packet
            packets.append(packet_entry(start, after - start, self._label))
            self._open_packet = None

    def _describe(self, count):
        """Adds the captures and packets of the next samples to the metadata."""
        first, captures, packets = self.nitems_read(0), {}, []
        if not self._written:
            captures[0] = capture(0)
        for tag in self.get_tags_in_range(0, first, first + count):
            item = self._written + tag.offset - first
            self._heed(pmt.symbol_to_string(tag.key), tag, item, captures)
            if self._key is not None and pmt.eqv(tag.key, self._key):
                self._heed_packet(tag, item, packets)
        self._end_packet(self._written + count, packets)
        if not captures and not packets:
            return
        if self._growing.has_room():
            self._growing.add(
                [capture_entry(captures[item]) for item in sorted(captures)], packets
            )
        else:
            self._warn("room", "has all captures and packets that can be read again")

    def work(self, input_items, output_items):
        count, data = len(input_items[0]), self._files.first
        if os.fstat(data).st_nlink == 0:
            return self.fail(f"{self._data}: the file was removed or replaced")
        samples, failed = input_items[0], None
        if self._channels > 1:
            samples = np.stack(input_items, axis=1).ravel()
        raw, clipped = self._form.from_samples(samples)
        try:
            write_all(data, raw.view(np.uint8), self._written * self._sample_bytes)
        except OSError as problem:
            failed = f"{self._data}: {problem.strerror}"
            # Whole samples stay.
            now = os.fstat(data).st_size // self._sample_bytes
            count = min(count, now - self._written)
            os.ftruncate(data, (self._written + count) * self._sample_bytes)
        if count:
            self._describe(count)
        self._clipped += clipped
        self._written += count
        return self.fail(failed) if failed else count
