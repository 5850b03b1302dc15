/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"

// The keys of rows and columns in kernels whose warps search for a pivot.

namespace gr::cudaphy::kernels {
namespace {

//! The identity of a row or column: a mask for a size's bits, and 63 - index. It is 0 if
//! the row or column is done or does not exist, so that its key is below all others.
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

//! The largest of the first Count sizes of a lane's row.
template <int Count, int B>
__device__ __forceinline__ int largest_size(const int (&size)[B])
{
    static_assert(Count >= 1 && Count <= B);
    int largest = size[0];
#pragma unroll
    for (int b = 1; b + 1 < Count; b += 2) {
        largest = __vimax3_s32(largest, size[b], size[b + 1]);
    }
    if constexpr (Count % 2 == 0) {
        largest = max(largest, size[Count - 1]);
    }
    return largest;
}

//! The largest key of a lane's rows.
template <int Down>
__device__ __forceinline__ int largest_key(const int (&key)[Down])
{
    constexpr int odd = Down % 2;
    int best = odd ? key[0] : max(key[0], key[1]);
#pragma unroll
    for (int a = odd ? 1 : 2; a < Down; a += 2) {
        best = __vimax3_s32(key[a], key[a + 1], best);
    }
    return best;
}

//! Makes p the pivot that step k divides by, and size_bits the bits of its size, of which
//! the exponent counts. With full pivoting size_bits was p's key, and a key from `bound`
//! on is enough.
template <pivoting Pivoting, typename T>
__device__ __forceinline__ void look_at_pivot(
    T& p, int& size_bits, int& bound, int k, elimination<T>& so_far, real_of<T>& a_finite)
{
    constexpr bool full = Pivoting == pivoting::full;
    if (full && size_bits >= bound) {
        return;
    }
    if constexpr (full) {
        nan_unless_finite(a_finite, p); // what is not finite is the first pivot
    }
    p = usable_pivot(Pivoting, p, k, so_far);
    size_bits = bits_of(size_of(p));
    if constexpr (full) {
        bound = (bits_of(so_far.smallest) | inverse_pivot::index_mask) + 1;
    }
}

//! The bits that are set in any lane.
__device__ inline unsigned union_of_lanes(unsigned bits)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(all_lanes, bits);
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        bits |= __shfl_xor_sync(all_lanes, bits, distance);
    }
    return bits;
#endif
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

//! The same of a permutation in shared memory.
__device__ inline bool is_odd(const int* target, int lane, int n)
{
    int inversions = 0;
    for (int i = lane; i < n; i += 32) {
        for (int before = 0; before < i; ++before) {
            inversions += target[before] > target[i];
        }
    }
    return __popc(__ballot_sync(all_lanes, inversions % 2)) % 2;
}

} // namespace
} // namespace gr::cudaphy::kernels
