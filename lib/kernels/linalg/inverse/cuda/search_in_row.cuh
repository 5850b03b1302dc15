/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/warp/warp_keys.cuh"

// The search of full pivoting in kernels whose lanes hold parts of rows.

namespace gr::cudaphy::kernels {
namespace {

//! The search of full pivoting among a lane's B elements of a row, in the columns that
//! are left.
template <typename T, int B>
struct search_in_row {
    //! Of a column: 2, or 0 if it is done. A product with 2 drops the sign. It takes none
    //! of the time of the units that compare.
    unsigned factor[B];

    __device__ __forceinline__ void set(int b, bool left) { factor[b] = left ? 2 : 0; }
    //! The bits of the largest size.
    __device__ __forceinline__ int largest(const T (&row)[B]) const
    {
        const auto size = [&](int b) {
            const T a = row[b];
            if constexpr (std::is_same_v<T, double2>) {
                return unsigned(__double2hiint(size_of(a))) * factor[b];
            } else if constexpr (std::is_same_v<T, double>) {
                return unsigned(__double2hiint(a)) * factor[b];
            } else {
                return __float_as_uint(a) * factor[b];
            }
        };
        unsigned largest = size(0);
#pragma unroll
        for (int b = 1; b + 1 < B; b += 2) {
            largest = __vimax3_u32(largest, size(b), size(b + 1));
        }
        if constexpr (B % 2 == 0) {
            largest = max(largest, size(B - 1));
        }
        return int(largest / 2);
    }
};

//! A sum of two moduli has no sign, and is stored only in a column that is left.
template <int B>
struct search_in_row<float2, B> {
    bool left[B];
    int size[B];

    __device__ __forceinline__ void set(int b, bool is_left)
    {
        left[b] = is_left;
        size[b] = 0;
    }
    __device__ __forceinline__ int largest(const float2 (&row)[B])
    {
#pragma unroll
        for (int b = 0; b < B; ++b) {
            if (left[b]) {
                size[b] = bits_of(size_of(row[b]));
            }
        }
        return largest_size<B>(size);
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
