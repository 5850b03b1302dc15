/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/makers.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {

//! L^-1 of covariances R = L L^H.
struct gram_whiteners {
    //! (covariances, Nr, whitener_pitch(Nr)), zeros above the diagonal
    float2* inverse;
    //! The noise variance after it: 1, or infinite if the covariance is not usable.
    float* variance;
};

//! Elements of a row: even, so that two are loaded at once.
__host__ __device__ constexpr int whitener_pitch(int receive)
{
    return receive + receive % 2;
}

//! Arguments of the kernel for more than most_solved_antennas.
struct gram_job {
    const float2* y;
    const float2* h;
    const float* n0;          //!< null where every matrix has a whitener
    gram_whiteners whiteners; //!< of matrix `first` and those after it
    size_t variance_step;     //!< matrices that one of these serves; 0: all
    float2* x;
    float* noise;
    int* status;
    size_t first, matrices, items; //!< items: of `matrices` matrices from `first` on
    size_t symbols, chunk;
    int receive, layers, tones;
    bool mmse, unbiased, ratio;
    //! Of each matrix the whitener that serves it; below 0: its noise is white, n0. Null:
    //! as variance_step says.
    const int* whitener_of = nullptr;
};

void launch_gram(const gram_job& job, cudaStream_t stream);

//! \param room    of shared memory, a block
//! \param wanted  0 for covariances that serve no matrix, and are not read; null: all do
void launch_whiteners(const float2* covariances,
                      size_t count,
                      int receive,
                      const gram_whiteners& out,
                      int room,
                      cudaStream_t stream,
                      const int* wanted = nullptr);

} // namespace gr::cudaphy::kernels
