/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_encoder> make_ldpc_encoder_reference(ldpc_code::sptr);
std::unique_ptr<ldpc_encoder> make_ldpc_encoder_cpu(ldpc_code::sptr);
std::unique_ptr<ldpc_encoder> make_ldpc_encoder_cuda(ldpc_code::sptr, int device);

//! The number of words in the views. \throws std::invalid_argument if they don't fit.
size_t
encoder_batch(const ldpc_code&, view<const uint8_t> info, view<const uint8_t> words);

} // namespace gr::cudaphy::kernels
