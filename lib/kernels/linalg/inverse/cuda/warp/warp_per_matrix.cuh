/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/search_in_row.cuh"
#include "kernels/linalg/inverse/cuda/warp/long_warp_forward.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_keys.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_layout.cuh"

// A warp inverts a matrix, of order up to 64 if its registers hold it. Lanes form a grid
// of 4 x 8. Row i is in the
// lanes of grid row i % 4, column j in the lanes of grid column j % 8 (32 x 32 complex:
// 8 x 4 elements, 64 registers, a lane). No row or column moves. Registers can't be
// indexed at run time, but the whole warp has the same pivot, so that a branch finds its
// registers. Flags say which rows and columns are done. Writing X undoes the swaps.
//
// With full pivoting, the search needs fewer and fewer of a lane's elements. When 16 rows
// and columns are left, shared memory brings these into the first slots. That happens
// once, because to do it more often takes longer. From then on rows and columns are known
// by their places. They stay in order, so that among equal elements the same one is
// found.
//
// Work that occurs once for each row or column has a lane for each: the search in the
// pivot's row, its scaling, and its place in X.

namespace gr::cudaphy::kernels {
namespace {

//! Writes n x n elements, whole lines at a time.
template <typename T, int R>
__device__ __forceinline__ void
write_matrix(const char* shared, T* to, int n, int lane, bool aligned)
{
    const int bytes = n * n * int(sizeof(T));
    if (aligned && bytes % 16 == 0) {
        const auto* from = reinterpret_cast<const float4*>(shared);
        auto* pieces = reinterpret_cast<float4*>(to);
#pragma unroll
        for (int i = 0; i < R * R * int(sizeof(T)) / 16; i += 32) {
            if ((i + lane) * 16 < bytes) {
                pieces[i + lane] = from[i + lane];
            }
        }
        return;
    }
    const T* const from = reinterpret_cast<const T*>(shared);
#pragma unroll 4
    for (int e = lane; e < n * n; e += 32) {
        to[e] = from[e];
    }
}

//! Rows that the lanes reach, each with as many accesses as orders up to R need.
template <int R>
constexpr int most_rows = (R + 31) / 32 * 32;
template <typename T, int R>
using layout_for =
    std::conditional_t<(R > 32), long_warp_layout<T, R>, warp_layout<T, R>>;

//! What lanes exchange.
template <typename T, int R>
struct warp_lines {
    using layout = layout_for<T, R>;
    T found[layout::row_size];             //!< the pivot's row, undivided
    __align__(16) T row[layout::row_size]; //!< and divided by the pivot
    __align__(16) T column[layout::column_size];
    __align__(16) T zeros[layout::rows];
    T pivots[R];
    int row_to[most_rows<R>];      //!< row of X that row i becomes
    int column_to[most_rows<R>];   //!< column of X that column j becomes
    int row_name[most_rows<R>];    //!< row of A that is at place i, with full pivoting
    int column_name[most_rows<R>]; //!< column of A that is at place j
};

//! What a warp needs of shared memory.
template <typename T, int R, bool FullPivoting>
struct warp_memory {
    //! The distance of rows that are brought forward, so that lanes use all banks.
    static constexpr int apart = !FullPivoting                   ? R
                                 : R > 32 || R % 8 != 0          ? (R + 7) / 8 * 8
                                 : sizeof(T) < 16 && R % 16 == 0 ? R + 8
                                                                 : R;
    __align__(16) char x[R * apart * sizeof(T)];
    __align__(16) warp_lines<T, R> lines;
};

template <typename T, int R, pivoting Pivoting>
__device__ __forceinline__ void
invert_by_warp(const batch_of<T>& batch,
               int n,
               size_t item,
               warp_memory<T, R, Pivoting == pivoting::full>& memory)
{
    using layout = layout_for<T, R>;
    constexpr int A = layout::rows;
    constexpr int B = layout::columns;
    constexpr bool full = Pivoting == pivoting::full;
    // Rows or columns that a lane looks at alone: two if the matrix is long.
    constexpr int looks = most_rows<R> / 32;
    constexpr bool is_long = looks > 1;
    constexpr int slots_after = warp_policy<T, R, Pivoting>::slots_after;

    const int lane = threadIdx.x % 32;
    const int down = lane / layout::across;
    const int across = lane % layout::across;

    T m[A][B];
    const auto load = [&](int order) {
        const T* const from = batch.a + item * (order * order) + down * order + across;
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = layout::has(a, down, b, across, order)
                              ? from[a * layout::down * order + b * layout::across]
                              : make_element<T>(0);
            }
        }
    };
    if (n == R) {
        load(R);
    } else {
        load(n);
    }
    real_of<T> a_finite = 0;
    int row_id[A];
#pragma unroll
    for (int a = 0; a < A; ++a) {
        row_id[a] = id_of(layout::row(a, down), n);
        if constexpr (!full) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                nan_unless_finite(a_finite, m[a][b]);
            }
        }
    }
    // Of the columns that are left, and 0 of those that are not.
    bool left[B];
    int size[B];
    constexpr bool has_factors = full && is_long && std::is_same_v<T, double>;
    [[maybe_unused]] search_in_row<T, B> search; // instead, if it has factors
