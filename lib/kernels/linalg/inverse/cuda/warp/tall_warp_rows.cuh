/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_layout.cuh"

// Where a lane's rows lie in tall_warp.cuh.

namespace gr::cudaphy::kernels {
namespace {

//! The rows of all lanes that lie in shared memory. A lane's elements are in accesses of
//! up to 16 bytes, beside those of the other lanes.
template <typename T, int R, int Held>
struct tall_rest {
    using layout = long_warp_layout<T, R>;
    static constexpr int rows = layout::rows - Held;
    static_assert(rows > 0);
    static constexpr int each = line_access<T>::together(layout::columns);
    static constexpr int groups = layout::columns / each; //!< of a row
    struct __align__(each * sizeof(T)) group { T e[each]; };
    group at[rows * groups][32];
};

//! A lane's rows: the first Held in registers, the others in shared memory.
template <typename T, int R, int Held>
struct tall_rows {
    using rest_type = tall_rest<T, R, Held>;
    using layout = long_warp_layout<T, R>;
    static constexpr int A = layout::rows;
    static constexpr int B = layout::columns;
    static constexpr int held = Held;

    T m[Held][B];

    __device__ tall_rows(rest_type& rest, int lane)
        : d_rest(in_register(&rest.at[0][lane]))
    {
    }

    template <int a>
    __device__ __forceinline__ void get(T (&row)[B]) const
    {
        if constexpr (a < Held) {
#pragma unroll
            for (int b = 0; b < B; ++b) {
                row[b] = m[a][b];
            }
        } else {
#pragma unroll
            for (int g = 0; g < rest_type::groups; ++g) {
                const group some = d_rest[((a - Held) * rest_type::groups + g) * 32];
#pragma unroll
                for (int e = 0; e < rest_type::each; ++e) {
                    row[g * rest_type::each + e] = some.e[e];
                }
            }
        }
    }
    template <int a>
    __device__ __forceinline__ void put(const T (&row)[B])
    {
#pragma unroll
        for (int g = 0; g < rest_type::groups; ++g) {
            group some;
#pragma unroll
            for (int e = 0; e < rest_type::each; ++e) {
                some.e[e] = row[g * rest_type::each + e];
            }
            d_rest[((a - Held) * rest_type::groups + g) * 32] = some;
        }
    }
    //! Row a becomes `row` if `so`.
    template <int a>
    __device__ __forceinline__ void put_if(bool so, const T (&row)[B])
    {
        if constexpr (a >= Held) {
            if (so) {
                put<a>(row);
            }
        } else {
            const auto minus_zero = opaque(so, real_of<T>(-0.0));
#pragma unroll
            for (int b = 0; b < B; ++b) {
                if constexpr (sizeof(real_of<T>) == 8) {
                    move_if(so, m[a][b], row[b], minus_zero);
                } else { // where it gains nothing
                    m[a][b] = select(so, row[b], m[a][b]);
                }
            }
        }
    }

    //! Calls use(slot_constant of a row, the row), which may change the row.
    template <typename Use>
    __device__ __forceinline__ void for_each(const Use& use)
    {
        for_each_slot<A>([&](auto slot) {
            constexpr int a = decltype(slot)::value;
            if constexpr (a < Held) {
                use(slot, m[a]);
            } else {
                T row[B];
                get<a>(row);
                use(slot, row);
                put<a>(row);
            }
        });
    }
    template <typename Use>
    __device__ __forceinline__ void read_each(const Use& use) const
    {
        for_each_slot<A>([&](auto slot) {
            constexpr int a = decltype(slot)::value;
            if constexpr (a < Held) {
                use(slot, m[a]);
            } else {
                T row[B];
                get<a>(row);
                use(slot, row);
            }
        });
    }

    //! Writes the lane's elements of column slot b side by side to `column`, and sets
    //! them to 0. `zeros` has as many zeros.
    template <int b>
    __device__ __forceinline__ void take_column(T* column, const T* zeros)
    {
        using access = padded_line_access<T>;
        T all[A][1];
#pragma unroll
        for (int a = 0; a < A; ++a) {
            all[a][0] = a < Held ? m[a < Held ? a : 0][b] : in_rest(a, b);
        }
        access::put_column(column, all, 0);
        T none[Held];
        access::get(zeros, 1, none);
#pragma unroll
        for (int a = 0; a < A; ++a) {
            if (a < Held) {
                m[a < Held ? a : 0][b] = none[a < Held ? a : 0];
            } else {
                in_rest(a, b) = make_element<T>(0);
            }
        }
    }

private:
    using group = typename rest_type::group;
    __device__ __forceinline__ T& in_rest(int a, int b)
    {
        constexpr int each = rest_type::each;
        return d_rest[((a - Held) * rest_type::groups + b / each) * 32].e[b % each];
    }

    group* d_rest;
};

} // namespace
} // namespace gr::cudaphy::kernels
