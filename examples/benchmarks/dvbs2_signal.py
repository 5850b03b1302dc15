# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals of DVB-S2 and S2X that a receiver's quality is measured with, made from the standard's text: frames of
random bits, pulses, a clock that is off, a carrier, and white noise.

A pool of frames is sent over and over. Its samples are computed once; carrier and noise are new each time."""

import fnmatch
import functools
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from dvbs2_receiver import SHORT_FRAME_LOSS  # noqa: E402
from dvbs2_receiver import THRESHOLDS as S2_THRESHOLDS  # noqa: E402
from gnuradio import cudaphy  # noqa: E402
from gnuradio.cudaphy import cudaphy_python as native  # noqa: E402
from gnuradio.cudaphy.dvbs2 import bch_code_of, dvbs2_modes, ldpc_code_of  # noqa: E402

# Es/N0 in dB at which normal frames are quasi error-free in white noise: ETSI EN 302 307-1, table 13.
S2 = {
    **S2_THRESHOLDS,
    "32apsk": {"3/4": 12.73, "4/5": 13.64, "5/6": 14.28, "8/9": 15.69, "9/10": 16.05},
}
# The same of S2X: EN 302 307-2, section 6. The rates are those of the LDPC codes.
S2X_NORMAL = {
    "qpsk": {"13/45": -2.03, "9/20": 0.22, "11/20": 1.45},
    "8apsk": {"100/180": 4.73, "104/180": 5.13},
    "8psk": {"23/36": 6.12, "25/36": 7.02, "13/18": 7.49},
    "16apsk": {
        "90/180": 5.97,
        "96/180": 6.55,
        "100/180": 6.84,
        "26/45": 7.51,
        "3/5": 7.80,
        "18/30": 7.41,
        "28/45": 8.10,
        "23/36": 8.38,
        "20/30": 8.43,
        "25/36": 9.27,
        "13/18": 9.71,
        "140/180": 10.65,
        "154/180": 11.99,
    },
    "32apsk": {"2/3": 11.10, "128/180": 11.75, "132/180": 12.17, "140/180": 13.05},
    "64apsk": {
        "128/180": 13.98,
        "132/180": 14.81,
        "7/9": 15.47,
        "4/5": 15.87,
        "5/6": 16.55,
    },
    "128apsk": {"135/180": 17.73, "140/180": 18.53},
    "256apsk": {
        "116/180": 16.98,
        "20/30": 17.24,
        "124/180": 18.10,
        "128/180": 18.59,
        "22/30": 18.84,
        "135/180": 19.57,
    },
}
# Short frames: not compared with the standard's text. They lie 0.9 to 1.5 dB above the capacity of bit-interleaved
# modulation, normal frames 0.6 to 1.1 dB, and none stands out. Those of normal frames agree with pylink's list.
S2X_SHORT = {
    "qpsk": {
        "11/45": -2.50,
        "4/15": -2.24,
        "14/45": -1.46,
        "7/15": 0.60,
        "8/15": 1.45,
        "32/45": 3.66,
    },
    "8psk": {"7/15": 3.83, "8/15": 4.71, "26/45": 5.52, "32/45": 7.54},
    "16apsk": {"7/15": 5.99, "8/15": 6.93, "26/45": 7.66, "3/5": 8.09, "32/45": 9.81},
    "32apsk": {"2/3": 11.41, "32/45": 12.18},
}
# The same of VL-SNR frames.
VL_SNR = {
    "qpsk": {"2/9 VL-SNR": -2.85},
    "bpsk": {
        "medium": {"1/5 VL-SNR": -6.85, "11/45 VL-SNR": -5.5, "1/3 VL-SNR": -4.0},
        "short": {
            "1/5 VL-SNR": -6.1,
            "4/15 VL-SNR": -4.9,
            "1/3 VL-SNR": -3.72,
            "1/5 VL-SNR SF2": -9.9,
            "11/45 VL-SNR SF2": -8.3,
        },
    },
}
PILOT = np.complex64((1 + 1j) / np.sqrt(2))
# Where VL-SNR frames have data and pilots behind their headers: EN 302 307-2, figures 17 and 18.
GROUP = {34: [703, -34, 703, -36], 36: [702, -36, 702, -36], 32: [704, -32, 704, -36]}
VL_SNR_LAYOUTS = {
    129: [540, -36] + 18 * GROUP[34] + 3 * GROUP[36] + [720],
    131: [540, -36] + 9 * GROUP[32] + GROUP[36] + [360],
}
VL_SNR_HEADER = 900
SLOT, PILOT_BLOCK, SLOTS_A_PILOT_BLOCK, HEADER = 90, 36, 16, 90
POOL_SYMBOLS = 800_000  # of the frames that are sent over and over


def is_s2x(mode):
    return mode.pls >= 128


def group_of(mode):
    return "vl-snr" if mode.is_vl_snr else "s2x" if is_s2x(mode) else "s2"


def name_of(mode):
    """As qpsk-1/2-normal, 8psk-3/4-short-no-pilots or bpsk-1/5-vl-snr-sf2-short."""
    pilots = "" if mode.pilots else "-no-pilots"
    rate = mode.rate.replace(" ", "-")
    return f"{mode.modulation}-{rate}-{mode.frame}{pilots}".lower()


def threshold_of(mode):
    """Es/N0 in dB at which the standard has the mode quasi error-free; of short frames of S2 the normal frames'."""
    table = S2
    if mode.is_vl_snr:
        table = VL_SNR if mode.frame == "normal" else VL_SNR["bpsk"]
        return table["qpsk" if mode.frame == "normal" else mode.frame][mode.rate]
    if is_s2x(mode):
        table = S2X_NORMAL if mode.frame == "normal" else S2X_SHORT
    return table[mode.modulation.lower()][mode.rate]


