/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/shifts.cuh"

// The corner of 32 x 32 from which a panel's own rows are eliminated.

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_rows = 32; //!< of a block that is inverted, a thread block's

//! Beside a pivot of a corner: where it stands, and what was done to it.
template <typename W>
struct corner_pivots {
    const bool positive;    //!< one that is not fails
    const real_of<W> tiny;  //!< none of another matrix is smaller
    const int first, order; //!< of the panel's rows, in the matrix
    const int corner;       //!< of the panel's rows
    unsigned* const state;
    const pivot_shifts<W> shifts;
};

/*!
 * Calls use(i, column[i]) for all rows, whose numbers are read before any is used, up to
 * half of a thread's registers: read one by one, each would wait for shared memory, which
 * is what most of a step would go to.
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
        __syncwarp(); // which no read is put off beyond
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            use(first + i, there[i]);
        }
    }
}

/*!
 * The inverse of the 32 x 32 corner whose column `lane` is e, by a warp, by sweeps: after
 * that of pivot k, what is left is symmetric again, but for signs. The pivots come in
 * order, and the rows are turned by one each step, so that the pivot's is always the
 * first. A column that had its turn waits for its scale until the end, so that all lanes
 * do the same.
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
    // Every lane divides, while the rows of the step before are still being changed.
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
 * The same where shifts are kept: the largest pivot on the diagonal comes first, and
 * small ones are shifted. Of what is left, which is symmetric, a step uses the pivot's
 * column alone, so that it stays so.
 *
 * Rows stay where they are, and all lanes and rows do the same, though the pivot's row is
 * any: that element of the column becomes pivot - 1, so that a - (pivot - 1) a / pivot
 * is a / pivot, as it has to be in the pivot's row, and the pivot's own column c, with
 * c - (1 + 1 / pivot) c, is -c / pivot. Nothing is lost by that, because the corner is
 * scaled to pivots below 1 first.
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
    // Where nothing is above `tiny`, that becomes about 1.
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
    // Every lane divides, while the rows of the step before are still being changed.
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
        // A column that had its turn is its row's negative.
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
