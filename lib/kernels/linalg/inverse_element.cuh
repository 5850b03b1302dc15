/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse_pivot.h"
#include <cuda_runtime.h>
#include <type_traits>

// The arithmetic of inverse_pivot.h on a GPU. Elements are float, double, float2,
// double2.

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
struct element_traits {
    using real = T;
    static constexpr bool is_complex = false;
};
template <>
struct element_traits<float2> {
    using real = float;
    static constexpr bool is_complex = true;
};
template <>
struct element_traits<double2> {
    using real = double;
    static constexpr bool is_complex = true;
};

template <typename T>
using real_of = typename element_traits<T>::real;
template <typename T>
using limits_of = inverse_pivot::limits<real_of<T>>;
template <typename T>
constexpr bool is_complex = element_traits<T>::is_complex;

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

template <typename T>
__device__ inline T make_element(real_of<T> re)
{
    if constexpr (is_complex<T>) {
        return T{ re, 0 };
    } else {
        return re;
    }
}

template <typename T>
__device__ inline real_of<T> real_part(T a)
{
    if constexpr (is_complex<T>) {
        return a.x;
    } else {
        return a;
    }
}

//! a - c t
template <typename T>
__device__ inline T subtract_product(T a, T c, T t)
{
    if constexpr (is_complex<T>) {
        return T{ fused(c.y, t.y, fused(-c.x, t.x, a.x)),
                  fused(-c.y, t.x, fused(-c.x, t.y, a.y)) };
    } else {
        return fused(-c, t, a);
    }
}

template <typename T>
__device__ inline T multiply(T a, T b)
{
    if constexpr (is_complex<T>) {
        return T{ fused(-a.y, b.y, a.x * b.x), fused(a.y, b.x, a.x * b.y) };
    } else {
        return a * b;
    }
}

template <typename T>
__device__ inline T negate(T a)
{
    if constexpr (is_complex<T>) {
        return T{ -a.x, -a.y };
    } else {
        return -a;
    }
}

template <typename T>
__device__ inline T select(bool which, T yes, T no)
{
    if constexpr (is_complex<T>) {
        return T{ which ? yes.x : no.x, which ? yes.y : no.y };
    } else {
        return which ? yes : no;
    }
}

//! |re| + |im|
template <typename T>
__device__ inline real_of<T> size_of(T a)
{
    if constexpr (is_complex<T>) {
        return fabs(a.x) + fabs(a.y);
    } else {
        return fabs(a);
    }
}

//! Of a size. The hardware's NaN of double has a sign, fabs or not.
__device__ inline int bits_of(float a) { return __float_as_int(a); }
__device__ inline int bits_of(double a)
{
    return __double2hiint(a) & inverse_pivot::limits<double>::sign_free;
}

//! `complement` is 63 - index.
__device__ inline int key_of(int bits, int complement)
{
    return (bits & ~inverse_pivot::index_mask) | complement;
}

//! The larger one; NaN may give either.
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger(double a, double b) { return a > b ? a : b; }

//! The power of two that takes a size with these bits, of which the exponent counts, to
//! [1/2, 1), as far as the type goes.
template <typename Real>
__device__ inline Real scale_for_bits(int bits)
{
    using bounds = inverse_pivot::limits<Real>;
    const int scale =
        max(bounds::scale_sum - (bits & bounds::exponent), bounds::least_scale);
    if constexpr (std::is_same_v<Real, float>) {
        return __int_as_float(scale);
    } else {
        return __hiloint2double(scale, 0);
    }
}

//! 1 / d, rounded once, for d in 2^-100 .. 2^100: one Newton step on the hardware's
//! approximation.
__device__ inline float reciprocal_of_scaled(float d)
{
    float q;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(q) : "f"(d));
    return fused(fused(-d, q, 1.0f), q, q);
}
__device__ inline double reciprocal_of_scaled(double d) { return __drcp_rn(d); }

//! 1 / p; `s`: scale_for_bits of its size.
template <typename T>
__device__ inline T reciprocal(T p, real_of<T> s)
{
    if constexpr (is_complex<T>) {
        const auto re = p.x * s;
        const auto im = p.y * s;
        const auto q = reciprocal_of_scaled(fused(re, re, im * im));
        return T{ re * q * s, -im * q * s };
    } else {
        // Of an infinite pivot NaN, not 0, so that it shows.
        const auto scaled = p * s;
        return fused(scaled, real_of<T>(0), reciprocal_of_scaled(scaled) * s);
    }
}

template <typename T>
__device__ inline T reciprocal(T p)
{
    return reciprocal(p, scale_for_bits<real_of<T>>(bits_of(size_of(p))));
}

//! 0 while every component seen is finite, else NaN.
template <typename T>
__device__ inline void watch(real_of<T>& zero, T a)
{
    if constexpr (is_complex<T>) {
        zero = fused(a.x, real_of<T>(0), zero);
        zero = fused(a.y, real_of<T>(0), zero);
    } else {
        zero = fused(a, real_of<T>(0), zero);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
