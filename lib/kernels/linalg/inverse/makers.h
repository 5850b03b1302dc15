/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/inverse.h>

// Between inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<inverse<T>>
make_inverse_reference(const typename inverse<T>::parameters&);

template <typename T>
std::unique_ptr<inverse<T>> make_inverse_cpu(const typename inverse<T>::parameters&);

template <typename T>
std::unique_ptr<inverse<T>> make_inverse_cuda(const typename inverse<T>::parameters&,
                                              int device);

//! The batch that the views' sizes come to. \throws std::invalid_argument if they do not
//! fit each other, or if `queue` can't reach what a kernel on `where` works on.
template <typename T>
size_t inverse_batch(const inverse<T>& plan,
                     int order,
                     view<const T> a,
                     const typename inverse<T>::results& out,
                     view<unsigned char> workspace,
                     const queue& queue,
                     backend where);

} // namespace gr::cudaphy::kernels
