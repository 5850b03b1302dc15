# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO reception on numpy arrays."""

import numpy as np

from . import cudaphy_python as _native


def estimate_channel(received, pilots, backend="auto", device=0):
    """Least-squares channel estimates and the noise variance from known pilots.

    received: (..., pilot_symbols, tones, Nr), complex64. pilots: (pilot_symbols, Nt), sent on every tone.
    Returns h (..., tones, Nr, Nt), complex64, and n0 (...), float32: E|n|^2 of a complex sample, NaN where a
    received pilot is not finite (h is 0 on that tone).
    Raises ValueError for shapes that do not fit, BackendUnavailable.
    """
    received, pilots = np.asarray(received), np.asarray(pilots)
    if pilots.ndim != 2 or received.ndim < 3 or received.shape[-3] != pilots.shape[0]:
        raise ValueError(
            f"received has shape {received.shape}, pilots {pilots.shape}; "
            "expected (..., P, tones, Nr) and (P, Nt)"
        )
    lead = received.shape[:-3]
    h, n0, _ = _native._estimate_channel(
        received.reshape((-1,) + received.shape[-3:]), pilots, backend, device
    )
    return h.reshape(lead + h.shape[1:]), n0.reshape(lead)


def equalize(y, h, noise_var, method="mmse", unbiased=True, backend="auto", device=0):
    """Separates spatial layers: x = W y by zero forcing or MMSE.

    y: (..., Nr), complex64. h: (..., Nr, Nt), with the same leading shape as y or one that broadcasts to it.
    noise_var: E|n|^2 at a receive antenna, a number or an array that broadcasts to the leading shape.
    method: "zf" or "mmse"; unbiased: scale MMSE's layers so that their signal has gain 1.
    Returns x (..., Nt), complex64, and noise (..., Nt), float32: the noise variance after equalisation, +inf
    (and x = 0) where the channel or the noise variance can't be used.
    Raises ValueError for shapes that do not fit, BackendUnavailable.
    """
    y, h = np.asarray(y), np.asarray(h)
    if y.ndim < 1 or h.ndim < 2 or y.shape[-1] != h.shape[-2]:
        raise ValueError(
            f"y has shape {y.shape}, h {h.shape}; expected (..., Nr) and (..., Nr, Nt)"
        )
    lead = y.shape[:-1]
    antennas, layers = h.shape[-2:]
    noise_var = np.asarray(noise_var, np.float32)
    one_channel = h.ndim == 2 and noise_var.ndim == 0
    if one_channel and y.size // antennas <= 65536 and y.size:
        # One factorisation for all.
        x, noise, _ = _native._equalize(
            y.reshape((1, -1, antennas)),
            h.reshape((1, antennas, layers)),
            noise_var.reshape(1),
            method,
            unbiased,
            backend,
            device,
        )
    else:
        count = int(np.prod(lead))
        x, noise, _ = _native._equalize(
            y.reshape((count, 1, antennas)),
            np.broadcast_to(h, lead + (antennas, layers)).reshape(
                (count, antennas, layers)
            ),
            np.broadcast_to(noise_var, lead).reshape(count),
            method,
            unbiased,
            backend,
            device,
        )
    return x.reshape(lead + (layers,)), noise.reshape(lead + (layers,))


def demap(
    x, n, constellation="qam16", max_log=True, llr_positive=0, backend="auto", device=0
):
    """Log-likelihood ratios of the bits of received symbols.

    x: (...), complex64. n: noise variance E|n|^2, a number or (...). constellation: a name of
    constellation_names(), or a constellation.
    Returns LLRs (..., bits), float32, first-sent bit first; positive means the bit llr_positive
    (docs/conventions.md). 0 where the noise variance is not finite and positive.
    Raises ValueError for an unknown name, BackendUnavailable.
    """
    x, n = np.asarray(x), np.asarray(n, np.float32)
    if isinstance(constellation, str):
        constellation = _native.constellation(constellation)
    if n.ndim:
        n = np.broadcast_to(n, x.shape)
    llr = _native._demap(
        x.ravel(), n.ravel(), constellation, max_log, llr_positive, backend, device
    )
    return llr.reshape(x.shape + (constellation.bits,))
