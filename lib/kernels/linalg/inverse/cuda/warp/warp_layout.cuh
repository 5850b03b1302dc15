/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Which elements of a matrix each lane of a warp holds in warp_per_matrix.cuh.

namespace gr::cudaphy::kernels {
namespace {

template <int I>
struct slot_constant {
    static constexpr int value = I;
};

//! Calls part(slot_constant<slot>()) for a slot below Slots that is the same in all
//! lanes. It takes a branch for each bit.
template <int Slots, int First = 0, typename Slot, typename Part>
__device__ __forceinline__ void at_slot(Slot slot, const Part& part)
{
    if constexpr (Slots == 1) {
        part(slot_constant<First>());
    } else {
        constexpr int half = Slots > 8 ? 8 : Slots > 4 ? 4 : Slots > 2 ? 2 : 1;
        if (slot & half) {
            at_slot<Slots - half, First + half>(slot, part);
        } else {
            at_slot<half, First>(slot, part);
        }
    }
}

//! Calls part(slot_constant<slot>()) for every slot below Slots in turn.
template <int Slots, int First = 0, typename Part>
__device__ __forceinline__ void for_each_slot(const Part& part)
{
    if constexpr (First < Slots) {
        part(slot_constant<First>());
        for_each_slot<Slots, First + 1>(part);
    }
}

//! Accesses to shared memory that move some elements of a line at once.
template <typename T>
struct line_access {
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

    //! Reads a lane's line, of which a group is `apart` groups behind the one before it.
    template <int Count>
    __device__ static void get(const T* line, int apart, T (&to)[Count])
    {
        constexpr int each = together(Count);
        const auto* from = reinterpret_cast<const group<Count>*>(line);
#pragma unroll
        for (int g = 0; g < Count / each; ++g) {
            const group<Count> some = from[g * apart];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                to[g * each + e] = some.e[e];
            }
        }
    }
    //! Writes a lane's elements of a column, side by side.
    template <int Rows, int Columns>
    __device__ static void put_column(T* column, const T (&from)[Rows][Columns], int slot)
    {
        constexpr int each = together(Rows);
        auto* to = reinterpret_cast<group<Rows>*>(column);
#pragma unroll
        for (int g = 0; g < Rows / each; ++g) {
            group<Rows> some;
#pragma unroll
            for (int e = 0; e < each; ++e) {
                some.e[e] = from[g * each + e][slot];
            }
            to[g] = some;
        }
    }
};

//! The same for any count: a lane's line has room for whole accesses of 16 bytes. What is
//! left of its elements takes one or two narrower accesses.
template <typename T>
struct padded_line_access : line_access<T> {
    using line_access<T>::most;
    __host__ __device__ static constexpr int together(int count)
    {
        return count < most ? 1 : most;
    }
    //! Elements that a lane's line has room for.
    __host__ __device__ static constexpr int room(int count)
    {
        return (count + together(count) - 1) / together(count) * together(count);
    }
    template <int Count>
    struct __align__(Count * sizeof(T)) piece
    {
        T e[Count];
    };

