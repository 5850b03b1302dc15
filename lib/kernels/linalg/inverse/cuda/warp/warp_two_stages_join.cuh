/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"
#include "kernels/linalg/inverse/cuda/tf32.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_layout.cuh"

// The second stage of warp_two_stages.cuh: tensor cores compute A's inverse from its
// blocks. Also what lanes exchange.

namespace gr::cudaphy::kernels {
namespace {

//! Which elements of a matrix each lane holds.
struct two_stages_layout : warp_layout<float2, 32> {
    static constexpr int order = 32;
    static constexpr int half = 16; //!< order of S
    static constexpr int rows_of_half = half / down;
    static constexpr int columns_of_half = half / across;
};

//! What lanes exchange. Rows and columns have places: those that are left after the first
//! stage come first. Within these places X has the order of S's columns and rows. Lists
//! of places have 32 elements.
struct two_stages_memory {
    using layout = two_stages_layout;
    // Distances at which lanes use all banks.
    static constexpr int apart = 40;
    static constexpr int out_apart = 34;
    //! Rows as they are, columns by places; or all by rows' places and output's columns.
    __align__(16) float2 x[layout::order * apart];
    //! The pivot's row as it was found, and divided by the pivot.
    __align__(16) float2 row[2][32];
    __align__(16) float2 column[layout::down * layout::apart];
    __align__(16) float2 column_scale[32]; //!< 1 / pivot
    float2 row_scale[32];
    //! By columns in the part's order: 1 / p's conjugate, and p.
    __align__(16) float4 pivot_of[32];
    float2 pivots[32];                //!< by steps, if they are asked for
    __align__(16) int row_offset[32]; //!< bytes, of the row at a place
    __align__(16) int column_to[32];  //!< of the output
    int row_to[32];
    int column_name[32]; //!< of the column at a place
    int column_place[32];
    float2 error[32]; //!< scaling_error() of the first part's pivot of column
    int error_at[32]; //!< in the output, or -1
    int x_row_offset[layout::half]; //!< of what is in S's row, once it is inverted
    int x_column[layout::half];

    __device__ const char* bytes() const { return reinterpret_cast<const char*>(x); }
};

//! What scaling makes of a pivot p is p r r with r = 1 / p, of which both errors count;
//! added to it this leaves r.
__device__ __forceinline__ float2 scaling_error(float2 r, float2 p)
{
    const float2 scaled = multiply(multiply(p, r), r);
    return { r.x - scaled.x, r.y - scaled.y };
}
__device__ __forceinline__ void add_to(float2& sum, float2 a)
{
    sum = float2{ sum.x + a.x, sum.y + a.y };
}

//! Two elements of a row at columns' places `column` + 2 t and the next.
__device__ __forceinline__ void get_pair(
    const two_stages_memory& memory, int row, int column, int t, float2& a, float2& b)
{
    const float4 two = *reinterpret_cast<const float4*>(
        memory.bytes() + memory.row_offset[row] + (column + 2 * t) * int(sizeof(float2)));
    a = { two.x, two.y };
    b = { two.z, two.w };
}

//! As the right factor: rows from `row` on, columns from `column` on, which are
//! multiplied by their scales.
template <bool Scaled>
__device__ __forceinline__ tf32_factor<2>
get_right(const two_stages_memory& memory, int row, int column, int g, int t)
{
    const int2 offset = *reinterpret_cast<const int2*>(&memory.row_offset[row + 2 * t]);
    const char* const from = memory.bytes() + (column + g) * int(sizeof(float2));
    float2 a = *reinterpret_cast<const float2*>(from + offset.x);
    float2 b = *reinterpret_cast<const float2*>(from + offset.y);
    if constexpr (Scaled) {
        const float2 by = memory.column_scale[column + g];
        a = multiply(a, by);
        b = multiply(b, by);
    }
    tf32_factor<2> result;
    result.set(0, a.x, a.y);
    result.set(1, b.x, b.y);
    return result;
}

//! A^-1 by places, 8 columns by 16 rows each: re[column / 8][row / 16].
struct halves_result {
    float re[4][2][4], im[4][2][4];

    __device__ __forceinline__ void set(int panel, int part, int e, float2 a)
    {
        re[panel][part][e] = a.x;
        im[panel][part][e] = a.y;
    }
    __device__ __forceinline__ void clear(int panel, int part)
    {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            set(panel, part, e, float2{ 0, 0 });
        }
    }
    __device__ __forceinline__ tf32_factor<4> left(int panel, int part) const
    {
        tf32_factor<4> result;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            result.set(e % 2 * 2 + e / 2, re[panel][part][e], im[panel][part][e]);
        }
        return result;
    }
    __device__ __forceinline__ void
    add(int panel, int part, const tf32_factor<4>& left, const tf32_factor<2>& right)
    {
        add_complex_product(re[panel][part], im[panel][part], left, right);
    }
};

