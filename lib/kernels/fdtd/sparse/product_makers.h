/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include "kernels/fdtd/sparse/layout.h"

// Between sparse_product.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! Defines the makers of sparse_product<T> on a backend of the host:
//! sparse_product_WHERE<T>.
#define CUDAPHY_SPARSE_PRODUCT_MAKER(WHERE, T)      \
    CUDAPHY_HOST_MAKER_2(WHERE,                     \
                         sparse_product<T>,         \
                         sparse_product_##WHERE<T>, \
                         sparse_matrix<T>,          \
                         sparse_product<T>::parameters)
#define CUDAPHY_PRODUCT_TYPES(MACRO, WHERE) \
    MACRO(WHERE, float) MACRO(WHERE, double) MACRO(WHERE, complex64)
#define CUDAPHY_SPARSE_PRODUCT_MAKERS(WHERE) \
    CUDAPHY_PRODUCT_TYPES(CUDAPHY_SPARSE_PRODUCT_MAKER, WHERE)

//! The batch that follows from the views' sizes. \throws std::invalid_argument if they do
//! not fit each other or `queue` can't reach the memory of a kernel on `where`.
template <typename T>
size_t sparse_product_batch(const sparse_product<T>& kernel,
                            view<const T> x,
                            view<T> y,
                            const queue& queue,
                            backend where);

} // namespace gr::cudaphy::kernels
