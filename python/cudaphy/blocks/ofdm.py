# SPDX-License-Identifier: GPL-3.0-or-later
"""OFDM between the tones of several antennas and their samples: a transmitter, and the front end
of a receiver that finds frames by their preamble."""

import numpy as np
from gnuradio import blocks, digital, fft, gr

from .. import cudaphy_python as _native
from ..ofdm_frames import checked_sizes, checked_tones, ofdm_preamble
from ..ofdm_frames import ofdm_preamble_shifts
from ..whole_numbers import whole_between

_ITEM = gr.sizeof_gr_complex


def _checked_key(key):
    if not key:
        raise ValueError("length_tag_key is empty")
    return key


class mimo_ofdm_transmitter(gr.hier_block2):
    """Tones of several antennas to their samples, frame by frame.

    In: vectors of `antennas` complex, one a tone: all tones of a frame's first symbol, then all of the
    second, and so on, `symbols` symbols. Out: for each antenna a stream of samples. A frame is a preamble
    symbol, `symbols` symbols, and `gap` samples of silence; each symbol has a cyclic prefix. Points of
    mean energy 1 make samples of mean energy 1 at each antenna.

    Frames follow each other from the stream's first item on. The input's tags length_tag_key, which
    belong to other packets, do not pass.

    Made of GNU Radio's blocks: OFDM carrier allocator, FFT, OFDM cyclic prefixer.

    Args:
        antennas: 1 to 16
        fft_size: even, 16 to 65536
        cyclic_prefix: samples, 1 to below fft_size / 2
        tone_numbers: of each tone, from -fft_size/2 to fft_size/2 - 1, ascending; the preamble takes
            the even ones
        symbols: of a frame, without the preamble, 2 to 1024
        gap: samples of silence after each frame, 0 or more
        length_tag_key: names the tag, on each frame's first sample, with its length in samples; only
            without a gap

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        antennas,
        fft_size=64,
        cyclic_prefix=16,
        tone_numbers=tuple(t for t in range(-26, 27) if t),
        symbols=26,
        gap=0,
        length_tag_key="packet_len",
    ):
        antennas = whole_between("antennas", antennas, 1, 16)
        fft_size, cyclic_prefix, symbols = checked_sizes(fft_size, cyclic_prefix, symbols)
        tones = checked_tones(fft_size, tone_numbers)
        gap = whole_between("gap", gap, 0, 1 << 24)
        length_tag_key = _checked_key(length_tag_key)
        gr.hier_block2.__init__(
            self,
            "mimo_ofdm_transmitter",
            gr.io_signature(1, 1, antennas * _ITEM),
            gr.io_signature(antennas, antennas, _ITEM),
        )
        word = ofdm_preamble(fft_size, tones)
        shifts = ofdm_preamble_shifts(antennas, cyclic_prefix)
        ramp = -2j * np.pi * (np.arange(fft_size) - fft_size // 2) / fft_size
        split = blocks.vector_to_streams(_ITEM, antennas)
        # GNU Radio's blocks would take the input's length tags for their own packets'.
        without = blocks.tag_gate(antennas * _ITEM, False)
        without.set_single_key(length_tag_key)
        self.connect(self, without, split)
        frame = (symbols + 1) * (fft_size + cyclic_prefix)
        scale = [1 / np.sqrt(len(tones))] * fft_size
        for a in range(antennas):
            packets = blocks.stream_to_tagged_stream(
                _ITEM, 1, symbols * len(tones), length_tag_key
            )
            packets.set_min_output_buffer(2 * symbols * len(tones))
            allocator = digital.ofdm_carrier_allocator_cvc(
                fft_size,
                (tones,),
                ((),),
                ((),),
                ((word * np.exp(ramp * shifts[a])).tolist(),),
                length_tag_key,
            )
            allocator.set_min_output_buffer(2 * (symbols + 1))
            inverse = fft.fft_vcc(fft_size, False, scale, True)
            inverse.set_min_output_buffer(2 * (symbols + 1))
            prefixer = digital.ofdm_cyclic_prefixer(
                fft_size, fft_size + cyclic_prefix, 0, length_tag_key
            )
            prefixer.set_min_output_buffer(2 * frame)
            self.connect((split, a), packets, allocator, inverse, prefixer)
            if gap:
                framed = blocks.stream_mux(_ITEM, [frame, gap])
                untagged = blocks.tag_gate(_ITEM, False)
                self.connect(prefixer, untagged, (framed, 0))
                self.connect(blocks.null_source(_ITEM), (framed, 1))
                self.connect(framed, (self, a))
            else:
                self.connect(prefixer, (self, a))


class mimo_ofdm_receiver_frontend(gr.hier_block2):
    """Samples of several antennas to their tones, frame by frame: the reverse of mimo_ofdm_transmitter.

    In: for each receive antenna a stream of samples. Out: vectors of `antennas` complex, one a tone:
    all tones of a frame's first symbol, then all of the second, and so on, in packets of symbols *
    len(tone_numbers), each a frame. The MIMO Channel Estimator and the MIMO Equalizer take this
    order. Frames are found, and their carrier offset is removed, by the metrics of all antennas
    together (the block ofdm_synchronizer: Schmidl and Cox, a matched filter, cyclic prefixes); FFT and
    serializer are GNU Radio's. The scale is the transmitter's: a point of energy 1 over a channel of gain
    1 comes as energy 1. Noise of variance v on the samples has v * len(tone_numbers) / fft_size on tones.

    Tags on a packet's first item: the length tag, carrier_offset (tone spacings), frame_start (a sample
    of the input), and rx_time, moved to that sample, if the input has it. If rx_time says that samples were lost
    within a frame, the block drops the frame, counts it (torn_frames), and searches for the next one from there.

    Args:
        antennas: receive antennas, 1 to 16
        fft_size, cyclic_prefix, tone_numbers, symbols: as the transmitter's
        transmit_antennas: 1 to 16
        advance: samples by which the FFT's window begins before the first path that was found, 0 to
            cyclic_prefix - 1; -1: an eighth of the prefix. A path then has the delay
            advance / fft_size and more (the estimator's first_delay).
        most_offset: largest carrier offset to look for, in tone spacings
        threshold: of the preamble's metric, 0 to below 1; 0: automatic
        length_tag_key: names the tag with a packet's length in items
        sample_rate: in Hz, for rx_time where no rx_rate comes; 0: none

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        antennas,
        fft_size=64,
        cyclic_prefix=16,
        tone_numbers=tuple(t for t in range(-26, 27) if t),
        symbols=26,
        transmit_antennas=1,
        advance=-1,
        most_offset=1.0,
        threshold=0.0,
        length_tag_key="packet_len",
        sample_rate=0.0,
    ):
        antennas = whole_between("antennas", antennas, 1, 16)
        transmit_antennas = whole_between("transmit_antennas", transmit_antennas, 1, 16)
        fft_size, cyclic_prefix, symbols = checked_sizes(fft_size, cyclic_prefix, symbols)
        tones = checked_tones(fft_size, tone_numbers)
        length_tag_key = _checked_key(length_tag_key)
        if advance == -1:
            advance = cyclic_prefix // 8
        gr.hier_block2.__init__(
            self,
            "mimo_ofdm_receiver_frontend",
            gr.io_signature(antennas, antennas, _ITEM),
            gr.io_signature(1, 1, antennas * _ITEM),
        )
        word = ofdm_preamble(fft_size, tones)
        preamble = np.fft.ifft(np.fft.ifftshift(word))[: fft_size // 2] * fft_size
        self.synchronizer = _native.ofdm_synchronizer(
            antennas,
            fft_size,
            cyclic_prefix,
            symbols,
            preamble.tolist(),
            ofdm_preamble_shifts(transmit_antennas, cyclic_prefix),
            advance,
            most_offset,
            threshold,
            length_tag_key,
            sample_rate,
        )
        self._first_delay = advance / fft_size
        together = blocks.streams_to_vector(_ITEM, antennas)
        scale = [np.sqrt(len(tones)) / fft_size] * fft_size
        for a in range(antennas):
            forward = fft.fft_vcc(fft_size, True, scale, True)
            forward.set_min_output_buffer(2 * symbols)
            # The block would read the input's tags of packet length and carrier offset as
            # its own. If these keys are empty, tags with an empty key are read.
            serializer = digital.ofdm_serializer_vcc(
                fft_size,
                (tones,),
                length_tag_key,
                length_tag_key,
                0,
                "mimo_ofdm_receiver_frontend takes no such order",
                True,
            )
            serializer.set_min_output_buffer(2 * symbols * len(tones))
            self.connect((self, a), (self.synchronizer, a), forward, serializer)
            if a == 0:
                last = serializer
            else:
                # The first antenna's tags serve all.
                last = blocks.tag_gate(_ITEM, False)
                self.connect(serializer, last)
            self.connect(last, (together, a))
        self.connect(together, self)

    def first_delay(self):
        """The delay of the first path on the tones, as a part of the useful symbol."""
        return self._first_delay

    def frames(self):
        """Frames found."""
        return self.synchronizer.frames()

    def false_alarms(self):
        """Repetitions that were no preamble."""
        return self.synchronizer.false_alarms()

    def torn_frames(self):
        """Frames that had begun when the radio lost samples."""
        return self.synchronizer.torn_frames()

    def carrier_offset(self):
        """The last frame's carrier offset in tone spacings."""
        return self.synchronizer.carrier_offset()
