/* SPDX-License-Identifier: GPL-3.0-or-later */
// A thread of a GPU as a lane, as complex_lane-inl.h wants it.
#pragma once

#include <cuda_runtime.h>

#define CUDAPHY_LANE __device__ __forceinline__
#define CUDAPHY_UNROLL _Pragma("unroll")

namespace gr::cudaphy::kernels {
namespace {

using real = float;

CUDAPHY_LANE real constant(float value) { return value; }
CUDAPHY_LANE real fused(real a, real b, real c) { return __fmaf_rn(a, b, c); }
CUDAPHY_LANE real fused_less(real a, real b, real c) { return __fmaf_rn(-a, b, c); }

#include "kernels/mimo/complex_lane-inl.h"

constexpr unsigned whole_warp = 0xFFFFFFFFu;

} // namespace
} // namespace gr::cudaphy::kernels
