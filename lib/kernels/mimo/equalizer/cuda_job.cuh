/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/makers.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {

//! Arguments of the equalizer's CUDA kernels.
struct equalizer_cuda_job {
    const float2* y;
    const float2* h;
    const float* n0;
    const float2* covariance; //!< null where n0 is given
    size_t variance_step;     //!< matrices that one n0 or covariance serves; 0: all
    float2* x;
    float* noise;
    int* status;
    size_t matrices, items, symbols, chunk;
    int receive, layers, tones;
    bool mmse, unbiased, ratio;
    float rank_tolerance;
    int processors, room; //!< of the device; room: of shared memory, a block
};

//! Up to 8 antennas, one vector a matrix, by solve-inl.h: up to 4 layers, and more.
void launch_solve_each(const equalizer_cuda_job& job, cudaStream_t stream);
void launch_solve_each_in_step(const equalizer_cuda_job& job, cudaStream_t stream);
//! Up to 8 antennas, several vectors a matrix, no covariance.
void launch_solve_many(const equalizer_cuda_job& job, cudaStream_t stream);
//! The same for 8 x 8, by weights.
void launch_weights_many(const equalizer_cuda_job& job, cudaStream_t stream);

} // namespace gr::cudaphy::kernels
