/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/tf32.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_panels_memory.cuh"

// A warp inverts a matrix of complex64 by panels of 8 columns, so that tensor cores do
// most of the work. A panel is eliminated alone, with a row in the registers of each
// lane. The result W updates all other columns at once, with R, the pivots' rows before
// the panel: row i of A becomes a_i + W_i R, or W_i R if it is a pivot's row. W takes the
// place of the panel.
//
// A lane holds the elements of an accumulator of `mma`: rows g, g + 8, g + 16, g + 24 and
// columns 2 t and 2 t + 1 of each panel (g = lane / 4, t = lane % 4). W in these places
// is also an operand (tf32.cuh).
//
// Order 40 has five panels, and eight rows more than lanes. These rows are dealt out: in
// the panel, a lane has row 32 + g and columns 2 t and 2 t + 1. Elsewhere it has rows
// 32 + 2 t and 32 + 2 t + 1 and column g of each panel, because their product is made as
// R^T W^T, of two panels at once.
//
// Each pivot has the largest size, but the bits differ from those of the other kernels.
// To keep the difference that small, the matrix goes to the elimination step by step in
// these cases: a pivot is not within 2^-80 .. 2^80 (zero, not finite, or parts
// underflow), two pivots differ by more than a factor of 2^100 (products in a panel
// underflow), or X is not finite.

namespace gr::cudaphy::kernels {
namespace {

//! Writes X, its status and its determinant. Returns false, and writes nothing, if the
//! elimination step by step must do it.
template <int Panels, pivoting Pivoting>
__device__ __forceinline__ bool invert_by_panels(const batch_of<float2>& batch,
                                                 int n,
                                                 size_t item,
                                                 panels_memory<Panels>& memory)
{
    using memory_type = panels_memory<Panels>;
    constexpr int order = memory_type::order;
    constexpr bool has_rest = memory_type::has_rest;
    const int lane = threadIdx.x % 32;
    const int g = lane / 4;
    const int t = lane % 4;
    const bool pairs = batch.aligned && n % 2 == 0;

    // Element e of row g + 8 a: [panel][a / 2][a % 2 * 2 + e].
    float re[Panels][2][4], im[Panels][2][4];
    const float2* const from = batch.a + item * (n * n);
#pragma unroll
    for (int panel = 0; panel < Panels; ++panel) {
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const int i = g + 8 * a;
            const int j = 8 * panel + 2 * t;
            float4 two{ 0, 0, 0, 0 };
            if (i < n && j < n) {
                if (pairs) {
                    two = *reinterpret_cast<const float4*>(from + i * n + j);
                } else {
                    const float2 one = from[i * n + j];
                    const float2 other = j + 1 < n ? from[i * n + j + 1] : float2{ 0, 0 };
                    two = { one.x, one.y, other.x, other.y };
                }
            }
            const int at = a % 2 * 2;
            re[panel][a / 2][at] = two.x;
            im[panel][a / 2][at] = two.y;
            re[panel][a / 2][at + 1] = two.z;
            im[panel][a / 2][at + 1] = two.w;
        }
    }
    // Element of row 32 + 2 t + e and column 8 panel + g: [panel][e].
    [[maybe_unused]] float rest_re[Panels][2], rest_im[Panels][2];
    if constexpr (has_rest) {
#pragma unroll
        for (int panel = 0; panel < Panels; ++panel) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int i = 32 + 2 * t + e;
                const int j = 8 * panel + g;
                const float2 one = i < n && j < n ? from[i * n + j] : float2{ 0, 0 };
                rest_re[panel][e] = one.x;
                rest_im[panel][e] = one.y;
            }
        }
    }

    int id = id_of(lane, n);        // of row `lane`
    int rest_id = id_of(32 + g, n); // of row 32 + g
    int column_of = -1;             // of row `lane`: the column whose pivot it has
    int row_of = 0;                 // of column `lane`: the row that has its pivot
    if constexpr (has_rest) {
        for (int i = lane; i < order; i += 32) {
            memory.column_of[i] = -1;
        }
    }
    const auto column_of_row = [&](int i) {
        if constexpr (has_rest) {
            return memory.column_of[i];
        } else {
            return __shfl_sync(all_lanes, column_of, i);
        }
    };
    const auto row_of_column = [&](int j) {
        if constexpr (has_rest) {
            return memory.row_of[j];
        } else {
            return __shfl_sync(all_lanes, row_of, j);
        }
    };
    // Bits of the pivots' sizes.
    uint32_t least = 0xffffffff, largest = 0;
    auto& now = memory.now;
    auto* const own_parts = reinterpret_cast<float4*>(
        in_register(&now.panel[g * memory_type::panel_apart + 2 * t]));
    auto* const own_row = reinterpret_cast<float4*>(
        in_register(&now.panel[lane * memory_type::panel_apart]));
    constexpr int rows_8 = 8 * memory_type::panel_apart / 2;
    float2* const rest_part = in_register(
        &now.panel[(has_rest ? 32 + 2 * t : 0) * memory_type::panel_apart + g]);
    float2* const rows_to = in_register(&now.rows[2 * t]);
    const float2* const rows_from =
        in_register(&now.rows[2 * t * memory_type::row_apart + g]);
    auto* const found_rows = reinterpret_cast<float4*>(in_register(&now.found[0][0]));

