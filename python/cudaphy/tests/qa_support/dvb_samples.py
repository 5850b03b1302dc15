# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of DVB-S2 signals: GNU Radio's transmitter, pulse shaping in double precision, noise."""

import functools

import numpy as np
import scipy.fft
from gnuradio import blocks, dtv, gr
from gnuradio.cudaphy import cudaphy_python

from .dvb import sent_by_gnuradio


def _through(items, *chain, sink=blocks.vector_sink_c):
    top, end = gr.top_block(), sink()
    top.connect(blocks.vector_source_b(items.ravel().tolist()), *chain, end)
    top.run()
    return np.array(end.data())


def _arguments(modulation, rate, frame):
    return (
        {"normal": dtv.FECFRAME_NORMAL, "short": dtv.FECFRAME_SHORT}[frame],
        getattr(dtv, "C" + rate.replace("/", "_")),
        getattr(dtv, "MOD_" + modulation),
    )


def physical_frames(stream, modulation, rate, frame, pilots=True, gold_code=0):
    """Symbols of the frames that carry transport packets (packets, 188)."""
    how = _arguments(modulation, rate, frame)
    words = sent_by_gnuradio(stream, frame, rate, "ldpc")
    n = {"normal": 64800, "short": 16200}[frame]
    words = words[: len(words) // n * n]
    # The framer holds back a frame until another one has begun.
    padded = np.concatenate([words, words[:n]])
    made = _through(
        padded,
        dtv.dvbs2_interleaver_bb(*how),
        dtv.dvbs2_modulator_bc(*how, dtv.INTERPOLATION_OFF),
        dtv.dvbs2_physical_cc(
            *how, dtv.PILOTS_ON if pilots else dtv.PILOTS_OFF, gold_code
        ),
    )
    symbols = made.astype("c8")[::2]  # the framer puts a zero behind each symbol
    slots = n // {"QPSK": 2, "8PSK": 3, "16APSK": 4, "32APSK": 5}[modulation] // 90
    length = 90 * (slots + 1) + (36 * ((slots - 1) // 16) if pilots else 0)
    return symbols[: len(words) // n * length]


@functools.cache
def _dummy_frame():
    how = _arguments("QPSK", "1/2", "short")
    # Symbols 1 come out as the scrambling sequence.
    top, sink = gr.top_block(), blocks.vector_sink_c()
    framer = dtv.dvbs2_physical_cc(*how, dtv.PILOTS_OFF, 0)
    top.connect(blocks.vector_source_c([1] * 16200), framer, sink)
    top.run()
    scrambling = np.array(sink.data())[::2][90 : 90 + 36 * 90]
    header = np.asarray(cudaphy_python._pl_header(0))
    return np.concatenate([header, scrambling * np.sqrt(0.5) * (1 + 1j)])


def dummy_frames(count):
    """Symbols of dummy frames (ETSI EN 302 307-1, section 5.5.1)."""
    return np.tile(_dummy_frame(), count)


def channel(symbols, sps, roll_off, esn0, frequency=0, ppm=0, seed=1):
    """complex64 samples of symbols, `sps` a symbol: root-raised-cosine pulses, clock error in ppm, carrier in
    symbol rates, white noise at Es/N0 in dB."""
    actual = sps / (1 + 1e-6 * ppm)
    padded = np.concatenate([symbols, np.zeros(64)])
    length = int(np.ceil(len(padded) * actual))
    # The spectrum of pulses at whole symbols, evaluated at the samples by a transform of another length.
    bins = scipy.fft.fft(padded)
    around = np.arange(-len(padded), len(padded))
    size = np.abs(around) / len(padded)
    edge = np.clip((size - (1 - roll_off) / 2) / roll_off, 0, 1)
    shaped = bins[around % len(padded)] * np.cos(np.pi / 2 * edge)
    used = np.flatnonzero(edge < 1)
    # Chirp transform: sum of shaped[k] exp(2 pi i k t / (padded actual)) at whole t.
    step = 2 * np.pi / (len(padded) * actual)
    k, t = around[used].astype(float), np.arange(length, dtype=float)
    base = k[0]
    k -= base
    size = scipy.fft.next_fast_len(len(k) + length)
    chirp = np.exp(0.5j * step * np.arange(max(len(k), length), dtype=float) ** 2)
    kernel = np.zeros(size, complex)
    kernel[:length] = chirp[:length].conj()
    kernel[-len(k) + 1 :] = chirp[1 : len(k)].conj()[::-1]
    work = scipy.fft.fft(shaped[used] * chirp[: len(k)], size) * scipy.fft.fft(kernel)
    samples = (
        scipy.fft.ifft(work)[:length] * chirp[:length] * np.exp(1j * step * base * t)
    )
    samples /= len(padded)
    rng = np.random.default_rng(seed)
    samples *= np.exp(2j * np.pi * frequency / sps * t + 1j)
    noise = rng.normal(size=(length, 2)).view(complex).ravel()
    samples += noise * np.sqrt(sps / 2 * 10 ** (-esn0 / 10)) * _rms_a_symbol(symbols)
    return samples.astype("c8")


def _rms_a_symbol(symbols):
    return np.sqrt(np.mean(np.abs(symbols) ** 2))
