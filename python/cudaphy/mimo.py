# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO reception on numpy arrays."""

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import broadcast_to, number_array, real_array, truth


def estimate_channel(
    received,
    pilots,
    backend="auto",
    device=0,
    method="ls",
    delay_spread=0.02,
    first_delay=0.0,
    snr_db=20.0,
    window=64,
    pilot_times=(),
    times=(),
    doppler=0.0,
    tone_numbers=(),
    group_symbols=0,
    errors_as_noise=False,
):
    """Channel estimates and the noise variance from known pilots, by least squares or MMSE.

    received: (..., pilot_symbols, tones, Nr), complex64. pilots: (pilot_symbols, Nt), sent on every tone;
    or (pilot_symbols, tones, Nt), 0 where a layer is silent (a tone on which all are silent may hold data); or
    a pilot_pattern, of comb_pilots, block_pilots, ht_ltf_pilots or nr_dmrs_pilots.
    method: "ls", with linear interpolation between pilots that differ from tone to tone; or "mmse", from the
    `window` nearest pilots, for an exponential power delay profile of rms `delay_spread` that begins at
    `first_delay` (both as a part of the useful symbol) at `snr_db`.
    times: of the wanted estimates; pilot_times: of the pilot symbols (default 0, 1, ...); both in symbols. Every
    group_symbols pilot symbols give an estimate. Estimates at other times are interpolated linearly or, with a
    `doppler` in turns a symbol, by MMSE. tone_numbers: the tones' places (default 0, 1, ...). A pattern has its
    own tone_numbers and group_symbols.
    errors_as_noise: n0 includes the error of h from the pilots' noise, for Nt layers of unit energy, because an
    equalizer takes h for exact. That gains codes up to 0.4 dB at a low SNR.
    Returns h (..., tones, Nr, Nt), complex64, or with times (..., times, tones, Nr, Nt); and n0 (...),
    float32: E|n|^2 of a complex sample, NaN if a received pilot is not finite. h is 0 then: only on that tone
    for least squares with the same pilots on every tone, otherwise on all tones.
    Raises ValueError for shapes that do not fit or what is out of range, BackendUnavailable. More in
    kernels/channel_estimator.h.
    """
    received = number_array(received, "received", np.complex64)
    pattern = pilots
    if isinstance(pilots, _native.pilot_pattern):
        shape = (pilots.symbols, pilots.tones, pilots.layers)
    else:
        pattern = number_array(pilots, "pilots")
        shape = pattern.shape
    if (
        len(shape) not in (2, 3)
        or received.ndim < 3
        or received.shape[-3] != shape[0]
        or (len(shape) == 3 and received.shape[-2] != shape[1])
    ):
        raise ValueError(
            f"received has shape {received.shape}, pilots {shape}; "
            "expected (..., P, tones, Nr) and (P, Nt) or (P, tones, Nt)"
        )
    leading = received.shape[:-3]
    h, n0, _ = _native._estimate_channel(
        received.reshape((-1,) + received.shape[-3:]),
        shape[-1],
        pattern,
        backend,
        device,
        method=method,
        delay_spread=delay_spread,
        first_delay=first_delay,
        snr_db=snr_db,
        window=window,
        pilot_times=list(pilot_times),
        times=list(times),
        doppler=doppler,
        tone_numbers=list(tone_numbers),
        group_symbols=group_symbols,
        errors_as_noise=errors_as_noise,
    )
    without_times = 1 if len(times) else 2
    n0 = n0[:, 0] if len(times) else n0
    return h.reshape(leading + h.shape[without_times:]), n0.reshape(leading)


def _most_repeated(own, leading):
    """Of the runs of axes, begin to end, along which an array of shape `own` is the same, the longest.

    `leading` is the shape that `own` broadcasts to.
    """
    best, most, begin = (0, 0), 1, 0
    for axis, (mine, whole) in enumerate(zip(own, leading)):
        if mine != 1 and whole != 1:
            begin = axis + 1
        elif (items := int(np.prod(leading[begin : axis + 1]))) > most:
            best, most = (begin, axis + 1), items
    return best