#pragma unroll 1
    for (int first = 0; first < n; first += 8) {
        // The panel is always the first panel in registers, because the panels rotate.
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const auto& r = re[0][a / 2];
            const auto& i = im[0][a / 2];
            const int at = a % 2 * 2;
            own_parts[a * rows_8] = float4{ r[at], i[at], r[at + 1], i[at + 1] };
        }
        if constexpr (has_rest) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                rest_part[e * memory_type::panel_apart] = { rest_re[0][e],
                                                            rest_im[0][e] };
            }
        }
        __syncwarp();
        float2 w[8];
#pragma unroll
        for (int h = 0; h < 4; ++h) {
            const float4 two = own_row[h];
            w[2 * h] = { two.x, two.y };
            w[2 * h + 1] = { two.z, two.w };
        }
        // The pivots' rows are not divided by their pivots until the end.
        float2 scale{ 1, 0 };
        [[maybe_unused]] float2 v[2]; // of row 32 + g: columns 2 t and 2 t + 1
        [[maybe_unused]] float2 rest_scale{ 1, 0 };
        if constexpr (has_rest) {
            const float4 two = own_parts[4 * rows_8];
            v[0] = { two.x, two.y };
            v[1] = { two.z, two.w };
        }
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            const int k = first + s;
            if (k >= n) {
                break;
            }
            int i = k;
            if constexpr (Pivoting == pivoting::partial) {
                int key = key_with(bits_of(size_of(w[s])), id);
                if constexpr (has_rest) {
                    const int other = key_with(bits_of(size_of(v[s % 2])), rest_id);
                    key = max(key, t == s / 2 ? other : 0);
                }
                i = index_in(largest_of_lanes<32>(key));
            }
            const bool mine = lane == i;
            float4* const found = found_rows + s % 2 * 4;
            if (mine) {
#pragma unroll
                for (int h = 0; h < 4; ++h) {
                    const float2 one = w[2 * h], other = w[2 * h + 1];
                    found[h] = float4{ one.x, one.y, other.x, other.y };
                }
                id = 0;
                column_of = k;
            }
            [[maybe_unused]] const bool rest_mine = i == 32 + g;
            if constexpr (has_rest) {
                if (rest_mine) {
                    found[t] = float4{ v[0].x, v[0].y, v[1].x, v[1].y };
                    rest_id = 0;
                }
                memory.column_of[i] = k;
                memory.row_of[k] = i;
            } else {
                row_of = lane == k ? i : row_of;
            }
            __syncwarp();
            float2 row[8];
#pragma unroll
            for (int h = 0; h < 4; ++h) {
                const float4 two = found[h];
                row[2 * h] = { two.x, two.y };
                row[2 * h + 1] = { two.z, two.w };
            }
            float2 p = row[s];
            float size = size_of(p);
            if constexpr (Pivoting == pivoting::none) {
                p.y = 0;
                size = p.x; // which a sign takes out of the span
            }
            least = min(least, __float_as_uint(size));
            largest = max(largest, __float_as_uint(size));
            if (batch.determinant && lane == 0) {
                memory.pivots[k] = p;
            }
            const float2 r = reciprocal(p);
            const float2 c = select(mine, float2{ 0, 0 }, w[s]);
            const float2 factor = multiply(c, r);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                if (j != s) {
                    w[j] = subtract_product(w[j], factor, row[j]);
                }
            }
            w[s] = float2{ mine ? 1 : -factor.x, -factor.y };
            scale = select(mine, r, scale);
            if constexpr (has_rest) {
                const int source = lane - t + s / 2;
                const float2 own{ __shfl_sync(all_lanes, v[s % 2].x, source),
                                  __shfl_sync(all_lanes, v[s % 2].y, source) };
                const float2 rest_factor =
                    multiply(select(rest_mine, float2{ 0, 0 }, own), r);
                const float4 two = found[t];
                v[0] = subtract_product(v[0], rest_factor, float2{ two.x, two.y });
                v[1] = subtract_product(v[1], rest_factor, float2{ two.z, two.w });
                const float2 w_s{ rest_mine ? 1 : -rest_factor.x, -rest_factor.y };
                v[s % 2] = select(t == s / 2, w_s, v[s % 2]);
                rest_scale = select(rest_mine, r, rest_scale);
            }
        }
