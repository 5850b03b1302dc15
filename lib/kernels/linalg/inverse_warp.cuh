/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse_steps.cuh"

// A warp a matrix, up to order 32. Lanes form a grid of 4 x 8; row i is in the lanes of
// grid row i % 4, column j in those of grid column j % 8 (32 x 32 complex: 8 x 4
// elements, 64 registers, a lane). Nothing moves: registers can't be indexed at run time,
// but the whole warp has the same pivot, so that a branch finds its registers. Flags say
// which rows and columns are done; what has become of which is undone on the way out.
//
// What there is one of per row or column (the search in the pivot's row, its scaling,
// where it belongs) is dealt out a lane each.

namespace gr::cudaphy::kernels {
namespace {

constexpr int warp_kernel_threads = 64;

template <int I>
struct slot_constant {
    static constexpr int value = I;
};

//! Calls part(slot_constant<slot>()) for a slot below Slots, the same in all lanes: by
//! a branch a bit.
template <int Slots, int First = 0, typename Part>
__device__ __forceinline__ void at_slot(int slot, const Part& part)
{
    if constexpr (Slots == 1) {
        part(slot_constant<First>());
    } else {
        constexpr int half = Slots > 4 ? 4 : Slots > 2 ? 2 : 1;
        if (slot & half) {
            at_slot<Slots - half, First + half>(slot, part);
        } else {
            at_slot<half, First>(slot, part);
        }
    }
}

//! How a matrix of order up to R is dealt out, and a line of it in shared memory.
template <typename T, int R>
struct warp_deal {
    static constexpr int down = 4;
    static constexpr int across = 8;
    static constexpr int rows = R / down; //!< a lane
    static constexpr int columns = R / across;

    //! Elements of a line of `count` a lane that one access moves.
    static constexpr int most = 16 / sizeof(T);
    __host__ __device__ static constexpr int together(int count)
    {
        return most >= 4 && count % 4 == 0 ? 4 : most >= 2 && count % 2 == 0 ? 2 : 1;
    }
    template <int Count>
    struct __align__(together(Count) * sizeof(T)) group
    {
        T e[together(Count)];
    };

    __device__ static bool has(int a, int down_at, int b, int across_at, int order)
    {
        return order == R || (row(a, down_at) < order && column(b, across_at) < order);
    }

    //! Of the pivot's row, element j: a lane's elements side by side as far as one access
    //! goes, and the lanes' accesses side by side.
    __device__ static int place_in_row(int j)
    {
        constexpr int each = together(columns);
        const int slot = j / across;
        return slot / each * (across * each) + j % across * each + slot % each;
    }
    static constexpr int row_size = 32;

    __device__ static int row(int slot, int down_at) { return slot * down + down_at; }
    __device__ static int column(int slot, int across_at)
    {
        return slot * across + across_at;
    }

    //! Of the pivot's column, element i: a lane's elements side by side, and the four
    //! pieces at different banks.
    static constexpr int apart = rows + together(rows);
    __device__ static int place_in_column(int i) { return i % down * apart + i / down; }
    static constexpr int column_size = down * apart + 2;

    //! A lane's elements of a row, from place_in_row(its first) on, and of a column.
    __device__ static void get_row(const T* row, T (&to)[columns])
    {
        constexpr int each = together(columns);
        const auto* from = reinterpret_cast<const group<columns>*>(row);
#pragma unroll
        for (int g = 0; g < columns / each; ++g) {
            const group<columns> some = from[g * across];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                to[g * each + e] = some.e[e];
            }
        }
    }
    __device__ static void put_column(T* column, const T (&from)[rows][columns], int slot)
    {
        constexpr int each = together(rows);
        auto* to = reinterpret_cast<group<rows>*>(column);
#pragma unroll
        for (int g = 0; g < rows / each; ++g) {
            group<rows> some;
#pragma unroll
            for (int e = 0; e < each; ++e) {
                some.e[e] = from[g * each + e][slot];
            }
            to[g] = some;
        }
    }
    __device__ static void get_column(const T* column, T (&to)[rows])
    {
        constexpr int each = together(rows);
        const auto* from = reinterpret_cast<const group<rows>*>(column);
#pragma unroll
        for (int g = 0; g < rows / each; ++g) {
            const group<rows> some = from[g];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                to[g * each + e] = some.e[e];
            }
        }
    }
    __device__ static void get_column(const T* column, T (&to)[rows][columns], int slot)
    {
        constexpr int each = together(rows);
        const auto* from = reinterpret_cast<const group<rows>*>(column);
#pragma unroll
        for (int g = 0; g < rows / each; ++g) {
            const group<rows> some = from[g];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                to[g * each + e][slot] = some.e[e];
            }
        }
    }
};

