/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"

// Shifted pivots (Stewart 1974). The 32 rows that are eliminated together may have no
// good pivot left. Then a shift of a diagonal element makes one, so that the elements of
// L stay small. The elimination inverts A' = A + E S E^H: S has the shifts on its
// diagonal, and E consists of columns of the identity. Woodbury's formula removes the
// shifts: X = X' - (E^H X')^H (E^H X' E - S^-1)^-1 (E^H X').

namespace gr::cudaphy::kernels {
namespace {

//! A pivot below this share of the largest element beside it is shifted. A smaller share
//! loses digits: at order 2048, residuals of 0.5 to 0.9 times LAPACK's unit become 3 to
//! 17 with 0.03. A larger share makes more shifts: 0.04 shifts about 7 of 100 rows of a
//! random matrix.
constexpr double smallest_pivot_share = 0.04;

//! The shifts of one elimination, on the device. `count` is null if it makes none.
template <typename W>
struct pivot_shifts {
    int* count = nullptr;
    int* rows = nullptr;
    real_of<W>* amounts = nullptr;
    int most = 0; //!< the room; later small pivots stay as they are
};

//! About the square root of a shift, a power of two. Shifts differ in size as much as the
//! elements beside them. Rows and columns times this factor are of one size.
template <typename R>
__device__ inline R balance(R shift)
{
    return scalbn(R(1), ilogb(shift) >> 1);
}

//! `parts` = sign times the shifted rows of the lower triangle `from`, balanced.
//! blockIdx = tile of (shifts, order)
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

//! small = E^H X' E - S^-1, with ones on the diagonal from row `shifts` to `order`. It is
//! balanced, because its own pivots would seem small beside larger numbers.
//! blockIdx = tile
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

//! The key of the lane with the largest `size` among lanes that are not taken; the same
//! for all lanes. A key has the upper bits of the float, because these rise with the
//! float. The lower six bits are 32 + the lane.
__device__ inline unsigned key_of_largest(float size, bool taken)
{
    return largest_of_warp(
        taken ? 0 : __float_as_uint(size) / 64 * 64 + 32 + threadIdx.x % 32);
}

} // namespace
} // namespace gr::cudaphy::kernels
