/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/symmetric/cuda/passes.cuh"

// Equilibration of symmetric matrices: B = D A D, where D are powers of two, so that the
// largest element of every row of B is about 1. Ruiz's iteration (2001) divides rows and
// columns by the square root of their size in each round. Whether B is singular does not
// depend on units. X = D B^-1 D.

namespace gr::cudaphy::kernels {
namespace {

//! Each round halves the binary logarithm of the spread. Ten rounds take 2^1000 below 2.
constexpr int equilibrations = 10;

template <typename E>
__device__ inline E times_power(E a, int power)
{
    if constexpr (is_complex<E>) {
        return { scalbn(a.x, power), scalbn(a.y, power) };
    } else {
        return scalbn(a, power);
    }
}

//! The summand for the exponent of a row, given the size of its largest element.
template <typename R>
__device__ inline int exponent_step(R size)
{
    if (!(size > 0) || !is_finite(size)) {
        return 0;
    }
    // The division rounds towards 0, so that sizes within [1/2, 4) stay.
    return -ilogb(size) / 2;
}

//! The largest sum of a row's sizes, or NaN if a sum is not finite. The matrix lies in
//! the registers of a block of Side x Side threads: e[r][c] is (y + Side r, x + Side c).
template <typename E, int Parts, int Side>
__device__ inline real_of<E> largest_row_sum(const E (&e)[Parts][Parts])
{
    using R = real_of<E>;
    __shared__ R largest[Side];
    R most = 0, zero = 0; // `zero` becomes NaN if a sum is not finite
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
        R total = 0;
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            total += size_of(e[r][c]);
        }
        for (int apart = Side / 2; apart; apart /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, apart);
        }
        most = fmax(most, total);
        zero += total - total;
    }
    __syncthreads();
    if (threadIdx.x % Side == 0) {
        largest[threadIdx.x / Side] = most + zero;
    }
    __syncthreads();
    for (int y = 0; y < Side; ++y) {
        most = fmax(most, largest[y]);
        zero += largest[y] - largest[y];
    }
    return most + zero;
}

//! Equilibrates a matrix that lies in registers as above, and writes the exponents of its
//! rows. \returns the largest sum of a row's sizes. Ends with a barrier.
template <typename E, int Parts, int Side>
__device__ inline real_of<E> equilibrate_tile(E (&e)[Parts][Parts], int* exponents)
{
    using R = real_of<E>;
    __shared__ int steps[Side * Parts];
    const int x = threadIdx.x % Side, y = threadIdx.x / Side;
    for (int i = threadIdx.x; i < Side * Parts; i += Side * Side) {
        exponents[i] = 0;
    }
    for (int round = 0; round < equilibrations; ++round) {
        bool changes = false;
#pragma unroll
        for (int r = 0; r < Parts; ++r) {
            R most = 0;
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                most = fmax(most, size_of(e[r][c]));
            }
            for (int apart = Side / 2; apart; apart /= 2) {
                most = fmax(most, __shfl_xor_sync(0xffffffff, most, apart));
            }
            const int step = exponent_step(most);
            changes = changes || step;
            if (x == 0) {
                steps[y + Side * r] = step;
            }
        }
        if (!__syncthreads_or(changes)) {
            break;
        }
#pragma unroll
        for (int r = 0; r < Parts; ++r) {
            if (x == 0) {
                exponents[y + Side * r] += steps[y + Side * r];
            }
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                e[r][c] = times_power(e[r][c], steps[y + Side * r] + steps[x + Side * c]);
            }
        }
        __syncthreads();
    }
    return largest_row_sum<E, Parts, Side>(e);
}

//! One round for a large matrix with both triangles: exponents before and after it. One
//! warp for each row; blockDim.x is a multiple of 32.
template <typename E>
__global__ void
next_exponents(device_matrix<const E> a, int n, const int* before, int* after)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= n) {
        return;
    }
    double most = 0;
    for (int j = threadIdx.x % 32; j < n; j += 32) {
        const auto value = converted<wide_of<E>>(a.data[size_t(row) * a.stride + j]);
        most = fmax(most, size_of(times_power(value, before[row] + before[j])));
    }
    for (int apart = 16; apart; apart /= 2) {
        most = fmax(most, __shfl_xor_sync(0xffffffff, most, apart));
    }
    if (threadIdx.x % 32 == 0) {
        after[row] = before[row] + exponent_step(most);
    }
}

//! Equilibrates a large matrix. The first n of the 2 n `exponents` become the exponents.
template <typename E>
void find_exponents(device_matrix<const E> a, int n, int* exponents, cudaStream_t stream)
{
    static_assert(equilibrations % 2 == 0);
    constexpr int threads = 256;
    cuda_check(cudaMemsetAsync(exponents, 0, n * sizeof(int), stream), "cudaMemsetAsync");
    for (int round = 0; round < equilibrations; ++round) {
        int* const before = exponents + (round % 2 ? n : 0);
        int* const after = exponents + (round % 2 ? 0 : n);
        next_exponents<E>
            <<<(n + threads / 32 - 1) / (threads / 32), threads, 0, stream>>>(
                a, n, before, after);
    }
    cuda_check_launch("symmetric_inverse: next_exponents");
}

//! Multiplies element (i, j) by 2^(sign (exponents[i] + exponents[j])). blockIdx = tile
template <typename E>
__global__ void times_exponents(
    device_matrix<E> a, int n, const int* exponents, int sign, unsigned* state)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < n && j < n) {
            E& element = a.data[size_t(i) * a.stride + j];
            element = times_power(element, sign * (exponents[i] + exponents[j]));
            if (state && !is_finite(element)) {
                atomicMin(state, result_not_finite);
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