#pragma unroll
        for (int h = 0; h < 4; ++h) {
            const float2 one = multiply(w[2 * h], scale);
            const float2 other = multiply(w[2 * h + 1], scale);
            own_row[h] = float4{ one.x, one.y, other.x, other.y };
        }
        if constexpr (has_rest) {
            const float2 one = multiply(v[0], rest_scale);
            const float2 other = multiply(v[1], rest_scale);
            own_parts[4 * rows_8] = float4{ one.x, one.y, other.x, other.y };
        }
        // R, in the order of its pivots, and zeros in its place.
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const int at = column_of_row(g + 8 * a) - first;
            const bool here = at >= 0;
            const float kept_part = here ? 0.0f : 1.0f;
            float4* const to =
                reinterpret_cast<float4*>(rows_to + at * memory_type::row_apart);
#pragma unroll
            for (int panel = 1; panel < Panels; ++panel) {
                auto& r = re[panel][a / 2];
                auto& i = im[panel][a / 2];
                const int e = a % 2 * 2;
                if (here) {
                    to[4 * (panel - 1)] = float4{ r[e], i[e], r[e + 1], i[e + 1] };
                }
                r[e] *= kept_part;
                i[e] *= kept_part;
                r[e + 1] *= kept_part;
                i[e + 1] *= kept_part;
            }
        }
        if constexpr (has_rest) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int at = column_of_row(32 + 2 * t + e) - first;
                const bool here = at >= 0;
                const float kept_part = here ? 0.0f : 1.0f;
                float2* const to = &now.rows[at * memory_type::row_apart + g];
#pragma unroll
                for (int panel = 1; panel < Panels; ++panel) {
                    if (here) {
                        to[8 * (panel - 1)] = { rest_re[panel][e], rest_im[panel][e] };
                    }
                    rest_re[panel][e] *= kept_part;
                    rest_im[panel][e] *= kept_part;
                }
            }
        }
        for (int s = n - first; s < 8; ++s) { // columns without a pivot
            if (lane < order - 8) {
                now.rows[s * memory_type::row_apart + lane] = float2{ 0, 0 };
            }
        }
        __syncwarp();

        tf32_factor<4> w_half[2];
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const float4 two = own_parts[a * rows_8];
            w_half[a / 2].set(a % 2, two.x, two.y);
            w_half[a / 2].set(a % 2 + 2, two.z, two.w);
        }
        [[maybe_unused]] tf32_factor<2> rest_w;
        [[maybe_unused]] tf32_factor<4> two_panels; // of R^T
        if constexpr (has_rest) {
            const float4 two = own_parts[4 * rows_8];
            rest_w.set(0, two.x, two.y);
            rest_w.set(1, two.z, two.w);
        }
#pragma unroll
        for (int panel = 1; panel < Panels; ++panel) {
            tf32_factor<2> r;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float2 one =
                    rows_from[h * memory_type::row_apart + 8 * (panel - 1)];
                r.set(h, one.x, one.y);
            }
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                add_complex_product(re[panel][half], im[panel][half], w_half[half], r);
            }
            if constexpr (has_rest) {
                two_panels.set_row((panel - 1) % 2, r);
                if (panel % 2 == 0) {
                    float d_re[4], d_im[4];
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        d_re[e] = rest_re[panel - 1 + e / 2][e % 2];
                        d_im[e] = rest_im[panel - 1 + e / 2][e % 2];
                    }
                    add_complex_product(d_re, d_im, two_panels, rest_w);
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        rest_re[panel - 1 + e / 2][e % 2] = d_re[e];
                        rest_im[panel - 1 + e / 2][e % 2] = d_im[e];
                    }
                }
            }
        }
#pragma unroll
        for (int panel = 1; panel < Panels; ++panel) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    re[panel - 1][half][e] = re[panel][half][e];
                    im[panel - 1][half][e] = im[panel][half][e];
                }
            }