def quasi_error_free(mode):
    """Es/N0 in dB at which frames of this size are: short frames of S2 need up to 0.3 dB more (section 6)."""
    is_worse = mode.frame == "short" and not is_s2x(mode)
    return threshold_of(mode) + (SHORT_FRAME_LOSS if is_worse else 0)


@functools.cache
def all_modes():
    """{name: dvb_mode}: S2 first, VL-SNR frames last, normal frames before short ones, with pilots before those
    without."""
    wanted = sorted(
        dvbs2_modes(vl_snr=True),
        key=lambda mode: (
            group_of(mode) != "s2",
            mode.is_vl_snr,
            not mode.pilots,
            mode.frame,
            mode.pls,
        ),
    )
    return {name_of(mode): mode for mode in wanted}


def chosen_modes(patterns):
    """Names of the modes that fit one of the patterns: s2, s2x, vl-snr, or such as 'qpsk-*-short'.

    Raises ValueError for a pattern that fits none."""
    found = []
    for pattern in patterns:
        fits = [
            name
            for name, mode in all_modes().items()
            if pattern == group_of(mode) or fnmatch.fnmatch(name, pattern)
        ]
        if not fits:
            raise ValueError(f'"{pattern}" is none of {", ".join(all_modes())}')
        found += [name for name in fits if name not in found]
    return found


def _maximum_length_sequence(taps, start):
    period = (1 << 18) - 1
    bits = list(start)
    for i in range(period - 18):
        bits.append(sum(bits[i + tap] for tap in taps) & 1)
    return np.array(bits)


@functools.cache
def scrambling(count):
    """What the symbols behind a header are multiplied by, Gold code 0: EN 302 307-1, section 5.5.4."""
    x = _maximum_length_sequence((7, 0), [1] + 17 * [0])
    y = _maximum_length_sequence((10, 7, 5, 0), 18 * [1])
    gold = x ^ y
    quarters = gold[:count] + 2 * np.roll(gold, -131072)[:count]
    return (1j**quarters).astype(np.complex64)


def data_symbols(mode, words):
    """Symbols (frames, mode.symbols) of codewords (frames, n)."""
    constellation = cudaphy.constellation(mode.constellation)
    bits = constellation.bits
    padded = np.zeros((len(words), mode.symbols * bits), np.uint8)
    padded[:, : words.shape[1]] = words
    if mode.bit_interleaver:
        columns = padded.reshape(len(words), bits, mode.symbols)
        read = [columns[:, int(column)] for column in mode.bit_interleaver]
        labels = np.stack(read, axis=-1)
    else:
        labels = padded.reshape(len(words), mode.symbols, bits)
    return constellation.points[labels @ (1 << np.arange(bits)[::-1])]


def vl_snr_framed(mode, data):
    """Symbols (frames, mode.length) of VL-SNR frames: EN 302 307-2, sections 5.4.0a, 5.5.2.5 and 5.5.4."""
    data, first = np.repeat(data, mode.repeats, axis=1), 0
    header = np.asarray(native._pl_header(mode.pls), np.complex64)
    turns = scrambling(mode.length - HEADER)[VL_SNR_HEADER:]
    is_bpsk = mode.bits_a_symbol == 1  # pi/2-BPSK is scrambled by half turns
    if is_bpsk:
        data = data * np.resize(PILOT * np.array([1, 1j], np.complex64), data.shape[1])
    half_turns = np.where(abs(turns.imag) > 0.5, np.float32(-1), np.float32(1))
    parts, at = [np.tile(header, (len(data), 1))], 0
    for count in VL_SNR_LAYOUTS[129 if mode.length == 33282 else 131]:
        place = slice(at, at + abs(count))
        at += abs(count)
        if count < 0:
            parts.append(np.tile(PILOT * turns[place], (len(data), 1)))
            continue
        part = data[:, first : first + count]
        first += count
        parts.append(part * (half_turns if is_bpsk else turns)[place])
    return np.concatenate(parts, axis=1).astype(np.complex64)


