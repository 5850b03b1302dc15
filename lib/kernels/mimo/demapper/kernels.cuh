/* SPDX-License-Identifier: GPL-3.0-or-later */
// What the demapper's kernels share: a thread as a vector of one lane, how LLRs leave,
// and the choice of a table.
#pragma once

#include "kernels/mimo/demapper/cuda_job.cuh"
#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/tuning.cuh"
#include <algorithm>
#include <cuda_fp16.h>
#include <type_traits>

#define LANE_FUNCTION __device__ __forceinline__
#define LANE_UNROLL _Pragma("unroll 16")
#define LANE_ROLLED _Pragma("unroll 1")
#define LANE_LAMBDA
#define LANE_RARE_FUNCTION LANE_FUNCTION

namespace gr::cudaphy::kernels {
namespace {

//! A thread is a vector of one lane.
struct one_lane {
};

LANE_FUNCTION float Set(one_lane, float value) { return value; }
LANE_FUNCTION float Abs(float a) { return fabsf(a); }
LANE_FUNCTION float Min(float a, float b) { return fminf(a, b); }
LANE_FUNCTION float Max(float a, float b) { return fmaxf(a, b); }
LANE_FUNCTION float CopySign(float size, float sign) { return copysignf(size, sign); }
LANE_FUNCTION bool Lt(float a, float b) { return a < b; }
LANE_FUNCTION bool Gt(float a, float b) { return a > b; }
LANE_FUNCTION bool And(bool a, bool b) { return a && b; }
LANE_FUNCTION float IfThenElseZero(bool yes, float a) { return yes ? a : 0.0f; }
LANE_FUNCTION float IfThenElse(bool yes, float a, float b) { return yes ? a : b; }
LANE_FUNCTION bool AllTrue(one_lane, bool a) { return a; }

LANE_FUNCTION float Sqrt(float a) { return __fsqrt_rn(a); }
LANE_FUNCTION float MulAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LANE_FUNCTION float NegMulAdd(float a, float b, float c) { return __fmaf_rn(-a, b, c); }

constexpr int least_shared_bits = 2;
constexpr bool lone_levels_pay = false;

// Single instructions, off by 2^-22, which flush subnormal numbers.
LANE_FUNCTION float Power(one_lane, float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
LANE_FUNCTION float Reciprocal(one_lane, float x)
{
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
    return reciprocal;
}
LANE_FUNCTION float Logarithm(one_lane, float x)
{
    float log;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(x));
    return log;
}

LANE_FUNCTION float NotTiny(one_lane, float x) { return x; }

[[maybe_unused]] LANE_FUNCTION float LogarithmOfOneAnd(one_lane d, float e)
{
    return Logarithm(d, 1.0f + e);
}

template <typename Other>
LANE_FUNCTION float WhereNot(bool yes, float a, const Other& other)
{
    return yes ? a : other();
}

#include "kernels/mimo/demapper/lanes-inl.h"

using tuning = mimo_tuning::demapper;

LANE_FUNCTION float held(float llr, float largest)
{
    return fminf(fmaxf(llr, -largest), largest);
}

// How LLRs leave: of `llr`, within `largest` already, times `steps`.
struct as_float32 {
    using type = float;
    static __device__ float of(float llr, float) { return llr; }
};
struct as_float16 {
    using type = __half;
    static __device__ __half of(float llr, float) { return __float2half_rn(llr); }
};
struct as_int8 {
    using type = signed char;
    static __device__ signed char of(float llr, float steps)
    {
        return static_cast<signed char>(__float2int_rn(llr * steps));
    }
};

//! Calls use(bits, table) with the bits of a label as a constant, 1 to 8.
template <typename Use>
void with_plane(const constellation& c, const Use& use)
{
    switch (c.bits) {
    case 1:
        return use(std::integral_constant<int, 1>(), make_plane_table<2>(c));
    case 2:
        return use(std::integral_constant<int, 2>(), make_plane_table<4>(c));
    case 3:
        return use(std::integral_constant<int, 3>(), make_plane_table<8>(c));
    case 4:
        return use(std::integral_constant<int, 4>(), make_plane_table<16>(c));
    case 5:
        return use(std::integral_constant<int, 5>(), make_plane_table<32>(c));
    case 6:
        return use(std::integral_constant<int, 6>(), make_plane_table<64>(c));
    case 7:
        return use(std::integral_constant<int, 7>(), make_plane_table<128>(c));
    default:
        return use(std::integral_constant<int, 8>(), make_plane_table<256>(c));
    }
}

template <typename Table, typename Use>
void with_square(int bits, const Table& table, const Use& use)
{
    switch (bits) {
    case 2:
        return use(std::integral_constant<int, 2>(), table);
    case 4:
        return use(std::integral_constant<int, 4>(), table);
    case 6:
        return use(std::integral_constant<int, 6>(), table);
    case 8:
        return use(std::integral_constant<int, 8>(), table);
    default:
        return use(std::integral_constant<int, 10>(), table);
    }
}

//! The points' table. Max-log LLRs are found by a quarter of the points, or by rings and
//! angles, where there is such a structure.
template <bool MaxLog, typename Use>
void with_table(const demapper_points& from, float sign, const Use& use)
{
    const int bits = from.points.bits;
    if (from.square && from.square->gray) {
        return with_square(bits, gray_table{ *from.square }, use);
    }
    if (from.square) {
        return with_square(bits, *from.square, use);
    }
    if constexpr (MaxLog) {
        if (from.rings && bits == 6) {
            return use(std::integral_constant<int, 6>(), *from.rings);
        } else if (from.rings) {
            return use(std::integral_constant<int, 8>(), *from.rings);
        } else if (from.mirror && bits == 6) {
            return use(std::integral_constant<int, 6>(), *from.mirror);
        } else if (from.mirror && bits == 7) {
            return use(std::integral_constant<int, 7>(), *from.mirror);
        } else if (from.mirror && bits == 8) {
            return use(std::integral_constant<int, 8>(), *from.mirror);
        }
    }
    if (const auto octant = make_octant_table(from.points, sign)) {
        return use(std::integral_constant<int, 3>(), *octant);
    }
    with_plane(from.points, use);
}

} // namespace
} // namespace gr::cudaphy::kernels
