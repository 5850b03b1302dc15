# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds DVB-S2 frames of one known MODCOD among symbols, and removes frequency and phase."""

import threading

import numpy as np
import pmt
from gnuradio import blocks, gr

from .block_guard import guarded

HEADER = 90  # symbols: start of frame and PLS code
SLOT, PILOT, SLOTS_A_PILOT = 90, 36, 16
LAG = 18  # of the fine frequency estimate: half a pilot block
SETTLING = 24  # frames over which the frequency is first averaged
PART = 4096  # symbols of metric at once
MOST = (
    1e15  # of a symbol's parts: the energy of a larger one is more than a float32 holds
)
_KEPT_TAGS = ("rx_time", "rx_rate", "rx_freq")


def physical_frame(modulation, rate, frame, gold_code=0):
    """The symbols of a frame with pilots whose data symbols were all 1: header, scrambling sequence
    and scrambled pilots, from gr-dtv's own framer (ETSI EN 302 307-1, 5.5). Arguments are gr-dtv's
    names, such as "8PSK", "3/5", "SHORT"."""
    from gnuradio import dtv

    bits = {"QPSK": 2, "8PSK": 3, "16APSK": 4}[modulation]
    symbols = {"NORMAL": 64800, "SHORT": 16200}[frame] // bits
    framer = dtv.dvbs2_physical_cc(
        getattr(dtv, "FECFRAME_" + frame),
        getattr(dtv, "C" + rate.replace("/", "_")),
        getattr(dtv, "MOD_" + modulation),
        dtv.PILOTS_ON,
        gold_code,
    )
    length = HEADER + symbols + PILOT * ((symbols // SLOT - 1) // SLOTS_A_PILOT)
    top, sink = gr.top_block(), blocks.vector_sink_c()
    ones = blocks.vector_source_c([1] * symbols, True)
    top.connect(ones, framer, blocks.head(gr.sizeof_gr_complex, 2 * length), sink)
    top.run()
    # The framer puts a zero behind every symbol, for a filter at two samples each.
    return np.array(sink.data(), np.complex64)[::2], symbols


@guarded
class dvbs2_frame_sync(gr.basic_block):
    """In: symbols at one sample each, of frames with pilots and one MODCOD, at any frequency within
    a quarter of the symbol rate and any phase. Out: the data symbols of each frame, descrambled, of
    unit energy, as a packet with a length tag.

    Frames are found by the differential correlation with the header (start of frame and PLS code, 90
    symbols); the frequency by that and by the correlation over 18 symbols within header and pilots,
    averaged over frames; the phase by header and pilots, linear in between. A tag rx_time amid a
    frame says that the radio lost samples there: the block drops the frame and searches for the next.
    Symbols that are not finite, or larger than 1e15, count as zeros.

    Tags rx_time, rx_rate and rx_freq go to the next frame's first symbol. Message port
    noise_variance: of each frame's symbols, E|n|^2, by header and pilots; for Soft Demapper.

    modulation "QPSK", "8PSK" or "16APSK"; rate such as "3/5"; frame "NORMAL" or "SHORT"; gold_code
    of the scrambling. Raises KeyError or AttributeError for names that gr-dtv does not have.
    """

    def __init__(self, modulation, rate, frame, gold_code=0, length_tag_key="packet_len"):
        gr.basic_block.__init__(self, "dvbs2_frame_sync", [np.complex64], [np.complex64])
        self._reference, self._symbols = physical_frame(
            modulation, rate, frame, gold_code
        )
        self._length = len(self._reference)
        head = self._reference[:HEADER]
        self._header_steps = head[1:] * head[:-1].conj()
        # Known blocks: (first symbol, symbols); the rest is data.
        self._known = [(0, HEADER)]
        first = HEADER + SLOTS_A_PILOT * SLOT
        while first + PILOT < self._length:
            self._known.append((first, PILOT))
            first += PILOT + SLOTS_A_PILOT * SLOT
        is_data = np.ones(self._length, bool)
        for begin, count in self._known:
            is_data[begin : begin + count] = False
        self._data = np.flatnonzero(is_data)
        self._key = pmt.intern(length_tag_key)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_output_multiple(self._symbols)
        self.set_min_output_buffer(4 * self._symbols)
        self.message_port_register_out(pmt.intern("noise_variance"))
        self._lock = threading.Lock()
        self._clear()

    def _clear(self):
        self._buffer = np.zeros(0, np.complex64)
        self._first = 0  # the buffer's first symbol, of the input
        self._times, self._tags = [], []
        self._locked = False
        self._coarse = self._fine = 0j
        self._weight = 0
        self._frames = self._damaged = self._lost_lock = 0

    def start(self):
        with self._lock:
            self._clear()
        return super().start()

    def frames(self):
        """Frames that left the block."""
        return self._frames

    def damaged(self):
        """Frames that the radio tore."""
        return self._damaged

    def lost_lock(self):
        """How often the next header was not in its place."""
        return self._lost_lock

    def frequency(self):
        """The carrier's frequency, in cycles a symbol."""
        return self._step() / (2 * np.pi)

    def forecast(self, noutput_items, ninputs):
        # What the buffer holds goes out even after the stream before this block has ended.
        enough = max(self._length + 2, PART) + HEADER
        return [0 if len(self._buffer) >= enough else 1] * ninputs

    def _metric(self, x):
        """Normalised differential correlation with the header, at each start in x."""
        steps = x[1:] * x[:-1].conj()
        # Not by FFTs: they would spread the rounding of one huge symbol over all the others.
        found = np.correlate(steps, self._header_steps, "valid")
        energy = np.convolve(np.abs(steps), np.ones(HEADER - 1), "valid")
        return found, np.abs(found) / np.maximum(energy, 1e-30)

    def _drop(self, count):
        self._buffer = self._buffer[count:]
        self._first += count

    def _search(self):
        """Moves the buffer to the next header; False where more symbols are needed."""
        if len(self._buffer) < PART + HEADER:
            return False
        _, metric = self._metric(self._buffer[: PART + HEADER - 1])
        best = int(np.argmax(metric))
        if metric[best] < 0.5:
            self._drop(PART)
            self._tags = [*self._last_tags().items(), *self._tags]
            return True
        self._drop(best)
        self._locked = True
        return True

    def _step(self):
        """The carrier's phase step from symbol to symbol."""
        if self._weight == 0:
            return 0.0
        coarse = np.angle(self._coarse)
        return coarse + np.angle(self._fine * np.exp(-1j * LAG * coarse)) / LAG

    def _estimate(self, known, first_steps):
        """The frequency with this frame; `known` are its header and pilots without their values."""
        fine = sum(np.vdot(z[:-LAG], z[LAG:]) for z in known)
        keep = 1 - 1 / min(self._weight + 1, SETTLING)
        self._coarse = keep * self._coarse + first_steps / max(abs(first_steps), 1e-30)
        self._fine = keep * self._fine + fine / max(abs(fine), 1e-30)
        self._weight += 1
        return self._step()

    def _frame(self):
        """The data symbols of the frame at the buffer's head, and its noise variance."""
        x = self._buffer[: self._length + HEADER]
        # A click far above the signal would turn the frequency that frames are averaged for.
        size = np.abs(x)
        most = 4 * np.median(size)
        x = np.where(size > most, x * (most / np.maximum(size, 1e-30)), x)
        spans = [*self._known, (self._length, HEADER)]
        reference = np.concatenate((self._reference, self._reference[:HEADER]))
        known = [x[b : b + n] * reference[b : b + n].conj() for b, n in spans]
        first_steps, _ = self._metric(x[: HEADER + 1])
        step = self._estimate(known, first_steps[0])
        turned = [
            np.mean(z * np.exp(-1j * step * np.arange(n)))
            for z, (_, n) in zip(known, spans)
        ]
        # Each block's phase at its middle; between blocks the frequency tells the turns.
        middles = np.array([b + (n - 1) / 2 for b, n in spans])
        phases = np.angle(turned) + step * np.array([(n - 1) / 2 for _, n in spans])
        rest = np.unwrap(phases - step * middles)
        turn = step * np.arange(self._length) + np.interp(
            np.arange(self._length), middles, rest
        )
        straight = x[: self._length] * np.exp(-1j * turn)
        pilots = np.concatenate(
            [
                straight[b : b + n] * self._reference[b : b + n].conj()
                for b, n in self._known
            ]
        )
        gain = max(np.mean(pilots.real), 1e-9)
        noise = np.mean(np.abs(pilots / gain - 1) ** 2)
        data = straight[self._data] * self._reference[self._data].conj() / gain
        return data.astype(np.complex64), float(noise)

    def _take_in(self, samples):
        first = self.nitems_read(0)
        tags = self.get_tags_in_range(0, first, first + len(samples))
        for tag in sorted(tags, key=lambda tag: tag.offset):
            name = pmt.symbol_to_string(tag.key)
            if name in _KEPT_TAGS:
                self._tags.append((name, tag))
            if name == "rx_time" and tag.offset > self._first:
                self._times.append(tag.offset)
        good = (abs(samples.real) <= MOST) & (abs(samples.imag) <= MOST)  # NaN is not
        self._buffer = np.concatenate((self._buffer, np.where(good, samples, 0)))
        self.consume(0, len(samples))

    def _last_tags(self):
        """Removes and gives the last tag of each name up to the buffer's head; later tags stay."""
        count = sum(tag.offset <= self._first for _, tag in self._tags)
        last, self._tags = dict(self._tags[:count]), self._tags[count:]
        return last

    def _torn(self):
        """Drops the symbols before a gap, if one lies in the next frame."""
        while self._times and self._times[0] <= self._first:
            self._times.pop(0)
        if not self._times or self._times[0] >= self._first + self._length + HEADER:
            return False
        self._damaged += self._locked
        self._locked = False
        self._drop(self._times.pop(0) - self._first)
        return True

    def general_work(self, input_items, output_items):
        room = len(output_items[0]) // self._symbols * self._symbols
        if len(self._buffer) < 4 * (self._length + HEADER):
            self._take_in(input_items[0])
        made = 0
        while made < room:
            enough = len(self._buffer) >= self._length + HEADER + 2
            if self._locked and not enough:
                break
            if self._torn():
                continue
            if not self._locked:
                if not self._search():
                    break
                continue
            _, metric = self._metric(self._buffer[: HEADER + 1])
            if metric[0] < 0.25:
                self._locked = False
                self._lost_lock += 1
                self._drop(1)  # else the next search might end here for ever
                continue
            data, noise = self._frame()
            if self._weight >= SETTLING // 3:  # before, the phase may slip
                self._put_out(data, noise, output_items[0], made)
                made += self._symbols
            self._drop(self._length)
        return made

    def _put_out(self, data, noise, out, made):
        out[made : made + self._symbols] = data
        item = self.nitems_written(0) + made
        self.add_item_tag(0, item, self._key, pmt.from_long(self._symbols))
        for tag in self._last_tags().values():
            self.add_item_tag(0, item, tag.key, tag.value)
        self.message_port_pub(pmt.intern("noise_variance"), pmt.from_double(noise))
        self._frames += 1
