/* SPDX-License-Identifier: GPL-3.0-or-later */
// Blocks whose warps go through their code in step.
//
// The elimination of an 8 x 8 matrix is 4100 instructions in a row without a loop: 66 KB,
// far more than a multiprocessor's inner instruction caches hold. A single warp fetches
// all of them for 32 matrices, and so does the next warp, wherever it is in them. At 16
// bytes an instruction, these fetches bounded the kernel, not arithmetic or memory. Warps
// that meet at a barrier before each column run the same few kilobytes at the same time,
// and one fetch serves all. Such a block is all that a multiprocessor holds, so it asks
// for its next input before it computes.
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer/device.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! Warps of a block. With few layers the code is short, and there are registers for more
//! blocks.
template <typename Antennas>
constexpr bool in_step = (Antennas::most_layers > tuning::most_layers_without_step);
template <typename Antennas>
constexpr int most_warps = in_step<Antennas> ? tuning::step_warps : 1;

struct step_launch {
    int threads;
    size_t shared;
    unsigned blocks; //!< that cover all items
};

//! The launch of a kernel that takes `warp_bytes` of shared memory a warp. Few items are
//! spread over all multiprocessors before a block has several warps.
template <typename Antennas>
step_launch launch_in_step(const equalizer_cuda_job& job,
                           size_t items,
                           size_t warp_bytes,
                           size_t most = most_warps<Antennas>)
{
    const size_t needed = (items + 31) / 32;
    const size_t fitting = std::min<size_t>(most, job.room / warp_bytes);
    const size_t wanted = (needed + job.processors - 1) / job.processors;
    const size_t warps = std::clamp<size_t>(wanted, 1, std::max<size_t>(1, fitting));
    return { int(32 * warps),
             warps * warp_bytes,
             unsigned((needed + warps - 1) / warps) };
}

//! The barrier of warps in step.
template <typename Antennas>
__device__ void meet()
{
    if constexpr (in_step<Antennas>) {
        __syncthreads();
    }
}

template <typename Antennas, typename Kernel>
void allow_in_step(Kernel kernel, size_t warp_bytes, int room)
{
    const auto most = most_warps<Antennas> * warp_bytes;
    cuda_check(cudaFuncSetAttribute(kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    int(std::min(most, size_t(room)))),
               "cudaFuncSetAttribute");
}

} // namespace
} // namespace gr::cudaphy::kernels
