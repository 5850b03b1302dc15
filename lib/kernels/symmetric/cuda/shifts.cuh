/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"

// Where no good pivot is left among the 32 rows that are eliminated together, one is made
// (Stewart 1974): a diagonal element is shifted, so that the elements of L stay small,
// and what was inverted is A' = A + E S E^H, S the shifts and E columns of the identity.
// Woodbury's formula takes them back: X = X' - (E^H X')^H (E^H X' E - S^-1)^-1 (E^H X').

namespace gr::cudaphy::kernels {
namespace {

//! A pivot below this share of the largest element beside it is shifted. Smaller, and
//! digits are lost (of order 2048 residuals of 0.5 to 0.9 times LAPACK's unit become 3 to
//! 17 with 0.03); larger, and there are more shifts, of which 0.04 makes some 7 in 100
//! rows of a random matrix.
constexpr double smallest_pivot_share = 0.04;

//! The shifts of one elimination, on the device. `count` is null where none are made.
template <typename W>
struct pivot_shifts {
    int* count = nullptr;
    int* rows = nullptr;
    real_of<W>* amounts = nullptr;
    int most = 0; //!< further small pivots stay as they are
};

//! About the root of a shift, a power of two. Shifts differ as much as the elements that
//! they stood beside; rows and columns times this are of one size.
template <typename R>
__device__ inline R balance(R shift)
{
    return scalbn(R(1), ilogb(shift) >> 1);
}

//! `parts` = sign times the rows of `from`, a lower triangle, that were shifted,
//! balanced. blockIdx = tile of (shifts, order)
template <typename W>
__global__ void gather_shifted(device_matrix<const W> from,
                               int order,
                               int sign,
                               pivot_shifts<W> by,
                               int shifts,
                               device_matrix<W> parts)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < shifts && j < order) {
            const int row = by.rows[i];
            const W there = from.data[size_t(max(row, j)) * from.stride + min(row, j)];
            parts.data[size_t(i) * parts.stride + j] =
                scaled(row < j ? conjugate(there) : there,
                       real_of<W>(sign) * balance(by.amounts[i]));
        }
    }
}

//! small = E^H X' E - S^-1, balanced, so that ones go on down the diagonal to the order
//! given: beside larger numbers, its own pivots would seem small. blockIdx = tile
template <typename W>
__global__ void weigh_shifted(device_matrix<const W> parts,
                              pivot_shifts<W> by,
                              int shifts,
                              device_matrix<W> small,
                              int order)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < order && j < order) {
            W value = number<W>(i == j);
            if (i < shifts && j < shifts) {
                const auto b = balance(by.amounts[j]);
                const W own = number<W>(i == j ? -b * b / by.amounts[j] : 0);
                value = sum(scaled(parts.data[size_t(i) * parts.stride + by.rows[j]], b),
                            own);
            }
            small.data[size_t(i) * small.stride + j] = value;
        }
    }
}

//! The largest `size` among lanes not taken, the same for all: a float's bits, which rise
//! with it, but for the last ones, which are 32 and the lane.
__device__ inline unsigned key_of_largest(float size, bool taken)
{
    return largest_of_warp(
        taken ? 0 : __float_as_uint(size) / 64 * 64 + 32 + threadIdx.x % 32);
}

} // namespace
} // namespace gr::cudaphy::kernels
