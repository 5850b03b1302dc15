/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/shifts.cuh"

// The inversion of the 32 x 32 corner by which a step of invert_block() eliminates.

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_rows = 32; //!< of a thread block of invert_block()

//! What the inversion of a corner must know of its pivots beside their values.
template <typename W>
struct corner_pivots {
    const bool positive;    //!< whether a pivot that is not above 0 is a failure
    const real_of<W> tiny;  //!< the least pivot of a matrix that is not definite
    const int first, order; //!< the panel's first row in the matrix, the panel's rows
    const int corner;       //!< the corner's first row in the panel
    unsigned* const state;
    const pivot_shifts<W> shifts;
};

/*!
 * Calls use(i, column[i]) for all rows. It reads as many elements as half of a thread's
 * registers hold before it uses the first. If it read them one by one, waits for shared
 * memory would take most of a step.
 */
template <typename W, typename Use>
__device__ inline void for_column_at_once(const W* column, const Use& use)
{
    constexpr int at_once = symmetric_tuning::block::elements_at_once<W>;
#pragma unroll
    for (int first = 0; first < block_rows; first += at_once) {
        W there[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            there[i] = column[first + i];
        }
        __syncwarp(); // the compiler delays no read beyond it
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            use(first + i, there[i]);
        }
    }
}

/*!
 * Inverts a 32 x 32 corner by a warp: lane j holds column j in e. Sweep operator: after
 * the sweep of pivot k the corner is symmetric up to the signs of rows and columns 0..k.
 * Pivots come in their order. Each step rotates the rows by one, so that the pivot's row
 * is always the first. A swept column gets its scale at the end, so that all lanes do the
 * same work.
 *
 * shared: 64 numbers.
 */
template <typename W>
__device__ void
invert_corner(W (&e)[block_rows], W* shared, const corner_pivots<W>& pivots)
{
    using real = real_of<W>;
    const int lane = threadIdx.x % 32;
    real scale = 1, diagonal = 0;
#pragma unroll
    for (int i = 0; i < block_rows; ++i) {
        diagonal = i == lane ? re(e[i]) : diagonal;
    }
    // Every lane divides, so that the division overlaps the previous step's row updates.
    real reciprocal = 1 / diagonal;
#pragma unroll 1
    for (int k = 0; k < block_rows; ++k) {
        const bool own = lane == k;
        W* column = shared + k % 2 * block_rows;
        const W mine = e[0];
        real pivot = __shfl_sync(0xffffffff, diagonal, k);
        real over = __shfl_sync(0xffffffff, reciprocal, k);
        if (pivots.positive) {
            column[lane - k + (lane < k ? block_rows : 0)] =
                scaled(conjugate(mine), scale);
        } else if (own) {
#pragma unroll
            for (int i = 0; i < block_rows; ++i) {
                column[i] = e[i];
            }
        }
        __syncwarp();
        if (pivots.positive) {
            if (!(pivot > 0)) {
                if (lane == 0) {
                    atomicMin(pivots.state,
                              unsigned(pivots.first + pivots.corner + k + 1));
                }
                over = 1;
            }
        } else if (fabs(pivot) < pivots.tiny) {
            over = 1 / (pivot < 0 ? -pivots.tiny : pivots.tiny);
        }
        const W f = own ? number<W>(0) : scaled(mine, -over);
        diagonal = fused(-re(product(mine, conjugate(mine))), over, diagonal);
        reciprocal = 1 / diagonal;
        for_column_at_once(column, [&](int i, W there) {
            if (i > 0) {
                e[i - 1] = multiply_add(e[i], there, f);
            }
        });
        e[block_rows - 1] = own ? number<W>(-1) : negative(f);
        scale = own ? over : scale;
    }
#pragma unroll
    for (int i = 0; i < block_rows; ++i) {
        e[i] = scaled(e[i], -scale);
    }
}