def equalize(
    y,
    h,
    noise_var,
    method="mmse",
    unbiased=True,
    backend="auto",
    device=0,
    covariance=None,
    route="solve",
):
    """Separates spatial layers: x = W y by zero forcing, MMSE, MMSE-IRC or max-ratio combining.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    y: (..., Nr), complex64. h: (..., Nr, Nt), with the same leading shape as y or one that broadcasts to it; Nr is
    1 to 128 and Nt 1 to 16, for "zf" at most Nr;
    h of shape (tones, Nr, Nt) with y (symbols, tones, Nr), or (slots, 1, tones, Nr, Nt) with y (slots, symbols, tones,
    Nr), is factored once a tone, unless noise_var differs between the symbols or tones, or a covariance between symbols.
    noise_var: E|n|^2 at a receive antenna, a number or an array that broadcasts to the leading shape; None
    with a covariance. method: "zf", "mmse", "mmse_irc" or "mrc"; unbiased: scale MMSE's layers so that their
    signal has gain 1. covariance: of interference and noise, for "mmse_irc": (..., Nr, Nr), broadcast like h. route: "solve", or for "zf" and "mmse" "inverse", by the batched inverse of the Gram matrix.
    Returns x (..., Nt), complex64, and noise (..., Nt), float32: the noise variance after equalisation, +inf
    (and x = 0) if the channel, the noise variance or the covariance can't be used.
    Raises ValueError for shapes that do not fit, BackendUnavailable.
    """
    y, h = number_array(y, "y", np.complex64), number_array(h, "h", np.complex64)
    if y.ndim < 1 or h.ndim < 2 or y.shape[-1] != h.shape[-2]:
        raise ValueError(
            f"y has shape {y.shape}, h {h.shape}; expected (..., Nr) and (..., Nr, Nt)"
        )
    leading = y.shape[:-1]
    antennas, layers = h.shape[-2:]
    if (noise_var is None) != (covariance is not None):
        raise ValueError("give either noise_var, or a covariance and noise_var=None")
    if covariance is None:
        item, variance = (), real_array(noise_var, "noise_var", np.float32)
    else:
        item = (antennas, antennas)
        variance = number_array(covariance, "covariance", np.complex64)
        if variance.shape[-2:] != item:
            raise ValueError(
                f"covariance has shape {variance.shape}; expected (..., {antennas}, {antennas})"
            )
    own = (1,) * (len(leading) - (h.ndim - 2)) + h.shape[:-2]
    begin, end = _most_repeated(own, leading)
    groups, symbols, tones = (
        int(np.prod(leading[axes]))
        for axes in (slice(begin), slice(begin, end), slice(end, None))
    )
    given = variance.shape[: variance.ndim - len(item)]
    given = (1,) * (len(leading) - len(given)) + given
    every = leading[:begin] + (1,) * (end - begin) + leading[end:]
    if not (
        y.size
        and 1 < symbols <= 65536
        and tones <= 65536
        and all(n == 1 for n in given[begin : end if item else None])
    ):
        groups, symbols, tones, every = int(np.prod(leading)), 1, 1, leading
    h = broadcast_to(h.reshape(own + h.shape[-2:]), every + h.shape[-2:])
    if any(n != 1 for n in given):
        if symbols > 1 and all(n == 1 for n in given[end:]):
            given, every = given[:begin], leading[:begin]
        variance = broadcast_to(variance.reshape(given + item), every + item)
    x, noise, _ = _native._equalize(
        y.reshape((groups, symbols, tones, antennas)),
        h.reshape((groups, tones, antennas, layers)),
        variance.reshape((-1,) + item),
        method,
        unbiased,
        route,
        backend,
        device,
    )
    return x.reshape(leading + (layers,)), noise.reshape(leading + (layers,))


