/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"

// A warp inverts a matrix of order up to 8, for batches too small to fill the GPU. There
// the chain of operations of one matrix counts, and the number of instructions. A lane
// holds an element of row i and one of row i + 4. No data moves: keys say which rows and
// columns are done. A step is a chain of two reductions over the warp, three broadcasts
// by shuffles, and one reciprocal. Nothing goes through memory.
//
// The last bits of 63 - index choose the lane of a row and of a column, so that the key
// that a reduction finds names the lane.

namespace gr::cudaphy::kernels {
namespace {

//! n: up to 4 Slots.
template <typename T, int Slots, pivoting Pivoting>
__global__ void __launch_bounds__(small_batch_threads)
    inverse_small_batch(const batch_of<T> batch, const int n)
{
    constexpr int last = Slots - 1;
    const int lane = threadIdx.x % 32;
    const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (item >= batch.size) {
        return;
    }
    // `row` and `column` are 63 - index. The sign bit is set once the row or column is
    // done, so that its elements' keys are negative. The other bits then say where the
    // elements go in X.
    constexpr int done = int(0x80000000);
    const int j = 7 - lane % 8;
    const int first_row = 3 - lane / 8;
    const T* const a = batch.a + item * (n * n);
    T m[Slots]; // rows first_row and first_row + 4
    int row[Slots];
    int column = j < n ? inverse_pivot::index_mask - j : done;
    real_of<T> a_finite = 0;
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
        const int i = first_row + 4 * s;
        row[s] = i < n ? inverse_pivot::index_mask - i : done;
        m[s] = i < n && j < n ? a[i * n + j] : make_element<T>(0);
        nan_unless_finite(a_finite, m[s]);
    }

    elimination<T> so_far;
    so_far.smallest = limits_of<T>::smallest;
#pragma unroll 2
    for (int k = 0; k < n; ++k) {
        // Keys of the pivot's row and column.
        int p = inverse_pivot::index_mask - k;
        if constexpr (Pivoting != pivoting::none) {
            int best = key_of(bits_of(size_of(m[0])), row[0]);
            if constexpr (Slots == 2) {
                best = max(best, key_of(bits_of(size_of(m[1])), row[1]));
            }
            const bool looked_at = Pivoting == pivoting::full ? column >= 0 : column == p;
            p = largest_of_lanes<32>(looked_at ? best : done) & inverse_pivot::index_mask;
        }
        const T t = from_lane(p & 4 ? m[0] : m[last], (p & 3) * 8 + lane % 8);
        // Every lane inverts its own element while the reduction finds the column.
        bool small;
        T divisor = t;
        const auto size = size_of(t);
        if constexpr (Pivoting == pivoting::none) {
            const auto re = real_part(t);
            small = re <= 0;
            divisor = make_element<T>(re);
        } else if constexpr (Pivoting == pivoting::full) {
            small = size < so_far.smallest;
            divisor = select(small, make_element<T>(so_far.smallest), t);
        } else {
            small = size == 0;
        }
        const bool nothing = Pivoting == pivoting::none ? small : size == 0;
        const T by_own = reciprocal(divisor);
        int q = inverse_pivot::index_mask - k;
        if constexpr (Pivoting == pivoting::full) {
            q = largest_of_lanes<32>(key_of(bits_of(size), column)) &
                inverse_pivot::index_mask;
        }
        const int q_lane = q & 7;
        const T r = from_lane(by_own, q_lane);
        if (__ballot_sync(all_lanes, small) >> q_lane & 1) {
            so_far.state = so_far.state ? so_far.state : k + 1;
        }
        if (__ballot_sync(all_lanes, nothing) >> q_lane & 1) {
            so_far.zero = true;
        }
        if (Pivoting == pivoting::full && k == 0) {
            so_far.smallest =
                larger(so_far.smallest,
                       limits_of<T>::eps * __shfl_sync(all_lanes, size, q_lane));
        }
        if (batch.determinant) {
            so_far.determinant = multiply(so_far.determinant, from_lane(divisor, q_lane));
        }
        T c[Slots];
#pragma unroll
        for (int s = 0; s < Slots; ++s) {
            c[s] = from_lane(m[s], (lane & 24) + q_lane);
        }
        const bool here = column == q;
        const T scaled = select(here, r, multiply(t, r));
#pragma unroll
        for (int s = 0; s < Slots; ++s) {
            const bool is_p = row[s] == p;
            const T updated =
                subtract_product(select(here, make_element<T>(0), m[s]), c[s], scaled);
            m[s] = select(is_p, scaled, updated);
            row[s] = is_p ? q | done : row[s];
        }
        column = here ? p | done : column;
    }

    real_of<T> x_finite = a_finite;
    nan_unless_finite(x_finite, m[0]);
    nan_unless_finite(x_finite, m[last]);
    const bool a_was_finite = __all_sync(all_lanes, a_finite == 0);
    const bool finite = __all_sync(all_lanes, x_finite == 0);
    if (!finite && !(so_far.zero && a_was_finite)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;
    const auto of_key = [](int key) {
        return inverse_pivot::index_mask - (key & inverse_pivot::index_mask);
    };
    T* const x = batch.x + item * (n * n);
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
        if (first_row + 4 * s < n && j < n) {
            const int place = of_key(row[s]) * n + of_key(column);
            x[place] = select(so_far.zero, make_element<T>(0), m[s]);
        }
    }
    if (batch.determinant) {
        // The sign is that of the permutation that takes rows to columns.
        int inversions = 0;
#pragma unroll 1
        for (int i = 1; i < n; ++i) {
            const int of_i =
                __shfl_sync(all_lanes, i < 4 ? row[0] : row[last], (3 - i % 4) * 8);
#pragma unroll 1
            for (int h = 0; h < i; ++h) {
                const int of_h =
                    __shfl_sync(all_lanes, h < 4 ? row[0] : row[last], (3 - h % 4) * 8);
                inversions += of_i > of_h;
            }
        }
        so_far.odd = inversions % 2;
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
