/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/inverse_update.h>

// Between inverse_update.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! The batch that the views' sizes come to. \throws std::invalid_argument if `forgetting`
//! is out of range, or if the sizes, the workspace, or the memory that `queue` reaches do
//! not fit `plan`.
template <typename T>
size_t inverse_update_batch(const inverse_update<T>& plan,
                            const typename inverse_update<T>::parameters&,
                            view<T> x,
                            view<const T> v,
                            view<const typename inverse_update<T>::real> d,
                            typename inverse_update<T>::real forgetting,
                            view<int> status,
                            view<unsigned char> workspace,
                            const queue& queue,
                            backend where);

} // namespace gr::cudaphy::kernels