    //! Calls use(a pointer to a piece, slot_constant of its first element, and of its
    //! elements' number) for all pieces of a lane's line.
    template <int Count, int First = 0, typename Line, typename Use>
    __device__ __forceinline__ static void
    for_each_piece(Line* line, int apart, const Use& use)
    {
        constexpr int each = together(Count);
        constexpr int left = Count - First;
        if constexpr (left > 0) {
            constexpr int count = First % each == 0 && left >= each ? each
                                  : left >= 2 && each >= 2          ? 2
                                                                    : 1;
            use(line + First / each * (apart * each) + First % each,
                slot_constant<First>(),
                slot_constant<count>());
            for_each_piece<Count, First + count>(line, apart, use);
        }
    }
    template <int Count>
    __device__ static void get(const T* line, int apart, T (&to)[Count])
    {
        for_each_piece<Count>(line, apart, [&](const T* from, auto first, auto count) {
            constexpr int F = decltype(first)::value;
            constexpr int C = decltype(count)::value;
            const auto some = *reinterpret_cast<const piece<C>*>(from);
#pragma unroll
            for (int e = 0; e < C; ++e) {
                to[F + e] = some.e[e];
            }
        });
    }
    template <int Rows, int Columns>
    __device__ static void get_column(const T* column, T (&to)[Rows][Columns], int slot)
    {
        for_each_piece<Rows>(column, 1, [&](const T* from, auto first, auto count) {
            constexpr int F = decltype(first)::value;
            constexpr int C = decltype(count)::value;
            const auto some = *reinterpret_cast<const piece<C>*>(from);
#pragma unroll
            for (int e = 0; e < C; ++e) {
                to[F + e][slot] = some.e[e];
            }
        });
    }
    template <int Rows, int Columns>
    __device__ static void put_column(T* column, const T (&from)[Rows][Columns], int slot)
    {
        for_each_piece<Rows>(column, 1, [&](T* to, auto first, auto count) {
            constexpr int F = decltype(first)::value;
            constexpr int C = decltype(count)::value;
            piece<C> some;
#pragma unroll
            for (int e = 0; e < C; ++e) {
                some.e[e] = from[F + e][slot];
            }
            *reinterpret_cast<piece<C>*>(to) = some;
        });
    }
};

//! The elements of a matrix of order up to R in each lane, and the places of a row or
//! column in shared memory.
template <typename T, int R>
struct warp_layout : line_access<T> {
    using access = line_access<T>;
    using access::together;
    static constexpr int down = 4;
    static constexpr int across = 8;
    static constexpr int rows = R / down; //!< a lane
    static constexpr int columns = (R + across - 1) / across;
    static_assert(R % down == 0);
    //! The slots of rows that hold as many rows as these slots hold columns.
    __host__ __device__ static constexpr int rows_for(int slots)
    {
        return slots * across / down;
    }

    __device__ static bool has(int a, int down_at, int b, int across_at, int order)
    {
        return (order == R && R % across == 0) ||
               (row(a, down_at) < order && column(b, across_at) < order);
    }

    //! The place of element j of the pivot's row. A lane's elements are side by side as
    //! far as one access reaches, and the lanes' accesses are side by side.
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

    //! The place of element i of the pivot's column. A lane's elements are side by side,
    //! and the four lanes' elements are in different banks.
    static constexpr int apart = rows + together(rows);
    __device__ static int place_in_column(int i) { return i % down * apart + i / down; }
    static constexpr int column_size = down * apart + 2;

    //! A lane's elements of a row, from place_in_row(its first) on, and of a column.
    __device__ static void get_row(const T* row, T (&to)[columns])
    {
        access::get(row, across, to);
    }
    __device__ static void get_column(const T* column, T (&to)[rows])
    {
        access::get(column, 1, to);
    }
    __device__ static void get_column(const T* column, T (&to)[rows][columns], int slot)
    {
        constexpr int each = together(rows);
        const auto* from =
            reinterpret_cast<const typename access::template group<rows>*>(column);
#pragma unroll
        for (int g = 0; g < rows / each; ++g) {
            const typename access::template group<rows> some = from[g];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                to[g * each + e][slot] = some.e[e];
            }
        }
    }
};

//! The same for orders above 32, which need more than one access of every lane to reach
//! each row or column once.
template <typename T, int R>
struct long_warp_layout : warp_layout<T, R> {
    using access = padded_line_access<T>;
    using warp_layout<T, R>::down;
    using warp_layout<T, R>::across;
    using warp_layout<T, R>::rows;
    using warp_layout<T, R>::columns;
    static_assert(R > 32 && R <= 64);

    __device__ static int place_in_row(int j)
    {
        constexpr int each = access::together(columns);
        const int slot = j / across;
        return slot / each * (across * each) + j % across * each + slot % each;
    }
    static constexpr int row_size = 64;

    static constexpr int each_of_column = access::together(rows);
    static constexpr int apart =
        (access::room(rows) / each_of_column | 1) * each_of_column;
    __device__ static int place_in_column(int i) { return i % down * apart + i / down; }
    static constexpr int column_size = (down - 1) * apart + 64 / down;

    __device__ static void get_row(const T* row, T (&to)[columns])
    {
        access::get(row, across, to);
    }
    __device__ static void get_column(const T* column, T (&to)[rows])
    {
        access::get(column, 1, to);
    }
    __device__ static void get_column(const T* column, T (&to)[rows][columns], int slot)
    {
        access::get_column(column, to, slot);
    }
    __device__ static void put_column(T* column, const T (&from)[rows][columns], int slot)
    {
        access::put_column(column, from, slot);
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
