/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/sparse/layout.h"

// Between sparse_product.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<sparse_product<T>>
make_sparse_product_reference(const sparse_matrix<T>& a,
                              const typename sparse_product<T>::parameters&);

template <typename T>
std::unique_ptr<sparse_product<T>>
make_sparse_product_cpu(const sparse_matrix<T>& a,
                        const typename sparse_product<T>::parameters&);

template <typename T>
std::unique_ptr<sparse_product<T>> make_sparse_product_cuda(
    const sparse_matrix<T>& a, const typename sparse_product<T>::parameters&, int device);

//! The batch that follows from the views' sizes. \throws std::invalid_argument if they do
//! not fit each other or `queue` can't reach the memory of a kernel on `where`.
template <typename T>
size_t sparse_product_batch(const sparse_product<T>& kernel,
                            view<const T> x,
                            view<T> y,
                            const queue& queue,
                            backend where);

} // namespace gr::cudaphy::kernels
