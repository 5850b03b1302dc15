/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/search_in_row.cuh"
#include "kernels/linalg/inverse/cuda/warp/tall_warp_rows.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_keys.cuh"

// A warp inverts a matrix that is larger than its registers. The steps are those of
// warp_per_matrix.cuh, with these differences:
//
// - Some rows lie in shared memory. A lane reads and writes its part of them once in each
//   step. With full pivoting it then notes the largest size of each, for the next search.
// - X leaves in parts, so that a multiprocessor holds as many matrices as its registers
//   allow.
// - With full pivoting, nothing is brought forward.

namespace gr::cudaphy::kernels {
namespace {

//! What a matrix needs of shared memory.
template <typename T, int R, pivoting Pivoting>
struct tall_memory {
    using layout = long_warp_layout<T, R>;
    static constexpr int held = tall_policy<T, R, Pivoting>::rows_held;
    //! Rows of X that leave together: a multiple of 4, so that they begin at 16 bytes.
    static constexpr int rows_of_x = (R / 3 + 3) / 4 * 4;
    __align__(16) T x[rows_of_x * R];
    tall_rest<T, R, held> rest;
    T found[layout::row_size];             //!< the pivot's row, undivided
    __align__(16) T row[layout::row_size]; //!< and divided by the pivot
    __align__(16) T column[layout::column_size];
    __align__(16) T zeros[layout::rows];
    T pivots[R];
    int row_to[R];     //!< row of X that row i becomes
    int column_to[64]; //!< column of X that column j becomes
};

//! Writes `elements` elements, whole lines at a time if `aligned`.
template <typename T>
__device__ __forceinline__ void
write_elements(const T* shared, T* to, int elements, int lane, bool aligned)
{
    const int bytes = elements * int(sizeof(T));
    if (aligned && bytes % 16 == 0) {
        const auto* const from = reinterpret_cast<const float4*>(shared);
        auto* const pieces = reinterpret_cast<float4*>(to);
#pragma unroll 8
        for (int i = lane; i < bytes / 16; i += 32) {
            pieces[i] = from[i];
        }
    } else {
#pragma unroll 4
        for (int e = lane; e < elements; e += 32) {
            to[e] = shared[e];
        }
    }
}

//! Writes X a part at a time. Row i becomes row memory.row_to[i], column j column
//! memory.column_to[j].
template <typename T, int R, pivoting Pivoting, typename Rows>
__device__ __forceinline__ void write_in_parts(
    const Rows& rows, tall_memory<T, R, Pivoting>& memory, T* to, int n, bool aligned)
{
    using layout = long_warp_layout<T, R>;
    constexpr int together = tall_memory<T, R, Pivoting>::rows_of_x;
    const int lane = threadIdx.x;
    const int down = lane / layout::across;
    const int across = lane % layout::across;
    int column_to[layout::columns];
#pragma unroll
    for (int b = 0; b < layout::columns; ++b) {
        column_to[b] = memory.column_to[layout::column(b, across)];
    }
#pragma unroll 1
    for (int first = 0; first < n; first += together) {
        rows.read_each([&](auto slot, const auto& row) {
            constexpr int a = decltype(slot)::value;
            const int i = layout::row(a, down);
            const unsigned at = i < n ? memory.row_to[i] - first : together;
            if (at < together) {
                T* const row_of_x = memory.x + at * n;
#pragma unroll
                for (int b = 0; b < layout::columns; ++b) {
                    if (layout::column(b, across) < n) {
                        row_of_x[column_to[b]] = row[b];
                    }
                }
            }
        });
        __syncwarp();
        write_elements(
            memory.x, to + first * n, min(together, n - first) * n, lane, aligned);
        __syncwarp();
    }
}

template <typename T, int R, pivoting Pivoting>
__device__ __forceinline__ void
invert_by_tall_warp(const batch_of<T>& batch, int n, tall_memory<T, R, Pivoting>& memory)
{
    using layout = long_warp_layout<T, R>;
    using rows_type = tall_rows<T, R, tall_memory<T, R, Pivoting>::held>;
    constexpr int A = layout::rows;
    constexpr int B = layout::columns;
    constexpr int H = rows_type::held;
    constexpr bool full = Pivoting == pivoting::full;

    const int lane = threadIdx.x;
    const int down = lane / layout::across;
    const int across = lane % layout::across;
    const size_t item = blockIdx.x;

    rows_type rows(memory.rest, lane);
    const T* const from = batch.a + item * (n * n) + down * n + across;
    rows.for_each([&](auto slot, auto& row) {
        constexpr int a = decltype(slot)::value;
#pragma unroll
        for (int b = 0; b < B; ++b) {
            row[b] = layout::has(a, down, b, across, n)
                         ? from[a * layout::down * n + b * layout::across]
                         : make_element<T>(0);
        }
    });
    search_in_row<T, B> search;
#pragma unroll
    for (int b = 0; b < B; ++b) {
        search.set(b, layout::column(b, across) < n);
    }
    int row_id[A];
    int size[A - H]; // the largest size's bits in each row in shared memory
    real_of<T> a_finite = 0;
    rows.read_each([&](auto slot, const auto& row) {
        constexpr int a = decltype(slot)::value;
        row_id[a] = id_of(layout::row(a, down), n);
        if constexpr (!full) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                nan_unless_finite(a_finite, row[b]);
            }
        } else if constexpr (a >= H) {
            size[a - H] = search.largest(row);
        }
    });
    // Of column (full pivoting) or row `lane` + 32 l; 0 if it is done.
    int id[2] = { id_of(lane, n), id_of(lane + 32, n) };
    elimination<T> so_far;
    // What a pivot's key must reach so that it need not be looked at.
    int bound = above_all_keys;

