/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/demapper/tables.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {

//! Arguments of the demapper's CUDA kernels.
struct demapper_cuda_job {
    const float2* x;
    const float* noise;
    int noise_step; //!< 0 if one variance serves all symbols, else 1
    void* llr;
    size_t symbols;
    float sign;    //!< of the LLR of a bit that is 0
    float steps;   //!< of int8, in one unit of LLR
    float largest; //!< magnitude of an LLR that its type holds
};

//! The constellation, from which a launch chooses its kernel and its table.
struct demapper_points {
    const constellation& points;
    const std::optional<square_table>& square; //!< if the points are such a product
    bool max_log;
};

void launch_demapper_float32(const demapper_points& from,
                             const demapper_cuda_job& job,
                             cudaStream_t stream);
void launch_demapper_float16(const demapper_points& from,
                             const demapper_cuda_job& job,
                             cudaStream_t stream);
void launch_demapper_int8(const demapper_points& from,
                          const demapper_cuda_job& job,
                          cudaStream_t stream);

} // namespace gr::cudaphy::kernels
