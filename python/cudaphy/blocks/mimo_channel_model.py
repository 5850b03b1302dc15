# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel for MIMO-OFDM links that need no radio."""

import math
import threading

import numpy as np
import pmt
from gnuradio import gr

from ..impulse_responses import impulse_responses
from ..whole_numbers import whole_between
from .block_guard import guarded


def _tap_amplitudes(taps, delay_spread):
    """Standard deviations of the taps' real and imaginary parts: an exponential power
    delay profile of energy 1."""
    if not 0 < delay_spread < math.inf:
        raise ValueError(f"delay_spread {delay_spread} is not positive and finite")
    energy = np.exp(-np.arange(taps) / delay_spread)
    # Real and imaginary part have half of a gain's energy each.
    return np.sqrt(energy / energy.sum() / 2).astype(np.float32)


def _over_tones(impulse_response, tones):
    """H, (tones, receive, transmit), of any number of taps, (receive, transmit, taps)."""
    n, k = np.arange(impulse_response.shape[2]), np.arange(tones)
    cycles = np.outer(k, n) % tones / tones
    h = np.tensordot(np.exp(-2j * np.pi * cycles), impulse_response, (1, 2))
    return h.astype(np.complex64)


@guarded
class mimo_channel_model(gr.sync_block):
    """Multipath Rayleigh fading between antennas, tone by tone, and white noise.

    In: vectors of `transmit_antennas` complex, one a tone. Out: vectors of
    `receive_antennas` complex, one for each. A slot is `symbols` * `tones` vectors: all
    tones of its first symbol, then all of the second, and so on. What remains of a slot
    at the end of the stream is not put out. A tag `frame_start` (uint64) on each slot's first
    vector says which vector of the stream it is.

    Each slot has a channel of its own, which does not change within it. Between every two
    antennas lie `taps` paths with independent complex Gaussian gains; path l comes l
    samples late and has the mean energy exp(-l / delay_spread), scaled so that all
    together have 1 (exponential power delay profile; Proakis and Salehi, Digital
    Communications, 5th ed., section 13.1). Their discrete Fourier transform over the
    tones is H, with E|H|^2 = 1 on each tone, and the output is H x + noise.

    With an impulse_response every slot has that channel, unscaled: scale it to a mean energy of 1
    between two antennas. Its taps are 1 / (the tones' whole band) apart, as
    fdtd.impulse_response() computes them for a room.

    snr_db is the ratio of received signal to noise at one receive antenna and tone, for
    unit mean energy of each transmitted stream: the noise variance E|n|^2 is
    transmit_antennas / 10^(snr_db / 10), the same at every antenna.

    Args:
        transmit_antennas: 1 to 64
        receive_antennas: 1 to 64
        tones: 1 to 65536
        symbols: in a slot, pilots included, 1 to 65536
        snr_db: see above; inf: no noise
        taps: paths, 1 to `tones`
        delay_spread: decay of the power delay profile in samples, above 0
        seed: of fading and noise; the same seed gives the same channels and noise,
            however the stream is cut into calls
        impulse_response: None: fading; else complex, (receive_antennas, transmit_antennas,
            taps), or the name of a .npy file with such an array

    Raises:
        ValueError: a parameter is out of range, or the impulse response has another shape.
            OSError: its file can't be read.
    """

    def __init__(
        self,
        transmit_antennas=2,
        receive_antennas=2,
        tones=52,
        symbols=26,
        snr_db=20.0,
        taps=6,
        delay_spread=2.0,
        seed=1,
        impulse_response=None,
    ):
        self._transmit = whole_between("transmit_antennas", transmit_antennas, 1, 64)
        self._receive = whole_between("receive_antennas", receive_antennas, 1, 64)
        self._tones = whole_between("tones", tones, 1, 65536)
        self._symbols = whole_between("symbols", symbols, 1, 65536)
        self._taps = whole_between("taps", taps, 1, self._tones)
        self._amplitudes = _tap_amplitudes(self._taps, delay_spread)
        self._fixed = None
        if impulse_response is not None:
            h = impulse_responses(impulse_response)
            if h.shape[:2] != (self._receive, self._transmit):
                raise ValueError(
                    f"the impulse response is of {h.shape[0]} receive and {h.shape[1]} transmit "
                    f"antennas, not of {self._receive} and {self._transmit}"
                )
            self._fixed = _over_tones(h, self._tones)
        gr.sync_block.__init__(
            self,
            name="mimo_channel_model",
            in_sig=[(np.complex64, self._transmit)],
            out_sig=[(np.complex64, self._receive)],
        )
        # Two generators, so that fading and noise do not depend on the slots of a call.
        seeds = np.random.SeedSequence(seed).spawn(2)
        self._fading, self._noise = map(np.random.default_rng, seeds)
        self._lock = threading.Lock()
        self._key = pmt.intern("frame_start")
        self.set_snr_db(snr_db)
        self.set_output_multiple(self._symbols * self._tones)

    def set_snr_db(self, snr_db):
        """Sets the signal-to-noise ratio from the next call of work on."""
        snr_db = float(snr_db)
        if math.isnan(snr_db) or snr_db < -300:
            raise ValueError(f"snr_db {snr_db} is not a number of at least -300")
        with self._lock:
            self._snr_db = snr_db

    def snr_db(self):
        """In dB, as last set."""
        with self._lock:
            return self._snr_db

    def noise_variance(self):
        """E|n|^2 of a sample at one receive antenna, linear."""
        return self._transmit * 10 ** (-self.snr_db() / 10)

    def _draw_channels(self, slots):
        """H, (slots, tones, receive_antennas, transmit_antennas), or (1, ...)."""
        if self._fixed is not None:
            return self._fixed[None]
        shape = (slots, self._taps, self._receive, self._transmit, 2)
        parts = self._fading.standard_normal(shape, dtype=np.float32)
        gains = parts.view(np.complex64)[..., 0]
        gains *= self._amplitudes[:, None, None]
        return np.fft.fft(gains, self._tones, axis=1).astype(np.complex64)

    def work(self, input_items, output_items):
        sent, received = input_items[0], output_items[0]
        slots = len(received) // (self._symbols * self._tones)
        shape = (slots, self._symbols, self._tones, -1)
        x = sent.reshape(shape).transpose(0, 2, 3, 1)
        y = (self._draw_channels(slots) @ x).transpose(0, 3, 1, 2)
        noise = self._noise.standard_normal((received.size, 2), dtype=np.float32)
        noise *= math.sqrt(self.noise_variance() / 2)
        received[:] = y.reshape(received.shape) + noise.view(np.complex64).reshape(
            received.shape
        )
        for first in range(0, len(received), self._symbols * self._tones):
            item = self.nitems_written(0) + first
            self.add_item_tag(0, item, self._key, pmt.from_uint64(item))
        return len(received)