#pragma unroll
    for (int b = 0; b < B; ++b) {
        left[b] = layout::column(b, across) < n;
        size[b] = 0;
        if constexpr (has_factors) {
            search.set(b, left[b]);
        }
    }
    // Of column (full pivoting) or row `lane` + 32 l. Once that is done, its pivot's row
    // or column, or 0 in long matrices, where a number could be a key.
    int id[looks];
#pragma unroll
    for (int l = 0; l < looks; ++l) {
        id[l] = id_of(lane + 32 * l, n);
    }
    elimination<T> so_far;
    // What a pivot's key must reach so that it need not be looked at.
    int bound = above_all_keys;

    auto& lines = memory.lines;
    T* const found_part = in_register(&lines.found[across]);
    T* const found_lane = in_register(&lines.found[lane]);
    T* const row_part = in_register(&lines.row[layout::place_in_row(across)]);
    T* const row_lane = in_register(&lines.row[layout::place_in_row(lane)]);
    T* const column_part = in_register(&lines.column[layout::place_in_column(down)]);
    T* const column_lane = in_register(&lines.column[layout::place_in_column(lane)]);
    const T* const zeros = in_register(lines.zeros);
    T* pivot_k = in_register(lines.pivots);
    if (lane < A) {
        lines.zeros[lane] = make_element<T>(0);
    }
    if constexpr (full && !is_long) {
        lines.row_name[lane] = lane;
        lines.column_name[lane] = lane;
    }
    __syncwarp();

    // Step k. With full pivoting the remaining columns are in the first `slots` slots of
    // columns. Otherwise column k is in slot `slot_k`.
    const auto step = [&](int k, auto slot_k, auto slots) {
        constexpr int Across = decltype(slots)::value;
        constexpr int Down = full && Across < B ? layout::rows_for(Across) : A;
        int i = k;
        int j = k;
        T p;
        int size_bits = 0;
        const auto take_column = [&](auto slot) {
            constexpr int b = decltype(slot)::value;
            if (across == j % layout::across) {
                layout::put_column(column_part, m, b);
                layout::get_column(zeros, m, b);
                left[b] = false;
                size[b] = 0;
                if constexpr (has_factors) {
                    search.set(b, false);
                }
            }
        };
        if constexpr (full) {
            int key[Down];
#pragma unroll
            for (int a = 0; a < Down; ++a) {
                if constexpr (has_factors && Across == B) {
                    key[a] = key_with(search.largest(m[a]), row_id[a]);
                } else {
#pragma unroll
                    for (int b = 0; b < Across; ++b) {
                        if (left[b]) {
                            size[b] = bits_of(size_of(m[a][b]));
                        }
                    }
                    key[a] = key_with(largest_size<Across>(size), row_id[a]);
                }
            }
            i = index_in(largest_of_lanes<32>(largest_key(key)));
        } else {
            if constexpr (is_long) {
                at_slot<B>(k / layout::across, take_column);
            } else {
                take_column(slot_k);
            }
            __syncwarp();
            [[maybe_unused]] const T c_lane = *column_lane;
            if constexpr (Pivoting == pivoting::partial) {
                int key = key_with(bits_of(size_of(c_lane)), id[0]);
                if constexpr (is_long) {
                    const T other = column_lane[32 / layout::down];
                    key = max(key, key_with(bits_of(size_of(other)), id[1]));
                }
                i = index_in(largest_of_lanes<32>(key));
            }
            if constexpr (is_long) {
                p = lines.column[layout::place_in_column(i)];
            } else {
                p = from_lane(c_lane, i);
            }
        }
        const bool has_row = down == i % layout::down;
        at_slot<Down>(i / layout::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            if (has_row) {
#pragma unroll
                for (int b = 0; b < B; ++b) {
                    found_part[b * layout::across] = m[a][b];
                }
                row_id[a] = 0;
            }
        });
        __syncwarp();
        T t_lane[looks];