def demap(
    x,
    n,
    constellation="qam16",
    max_log=True,
    llr_positive=0,
    backend="auto",
    device=0,
    dtype="float32",
    llr_steps=12.0,
    points=None,
    labels=None,
    bit_interleaver="",
    frame_bits=0,
):
    """Log-likelihood ratios of the bits of received symbols.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    x: (...), complex64. n: noise variance E|n|^2, a number or (...). constellation: a name of
    constellation_names(), or a constellation; points, labels: your own points in its place, as
    constellation(points, labels) takes them.
    dtype: "float32", "float16", or "int8" for steps of 1 / llr_steps, saturated at 127 steps.
    bit_interleaver: undone, such as "012": the order in which a symbol's bits are read from the columns of
    DVB-S2's block interleaver, dvb_mode.bit_interleaver. x is then (..., symbols of a frame).
    Returns LLRs (..., bits) of that dtype, first-sent bit first; positive means the bit llr_positive
    (docs/conventions.md). 0 if the noise variance is not finite and positive. With a bit_interleaver (...,
    frame_bits) in the order of the frame's bits; frame_bits is 0 for all, or fewer: the rest is padding.
    Raises ValueError for an unknown name, BackendUnavailable.
    """
    x, n = number_array(x, "x", np.complex64), real_array(n, "n", np.float32)
    wanted = np.dtype(dtype)
    if points is not None:
        constellation = _native.constellation(points, () if labels is None else labels)
    elif isinstance(constellation, str):
        constellation = _native.constellation(constellation)
    if bit_interleaver and not x.ndim:
        raise ValueError("x is one number; with a bit_interleaver it is (..., symbols)")
    frame_symbols = x.shape[-1] if bit_interleaver else 0
    if n.ndim:
        n = broadcast_to(n, x.shape)
    llr = _native._demap(
        x.ravel(),
        n.ravel(),
        constellation,
        max_log,
        llr_positive,
        wanted.name,
        llr_steps,
        bit_interleaver,
        frame_symbols,
        frame_bits,
        backend,
        device,
    )
    if isinstance(llr, np.ndarray):
        llr = llr.astype(wanted, copy=False)  # perhaps of the other byte order
    return llr.reshape((x.shape[:-1] if bit_interleaver else x.shape) + llr.shape[-1:])


def receive_slots(
    received,
    pilots,
    pilot_symbols,
    code,
    constellation="qam16",
    backend="auto",
    device=0,
    details=False,
    **options,
):
    """Receives MIMO slots: channel estimate, equalizer, soft demapper and LDPC decoder in one call.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    received: (..., symbols, tones, Nr), complex64, a slot with its pilots. pilots: as in
    estimate_channel(); pilot_symbols: which symbols of the slot they are, counted from 0. Every
    other place holds data, symbol by symbol, tone by tone, layer by layer. A slot holds as many whole
    codewords of `code`, an ldpc_code, as fit. constellation: a name of constellation_names().
    options: further parameters of the block mimo_receiver: data_beside_pilots; estimate,
    delay_spread, first_delay, snr_db, window, times, doppler, tone_numbers, group_symbols, errors_as_noise (True); method,
    unbiased, route; max_log, llr_type, llr_steps; max_iterations, scale, early_stop, output, packed,
    algorithm, offset, schedule, arithmetic, stop_crc, llr_positive.

    Returns bits (..., words, k), uint8 (or as output and packed say); iterations (..., words),
    int32; ok (..., words), bool. With details a fourth, a dictionary: h (..., tones, Nr, Nt), with
    times (..., times, tones, Nr, Nt); n0 (...) or (..., times); x and noise (..., places, Nt), of the
    places with data; llr (..., words, n), the decoder's input; status (...), -1 if a received pilot is
    not finite.
    Raises ValueError for shapes that do not fit or what is out of range, BackendUnavailable. More in
    kernels/mimo_receiver.h.
    """
    received = number_array(received, "received", np.complex64)
    if received.ndim < 3:
        raise ValueError(
            f"received has shape {received.shape}; expected (..., symbols, tones, Nr)"
        )
    layers = (
        pilots.layers
        if isinstance(pilots, _native.pilot_pattern)
        else np.shape(pilots)[-1]
    )
    leading = received.shape[:-3]
    got = _native._receive_slots(
        received.reshape((-1,) + received.shape[-3:]),
        layers,
        pilots,
        list(pilot_symbols),
        constellation,
        code,
        backend,
        device,
        **options,
    )
    without_times = {} if len(options.get("times", ())) else {"h": 2, "n0": 2}
    got = {
        name: each.reshape(leading + each.shape[without_times.get(name, 1) :])
        for name, each in got.items()
    }
    found = got.pop("bits"), got.pop("iterations"), truth(got.pop("ok"))
    return found + (got,) if details else found
