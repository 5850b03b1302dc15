/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/element.cuh"
#include "kernels/linalg/inverse/cuda/tuning.cuh"
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <limits>

// Shared by the inversion kernels: the batch, and the state of an elimination.

namespace gr::cudaphy::kernels {

using namespace inverse_tuning;

//! The argument of the kernels.
template <typename T>
struct batch_of {
    const T* a;
    T* x;
    int* status;
    T* determinant; //!< or null
    size_t size;
    bool aligned;     //!< a and x are at 16-byte addresses
    size_t ahead = 0; //!< distance in warps of fetch_ahead(); 0: none
};

namespace {

constexpr unsigned all_lanes = 0xffffffff;

//! Greater than every key of a pivot.
constexpr int above_all_keys = std::numeric_limits<int>::max();

//! The state of a matrix's elimination.
template <typename T>
struct elimination {
    int state = 0;     //!< becomes the status
    bool zero = false; //!< whether X = 0
    bool odd = false;  //!< an odd number of swaps so far
    real_of<T> smallest = 0;
    T determinant = make_element<T>(1);
};

//! The pivot that step k (from 0) divides by, if it found `found` on the diagonal.
template <typename T>
__device__ __forceinline__ T
usable_pivot(pivoting how, T found, int k, elimination<T>& so_far)
{
    T pivot = found;
    if (how == pivoting::none) {
        const auto re = real_part(found);
        pivot = make_element<T>(re);
        if (re <= 0) {
            so_far.state = so_far.state ? so_far.state : k + 1;
            so_far.zero = true;
        }
    } else {
        const auto size = size_of(found);
        if (how == pivoting::full && k == 0) {
            so_far.smallest = larger(limits_of<T>::smallest, limits_of<T>::eps * size);
        }
        const bool small = how == pivoting::full ? size < so_far.smallest : size == 0;
        if (small) {
            so_far.state = so_far.state ? so_far.state : k + 1;
            so_far.zero = so_far.zero || size == 0;
            if (how == pivoting::full) {
                pivot = make_element<T>(so_far.smallest);
            }
        }
    }
    return pivot;
}

//! The determinant if so_far.zero.
template <typename T>
__device__ __forceinline__ T determinant_of_failed(const elimination<T>& so_far)
{
    const auto nan = real_of<T>(0) / real_of<T>(0);
    return make_element<T>(so_far.state == -1 ? nan : real_of<T>(0));
}

//! Writes the matrix's status and its determinant.
template <typename T>
__device__ __forceinline__ void report(const batch_of<T>& batch,
                                       size_t item,
                                       const elimination<T>& so_far,
                                       bool has_determinant = true)
{
    batch.status[item] = so_far.state;
    if (has_determinant && batch.determinant) {
        const T d = so_far.odd ? negate(so_far.determinant) : so_far.determinant;
        batch.determinant[item] = so_far.zero ? determinant_of_failed(so_far) : d;
    }
}

//! Prefetches the matrices of a later warp into the L2 cache. The calling warp's
//! matrices, of `elements` elements each, begin with `first`.
template <typename T>
__device__ __forceinline__ void
fetch_ahead(const batch_of<T>& batch, size_t first, int matrices, int elements)
{
    constexpr unsigned line = 128;
    first += batch.ahead * matrices;
    if (batch.ahead && first + matrices <= batch.size) {
        const auto* const from =
            reinterpret_cast<const char*>(batch.a + first * elements);
        const unsigned bytes = unsigned(matrices * elements * sizeof(T));
        for (unsigned at = threadIdx.x % 32 * line; at < bytes; at += 32 * line) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
        }
    }
}

//! The same pointer to shared memory, but in a register: the compiler would otherwise
//! compute the pointer again in every step.
template <typename T>
__device__ inline T* in_register(T* shared)
{
    auto at = unsigned(__cvta_generic_to_shared(shared));
    asm("" : "+r"(at));
    return static_cast<T*>(__cvta_shared_to_generic(at));
}

template <typename T>
__device__ inline T from_lane(T value, int lane)
{
    if constexpr (is_complex<T>) {
        return T{ __shfl_sync(all_lanes, value.x, lane),
                  __shfl_sync(all_lanes, value.y, lane) };
    } else {
        return __shfl_sync(all_lanes, value, lane);
    }
}

//! The maximum over L neighbouring lanes. Every lane of the warp must call it.
template <int L>
__device__ inline int largest_of_lanes(int value)
{
#if __CUDA_ARCH__ >= 800
    constexpr bool reduced_at_once = L == 32;
    if constexpr (reduced_at_once) {
        value = __reduce_max_sync(all_lanes, value);
    }
#else
    constexpr bool reduced_at_once = false;
#endif
    if constexpr (!reduced_at_once) {
#pragma unroll
        for (int distance = L / 2; distance > 0; distance /= 2) {
            value = max(value, __shfl_xor_sync(all_lanes, value, distance));
        }
    }
    return value;
}

template <int N>
__device__ __forceinline__ void rotate(int (&ids)[N])
{
    const int first = ids[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        ids[i - 1] = ids[i];
    }
    ids[N - 1] = first;
}

} // namespace
} // namespace gr::cudaphy::kernels
