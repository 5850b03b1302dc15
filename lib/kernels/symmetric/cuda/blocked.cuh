/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_inverse_makers.h"

// Between inverse_cuda.cu and the files that hold one algorithm each.

namespace gr::cudaphy::kernels {

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_blocked_cuda(const typename symmetric_inverse<T>::parameters&, int device);

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_bordering_cuda(const typename symmetric_inverse<T>::parameters&,
                              int device);

} // namespace gr::cudaphy::kernels
