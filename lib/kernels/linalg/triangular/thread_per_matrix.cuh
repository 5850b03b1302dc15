/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/triangular/element.cuh"
#include "kernels/linalg/triangular/tuning.cuh"
#include <cuda_pipeline.h>

// A thread inverts a triangle. X is in the thread's registers (float, N = 16: 136
// registers). Substitution goes row after row without other lanes. It needs
// N (N^2 - 1) / 6 multiply-adds instead of the barriers of n + 1 rounds. A warp's 32
// matrices are one piece of memory, which passes through shared memory 16 bytes a lane.
// Loads go directly to shared memory, so that all of them are in flight at once and need
// no registers. Whole pieces of A outside the triangle are not loaded.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

//! The places of a warp's matrices in shared memory. Matrices are an odd number of
//! 16-byte pieces apart, so that lanes that read their own matrices use all banks. If a
//! matrix is no whole number of pieces, N is odd, and matrices are N^2 elements apart.
template <typename T, int N>
struct thread_tile {
    static constexpr int bytes = N * N * sizeof(T);
    static constexpr bool in_pieces = bytes % 16 == 0;
    static constexpr int piece = in_pieces ? 16 / sizeof(T) : 1; //!< elements
    static constexpr int apart = in_pieces ? (bytes / 16 | 1) * piece : N * N;
    static constexpr int size = warp_lanes * apart; //!< elements
    static constexpr int warps = warps_with_room(size * sizeof(T));
    //! 16-byte pieces a lane moves.
    static constexpr int rounds = (warp_lanes * bytes / 16 + warp_lanes - 1) / warp_lanes;
    static constexpr int pieces = warp_lanes * bytes / 16;

    //! As many elements as an access to a lane's own matrix moves.
    struct __align__(piece * sizeof(T)) group { T e[piece]; };

    //! The element of the tile that piece p begins with.
    __device__ static int place(int p)
    {
        constexpr int each = in_pieces ? bytes / 16 : 1;
        return in_pieces ? p / each * apart + p % each * piece : p * 16 / int(sizeof(T));
    }
    //! Whether piece p has an element of the triangle.
    __device__ static bool used(int p, bool lower)
    {
        if constexpr (!in_pieces || N % piece != 0) {
            return true;
        } else {
            constexpr int a_row = N / piece;
            const int i = p / a_row % N, j = p % a_row * piece;
            return lower ? j <= i : j + piece > i;
        }
    }
};

template <typename T, int N>
__global__ void __launch_bounds__(warp_lanes* thread_tile<T, N>::warps)
    triangular_thread_per_matrix(
        const T* a, T* x, int* status, size_t batch, bool lower, bool unit)
{
    using number = element<T>;
    using tile_type = thread_tile<T, N>;
    constexpr int elements = N * N;
    __shared__ __align__(16) char shared[tile_type::warps][tile_type::size * sizeof(T)];

    const int lane = threadIdx.x % warp_lanes;
    const size_t item = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t first = item - lane;
    if (first >= batch) {
        return; // the whole warp
    }
    T* const tile = reinterpret_cast<T*>(shared[threadIdx.x / warp_lanes]);
    const bool whole = batch - first >= warp_lanes;
    const int present = whole ? warp_lanes : int(batch - first);
    const T* const from = a + first * elements;
    T* const to = x + first * elements;
    const auto each_piece = [&](const auto& move) {
#pragma unroll 16
        for (int r = 0; r < tile_type::rounds; ++r) {
            const int p = r * warp_lanes + lane;
            if (tile_type::pieces % warp_lanes == 0 || p < tile_type::pieces) {
                move(p);
            }
        }
    };

    if (whole) {
        each_piece([&](int p) {
            if (tile_type::used(p, lower)) {
                __pipeline_memcpy_async(tile + tile_type::place(p),
                                        reinterpret_cast<const float4*>(from) + p,
                                        16);
            }
        });
        __pipeline_commit();
        __pipeline_wait_prior(0);
    } else {
        for (int e = lane; e < present * elements; e += warp_lanes) {
            tile[e / elements * tile_type::apart + e % elements] = from[e];
        }
    }
    __syncwarp();

    // Rotated by 180 degrees, an upper triangle is a lower one: its groups, and their
    // elements, are read and written from the last to the first. Lanes beyond the batch
    // invert what lies in shared memory, and write nothing.
    auto* const own =
        reinterpret_cast<typename tile_type::group*>(tile + lane * tile_type::apart);
    constexpr int piece = tile_type::piece;
    constexpr int groups = elements / piece;
    const auto turned = [lower](int i, int count) { return lower ? i : count - 1 - i; };
    T m[N][N];
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        const auto some = own[turned(g, groups)];
#pragma unroll
        for (int k = 0; k < piece; ++k) {
            const int e = g * piece + k;
            m[e / N][e % N] = lower ? some.e[k] : some.e[piece - 1 - k];
        }
    }
    int state = 0; // the first zero's row, counted from 1
    bool a_finite = true;
    bool x_finite = true;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        if (unit) {
            m[i][i] = number::make(1);
        }
        T sums[N];
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            a_finite = a_finite && number::is_finite(m[i][j]);
            sums[j] = number::make(0);
        }
        if (number::is_zero(m[i][i])) {
            state = !lower ? N - i : state ? state : i + 1;
        }
        const T inverse = number::reciprocal(m[i][i]);
#pragma unroll
        for (int k = 0; k < i; ++k) {
#pragma unroll
            for (int j = 0; j <= k; ++j) {
                sums[j] = number::multiply_add(sums[j], m[i][k], m[k][j]);
            }
        }
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            m[i][j] = j == i ? inverse
                             : number::multiply_add(
                                   number::make(0), number::negative(sums[j]), inverse);
            x_finite = x_finite && number::is_finite(m[i][j]);
        }
    }
    state = !a_finite ? -1 : state ? state : !x_finite ? -1 : 0;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        T result[piece];
#pragma unroll
        for (int k = 0; k < piece; ++k) {
            const int e = g * piece + k;
            const bool kept = e % N <= e / N;
            result[k] = kept && state == 0 ? m[e / N][e % N] : number::make(0);
        }
        typename tile_type::group some;
#pragma unroll
        for (int k = 0; k < piece; ++k) {
            some.e[k] = lower ? result[k] : result[piece - 1 - k];
        }
        own[turned(g, groups)] = some;
    }
    if (lane < present) {
        status[item] = state;
    }
    __syncwarp();
    if (whole) {
        each_piece([&](int p) {
            reinterpret_cast<float4*>(to)[p] =
                *reinterpret_cast<const float4*>(tile + tile_type::place(p));
        });
    } else {
        for (int e = lane; e < present * elements; e += warp_lanes) {
            to[e] = tile[e / elements * tile_type::apart + e % elements];
        }
    }
}

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
