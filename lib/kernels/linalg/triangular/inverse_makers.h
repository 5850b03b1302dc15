/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

// Between triangular_inverse.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! The largest order of triangular_inverse's makers on the CPU and on CUDA.
constexpr int triangular_inverse_warp_order = 32;

//! A kernel for larger orders, with makers of its own on the CPU and on CUDA.
template <typename T>
class triangular_inverse_blocked : public triangular_inverse<T>
{
public:
    using parameters = typename triangular_inverse<T>::parameters;
};

//! The batch that the views' sizes come to. \throws std::invalid_argument if the sizes do
//! not fit each other, or if `queue` can't reach the memory that a kernel on `where`
//! works on.
size_t triangular_inverse_batch(
    int order, size_t a, size_t x, size_t status, const queue& queue, backend where);

} // namespace gr::cudaphy::kernels
