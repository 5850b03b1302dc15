/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/bit_bytes.h"
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>

namespace gr::cudaphy {

//! Bits that a decoder puts out for a codeword,
inline int output_bits(const kernels::ldpc_code& code,
                       const kernels::ldpc_decoder::parameters& p)
{
    return p.whole_words ? code.n() : code.k();
}

//! and the bytes that they come in.
inline int output_bytes(const kernels::ldpc_code& code,
                        const kernels::ldpc_decoder::parameters& p)
{
    return bytes_of(output_bits(code, p), p.packed);
}

//! Bytes of one LLR.
inline size_t llr_bytes(const kernels::ldpc_decoder::parameters& p)
{
    using number = kernels::ldpc_decoder::number;
    return p.llr == number::float32 ? 4 : p.llr == number::float16 ? 2 : 1;
}

} // namespace gr::cudaphy