//! What a row or column is known by: bits that let a size through, 63 - index; 0 once it
//! is done or if there is none, so that its key is below those of all that are left.
__device__ inline int id_of(int index, int n)
{
    constexpr int through =
        inverse_pivot::limits<float>::sign_free & ~inverse_pivot::index_mask;
    return index < n ? through | (inverse_pivot::index_mask - index) : 0;
}
__device__ inline int key_with(int bits, int id)
{
    return (bits & id & ~inverse_pivot::index_mask) | (id & inverse_pivot::index_mask);
}
__device__ inline int index_in(int key)
{
    return inverse_pivot::index_mask - (key & inverse_pivot::index_mask);
}

//! Whether lanes' `target`, a permutation of 0 .. n - 1 in the first n, is odd.
__device__ inline bool is_odd(int target, int lane, int n)
{
    int inversions = 0;
    for (int i = 0; i < n; ++i) {
        const int other = __shfl_sync(all_lanes, target, i);
        inversions += lane < n && i < lane && other > target;
    }
#pragma unroll
    for (int distance = 16; distance; distance /= 2) {
        inversions += __shfl_xor_sync(all_lanes, inversions, distance);
    }
    return inversions % 2;
}

//! n x n elements, whole lines at a time.
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

//! What lanes tell each other.
template <typename T, int R>
struct warp_lines {
    using deal = warp_deal<T, R>;
    T found[deal::row_size];             //!< the pivot's row as it was found
    __align__(16) T row[deal::row_size]; //!< and divided by the pivot
    __align__(16) T column[deal::column_size];
    __align__(16) T zeros[deal::rows];
    T pivots[R];
    int row_to[32];    //!< row of X that row i becomes
    int column_to[32]; //!< column of X that column j becomes
};

//! What a warp needs of shared memory.
template <typename T, int R>
struct warp_memory {
    __align__(16) char x[R * R * sizeof(T)];
    __align__(16) warp_lines<T, R> lines;
};

template <typename T, int R, pivoting Pivoting>
__device__ __forceinline__ void
invert_by_warp(const batch_of<T>& batch, int n, size_t item, warp_memory<T, R>& memory)
{
    using deal = warp_deal<T, R>;
    constexpr int A = deal::rows;
    constexpr int B = deal::columns;
    constexpr bool full = Pivoting == pivoting::full;

    const int lane = threadIdx.x % 32;
    const int down = lane / deal::across;
    const int across = lane % deal::across;

    T m[A][B];
    const auto load = [&](int order) {
        const T* const from = batch.a + item * (order * order) + down * order + across;
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = deal::has(a, down, b, across, order)
                              ? from[a * deal::down * order + b * deal::across]
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
        row_id[a] = id_of(deal::row(a, down), n);
        if constexpr (!full) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                watch(a_finite, m[a][b]);
            }
        }
    }
    // Of the columns that are left, and 0 of those that are not.
    bool left[B];
    int size[B];
