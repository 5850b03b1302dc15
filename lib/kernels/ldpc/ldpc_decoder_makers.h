/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/ldpc_fixed_point.h"
#include "kernels/ldpc/ldpc_schedule.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_reference(const ldpc_decoding&);
std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cpu(const ldpc_decoding&);
std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cuda(const ldpc_decoding&, int device);

// In int8 arithmetic. The reference takes any backend's limits, to be its oracle.
std::unique_ptr<ldpc_decoder>
make_ldpc_fixed_decoder_reference(const ldpc_decoding&,
                                  const ldpc_fixed_limits& = ldpc_fixed_limits::cpu());
//! `side_by_side`: codewords decoded together, a power of two; 0: what is fastest.
std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cpu(const ldpc_decoding&,
                                                          int side_by_side = 0);
//! Whether CUDA offers int8 arithmetic for this code.
bool can_decode_fixed_on_cuda(const ldpc_decoding&, int device);
//! Whether a block of threads takes one codeword, and so stops by
//! ldpc_fixed_limits::cuda(true).
bool is_one_a_block_on_cuda(const ldpc_decoding&, int device);
std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cuda(const ldpc_decoding&,
                                                           int device);

} // namespace gr::cudaphy::kernels
