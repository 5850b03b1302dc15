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

//! A is singular to R's precision if the product of the 1-norms of A and its inverse is
//! above this. That product is at most n times the product of the 2-norms. So no matrix
//! with a condition below 1 / (8 eps) in the 2-norm counts as singular, but singular
//! matrices with rounding errors do.
template <typename R>
double least_singular_condition(size_t order)
{
    return double(order < 4 ? 4 : order) /
           (8 * double(std::numeric_limits<R>::epsilon()));
}

//! If the condition is above this share of the least singular one, the inverse is probed.
//! Rounding errors of the elimination may hide that the matrix is singular.
constexpr double suspicious = 1 / 1024.0;

//! The batch that the views' sizes come to. \throws std::invalid_argument if the sizes do
//! not fit each other, if the workspace is too small, or if `queue` can't reach the
//! memory that a kernel on `where` works on.
template <typename T>
size_t symmetric_inverse_batch(const symmetric_inverse<T>& plan,
                               const typename symmetric_inverse<T>::parameters&,
                               view<const T> a,
                               const typename symmetric_inverse<T>::results& out,
                               view<unsigned char> workspace,
                               const queue& queue,
                               backend where);

} // namespace gr::cudaphy::kernels