//! Of X in S's place, and of E, G and H, undivided: A^-1.
__device__ __forceinline__ halves_result join_halves(const two_stages_memory& memory,
                                                     int g,
                                                     int t)
{
    constexpr int panels = 4;
    constexpr int lower = 16;
    halves_result all;
    float2 a, b;
    // G, where R comes to be: -1 / pivot times the row.
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
        all.clear(tile, 1);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            get_pair(memory, lower + 8 * h + g, 8 * tile, t, a, b);
            const float2 by = negate(memory.row_scale[lower + 8 * h + g]);
            all.set(tile + 2, 1, 2 * h, multiply(a, by));
            all.set(tile + 2, 1, 2 * h + 1, multiply(b, by));
        }
    }
    // Q
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
        const auto left = all.left(tile + 2, 1);
#pragma unroll
        for (int panel = 0; panel < 2; ++panel) {
            all.add(panel, 1, left, get_right<false>(memory, 8 * tile, 8 * panel, g, t));
        }
    }
    // X and E
#pragma unroll
    for (int panel = 0; panel < 2; ++panel) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            get_pair(memory, 8 * h + g, 8 * panel, t, a, b);
            all.set(panel, 0, 2 * h, a);
            all.set(panel, 0, 2 * h + 1, b);
        }
    }
#pragma unroll
    for (int panel = 2; panel < panels; ++panel) {
        all.clear(panel, 0);
        const float4 columns =
            *reinterpret_cast<const float4*>(&memory.column_scale[8 * panel + 2 * t]);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            get_pair(memory, lower + 8 * h + g, 8 * panel, t, a, b);
            const float2 by = memory.row_scale[lower + 8 * h + g];
            a = multiply(multiply(a, by), float2{ columns.x, columns.y });
            b = multiply(multiply(b, by), float2{ columns.z, columns.w });
            all.set(panel, 1, 2 * h, a);
            all.set(panel, 1, 2 * h + 1, b);
        }
    }
    // P and R
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
        tf32_factor<2> right[2];
#pragma unroll
        for (int panel = 2; panel < panels; ++panel) {
            right[panel - 2] = get_right<true>(memory, 8 * tile, 8 * panel, g, t);
        }
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            const auto left = all.left(tile, part);
#pragma unroll
            for (int panel = 2; panel < panels; ++panel) {
                all.add(panel, part, left, right[panel - 2]);
            }
        }
    }
    return all;
}

//! X to the batch, where its rows and columns belong; false if it is not finite.
__device__ __forceinline__ bool write_halves(const halves_result& all,
                                             two_stages_memory& memory,
                                             float2* to,
                                             int n,
                                             int lane,
                                             bool aligned)
{
    constexpr int order = two_stages_layout::order;
    constexpr int apart = two_stages_memory::out_apart;
    const int g = lane / 4;
    const int t = lane % 4;
    float x_finite = 0;
#pragma unroll
    for (int panel = 0; panel < 4; ++panel) {
        const int2 columns =
            *reinterpret_cast<const int2*>(&memory.column_to[8 * panel + 2 * t]);
#pragma unroll
        for (int i = 0; i < 32; i += 8) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int at = i / 8 % 2 * 2 + e;
                const float2 one{ all.re[panel][i / 16][at], all.im[panel][i / 16][at] };
                nan_unless_finite(x_finite, one);
                memory.x[(i + g) * apart + (e ? columns.y : columns.x)] = one;
            }
        }
    }
    if (!__all_sync(all_lanes, x_finite == 0)) {
        return false;
    }
    __syncwarp();
    if (memory.error_at[lane] >= 0) {
        add_to(memory.x[memory.error_at[lane]], memory.error[lane]);
    }
    __syncwarp();
    if (n == order && aligned) {
        constexpr int row_bytes = order * int(sizeof(float2));
        const int piece = lane % 16;
        const float2* const from = memory.x + lane / 16 * apart + 2 * piece;
        char* const to_piece = reinterpret_cast<char*>(to + 2 * piece);
#pragma unroll
        for (int i = 0; i < order; i += 2) {
            const int row = memory.row_to[i + lane / 16];
            *reinterpret_cast<float4*>(to_piece + row * row_bytes) =
                *reinterpret_cast<const float4*>(from + i * apart);
        }
    } else {
#pragma unroll 4
        for (int i = 0; i < n; ++i) {
            if (lane < n) {
                to[memory.row_to[i] * n + lane] = memory.x[i * apart + lane];
            }
        }
    }
    return true;
}

} // namespace
} // namespace gr::cudaphy::kernels
