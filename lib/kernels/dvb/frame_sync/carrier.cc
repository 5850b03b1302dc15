/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/common/dispatch.h"

namespace gr::cudaphy::kernels {

std::unique_ptr<carrier_corrector>
carrier_corrector::make(const parameters& p, backend where, int device)
{
    return dispatch(
        where,
        device,
        [&] { return make_carrier_corrector_reference(p); },
        [&] { return make_carrier_corrector_cpu(p); },
        [&](int index) { return make_carrier_corrector_cuda(p, index); });
}

} // namespace gr::cudaphy::kernels
