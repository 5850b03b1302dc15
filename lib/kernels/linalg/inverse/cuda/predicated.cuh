/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime.h>
#include <limits>

// For warps whose lanes all take the same way. What only some lanes do they do under a
// predicate, which the compiler only uses where it is told to: of a branch that it knows
// not to be the same in all lanes it makes two instructions more, and a wait for all.

namespace gr::cudaphy::kernels {
namespace {

//! A number of which at_slot() asks each bit behind the branch before, not all ahead.
struct tested_late {
    int value;

    __device__ __forceinline__ int operator&(int mask) const
    {
        int bits;
        asm volatile("and.b32 %0, %1, %2;" : "=r"(bits) : "r"(value), "r"(mask));
        return bits;
    }
};

//! *shared = a, if so, in shared memory.
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

//! Less than the bits of any size, and without bits that count for a key.
constexpr int no_size = std::numeric_limits<int>::min();

//! size = bits_of(size_of(a)), if so.
__device__ __forceinline__ void update_size(bool so, int& size, float2 a)
{
    asm("{ .reg .pred so; .reg .f32 re, im; setp.ne.s32 so, %3, 0;"
        " abs.f32 re, %1; abs.f32 im, %2; @so add.rn.f32 %0, re, im; }"
        : "+r"(size)
        : "f"(a.x), "f"(a.y), "r"(int(so)));
}

} // namespace
} // namespace gr::cudaphy::kernels