    T* const found_part = in_register(&memory.found[across]);
    T* const found_lane = in_register(&memory.found[lane]);
    T* const row_part = in_register(&memory.row[layout::place_in_row(across)]);
    T* const row_lane = in_register(&memory.row[layout::place_in_row(lane)]);
    T* const column_part = in_register(&memory.column[layout::place_in_column(down)]);
    T* const column_lane = in_register(&memory.column[layout::place_in_column(lane)]);
    const T* const zeros = in_register(memory.zeros);
    T* pivot_k = in_register(memory.pivots);
    if (lane < A) {
        memory.zeros[lane] = make_element<T>(0);
    }
    __syncwarp();

#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        int i = k;
        int j = k;
        T p;
        int size_bits = 0;
        const auto take_column = [&] {
            at_slot<B>(j / layout::across, [&](auto slot) {
                constexpr int b = decltype(slot)::value;
                if (across == j % layout::across) {
                    rows.template take_column<b>(column_part, zeros);
                    search.set(b, false);
                }
            });
        };
        if constexpr (full) {
            int key[A];
#pragma unroll
            for (int a = 0; a < A; ++a) {
                key[a] = key_with(a < H ? search.largest(rows.m[a < H ? a : 0])
                                        : size[a < H ? 0 : a - H],
                                  row_id[a]);
            }
            i = index_in(largest_of_lanes<32>(largest_key(key)));
        } else {
            take_column();
            __syncwarp();
            if constexpr (Pivoting == pivoting::partial) {
                const T one = column_lane[0], other = column_lane[32 / layout::down];
                i = index_in(
                    largest_of_lanes<32>(max(key_with(bits_of(size_of(one)), id[0]),
                                             key_with(bits_of(size_of(other)), id[1]))));
            }
            p = memory.column[layout::place_in_column(i)];
        }
        const bool has_row = down == i % layout::down;
        at_slot<A>(i / layout::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            if (has_row) {
                T row[B];
                rows.template get<a>(row);
#pragma unroll
                for (int b = 0; b < B; ++b) {
                    found_part[b * layout::across] = row[b];
                }
                row_id[a] = 0;
            }
        });
        __syncwarp();
        const T t_lane[2] = { found_lane[0], found_lane[32] };
        if constexpr (full) {
            size_bits =
                largest_of_lanes<32>(max(key_with(bits_of(size_of(t_lane[0])), id[0]),
                                         key_with(bits_of(size_of(t_lane[1])), id[1])));
            j = index_in(size_bits);
            p = memory.found[j];
            take_column();
        }
        look_at_pivot<Pivoting>(p, size_bits, bound, k, so_far, a_finite);
        *pivot_k++ = p;
        const T r = reciprocal(p, scale_for_bits<real_of<T>>(size_bits));
#pragma unroll
        for (int l = 0; l < 2; ++l) {
            const int at = lane + 32 * l;
            row_lane[32 * l] = select(at == j, r, multiply(t_lane[l], r));
            id[l] = at == (full ? j : i) ? 0 : id[l];
        }
        memory.column_to[j] = i;
        __syncwarp();

        T t[B];
        T c[A];
        layout::get_row(row_part, t);
        layout::get_column(column_part, c);
        rows.for_each([&](auto slot, auto& row) {
            constexpr int a = decltype(slot)::value;
#pragma unroll
            for (int b = 0; b < B; ++b) {
                row[b] = subtract_product(row[b], c[a], t[b]);
            }
            if constexpr (full && a >= H) {
                size[a - H] = search.largest(row);
            }
        });
        at_slot<A>(i / layout::down, [&](auto slot) {
            rows.template put_if<decltype(slot)::value>(has_row, t);
        });
        if constexpr (!full) {
            __syncwarp();
        }
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: a row goes where its pivot's column was in A, and a
    // column where its pivot's row was.
    __syncwarp();
    for (int at = lane; at < n; at += 32) {
        memory.row_to[memory.column_to[at]] = at;
    }
    real_of<T> x_finite = a_finite;
    rows.read_each([&](auto slot, const auto& row) {
        constexpr int a = decltype(slot)::value;
#pragma unroll
        for (int b = 0; b < B; ++b) {
            if (layout::has(a, down, b, across, n)) {
                nan_unless_finite(x_finite, row[b]);
            }
        }
    });
    const bool finite = __all_sync(all_lanes, x_finite == 0);
    const bool a_was_finite = __all_sync(all_lanes, a_finite == 0);
    if (!finite && !(so_far.zero && a_was_finite)) {
        so_far.state = -1;
    }
    so_far.zero = so_far.zero || so_far.state == -1;
    __syncwarp();
    T* const to = batch.x + item * (n * n);
    if (so_far.zero) {
        for (int e = lane; e < n * n; e += 32) {
            to[e] = make_element<T>(0);
        }
    } else {
        write_in_parts<T, R, Pivoting>(
            rows, memory, to, n, batch.aligned && n * n * sizeof(T) % 16 == 0);
    }
    if (batch.determinant) {
        for (int k = 0; k < n; ++k) {
            so_far.determinant = multiply(so_far.determinant, memory.pivots[k]);
        }
        so_far.odd = is_odd(memory.column_to, lane, n);
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
}

template <typename T, int R, pivoting Pivoting>
__global__ void __launch_bounds__(32, tall_policy<T, R, Pivoting>::least_matrices)
    inverse_tall_warp(const batch_of<T> batch, int n)
{
    __shared__ tall_memory<T, R, Pivoting> memory;
    invert_by_tall_warp<T, R, Pivoting>(batch, n, memory);
}

} // namespace
} // namespace gr::cudaphy::kernels
