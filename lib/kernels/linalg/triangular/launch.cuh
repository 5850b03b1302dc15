/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

// Between inverse_cuda.cu and as_published/rounds_cuda.cu.

namespace gr::cudaphy::kernels {

//! Triangles of order n, at most 32, and where their inverses go.
template <typename T>
struct triangular_batch {
    const T* a;
    T* x;
    int* status;
    size_t size;
    int n;
    bool lower;
    bool unit;
};

//! Source 3's rounds, or the columns that it is compared with.
//! \param processors  multiprocessors of the device
template <typename T>
void launch_triangular_rounds(const triangular_batch<T>& batch,
                              bool columns,
                              size_t processors,
                              cudaStream_t stream);

} // namespace gr::cudaphy::kernels
