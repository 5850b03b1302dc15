/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_passes.cuh"
#include <utility>

// A block of 256 threads inverts one small symmetric matrix by Gauss-Jordan elimination:
// thread (y, x) of 16 x 16 holds the elements (y + 16 a, x + 16 b) in registers, and what
// a step shares, a row and a column, passes through shared memory. Two blocks a
// multiprocessor hide each other's barriers.

namespace gr::cudaphy::kernels {
namespace {

constexpr int small_side = 16;
constexpr int small_threads = small_side * small_side;

//! Elements a side of a thread's part that registers hold.
template <typename E>
constexpr int most_small_parts = std::is_same_v<E, double2> ? 4 : 8;
template <typename E>
constexpr int most_small_order = small_side* most_small_parts<E>;

template <typename Use, int... Part>
__device__ inline void each_part(const Use& use, std::integer_sequence<int, Part...>)
{
    (use(std::integral_constant<int, Part>()), ...);
}

/*!
 * Reads the lower triangle, writes the whole inverse; blockIdx.z: matrix. A positive
 * definite matrix needs no pivoting: the state is first + k for the first pivot k (from
 * 1) that is not above 0. Else rows are pivoted partially, without being moved, and the
 * state is `first` where nothing but zeros is left.
 */
template <typename From, typename E, int Parts, bool Positive>
__global__ void __launch_bounds__(small_threads)
    invert_small(device_matrix<const From> a,
                 device_matrix<E> inverse,
                 int n,
                 int first,
                 const unsigned long long* largest,
                 unsigned* states)
{
    constexpr int order = small_side * Parts;
    __shared__ E columns[2][order];
    __shared__ E rows[2][order];
    __shared__ int row_of_step[order];
    __shared__ int step_of_row[order];
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    const int lane = threadIdx.x % 32;
    const auto scale = scale_of<real_of<E>>(largest);
    E e[Parts][Parts];
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            E value = number<E>(0);
            if (i < n && j < n) {
                const auto given = a.item()[size_t(max(i, j)) * a.stride + min(i, j)];
                value = scaled(converted<E>(i < j ? conjugate(given) : given), scale);
                if (i == j) {
                    value = number<E>(re(value));
                }
            }
            e[r][c] = value;
        }
    }
    for (int i = threadIdx.x; i < order; i += small_threads) {
        step_of_row[i] = Positive ? i : -1;
        row_of_step[i] = i;
    }
    int failed = 0; //!< the step, from 1
    // The steps whose column is a thread's one of this number, which is a constant, so
    // that all elements stay in registers.
    const auto take_steps = [&](auto constant) {
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
                for (int r = 0; r < Parts; ++r) {
                    column[y + small_side * r] = e[r][part];
                }
            }
            int pivot_row = step;
            if (!Positive) {
                __syncthreads();
                // Every warp finds the same row.
                real_of<E> most = -1;
                for (int i = lane; i < n; i += 32) {
                    const auto size = size_of(column[i]);
                    if (step_of_row[i] < 0 && size > most) {
                        most = size;
                        pivot_row = i;
                    }
                }
                for (int apart = 16; apart; apart /= 2) {
                    const auto other = __shfl_xor_sync(0xffffffff, most, apart);
                    const int its = __shfl_xor_sync(0xffffffff, pivot_row, apart);
                    if (other > most || (other == most && its < pivot_row)) {
                        most = other;
                        pivot_row = its;
                    }
                }
                // Nothing but NaN leaves no pivot either; what is not finite shows later.
                failed = most > 0 ? 0 : step + 1;
            }
            if (y == pivot_row % small_side) {
#pragma unroll
                for (int r = 0; r < Parts; ++r) {
                    if (r == pivot_row / small_side) {
#pragma unroll
                        for (int c = 0; c < Parts; ++c) {
                            const int j = x + small_side * c;
                            row[j] = j == step ? number<E>(1) : e[r][c];
                        }
                    }
                }
            }
            __syncthreads();
            if (!Positive && threadIdx.x == 0) {
                row_of_step[step] = pivot_row;
                step_of_row[pivot_row] = step;
            }
            E pivot = column[pivot_row];
            if (Positive) {
                pivot = number<E>(re(pivot));
                failed = re(pivot) > 0 ? 0 : step + 1;
            }
            if (failed) {
                continue;
            }
            const E over = reciprocal(pivot);
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                const int i = y + small_side * r;
                if (x == within) {
                    e[r][part] = number<E>(0);
                }
                E factor = negative(product(column[i], over));
                if (i == pivot_row) {
                    factor = over;
#pragma unroll
                    for (int c = 0; c < Parts; ++c) {
                        e[r][c] = number<E>(0);
                    }
                }
#pragma unroll
                for (int c = 0; c < Parts; ++c) {
                    e[r][c] = multiply_add(e[r][c], factor, row[x + small_side * c]);
                }
            }
        }
    };
    each_part(take_steps, std::make_integer_sequence<int, Parts>());
    __syncthreads();
    if (failed) {
        if (threadIdx.x == 0) {
            atomicMin(states + blockIdx.z, unsigned(Positive ? first + failed : first));
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            if (i < n && j < n) {
                const int row = step_of_row[i], column = row_of_step[j];
                inverse.item()[size_t(row) * inverse.stride + column] = e[r][c];
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
