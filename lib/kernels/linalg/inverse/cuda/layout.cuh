/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cuda_runtime.h>

// Turns row-major matrices into a structure of arrays and back: a transposition between
// (batch, N^2) and (N^2, batch). Tiles pass through shared memory, so that both sides are
// read and written in runs of 32 elements. A tile's rows have one element more than
// needed, so that its columns use all banks, whether an element has 4, 8 or 16 bytes.
//
// It moves all bytes once more each way. The kernels for small orders need none of that,
// because they read and write both layouts. Larger matrices have so much other work that
// the transposition costs little.

namespace gr::cudaphy::kernels {
namespace {

constexpr int layout_tile = 32;
constexpr int layout_rows = 8; //!< of a block's threads

//! How to launch the two kernels below; `elements` is N^2.
struct layout_launch {
    layout_launch(size_t batch, int elements)
        : block(layout_tile, layout_rows),
          grid(unsigned((batch + layout_tile - 1) / layout_tile),
               unsigned((elements + layout_tile - 1) / layout_tile))
    {
    }
    dim3 block;
    dim3 grid;
};

//! to[j][i] = from[i][j] for the tile at (first_row, first_column).
template <typename T>
__device__ inline void transpose_tile(const T* from,
                                      T* to,
                                      size_t rows,
                                      size_t columns,
                                      size_t first_row,
                                      size_t first_column)
{
    __shared__ T tile[layout_tile][layout_tile + 1];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    constexpr int rounds = layout_tile / layout_rows;
    T held[rounds];
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
        const size_t row = first_row + i * layout_rows + y;
        if (row < rows && first_column + x < columns) {
            held[i] = from[row * columns + first_column + x];
        }
    }
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
        tile[i * layout_rows + y][x] = held[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
        const size_t column = first_column + i * layout_rows + y;
        if (column < columns && first_row + x < rows) {
            to[column * rows + first_row + x] = tile[x][i * layout_rows + y];
        }
    }
}

//! Row-major matrices from a structure of arrays.
template <typename T>
__global__ void __launch_bounds__(layout_tile* layout_rows)
    interleaved_to_rows(const T* from, T* to, size_t batch, int elements)
{
    transpose_tile<T>(from,
                      to,
                      elements,
                      batch,
                      blockIdx.y * layout_tile,
                      size_t(blockIdx.x) * layout_tile);
}

//! A structure of arrays from row-major matrices.
template <typename T>
__global__ void __launch_bounds__(layout_tile* layout_rows)
    rows_to_interleaved(const T* from, T* to, size_t batch, int elements)
{
    transpose_tile<T>(from,
                      to,
                      batch,
                      elements,
                      size_t(blockIdx.x) * layout_tile,
                      blockIdx.y * layout_tile);
}

} // namespace
} // namespace gr::cudaphy::kernels
