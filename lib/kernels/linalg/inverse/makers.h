/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/inverse.h>

// Between inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! The batch that the views' sizes come to. \throws std::invalid_argument if the sizes do
//! not fit each other, if the workspace is too small, or if `queue` can't reach the
//! memory that a kernel on `where` works on.
template <typename T>
size_t inverse_batch(const inverse<T>& plan,
                     int order,
                     view<const T> a,
                     const typename inverse<T>::results& out,
                     view<unsigned char> workspace,
                     const queue& queue,
                     backend where);

} // namespace gr::cudaphy::kernels