def framed(mode, data):
    """Symbols (frames, mode.length) of the frames that carry data symbols."""
    if mode.is_vl_snr:
        return vl_snr_framed(mode, data)
    slots = -(-mode.symbols // SLOT)
    full = np.full((len(data), slots * SLOT), PILOT)
    full[:, : mode.symbols] = data
    parts, step = [], SLOT * SLOTS_A_PILOT_BLOCK
    for first in range(0, slots * SLOT, step):
        if first and mode.pilots:
            parts.append(np.full((len(data), PILOT_BLOCK), PILOT))
        parts.append(full[:, first : first + step])
    body = np.concatenate(parts, axis=1)
    body *= scrambling(body.shape[1])
    header = np.asarray(native._pl_header(mode.pls), np.complex64)
    return np.concatenate([np.tile(header, (len(data), 1)), body], axis=1)


def shaped(symbols, samples, roll_off, delay):
    """One period of `samples` samples of a signal that repeats the symbols: root-raised-cosine pulses, `delay`
    symbols late."""
    count = len(symbols)
    bins = np.arange(-count, count)
    edge = np.clip((np.abs(bins) / count - (1 - roll_off) / 2) / roll_off, 0, 1)
    spectrum = np.fft.fft(symbols)[bins % count] * np.cos(np.pi / 2 * edge)
    spectrum *= np.exp(-2j * np.pi * delay * bins / count)
    used = edge < 1
    wide = np.zeros(samples, complex)
    wide[bins[used] % samples] = spectrum[used]
    return (np.fft.ifft(wide) * (samples / count)).astype(np.complex64)


def pool_size(mode):
    """Frames that are sent over and over."""
    return int(np.clip(POOL_SYMBOLS // mode.length, 24, 64))


@dataclass
class piece:
    """A part of the signal: samples, and for each whole frame in it where its header's first symbol lies among
    the samples, and which of the pool's frames it is."""

    samples: np.ndarray
    places: np.ndarray
    frames: np.ndarray


class signal:
    """Frames of one mode that are sent over and over.

    bits (pool, k): the frames' BBFRAMEs, random if none are given. data (pool, mode.symbols): their symbols, of unit mean energy.
    samples_per_symbol: nominal; the clock is clock_error (ppm) fast. delay: of the symbols behind
    samples, in symbols.
    """

    def __init__(
        self,
        mode,
        samples_per_symbol=2,
        roll_off=0.2,
        clock_error=50,
        delay=0.3,
        bits=None,
    ):
        self.mode, self.samples_per_symbol, self.delay = mode, samples_per_symbol, delay
        code = bch_code_of(mode)
        if bits is None:
            rng = np.random.default_rng(mode.pls)
            bits = rng.integers(0, 2, (pool_size(mode), code.k), np.uint8)
        self.bits, self.pool = bits, len(bits)
        words = cudaphy.bch_encode(code, self.bits, backend="cpu")
        words = cudaphy.ldpc_encode(ldpc_code_of(mode), words, backend="cpu")
        self.data = data_symbols(mode, words)
        sent = framed(mode, self.data).ravel()
        samples = round(len(sent) * samples_per_symbol / (1 + 1e-6 * clock_error))
        self.step = samples / len(sent)  # samples a symbol
        self._clean = shaped(sent, samples, roll_off, delay)

    def piece(self, frames, es_n0, rng, frequency=0.05):
        """`frames` whole frames, amid others: the first and the last ones are cut anywhere. frequency: of the
        carrier, in symbol rates; its phase is random."""
        length = self.mode.length
        before, behind = rng.integers(2, length), rng.integers(64, length)
        first = int(rng.integers(self.pool)) * length - int(before)
        begin = math.ceil((first + self.delay) * self.step)
        end = math.ceil(
            (first + before + frames * length + behind + self.delay) * self.step
        )
        numbers = np.arange(frames)
        starts = (first + before + numbers * length + self.delay) * self.step - begin
        which = ((first + before) // length + numbers) % self.pool
        samples = self._received(begin, end - begin, es_n0, frequency, rng)
        return piece(samples, starts, which)

    def _received(self, begin, count, es_n0, frequency, rng):
        sps, period = self.samples_per_symbol, len(self._clean)
        out = np.empty(count, np.complex64)
        rng.standard_normal(out=out.view(np.float32), dtype=np.float32)
        out *= np.float32(math.sqrt(sps / 2 * 10 ** (-es_n0 / 10)))
        at_once, turns = 1 << 14, rng.random()
        carrier = np.exp(2j * np.pi * frequency / sps * np.arange(at_once))
        carrier = carrier.astype(np.complex64)
        done = 0
        while done < count:
            at = (begin + done) % period
            size = min(at_once, count - done, period - at)
            turn = np.exp(2j * np.pi * (turns + frequency / sps * done))
            part = carrier[:size] * self._clean[at : at + size]
            part *= np.complex64(turn)
            out[done : done + size] += part
            done += size
        return out

    def ideal(self, frames, es_n0, rng):
        """Data symbols (frames, mode.symbols) with noise alone, and which of the pool's frames they are. What is
        sent repeatedly is added up."""
        which = rng.integers(self.pool, size=frames)
        symbols = np.empty((frames, self.mode.symbols), np.complex64)
        rng.standard_normal(out=symbols.view(np.float32), dtype=np.float32)
        symbols *= np.float32(math.sqrt(0.5 * 10 ** (-es_n0 / 10) / self.mode.repeats))
        symbols += self.data[which]
        return symbols, which
