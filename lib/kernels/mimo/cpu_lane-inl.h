/* SPDX-License-Identifier: GPL-3.0-or-later */
// A lane of the CPU's vectors, as complex_lane-inl.h wants it. Included inside the
// namespace of an instruction set, without include guard, after `hn` (Highway's
// namespace) and `tag` (the vectors of floats).

using real = hn::Vec<tag>;

HWY_INLINE real constant(float value) { return hn::Set(tag(), value); }
HWY_INLINE real fused(real a, real b, real c) { return hn::MulAdd(a, b, c); }
HWY_INLINE real fused_less(real a, real b, real c) { return hn::NegMulAdd(a, b, c); }

#define CUDAPHY_LANE HWY_INLINE
#include "kernels/mimo/complex_lane-inl.h"
#undef CUDAPHY_LANE

HWY_INLINE complex_lane load(const complex64* from)
{
    complex_lane value;
    hn::LoadInterleaved2(tag(), reinterpret_cast<const float*>(from), value.re, value.im);
    return value;
}
