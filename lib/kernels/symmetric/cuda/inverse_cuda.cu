/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cuda/blocked.cuh"

namespace gr::cudaphy::kernels {

#define CUDAPHY_SYMMETRIC_MAKER(T)                                        \
    template <>                                                           \
    std::unique_ptr<symmetric_inverse<T>>                                 \
    make_on_cuda<symmetric_inverse<T>, symmetric_inverse<T>::parameters>( \
        int device, const symmetric_inverse<T>::parameters& p)            \
    {                                                                     \
        return p.algorithm == symmetric_algorithm::blocked                \
                   ? make_symmetric_blocked_cuda<T>(p, device)            \
                   : make_symmetric_bordering_cuda<T>(p, device);         \
    }
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_SYMMETRIC_MAKER)

} // namespace gr::cudaphy::kernels
