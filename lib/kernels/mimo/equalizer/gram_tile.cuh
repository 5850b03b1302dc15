/* SPDX-License-Identifier: GPL-3.0-or-later */
// The tile [H | vectors of a round] of a block that goes by the Gram matrix, in shared
// memory: how it is read and whitened, and products of its columns.
#pragma once

#include "kernels/mimo/equalizer/device.cuh"
#include "kernels/mimo/equalizer/gram_job.cuh"
#include <cuda_pipeline.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = tuning::gram_threads;
constexpr int most_layers = 16;
constexpr int round_vectors = 16; // of a matrix, at once
//! Elements of the Gram matrix's lower triangle that a thread holds.
constexpr int most_held = 3;
constexpr int square_pitch = most_layers + 1;

__host__ __device__ constexpr int even(int n) { return n + n % 2; }
__host__ __device__ constexpr int pairs_of(int layers)
{
    return layers * (layers + 1) / 2;
}

//! The tile [H | vectors of a round]: rows of antennas. Rows are even, as two neighbours
//! are loaded at once, and 2 more than a multiple of the banks if they are full.
struct tile_shape {
    __host__ __device__ tile_shape(int receive, int layers, size_t chunk)
        : rows(receive + receive % 2), first_vector(layers + layers % 2),
          vectors(chunk < round_vectors ? int(chunk) : round_vectors),
          width(first_vector + vectors + vectors % 2), pitch(width + 2)
    {
    }
    int rows, first_vector, vectors, width, pitch;
};

//! Two columns from `a` on times two from `b` on: sums over antennas of conj(left) right,
//! in blocks of gram_block.
CUDAPHY_LANE void find_products(
    const float2* tile, int pitch, int nr, int a, int b, complex_lane (&total)[2][2])
{
    CUDAPHY_UNROLL
    for (int i = 0; i < 4; ++i) {
        total[i / 2][i % 2] = { 0, 0 };
    }
    for (int first = 0; first < nr; first += gram_block) {
        complex_lane sum[2][2] = {};
        const auto add = [&](int r) {
            const float4 left = *reinterpret_cast<const float4*>(tile + r * pitch + a);
            const float4 right = *reinterpret_cast<const float4*>(tile + r * pitch + b);
            const complex_lane l[2] = { { left.x, left.y }, { left.z, left.w } };
            const complex_lane t[2] = { { right.x, right.y }, { right.z, right.w } };
            CUDAPHY_UNROLL
            for (int i = 0; i < 4; ++i) {
                sum[i / 2][i % 2] = add_dot(l[i / 2], t[i % 2], sum[i / 2][i % 2]);
            }
        };
        if (first + gram_block <= nr) {
            CUDAPHY_UNROLL
            for (int r = 0; r < gram_block; ++r) {
                add(first + r);
            }
        } else {
            for (int r = first; r < nr; ++r) {
                add(r);
            }
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < 4; ++i) {
            total[i / 2][i % 2].re += sum[i / 2][i % 2].re;
            total[i / 2][i % 2].im += sum[i / 2][i % 2].im;
        }
    }
}

//! Replaces columns first ... last - 1 (even) of the tile by L^-1 times them, from the
//! last antennas up, in place: two antennas and two columns a thread.
CUDAPHY_LANE void whiten_columns(
    const float2* by, float2* tile, int pitch, int nr, int rows, int first, int last)
{
    const int across = (last - first) / 2;
    const int slots = int(blockDim.x) / across;
    const int slot = int(threadIdx.x) / across;
    const int column = first + 2 * (int(threadIdx.x) - slot * across);
    const int step = 2 * slots;
    for (int begin = (rows - 1) / step * step; begin >= 0; begin -= step) {
        const int r = begin + 2 * slot;
        const bool on = slot < slots && r < nr;
        complex_lane sum[2][2] = {};
        if (on) {
            const float2* const m0 = by + r * rows;
            const float2* const m1 = r + 1 < nr ? m0 + rows : m0;
            // Zeros above the diagonal; column `nr`, where there is one, is 0.
            for (int c = 0; c <= r; c += 2) {
                const float4 left0 = __ldg(reinterpret_cast<const float4*>(m0 + c));
                const float4 left1 = __ldg(reinterpret_cast<const float4*>(m1 + c));
                CUDAPHY_UNROLL
                for (int k = 0; k < 2; ++k) {
                    const float4 right =
                        *reinterpret_cast<const float4*>(tile + (c + k) * pitch + column);
                    const complex_lane x{ right.x, right.y }, y{ right.z, right.w };
                    const complex_lane a = k ? complex_lane{ left0.z, left0.w }
                                             : complex_lane{ left0.x, left0.y };
                    const complex_lane b = k ? complex_lane{ left1.z, left1.w }
                                             : complex_lane{ left1.x, left1.y };
                    sum[0][0] = add_product(a, x, sum[0][0]);
                    sum[0][1] = add_product(a, y, sum[0][1]);
                    sum[1][0] = add_product(b, x, sum[1][0]);
                    sum[1][1] = add_product(b, y, sum[1][1]);
                }
            }
        }
        __syncthreads();
        CUDAPHY_UNROLL
        for (int i = 0; i < 2; ++i) {
            if (on && r + i < nr) {
                *reinterpret_cast<float4*>(tile + (r + i) * pitch + column) = {
                    sum[i][0].re, sum[i][0].im, sum[i][1].re, sum[i][1].im
                };
            }
        }
    }
    __syncthreads();
}

//! Asks for H, a row an antenna; an odd number of layers gets a column of zeros, and an
//! odd number of antennas a row.
CUDAPHY_LANE void
ask_channel(const float2* from, const tile_shape& shape, int nr, int nt, float2* tile)
{
    // e / nt, exact for e nt < 65536.
    const int by = 65536 / nt + 1;
    for (int e = threadIdx.x; e < nr * nt; e += blockDim.x) {
        const int r = e * by >> 16;
        __pipeline_memcpy_async(
            tile + r * shape.pitch + (e - r * nt), from + e, sizeof(float2));
    }
    for (int r = threadIdx.x; nt % 2 && r < nr; r += blockDim.x) {
        tile[r * shape.pitch + nt] = { 0, 0 };
    }
    for (int c = threadIdx.x; nr % 2 && c < shape.width; c += blockDim.x) {
        tile[nr * shape.pitch + c] = { 0, 0 };
    }
}

//! Asks for up to a round of vectors, `apart` elements from each other, a column each;
//! those that lack are zeros.
CUDAPHY_LANE void ask_vectors(const float2* from,
                              size_t apart,
                              int count,
                              const tile_shape& shape,
                              int nr,
                              float2* tile)
{
    const int lane = threadIdx.x % 32;
    for (int s = threadIdx.x / 32; s < even(shape.vectors); s += blockDim.x / 32) {
        float2* const to = tile + shape.first_vector + s;
        for (int r = lane; r < nr; r += 32) {
            if (s < count) {
                __pipeline_memcpy_async(
                    to + r * shape.pitch, from + s * apart + r, sizeof(float2));
            } else {
                to[r * shape.pitch] = { 0, 0 };
            }
        }
    }
}

//! Waits for what was asked for.
CUDAPHY_LANE void await_tile()
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

} // namespace
} // namespace gr::cudaphy::kernels
