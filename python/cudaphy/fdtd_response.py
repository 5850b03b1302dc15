# SPDX-License-Identifier: GPL-3.0-or-later
"""Frequency and impulse responses of a simulated channel."""

import warnings

import numpy as np


def _numbers(which, attribute, limit, what):
    """(source or probe numbers of ports or numbers, whether a single one was given)"""
    single = not isinstance(which, (list, tuple, np.ndarray)) or hasattr(which, "probe")
    numbers = [
        getattr(one, attribute) if hasattr(one, attribute) else one
        for one in ([which] if single else which)
    ]
    for number in numbers:
        if number is None:
            raise ValueError("a port that is not driven is no transmitter")
        if not 0 <= number < limit:
            raise ValueError(f"{what} {number} does not exist, there are {limit}")
    return numbers, single


def _pulse(dt, carrier, bandwidth):
    """A Gaussian pulse at the carrier, a third as strong at the edges of the band."""
    spread = np.sqrt(2 * np.log(3)) / (np.pi * bandwidth)  # of time, seconds
    t = (np.arange(int(np.ceil(11 * spread / dt))) + 0.5) * dt - 5.5 * spread
    return np.exp(-0.5 * (t / spread) ** 2) * np.cos(2 * np.pi * carrier * t)


def _record(sim, source, probes, pulse, settle_db, max_steps, progress):
    """The probes' fields after a pulse at one source, until it has died away."""
    sim.reset()
    excitation = np.zeros((len(pulse), sim.sources))
    excitation[:, source] = pulse
    seen = [sim.step(excitation, progress=progress)[:, probes]]
    piece = max(len(pulse) // 2, 256)
    threshold = 10 ** (-settle_db / 20)
    while True:
        done = sum(len(part) for part in seen)
        peak = max(np.abs(part).max(initial=0) for part in seen)
        if len(seen) > 1 and peak and np.abs(seen[-1]).max() < threshold * peak:
            break
        if done >= max_steps:
            warnings.warn(
                f"the response has not died away by {settle_db} dB within {max_steps} steps; "
                "it is cut off there",
                stacklevel=5,
            )
            break
        seen.append(
            sim.step(steps=min(piece, max_steps - done), progress=progress)[:, probes]
        )
    return np.concatenate(seen).astype(np.float64)


def _transform(x, dt, frequencies):
    """sum x[n] exp(-2 pi j f n dt) for a few frequencies of a long record, (f, columns)."""
    out = np.zeros((len(frequencies), x.shape[1]), np.complex128)
    for first in range(0, len(x), 1024):
        part = x[first : first + 1024]
        n = np.arange(first, first + len(part))
        out += np.exp(-2j * np.pi * np.outer(frequencies, n * dt)) @ part
    return out


def _spectra(sim, tx, rx, low, high, settle_db, max_steps, progress):
    """Calls back with frequencies to get responses (frequencies, rx, tx), and the longest
    record's seconds."""
    dt = sim.time_step
    if not dt > 0:
        raise ValueError("the matrices have no time step: give fdtd.from_matrices() one")
    if not 0 < low < high < 0.5 / dt:
        raise ValueError(
            f"the band {low:g} ... {high:g} Hz must lie within 0 ... {0.5 / dt:g} Hz, half of "
            "the time steps' rate"
        )
    pulse = _pulse(dt, (low + high) / 2, high - low)
    records = [
        _record(sim, source, rx, pulse, settle_db, max_steps, progress) for source in tx
    ]

    def at(frequencies):
        sent = _transform(pulse[:, None], dt, frequencies)
        # Row n drives the middle of step n, and probes are read at its end.
        late = np.exp(-1j * np.pi * frequencies * dt)[:, None]
        columns = [_transform(seen, dt, frequencies) / sent * late for seen in records]
        return np.stack(columns, axis=-1)

    return at, max(len(seen) for seen in records) * dt


def frequency_response(
    self, tx, rx, frequencies, settle_db=50.0, max_steps=1000000, progress=False
):
    """What a probe sees of a source, over frequency, by one run from zero fields a source.

    tx: a port or a source's number, or a list of them. rx: a port or a probe's number, or a list.
    frequencies: hertz, (n,). A run ends when the probes have died away by settle_db since their peak, or, with a
    warning, after max_steps.
    Returns probe / source, complex128, (rx, tx, n), without the axes of what was no list. For ports it is the
    voltage at the one over the generator's voltage at the other.
    Raises ValueError for a number or frequency out of range.
    """
    transmitters, one_tx = _numbers(tx, "source", self.sources, "source")
    receivers, one_rx = _numbers(rx, "probe", self.probes, "probe")
    frequencies = np.atleast_1d(np.asarray(frequencies, np.float64))
    low, high = frequencies.min(), frequencies.max()
    middle, width = (low + high) / 2, max(high - low, 0.2 * (low + high) / 2)
    at, _ = _spectra(
        self,
        transmitters,
        receivers,
        middle - width / 2,
        middle + width / 2,
        settle_db,
        max_steps,
        progress,
    )
    response = np.moveaxis(at(frequencies), 0, -1)
    return response[0 if one_rx else slice(None), 0 if one_tx else slice(None)]


def impulse_response(
    self,
    tx,
    rx,
    carrier,
    bandwidth,
    taps=None,
    lead=8,
    rolloff=0.2,
    settle_db=50.0,
    max_steps=1000000,
    progress=False,
):
    """Complex baseband taps of the channel from sources to probes, for GNU Radio's FIR filters.

    tx: a port or a source's number, or a list of them. rx: a port or a probe's number, or a list.
    carrier, bandwidth: hertz; the taps' sample rate is the bandwidth.
    taps: how many; None: as many as the response is long. lead: samples by which everything is delayed, so
    that what a sharp band has before the first arrival is kept. rolloff: part of the band, at its edges, where the
    response fades to 0; within the rest it is the channel's.
    A run (one a source, from zero fields) ends when the probes have died away by settle_db since their peak, or,
    with a warning, after max_steps. The fields are the last run's after this.
    Returns complex64, (rx, tx, taps), without the axes of what was no list.
    Raises ValueError for a number out of range or a band that the time step does not resolve.
    """
    transmitters, one_tx = _numbers(tx, "source", self.sources, "source")
    receivers, one_rx = _numbers(rx, "probe", self.probes, "probe")
    if not 0 <= rolloff <= 1 or lead < 0 or (taps is not None and taps < 1):
        raise ValueError(
            f"rolloff is {rolloff}, must be 0 ... 1; lead {lead}, at least 0; taps {taps}, "
            "at least 1"
        )
    at, seconds = _spectra(
        self,
        transmitters,
        receivers,
        carrier - bandwidth / 2,
        carrier + bandwidth / 2,
        settle_db,
        max_steps,
        progress,
    )
    # The grid of frequencies avoids wrap-around, with room for the band's ripple.
    length = int(np.ceil(seconds * bandwidth)) + 2 * lead + 1
    fine = 2 * max(length, taps or 0) + 64
    offset = np.fft.fftfreq(fine, 1 / bandwidth)
    response = at(carrier + offset)
    edge = (0.5 - np.abs(offset) / bandwidth) / max(rolloff / 2, 1e-12)
    fade = 0.5 - 0.5 * np.cos(np.pi * np.clip(edge, 0, 1))
    late = np.exp(-2j * np.pi * offset * lead / bandwidth)
    impulse = np.fft.ifft(response * (fade * late)[:, None, None], axis=0)
    impulse = impulse[: taps or length]
    impulse = np.moveaxis(impulse, 0, -1).astype(np.complex64)
    return impulse[0 if one_rx else slice(None), 0 if one_tx else slice(None)]
