/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime.h>

// A warp's matrices are one piece of device memory. It passes through shared memory in
// whole lines, 16 bytes a lane, because lanes that read their own matrices from device
// memory would need 32 sectors a load.

namespace gr::cudaphy::kernels {
namespace {

//! M matrices of N x N elements in shared memory. A matrix is a number of accesses of the
//! widest kind. Matrices are an odd number of such accesses apart, so that lanes that
//! read their own matrices use all banks.
template <typename T, int N, int M = 32>
struct warp_tile {
    static constexpr int lanes = 32;
    static constexpr int elements = N * N;
    static constexpr int bytes = elements * sizeof(T);
    static constexpr int width = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
    static constexpr int apart = (bytes / width | 1) * width; //!< bytes
    static constexpr int size = (M * apart + 15) / 16 * 16;   //!< bytes
    static constexpr bool in_pieces = M * bytes % 16 == 0;
    static constexpr int pieces = M * bytes / 16;
    static constexpr int rounds = (pieces + lanes - 1) / lanes;

    //! As many elements as an access of `width` bytes moves.
    struct __align__(width) group { T e[width / sizeof(T)]; };

    __device__ static int place(int piece)
    {
        if constexpr (apart == bytes) {
            return piece;
        } else {
            return piece + piece / (bytes / 16) * (apart / 16 - bytes / 16);
        }
    }
    __device__ static T* matrix(char* tile, int lane)
    {
        return reinterpret_cast<T*>(tile + lane * apart);
    }

    //! All of the tile if `whole`, which needs 16-byte alignment, else `count` matrices.
    __device__ static void
    read(const T* from, char* tile, int lane, bool whole, int count)
    {
        if (whole && in_pieces) {
            const auto* pieces_from = reinterpret_cast<const float4*>(from);
            auto* to = reinterpret_cast<float4*>(tile);
            float4 held[rounds];
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    held[i] = pieces_from[piece];
                }
            }
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    to[place(piece)] = held[i];
                }
            }
            return;
        }
#pragma unroll 1
        for (int e = lane; e < count * elements; e += lanes) {
            matrix(tile, e / elements)[e % elements] = from[e];
        }
    }

    __device__ static void write(char* tile, T* to, int lane, bool whole, int count)
    {
        if (whole && in_pieces) {
            const auto* from = reinterpret_cast<const float4*>(tile);
            auto* pieces_to = reinterpret_cast<float4*>(to);
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    pieces_to[piece] = from[place(piece)];
                }
            }
            return;
        }
#pragma unroll 1
        for (int e = lane; e < count * elements; e += lanes) {
            to[e] = matrix(tile, e / elements)[e % elements];
        }
    }

    //! A lane's own matrix.
    __device__ static void load(char* tile, int lane, T (&m)[N][N])
    {
        const auto* from = reinterpret_cast<const group*>(matrix(tile, lane));
        constexpr int each = width / sizeof(T);
#pragma unroll
        for (int g = 0; g < elements / each; ++g) {
            const group some = from[g];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                m[(g * each + e) / N][(g * each + e) % N] = some.e[e];
            }
        }
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
