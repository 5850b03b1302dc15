# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC encoding and decoding of numpy arrays."""

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import bit_array, bytes_of, real_array, truth

_TYPES = {"float32": "float", "float16": "float16", "int8": "int8"}


def _rows(array, width, what):
    if array.ndim < 1 or array.shape[-1] != width:
        raise ValueError(f"{what} has shape {array.shape}; expected (..., {width})")
    return array.reshape((int(np.prod(array.shape[:-1])), width))


def _bytes(bits, packed):
    return (bits + 7) // 8 if packed else bits


def ldpc_encode(
    code, bits, backend="auto", device=0, packed_input=False, packed_output=False
):
    """Encodes information words.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    code: an ldpc_code. bits: (..., k), 0 or 1; packed_input: (..., ceil(k / 8)), eight bits a byte,
    the first one highest. Returns codewords (..., n), or with packed_output (..., ceil(n / 8)), uint8.
    Raises ValueError for a wrong shape or a bit that is neither 0 nor 1, TypeError for items that are no
    real numbers, BackendUnavailable.
    """
    bits = bit_array(bits, "bits", packed_input)
    words = _native._ldpc_encode(
        code,
        _rows(bits, _bytes(code.k, packed_input), "bits"),
        packed_input,
        packed_output,
        backend,
        device,
    )
    return words.reshape(bits.shape[:-1] + words.shape[1:])


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
    offset=0.5,
    schedule="layered",
    arithmetic="auto",
    llr_steps=0.0,
    packed=False,
    stop_crc=None,
    soft=False,
    llr_scale=1.0,
):
    """Decodes codewords from LLRs by message passing.

    Arrays may lie on a GPU (docs/gpu_arrays.md).
    code: an ldpc_code. llr: (..., n), float32, float16 or int8; other types become float32. A positive LLR
    means the bit llr_positive (docs/conventions.md).
    algorithm: "normalized_min_sum", "offset_min_sum" or "sum_product".
    scale: a fixed factor of normalised min-sum, above 0 to 1; None: a factor that rises about
    the code's default_scale (docs/conventions.md). offset: of offset min-sum, in units of the LLR, 0 to 1e4.
    schedule: "layered" or "flooding".
    arithmetic: "float32", "int8" (layered normalised min-sum only), or "auto": int8 if the algorithm
    and the schedule allow it (on CUDA, if the code fits), otherwise float32. int8 is 5 to 30 times as fast
    and loses at most 0.02 dB (docs/notebook/ldpc_int8_loss.md). llr_steps: steps of int8 arithmetic in a unit of LLR, for LLRs of floating
    point, above 0 to 64; 0: each word's own, which fit LLRs in any unit (docs/conventions.md).
    llr_scale: a factor of llr, above 0 to 1e6, for LLRs in other units than natural logarithms: 1/12
    for int8 of 12 steps a unit. Sum-product and the offset need it, normalised min-sum does not.
    early_stop: each word stops once its telling parity checks hold. These are all checks except those
    with a parity bit of their own (most of 5G NR's); such a bit may still be wrong in output "codeword".
    stop_crc: one of "24A", "24B", "24C", "16", "11", "6" (3GPP TS 38.212, 5.1). Each word then stops
    once its information bits pass that check.
    output: "info" (k bits) or "codeword" (n). packed: eight bits a byte, the first one highest.

    Returns bits (..., k or n), uint8, or packed (..., ceil of an eighth of that); iterations (...),
    int32; ok (...), bool: every telling parity check, or stop_crc, holds, and the information bits are not
    all 0 with one of them unknown (LLR 0 after decoding). With `soft` also the LLRs of the bits after
    decoding, float32 (..., k or n), in units of llr.
    Raises ValueError for a wrong shape, parameter, or combination of parameters; TypeError for
    LLRs that are no real numbers; BackendUnavailable.
    """
    llr = real_array(llr, "llr", np.float32, np.float16, np.int8)
    leading = llr.shape[:-1]
    rows = _rows(llr, code.n, "llr")
    results = _native._ldpc_decode(
        code,
        bytes_of(rows),
        soft,
        backend,
        device,
        type=_TYPES[llr.dtype.name],
        max_iterations=max_iterations,
        algorithm=algorithm,
        scale=scale,
        early_stop=early_stop,
        output=output,
        llr_positive=llr_positive,
        offset=offset,
        schedule=schedule,
        arithmetic=arithmetic,
        llr_steps=llr_steps,
        llr_scale=llr_scale,
        packed=packed,
        stop_crc=stop_crc,
    )
    bits, iterations, ok, values = results
    found = (
        bits.reshape(leading + bits.shape[1:]),
        iterations.reshape(leading),
        truth(ok.reshape(leading)),
    )
    return found + (values.reshape(leading + values.shape[1:]),) if soft else found


def companion_code(
    family,
    n,
    wifi_rate,
    frame,
    dvbs2_rate,
    dvbs2x_frame,
    dvbs2x_normal_rate,
    dvbs2x_medium_rate,
    dvbs2x_short_rate,
    dvbt2_rate,
    base_graph,
    lifting_size,
    rows,
    fillers,
    ccsds_family,
    ar4ja_k,
    ar4ja_rate,
    tc_k,
    c2_k,
    wimax_n,
    wimax_rate,
    regular_n,
    column_weight,
    row_weight,
    file,
):
    """The code that GNU Radio Companion's block LDPC Code stands for, from the block's parameters."""
    if family in ("alist", "qc"):
        code = _native.ldpc_code
        return code.from_alist(file) if family == "alist" else code.from_qc(file)
    dvbs2x_rates = {"normal": dvbs2x_normal_rate, "medium": dvbs2x_medium_rate}
    ks = {"ar4ja": ar4ja_k, "tc": tc_k}
    arguments = {
        "wifi": {"n": n, "rate": wifi_rate},
        "dvbs2": {"frame": frame, "rate": dvbs2_rate},
        "dvbs2x": {
            "frame": dvbs2x_frame,
            "rate": dvbs2x_rates.get(dvbs2x_frame, dvbs2x_short_rate),
        },
        "dvbt2": {"frame": frame, "rate": dvbt2_rate},
        "nr5g": {
            "base_graph": base_graph,
            "lifting_size": lifting_size,
            "rows": rows,
            "fillers": fillers,
        },
        "ccsds": {
            "family": ccsds_family,
            "k": ks.get(ccsds_family, c2_k),
            "rate": ar4ja_rate if ccsds_family == "ar4ja" else "",
        },
        "wimax": {"n": wimax_n, "rate": wimax_rate},
        "regular": {
            "n": regular_n,
            "column_weight": column_weight,
            "row_weight": row_weight,
        },
    }
    return _native.ldpc_code(family, **arguments.get(family, {}))
