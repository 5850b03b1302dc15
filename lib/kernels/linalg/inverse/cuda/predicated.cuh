/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime.h>
#include <limits>

// For warps whose lanes all branch alike. Work of only some lanes runs under a predicate,
// which the compiler uses only if it is written so. For a branch that differs between
// lanes, the compiler adds two instructions and a wait for all lanes.

namespace gr::cudaphy::kernels {
namespace {

//! A number whose bits at_slot() tests one by one, each after the branch before it. The
//! compiler would otherwise test all bits first.
struct tested_late {
    int value;

    __device__ __forceinline__ int operator&(int mask) const
    {
        int bits;
        asm volatile("and.b32 %0, %1, %2;" : "=r"(bits) : "r"(value), "r"(mask));
        return bits;
    }
};

//! Stores a to shared memory if `so`.
__device__ __forceinline__ void store_if(bool so, float2* shared, float2 a)
{
    asm volatile("{ .reg .pred so; setp.ne.s32 so, %0, 0;"
                 " @so st.shared.v2.f32 [%1], {%2, %3}; }" ::"r"(int(so)),
                 "r"(unsigned(__cvta_generic_to_shared(shared))),
                 "f"(a.x),
                 "f"(a.y)
                 : "memory");
}
__device__ __forceinline__ void store_if(bool so, float4* shared, float4 a)
{
    asm volatile("{ .reg .pred so; setp.ne.s32 so, %0, 0;"
                 " @so st.shared.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(int(so)),
                 "r"(unsigned(__cvta_generic_to_shared(shared))),
                 "f"(a.x),
                 "f"(a.y),
                 "f"(a.z),
                 "f"(a.w)
                 : "memory");
}

//! Less than the bits of any size, and 0 in all bits of a key.
constexpr int no_size = std::numeric_limits<int>::min();

//! size = bits_of(size_of(a)) if `so`.
__device__ __forceinline__ void update_size(bool so, int& size, float2 a)
{
    asm("{ .reg .pred so; .reg .f32 re, im; setp.ne.s32 so, %3, 0;"
        " abs.f32 re, %1; abs.f32 im, %2; @so add.rn.f32 %0, re, im; }"
        : "+r"(size)
        : "f"(a.x), "f"(a.y), "r"(int(so)));
}

} // namespace
} // namespace gr::cudaphy::kernels
