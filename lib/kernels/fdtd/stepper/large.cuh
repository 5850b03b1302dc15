/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/kernels.cuh"
#include "kernels/fdtd/stepper/large.h"

// The kernel for systems of many tiles a block, in pieces. Between updates all blocks
// wait for all others: 1 us of hundreds.

namespace gr::cudaphy::kernels {
namespace {

//! Waits until the blocks have arrived `target` times in all.
__device__ __forceinline__ void wait_for_all(const unsigned* counter, unsigned target)
{
    if (threadIdx.x == 0) {
        while (int(load_acquire(counter) - target) < 0) {
        }
    }
    __syncthreads();
}

template <typename T,
          int Slices,
          fdtd_large_rows Rows,
          int Warps,
          int BlocksAMultiprocessor>
__global__ void __launch_bounds__(Warps * 32, BlocksAMultiprocessor)
    run_large_steps(const __grid_constant__ arguments<T> a)
{
    if (a.kept->status >= 0) {
        return; // all blocks do
    }
    const fdtd_large_lane<T, Slices, Rows> lane(
        a.tables, threadIdx.x / 32, Warps, threadIdx.x % 32);
    auto* const counter = a.arrived.flags + size_t(gridDim.x) * flag_stride;
    for (unsigned s = 0; s < a.steps; ++s) {
        const auto step = [&] { return a.first.at(a.first.number + s); };
        const auto not_finite = [&] {
            atomicMin(&a.kept->bad_step,
                      static_cast<unsigned long long>(a.first.number + s));
        };
        for (int p = 0; p < a.phases; ++p) {
            const auto& phase = a.tables.phases[p];
            const int first = phase.tiles + int(blockIdx.x);
            const int end = phase.tiles_end;
            typename fdtd_large_lane<T, Slices, Rows>::cursor cursor{};
            if (first < end) {
                cursor = lane.begin(first);
            }
            // Counts past 2^32, as the difference above allows.
            wait_for_all(counter, (s * unsigned(a.phases) + unsigned(p)) * gridDim.x);
            if (phase.between) {
                if (blockIdx.x == 0) {
                    fdtd_lane<T, sparse_format::crs, 1>(a.tables, 0, 1, 0, nullptr)
                        .between(phase, step(), threadIdx.x, Warps * 32, not_finite);
                }
            }
            for (auto t = first; t < end; t += int(gridDim.x)) {
                const int coming = t + int(gridDim.x);
                lane.update(cursor, coming < end ? coming : -1, a.first.state);
                const auto tile = fdtd_load_16<fdtd_tile>(a.tables.tiles + t);
                if (tile.rows & fdtd_marked) {
                    __syncthreads();
                    lane.visit_marks(phase, tile, step(), not_finite);
                }
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                add_release(counter);
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
