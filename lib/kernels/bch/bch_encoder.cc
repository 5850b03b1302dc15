/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<bch_encoder>
bch_encoder::make(bch_code::sptr code, const bch_packing& p, backend where, int device)
{
    if (!code) {
        throw std::invalid_argument("bch_encoder: code is null");
    }
    return make_kernel<bch_encoder>(where, device, code, p);
}

size_t bch_batch(const char* kernel,
                 view<const uint8_t> in,
                 size_t in_bytes,
                 view<const uint8_t> out,
                 size_t out_bytes)
{
    const size_t batch = in.size() / in_bytes;
    if (in.size() % in_bytes != 0 || out.size() != batch * out_bytes) {
        throw std::invalid_argument(
            std::string(kernel) + ": the input has " + std::to_string(in.size()) +
            " bytes and the output " + std::to_string(out.size()) + "; a word takes " +
            std::to_string(in_bytes) + " and " + std::to_string(out_bytes));
    }
    return batch;
}

} // namespace gr::cudaphy::kernels
