/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse_pivot.h"

namespace gr::cudaphy::kernels {
namespace {

using namespace inverse_pivot;

// One element: float, or float2 for re and im. Same operations, same order as
// inverse_lanes-inl.h.

template <typename T>
constexpr bool is_complex = false;
template <>
constexpr bool is_complex<float2> = true;

__device__ inline float make_element(float re, float) { return re; }
__device__ inline float2 make_element(float re, float2) { return make_float2(re, 0.0f); }

//! a - c t
__device__ inline float subtract_product(float a, float c, float t)
{
    return __fmaf_rn(-c, t, a);
}
__device__ inline float2 subtract_product(float2 a, float2 c, float2 t)
{
    return make_float2(__fmaf_rn(c.y, t.y, __fmaf_rn(-c.x, t.x, a.x)),
                       __fmaf_rn(-c.y, t.x, __fmaf_rn(-c.x, t.y, a.y)));
}

__device__ inline float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float2 multiply(float2 a, float2 b)
{
    return make_float2(__fmaf_rn(-a.y, b.y, __fmul_rn(a.x, b.x)),
                       __fmaf_rn(a.y, b.x, __fmul_rn(a.x, b.y)));
}

__device__ inline float select(bool which, float yes, float no)
{
    return which ? yes : no;
}
__device__ inline float2 select(bool which, float2 yes, float2 no)
{
    return make_float2(which ? yes.x : no.x, which ? yes.y : no.y);
}

__device__ inline int component_bits(float a) { return __float_as_int(a) & sign_free; }
__device__ inline int component_bits(float2 a)
{
    return max(component_bits(a.x), component_bits(a.y));
}

//! The power of two that takes a number of these bits to [1/2, 1), as far as float goes.
__device__ inline float power_of_two(int bits)
{
    const int exponent = scale_sum - (bits >> mantissa_bits);
    return __int_as_float(min(max(exponent, 1), scale_sum) << mantissa_bits);
}

//! The s of inverse_pivot.h.
__device__ inline float scale_for(int bits)
{
    const bool outside = abs((bits >> mantissa_bits) - bias) > benign_exponent;
    return outside ? power_of_two(bits) : 1.0f;
}

__device__ inline float reciprocal(float p) { return __frcp_rn(p); }
__device__ inline float2 reciprocal(float2 p)
{
    const float s = power_of_two(component_bits(p));
    const float re = __fmul_rn(p.x, s);
    const float im = __fmul_rn(p.y, s);
    const float q = __frcp_rn(__fmaf_rn(re, re, __fmul_rn(im, im)));
    return make_float2(__fmul_rn(__fmul_rn(re, q), s), __fmul_rn(__fmul_rn(-im, q), s));
}

template <bool Scaled>
__device__ inline float modulus(float a, float)
{
    return fabsf(a);
}
template <bool Scaled>
__device__ inline float modulus(float2 a, float s)
{
    const float re = Scaled ? __fmul_rn(a.x, s) : a.x;
    const float im = Scaled ? __fmul_rn(a.y, s) : a.y;
    return __fmaf_rn(re, re, __fmul_rn(im, im));
}

//! The largest component of elements as bits, or `sign_free` if any is not finite.
class largest_of_elements
{
public:
    __device__ void consider(float a)
    {
        d_largest = fmaxf(d_largest, fabsf(a));
        d_zero = __fmaf_rn(a, 0.0f, d_zero);
    }
    __device__ void consider(float2 a)
    {
        consider(a.x);
        consider(a.y);
    }
    __device__ int bits() const
    {
        return d_zero == 0.0f ? __float_as_int(d_largest) : sign_free;
    }

private:
    float d_largest = 0.0f;
    float d_zero = 0.0f; //!< NaN once an element is not finite
};

} // namespace
} // namespace gr::cudaphy::kernels
