/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <limits>

// Between symmetric_inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_reference(const typename symmetric_inverse<T>::parameters&);

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_cpu(const typename symmetric_inverse<T>::parameters&);

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_cuda(const typename symmetric_inverse<T>::parameters&, int device);

//! The product of the norms of A and of its inverse above which A is singular to R's
//! precision. It is at most n times that in the 2-norm, so that what has one below
//! 1 / (8 eps) is not singular; what rounding makes of singular matrices is.
template <typename R>
double least_singular_condition(size_t order)
{
    return double(order < 4 ? 4 : order) /
           (8 * double(std::numeric_limits<R>::epsilon()));
}

//! Above this part of it, an inverse may be that of a matrix that was singular before the
//! elimination's own roundings, and is probed.
constexpr double suspicious = 1 / 1024.0;

//! The batch that the views' sizes come to. \throws std::invalid_argument if they do not
//! fit each other, or if `queue` can't reach what a kernel on `where` works on.
template <typename T>
size_t symmetric_inverse_batch(const symmetric_inverse<T>& plan,
                               const typename symmetric_inverse<T>::parameters&,
                               view<const T> a,
                               const typename symmetric_inverse<T>::results& out,
                               view<unsigned char> workspace,
                               const queue& queue,
                               backend where);

} // namespace gr::cudaphy::kernels
