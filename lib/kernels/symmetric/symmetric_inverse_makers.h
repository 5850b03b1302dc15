/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <limits>

// Between symmetric_inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! A is singular to R's precision if the product of the 1-norms of A and its inverse is
//! above this. That product is at most n times the product of the 2-norms. So a
//! matrix with a condition below 1 / (8 eps) in the 2-norm does not count as singular. A
//! singular matrix with rounding errors does.
template <typename R>
double least_singular_condition(size_t order)
{
    return double(order < 4 ? 4 : order) /
           (8 * double(std::numeric_limits<R>::epsilon()));
}

//! If the condition is above this share of the least singular one, the inverse is probed.
//! Rounding errors of the elimination may hide that the matrix is singular.
constexpr double suspicious = 1 / 1024.0;

//! \throws std::invalid_argument if `order` or `batch` is below 1, or if so many matrices
//! are not addressable.
template <typename T>
void check_order_and_batch(int order, size_t batch)
{
    if (order < 1) {
        throw std::invalid_argument("order is " + std::to_string(order) +
                                    ", must be at least 1");
    }
    if (batch == 0 || batch > (size_t(1) << 62) / sizeof(T) / order / order) {
        throw std::invalid_argument("batch is " + std::to_string(batch) +
                                    ", must be at least 1, and addressable");
    }
}

//! The batch that the views' sizes come to. \throws std::invalid_argument if the sizes,
//! the workspace, or the memory that `queue` reaches do not fit `plan`.
template <typename T>
size_t symmetric_inverse_batch(const symmetric_inverse<T>& plan,
                               const typename symmetric_inverse<T>::parameters&,
                               view<const T> a,
                               const typename symmetric_inverse<T>::results& out,
                               view<unsigned char> workspace,
                               const queue& queue,
                               backend where);

} // namespace gr::cudaphy::kernels
