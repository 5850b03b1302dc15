/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/triangular/element.cuh"

// The printed algorithms of source 3, Shanghai Biren (2023): its rounds, and the columns
// that it is compared with.
//
// A warp works on 32 / W triangles of order W = 2^n in shared memory: its 32 lanes are
// the 32 rows of all triangles together, whatever W is. A row takes W + 1 elements, an
// odd number, so that 32 lanes that read down a column meet 32 different banks. The
// diagonals are inverted already, which is the source's round 1: a lane inverts a row's
// element.
//
// recursive_blocks() has rounds 2 to n + 1. Round 2 has one product of three factors for
// every odd lane. Round k >= 3 has 32 / 2H squares of order H = 2^(k-2) and 2H lanes for
// each square, so that a lane computes H / 2 = 2^(k-3) elements: the source's parallel
// steps. The source leaves open how the two products of -L22^-1 (L21 L11^-1) are
// scheduled. Here they are two passes over the same 2^(k-3) steps:
// - L21 L11^-1: a lane holds a row of L21 in registers and takes every other column. Step
//   s skips the first 2s terms, which are zeros of L11^-1's other triangle.
// - The result times -L22^-1: a lane holds a column and takes every other row. Step s
// ends
//   after 2s + 2 terms.
// No lane waits in either pass: N = 32 takes 202 multiply-adds a lane. Substitution with
// every lane busy would take N (N^2 - 1) / 6 / 32 = 171.
//
// columns() is LAPACK's xTRTI2: from the last column to the first, -X22 l x_jj, with a
// lane for an element. It takes W^2 / 2 multiply-adds a lane, and half of the lanes are
// idle on average.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

//! Round k >= 3: all squares of order H = 2^(k-2). Returns whether this lane's elements
//! are finite; they belong to the matrix of its row.
template <typename T, int W, int H>
__device__ inline bool invert_squares(T* tile, int lane)
{
    using number = element<T>;
    constexpr int stride = W + 1;
    const int own = lane % H;
    const int half = lane / H % 2;
    const int top = lane - lane % (2 * H);
    const T* l11 = tile + top * stride + top % W;
    T* l21 = tile + (top + H) * stride + top % W;
    const T* l22 = l21 + H;
    T held[H];
    T sums[H / 2];

#pragma unroll
    for (int m = 0; m < H; ++m) {
        held[m] = l21[own * stride + m];
    }
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        sums[s] = number::make(0);
#pragma unroll
        for (int m = 2 * s; m < H; ++m) {
            sums[s] =
                number::multiply_add(sums[s], held[m], l11[m * stride + 2 * s + half]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        l21[own * stride + 2 * s + half] = sums[s];
    }
    __syncwarp();

#pragma unroll
    for (int m = 0; m < H; ++m) {
        held[m] = number::negative(l21[m * stride + own]);
    }
    bool finite = true;
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        sums[s] = number::make(0);
#pragma unroll
        for (int m = 0; m < 2 * s + 2; ++m) {
            sums[s] =
                number::multiply_add(sums[s], l22[(2 * s + half) * stride + m], held[m]);
        }
        finite = finite && number::is_finite(sums[s]);
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        l21[(2 * s + half) * stride + own] = sums[s];
    }
    __syncwarp();
    return finite;
}

//! Rounds 2 .. n + 1, after the diagonal.
template <typename T, int W>
__device__ inline bool recursive_blocks(T* tile, int lane)
{
    using number = element<T>;
    constexpr int stride = W + 1;
    bool finite = true;
    if constexpr (W >= 2) {
        if (lane % 2 == 1) {
            T* l21 = tile + lane * stride + lane % W - 1;
            const T zero = number::make(0);
            const T product = number::multiply_add(zero, *l21, l21[-stride]);
            *l21 = number::multiply_add(zero, l21[1], number::negative(product));
            finite = number::is_finite(*l21);
        }
        __syncwarp();
    }
    if constexpr (W >= 4) {
        finite = invert_squares<T, W, 2>(tile, lane) && finite;
    }
    if constexpr (W >= 8) {
        finite = invert_squares<T, W, 4>(tile, lane) && finite;
    }
    if constexpr (W >= 16) {
        finite = invert_squares<T, W, 8>(tile, lane) && finite;
    }
    if constexpr (W >= 32) {
        finite = invert_squares<T, W, 16>(tile, lane) && finite;
    }
    return finite;
}

template <typename T, int W>
__device__ inline bool columns(T* tile, int lane)
{
    using number = element<T>;
    constexpr int stride = W + 1;
    const int i = lane % W;
    T* own = tile + lane * stride;
    const T* first = own - i * stride;
    bool finite = true;
    for (int j = W - 2; j >= 0; --j) {
        T sum = number::make(0);
        for (int m = j + 1; m < W; ++m) {
            sum = number::multiply_add(sum, own[m], first[m * stride + j]);
        }
        sum = number::multiply_add(
            number::make(0), number::negative(sum), first[j * stride + j]);
        __syncwarp();
        if (i > j) {
            own[j] = sum;
            finite = finite && number::is_finite(sum);
        }
        __syncwarp();
    }
    return finite;
}

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
