/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cuda_runtime.h>
#include <type_traits>

// Numbers on the device: float, double, and complex ones as float2 and double2 (re, im).

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
struct device_element {
    using type = T;
};
template <>
struct device_element<std::complex<float>> {
    using type = float2;
};
template <>
struct device_element<std::complex<double>> {
    using type = double2;
};

template <typename E>
constexpr bool is_complex = std::is_same_v<E, float2> || std::is_same_v<E, double2>;
template <typename E>
using real_of = std::
    conditional_t<std::is_same_v<E, float> || std::is_same_v<E, float2>, float, double>;
//! The same number in double precision.
template <typename E>
using wide_of = std::conditional_t<is_complex<E>, double2, double>;

//! The most elements that one instruction loads or stores.
template <typename E>
struct alignas(16) elements_of_16_bytes {
    static constexpr int count = 16 / sizeof(E);
    E e[count];
};

//! 2^-24 or 2^-53: LAPACK's eps.
template <typename R>
constexpr R unit_roundoff = std::is_same_v<R, float> ? R(0x1p-24) : R(0x1p-53);

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

template <typename E>
__device__ inline E number(double re)
{
    if constexpr (is_complex<E>) {
        return { real_of<E>(re), 0 };
    } else {
        return E(re);
    }
}

template <typename To, typename From>
__device__ inline To converted(From a)
{
    if constexpr (is_complex<From>) {
        return { real_of<To>(a.x), real_of<To>(a.y) };
    } else {
        return To(a);
    }
}

template <typename E>
__device__ inline real_of<E> re(E a)
{
    if constexpr (is_complex<E>) {
        return a.x;
    } else {
        return a;
    }
}

template <typename E>
__device__ inline E conjugate(E a)
{
    if constexpr (is_complex<E>) {
        return { a.x, -a.y };
    } else {
        return a;
    }
}

template <typename E>
__device__ inline E scaled(E a, real_of<E> by)
{
    if constexpr (is_complex<E>) {
        return { a.x * by, a.y * by };
    } else {
        return a * by;
    }
}

template <typename E>
__device__ inline E negative(E a)
{
    return scaled(a, real_of<E>(-1));
}

template <typename E>
__device__ inline E sum(E a, E b)
{
    if constexpr (is_complex<E>) {
        return { a.x + b.x, a.y + b.y };
    } else {
        return a + b;
    }
}

//! c + a b
template <typename E>
__device__ inline E multiply_add(E c, E a, E b)
{
    if constexpr (is_complex<E>) {
        return { fused(-a.y, b.y, fused(a.x, b.x, c.x)),
                 fused(a.y, b.x, fused(a.x, b.y, c.y)) };
    } else {
        return fused(a, b, c);
    }
}

template <typename E>
__device__ inline E product(E a, E b)
{
    return multiply_add(number<E>(0), a, b);
}

//! |re| + |im|
template <typename E>
__device__ inline real_of<E> size_of(E a)
{
    if constexpr (is_complex<E>) {
        return fabs(a.x) + fabs(a.y);
    } else {
        return fabs(a);
    }
}

template <typename E>
__device__ inline real_of<E> modulus(E a)
{
    if constexpr (is_complex<E>) {
        return hypot(a.x, a.y);
    } else {
        return fabs(a);
    }
}

template <typename E>
__device__ inline bool is_finite(E a)
{
    if constexpr (is_complex<E>) {
        return a.x - a.x == 0 && a.y - a.y == 0;
    } else {
        return a - a == 0;
    }
}

//! 1 / a, of a complex a by Smith's method, which never squares the modulus.
template <typename E>
__device__ inline E reciprocal(E a)
{
    if constexpr (is_complex<E>) {
        const auto size = fmax(fabs(a.x), fabs(a.y));
        const auto x = a.x / size, y = a.y / size;
        const auto square = fused(x, a.x, y * a.y);
        return { x / square, -y / square };
    } else {
        return 1 / a;
    }
}

//! The value of the lane whose index differs in the bit `Apart`.
template <int Apart, typename E>
__device__ inline E of_lane_beside(E a)
{
    if constexpr (is_complex<E>) {
        return { __shfl_xor_sync(0xffffffff, a.x, Apart),
                 __shfl_xor_sync(0xffffffff, a.y, Apart) };
    } else {
        return __shfl_xor_sync(0xffffffff, a, Apart);
    }
}

//! The sum over an aligned group of lanes, a power of two of them. Every lane gets it.
template <int Lanes, typename E>
__device__ inline E lanes_sum(E a)
{
    if constexpr (Lanes > 1) {
        return lanes_sum<Lanes / 2>(sum(a, of_lane_beside<Lanes / 2>(a)));
    } else {
        return a;
    }
}

//! The sum over a warp. Every lane gets it.
template <typename E>
__device__ inline E warp_sum(E a)
{
    return lanes_sum<32>(a);
}

//! The largest key of a warp. Every lane gets it.
__device__ inline unsigned largest_of_warp(unsigned key)
{
#if __CUDA_ARCH__ >= 800
    key = __reduce_max_sync(0xffffffff, key);
#else
    for (int apart = 16; apart; apart /= 2) {
        key = max(key, __shfl_xor_sync(0xffffffff, key, apart));
    }
#endif
    return key;
}

//! The sum over a block of Threads threads. Every thread gets it.
template <int Threads, typename E>
__device__ inline E block_sum(E a)
{
    __shared__ E partial[Threads / 32];
    a = warp_sum(a);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = a;
    }
    __syncthreads();
    E total = number<E>(0);
    for (int w = 0; w < Threads / 32; ++w) {
        total = sum(total, partial[w]);
    }
    return total;
}

} // namespace
} // namespace gr::cudaphy::kernels
