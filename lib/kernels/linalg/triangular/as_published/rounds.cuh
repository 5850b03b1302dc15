/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime.h>

// A warp on 32 / W triangles of order W = 2^n in shared memory: its 32 lanes are the 32
// rows of all of them together, whatever W is. A row takes W + 1 elements, an odd number,
// so that 32 lanes reading down a column meet 32 different banks. The diagonals are
// inverted already.
//
// recursive_blocks, the algorithm of Shanghai Biren (2023), goes in n + 1 rounds. Round 1
// inverts the diagonal, a lane a row; round 2 has one product of three for every odd
// lane; round k >= 3 finds 32 / 2H squares of order H = 2^(k-2), and 2H lanes for each,
// so a lane computes H / 2 = 2^(k-3) elements: the source's parallel steps. The source
// leaves open how the two products of -L22^-1 (L21 L11^-1) are scheduled. Here they are
// two passes over the same 2^(k-3) steps:
// - L21 L11^-1: a lane holds a row of L21 in registers and takes every other column, so
//   that step s skips the first 2s terms, which are zeros of L11^-1's other triangle;
// - times -L22^-1: a lane holds a column and takes every other row, where step s ends
//   after 2s + 2 terms.
// No lane waits in either: N = 32 takes 202 multiply-adds a lane, where substitution with
// every lane busy would take N (N^2 - 1) / 6 / 32 = 171.
//
// columns is LAPACK's xTRTI2: from the last column to the first, -X22 l x_jj, a lane an
// element; W^2 / 2 multiply-adds a lane, half of the lanes idle on average.

namespace gr::cudaphy::kernels {
namespace {

constexpr unsigned all_lanes = 0xffffffff;
constexpr int warp_lanes = 32;

template <typename T>
constexpr bool is_complex = false;
template <>
constexpr bool is_complex<float2> = true;
template <>
constexpr bool is_complex<double2> = true;

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

//! sum + a b
template <typename T>
__device__ inline T multiply_add(T sum, T a, T b)
{
    if constexpr (is_complex<T>) {
        sum.x = fused(-a.y, b.y, fused(a.x, b.x, sum.x));
        sum.y = fused(a.y, b.x, fused(a.x, b.y, sum.y));
        return sum;
    } else {
        return fused(a, b, sum);
    }
}

template <typename T>
__device__ inline T negative(T a)
{
    if constexpr (is_complex<T>) {
        a.x = -a.x;
        a.y = -a.y;
        return a;
    } else {
        return -a;
    }
}

template <typename T>
__device__ inline T make_element(int value)
{
    T a{};
    if constexpr (is_complex<T>) {
        a.x = value;
    } else {
        a = value;
    }
    return a;
}

template <typename T>
__device__ inline bool is_finite(T a)
{
    if constexpr (is_complex<T>) {
        return is_finite(a.x) && is_finite(a.y);
    } else {
        return a - a == 0;
    }
}

template <typename T>
__device__ inline bool is_zero(T a)
{
    if constexpr (is_complex<T>) {
        return a.x == 0 && a.y == 0;
    } else {
        return a == 0;
    }
}

//! Complex as Smith's: the modulus is never squared, and halved it can't overflow.
template <typename T>
__device__ inline T reciprocal(T a)
{
    if constexpr (is_complex<T>) {
        const auto re = a.x;
        const auto im = a.y;
        using real = decltype(a.x);
        const real size = fmax(fabs(re), fabs(im));
        const real half_re = real(0.5) * (re / size);
        const real half_im = real(0.5) * (im / size);
        const real half = fused(half_re, re, half_im * im);
        a.x = half_re / half;
        a.y = -half_im / half;
        return a;
    } else {
        return 1 / a;
    }
}

//! Round k >= 3: all squares of order H = 2^(k-2). Returns whether this lane's elements
//! are finite; they belong to the matrix of its row.
template <typename T, int W, int H>
__device__ inline bool invert_squares(T* tile, int lane)
{
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
        sums[s] = make_element<T>(0);
#pragma unroll
        for (int m = 2 * s; m < H; ++m) {
            sums[s] = multiply_add(sums[s], held[m], l11[m * stride + 2 * s + half]);
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
        held[m] = negative(l21[m * stride + own]);
    }
    bool finite = true;
#pragma unroll
    for (int s = 0; s < H / 2; ++s) {
        sums[s] = make_element<T>(0);
#pragma unroll
        for (int m = 0; m < 2 * s + 2; ++m) {
            sums[s] = multiply_add(sums[s], l22[(2 * s + half) * stride + m], held[m]);
        }
        finite = finite && is_finite(sums[s]);
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
    constexpr int stride = W + 1;
    bool finite = true;
    if constexpr (W >= 2) {
        if (lane % 2 == 1) {
            T* l21 = tile + lane * stride + lane % W - 1;
            const T zero = make_element<T>(0);
            const T product = multiply_add(zero, *l21, l21[-stride]);
            *l21 = multiply_add(zero, l21[1], negative(product));
            finite = is_finite(*l21);
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
    constexpr int stride = W + 1;
    const int i = lane % W;
    T* own = tile + lane * stride;
    const T* first = own - i * stride;
    bool finite = true;
    for (int j = W - 2; j >= 0; --j) {
        T sum = make_element<T>(0);
        for (int m = j + 1; m < W; ++m) {
            sum = multiply_add(sum, own[m], first[m * stride + j]);
        }
        sum = multiply_add(make_element<T>(0), negative(sum), first[j * stride + j]);
        __syncwarp();
        if (i > j) {
            own[j] = sum;
            finite = finite && is_finite(sum);
        }
        __syncwarp();
    }
    return finite;
}

} // namespace
} // namespace gr::cudaphy::kernels