#pragma unroll
        for (int l = 0; l < looks; ++l) {
            t_lane[l] = found_lane[32 * l];
        }
        if constexpr (full) {
            size_bits = key_with(bits_of(size_of(t_lane[0])), id[0]);
            if constexpr (is_long) {
                size_bits = max(size_bits, key_with(bits_of(size_of(t_lane[1])), id[1]));
            }
            size_bits = largest_of_lanes<32>(size_bits);
            j = index_in(size_bits);
            if constexpr (is_long) {
                p = lines.found[j];
            } else {
                p = from_lane(t_lane[0], j);
            }
            at_slot<Across>(j / layout::across, take_column);
        }
        look_at_pivot<Pivoting>(p, size_bits, bound, k, so_far, a_finite);
        *pivot_k++ = p;
        const T r = reciprocal(p, scale_for_bits<real_of<T>>(size_bits));
#pragma unroll
        for (int l = 0; l < looks; ++l) {
            const int at = lane + 32 * l;
            row_lane[32 * l] = select(at == j, r, multiply(t_lane[l], r));
            const int done = full ? j : i;
            id[l] = at == done ? (is_long ? 0 : i + j - done) : id[l];
        }
        if constexpr (is_long) {
            lines.column_to[j] = i;
        }
        __syncwarp();

        T t[B];
        T c[A];
        layout::get_row(row_part, t);
        layout::get_column(column_part, c);
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = subtract_product(m[a][b], c[a], t[b]);
            }
        }
        at_slot<Down>(i / layout::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            const auto minus_zero = opaque(has_row, real_of<T>(-0.0));
#pragma unroll
            for (int b = 0; b < B; ++b) {
                if constexpr (sizeof(real_of<T>) == 8) {
                    move_if(has_row, m[a][b], t[b], minus_zero);
                } else { // where it gains nothing
                    m[a][b] = select(has_row, t[b], m[a][b]);
                }
            }
        });
        if constexpr (!full) {
            __syncwarp();
        }
    };
    if constexpr (full) {
        // The remaining columns, as many as `slots_after` slots hold, move into these
        // slots, and the columns that are done move behind them. So do the rows.
        constexpr int still = slots_after * layout::across;
        constexpr int apart = warp_memory<T, R, full>::apart;
        T* const x = reinterpret_cast<T*>(memory.x);
        const auto bring_forward = [&]() {
            const bool done = lane < n && id[0] <= inverse_pivot::index_mask;
            const auto place_of = [&](unsigned those_done) { // of row or column `lane`
                const int before = __popc(those_done & ((1u << lane) - 1));
                return lane >= n                ? lane
                       : those_done >> lane & 1 ? still + before
                                                : lane - before;
            };
            const int row_place = place_of(union_of_lanes(done ? 1u << id[0] : 0));
            const int column_place = place_of(__ballot_sync(all_lanes, done));
            const int row_name = lines.row_name[lane];
            const int column_name = lines.column_name[lane];
            lines.row_to[lane] = row_place;
            lines.column_to[column_place] = lane;
            __syncwarp();
            lines.row_name[row_place] = row_name;
            lines.column_name[column_place] = column_name;
            // Row and column of the element that comes to a place: the column is fetched
            // from where it was, the row is put where it is to be.
#pragma unroll
            for (int a = 0; a < A; ++a) {
                T* const to = x + lines.row_to[layout::row(a, down)] * apart + across;
#pragma unroll
                for (int b = 0; b < B; ++b) {
                    to[b * layout::across] = m[a][b];
                }
            }
            const int pivot_row = done ? lines.row_to[id[0]] : 0;
            const int of_place = __shfl_sync(all_lanes, pivot_row, lines.column_to[lane]);
            id[0] = lane < still ? id_of(lane, n) : of_place;
            __syncwarp();
#pragma unroll
            for (int b = 0; b < B; ++b) {
                const T* const from =
                    x + down * apart + lines.column_to[layout::column(b, across)];
#pragma unroll
                for (int a = 0; a < A; ++a) {
                    m[a][b] = from[a * layout::down * apart];
                }
            }
            __syncwarp();
        };
        int k = 0;
        const auto steps = [&](auto slots, int columns_left) {
#pragma unroll 1
            for (; k < n - columns_left; ++k) {
                step(k, slot_constant<0>(), slots);
            }
        };
        steps(slot_constant<B>(), slots_after * layout::across);
        if constexpr (is_long) {
            bring_long_forward<layout, still, apart>(m, id, lines, x, n, lane);
        } else {
            bring_forward();
        }
#pragma unroll
        for (int a = 0; a < A; ++a) {
            row_id[a] = id_of(layout::row(a, down), still);
        }
#pragma unroll
        for (int b = 0; b < B; ++b) {
            left[b] = b < slots_after;
            size[b] = 0;
        }
        steps(slot_constant<slots_after>(), 0);
    } else if constexpr (is_long) { // code for each slot would outgrow the caches
#pragma unroll 1
        for (int k = 0; k < n; ++k) {
            step(k, slot_constant<0>(), slot_constant<B>());
        }
    } else {
        // A loop for every slot of columns spares the search for the slot.
        const auto slot_steps = [&](auto slot) {
            constexpr int b = decltype(slot)::value;
            const int end = min(n, (b + 1) * layout::across);
#pragma unroll 1
            for (int k = b * layout::across; k < end; ++k) {
                step(k, slot, slot_constant<B>());
            }
        };
        for_each_slot<B>(slot_steps);
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: a row goes where its pivot's column was in A, and a
    // column where its pivot's row was.
    if constexpr (is_long) {
        for (int at = lane; at < n; at += 32) {
            const int row = lines.column_to[at];
            lines.row_to[row] = full ? lines.column_name[at] : at;
            if constexpr (full) {
                lines.column_to[at] = lines.row_name[row];
            }
        }
    } else if (lane < n) {
        if constexpr (full) {
            lines.column_to[lane] = lines.row_name[id[0]];
            lines.row_to[id[0]] = lines.column_name[lane];
        } else {
            lines.row_to[lane] = id[0];
            lines.column_to[id[0]] = lane;
        }
    }
    __syncwarp();
    real_of<T> x_finite = a_finite;
    T* const x = reinterpret_cast<T*>(memory.x);
    const auto put = [&](int order) {
        int column_to[B];
#pragma unroll
        for (int b = 0; b < B; ++b) {
            column_to[b] = lines.column_to[layout::column(b, across)];
        }
#pragma unroll
        for (int a = 0; a < A; ++a) {
            T* const row_of_x = x + lines.row_to[layout::row(a, down)] * order;
#pragma unroll
            for (int b = 0; b < B; ++b) {
                if (layout::has(a, down, b, across, order)) {
                    nan_unless_finite(x_finite, m[a][b]);
                    row_of_x[column_to[b]] = m[a][b];
                }
            }
        }
    };
    if (n == R) {
        put(R);
    } else {
        put(n);
    }
    const bool finite = __all_sync(all_lanes, x_finite == 0);
    const bool a_was_finite = __all_sync(all_lanes, a_finite == 0);
    if (!finite && !(so_far.zero && a_was_finite)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;
    __syncwarp();
    if (so_far.zero) {
        for (int e = lane; e < n * n; e += 32) {
            x[e] = make_element<T>(0);
        }
        __syncwarp();
    }
    T* const to = batch.x + item * (n * n);
    if (n == R) {
        write_matrix<T, R>(memory.x, to, R, lane, batch.aligned);
    } else {
        write_matrix<T, R>(memory.x, to, n, lane, batch.aligned);
    }
    if (batch.determinant) {
        for (int k = 0; k < n; ++k) {
            so_far.determinant = multiply(so_far.determinant, lines.pivots[k]);
        }
        if constexpr (is_long) {
            if constexpr (full) {
                for (int at = lane; at < n; at += 32) {
                    lines.row_to[lines.column_name[at]] = lines.column_to[at];
                }
                __syncwarp();
            }
            so_far.odd = is_odd(full ? lines.row_to : lines.column_to, lane, n);
        } else {
            if constexpr (full) { // of A's columns, not of their places
                lines.row_to[lines.column_name[lane]] = lines.column_to[lane];
                __syncwarp();
                id[0] = lines.row_to[lane];
            }
            so_far.odd = is_odd(id[0], lane, n);
        }
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
}

//! Whether no kernel for orders up to R is launched, because code for this device has
//! products on tensor cores.
template <typename T, int R, pivoting Pivoting>
#if __CUDA_ARCH__ >= 800
constexpr bool left_to_tensor_cores = tensor_cores_are_faster<T>(R, Pivoting);
#else
constexpr bool left_to_tensor_cores = false;
#endif

template <typename T, int R, pivoting Pivoting>
__global__ void __launch_bounds__(warp_policy<T, R, Pivoting>::threads,
                                  warp_policy<T, R, Pivoting>::least_blocks)
    inverse_warp_per_matrix(const batch_of<T> batch, int n)
{
    if constexpr (left_to_tensor_cores<T, R, Pivoting>) {
        __trap();
    } else {
        constexpr int warps = warp_policy<T, R, Pivoting>::threads / 32;
        __shared__ warp_memory<T, R, Pivoting == pivoting::full> shared[warps];
        const int warp = threadIdx.x / 32;
        const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + warp;
        if (item < batch.size) {
            invert_by_warp<T, R, Pivoting>(batch, n, item, shared[warp]);
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
