/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cuda/blocked.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_cuda(const typename symmetric_inverse<T>::parameters& p,
                            int device)
{
    return p.algorithm == symmetric_algorithm::blocked
               ? make_symmetric_blocked_cuda<T>(p, device)
               : make_symmetric_bordering_cuda<T>(p, device);
}

#define CUDAPHY_INSTANTIATE(T)                                                     \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_inverse_cuda<T>( \
        const typename symmetric_inverse<T>::parameters&, int);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
