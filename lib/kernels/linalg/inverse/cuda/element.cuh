/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/pivot.h"
#include <cuda_runtime.h>
#include <type_traits>

// The arithmetic of pivot.h on a GPU. Elements are float, double, float2,
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

// A conditional move as an addition of -0, which changes no number. The GPU issues
// selects at half the rate of additions, a double needs two selects, and values that stay
// in their registers need no copies. The compiler must not know that the addend is -0,
// because it would then use a select again.

//! The same value, unknown to the compiler.
template <typename Real>
__device__ __forceinline__ Real opaque(Real value)
{
    if constexpr (std::is_same_v<Real, float>) {
        asm volatile("" : "+f"(value));
    } else {
        asm volatile("" : "+d"(value));
    }
    return value;
}

//! The same if `which`; else 1, which is never used.
template <typename Real>
__device__ __forceinline__ Real opaque(bool which, Real value)
{
    Real result;
    if constexpr (std::is_same_v<Real, float>) {
        asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; selp.f32 %0, %2, 0f3f800000, p; }"
            : "=f"(result)
            : "r"(int(which)), "f"(value));
    } else {
        asm("{ .reg .pred p; setp.ne.s32 p, %1, 0;"
            " selp.f64 %0, %2, 0d3ff0000000000000, p; }"
            : "=d"(result)
            : "r"(int(which)), "d"(value));
    }
    return result;
}

//! to = from if `which`. `minus_zero` is opaque(which, -0).
__device__ __forceinline__ void
move_if(bool which, float& to, float from, float minus_zero)
{
    asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p add.f32 %0, %2, %3; }"
        : "+f"(to)
        : "r"(int(which)), "f"(from), "f"(minus_zero));
}
__device__ __forceinline__ void
move_if(bool which, double& to, double from, double minus_zero)
{
    // The form above would become an addition and two selects.
    if (which) {
        asm volatile("add.f64 %0, %1, %2;" : "=d"(to) : "d"(from), "d"(minus_zero));
    }
}
template <typename T>
__device__ __forceinline__ void move_if(bool which, T& to, T from, real_of<T> minus_zero)
{
    move_if(which, to.x, from.x, minus_zero);
    move_if(which, to.y, from.y, minus_zero);
}

//! If `which`: a = +0, or NaN if a was not finite. `zero` is opaque(0).
__device__ __forceinline__ void clear_if(bool which, double& a, double zero)
{
    if (which) {
        asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(a) : "d"(zero));
    }
}
__device__ __forceinline__ void clear_if(bool which, double2& a, double zero)
{
    clear_if(which, a.x, zero);
    clear_if(which, a.y, zero);
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

//! The bits of a size in a key. The hardware's NaN of double has a sign even after fabs.
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

//! The larger number. If one is NaN, either may result.
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline double larger(double a, double b) { return a > b ? a : b; }

//! The power of two that scales a size with these bits to [1/2, 1), as far as the type's
//! range allows. Only the exponent's bits are used.
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

//! 1 / d, rounded once, for d in 2^-100 .. 2^100: Newton steps on the hardware's
//! approximation.
__device__ inline float reciprocal_of_scaled(float d)
{
    float q;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(q) : "f"(d));
    return fused(fused(-d, q, 1.0f), q, q);
}
__device__ inline double reciprocal_of_scaled(double d)
{
    // The steps of __drcp_rn without its branch for other d. The approximation has no
    // lower half. With this lower half even the result for d = 2 - 2^-52 is rounded
    // right.
    double approximate;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(approximate) : "d"(d));
    double q =
        __hiloint2double(__double2hiint(approximate), __double2hiint(d) + 0x300402);
    const double error = fused(-d, q, 1.0);
    q = fused(q, fused(error, error, error), q);
    return fused(fused(-d, q, 1.0), q, q);
}

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
        // NaN, not 0, for an infinite pivot, so that X shows it.
        const auto scaled = p * s;
        return fused(scaled, real_of<T>(0), reciprocal_of_scaled(scaled) * s);
    }
}

template <typename T>
__device__ inline T reciprocal(T p)
{
    return reciprocal(p, scale_for_bits<real_of<T>>(bits_of(size_of(p))));
}

//! Leaves `zero` at 0 if every component of a is finite, else makes it NaN.
template <typename T>
__device__ inline void nan_unless_finite(real_of<T>& zero, T a)
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
