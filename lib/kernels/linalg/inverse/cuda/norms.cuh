/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/element.cuh"
#include <gnuradio/cudaphy/kernels/inverse.h>

// The reciprocal condition 1 / (|A|_1 |X|_1), in kernels before and after the inversion,
// so that only a caller who wants it pays for it. |A|_1 waits in the place of rcond. A
// thread sums a column from its first row on, as the CPU does, and so gives the same
// bits.
//
// Row-major: as many lanes a matrix as it has columns, up to a warp, read a row at a
// time; interleaved: a thread a matrix. Either way neighbours read neighbours.

namespace gr::cudaphy::kernels {
namespace {

constexpr int norm_threads = 128;

__device__ inline float root(float a) { return __fsqrt_rn(a); }
__device__ inline double root(double a) { return __dsqrt_rn(a); }
__device__ inline float quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline double quotient(double a, double b) { return __ddiv_rn(a, b); }

template <typename T>
__device__ inline real_of<T> modulus_of(T a)
{
    if constexpr (is_complex<T>) {
        const auto s = scale_for_bits<real_of<T>>(bits_of(size_of(a)));
        const auto re = a.x * s;
        const auto im = a.y * s;
        return root(fused(re, re, im * im)) / s; // s is a power of two
    } else {
        return fabs(a);
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

//! Lanes that share a matrix of order n: a power of two.
__host__ __device__ inline int norm_lanes(int n, matrix_layout layout)
{
    int lanes = 1;
    while (layout == matrix_layout::row_major && lanes < n && lanes < 32) {
        lanes *= 2;
    }
    return lanes;
}

//! Blocks of norm_threads that the kernels below take.
inline unsigned norm_blocks(size_t batch, int n, matrix_layout layout)
{
    const size_t threads = batch * norm_lanes(n, layout);
    return unsigned((threads + norm_threads - 1) / norm_threads);
}

template <typename T>
struct norm_of {
    size_t item;
    bool first;       //!< of the lanes that share the matrix
    real_of<T> value; //!< |A|_1; the first lane has it
    bool zero;        //!< whether all elements are 0; the first lane has it

    //! All lanes of a warp must call it. Lanes beyond the batch repeat its last matrix.
    __device__ norm_of(const T* a, size_t batch, int n, matrix_layout layout)
    {
        const int lanes = norm_lanes(n, layout);
        const size_t thread = size_t(blockIdx.x) * norm_threads + threadIdx.x;
        const int lane = int(threadIdx.x) % lanes;
        item = thread / lanes;
        first = lane == 0 && item < batch;
        value = 0;
        int nonzero = 0;
        const size_t from = item < batch ? item : batch - 1;
        const bool interleaved = layout == matrix_layout::interleaved;
        const size_t apart = interleaved ? batch : 1;
        const T* const matrix = a + (interleaved ? from : from * n * n);
        for (int j = lane; j < n; j += lanes) {
            real_of<T> sum = 0;
#pragma unroll 4
            for (int i = 0; i < n; ++i) {
                const T element = matrix[(size_t(i) * n + j) * apart];
                sum += modulus_of(element);
                nonzero |= !is_zero(element);
            }
            value = larger(value, sum);
        }
        for (int distance = lanes / 2; distance; distance /= 2) {
            value = larger(value, __shfl_xor_sync(0xffffffff, value, distance));
            nonzero |= __shfl_xor_sync(0xffffffff, nonzero, distance);
        }
        zero = !nonzero;
    }
};

//! |A|_1 of every matrix.
template <typename T>
__global__ void __launch_bounds__(norm_threads)
    matrix_norms(const T* a, real_of<T>* norms, size_t batch, int n, matrix_layout layout)
{
    const norm_of<T> norm(a, batch, n, layout);
    if (norm.first) {
        norms[norm.item] = norm.value;
    }
}

//! On entry rcond holds |A|_1. X = 0 means that there is no inverse, because every
//! inverse has the last pivot's reciprocal as an element, which is not 0.
template <typename T>
__global__ void __launch_bounds__(norm_threads) reciprocal_condition(
    const T* x, real_of<T>* rcond, size_t batch, int n, matrix_layout layout)
{
    const norm_of<T> norm(x, batch, n, layout);
    if (norm.first) {
        const auto condition = rcond[norm.item] * norm.value;
        rcond[norm.item] = norm.zero ? 0 : quotient(real_of<T>(1), condition);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
