/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<ldpc_encoder>
ldpc_encoder::make(ldpc_code::sptr code, const parameters& p, backend where, int device)
{
    if (!code) {
        throw std::invalid_argument("ldpc_encoder: code is null");
    }
    return make_kernel<ldpc_encoder>(where, device, code, p);
}

std::unique_ptr<ldpc_encoder>
ldpc_encoder::make(ldpc_code::sptr code, backend where, int device)
{
    return make(std::move(code), parameters(), where, device);
}

size_t encoder_batch(const ldpc_encoder_bytes& bytes,
                     view<const uint8_t> info,
                     view<const uint8_t> words)
{
    const size_t batch = info.size() / bytes.info;
    if (info.size() % bytes.info != 0 || words.size() != batch * bytes.word) {
        throw std::invalid_argument("ldpc_encoder: info has " +
                                    std::to_string(info.size()) + " bytes and words " +
                                    std::to_string(words.size()) + "; a batch takes " +
                                    std::to_string(bytes.info) + " and " +
                                    std::to_string(bytes.word) + " a codeword");
    }
    return batch;
}

} // namespace gr::cudaphy::kernels
