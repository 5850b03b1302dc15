/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/triangular/element.cuh"
#include "kernels/linalg/triangular/tuning.cuh"

// Products of batches of matrices, of which one may be a triangle. A block computes a
// square tile of the result. A thread computes 4 x 4 elements of the tile from strips of
// both factors in shared memory, with 8 loads for 16 multiply-adds. Elements outside a
// factor, or in its other triangle, count as zeros.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

template <int Tile>
constexpr int tile_threads = (Tile / elements_a_side) * (Tile / elements_a_side);

//! A part of a row-major matrix, or of its transpose: element (i, j) for i < rows, j <
//! columns, and of a lower triangle j <= i, of an upper one j >= i.
enum class shape { full, lower, upper };
template <typename T, bool Transposed, shape Shape>
struct operand {
    static constexpr bool transposed = Transposed;
    const T* data;
    int stride; //!< from row to row in memory
    int rows, columns;

    __device__ T at(int i, int j) const
    {
        const bool there = i < rows && j < columns &&
                           (Shape == shape::lower   ? j <= i
                            : Shape == shape::upper ? j >= i
                                                    : true);
        return there ? data[Transposed ? size_t(j) * stride + i : size_t(i) * stride + j]
                     : element<T>::make(0);
    }
};

/*!
 * Elements (row.., column..) of left right over the inner index first..last - 1, each
 * given to store(i, j, sum). Called by all tile_threads<Tile> threads of a block.
 */
template <typename T, int Tile, typename Left, typename Right, typename Store>
__device__ inline void multiply_tile(const Left& left,
                                     const Right& right,
                                     int row,
                                     int column,
                                     int first,
                                     int last,
                                     const Store& store)
{
    constexpr int threads = tile_threads<Tile>;
    constexpr int side = Tile / elements_a_side; // threads a side
    __shared__ T left_strip[strip][Tile + 1];
    __shared__ T right_strip[strip][Tile + 1];
    const int across = threadIdx.x % side, down = threadIdx.x / side;
    T sums[elements_a_side][elements_a_side];
#pragma unroll
    for (int r = 0; r < elements_a_side; ++r) {
#pragma unroll
        for (int c = 0; c < elements_a_side; ++c) {
            sums[r][c] = element<T>::make(0);
        }
    }
    for (int k0 = first; k0 < last; k0 += strip) {
        // Neighbouring threads read neighbouring elements of memory.
        for (int e = threadIdx.x; e < Tile * strip; e += threads) {
            const int i = Left::transposed ? e % Tile : e / strip;
            const int k = Left::transposed ? e / Tile : e % strip;
            left_strip[k][i] =
                k0 + k < last ? left.at(row + i, k0 + k) : element<T>::make(0);
        }
        for (int e = threadIdx.x; e < Tile * strip; e += threads) {
            const int j = Right::transposed ? e / strip : e % Tile;
            const int k = Right::transposed ? e % strip : e / Tile;
            right_strip[k][j] =
                k0 + k < last ? right.at(k0 + k, column + j) : element<T>::make(0);
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < strip; ++k) {
            T ours[elements_a_side], theirs[elements_a_side];
#pragma unroll
            for (int r = 0; r < elements_a_side; ++r) {
                ours[r] = left_strip[k][down + r * side];
                theirs[r] = right_strip[k][across + r * side];
            }
#pragma unroll
            for (int r = 0; r < elements_a_side; ++r) {
#pragma unroll
                for (int c = 0; c < elements_a_side; ++c) {
                    sums[r][c] = element<T>::multiply_add(sums[r][c], ours[r], theirs[c]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < elements_a_side; ++r) {
#pragma unroll
        for (int c = 0; c < elements_a_side; ++c) {
            store(row + down + r * side, column + across + c * side, sums[r][c]);
        }
    }
}

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
