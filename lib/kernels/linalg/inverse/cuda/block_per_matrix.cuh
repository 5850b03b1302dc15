/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/inverse/cuda/steps.cuh"
#include <algorithm>

// A block inverts a matrix of an order that no warp's registers hold: 33 to 64. 64 x 64
// complex<double> takes 64 KB of shared memory, so that three blocks fit into a
// multiprocessor of an H200.
//
// A warp has every eighth row, and a lane two columns. Rows and columns stay where they
// are: a bit mask says which are left. Reading X undoes the swaps. A step has two
// barriers. Before the second one every warp reads the pivot's row, finds the pivot and
// scales the row. All warps do the same, because that takes less time than to exchange
// the result. After the barrier each warp updates its own rows, and only this warp reads
// their factors. The update also searches the next step's row: the largest key with the
// row's index is the key of its largest element.

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_block_order = 64;

//! The dynamic shared memory of inverse_block_per_matrix.
template <typename T>
constexpr size_t block_matrix_bytes(int n)
{
    return size_t(n) * n * sizeof(T);
}

//! One block a matrix.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    inverse_block_per_matrix(const batch_of<T> batch, int n, pivoting how)
{
    constexpr int warps = block_threads / 32;
    constexpr int columns = most_block_order / 32; // a lane
    constexpr int mask = inverse_pivot::index_mask;
    extern __shared__ __align__(16) char dynamic_shared[];
    __shared__ int shared_best[warps];
    __shared__ signed char row_to[most_block_order];    // the row of X that a row becomes
    __shared__ signed char column_to[most_block_order]; // and so for the columns

    T* const m = reinterpret_cast<T*>(dynamic_shared);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const size_t item = blockIdx.x;
    const size_t base = item * n * n;
    unsigned long long rows_left = ~0ull;
    unsigned long long columns_left = ~0ull;

    // The largest key among this thread's elements that the next step searches.
    int key = -1;
    const auto consider = [&](T a, int i, int j, int next) {
        const bool looked_at = (how == pivoting::full && columns_left >> j & 1) ||
                               (how == pivoting::partial && j == next);
        if (looked_at && (rows_left >> i & 1)) {
            key = max(key, key_of(bits_of(size_of(a)), mask - i));
        }
    };
    const auto publish_warps_best = [&] {
        key = largest_of_lanes<32>(key);
        if (lane == 0) {
            shared_best[warp] = key;
        }
        key = -1;
    };

    real_of<T> finite = 0;
    for (int i = warp; i < n; i += warps) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            const int j = c * 32 + lane;
            if (j < n) {
                const T a = batch.a[base + i * n + j];
                m[i * n + j] = a;
                nan_unless_finite(finite, a);
                consider(a, i, j, 0);
            }
        }
    }
    if (threadIdx.x < most_block_order) {
        // If NaN misleads the search, all places must still be within the matrix.
        row_to[threadIdx.x] = column_to[threadIdx.x] = 0;
    }
    publish_warps_best();
    const bool a_lost = __syncthreads_or(!(finite == 0));

    elimination<T> so_far; // the same in every thread
    finite = 0;
    for (int k = 0; k < n; ++k) {
        int row = k;
        int column = k;
        if (how != pivoting::none) {
            row = mask - (largest_of_lanes<32>(shared_best[lane % warps]) & mask);
        }
        T t[columns];
        int best = -1;
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            const int j = c * 32 + lane;
            t[c] = make_element<T>(0);
            if (j < n) {
                t[c] = m[row * n + j];
                if (columns_left >> j & 1) {
                    best = max(best, key_of(bits_of(size_of(t[c])), mask - j));
                }
            }
        }
        if (how == pivoting::full) {
            column = mask - (largest_of_lanes<32>(best) & mask);
        }
        const T pivot = usable_pivot(how, m[row * n + column], k, so_far);
        so_far.determinant = multiply(so_far.determinant, pivot);
        // The reciprocal of an infinite pivot would be 0 and hide it.
        nan_unless_finite(finite, pivot);
        const T r = reciprocal(pivot);
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            t[c] = select(c * 32 + lane == column, r, multiply(t[c], r));
        }
        rows_left &= ~(1ull << row);
        columns_left &= ~(1ull << column);
        if (threadIdx.x == 0) {
            row_to[row] = column;
            column_to[column] = row;
        }
        __syncthreads();

        for (int i = warp; i < n; i += warps) {
            T* const of = m + i * n;
            const T factor = of[column];
            T a[columns];
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const int j = c * 32 + lane;
                // The pivot's column starts again from 0, which makes its update -c r.
                a[c] = make_element<T>(0);
                if (j < n && j != column) {
                    a[c] = of[j];
                }
            }
            __syncwarp();
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const int j = c * 32 + lane;
                a[c] = i == row ? t[c] : subtract_product(a[c], factor, t[c]);
                if (j < n) {
                    of[j] = a[c];
                    consider(a[c], i, j, k + 1);
                }
            }
        }
        if (how != pivoting::none) {
            publish_warps_best();
        }
        __syncthreads();
    }

    for (int e = threadIdx.x; e < n * n; e += block_threads) {
        nan_unless_finite(finite, m[e]);
    }
    const bool x_lost = __syncthreads_or(!(finite == 0));
    if (a_lost || (x_lost && !so_far.zero)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from. X is read in that order, so that writes are side by side.
    for (int i = warp; i < n; i += warps) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            const int j = c * 32 + lane;
            if (j < n) {
                batch.x[base + i * n + j] =
                    so_far.zero ? make_element<T>(0) : m[column_to[i] * n + row_to[j]];
            }
        }
    }
    if (batch.determinant) {
        // A permutation is odd if its inversions are.
        int inversions = 0;
        for (int j = 0; j < int(threadIdx.x) && int(threadIdx.x) < n; ++j) {
            inversions += row_to[j] > row_to[threadIdx.x];
        }
        so_far.odd = __syncthreads_count(inversions % 2) % 2;
    }
    if (threadIdx.x == 0) {
        report(batch, item, so_far);
    }
}

//! Allows the shared memory of the largest order. Needed once for a device.
template <typename T>
void allow_shared_memory(int device)
{
    int most = 0;
    cuda_check(
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
    cudaFuncAttributes kernel{};
    cuda_check(cudaFuncGetAttributes(&kernel, inverse_block_per_matrix<T>),
               "cudaFuncGetAttributes");
    // A device with less shared memory refuses to launch the orders that need more.
    const int left = most - int(kernel.sharedSizeBytes);
    const int bytes = std::min(left, int(block_matrix_bytes<T>(most_block_order)));
    cuda_check(cudaFuncSetAttribute(inverse_block_per_matrix<T>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    bytes),
               "cudaFuncSetAttribute");
}

} // namespace
} // namespace gr::cudaphy::kernels
