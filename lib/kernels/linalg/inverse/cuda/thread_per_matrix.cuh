/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_tile.cuh"

// A thread inverts a matrix. The matrix is in the thread's registers (8 x 8 complex: 128
// registers) and all loops are unrolled. A swap is therefore a pass of selects, threads
// exchange nothing, and nothing is computed twice. Writing X undoes the swaps: an element
// goes to its final place in shared memory.
//
// 8 x 8 complex takes 2048 fused multiply-adds, 1800 selects to swap, 700 instructions to
// search and 600 for the rest. An H200 issues 7800 while its memory moves the 1 KB.

namespace gr::cudaphy::kernels {
namespace {

//! to = from if `which`, in the way that is faster; `minus_zero` as for move_if().
template <int N, pivoting Pivoting, typename T>
__device__ __forceinline__ void pick_if(bool which, T& to, T from, real_of<T> minus_zero)
{
    if constexpr (thread_policy<T, N, Pivoting>::moves_by_select) {
        to = select(which, from, to);
    } else {
        move_if(which, to, from, minus_zero);
    }
}

//! Finds the pivot in the first `rest` rows and columns. Moves its row to `t` and its
//! column to `c`, with the pivot in t[0] and c[0]; row 0 and column 0 take their places.
//! `row` and `column` hold 63 - the index in A. Odd: whether `rest` is odd, which spares
//! every other branch.
template <pivoting Pivoting, bool Odd, typename T, int N>
__device__ __forceinline__ void
take_pivot(T (&m)[N][N], T (&t)[N], T (&c)[N], int (&row)[N], int (&column)[N], int rest)
{
#pragma unroll
    for (int j = 0; j < N; ++j) {
        t[j] = m[0][j];
    }
    if constexpr (Pivoting != pivoting::none) {
        int best = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i % 2 == Odd && i >= rest) {
                break;
            }
            // As integers, because the hardware compares three of them at a time.
            int size = bits_of(size_of(m[i][0]));
            if constexpr (Pivoting == pivoting::full) {
#pragma unroll
                for (int j = 1; j < N; ++j) {
                    if (j - (j + Odd) % 2 < rest) {
                        size = max(size, bits_of(size_of(m[i][j])));
                    }
                }
            }
            const int key = key_of(size, row[i]);
            best = i == 0 ? key : max(best, key);
        }
        best &= inverse_pivot::index_mask;
#pragma unroll
        for (int i = 1; i < N; ++i) {
            if (i % 2 == Odd && i >= rest) {
                break;
            }
            const bool here = row[i] == best;
            const auto minus_zero = opaque(here, real_of<T>(-0.0));
#pragma unroll
            for (int j = 0; j < N; ++j) {
                if (i == 1) { // t is still a copy of row 0
                    t[j] = select(here, m[i][j], t[j]);
                } else {
                    pick_if<N, Pivoting>(here, t[j], m[i][j], minus_zero);
                }
                pick_if<N, Pivoting>(here, m[i][j], m[0][j], minus_zero);
            }
            row[i] = here ? row[0] : row[i];
        }
        row[0] = best;
    }
    c[0] = t[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        c[i] = m[i][0];
    }
    if constexpr (Pivoting == pivoting::full) {
        int best = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (j % 2 == Odd && j >= rest) {
                break;
            }
            const int key = key_of(bits_of(size_of(t[j])), column[j]);
            best = j == 0 ? key : max(best, key);
        }
        best &= inverse_pivot::index_mask;
#pragma unroll
        for (int j = 1; j < N; ++j) {
            if (j % 2 == Odd && j >= rest) {
                break;
            }
            const bool here = column[j] == best;
            const auto minus_zero = opaque(here, real_of<T>(-0.0));
#pragma unroll
            for (int i = 0; i < N; ++i) {
                T& of_row = i == 0 ? t[j] : m[i][j];
                if (j == 1) {
                    c[i] = select(here, of_row, c[i]);
                } else {
                    pick_if<N, Pivoting>(here, c[i], of_row, minus_zero);
                }
                pick_if<N, Pivoting>(here, of_row, i == 0 ? t[0] : m[i][0], minus_zero);
            }
            column[j] = here ? column[0] : column[j];
        }
        column[0] = best;
    }
}

//! Step k. It rotates rows and columns by one, so that the next step finds its pivot from
//! m[0][0] on, too. `determinant` is the product of the pivots, or null.
template <pivoting Pivoting, bool Odd, typename T, int N>
__device__ __forceinline__ void step(T (&m)[N][N],
                                     int (&row)[N],
                                     int (&column)[N],
                                     int k,
                                     elimination<T>& so_far,
                                     T* determinant)
{
    T t[N];
    T c[N];
    take_pivot<Pivoting, Odd>(m, t, c, row, column, N - k);
    const T pivot = usable_pivot(Pivoting, c[0], k, so_far);
    if (determinant) {
        *determinant = multiply(*determinant, pivot);
    }
    const T r = reciprocal(pivot);
#pragma unroll
    for (int j = 1; j < N; ++j) {
        t[j] = multiply(t[j], r);
    }
#pragma unroll
    for (int i = 1; i < N; ++i) {
#pragma unroll
        for (int j = 1; j < N; ++j) {
            m[i - 1][j - 1] = subtract_product(m[i][j], c[i], t[j]);
        }
        m[i - 1][N - 1] = subtract_product(make_element<T>(0), c[i], r);
    }
#pragma unroll
    for (int j = 1; j < N; ++j) {
        m[N - 1][j - 1] = t[j];
    }
    m[N - 1][N - 1] = r;
    rotate(row);
    rotate(column);
}

