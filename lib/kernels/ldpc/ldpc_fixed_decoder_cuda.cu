/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_decoder_makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cuda(const ldpc_decoding&, int)
{
    throw std::invalid_argument("ldpc_decoder: int8 arithmetic is not offered on CUDA");
}

} // namespace gr::cudaphy::kernels
