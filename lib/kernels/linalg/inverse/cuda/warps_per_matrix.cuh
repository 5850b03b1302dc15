/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/search_in_row.cuh"
#include "kernels/linalg/inverse/cuda/warps_layout.cuh"

// Some warps invert a matrix of an order that no kernel for one warp of 4 x 8 lanes
// holds. A warp has all rows of its columns, as a grid of lanes in registers. No row or
// column moves; branches, which are the same in all lanes, find the registers of a
// pivot's row and column. A step has one barrier:
//
// - Before the barrier a warp offers a column to all warps: without full pivoting, the
//   warp that has column k finds the pivot's row and its reciprocal. With full pivoting
//   every warp finds the largest of its own elements.
// - After the barrier, the best offer is the pivot. The pivot's row is exchanged within
//   the warp, because every warp needs only its own columns of the row.
//
// A warp whose row with the largest key is the pivot's row has also found the largest of
// its own columns there. In all other warps the elements of that row have smaller keys.

namespace gr::cudaphy::kernels {
namespace {

//! What a block needs of shared memory, besides X.
template <typename Layout, bool FullPivoting>
struct warps_memory {
    using T = typename Layout::element;
    static constexpr int offers = FullPivoting ? Layout::warps : 1;
    struct offer {
        T value; //!< the pivot as it was found, or its reciprocal without full pivoting
        int row_key;
        int column_key;
    };
    struct exchange {
        __align__(16) T column[2][offers][Layout::column_size];
        __align__(16) T row[Layout::warps][Layout::row_size];
        __align__(16) offer offered[2][offers];
    };
    T pivots[64];
    int row_of[64];    //!< of a column: the row that has its pivot
    int column_of[64]; //!< of a row
    int state[Layout::warps];
    union {
        __align__(16) exchange now;
        __align__(16) T x[Layout::rows * Layout::x_apart];
    };
};

//! `how` is full pivoting if `full`, else one of the other two.
template <typename Layout, bool full>
__device__ __forceinline__ void invert_by_warps(
    const batch_of<typename Layout::element>& batch, int n, pivoting how, char* shared)
{
    using T = typename Layout::element;
    constexpr int A = Layout::A;
    constexpr int B = Layout::B;
    constexpr int warps = Layout::warps;
    using memory_type = warps_memory<Layout, full>;

    auto& memory = *reinterpret_cast<memory_type*>(shared);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int down = lane / Layout::across;
    const int across = lane % Layout::across;
    const auto wait = [] {
        if constexpr (warps > 1) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    };

    T m[A][B];
    const T* const from = batch.a + size_t(blockIdx.x) * (n * n);
    real_of<T> finite = 0;
#pragma unroll
    for (int a = 0; a < A; ++a) {
#pragma unroll
        for (int b = 0; b < B; ++b) {
            const int i = Layout::row(a, down);
            const int j = Layout::column(b, across, warp);
            m[a][b] = i < n && j < n ? from[i * n + j] : make_element<T>(0);
        }
    }
#pragma unroll
    for (int a = 0; a < A; ++a) {
#pragma unroll
        for (int b = 0; b < B; ++b) {
            nan_unless_finite(finite, m[a][b]);
        }
    }
    const bool a_lost = __syncthreads_or(!(finite == 0));
    finite = 0;

    // Of the elements that a lane looks at alone: without full pivoting the rows of a
    // column, with full pivoting the warp's columns of a row.
    constexpr int looks = ((full ? Layout::columns_a_warp : Layout::rows) + 31) / 32;
    int id[looks];
#pragma unroll
    for (int l = 0; l < looks; ++l) {
        const int at = lane + 32 * l;
        id[l] = id_of(full ? Layout::column_at(at, warp) : at, n);
        if (full && at >= Layout::columns_a_warp) {
            id[l] = 0;
        }
    }
    int row_id[A];
    search_in_row<T, B> search;
    if constexpr (full) {
#pragma unroll
        for (int a = 0; a < A; ++a) {
            row_id[a] = id_of(Layout::row(a, down), n);
        }
#pragma unroll
        for (int b = 0; b < B; ++b) {
            search.set(b, Layout::column(b, across, warp) < n);
        }
    }
    elimination<T> so_far;

    T* const row_part = in_register(&memory.now.row[warp][Layout::place_in_row(across)]);
    T* const row_lane = in_register(&memory.now.row[warp][Layout::place_in_row(lane)]);
    const auto put_row = [&](int i) {
        const bool has_row = down == int(unsigned(i) % Layout::down);
        at_slot<A>(unsigned(i) / Layout::down, [&](auto slot) {
            Layout::put_row(has_row, row_part, m[decltype(slot)::value]);
        });
    };

#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        auto* const columns = memory.now.column[k % 2];
        auto* const offered = memory.now.offered[k % 2];
        int i = k, j = k, own_row = -1;
        T r;
        if constexpr (full) {
            int best = 0;
#pragma unroll
            for (int a = 0; a < A; ++a) {
                best = max(best, key_with(search.largest(m[a]), row_id[a]));
            }
            best = largest_of_lanes<32>(best);
            own_row = index_in(best);
            put_row(own_row);
            __syncwarp();
            int key = 0;
#pragma unroll
            for (int l = 0; l < looks; ++l) {
                key = max(
                    key,
                    key_with(bits_of(size_of(row_lane[Layout::row_stride * l])), id[l]));
            }
            key = largest_of_lanes<32>(key);
            const int own_column = index_in(key);
            at_slot<B>(Layout::slot_of(own_column), [&](auto slot) {
                if (across == int(unsigned(own_column) % Layout::across)) {
                    Layout::put_column(&columns[warp][Layout::place_in_column(down)],
                                       m,
                                       decltype(slot)::value);
                }
            });
            if (lane == 0) {
                const int at = Layout::place_in_row(Layout::place_of(own_column));
                offered[warp] = { memory.now.row[warp][at], best, key };
            }
            wait();
            int row_key = offered[0].row_key;
            int column_key = offered[0].column_key;
#pragma unroll
            for (int w = 1; w < warps; ++w) {
                const int other = offered[w].row_key;
                const int others_column = offered[w].column_key;
                if (other > row_key || (other == row_key && others_column > column_key)) {
                    row_key = other;
                    column_key = others_column;
                }
            }
            i = index_in(row_key);
            j = index_in(column_key);
        } else {
            if (warp == Layout::warp_of(k)) {
                T* const column = columns[0];
                at_slot<B>(Layout::slot_of(k), [&](auto slot) {
                    constexpr int b = decltype(slot)::value;
                    if (across == int(unsigned(k) % Layout::across)) {
                        Layout::put_column(&column[Layout::place_in_column(down)], m, b);
#pragma unroll
                        for (int a = 0; a < A; ++a) {
                            m[a][b] = make_element<T>(0);
                        }
                    }
                });
                __syncwarp();
                if (how == pivoting::partial) {
                    int key = 0;
#pragma unroll
                    for (int l = 0; l < looks; ++l) {
                        const T one = column[Layout::place_in_column(lane + 32 * l)];
                        key = max(key, key_with(bits_of(size_of(one)), id[l]));
                    }
                    i = index_in(largest_of_lanes<32>(key));
                }
                const T found = column[Layout::place_in_column(i)];
                const T p = usable_pivot(how, found, k, so_far);
                nan_unless_finite(finite, p);
                r = reciprocal(p);
                if (lane == 0) {
                    offered[0] = { r, i, 0 };
                    memory.pivots[k] = p;
                    memory.row_of[k] = i;
                    memory.column_of[i] = k;
                }
            }
            wait();
            if constexpr (warps > 1) {
                r = offered[0].value;
                i = offered[0].row_key;
            }
        }
        const int pivot_warp = full ? Layout::warp_of(j) : 0;
        const bool has_row = down == int(unsigned(i) % Layout::down);
        const bool has_column = warp == Layout::warp_of(j);
        if constexpr (full) {
            const T p =
                usable_pivot(pivoting::full, offered[pivot_warp].value, k, so_far);
            nan_unless_finite(finite, p);
            r = reciprocal(p);
            if (threadIdx.x == 0) {
                memory.pivots[k] = p;
                memory.row_of[j] = i;
                memory.column_of[i] = j;
            }
            if (i != own_row) {
                put_row(i);
            }
            if (has_column) {
                at_slot<B>(Layout::slot_of(j), [&](auto slot) {
                    constexpr int b = decltype(slot)::value;
                    if (across == int(unsigned(j) % Layout::across)) {
#pragma unroll
                        for (int a = 0; a < A; ++a) {
                            m[a][b] = make_element<T>(0);
                        }
                        search.set(b, false);
                    }
                });
            }
        } else {
            put_row(i);
        }
        __syncwarp();
        const int place = has_column ? Layout::place_of(j) : -1;
#pragma unroll
        for (int l = 0; l < (Layout::columns_a_warp + 31) / 32; ++l) {
            const int at = lane + 32 * l;
            if (Layout::columns_a_warp % 32 == 0 || at < Layout::columns_a_warp) {
                T& element = row_lane[Layout::row_stride * l];
                element = select(at == place, r, multiply(element, r));
            }
        }
#pragma unroll
        for (int l = 0; l < looks; ++l) {
            const int at = lane + 32 * l;
            id[l] = at == (full ? place : i) ? 0 : id[l];
        }
        __syncwarp();

        T t[B];
        T c[A];
        Layout::get_row(row_part, t);
        Layout::get_column(&columns[pivot_warp][Layout::place_in_column(down)], c);
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = subtract_product(m[a][b], c[a], t[b]);
            }
        }
        at_slot<A>(unsigned(i) / Layout::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            const auto minus_zero = opaque(has_row, real_of<T>(-0.0));
#pragma unroll
            for (int b = 0; b < B; ++b) {
                if constexpr (std::is_same_v<T, double2>) {
                    move_if(has_row, m[a][b], t[b], minus_zero);
                } else { // where it gains nothing
                    m[a][b] = select(has_row, t[b], m[a][b]);
                }
            }
            if (full && has_row) {
                row_id[a] = 0;
            }
        });
        if constexpr (full) { // the row is written again before the barrier
            __syncwarp();
        }
    }

    if (lane == 0) {
        memory.state[warp] = so_far.state;
    }
