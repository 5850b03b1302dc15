/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/inverse_update_makers.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"

namespace gr::cudaphy::kernels {

// The serial program serves until the vectorised one stands.
template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_cpu(const typename symmetric_inverse<T>::parameters& p)
{
    return make_symmetric_inverse_reference<T>(p);
}

template <typename T>
std::unique_ptr<inverse_update<T>>
make_inverse_update_cpu(const typename inverse_update<T>::parameters& p)
{
    return make_inverse_update_reference<T>(p);
}

#define CUDAPHY_INSTANTIATE(T)                                                    \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_inverse_cpu<T>( \
        const typename symmetric_inverse<T>::parameters&);                        \
    template std::unique_ptr<inverse_update<T>> make_inverse_update_cpu<T>(       \
        const typename inverse_update<T>::parameters&);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
