/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

namespace gr::cudaphy::kernels {

//! Bytes of one word as run() takes and gives it.
struct ldpc_encoder_bytes {
    ldpc_encoder_bytes(const ldpc_code& code, const ldpc_encoder::parameters& p)
        : info(p.packed_input ? (code.k() + 7) / 8 : code.k()),
          word(p.packed_output ? (code.n() + 7) / 8 : code.n())
    {
    }
    size_t info, word;
};

//! The number of words in the views. \throws std::invalid_argument if they don't fit.
size_t encoder_batch(const ldpc_encoder_bytes&,
                     view<const uint8_t> info,
                     view<const uint8_t> words);

} // namespace gr::cudaphy::kernels
