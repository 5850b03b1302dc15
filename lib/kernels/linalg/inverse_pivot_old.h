/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>

// How the float backends compare moduli, so that they take the same pivot and do not trip
// over the range of float.
//
// A real element's modulus is |a|. A complex one's is compared as the square
//     fma(s re, s re, (s im)^2),
// with s a power of two, so that scaling rounds nothing. s = 1 as long as the largest
// |re| or |im| of the matrix lies between 2^-30 and 2^30: the squares then overflow only
// if elements grow by 2^33, which no matrix of order 32 allows (at most 2^31, in partial
// pivoting), and pivots of 2^-50 and more still have a square above `too_small`. Where
// the matrix lies outside, s takes its largest component to [1/2, 1); and where the best
// square of a step is below `too_small`, s is taken anew from the largest component that
// is left, and the step searches again. Only if that component is exactly 0 is the matrix
// singular.
//
// Components are compared as the integers that their bits make without the sign, which
// sorts finite numbers, then infinities, then NaN: so the same maximum tells whether all
// elements are finite.
//
// The reciprocal of a complex pivot p is taken as s conj(s p) / |s p|^2 with the s that
// takes p's larger component to [1/2, 1), so that it overflows only if 1/p does.
namespace gr::cudaphy::kernels::inverse_pivot_old {

constexpr int32_t sign_free = 0x7fffffff;           //!< mask of all bits but the sign
constexpr int32_t largest_finite_bits = 0x7f7fffff; //!< beyond: infinity, NaN
constexpr int32_t one_bits = 0x3f800000;            //!< 1.0f
constexpr int mantissa_bits = 23;                   //!< of a float
constexpr int32_t bias = 127;                       //!< of its exponent
constexpr int32_t benign_exponent = 30;             //!< |exponent| up to which s = 1
constexpr int32_t scale_sum = 253;          //!< biased exponents of s and m: s m < 1
constexpr float too_small = 0x1p-100f;      //!< a square that asks for a new s
constexpr float too_small_real = 0x1p-149f; //!< a real modulus below it is 0

//! Row and column of a pivot in one integer that sorts in row-major order.
constexpr int column_bits = 5;
constexpr int column_mask = 31;

} // namespace gr::cudaphy::kernels::inverse_pivot