#pragma unroll
            for (int e = 0; e < 2 && has_rest; ++e) {
                rest_re[panel - 1][e] = rest_re[panel][e];
                rest_im[panel - 1][e] = rest_im[panel][e];
            }
        }
        // Read again, because there are no registers to hold it.
        __syncwarp();
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const float4 two = own_parts[a * rows_8];
            auto& r = re[Panels - 1][a / 2];
            auto& i = im[Panels - 1][a / 2];
            const int at = a % 2 * 2;
            r[at] = two.x;
            i[at] = two.y;
            r[at + 1] = two.z;
            i[at + 1] = two.w;
        }
        if constexpr (has_rest) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float2 one = rest_part[e * memory_type::panel_apart];
                rest_re[Panels - 1][e] = one.x;
                rest_im[Panels - 1][e] = one.y;
            }
        }
        __syncwarp();
    }

    // (P A)^-1 = A^-1 P^-1: columns go where their pivots' rows were, and rows, on the
    // way out, where their pivots' columns were.
    float x_finite = 0;
    // With a rest whole matrices leave at once, and rows lie where they are in X.
    const auto row_of_x = [&](int i) {
        return memory.x + (has_rest ? column_of_row(i) * n : i * memory_type::x_apart);
    };
    const auto put = [&](float2* row, int i, int j, int to, const float2& one) {
        if (i < n && j < n) {
            nan_unless_finite(x_finite, one);
            row[to] = one;
        }
    };
    float2* rows[4];
#pragma unroll
    for (int a = 0; a < 4; ++a) {
        rows[a] = row_of_x(g + 8 * a);
    }
#pragma unroll
    for (int panel = 0; panel < Panels; ++panel) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int j = 8 * panel + 2 * t + e;
            const int to = row_of_column(j);
#pragma unroll
            for (int a = 0; a < 4; ++a) {
                const int at = a % 2 * 2 + e;
                put(rows[a],
                    g + 8 * a,
                    j,
                    to,
                    float2{ re[panel][a / 2][at], im[panel][a / 2][at] });
            }
        }
    }
    if constexpr (has_rest) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int i = 32 + 2 * t + e;
            float2* const row = row_of_x(i);
#pragma unroll
            for (int panel = 0; panel < Panels; ++panel) {
                const int j = 8 * panel + g;
                put(row,
                    i,
                    j,
                    row_of_column(j),
                    float2{ rest_re[panel][e], rest_im[panel][e] });
            }
        }
    }
    constexpr auto bits_of_power = [](int exponent) {
        return uint32_t(127 + exponent) << 23;
    };
    const bool in_range = least >= bits_of_power(-80) && largest <= bits_of_power(80) &&
                          largest - least <= 100u << 23;
    if (!__all_sync(all_lanes, x_finite == 0 && in_range)) {
        return false;
    }
    __syncwarp();
    float2* const x = batch.x + item * (n * n);
    if constexpr (has_rest) {
        write_matrix<float2, order>(
            reinterpret_cast<const char*>(memory.x), x, n, lane, batch.aligned);
    } else if (pairs) {
        const int piece = 2 * (lane % 16);
#pragma unroll 4
        for (int i = 0; i < n; i += 2) {
            const int row = i + lane / 16;
            const int to = column_of_row(row);
            if (piece < n) {
                *reinterpret_cast<float4*>(x + to * n + piece) =
                    *reinterpret_cast<const float4*>(
                        &memory.x[row * memory_type::x_apart + piece]);
            }
        }
    } else {
#pragma unroll 4
        for (int i = 0; i < n; ++i) {
            const int to = column_of_row(i);
            if (lane < n) {
                x[to * n + lane] = memory.x[i * memory_type::x_apart + lane];
            }
        }
    }
    elimination<float2> so_far;
    if (batch.determinant) {
        if constexpr (has_rest) {
            so_far.odd = is_odd(memory.column_of, lane, n);
        } else {
            so_far.odd = is_odd(column_of, lane, n);
        }
        for (int k = 0; k < n; ++k) {
            so_far.determinant = multiply(so_far.determinant, memory.pivots[k]);
        }
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
    return true;
}

template <int Panels, pivoting Pivoting>
__global__ void __launch_bounds__(panels_threads<Panels>, panels_least_blocks<Panels>)
    inverse_warp_panels(const batch_of<float2> batch, int n)
{
    constexpr int warps = panels_threads<Panels> / 32;
    __shared__ panels_memory<Panels> shared[warps];
    const int warp = threadIdx.x / 32;
    const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + warp;
    if (item >= batch.size) {
        return;
    }
    if (!invert_by_panels<Panels, Pivoting>(batch, n, item, shared[warp])) {
        __syncwarp();
        invert_by_warp<float2, 8 * Panels, Pivoting>(
            batch, n, item, shared[warp].step_by_step);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