//! All steps, unrolled or as a loop over two.
template <pivoting Pivoting, typename T, int N>
__device__ __forceinline__ void eliminate(
    T (&m)[N][N], int (&row)[N], int (&column)[N], elimination<T>& so_far, T* determinant)
{
    constexpr int unrolled = thread_policy<T, N, Pivoting>::unrolls_all_steps ? N : 1;
    constexpr bool odd = N % 2;
#pragma unroll unrolled
    for (int k = 0; k + 1 < N; k += 2) {
        step<Pivoting, odd>(m, row, column, k, so_far, determinant);
        step<Pivoting, !odd>(m, row, column, k + 1, so_far, determinant);
    }
    if constexpr (odd) {
        step<Pivoting, odd>(m, row, column, N - 1, so_far, determinant);
    }
}

template <typename T, int N, pivoting Pivoting>
constexpr int
    thread_kernel_threads = 32 *
                            thread_policy<T, N, Pivoting>::warps(warp_tile<T, N>::size);

//! Whether the permutation 63 - index[i] is odd. All indices are constants, because the
//! array is in registers.
template <int N>
__device__ __forceinline__ bool is_odd_permutation(const int (&index)[N])
{
    bool odd = false;
#pragma unroll
    for (int i = 1; i < N; ++i) {
#pragma unroll
        for (int h = 0; h < i; ++h) {
            odd ^= index[h] < index[i];
        }
    }
    return odd;
}

//! The layouts that a kernel is for. As a run-time flag the layout takes registers of
//! row-major matrices: on an H200 up to a fifth of the rate (complex64, order 10).
enum class thread_layout { rows, interleaved, either };

//! interleaved: whether element e of all matrices lies together, if Layout is either.
//! Only interleaved matrices get their determinant here.
template <typename T, int N, pivoting Pivoting, thread_layout Layout>
__global__ void __launch_bounds__(thread_kernel_threads<T, N, Pivoting>)
    inverse_thread_per_matrix(const batch_of<T> batch, bool interleaved)
{
    if constexpr (Layout != thread_layout::either) {
        interleaved = Layout == thread_layout::interleaved;
    }
    using tile_type = warp_tile<T, N>;
    __shared__ __align__(
        16) char shared[thread_kernel_threads<T, N, Pivoting> / 32][tile_type::size];

    const int lane = threadIdx.x % 32;
    char* const tile = shared[threadIdx.x / 32];
    const size_t item = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t first = item - lane;
    if (first >= batch.size) {
        return;
    }
    const int count = int(min(batch.size - first, size_t(32)));
    const bool whole = count == 32 && batch.aligned;
    T m[N][N];
    if (interleaved) {
        // Lanes beyond the batch repeat its last matrix.
        const size_t from = min(item, batch.size - 1);
#pragma unroll
        for (int e = 0; e < N * N; ++e) {
            m[e / N][e % N] = batch.a[e * batch.size + from];
        }
    } else {
        // Lanes beyond the batch invert what lies in shared memory, and write nothing.
        tile_type::read(batch.a + first * (N * N), tile, lane, whole, count);
        __syncwarp();
        tile_type::load(tile, lane, m);
    }

    int row[N];
    int column[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        row[i] = column[i] = inverse_pivot::index_mask - i;
    }
    elimination<T> so_far;
    real_of<T> a_finite = 0;
    if constexpr (Pivoting != pivoting::full) {
        // A step without a pivot may hide an element that is not finite. With full
        // pivoting such an element is the first pivot, and so spreads.
#pragma unroll
        for (int e = 0; e < N * N; ++e) {
            nan_unless_finite(a_finite, m[e / N][e % N]);
        }
    }
    // The determinant waits in shared memory, where nothing of this matrix is now,
    // because the largest orders leave no register for it.
    T* const own = tile_type::matrix(tile, lane);
    const bool determinant = interleaved && batch.determinant;
    if (determinant) {
        own[0] = make_element<T>(1);
    }
    eliminate<Pivoting>(m, row, column, so_far, determinant ? own : nullptr);
    if (determinant && item < batch.size) {
        const bool odd = is_odd_permutation(row) != is_odd_permutation(column);
        batch.determinant[item] = odd ? negate(own[0]) : own[0];
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from.
    real_of<T> x_finite = a_finite;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        T* const to = own + (inverse_pivot::index_mask - column[i]) * N;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            nan_unless_finite(x_finite, m[i][j]);
            to[inverse_pivot::index_mask - row[j]] = m[i][j];
        }
    }
    if (!(x_finite == 0) && !(so_far.zero && a_finite == 0)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;
    if (so_far.zero) {
        for (int e = 0; e < N * N; ++e) {
            own[e] = make_element<T>(0);
        }
    }
    if (interleaved) {
        if (item < batch.size) {
#pragma unroll
            for (int e = 0; e < N * N; ++e) {
                batch.x[e * batch.size + item] = own[e];
            }
        }
    } else {
        __syncwarp();
        tile_type::write(tile, batch.x + first * (N * N), lane, whole, count);
    }
    if (item < batch.size) {
        report(batch, item, so_far, false);
        if (determinant && so_far.zero) {
            batch.determinant[item] = determinant_of_failed<T>(so_far);
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
