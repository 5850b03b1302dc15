/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstdint>

// How the fast backends choose a pivot and divide by it, so that CPU and CUDA give the
// same bits whether rows are moved or not. cuda/warp/warp_panels.cuh,
// cuda/warp/warp_two_stages.cuh and cuda/definite_thread_per_matrix.cuh round otherwise,
// and take the same pivots as far as that allows.
//
// An element's size is |re| + |im|, as in LAPACK's i?amax. A size needs no square, so
// that no range is lost. An element's key is an integer: the size's bits as a float, or
// the upper 32 bits of the size as a double. The last 6 bits are replaced by 63 - (index
// in A of its row or column). Non-negative numbers sort as their bits do. One maximum
// therefore finds the largest size to within 2^-14 (for double, too) and its place. Among
// equal keys the first row or column of A wins.
//
// full: a row's key is the key of its largest remaining element. The pivot is in the row
//     with the largest key, and there in the column with the largest key.
// partial: the row with the largest key of column k.
//
// Then the pivot p is checked (inverse.h says why):
//     full     size(p) < smallest: the pivot becomes `smallest`, real
//     partial  size(p) == 0: no inverse
//     none     re(p) <= 0: no inverse; else the pivot is re(p), real
//
// s is the power of two that scales size(p) to [1/2, 1), as far as the type allows. With
// q = 1 / (s p) or 1 / fma(s re, s re, (s im)^2), each rounded once, the reciprocal is
//     real     fma(s p, 0, q s), which is NaN, not 0, for an infinite pivot
//     complex  ((s re) q) s, (-(s im) q) s
// t = reciprocal times the pivot's row; every other row gets a - c t, the pivot's column
// 0 - c r:
//     re = fma(c.im, t.im, fma(-c.re, t.re, a.re))
//     im = fma(-c.im, t.re, fma(-c.re, t.im, a.im))
//     product (a b): re = fma(-a.im, b.im, a.re b.re), im = fma(a.im, b.re, a.re b.im)
// The determinant is multiplied by each pivot in turn, from 1, as product(det, p), and
// negated at the end for an odd permutation.
//
// |A|_1 and |X|_1, for rcond, add the moduli |a| or sqrt(fma(s re, s re, (s im)^2)) / s,
// with the s of the element's size, down a column, first row first; rcond = 1 / (|A|_1
// |X|_1).
namespace gr::cudaphy::kernels::inverse_pivot {

constexpr int32_t index_mask = 63; //!< the bits of a key that hold the index

template <typename Real>
struct limits;

template <>
struct limits<float> {
    static constexpr int32_t sign_free = 0x7fffffff;
    static constexpr int32_t largest_finite = 0x7f7fffff; //!< beyond: infinity, NaN
    static constexpr int32_t exponent = 0x7f800000;       //!< mask
    static constexpr int32_t scale_sum = 0x7e800000;      //!< s = this - exponent ...
    static constexpr int32_t least_scale = 0x00800000;    //!< ... but at least this
    static constexpr float eps = 0x1p-23f;
    static constexpr float smallest = 0x1p-103f; //!< smallest normal number / eps
};

template <>
struct limits<double> {
    static constexpr int32_t sign_free = 0x7fffffff;
    static constexpr int32_t largest_finite = 0x7fefffff;
    static constexpr int32_t exponent = 0x7ff00000;
    static constexpr int32_t scale_sum = 0x7fd00000;
    static constexpr int32_t least_scale = 0x00100000;
    static constexpr double eps = 0x1p-52;
    static constexpr double smallest = 0x1p-970;
};

} // namespace gr::cudaphy::kernels::inverse_pivot
