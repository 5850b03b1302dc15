/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/predicated.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_per_matrix.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_two_stages_join.cuh"

// complex64 with full pivoting: a warp inverts a matrix of order 25 to 32 in two stages.
// Gauss-Jordan steps until 16 rows and columns are left, which come to the front, turn
//     A = F D    into    S H    H = -D B^-1, G = B^-1 C, E = B^-1,
//         C B            G E    S = F - D B^-1 C.
// The other 16 steps need only S, a quarter of the work. Then tensor cores compute
//     X P    X = S^-1, P = X H,
//     Q R    Q = -G X, R = E + Q H,
// which is A's inverse but for the order of rows and columns.
//
// Lanes form a grid of 4 x 8 as in warp_per_matrix.cuh, and a branch finds the pivot's
// registers. A pivot's row and column stay where they are, undivided. The row's factor is
// 0. The column's factor is 2, so that an element c of the column becomes c - 2 c = -c.
// Both are divided by the pivot after the stage, which spares moves and zeros in every
// step.
//
// Each pivot has the largest size, but the bits differ from those of the other kernels.
// To keep the difference that small, the matrix goes to the elimination step by step in
// these cases: a pivot is less than 2^-16 of the first (A may be singular), the first
// pivot is not within 2^-64 .. 2^70 (zero, not finite, or parts underflow), or X is not
// finite.

namespace gr::cudaphy::kernels {
namespace {

//! The conjugate of 1 / p. s is a power of two that scales all pivots to near 1.
__device__ __forceinline__ float2 conjugate_of_reciprocal(float2 p, float s)
{
    const float re = s * p.x;
    const float im = s * p.y;
    const float q = s * reciprocal_of_scaled(fused(re, re, im * im));
    return { re * q, im * q };
}
//! a times the conjugate of b.
__device__ __forceinline__ float2 multiply_conjugate(float2 a, float2 b)
{
    return { fused(a.y, b.y, a.x * b.x), fused(a.y, b.x, -(a.x * b.y)) };
}

//! Writes X, its status and its determinant. Returns false, and writes nothing, if the
//! elimination step by step must do it.
template <bool Determinant>
__device__ __forceinline__ bool invert_in_two_stages(const batch_of<float2>& batch,
                                                     int n,
                                                     size_t item,
                                                     two_stages_memory& memory)
{
    using layout = two_stages_layout;
    constexpr int R = layout::order;
    constexpr int A = layout::rows;
    constexpr int B = layout::columns;
    constexpr int half = layout::half;
    constexpr int apart = two_stages_memory::apart;
    constexpr int element = sizeof(float2);

    const int lane = threadIdx.x % 32;
    const int down = lane / layout::across;
    const int across = lane % layout::across;

    float2 m[A][B];
    const auto load = [&](int order) {
        const float2* const from =
            batch.a + item * (order * order) + down * order + across;
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = order == R || (layout::row(a, down) < order &&
                                         layout::column(b, across) < order)
                              ? from[a * layout::down * order + b * layout::across]
                              : float2{ 0, 0 };
            }
        }
    };
    if (n == R) {
        load(R);
    } else {
        load(n);
    }
    int row_id[A];
#pragma unroll
    for (int a = 0; a < A; ++a) {
        row_id[a] = id_of(layout::row(a, down), n);
    }
    // Of the columns that are left.
    int size[B];
#pragma unroll
    for (int b = 0; b < B; ++b) {
        size[b] = layout::column(b, across) < n ? 0 : no_size;
    }
    int id = id_of(lane, n); // of column `lane`; once it is done, its pivot's row
    // What a pivot's key must reach; below all keys once the matrix is given up.
    constexpr int given_up = -1;
    int bound = above_all_keys;
    float scale = 1; // of reciprocals

    float2* const found_part = in_register(&memory.row[0][2 * across]);
    float2* const found_lane = in_register(&memory.row[0][layout::place_in_row(lane)]);
    const auto* const row_part = reinterpret_cast<const float4*>(found_part + 32);
    float2* const row_lane = found_lane + 32;
    float4* const pivot_lane = in_register(&memory.pivot_of[lane]);
    auto* const column_part = in_register(&memory.column[down * layout::apart]);
    float2* pivot_k = in_register(memory.pivots);

