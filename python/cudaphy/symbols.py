# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a linear modulation to symbols, on numpy arrays."""

import dataclasses

import numpy as np

from . import cudaphy_python as _native


@dataclasses.dataclass(frozen=True)
class SymbolTiming:
    """What sync_symbols has found beside the symbols.

    instants (n), float64: where the symbols lie, in samples since the first one. clock_error: how much
    higher the symbol rate is than the nominal one, in ppm, the mean. line: strength of the symbol rate's
    line, 0 to 1, the mean. locked: whether the line is at least 2.5 times as strong as noise makes one. gain
    (n), float32: what the matched filter's output was multiplied by. carrier_offset: what was removed last,
    in symbol rates. carrier_changes: a tuple (symbol, offset, turns) for each symbol from which on another
    carrier offset is removed, and what that has taken from this symbol more than the offset before would
    have, in cycles.
    """

    instants: np.ndarray
    clock_error: float
    line: float
    locked: bool
    gain: np.ndarray
    carrier_offset: float
    carrier_changes: list


def _samples(samples):
    array = np.asarray(samples)
    if array.dtype.kind == "i" and array.dtype.itemsize <= 2:
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"samples have shape {array.shape}; integers need (n, 2): real and imaginary parts"
            )
        return np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"samples have items of type {array.dtype.type.__name__}; expected complex numbers, or pairs "
            "of int16 or int8"
        )
    if array.ndim != 1:
        raise ValueError(f"samples have shape {array.shape}; expected (n)")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, np.complex64)


def sync_symbols(
    samples,
    samples_per_symbol,
    roll_off=0.2,
    span=0,
    averaging=0,
    most_offset=0.25,
    info=False,
    backend="auto",
    device=0,
):
    """Root-raised-cosine matched filter, symbol timing recovery and gain control.

    samples (n): complex, of one linearly modulated signal; or (n, 2), int16 or int8: real and imaginary
    parts. samples_per_symbol: nominal, 1.5 to 16, any real number; clock errors up to 200 ppm are
    followed. roll_off: 0.02 to 1, and at most samples_per_symbol - 1. span: symbols on either side that
    the matched filter sums up, 1 to 128; 0: the greater of 8 and 2 / roll_off. averaging: symbols that an
    instant is estimated from, 1 to 131072; 0: 1536 / roll_off. most_offset: of the carrier, that is searched
    for and removed, in symbol rates, 0 to 0.5; 0: none; what is at most roll_off / 8 stays on the symbols.

    Returns the symbols (m), complex64, of unit mean energy: all whose instants lie within half a symbol of
    the samples; with info=True also a SymbolTiming. A sample that is not finite counts as 0.
    Raises ValueError for a wrong shape or a number out of range, TypeError for items that are no numbers,
    BackendUnavailable.
    """
    symbols, blocks, line_of_signal, changes = _native._symbol_sync(
        _samples(samples),
        samples_per_symbol,
        roll_off,
        span,
        averaging,
        most_offset,
        backend,
        device,
    )
    if not info:
        return symbols
    counts = blocks[:, 2].astype(int)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    instants = np.repeat(blocks[:, 0], counts)
    instants += np.repeat(blocks[:, 1], counts) * (np.arange(len(symbols)) - first)
    weights = counts / max(1, counts.sum())
    line = float(weights @ blocks[:, 4])
    return symbols, SymbolTiming(
        instants,
        float(weights @ blocks[:, 3]) * 1e6,
        line,
        line > line_of_signal,
        np.repeat(blocks[:, 5].astype("f4"), counts),
        changes[-1][1] * samples_per_symbol if changes else 0.0,
        _carrier_changes(changes, instants, samples_per_symbol),
    )


def _carrier_changes(changes, instants, samples_per_symbol):
    """Changes (sample, cycles a sample) as SymbolTiming has them, each at the nearest symbol."""
    out, before = [], 0.0
    for sample, frequency in changes:
        late = instants - sample
        symbol = int(np.abs(late).argmin()) if len(late) else 0
        turns = float(late[symbol]) * (frequency - before) if len(late) else 0.0
        out.append((symbol, frequency * samples_per_symbol, turns))
        before = frequency
    return out
