/* SPDX-License-Identifier: GPL-3.0-or-later */
// Columns of Q in shared memory, for the vectors that come after the elimination.
//
// Element e of a thread's columns stands 32 e behind its first one, so that no bank is
// asked twice. Zeros stand behind each column, so that one loop's body serves four
// columns: the first four have the part beside H and 4 elements below, the others 8.
#pragma once

#include "kernels/mimo/equalizer/solve_rows.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int half_columns = 4;

template <typename Antennas, int Half>
constexpr int column_elements = Antennas::most_receive + half_columns*(Half + 1);

//! Where column k begins.
template <typename Antennas>
CUDAPHY_LANE constexpr int column_at(int k)
{
    return k * column_elements<Antennas, 0> +
           (k > half_columns ? (k - half_columns) * half_columns : 0);
}

template <typename Antennas>
constexpr int kept_elements = half_columns* column_elements<Antennas, 0> +
                              (Antennas::most_layers > half_columns
                                   ? half_columns * column_elements<Antennas, 1>
                                   : 0);

//! Keeps column k as solve() gives it.
//! \param kept  the first element of the warp's columns
template <typename Antennas>
CUDAPHY_LANE void keep_column(float2* kept,
                              int lane,
                              int k,
                              const complex_lane* column,
                              const complex_lane* below,
                              float last)
{
    float2* to = kept + column_at<Antennas>(k) * 32 + lane;
    CUDAPHY_UNROLL
    for (int r = 0; r < Antennas::most_receive; ++r) {
        to[r * 32] = { column[r].re, column[r].im };
    }
    to += Antennas::most_receive * 32;
    CUDAPHY_UNROLL
    for (int i = 0; i < k; ++i) {
        to[i * 32] = { below[i].re, below[i].im };
    }
    to[k * 32] = { last, 0 };
    CUDAPHY_UNROLL
    for (int i = k + 1; i < (k < half_columns ? 1 : 2) * half_columns; ++i) {
        to[i * 32] = { 0, 0 };
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
