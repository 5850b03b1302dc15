/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/update/inverse_update.cuh"
#include <gnuradio/cudaphy/kernels/inverse_update.h>

// Computes the small matrix M = (I + D V^H Y)^-1 D of an update of rank k > 1, in double
// precision.

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_rank = inverse_update<float>::max_rank;
constexpr int gram_threads = 256;
//! Threads a side; each of them holds every 16th row and column.
constexpr int gram_side = 16;
constexpr int gram_parts = most_rank / gram_side;
constexpr int gram_rows = 64; //!< rows of V and Y for a thread block
constexpr int gram_rows_at_once = 16;
static_assert(gram_side * gram_side == gram_threads);

//! The part of V^H Y of each chunk of 64 rows, (chunks, k, k). blockIdx.x: chunk
template <typename E>
__global__ void __launch_bounds__(gram_threads)
    multiply_gram(const E* v, const E* y, int n, int k, wide_of<E>* partial)
{
    using V = wide_of<E>;
    __shared__ V left[gram_rows_at_once * most_rank];
    __shared__ V right[gram_rows_at_once * most_rank];
    const int first = blockIdx.x * gram_rows;
    const int x = threadIdx.x % gram_side, p0 = threadIdx.x / gram_side;
    v += size_t(blockIdx.z) * n * k;
    y += size_t(blockIdx.z) * n * k;
    V total[gram_parts][gram_parts];
#pragma unroll
    for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
        for (int b = 0; b < gram_parts; ++b) {
            total[a][b] = number<V>(0);
        }
    }
    const int end = min(n, first + gram_rows);
    for (int from = first; from < end; from += gram_rows_at_once) {
        const int rows = min(gram_rows_at_once, end - from);
        __syncthreads();
        for (int e = threadIdx.x; e < rows * k; e += gram_threads) {
            left[e] = conjugate(converted<V>(v[size_t(from) * k + e]));
            right[e] = converted<V>(y[size_t(from) * k + e]);
        }
        __syncthreads();
        for (int r = 0; r < rows; ++r) {
            V across[gram_parts];
#pragma unroll
            for (int b = 0; b < gram_parts; ++b) {
                const int q = x + gram_side * b;
                across[b] = q < k ? right[r * k + q] : number<V>(0);
            }
#pragma unroll
            for (int a = 0; a < gram_parts; ++a) {
                const int p = p0 + gram_side * a;
                if (gram_side * a < k) {
                    const V down = p < k ? left[r * k + p] : number<V>(0);
#pragma unroll
                    for (int b = 0; b < gram_parts; ++b) {
                        total[a][b] = multiply_add(total[a][b], down, across[b]);
                    }
                }
            }
        }
    }
    partial += (size_t(blockIdx.z) * gridDim.x + blockIdx.x) * k * k;
#pragma unroll
    for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
        for (int b = 0; b < gram_parts; ++b) {
            const int p = p0 + gram_side * a, q = x + gram_side * b;
            if (p < k && q < k) {
                partial[p * k + q] = total[a][b];
            }
        }
    }
}

//! I + D V^H Y, (k, k). blockIdx.x: 256 elements
template <typename E>
__global__ void __launch_bounds__(gram_threads) sum_gram(
    const wide_of<E>* partial, int chunks, const real_of<E>* d, int k, wide_of<E>* to)
{
    using V = wide_of<E>;
    const int e = blockIdx.x * gram_threads + threadIdx.x;
    if (e >= k * k) {
        return;
    }
    partial += size_t(blockIdx.z) * chunks * k * k;
    V total = number<V>(0);
#pragma unroll 8
    for (int chunk = 0; chunk < chunks; ++chunk) {
        total = sum(total, partial[size_t(chunk) * k * k + e]);
    }
    const double by = d[size_t(blockIdx.z) * k + e / k];
    to[size_t(blockIdx.z) * k * k + e] =
        sum(scaled(total, by), number<V>(e / k == e % k ? 1 : 0));
}

/*!
 * M = S^-1 D and the status, by Gauss-Jordan elimination in place with partial pivoting.
 * Rows are not moved: if row p is the pivot of step s, it becomes row s of the inverse.
 * Its element t then belongs to column pivot_of[t]. A thread block takes a matrix, a
 * thread every 16th row and column.
 */
