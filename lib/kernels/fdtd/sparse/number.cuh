/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>

// Numbers on a device, and memory that no kernel writes.

namespace gr::cudaphy::kernels::sparse {

template <typename T>
struct device_number {
    using type = T;
};
template <>
struct device_number<std::complex<float>> {
    using type = float2;
};

template <typename T>
__device__ __forceinline__ T zero()
{
    return T{};
}

__device__ __forceinline__ float fused(float a, float x, float sum)
{
    return __fmaf_rn(a, x, sum);
}
__device__ __forceinline__ double fused(double a, double x, double sum)
{
    return __fma_rn(a, x, sum);
}
__device__ __forceinline__ float2 fused(float2 a, float2 x, float2 sum)
{
    const float re = __fmaf_rn(a.x, x.x, sum.x);
    const float im = __fmaf_rn(a.x, x.y, sum.y);
    return make_float2(__fmaf_rn(-a.y, x.y, re), __fmaf_rn(a.y, x.x, im));
}

template <typename T>
__device__ __forceinline__ T product(T a, T x)
{
    return a * x;
}
__device__ __forceinline__ float2 product(float2 a, float2 x)
{
    return fused(a, x, zero<float2>());
}

template <typename T>
__device__ __forceinline__ void atomic_sum(T* to, T value)
{
    atomicAdd(to, value);
}
__device__ __forceinline__ void atomic_sum(float2* to, float2 value)
{
    atomicAdd(&to->x, value.x);
    atomicAdd(&to->y, value.y);
}

//! A 16-byte record by one load.
template <typename Record>
__device__ __forceinline__ Record constant_record(const Record* from)
{
    static_assert(sizeof(Record) == 16);
    union {
        int4 words;
        Record record;
    } both = { __ldg(reinterpret_cast<const int4*>(from)) };
    return both.record;
}

//! Lets the next kernel of the stream begin while this one works: with compute capability
//! 9.0 its threads come and fetch their part of the matrix ahead.
__device__ __forceinline__ void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

//! Waits until all that the kernels before this one wrote can be read. Every thread calls
//! it before it touches a vector, so that this kernel ends after those before.
__device__ __forceinline__ void wait_for_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace gr::cudaphy::kernels::sparse