#pragma unroll
    for (int a = 0; a < A; ++a) {
#pragma unroll
        for (int b = 0; b < B; ++b) {
            if (Layout::row(a, down) < n && Layout::column(b, across, warp) < n) {
                nan_unless_finite(finite, m[a][b]);
            }
        }
    }
    const bool x_lost = __syncthreads_or(!(finite == 0));
    if constexpr (!full) { // a warp knows of its own columns only
        so_far.state = 0;
#pragma unroll
        for (int w = 0; w < warps; ++w) {
            const int other = memory.state[w];
            const bool first = other && (!so_far.state || other < so_far.state);
            so_far.state = first ? other : so_far.state;
        }
        so_far.zero = so_far.state != 0;
    }
    if (a_lost || (x_lost && !so_far.zero)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: a column goes where its pivot's row was in A, and a
    // row, on the way out, where its pivot's column was.
    T* const x = memory.x;
#pragma unroll
    for (int b = 0; b < B; ++b) {
        const int j = Layout::column(b, across, warp);
        if (j < n) {
            T* const to = x + down * Layout::x_apart + memory.row_of[j];
#pragma unroll
            for (int a = 0; a < A; ++a) {
                to[a * Layout::down * Layout::x_apart] =
                    select(so_far.zero, make_element<T>(0), m[a][b]);
            }
        }
    }
    __syncthreads();
    Layout::write(
        x, memory.column_of, batch.x + size_t(blockIdx.x) * (n * n), n, batch.aligned);
    if (batch.determinant) {
        // A permutation is odd if its inversions are.
        int inversions = 0;
        for (int j = threadIdx.x; j < n; j += 32 * warps) {
            for (int before = 0; before < j; ++before) {
                inversions += memory.row_of[before] > memory.row_of[j];
            }
        }
        so_far.odd = __syncthreads_count(inversions % 2) % 2;
        if (threadIdx.x == 0) {
            for (int k = 0; k < n; ++k) {
                so_far.determinant = multiply(so_far.determinant, memory.pivots[k]);
            }
        }
    }
    if (threadIdx.x == 0) {
        report(batch, blockIdx.x, so_far);
    }
}

template <typename T, int R, bool FullPivoting>
__global__ void __launch_bounds__(32 * warps_policy<T, R, FullPivoting>::warps,
                                  warps_policy<T, R, FullPivoting>::least_blocks)
    inverse_warps_per_matrix(const batch_of<T> batch, int n, pivoting how)
{
    extern __shared__ __align__(16) char dynamic_shared[];
    using layout = warps_layout<T, R, warps_policy<T, R, FullPivoting>::warps>;
    invert_by_warps<layout, FullPivoting>(batch, n, how, dynamic_shared);
}

} // namespace
} // namespace gr::cudaphy::kernels
