# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC encoding and decoding of numpy arrays."""

import numpy as np

from . import cudaphy_python as _native


def _rows(array, width, what):
    if array.ndim < 1 or array.shape[-1] != width:
        raise ValueError(f"{what} has shape {array.shape}; expected (..., {width})")
    return array.reshape((int(np.prod(array.shape[:-1])), width))


def ldpc_encode(code, bits, backend="auto", device=0):
    """Encodes information words.

    code: an ldpc_code. bits: (..., k), 0 or 1. Returns codewords (..., n), uint8.
    Raises ValueError for a wrong shape, BackendUnavailable.
    """
    bits = np.asarray(bits, np.uint8)
    words = _native._ldpc_encode(code, _rows(bits, code.k, "bits"), backend, device)
    return words.reshape(bits.shape[:-1] + (code.n,))


def ldpc_decode(
    code,
    llr,
    max_iterations=20,
    algorithm="normalized_min_sum",
    scale=None,
    early_stop=True,
    output="info",
    llr_positive=0,
    backend="auto",
    device=0,
):
    """Decodes codewords from LLRs by layered scaled (normalised) min-sum.

    code: an ldpc_code. llr: (..., n), float32, positive for the bit llr_positive (docs/conventions.md).
    scale: a fixed factor of min-sum; None rises from the code's own, default_scale (docs/conventions.md).
    output: "info" (k bits) or "codeword" (n).
    Returns bits (..., k or n), uint8; iterations (...), int32; ok (...), bool: every parity check holds.
    Raises ValueError for a wrong shape or parameter, BackendUnavailable.
    """
    if algorithm != "normalized_min_sum":
        raise ValueError(f'algorithm "{algorithm}" is not "normalized_min_sum"')
    if output not in ("info", "codeword"):
        raise ValueError(f'output "{output}" is neither "info" nor "codeword"')
    llr = np.asarray(llr, np.float32)
    lead = llr.shape[:-1]
    bits, iterations, ok = _native._ldpc_decode(
        code,
        _rows(llr, code.n, "llr"),
        max_iterations,
        0.0 if scale is None else scale,
        early_stop,
        output == "codeword",
        llr_positive,
        backend,
        device,
    )
    return (
        bits.reshape(lead + bits.shape[1:]),
        iterations.reshape(lead),
        ok.reshape(lead).astype(bool),
    )
