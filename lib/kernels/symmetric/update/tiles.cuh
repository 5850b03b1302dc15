/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"

// Passes over a symmetric matrix by tiles of 64 x 64. Only the lower triangle is read. A
// thread holds 4 rows and 4 columns of a tile, in groups of 16 bytes: rows 4 g + r with g
// = thread / 16, columns chunk * h + count * l + c with l = thread % 16. So a warp reads
// and writes whole lines of 128 bytes.

namespace gr::cudaphy::kernels {
namespace {

constexpr int update_threads = 256;
constexpr int update_side = 64; //!< rows and columns of a tile
constexpr int lanes_a_row = 16;

template <typename E>
struct tile_shape {
    using group = elements_of_16_bytes<E>;
    static constexpr int count = group::count;
    static constexpr int chunk = lanes_a_row * count; //!< columns
    static constexpr int chunks = update_side / chunk;
    static constexpr int units = update_side / count; //!< groups of 16 bytes in a row
};

//! The rows and columns of a thread's elements within a tile.
__device__ inline int tile_row(int r) { return threadIdx.x / lanes_a_row * 4 + r; }
template <typename E>
__device__ inline int tile_column(int q)
{
    using shape = tile_shape<E>;
    return q / shape::count * shape::chunk +
           int(threadIdx.x) % lanes_a_row * shape::count + q % shape::count;
}

//! The first row and column of a tile. Tiles of the lower triangle are numbered row by
//! row.
struct tile_place {
    int top, first;

    __device__ explicit tile_place(int index)
    {
        int down = int((sqrtf(8.0f * index + 1) - 1) / 2);
        down += (down + 1) * (down + 2) / 2 <= index ? 1 : 0;
        down -= down * (down + 1) / 2 > index ? 1 : 0;
        top = down * update_side;
        first = (index - down * (down + 1) / 2) * update_side;
    }
};
inline int tiles_down(int n) { return (n + update_side - 1) / update_side; }
inline unsigned tiles_of_triangle(int n)
{
    return unsigned(tiles_down(n)) * (tiles_down(n) + 1) / 2;
}

//! Reads the tile's elements of the lower triangle; the others are 0. `aligned`: rows
//! begin at multiples of 16 bytes.
template <typename E>
__device__ inline void
load_tile(const E* x, int n, tile_place at, bool aligned, E (&e)[4][4])
{
    using shape = tile_shape<E>;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int h = 0; h < shape::chunks; ++h) {
            const int i = at.top + tile_row(r);
            const int j = at.first + tile_column<E>(h * shape::count);
            const E* from = x + size_t(i) * n + j;
            const int there = i < n ? i - j + 1 : 0;
            typename shape::group g;
            if (aligned && there >= shape::count) {
                g = *reinterpret_cast<const typename shape::group*>(from);
            } else {
#pragma unroll
                for (int c = 0; c < shape::count; ++c) {
                    g.e[c] = c < there ? from[c] : number<E>(0);
                }
            }
#pragma unroll
            for (int c = 0; c < shape::count; ++c) {
                e[r][h * shape::count + c] = i == j + c ? number<E>(re(g.e[c])) : g.e[c];
            }
        }
    }
}

//! Writes elements begin <= c < end of a group past the cache, because nothing reads them
//! soon.
template <typename E>
__device__ inline void
store_group(E* to, const elements_of_16_bytes<E>& g, int begin, int end, bool aligned)
{
    constexpr int count = elements_of_16_bytes<E>::count;
    if (aligned && begin <= 0 && end >= count) {
        __stcs(reinterpret_cast<float4*>(to), *reinterpret_cast<const float4*>(&g));
        return;
    }
#pragma unroll
    for (int c = 0; c < count; ++c) {
        if (c >= begin && c < end) {
            to[c] = g.e[c];
        }
    }
}

/*!
 * Writes the tile, and its mirror image through shared memory. `turned` has 16 rows of 64
 * groups of 16 bytes. Groups are permuted there, so that neither writes of columns nor
 * reads of rows have bank conflicts.
 */
template <typename E>
__device__ inline void store_tile_and_mirror(E* x,
                                             int n,
                                             tile_place at,
                                             bool aligned,
                                             E (&e)[4][4],
                                             elements_of_16_bytes<E>* turned)
{
    using shape = tile_shape<E>;
    constexpr int count = shape::count;
    const int lane = threadIdx.x % lanes_a_row, g = threadIdx.x / lanes_a_row;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int h = 0; h < shape::chunks; ++h) {
            const int i = at.top + tile_row(r);
            const int j = at.first + tile_column<E>(h * count);
            typename shape::group out;
#pragma unroll
            for (int c = 0; c < count; ++c) {
                E& value = e[r][h * count + c];
                value = i == j + c ? number<E>(re(value)) : value;
                out.e[c] = value;
            }
            store_group(x + size_t(i) * n + j, out, 0, i < n ? i - j + 1 : 0, aligned);
        }
    }
#pragma unroll
    for (int h = 0; h < shape::chunks; ++h) {
        __syncthreads();
#pragma unroll
        for (int c = 0; c < count; ++c) {
#pragma unroll
            for (int w = 0; w < shape::chunks; ++w) {
                typename shape::group out;
#pragma unroll
                for (int r = 0; r < count; ++r) {
                    out.e[r] = conjugate(e[w * count + r][h * count + c]);
                }
                turned[(lane * count + c) * shape::units +
                       ((g * shape::chunks + w) ^ lane)] = out;
            }
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int which = threadIdx.x + s * update_threads;
            const int row = which / shape::units, unit = which % shape::units;
            const int i = at.first + h * shape::chunk + row; // in the upper triangle
            const int j = at.top + unit * count;
            if (i < n && j < n) {
                store_group(x + size_t(i) * n + j,
                            turned[row * shape::units + (unit ^ (row / count))],
                            i + 1 - j,
                            n - j,
                            aligned);
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
