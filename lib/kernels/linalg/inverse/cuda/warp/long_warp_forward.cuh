/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/warp/warp_keys.cuh"

// What a warp's kernel does once with a matrix of an order above 32 and full pivoting.

namespace gr::cudaphy::kernels {
namespace {

//! The place that row or column `at` moves to, if those that are left move to the first
//! `still` places.
__device__ inline int place_when_forward(uint64_t done, int at, int n, int still)
{
    const int before = __popcll(done & ((uint64_t{ 1 } << at) - 1));
    return at >= n ? at : done >> at & 1 ? still + before : at - before;
}

//! Brings the `Still` rows and columns that are left to the first places, and moves the
//! others behind them. All stay in order. `id` is of columns `lane` and `lane` + 32.
template <typename Layout, int Still, int Apart, typename T, int A, int B, typename Lines>
__device__ __forceinline__ void
bring_long_forward(T (&m)[A][B], int (&id)[2], Lines& lines, T* x, int n, int lane)
{
    const int down = lane / Layout::across;
    const int across = lane % Layout::across;
    bool done[2];
    int pivot_row[2], to[2];
    unsigned rows[2] = { 0, 0 };
#pragma unroll
    for (int l = 0; l < 2; ++l) {
        const int at = lane + 32 * l;
        done[l] = at < n && id[l] == 0;
        pivot_row[l] = done[l] ? lines.column_to[at] : 0;
        const unsigned bit = done[l] ? 1u << pivot_row[l] % 32 : 0;
        rows[0] |= pivot_row[l] < 32 ? bit : 0;
        rows[1] |= pivot_row[l] < 32 ? 0 : bit;
    }
    const auto both = [](unsigned low, unsigned high) {
        return uint64_t{ high } << 32 | low;
    };
    const auto rows_done = both(union_of_lanes(rows[0]), union_of_lanes(rows[1]));
    const auto columns_done =
        both(__ballot_sync(all_lanes, done[0]), __ballot_sync(all_lanes, done[1]));
#pragma unroll
    for (int l = 0; l < 2; ++l) {
        const int at = lane + 32 * l;
        const int row_to = place_when_forward(rows_done, at, n, Still);
        to[l] = place_when_forward(columns_done, at, n, Still);
        lines.row_to[at] = row_to;
        lines.row_name[row_to] = at;
        lines.column_name[to[l]] = at;
    }
    __syncwarp();
    // The row is put where it is to be, the column is fetched from where it was.
#pragma unroll
    for (int a = 0; a < A; ++a) {
        T* const row = x + lines.row_to[Layout::row(a, down)] * Apart + across;
#pragma unroll
        for (int b = 0; b < B; ++b) {
            row[b * Layout::across] = m[a][b];
        }
    }
#pragma unroll
    for (int l = 0; l < 2; ++l) {
        const int at = lane + 32 * l;
        if (done[l]) {
            lines.column_to[to[l]] = lines.row_to[pivot_row[l]];
        }
        id[l] = at < Still ? id_of(at, n) : 0;
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < B; ++b) {
        const T* const from =
            x + down * Apart + lines.column_name[Layout::column(b, across)];
#pragma unroll
        for (int a = 0; a < A; ++a) {
            m[a][b] = from[a * Layout::down * Apart];
        }
    }
    __syncwarp();
}

} // namespace
} // namespace gr::cudaphy::kernels
