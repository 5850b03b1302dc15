/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

// Between triangular_inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_reference(const typename triangular_inverse<T>::parameters&);

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_cpu(const typename triangular_inverse<T>::parameters&);

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_cuda(const typename triangular_inverse<T>::parameters&,
                             int device);

//! Orders above 32, where triangular_inverse.cc makes these instead of the last two.
template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_blocked_cpu(const typename triangular_inverse<T>::parameters&);

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_blocked_cuda(const typename triangular_inverse<T>::parameters&,
                                     int device);
constexpr int triangular_inverse_warp_order = 32;

//! The batch that the views' sizes come to. \throws std::invalid_argument if they do not
//! fit each other, or if `queue` can't reach what a kernel on `where` works on.
size_t triangular_inverse_batch(
    int order, size_t a, size_t x, size_t status, const queue& queue, backend where);

} // namespace gr::cudaphy::kernels
