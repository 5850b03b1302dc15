/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

/*!
 * Calls the maker of the backend that `wanted` resolves to on this machine. `cuda` takes
 * the device. A build without CUDA needs no such maker, because resolve() never returns
 * cuda there.
 */
template <typename Reference, typename Cpu, typename Cuda>
auto dispatch(
    backend wanted, int device, Reference reference, Cpu cpu, [[maybe_unused]] Cuda cuda)
{
    const auto resolved = resolve(wanted, device);
#ifdef CUDAPHY_HAVE_CUDA
    if (resolved.where == backend::cuda) {
        return cuda(resolved.device);
    }
#endif
    return resolved.where == backend::cpu ? cpu() : reference();
}

} // namespace gr::cudaphy
