# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that error rates on this machine agree with theory and published figures."""

import math

from .. import cudaphy_python as _native
from .theory import uncoded_bit_error_rate
from .simulation import simulate_error_rate


def _check(holds, text):
    print(f"{'ok:    ' if holds else 'FAILED:'} {text}", flush=True)
    return holds


def _uncoded(name, eb_n0_db, where):
    """Some 20,000 wrong bits are within 4.5 standard deviations of theory."""
    theory = uncoded_bit_error_rate(name, eb_n0_db)
    frames = math.ceil(20_000 / theory / 1000)
    (point,) = simulate_error_rate(
        "uncoded n=1000",
        eb_n0_db,
        constellation=name,
        max_log=True,
        max_frame_errors=None,
        max_frames=frames,
        **where,
    )
    expected = theory * point.bits
    return _check(
        abs(point.bit_errors - expected) < 4.5 * math.sqrt(expected),
        f"{name} without coding at {eb_n0_db} dB: {point.bit_errors} wrong bits, "
        f"theory {expected:.0f}",
    )


def _published(where):
    """AFF3CT's published reference, git 021a9e0, 802.11n (648, 540), factor 1, 10 iterations."""
    (point,) = simulate_error_rate(
        "wifi n=648 rate=5/6",
        4.0,
        max_frames=6000,
        max_frame_errors=None,
        max_iterations=10,
        scale=1.0,
        arithmetic="float32",
        **where,
    )
    expected = 3.63e-2 * point.frames
    return _check(
        abs(point.frame_errors - expected) < 0.15 * expected + 4.5 * math.sqrt(expected),
        f"802.11n 648 rate 5/6 at 4 dB: {point.frame_errors} wrong frames of "
        f"{point.frames}, published {expected:.0f}",
    )


def _same_counts(where):
    """The same words and noise on the CPU."""
    counts = []
    for backend in (where["backend"], "cpu"):
        (point,) = simulate_error_rate(
            "wifi n=648 rate=1/2",
            1.5,
            max_frames=2000,
            max_frame_errors=None,
            batch=500,
            arithmetic="float32",  # int8 differs between backends
            **{**where, "backend": backend},
        )
        counts.append((point.frame_errors, point.bit_errors, point.iterations))
    return _check(
        counts[0] == counts[1],
        f"{where['backend']} and cpu count alike: {counts[0]} and {counts[1]} wrong "
        "frames, wrong bits, iterations",
    )


def self_check(backend="auto", device=0):
    """Prints results. Returns whether all checks passed. Raises BackendUnavailable."""
    backend, reason = _native.resolve_backend(backend, device)
    print(f"backend {backend}: {reason}" if reason else f"backend {backend}")
    where = {"backend": backend, "device": device}
    good = True
    for name, eb_n0_db in (("bpsk", 4), ("qpsk", 4), ("qam16", 7), ("qam64", 10)):
        good &= _uncoded(name, eb_n0_db, where)
    if backend != "reference":  # the reference would take minutes
        good &= _published(where)
        good &= _same_counts(where)
    return good
