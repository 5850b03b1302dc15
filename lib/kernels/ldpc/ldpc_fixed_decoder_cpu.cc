/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_decoder_makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_decoder> make_ldpc_fixed_decoder_cpu(const ldpc_decoding& decoding)
{
    return make_ldpc_fixed_decoder_reference(decoding, ldpc_fixed_limits::cpu());
}

} // namespace gr::cudaphy::kernels
