/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"

// A random symmetric transform, after which an indefinite matrix needs no pivoting
// (Parker 1995; Baboulin, Becker, Dongarra 2012). U^T A U takes the place of A. Its
// leading minors are singular only by chance. X = U Y U^T, where Y is the inverse of U^T
// A U. U = V B. V is a random permutation, which hides the pattern of a sparse matrix. B
// is two levels of butterflies: diagonals of random numbers near 1, then sums and
// differences of halves. So each element mixes 16 elements, in O(n^2) operations.

namespace gr::cudaphy::kernels {
namespace {

constexpr int butterfly_parts = 4;

//! The random diagonals and permutation of one draw, for the order m.
struct butterfly {
    const float* outer; //!< m numbers near 1 for the halves of the matrix
    const float* inner; //!< m numbers near 1 for the halves of these halves
    const int* places;  //!< m: row i of the mixed matrix stems from row places[i]
    int quarter;        //!< m / 4
};

//! Applies U^T to (x0..x3), the elements at index i of the quarters.
template <typename W>
__device__ inline void butterfly_adjoint(W (&x)[4], const butterfly& u, int i)
{
    using real = real_of<W>;
    const int q = u.quarter;
    const auto minus = [](W a, W b) { return sum(a, negative(b)); };
    const W t0 = scaled(sum(x[0], x[2]), real(u.outer[i]));
    const W t1 = scaled(sum(x[1], x[3]), real(u.outer[i + q]));
    const W t2 = scaled(minus(x[0], x[2]), real(u.outer[i + 2 * q]));
    const W t3 = scaled(minus(x[1], x[3]), real(u.outer[i + 3 * q]));
    x[0] = scaled(sum(t0, t1), real(0.5) * u.inner[i]);
    x[1] = scaled(minus(t0, t1), real(0.5) * u.inner[i + q]);
    x[2] = scaled(sum(t2, t3), real(0.5) * u.inner[i + 2 * q]);
    x[3] = scaled(minus(t2, t3), real(0.5) * u.inner[i + 3 * q]);
}

//! Applies U to (x0..x3).
template <typename W>
__device__ inline void butterfly_forward(W (&x)[4], const butterfly& u, int i)
{
    using real = real_of<W>;
    const int q = u.quarter;
    const auto minus = [](W a, W b) { return sum(a, negative(b)); };
    const W s0 = scaled(x[0], real(0.5) * u.inner[i]);
    const W s1 = scaled(x[1], real(0.5) * u.inner[i + q]);
    const W s2 = scaled(x[2], real(0.5) * u.inner[i + 2 * q]);
    const W s3 = scaled(x[3], real(0.5) * u.inner[i + 3 * q]);
    const W t0 = scaled(sum(s0, s1), real(u.outer[i]));
    const W t1 = scaled(minus(s0, s1), real(u.outer[i + q]));
    const W t2 = scaled(sum(s2, s3), real(u.outer[i + 2 * q]));
    const W t3 = scaled(minus(s2, s3), real(u.outer[i + 3 * q]));
    x[0] = sum(t0, t2);
    x[1] = sum(t1, t3);
    x[2] = minus(t0, t2);
    x[3] = minus(t1, t3);
}

//! Applies U or U^T to x from both sides.
template <typename W, typename OneSide>
__device__ inline void both_sides(W (&x)[4][4], int i, int j, const OneSide& one_side)
{
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        one_side(x[b], j);
    }
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        W column[4] = { x[0][b], x[1][b], x[2][b], x[3][b] };
        one_side(column, i);
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            x[a][b] = column[a];
        }
    }
}

//! The lower triangle of work = U^T A U, scaled. A has both triangles and order n, and
//! counts as having ones on the diagonal of rows n to m. blockIdx = tile of a quarter
template <typename E, typename W>
__global__ void __launch_bounds__(tile_side* tile_threads_down,
                                  symmetric_tuning::passes::scramble_blocks)
    scramble(device_matrix<const E> a,
             int n,
             device_matrix<W> work,
             butterfly u,
             const unsigned long long* largest)
{
    const int q = u.quarter;
    const int j = blockIdx.x * tile_side + threadIdx.x;
    const auto scale = scale_of<real_of<W>>(largest);
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i >= q || j >= q) {
            continue;
        }
        W x[4][4];
#pragma unroll
        for (int b = 0; b < 16; ++b) {
            // Reads an element of A in any case, so that no load waits for a branch.
            const int row = u.places[i + b / 4 * q], column = u.places[j + b % 4 * q];
            const E there =
                a.item()[size_t(min(row, n - 1)) * a.stride + min(column, n - 1)];
            x[b / 4][b % 4] = row < n && column < n ? scaled(converted<W>(there), scale)
                                                    : number<W>(row == column);
        }
        both_sides(x, i, j, [&](W(&v)[4], int at) { butterfly_adjoint(v, u, at); });
#pragma unroll
        for (int b = 0; b < 16; ++b) {
            if (b / 4 >= b % 4) {
                work.item()[size_t(i + b / 4 * q) * work.stride + j + b % 4 * q] =
                    x[b / 4][b % 4];
            }
        }
    }
}

//! to = U Y U^T, scaled, of which the part of order n is written. Y has both triangles
//! and order m. blockIdx = tile of a quarter
template <typename W, typename E>
__global__ void unscramble(device_matrix<const W> y,
                           int n,
                           device_matrix<E> to,
                           butterfly u,
                           const unsigned long long* largest)
{
    const int q = u.quarter;
    const int j = blockIdx.x * tile_side + threadIdx.x;
    const auto scale = scale_of<real_of<W>>(largest);
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i >= q || j >= q) {
            continue;
        }
        W x[4][4];
#pragma unroll
        for (int b = 0; b < 16; ++b) {
            x[b / 4][b % 4] = y.item()[size_t(i + b / 4 * q) * y.stride + j + b % 4 * q];
        }
        both_sides(x, i, j, [&](W(&v)[4], int at) { butterfly_forward(v, u, at); });
#pragma unroll
        for (int b = 0; b < 16; ++b) {
            const int row = u.places[i + b / 4 * q], column = u.places[j + b % 4 * q];
            if (row < n && column < n) {
                to.item()[size_t(row) * to.stride + column] =
                    converted<E>(scaled(x[b / 4][b % 4], scale));
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
