/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/ldpc/ldpc_encoder_makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_encoder>
ldpc_encoder::make(ldpc_code::sptr code, backend where, int device)
{
    if (!code) {
        throw std::invalid_argument("ldpc_encoder: code is null");
    }
    return dispatch(
        where,
        device,
        [&] { return make_ldpc_encoder_reference(code); },
        [&] { return make_ldpc_encoder_cpu(code); },
        [&](int index) { return make_ldpc_encoder_cuda(code, index); });
}

size_t
encoder_batch(const ldpc_code& code, view<const uint8_t> info, view<const uint8_t> words)
{
    const size_t k = code.k();
    const size_t n = code.n();
    const size_t batch = info.size() / k;
    if (info.size() % k != 0 || words.size() != batch * n) {
        throw std::invalid_argument(
            "ldpc_encoder: info has " + std::to_string(info.size()) +
            " items and words " + std::to_string(words.size()) + "; a batch takes " +
            std::to_string(k) + " and " + std::to_string(n) + " a codeword");
    }
    return batch;
}

} // namespace gr::cudaphy::kernels
