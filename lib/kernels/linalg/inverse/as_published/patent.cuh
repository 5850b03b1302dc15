/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"

// Patent CN102567283 (Tsinghua University, 2011), step by step and with its letters, to
// be measured beside the other kernels. A block of (N, K) threads has K matrices of order
// N. All three arrays are in shared memory. Pivoting is full: rows and columns are
// swapped, and swapped back at the end.
//
// The patent leaves open what its N threads do. Here thread j takes column j; it takes
// row j if a column is swapped or scaled. No two threads then write the same element. A
// matrix's threads may belong to two warps (N = 3), so that every step needs barriers of
// the whole block, 6 of them.
//
// Moduli are compared by their squares. Elements are scaled by a power of two, which
// changes only if the largest square would leave the range of the type; the block then
// searches again. The matrices lie without gaps, as in the patent. If N is even, the
// steps along a column use the same banks.

namespace gr::cudaphy::kernels {
namespace {

constexpr int patent_threads = 128;   //!< of a block, about
constexpr int most_patent_order = 32; //!< a matrix more may be added to fill the block
constexpr size_t patent_shared_bytes = 48 << 10; //!< without a call to allow more

//! Shared memory that a matrix takes in a block.
template <typename T>
constexpr size_t patent_matrix_bytes(int n)
{
    return size_t(n) * n * sizeof(T) + n * (sizeof(real_of<T>) + 3 * sizeof(int)) +
           2 * sizeof(int);
}

//! K: the matrices of a block.
template <typename T>
constexpr int patent_matrices(int n)
{
    const int wanted = (patent_threads + n - 1) / n;
    const int fit = int(patent_shared_bytes / patent_matrix_bytes<T>(n));
    return wanted < fit ? wanted : fit;
}

//! How to launch inverse_patent.
template <typename T>
struct patent_launch {
    patent_launch(size_t batch, int n)
        : block(n, patent_matrices<T>(n)),
          grid(unsigned((batch + block.y - 1) / block.y)),
          shared_bytes(block.y * patent_matrix_bytes<T>(n))
    {
    }
    dim3 block;
    dim3 grid;
    size_t shared_bytes;
};

template <typename Real>
struct square_range;
template <>
struct square_range<float> {
    static constexpr float least = 0x1p-80f, most = 0x1p120f; //!< squares without loss
    static constexpr float down = 0x1p-70f, up = 0x1p63f, largest_scale = 0x1p126f;
};
template <>
struct square_range<double> {
    static constexpr double least = 0x1p-800, most = 0x1p1000;
    static constexpr double down = 0x1p-530, up = 0x1p500, largest_scale = 0x1p1020;
};

//! A number that sorts as the modulus does.
template <typename T>
__device__ inline real_of<T> compared(T a, real_of<T> scale)
{
    if constexpr (is_complex<T>) {
        const auto re = a.x * scale;
        const auto im = a.y * scale;
        return fused(re, re, im * im);
    } else {
        return fabs(a);
    }
}

//! Whether the search must be done again, with the scale that this sets.
template <typename T>
__device__ inline bool rescale(real_of<T> largest, real_of<T>& scale)
{
    using range = square_range<real_of<T>>;
    if (largest > range::most && scale != range::down) {
        scale = range::down;
        return true;
    }
    if (largest < range::least && scale != range::largest_scale) {
        const auto wider = scale * range::up;
        scale = wider < range::largest_scale ? wider : range::largest_scale;
        return true;
    }
    return false;
}

template <typename T>
__device__ inline void exchange(T& one, T& other)
{
    const T first = one;
    one = other;
    other = first;
}

template <typename T>
__global__ void __launch_bounds__(patent_threads + most_patent_order)
    inverse_patent(const batch_of<T> batch, int n)
{
    extern __shared__ __align__(16) char dynamic_shared[];

    // B. sm_a, sm_is, sm_js, and what the search for the pivot leaves.
    const int matrices = blockDim.y;
    const int elements = n * n;
    const int group = threadIdx.y;
    const int x = threadIdx.x;
    T* const sm_a = reinterpret_cast<T*>(dynamic_shared);
    auto* const sm_largest = reinterpret_cast<real_of<T>*>(sm_a + matrices * elements);
    int* const sm_row = reinterpret_cast<int*>(sm_largest + matrices * n);
    int* const sm_is = sm_row + matrices * n;
    int* const sm_js = sm_is + matrices * n;
    int* const sm_lost = sm_js + matrices * n; // two a matrix: A or X is not finite

    // C. Matrices beyond the batch repeat its last one.
    const size_t first = size_t(blockIdx.x) * matrices;
    const int count = int(min(batch.size - first, size_t(matrices)));
    const int thread = group * n + x;
    const int threads = matrices * n;
    for (int e = thread; e < matrices * elements; e += threads) {
        const int from = e < count * elements ? e : (count - 1) * elements + e % elements;
        sm_a[e] = batch.a[first * elements + from];
    }
    if (x == 0) {
        sm_lost[2 * group] = sm_lost[2 * group + 1] = 0;
    }
    __syncthreads();

    T* const a = sm_a + group * elements;
    auto* const largest = sm_largest + group * n;
    int* const row = sm_row + group * n;
    int* const is = sm_is + group * n;
    int* const js = sm_js + group * n;
    int* const lost = sm_lost + 2 * group;
    real_of<T> zero = 0;
    for (int i = 0; i < n; ++i) {
        nan_unless_finite(zero, a[i * n + x]);
    }
    if (!(zero == 0)) {
        lost[0] = 1;
    }

    elimination<T> so_far; // valid in thread 0
    real_of<T> scale = 1;
    for (int k = 0; k < n; ++k) {
        // D2. Of equal moduli the first in row-major order.
        int pivot_row, pivot_column;
        bool again = true;
        while (again) {
            if (x >= k) {
                real_of<T> mine = compared(a[k * n + x], scale);
                int mine_row = k;
                for (int i = k + 1; i < n; ++i) {
                    const auto other = compared(a[i * n + x], scale);
                    if (other > mine) {
                        mine = other;
                        mine_row = i;
                    }
                }
                largest[x] = mine;
                row[x] = mine_row;
            }
            __syncthreads();
            pivot_row = row[k];
            pivot_column = k;
            real_of<T> best = largest[k];
            for (int j = k + 1; j < n; ++j) {
                const auto other = largest[j];
                if (other > best || (other == best && row[j] < pivot_row)) {
                    best = other;
                    pivot_row = row[j];
                    pivot_column = j;
                }
            }
            again = false;
            if constexpr (is_complex<T>) {
                again = rescale<T>(best, scale);
            }
            again = __syncthreads_or(again);
        }

        // D3
        if (x == 0) {
            is[k] = pivot_row;
            js[k] = pivot_column;
            so_far.odd ^= (pivot_row != k) != (pivot_column != k);
        }
        if (pivot_row != k) {
            exchange(a[k * n + x], a[pivot_row * n + x]);
        }
        __syncthreads();
        if (pivot_column != k) {
            exchange(a[x * n + k], a[x * n + pivot_column]);
        }
        __syncthreads();

        // D4
        if (x == 0) {
            const T pivot = usable_pivot(pivoting::full, a[k * n + k], k, so_far);
            so_far.determinant = multiply(so_far.determinant, pivot);
            // The reciprocal of an infinite pivot would be 0 and hide it.
            nan_unless_finite(zero, pivot);
            a[k * n + k] = reciprocal(pivot);
        }
        __syncthreads();
        const T r = a[k * n + k];
        if (x != k) {
            const T t = multiply(a[k * n + x], r);
            a[k * n + x] = t;
            for (int i = 0; i < n; ++i) {
                if (i != k) {
                    a[i * n + x] = subtract_product(a[i * n + x], a[i * n + k], t);
                }
            }
        }
        __syncthreads();
        if (x != k) {
            a[x * n + k] = negate(multiply(a[x * n + k], r));
        }
        // D5. The current matrix is now that from (k + 1, k + 1) on: no element of column
        // k is read before the next barrier.
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: a swap of A's rows is undone on X's columns.
    for (int k = n - 1; k >= 0; --k) {
        if (js[k] != k) {
            exchange(a[k * n + x], a[js[k] * n + x]);
        }
        __syncthreads();
        if (is[k] != k) {
            exchange(a[x * n + k], a[x * n + is[k]]);
        }
        __syncthreads();
    }

    for (int i = 0; i < n; ++i) {
        nan_unless_finite(zero, a[i * n + x]);
    }
    if (!(zero == 0)) {
        lost[1] = 1;
    }
    __syncthreads();
    if (x == 0) {
        if (lost[0] || (lost[1] && !so_far.zero)) {
            so_far.state = -1;
        }
        so_far.zero = so_far.zero || so_far.state == -1;
        is[0] = so_far.zero;
        if (group < count) {
            report(batch, first + group, so_far);
        }
    }
    __syncthreads();
    if (is[0]) {
        for (int i = 0; i < n; ++i) {
            a[i * n + x] = make_element<T>(0);
        }
    }
    __syncthreads();

    // E
    for (int e = thread; e < count * elements; e += threads) {
        batch.x[first * elements + e] = sm_a[e];
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
