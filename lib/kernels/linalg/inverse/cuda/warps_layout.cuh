/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/predicated.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_keys.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_layout.cuh"

// Which elements of a matrix each lane holds in warps_per_matrix.cuh.

namespace gr::cudaphy::kernels {
namespace {

//! For orders up to R. A warp is a grid of 8 x 4 lanes, and has all rows. A lane holds A
//! x B elements. Neighbouring columns are in neighbouring lanes, then in the next warp.
template <typename T, int R, int Warps>
struct warps_layout : line_access<T> {
    using element = T;
    using access = line_access<T>;
    using access::most;
    using access::together;
    static constexpr int warps = Warps;
    static constexpr int down = 8;
    static constexpr int across = 32 / down;
    static_assert(R % down == 0);
    static constexpr int A = R / down;
    static constexpr int B = (R + across * Warps - 1) / (across * Warps);
    static constexpr int rows = R;
    static constexpr int columns_a_warp = B * across;
    static constexpr int columns = columns_a_warp * Warps;

    __device__ static int row(int slot, int down_at) { return slot * down + down_at; }
    __device__ static int column(int slot, int across_at, int warp)
    {
        return (slot * Warps + warp) * across + across_at;
    }
    __device__ static int warp_of(int j)
    {
        return unsigned(j) / unsigned(across) % Warps;
    }
    __device__ static int slot_of(int j)
    {
        return unsigned(j) / (unsigned(across * Warps));
    }
    //! The place of column j among its warp's columns, and the column at a place.
    __device__ static int place_of(int j)
    {
        return slot_of(j) * across + unsigned(j) % across;
    }
    __device__ static int column_at(int place, int warp)
    {
        return column(place / across, place % across, warp);
    }

    //! Where the element of a warp's column `place` is in a row. A lane's elements are
    //! side by side as far as one access reaches, and the lanes' accesses are side by
    //! side.
    static constexpr int each_of_row = together(B);
    __device__ static int place_in_row(int place)
    {
        const int slot = place / across;
        return slot / each_of_row * (across * each_of_row) +
               place % across * each_of_row + slot % each_of_row;
    }
    //! The distance in a row of two columns that are 32 places apart.
    static constexpr int row_stride = 32;
    static_assert(down % each_of_row == 0);
    //! With room for places that an order below `columns` does not have.
    static constexpr int row_size = columns_a_warp > 64 ? columns_a_warp : 64;

    //! Where row i is in a column. A lane's elements are side by side, and the lanes'
    //! accesses are in different banks.
    static constexpr int each_of_column = together(A);
    static constexpr int column_apart = (A / each_of_column | 1) * each_of_column;
    __device__ static int place_in_column(int i)
    {
        return unsigned(i) % down * column_apart + unsigned(i) / down;
    }
    static constexpr int column_size = (down * column_apart + 64 / down + 3) / 4 * 4;

    __device__ static void get_row(const T* row, T (&to)[B])
    {
        access::get(row, across, to);
    }
    //! Puts a lane's elements if `so`. Its registers lie so that a column needs no moves.
    __device__ static void put_row(bool so, T* row, const T (&from)[B])
    {
#pragma unroll
        for (int b = 0; b < B; ++b) {
            T* const to =
                row + b / each_of_row * (across * each_of_row) + b % each_of_row;
            if constexpr (std::is_same_v<T, float2>) {
                store_if(so, to, from[b]);
            } else if (so) {
                *to = from[b];
            }
        }
    }
    __device__ static void get_column(const T* column, T (&to)[A])
    {
        access::get(column, 1, to);
    }

    //! The distance of X's rows in shared memory: lanes use all banks.
    static constexpr int line = 128 / sizeof(T);
    static constexpr int x_apart = (columns + line - 1) / line * line + across;

    //! Writes X, whose row i is row `to_row[i]` of `to`.
    __device__ static void
    write(const T* x, const int* to_row, T* to, int n, bool aligned)
    {
        if (aligned && n % most == 0 && x_apart % most == 0) {
            write_pieces<most>(x, to_row, to, n);
        } else {
            write_pieces<1>(x, to_row, to, n);
        }
    }

private:
    //! All threads together, with `Count` elements an access.
    template <int Count>
    __device__ static void write_pieces(const T* x, const int* to_row, T* to, int n)
    {
        struct __align__(Count * sizeof(T)) piece { T e[Count]; };
        const int pieces = n / Count; // of a row
        const int rows_on = 32 * Warps / pieces, pieces_on = 32 * Warps % pieces;
        int i = int(threadIdx.x) / pieces, j = int(threadIdx.x) % pieces;
#pragma unroll 4
        for (; i < n; i += rows_on) {
            *reinterpret_cast<piece*>(to + to_row[i] * n + j * Count) =
                *reinterpret_cast<const piece*>(x + i * x_apart + j * Count);
            j += pieces_on;
            if (j >= pieces) {
                j -= pieces;
                ++i;
            }
        }
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
