/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/makers.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<bch_decoder>
bch_decoder::make(bch_code::sptr code, const bch_packing& p, backend where, int device)
{
    if (!code) {
        throw std::invalid_argument("bch_decoder: code is null");
    }
    return make_kernel<bch_decoder>(where, device, code, p);
}

size_t bch_decoder_batch(view<const uint8_t> words,
                         size_t word_bytes,
                         view<const uint8_t> info,
                         size_t info_bytes,
                         view<const int32_t> corrected)
{
    const size_t batch = bch_batch("bch_decoder", words, word_bytes, info, info_bytes);
    if (corrected.size() != batch) {
        throw std::invalid_argument("bch_decoder: " + std::to_string(batch) +
                                    " words, but " + std::to_string(corrected.size()) +
                                    " counts");
    }
    return batch;
}

} // namespace gr::cudaphy::kernels