/*!
 * invert_corner() with shifts: each step takes the largest pivot of the diagonal, and
 * shifts it if it is small. A step reads only the pivot's column, not its row. So the
 * rest of the corner stays exactly symmetric.
 *
 * Rows are not rotated, so the pivot's row may be any. All lanes and rows do the same
 * work nevertheless:
 * - The pivot's element of its column becomes pivot - 1. Then a - (pivot - 1) a / pivot
 *   is a / pivot, as the pivot's row needs.
 * - The pivot's own column c has the factor -(1 + 1 / pivot). Then c - (1 + 1 / pivot) c
 *   is -c / pivot.
 * Neither loses digits, because the corner is scaled to pivots below 1 first.
 */
template <typename W>
__device__ void
invert_corner_shifting(W (&e)[block_rows], W* shared, const corner_pivots<W>& pivots)
{
    using real = real_of<W>;
    const int lane = threadIdx.x % 32;
    const auto& shifts = pivots.shifts;
    int shifted = *static_cast<volatile int*>(shifts.count);
    real diagonal = 0, largest = 0;
#pragma unroll
    for (int i = 0; i < block_rows; ++i) {
        largest = fmax(largest, size_of(e[i]));
        diagonal = i == lane ? re(e[i]) : diagonal;
    }
    for (int apart = 16; apart; apart /= 2) {
        largest = fmax(largest, __shfl_xor_sync(0xffffffff, largest, apart));
    }
    // If no element is above `tiny`, the scale takes `tiny` to about 1.
    const int power =
        -ilogb(fmax(pivots.tiny, largest < 1 / pivots.tiny ? largest : 1)) - 1;
    const real scale = scalbn(real(1), power), over_scale = scalbn(real(1), -power);
#pragma unroll
    for (int i = 0; i < block_rows; ++i) {
        e[i] = scaled(e[i], scale);
    }
    diagonal *= scale;
    largest *= scale;
    const real tiny = pivots.tiny * scale;
    const unsigned small = __float_as_uint(float(smallest_pivot_share * largest));
    // Every lane divides, so that the division overlaps the previous step's row updates.
    real reciprocal = 1 / diagonal;
    bool taken = false;
#pragma unroll 1
    for (int step = 0; step < block_rows; ++step) {
        const unsigned key = key_of_largest(float(fabs(diagonal)), taken);
        const int k = int(key % 32);
        const bool own = lane == k;
        W* column = shared + step % 2 * block_rows;
        real pivot = __shfl_sync(0xffffffff, diagonal, k);
        real over = __shfl_sync(0xffffffff, reciprocal, k);
        if (key < small || !(fabs(pivot) >= tiny)) {
            if (key < small && shifted < shifts.most &&
                pivots.corner + k < pivots.order) {
                const real shift = (pivot < 0 ? -largest : largest) - pivot;
                if (lane == 0) {
                    shifts.rows[shifted] = pivots.first + pivots.corner + k;
                    shifts.amounts[shifted] = shift * over_scale;
                }
                ++shifted;
                pivot += shift;
#pragma unroll
                for (int i = 0; i < block_rows; ++i) {
                    e[i] = sum(e[i], number<W>(own && i == k ? shift : 0));
                }
            }
            if (fabs(pivot) < tiny) {
                pivot = pivot < 0 ? -tiny : tiny;
            }
            over = 1 / pivot;
        }
        if (own) {
#pragma unroll
            for (int i = 0; i < block_rows; ++i) {
                column[i] = e[i];
            }
            column[k] = number<W>(pivot - 1);
        }
        __syncwarp();
        // A swept column is the negative of its row.
        const W mine = conjugate(column[lane]);
        const W f = own ? number<W>(-1 - over) : scaled(mine, taken ? over : -over);
        diagonal = fused(-re(product(mine, conjugate(mine))), over, diagonal);
        reciprocal = 1 / diagonal;
        for_column_at_once(column,
                           [&](int i, W there) { e[i] = multiply_add(e[i], there, f); });
        taken = taken || own;
    }
    if (lane == 0) {
        *shifts.count = shifted;
    }
#pragma unroll
    for (int i = 0; i < block_rows; ++i) {
        e[i] = scaled(e[i], scale);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
