/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/demapper/mirror_tables.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {

enum class llr_type { float32, float16, int8 };

//! Arguments of the demapper's CUDA kernels.
struct demapper_cuda_job {
    const float2* x;
    const float* noise; //!< null: noise_of_all
    int noise_step;     //!< 0 if one variance serves all symbols, else 1
    float noise_of_all;
    void* llr;
    llr_type type;
    size_t symbols;
    float sign;    //!< of the LLR of a bit that is 0
    float steps;   //!< of int8, in one unit of LLR
    float largest; //!< magnitude of an LLR that its type holds
    unsigned rows; //!< as llr_columns has them
    unsigned frame_bits;
    int column[10];
};

__device__ __forceinline__ float variance_of_all(const demapper_cuda_job& run)
{
    return run.noise ? *run.noise : run.noise_of_all;
}

//! The constellation, from which a launch chooses its kernel and its table.
struct demapper_points {
    const constellation& points;
    const std::optional<square_table>& square; //!< if the points are such a product
    //! If the points have such a structure, which max-log LLRs use from 6 bits on.
    const std::optional<mirror_table>& mirror;
    const std::optional<ring_table>& rings;
    bool max_log;
};

//! Symbol by symbol, where x, noise and llr are at addresses that 16 divides: whether the
//! points have such a kernel for the type.
bool launch_demapper_runs_float32(const demapper_points& from,
                                  const demapper_cuda_job& job,
                                  cudaStream_t stream);
bool launch_demapper_runs_float16(const demapper_points& from,
                                  const demapper_cuda_job& job,
                                  cudaStream_t stream);
bool launch_demapper_runs_int8(const demapper_points& from,
                               const demapper_cuda_job& job,
                               cudaStream_t stream);
//! Anything, at any address.
void launch_demapper_any(const demapper_points& from,
                         const demapper_cuda_job& job,
                         cudaStream_t stream);

} // namespace gr::cudaphy::kernels