    // With what is left in the first slots of rows and columns.
    const auto step = [&](auto row_slots, auto column_slots) {
        constexpr int Down = decltype(row_slots)::value;
        constexpr int Across = decltype(column_slots)::value;
        bool left[Across];
#pragma unroll
        for (int b = 0; b < Across; ++b) {
            left[b] = size[b] != no_size;
        }
        int key[Down];
#pragma unroll
        for (int a = 0; a < Down; ++a) {
#pragma unroll
            for (int b = 0; b < Across; ++b) {
                update_size(left[b], size[b], m[a][b]);
            }
            key[a] = key_with(largest_size<Across>(size), row_id[a]);
        }
        const int best = largest_of_lanes<32>(largest_key(key));
        const int i = index_in(best);
        if (best < bound) {
            constexpr float least = 0x1p-64f, most = 0x1p70f, span = 0x1p-16f;
            const bool is_first = bound == above_all_keys;
            const float size_of_it = __int_as_float(best);
            const bool ordinary = size_of_it >= least && size_of_it <= most;
            bound = is_first && ordinary ? bits_of(span * size_of_it) : given_up;
            scale = scale_for_bits<float>(best);
        }
        const bool has_row = down == i % layout::down;
        at_slot<Down>(tested_late{ i / layout::down }, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
#pragma unroll
            for (int b = 0; b < Across; ++b) {
                store_if(has_row,
                         found_part + layout::place_in_row(b * layout::across),
                         m[a][b]);
            }
            row_id[a] = has_row ? 0 : row_id[a];
        });
        __syncwarp();
        const float2 a_lane = *found_lane;
        const float2 r_lane = conjugate_of_reciprocal(a_lane, scale); // while j is found
        const int j =
            index_in(largest_of_lanes<32>(key_with(bits_of(size_of(a_lane)), id)));
        const float2 r = from_lane(r_lane, j);
        const bool has_column = across == j % layout::across;
        at_slot<Across>(tested_late{ j / layout::across }, [&](auto slot) {
            constexpr int b = decltype(slot)::value;
            auto* const to = reinterpret_cast<float4*>(column_part);
#pragma unroll
            for (int a = 0; a < Down; a += 2) {
                const float2 one = m[a][b], other = m[a + 1][b];
                store_if(has_column, to + a / 2, { one.x, one.y, other.x, other.y });
            }
            size[b] = has_column ? no_size : size[b];
        });
        store_if(has_row && has_column, column_part + i / layout::down, { 0, 0 });
        const bool has_pivot = lane == j;
        *row_lane = select(has_pivot, float2{ 2, 0 }, multiply_conjugate(a_lane, r));
        id = has_pivot ? i : id;
        store_if(has_pivot, pivot_lane, { r.x, r.y, a_lane.x, a_lane.y });
        if constexpr (Determinant) {
            store_if(has_pivot, pivot_k++, a_lane);
        }
        __syncwarp();

        float2 t[Across];
        float2 c[Down];
#pragma unroll
        for (int b = 0; b < Across; b += 2) {
            const float4 two = row_part[b / 2 * layout::across];
            t[b] = float2{ two.x, two.y };
            t[b + 1] = float2{ two.z, two.w };
        }
#pragma unroll
        for (int a = 0; a < Down; a += 2) {
            const float4 two = reinterpret_cast<const float4*>(column_part)[a / 2];
            c[a] = float2{ two.x, two.y };
            c[a + 1] = float2{ two.z, two.w };
        }
#pragma unroll
        for (int a = 0; a < Down; ++a) {
#pragma unroll
            for (int b = 0; b < Across; ++b) {
                m[a][b] = subtract_product(m[a][b], c[a], t[b]);
            }
        }
    };

    int steps = n - half;
