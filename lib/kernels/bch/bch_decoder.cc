/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/makers.h"
#include "kernels/common/dispatch.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<bch_decoder>
bch_decoder::make(bch_code::sptr code, const bch_packing& p, backend where, int device)
{
    if (!code) {
        throw std::invalid_argument("bch_decoder: code is null");
    }
    return dispatch(
        where,
        device,
        [&] { return make_bch_decoder_reference(code, p); },
        [&] { return make_bch_decoder_cpu(code, p); },
        [&](int index) { return make_bch_decoder_cuda(code, p, index); });
}

} // namespace gr::cudaphy::kernels
