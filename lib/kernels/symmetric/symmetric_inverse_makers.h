/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>

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
