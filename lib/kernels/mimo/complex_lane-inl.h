/* SPDX-License-Identifier: GPL-3.0-or-later */
// Complex numbers of a lane: of a vector unit, or of a GPU's thread. Included inside a
// namespace, without include guard, by files that define before:
//
//   CUDAPHY_LANE           what stands before a function
//   real                   a float, or a vector of floats
//   fused(a, b, c)         c + a b, rounded once
//   fused_less(a, b, c)    c - a b, rounded once
//
// Sums run in the order written here, so that CPU and GPU give the same bits.

struct complex_lane {
    real re, im;
};

//! sum + conj(a) b
CUDAPHY_LANE complex_lane add_dot(complex_lane a, complex_lane b, complex_lane sum)
{
    return { fused(a.im, b.im, fused(a.re, b.re, sum.re)),
             fused_less(a.im, b.re, fused(a.re, b.im, sum.im)) };
}

//! sum - a b
CUDAPHY_LANE complex_lane less_product(complex_lane a, complex_lane b, complex_lane sum)
{
    return { fused(a.im, b.im, fused_less(a.re, b.re, sum.re)),
             fused_less(a.im, b.re, fused_less(a.re, b.im, sum.im)) };
}

//! sum + a b
CUDAPHY_LANE complex_lane add_product(complex_lane a, complex_lane b, complex_lane sum)
{
    return { fused_less(a.im, b.im, fused(a.re, b.re, sum.re)),
             fused(a.im, b.re, fused(a.re, b.im, sum.im)) };
}

//! sum + |a|^2
CUDAPHY_LANE real add_norm(complex_lane a, real sum)
{
    return fused(a.im, a.im, fused(a.re, a.re, sum));
}

CUDAPHY_LANE complex_lane scaled(complex_lane a, real by)
{
    return { a.re * by, a.im * by };
}
