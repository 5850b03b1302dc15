/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/equilibrate.cuh"
#include "kernels/symmetric/cuda/passes.cuh"
#include <utility>

// A block of 256 threads inverts one small symmetric matrix. Thread (y, x) of 16 x 16
// holds the elements (y + 16 a, x + 16 b) in registers. Each step passes one row and one
// column through shared memory.
//
// The elimination goes downwards first. The rows above the pivots follow afterwards.
// Gauss-Jordan elimination does both at once and is shorter, but its A X - I grows by the
// square root of the condition (Higham, Accuracy and Stability of Numerical Algorithms,
// 14.4).

namespace gr::cudaphy::kernels {
namespace {

constexpr int small_side = symmetric_tuning::small::side;
constexpr int small_threads = small_side * small_side;

template <typename E>
constexpr int most_small_parts = symmetric_tuning::small::most_parts<E>;
template <typename E>
constexpr int most_small_order = small_side* most_small_parts<E>;

template <typename Use, int... Part>
__device__ inline void each_part(const Use& use, std::integer_sequence<int, Part...>)
{
    (use(std::integral_constant<int, Part>()), ...);
}

//! Element (i, j) of a symmetric matrix that is given by its lower triangle.
template <typename To, typename From>
__device__ inline To element_of_lower(const From* a, size_t stride, int i, int j)
{
    const auto given = a[size_t(max(i, j)) * stride + min(i, j)];
    const auto value = converted<To>(i < j ? conjugate(given) : given);
    return i == j ? number<To>(re(value)) : value;
}

/*!
 * Inverts a positive definite matrix in place by its factors L D L^H. The elimination
 * downwards leaves L^-1 below the diagonal. Then X = sum over k of l_k^H l_k / d_k, with
 * the rows l_k of L^-1. X takes the place of the rows that this sum has already used.
 * Only tiles on and below the diagonal are computed. Reads the lower triangle, writes
 * both; blockIdx.z: matrix. The state becomes first + k for the first pivot k (from 1)
 * that is not above 0.
 */
template <typename From, typename E, int Parts>
__global__ void __launch_bounds__(small_threads)
    invert_small_definite(device_matrix<const From> a,
                          device_matrix<E> inverse,
                          int n,
                          int first,
                          const unsigned long long* largest,
                          unsigned* states)
{
    constexpr int order = small_side * Parts;
    __shared__ E columns[2][order];
    __shared__ E rows[2][order];
    __shared__ real_of<E> reciprocals[order];
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    const auto scale = scale_of<real_of<E>>(largest);
    E e[Parts][Parts];
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c <= r; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            e[r][c] = i < n && j < n
                          ? scaled(element_of_lower<E>(a.item(), a.stride, i, j), scale)
                          : number<E>(0);
        }
    }
    int failed = 0; // the step that failed, from 1
    // The steps whose pivot column is column `part` of its threads. `part` is a constant,
    // so that all elements stay in registers.
    const auto eliminate = [&](auto constant) {
        constexpr int part = decltype(constant)::value;
        for (int within = 0; within < small_side; ++within) {
            const int step = part * small_side + within;
            if (step >= n || failed) {
                break;
            }
            E* column = columns[step % 2];
            E* row = rows[step % 2];
            if (x == within) {
#pragma unroll
                for (int r = part; r < Parts; ++r) {
                    const int i = y + small_side * r;
                    column[i] = e[r][part];
                    // Right of the pivot, the row is the conjugate of the column.
                    if (i > step) {
                        row[i] = conjugate(e[r][part]);
                    }
                }
            }
            if (y == within) {
#pragma unroll
                for (int c = 0; c <= part; ++c) {
                    const int j = x + small_side * c;
                    if (j <= step) {
                        row[j] = j == step ? number<E>(1) : e[part][c];
                    }
                }
            }
            __syncthreads();
            const auto pivot = re(column[step]);
            failed = pivot > 0 ? 0 : step + 1;
            if (failed) {
                continue;
            }
            const auto over = 1 / pivot;
            if (threadIdx.x == 0) {
                reciprocals[step] = over;
            }
#pragma unroll
            for (int r = part; r < Parts; ++r) {
                const int i = y + small_side * r;
                if (i > step) {
                    if (x == within) {
                        e[r][part] = number<E>(0);
                    }
                    const E factor = scaled(column[i], -over);
#pragma unroll
                    for (int c = 0; c <= r; ++c) {
                        e[r][c] = multiply_add(e[r][c], factor, row[x + small_side * c]);
                    }
                }
            }
        }
    };
    each_part(eliminate, std::make_integer_sequence<int, Parts>());
    if (failed) {
        if (threadIdx.x == 0) {
            atomicMin(states + blockIdx.z, unsigned(first + failed));
        }
        return;
    }
    __syncthreads();
    const auto accumulate = [&](auto constant) {
        constexpr int part = decltype(constant)::value;
        for (int within = 0; within < small_side; ++within) {
            const int step = part * small_side + within;
            if (step >= n) {
                break;
            }
            E* row = rows[step % 2];
            if (y == within) {
#pragma unroll
                for (int c = 0; c <= part; ++c) {
                    const int j = x + small_side * c;
                    row[j] = number<E>(j == step);
                    if (j < step) {
                        row[j] = e[part][c];
                    }
                    e[part][c] = number<E>(0);
                }
            }
            __syncthreads();
            const auto over = reciprocals[step];
#pragma unroll
            for (int r = 0; r <= part; ++r) {
                const E factor = scaled(conjugate(row[y + small_side * r]), over);
#pragma unroll
                for (int c = 0; c <= r; ++c) {
                    // Rows below the step still hold rows of L^-1.
                    if (r < part || y <= within) {
                        e[r][c] = multiply_add(e[r][c], factor, row[x + small_side * c]);
                    }
                }
            }
        }
    };
    each_part(accumulate, std::make_integer_sequence<int, Parts>());
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c <= r; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            if (i < n && j <= i) {
                inverse.item()[size_t(i) * inverse.stride + j] = e[r][c];
                inverse.item()[size_t(j) * inverse.stride + i] = conjugate(e[r][c]);
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