template <typename E>
__global__ void __launch_bounds__(gram_threads)
    invert_gram(const wide_of<E>* s, const real_of<E>* d, int k, E* m, int* status)
{
    using V = wide_of<E>;
    __shared__ V columns[2][most_rank];
    __shared__ V rows[2][most_rank];
    __shared__ double sizes[gram_threads / 32];
    __shared__ int step_of[most_rank];  // by row
    __shared__ int pivot_of[most_rank]; // by step
    const int x = threadIdx.x % gram_side, y = threadIdx.x / gram_side;
    const int lane = threadIdx.x % 32;
    s += size_t(blockIdx.x) * k * k;
    d += size_t(blockIdx.x) * k;
    m += size_t(blockIdx.x) * k * k;
    V e[gram_parts][gram_parts];
    double largest = 1;
#pragma unroll
    for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
        for (int b = 0; b < gram_parts; ++b) {
            const int p = y + gram_side * a, q = x + gram_side * b;
            e[a][b] = p < k && q < k ? s[p * k + q] : number<V>(0);
            largest =
                fmax(largest, is_finite(e[a][b]) ? modulus(e[a][b]) : double(INFINITY));
        }
    }
    for (int apart = 16; apart; apart /= 2) {
        largest = fmax(largest, __shfl_xor_sync(0xffffffff, largest, apart));
    }
    if (lane == 0) {
        sizes[threadIdx.x / 32] = largest;
    }
    __syncthreads();
    for (int warp = 0; warp < gram_threads / 32; ++warp) {
        largest = fmax(largest, sizes[warp]);
    }
    int code = is_finite(largest) ? 0 : -1;
    unsigned long long taken = 0; // bit p: row p was a pivot
    for (int step = 0; step < k && code == 0; ++step) {
        V* const column = columns[step % 2];
        V* const row = rows[step % 2];
#pragma unroll
        for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
            for (int b = 0; b < gram_parts; ++b) {
                if (x + gram_side * b == step) {
                    column[y + gram_side * a] = e[a][b];
                }
            }
        }
        __syncthreads();
        double most = -1;
        int pivot = 0;
        for (int p = lane; p < k; p += 32) {
            const double size = modulus(column[p]);
            if (!(taken >> p & 1) && size > most) {
                most = size;
                pivot = p;
            }
        }
        for (int apart = 16; apart; apart /= 2) {
            const double other_most = __shfl_xor_sync(0xffffffff, most, apart);
            const int other_pivot = __shfl_xor_sync(0xffffffff, pivot, apart);
            if (other_most > most || (other_most == most && other_pivot < pivot)) {
                most = other_most;
                pivot = other_pivot;
            }
        }
        if (!(most > largest * k * smallest_share<E>)) {
            code = 1;
            break;
        }
        const V over = reciprocal(column[pivot]);
#pragma unroll
        for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
            for (int b = 0; b < gram_parts; ++b) {
                if (y + gram_side * a == pivot) {
                    const int q = x + gram_side * b;
                    row[q] = q == step ? over : product(e[a][b], over);
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int a = 0; a < gram_parts; ++a) {
            const int p = y + gram_side * a;
            const V factor = negative(column[p]);
#pragma unroll
            for (int b = 0; b < gram_parts; ++b) {
                const int q = x + gram_side * b;
                const V old = q == step ? number<V>(0) : e[a][b];
                e[a][b] = p == pivot ? row[q] : multiply_add(old, factor, row[q]);
            }
        }
        taken |= 1ull << pivot;
        if (threadIdx.x == 0) {
            step_of[pivot] = step;
            pivot_of[step] = pivot;
        }
    }
    if (threadIdx.x == 0) {
        status[blockIdx.x] = code;
    }
    __syncthreads();
#pragma unroll
    for (int a = 0; a < gram_parts; ++a) {
#pragma unroll
        for (int b = 0; b < gram_parts; ++b) {
            const int p = y + gram_side * a, q = x + gram_side * b;
            if (code == 0 && p < k && q < k) {
                const int c = pivot_of[q];
                m[step_of[p] * k + c] = converted<E>(scaled(e[a][b], double(d[c])));
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
