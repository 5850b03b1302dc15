/* SPDX-License-Identifier: GPL-3.0-or-later */
// Shared by the equalizer's CUDA kernels: the lane, the job, and the moves of a warp's
// rows.
#pragma once

#include "kernels/mimo/cuda_lane.cuh"
#include "kernels/mimo/equalizer/cuda_job.cuh"
#include "kernels/mimo/tuning.cuh"

namespace gr::cudaphy::kernels {
namespace {

using tuning = mimo_tuning::equalizer;
using mask = bool;

CUDAPHY_LANE real larger(real a, real b) { return fmaxf(a, b); }
CUDAPHY_LANE real magnitude(real a) { return fabsf(a); }
CUDAPHY_LANE real square_root(real a) { return sqrtf(a); }
CUDAPHY_LANE mask both(mask a, mask b) { return a && b; }
CUDAPHY_LANE real choose(mask m, real a, real b) { return m ? a : b; }
CUDAPHY_LANE real unscale(real a)
{
    // With exponent field E, 2^(127 - E) has the field 254 - E.
    const unsigned field = __float_as_uint(a) & 0x7F800000u;
    return __uint_as_float((254u << 23) - min(max(field, 7u << 23), 247u << 23));
}

#include "kernels/mimo/equalizer/lane-inl.h"

CUDAPHY_LANE complex_lane lane_of(float2 value) { return { value.x, value.y }; }

using cuda_job = equalizer_cuda_job;

CUDAPHY_LANE method method_of(const cuda_job& job)
{
    return { job.mmse, job.unbiased, job.ratio, job.rank_tolerance };
}

//! The vectors of an item. Threads beyond the last item repeat it, and write nothing.
struct item_place {
    size_t matrix, group, vector; //!< vector: its first
    size_t left;                  //!< vectors
    bool active, first;           //!< first: of its matrix
};

__device__ size_t quotient(size_t a, size_t b)
{
    return (a | b) >> 32 ? a / b : unsigned(a) / unsigned(b);
}

__device__ item_place find_place(const cuda_job& job, size_t item)
{
    item_place place;
    place.active = item < job.items;
    item = place.active ? item : job.items - 1;
    const size_t part = item < job.matrices ? 0 : quotient(item, job.matrices);
    place.first = part == 0;
    place.matrix = item - part * job.matrices;
    place.group = job.tones == 1 ? place.matrix : quotient(place.matrix, job.tones);
    const size_t begin = part * job.chunk;
    place.left = min(job.chunk, job.symbols - begin);
    place.vector = (place.group * job.symbols + begin) * job.tones +
                   (place.matrix - place.group * job.tones);
    return place;
}

constexpr size_t nowhere = ~size_t{ 0 };

//! Rows of `Width` elements in shared memory, one for each thread of a warp; the odd
//! pitch puts a column into different banks.
template <int Width>
constexpr int pitch = Width | 1;

//! Reads the row at from[at] for each thread; the warp reads consecutive elements
//! together. The width is a constant if the caller knows it.
CUDAPHY_LANE void read_rows_of(const float2* from, size_t at, int width, float2* rows)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    CUDAPHY_UNROLL
    for (int i = 0; i < width; ++i) {
        const int index = i * 32 + lane;
        const int row = index / width;
        const size_t start = __shfl_sync(whole_warp, at, row);
        rows[row * (width | 1) + index - row * width] = from[start + index - row * width];
    }
    __syncwarp();
}

//! Writes each thread's row to to[at]; rows whose place is `nowhere` are left out.
template <typename T>
CUDAPHY_LANE void write_rows_of(const T* rows, int width, T* to, size_t at)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    CUDAPHY_UNROLL
    for (int i = 0; i < width; ++i) {
        const int index = i * 32 + lane;
        const int row = index / width;
        const size_t start = __shfl_sync(whole_warp, at, row);
        if (start != nowhere) {
            to[start + index - row * width] =
                rows[row * (width | 1) + index - row * width];
        }
    }
    __syncwarp();
}

//! The number of a matrix's noise variance or covariance.
__device__ size_t variance_of(const cuda_job& job, size_t matrix)
{
    return job.variance_step == 0   ? 0
           : job.variance_step == 1 ? matrix
                                    : quotient(matrix, job.variance_step);
}

//! The factor of a matrix's covariance.
template <typename Antennas>
__device__ void find_whitener(const cuda_job& job,
                              Antennas size,
                              size_t matrix,
                              lane_whitener<Antennas>& out)
{
    const int nr = job.receive;
    const float2* const from = job.covariance + variance_of(job, matrix) * (nr * nr);
    find_whitener(
        size,
        [&](int r, int c) {
            if (r >= nr) { // padding
                return complex_lane{ r == c ? 1.0f : 0.0f, 0.0f };
            }
            return lane_of(from[r * nr + c]);
        },
        out);
}

//! The noise variance of a matrix. With a covariance: replaces H by L^-1 H in the
//! thread's own row, and returns 1, or infinity if the covariance is not usable.
template <typename Antennas>
__device__ float
whiten_row(const cuda_job& job, Antennas size, size_t matrix, float2* own)
{
    if (!job.covariance) {
        return job.n0[variance_of(job, matrix)];
    }
    lane_whitener<Antennas> whitener;
    find_whitener(job, size, matrix, whitener);
    for (int t = 0; t < job.layers; ++t) {
        complex_lane column[Antennas::most_receive];
        CUDAPHY_UNROLL
        for (int r = 0; r < size.receive(); ++r) {
            column[r] = { 0, 0 };
            if (r < job.receive) {
                column[r] = lane_of(own[r * job.layers + t]);
            }
        }
        whiten(size, whitener, column);
        CUDAPHY_UNROLL
        for (int r = 0; r < size.receive(); ++r) {
            if (r < job.receive) {
                own[r * job.layers + t] = { column[r].re, column[r].im };
            }
        }
    }
    return whitener.usable ? 1.0f : float_infinity;
}

} // namespace
} // namespace gr::cudaphy::kernels
