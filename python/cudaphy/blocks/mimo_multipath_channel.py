# SPDX-License-Identifier: GPL-3.0-or-later
"""A multipath channel between antennas, for samples."""

import numpy as np
from gnuradio import gr

from ..whole_numbers import whole_between
from .block_guard import guarded
from .mimo_channel_model import _tap_amplitudes


@guarded
class mimo_multipath_channel(gr.sync_block):
    """Multipath Rayleigh fading between antennas, sample by sample.

    In: for each transmit antenna a stream of samples. Out: for each receive antenna one. Between every two
    antennas lie `taps` paths with independent complex Gaussian gains; path l comes l samples late and has
    the mean energy exp(-l / delay_spread), scaled so that all together have 1 (exponential power delay
    profile; Proakis and Salehi, Digital Communications, 5th ed., section 13.1). Gains stay for
    `block_length` samples, from the stream's first on, and then are drawn anew: set it to a frame with the
    silence after it, so that each frame has a channel of its own. Noise and carrier offset are the
    business of GNU Radio's Channel Model, one at each receive antenna.

    Args:
        transmit_antennas: 1 to 16
        receive_antennas: 1 to 16
        block_length: samples, 1 to 2^30
        taps: paths, 1 to 1024
        delay_spread: decay of the power delay profile in samples, above 0
        seed: of the gains; the same seed gives the same, however the stream is cut into calls

    Raises:
        ValueError: a parameter is out of range.
    """

    def __init__(
        self,
        transmit_antennas=2,
        receive_antennas=2,
        block_length=2160,
        taps=6,
        delay_spread=2.0,
        seed=1,
    ):
        self._transmit = whole_between("transmit_antennas", transmit_antennas, 1, 16)
        self._receive = whole_between("receive_antennas", receive_antennas, 1, 16)
        self._block = whole_between("block_length", block_length, 1, 1 << 30)
        self._taps = whole_between("taps", taps, 1, 1024)
        self._amplitudes = _tap_amplitudes(self._taps, delay_spread)
        gr.sync_block.__init__(
            self,
            name="mimo_multipath_channel",
            in_sig=[np.complex64] * self._transmit,
            out_sig=[np.complex64] * self._receive,
        )
        self._seed = whole_between("seed", seed, 0, 2**63 - 1)

    def start(self):
        self._fading = np.random.default_rng(self._seed)
        self._before = np.zeros((self._transmit, self._taps - 1), np.complex64)
        self._left = 0  # samples left of the present gains
        return True

    def _draw_gains(self):
        """(taps, receive_antennas, transmit_antennas)"""
        shape = (self._taps, self._receive, self._transmit, 2)
        parts = self._fading.standard_normal(shape, dtype=np.float32)
        return parts.view(np.complex64)[..., 0] * self._amplitudes[:, None, None]

    def work(self, input_items, output_items):
        count = len(output_items[0])
        sent = np.concatenate(
            (self._before, np.stack([x[:count] for x in input_items])), 1
        )
        done = 0
        while done < count:
            if self._left == 0:
                self._gains = self._draw_gains()
                self._left = self._block
            piece = min(self._left, count - done)
            received = np.zeros((self._receive, piece), np.complex64)
            for tap, gain in enumerate(self._gains):
                first = done + self._taps - 1 - tap
                received += gain @ sent[:, first : first + piece]
            for output, row in zip(output_items, received):
                output[done : done + piece] = row
            done += piece
            self._left -= piece
        self._before = sent[:, sent.shape[1] - (self._taps - 1) :]
        return count
