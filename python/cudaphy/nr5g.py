# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport blocks of 5G NR (3GPP TS 38.212): CRCs, segmentation, rate matching, HARQ.

Bits are uint8 of value 0 or 1; others raise ValueError, items that are no real numbers TypeError. transport_block does all of this; the functions are its steps. The code
itself is ldpc_code("nr5g", ...), or segmentation(...).code(rows).
"""

import numpy as np

from . import cudaphy_python as _native
from .numpy_arguments import bit_array, real_array


def _rows(array, what):
    """(..., n) as (rows, n), and the shape without n."""
    if array.ndim < 1:
        raise ValueError(f"{what} has no dimension; expected (..., n)")
    leading = array.shape[:-1]
    return array.reshape((int(np.prod(leading)), array.shape[-1])), leading


def _bits(bits, what="bits"):
    return _rows(bit_array(bits, what), what)


def _flat(array, what):
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; expected one dimension")
    return array


def crc(bits, kind="24A"):
    """The remainders of the CRCs of section 5.1.

    bits: (..., n). kind: "24A", "24B", "24C", "16", "11" or "6".
    Returns uint32 (...), the term x^0 its lowest bit. Raises ValueError.
    """
    rows, leading = _bits(bits)
    return _native._nr5g_remainders(kind, rows).reshape(leading)


def attach_crc(bits, kind="24A"):
    """Appends the CRC, highest term first. bits: (..., n). Returns uint8 (..., n + CRC's bits)."""
    rows, leading = _bits(bits)
    out = _native._nr5g_attach(kind, rows)
    return out.reshape(leading + out.shape[1:])


def check_crc(bits, kind="24A"):
    """Whether words that end with their CRC hold it. bits: (..., n). Returns bool (...)."""
    return crc(bits, kind) == 0


def base_graph(payload, code_rate):
    """The base graph, 1 or 2, of a transport block (section 7.2.2).

    payload: bits without CRC. code_rate: above 0 to 1. Raises ValueError.
    """
    return _native._nr5g_base_graph(payload, code_rate)


def segmentation(payload, base_graph):
    """How a transport block falls into code blocks (section 5.2.2), an nr5g_segmentation.

    payload: A, bits without CRC. base_graph: 1 or 2. Its attributes: payload, base_graph,
    transport_crc_bits, blocks (C), block_bits (K'), lifting_size (Z_c), fillers, coded_bits (N);
    code(rows) is the blocks' ldpc_code. Raises ValueError if the blocks' lengths would differ.
    """
    return _native._nr5g_segmentation(payload, base_graph)


def segment(bits, how):
    """Attaches the transport block's CRC, cuts it into blocks and attaches theirs.

    bits: (A,). how: a segmentation. Returns the code's information words, uint8 (C, K').
    """
    return _native._nr5g_segment(how, _flat(bit_array(bits, "bits"), "bits"))


def desegment(blocks, how):
    """The inverse of segment. blocks: (C, K'). Returns bits (A,) and whether the CRC holds."""
    return _native._nr5g_desegment(how, bit_array(blocks, "blocks"))


def coded_lengths(coded, blocks, layers=1, modulation_order=2):
    """The bits E_r that are sent of each code block (section 5.4.2.1), int32 (blocks,).

    coded: G, a multiple of layers (1..4) times modulation_order (1, 2, 4, 6, 8, 10).
    """
    return _native._nr5g_coded_lengths(coded, layers, modulation_order, blocks)


def limited_buffer(largest_payload, blocks):
    """N_ref of limited-buffer rate matching (section 5.4.2.1), from TBS_LBRM and C."""
    return 3 * largest_payload // (2 * blocks)


def _matcher(graph, lifting_size, fillers, order, version, limited):
    return _native._nr5g_rate_matcher(
        graph, lifting_size, fillers, order, version, limited
    )


def rate_match(
    words,
    length,
    base_graph,
    lifting_size,
    fillers=0,
    modulation_order=2,
    redundancy_version=0,
    limited_buffer=0,
):
    """Selects and interleaves the bits to send of codewords (section 5.4.2).

    words: (..., n), codewords of ldpc_code("nr5g", ...) with rows enough. length: E, a multiple of
    modulation_order (1, 2, 4, 6, 8, 10). redundancy_version: 0..3. limited_buffer: N_ref, 0 for none.
    Returns uint8 (..., length). Raises ValueError, also if the words are too short.
    """
    rows, leading = _bits(words, "words")
    matcher = _matcher(
        base_graph,
        lifting_size,
        fillers,
        modulation_order,
        redundancy_version,
        limited_buffer,
    )
    return matcher.match(rows, length).reshape(leading + (length,))


def rate_recover(
    llr,
    base_graph,
    lifting_size,
    fillers=0,
    modulation_order=2,
    redundancy_version=0,
    limited_buffer=0,
    soft=None,
):
    """Adds received LLRs to soft buffers: the inverse of rate_match, and HARQ combining.

    llr: (..., E), int8, or another type, which becomes float32. soft: None for an empty buffer, or the result of
    an earlier call, of the same type; it is not changed. Returns float32 or int8 (..., places): the
    whole circular buffer without fillers, whose first n places are the LLRs of a codeword of
    ldpc_code("nr5g", ...). int8 saturates at -128 and 127; NaN counts as 0. Raises ValueError.
    """
    llr = real_array(llr, "llr", np.float32, np.int8)
    dtype = llr.dtype
    rows, leading = _rows(llr, "llr")
    matcher = _matcher(
        base_graph,
        lifting_size,
        fillers,
        modulation_order,
        redundancy_version,
        limited_buffer,
    )
    shape = leading + (matcher.soft_bits,)
    if soft is None:
        out = np.zeros(shape, dtype)
    else:
        soft = np.asarray(soft)
        if soft.shape != shape or soft.dtype.newbyteorder("=") != dtype:
            raise ValueError(
                f"soft is {soft.dtype} {soft.shape}; expected {dtype} {shape}"
            )
        out = np.array(soft, dtype, order="C")
    flat = out.reshape((rows.shape[0], matcher.soft_bits))
    (matcher.recover_int8 if dtype == np.int8 else matcher.recover)(rows, flat)
    return out


class transport_block:
    """Encodes and decodes transport blocks of one size, with HARQ.

    payload: A, bits without CRC. code_rate: chooses the base graph (section 7.2.2); or give base_graph.
    layers: 1..4. modulation_order: 1, 2, 4, 6, 8 or 10 bits a symbol. limited_buffer: N_ref, 0 for none.
    max_iterations, scale (None: the code's own), llr_positive: as in ldpc_decode.
    llr: "float32" or "int8", the type that decode takes and that the soft buffer has.
    Threads may share one object, and with it one soft buffer: their calls run one after another.
    Raises ValueError, BackendUnavailable. .segmentation describes the blocks.
    """

    def __init__(
        self,
        payload,
        code_rate=None,
        base_graph=None,
        layers=1,
        modulation_order=2,
        limited_buffer=0,
        max_iterations=20,
        scale=None,
        llr="float32",
        llr_positive=0,
        backend="auto",
        device=0,
    ):
        if (code_rate is None) == (base_graph is None):
            raise ValueError("give one of code_rate and base_graph")
        if llr not in ("float32", "int8"):
            raise ValueError(f'llr "{llr}" is neither "float32" nor "int8"')
        if base_graph is None:
            base_graph = _native._nr5g_base_graph(payload, code_rate)
        self.segmentation = segmentation(payload, base_graph)
        self.layers = layers
        self.modulation_order = modulation_order
        self._int8 = llr == "int8"
        self._encoder = _native._nr5g_encoder(
            self.segmentation, limited_buffer, backend, device
        )
        self._decoder = _native._nr5g_decoder(
            self.segmentation,
            limited_buffer,
            max_iterations,
            0.0 if scale is None else scale,
            llr_positive,
            self._int8,
            backend,
            device,
        )

    def encode(self, bits, coded, redundancy_version=0):
        """The coded bits of a transport block.

        bits: (A,). coded: G, a multiple of layers times modulation_order. Returns uint8 (G,).
        """
        return self._encoder.encode(
            _flat(bit_array(bits, "bits"), "bits"),
            coded,
            self.layers,
            self.modulation_order,
            redundancy_version,
        )

    def decode(self, llr, redundancy_version=0):
        """Adds a transmission's LLRs to the soft buffer and decodes every block not yet passed.

        llr: (G,). Decoding of a block stops at its CRC. Returns bits, uint8 (A,); ok, whether the transport
        block's CRC and every block's hold; iterations, int32 (C,), 0 for a block that had passed before;
        block_ok, bool (C,). Call clear() before another transport block.
        """
        llr = real_array(llr, "llr", np.float32, np.int8)
        if self._int8 and llr.dtype != np.int8:
            raise ValueError(f"llr is {llr.dtype}, expected int8")
        how = (
            self.layers,
            self.modulation_order,
            redundancy_version,
            self.segmentation.payload,
        )
        decode = self._decoder.decode_int8 if self._int8 else self._decoder.decode
        bits, ok, iterations, block_ok = decode(_flat(llr, "llr"), *how)
        return bits, ok, iterations, block_ok.astype(bool)

    def clear(self):
        """Empties the soft buffer: the next transmission is of another transport block."""
        self._decoder.clear()