#pragma unroll
    for (int b = 0; b < B; ++b) {
        left[b] = deal::column(b, across) < n;
        size[b] = 0;
    }
    // Of column (full pivoting) or row `lane`; once that is done, its pivot's row or
    // column.
    int id = id_of(lane, n);
    elimination<T> so_far;
    real_of<T> bound = real_of<T>(0) / real_of<T>(0); // that a pivot must reach

    auto& lines = memory.lines;
    T* const found_part = kept(&lines.found[across]);
    T* const found_lane = kept(&lines.found[lane]);
    T* const row_part = kept(&lines.row[deal::place_in_row(across)]);
    T* const row_lane = kept(&lines.row[deal::place_in_row(lane)]);
    T* const column_part = kept(&lines.column[deal::place_in_column(down)]);
    T* const column_lane = kept(&lines.column[deal::place_in_column(lane)]);
    const T* const zeros = kept(lines.zeros);
    T* pivot_k = kept(lines.pivots);
    if (lane < A) {
        lines.zeros[lane] = make_element<T>(0);
    }
    __syncwarp();

    const auto step = [&](int k, auto slot_k) {
        int i = k;
        int j = k;
        T p;
        const auto take_column = [&](auto slot) {
            constexpr int b = decltype(slot)::value;
            if (across == j % deal::across) {
                deal::put_column(column_part, m, b);
                deal::get_column(zeros, m, b);
                left[b] = false;
                size[b] = 0;
            }
        };
        if constexpr (full) {
            int key[A];
#pragma unroll
            for (int a = 0; a < A; ++a) {
#pragma unroll
                for (int b = 0; b < B; ++b) {
                    if (left[b]) {
                        size[b] = bits_of(size_of(m[a][b]));
                    }
                }
                static_assert(B == 3 || B == 4);
                const int largest =
                    max(__vimax3_s32(size[0], size[1], size[2]), size[B - 1]);
                key[a] = key_with(largest, row_id[a]);
            }
            int best = max(key[0], key[1]);
#pragma unroll
            for (int a = 2; a < A; a += 2) {
                best = __vimax3_s32(key[a], key[a + 1], best);
            }
            i = index_in(largest_of_lanes<32>(best));
        } else {
            take_column(slot_k);
            __syncwarp();
            const T c_lane = *column_lane;
            if constexpr (Pivoting == pivoting::partial) {
                const int key = key_with(bits_of(size_of(c_lane)), id);
                i = index_in(largest_of_lanes<32>(key));
            }
            p = from_lane(c_lane, i);
        }
        const bool has_row = down == i % deal::down;
        at_slot<A>(i / deal::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            if (has_row) {
#pragma unroll
                for (int b = 0; b < B; ++b) {
                    found_part[b * deal::across] = m[a][b];
                }
                row_id[a] = 0;
            }
        });
        __syncwarp();
        T t_lane = *found_lane;
        if constexpr (full) {
            const int key = key_with(bits_of(size_of(t_lane)), id);
            j = index_in(largest_of_lanes<32>(key));
            p = from_lane(t_lane, j);
            at_slot<B>(j / deal::across, take_column);
            if (!(size_of(p) >= bound)) {
                watch(a_finite, p); // what is not finite is the first pivot
                p = settle(Pivoting, p, k, so_far);
                bound = so_far.smallest;
            }
        } else {
            p = settle(Pivoting, p, k, so_far);
        }
        *pivot_k++ = p;
        const T r = reciprocal(p);
        *row_lane = select(lane == j, r, multiply(t_lane, r));
        if constexpr (full) {
            id = lane == j ? i : id;
        } else {
            id = lane == i ? j : id;
        }
        __syncwarp();

        T t[B];
        T c[A];
        deal::get_row(row_part, t);
        deal::get_column(column_part, c);
#pragma unroll
        for (int a = 0; a < A; ++a) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                m[a][b] = subtract_product(m[a][b], c[a], t[b]);
            }
        }
        at_slot<A>(i / deal::down, [&](auto slot) {
            constexpr int a = decltype(slot)::value;
            const auto minus_zero = hidden(has_row, real_of<T>(-0.0));
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
#pragma unroll 1
        for (int k = 0; k < n; ++k) {
            step(k, slot_constant<0>());
        }
    } else {
        // A loop for every slot of columns spares the search for the slot.
        const auto slot_steps = [&](auto slot) {
            constexpr int b = decltype(slot)::value;
            const int end = min(n, (b + 1) * deal::across);
#pragma unroll 1
            for (int k = b * deal::across; k < end; ++k) {
                step(k, slot);
            }
        };
        slot_steps(slot_constant<0>());
        slot_steps(slot_constant<1>());
        slot_steps(slot_constant<2>());
        if constexpr (B > 3) {
            slot_steps(slot_constant<3>());
        }
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: a row goes where its pivot's column was in A, and a
    // column where its pivot's row was.
    if (lane < n) {
        (full ? lines.column_to : lines.row_to)[lane] = id;
        (full ? lines.row_to : lines.column_to)[id] = lane;
    }
    __syncwarp();
    real_of<T> x_finite = a_finite;
    T* const x = reinterpret_cast<T*>(memory.x);
    const auto put = [&](int order) {
        int column_to[B];
#pragma unroll
        for (int b = 0; b < B; ++b) {
            column_to[b] = lines.column_to[deal::column(b, across)];
        }
#pragma unroll
        for (int a = 0; a < A; ++a) {
            T* const row_of_x = x + lines.row_to[deal::row(a, down)] * order;
#pragma unroll
            for (int b = 0; b < B; ++b) {
                if (deal::has(a, down, b, across, order)) {
                    watch(x_finite, m[a][b]);
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
        so_far.odd = is_odd(id, lane, n);
    }
    if (lane == 0) {
        report(batch, item, so_far);
    }
}

template <typename T, int R, pivoting Pivoting>
__global__ void __launch_bounds__(warp_kernel_threads)
    gauss_jordan_warp(const batch_of<T> batch, int n)
{
    constexpr int warps = warp_kernel_threads / 32;
    __shared__ warp_memory<T, R> shared[warps];
    const int warp = threadIdx.x / 32;
    const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + warp;
    if (item < batch.size) {
        invert_by_warp<T, R, Pivoting>(batch, n, item, shared[warp]);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