#pragma unroll 1
    do {
        step(slot_constant<A>(), slot_constant<B>());
    } while (--steps);

    char* const x = reinterpret_cast<char*>(in_register(memory.x));
    const bool done = lane < n && id <= inverse_pivot::index_mask;
    const auto place_of = [&](unsigned those_done) { // of row or column `lane`
        const int before = __popc(those_done & ((1u << lane) - 1));
        return lane >= n ? lane : those_done >> lane & 1 ? half + before : lane - before;
    };
    const int row_place = place_of(union_of_lanes(done ? 1u << id : 0));
    const int column_place = place_of(__ballot_sync(all_lanes, done));
    const int pivot_place = __shfl_sync(all_lanes, row_place, id % 32);
    memory.row_offset[row_place] = lane * apart * element;
    memory.column_name[column_place] = lane;
    memory.column_place[lane] = column_place;
    memory.row_to[done ? pivot_place : column_place] = lane;
    if (done) {
        memory.column_to[column_place] = id;
    }
    if (row_place < half || lane >= n) {
        memory.column_to[row_place] = lane;
    }
    memory.error_at[lane] = -1;
    if (done || lane >= n) {
        const float4 both = done ? *pivot_lane : float4{ 0, 0, 0, 0 };
        const float2 by{ both.x, -both.y };
        memory.row_scale[done ? pivot_place : lane] = by;
        memory.column_scale[column_place] = by;
        if (done) {
            memory.error_at[lane] = pivot_place * two_stages_memory::out_apart + id;
            memory.error[lane] = scaling_error(by, { both.z, both.w });
        }
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < B; ++b) {
        float2* const to = reinterpret_cast<float2*>(x) + down * apart +
                           memory.column_place[layout::column(b, across)];
#pragma unroll
        for (int a = 0; a < A; ++a) {
            to[a * layout::down * apart] = m[a][b];
        }
    }
    __syncwarp();
    constexpr int Down = layout::rows_of_half;
    constexpr int Across = layout::columns_of_half;
#pragma unroll
    for (int a = 0; a < Down; ++a) {
        const auto* const from =
            reinterpret_cast<const float2*>(x + memory.row_offset[layout::row(a, down)]);
#pragma unroll
        for (int b = 0; b < Across; ++b) {
            m[a][b] = from[layout::column(b, across)];
        }
        row_id[a] = id_of(layout::row(a, down), half);
    }
#pragma unroll
    for (int b = 0; b < Across; ++b) {
        size[b] = 0;
    }
    id = id_of(lane, half);
    steps = half;
#pragma unroll 1
    do {
        step(slot_constant<Down>(), slot_constant<Across>());
    } while (--steps);
    if (bound == given_up) {
        return false;
    }

    // X in S's place: a row goes where its pivot's column was, and a column where its
    // pivot's row was.
    if (lane < half) {
        memory.x_row_offset[id] = memory.row_offset[lane];
        memory.x_column[lane] = id;
        const float4 both = *pivot_lane;
        memory.row_scale[id] = memory.column_scale[lane] = float2{ both.x, -both.y };
    }
    __syncwarp();
#pragma unroll
    for (int b = 0; b < Across; ++b) {
        const int column = layout::column(b, across);
        char* const to = x + memory.x_column[column] * element;
        const float2 by = memory.column_scale[column];
#pragma unroll
        for (int a = 0; a < Down; ++a) {
            const int row = layout::row(a, down);
            *reinterpret_cast<float2*>(to + memory.x_row_offset[row]) =
                multiply(multiply(m[a][b], memory.row_scale[row]), by);
        }
    }
    __syncwarp();
    if (lane < half) {
        const float4 both = *pivot_lane;
        auto* const of_pivot =
            reinterpret_cast<float2*>(x + memory.row_offset[lane]) + id;
        add_to(*of_pivot, scaling_error({ both.x, -both.y }, { both.z, both.w }));
    }
    __syncwarp();
    const halves_result all = join_halves(memory, lane / 4, lane % 4);
    __syncwarp();
    if (!write_halves(all, memory, batch.x + item * (n * n), n, lane, batch.aligned)) {
        return false;
    }
    elimination<float2> so_far;
    if constexpr (Determinant) {
        for (int i = 0; i < n; ++i) {
            so_far.determinant = multiply(so_far.determinant, memory.pivots[i]);
        }
        const int pivot_row = lane < half ? memory.row_offset[id] / (apart * element)
                                          : memory.column_to[lane];
        __syncwarp();
        memory.row_to[memory.column_name[lane]] = pivot_row;
        __syncwarp();
        so_far.odd = is_odd(memory.row_to[lane], lane, n);
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
    return true;
}

template <bool Determinant>
__global__ void __launch_bounds__(two_stages_threads, two_stages_least_blocks)
    inverse_warp_two_stages(const batch_of<float2> batch, int n)
{
    constexpr int warps = two_stages_threads / 32;
    union memory_of_warp {
        two_stages_memory stages;
        warp_memory<float2, two_stages_layout::order, true> step_by_step;
    };
    __shared__ memory_of_warp shared[warps];
    const int warp = threadIdx.x / 32;
    const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + warp;
    if (item >= batch.size) {
        return;
    }
    if (!invert_in_two_stages<Determinant>(batch, n, item, shared[warp].stages)) {
        __syncwarp();
        invert_by_warp<float2, two_stages_layout::order, pivoting::full>(
            batch, n, item, shared[warp].step_by_step);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
