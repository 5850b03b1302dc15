/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_element.cuh"

// An element of a triangle or of a product on the device: a number, or re and im.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

constexpr unsigned all_lanes = 0xffffffff;
constexpr int warp_lanes = 32;

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

//! Every function for a number and, part by part, for the complex of its kind.
template <typename T>
struct element {
    using real = T;
    static __device__ T make(real value) { return value; }
    static __device__ T negative(T a) { return -a; }
    static __device__ bool is_zero(T a) { return a == 0; }
    static __device__ bool is_finite(T a) { return a - a == 0; }
    static __device__ T reciprocal(T a) { return 1 / a; }
    //! sum + a b
    static __device__ T multiply_add(T sum, T a, T b) { return fused(a, b, sum); }
};

template <typename T, typename R>
struct complex_element {
    using real = R;
    static __device__ T make(real value) { return { value, 0 }; }
    static __device__ T negative(T a) { return { -a.x, -a.y }; }
    static __device__ bool is_zero(T a) { return a.x == 0 && a.y == 0; }
    static __device__ bool is_finite(T a) { return a.x - a.x == 0 && a.y - a.y == 0; }
    //! Smith's: the modulus is never squared, and halved it can't overflow.
    static __device__ T reciprocal(T a)
    {
        const R size = fmax(fabs(a.x), fabs(a.y));
        const R half_re = R(0.5) * (a.x / size);
        const R half_im = R(0.5) * (a.y / size);
        const R half = fused(half_re, a.x, half_im * a.y);
        return { half_re / half, -half_im / half };
    }
    static __device__ T multiply_add(T sum, T a, T b)
    {
        return { fused(-a.y, b.y, fused(a.x, b.x, sum.x)),
                 fused(a.y, b.x, fused(a.x, b.y, sum.y)) };
    }
};
template <>
struct element<float2> : complex_element<float2, float> {
};
template <>
struct element<double2> : complex_element<double2, double> {
};

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
