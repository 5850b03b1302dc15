/* SPDX-License-Identifier: GPL-3.0-or-later */
// The arithmetic of pivot.h on vectors, with a matrix in each lane. Highway includes this
// file once an instruction set, hence no #pragma once.
#if defined(CUDAPHY_INVERSE_ELEMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_ELEMENT_INL_H
#undef CUDAPHY_INVERSE_ELEMENT_INL_H
#else
#define CUDAPHY_INVERSE_ELEMENT_INL_H
#endif

#include "kernels/linalg/inverse/pivot.h"
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Real>
using tag = hn::ScalableTag<Real>;
template <typename Real>
using int_tag = hn::RebindToSigned<tag<Real>>;
template <typename Real>
using vec = hn::Vec<tag<Real>>;
template <typename Real>
using ints = hn::Vec<int_tag<Real>>;
template <typename Real>
using mask = hn::Mask<tag<Real>>;
//! An integer as wide as a Real.
template <typename Real>
using int_of = hn::TFromD<int_tag<Real>>;
template <typename Real>
constexpr size_t max_lanes = hn::MaxLanes(tag<Real>());

//! The constants of pivot.h are for the upper 32 bits of a double.
template <typename Real>
constexpr int below_bits = sizeof(Real) == 4 ? 0 : 32;

template <typename Real>
HWY_INLINE ints<Real> constant_bits(int32_t bits)
{
    return hn::Set(int_tag<Real>(), int_of<Real>(bits) << below_bits<Real>);
}

//! An element of every lane's matrix. If it is real, im is not used.
template <typename Real, int Parts>
struct element {
    vec<Real> re, im;

    static HWY_INLINE element real(vec<Real> re) { return { re, hn::Zero(tag<Real>()) }; }
    static HWY_INLINE element zero() { return real(hn::Zero(tag<Real>())); }
    static HWY_INLINE element load(const Real* from)
    {
        const tag<Real> d;
        return { hn::Load(d, from),
                 Parts == 2 ? hn::Load(d, from + hn::Lanes(d)) : hn::Zero(d) };
    }
    HWY_INLINE void store(Real* to) const
    {
        const tag<Real> d;
        hn::Store(re, d, to);
        if constexpr (Parts == 2) {
            hn::Store(im, d, to + hn::Lanes(d));
        }
    }
};

template <typename Real, int Parts>
HWY_INLINE element<Real, Parts>
select(mask<Real> which, element<Real, Parts> yes, element<Real, Parts> no)
{
    return { hn::IfThenElse(which, yes.re, no.re),
             Parts == 2 ? hn::IfThenElse(which, yes.im, no.im) : no.im };
}

//! a - c t
template <typename Real, int Parts>
HWY_INLINE element<Real, Parts>
subtract_product(element<Real, Parts> a, element<Real, Parts> c, element<Real, Parts> t)
{
    if constexpr (Parts == 1) {
        return { hn::NegMulAdd(c.re, t.re, a.re), a.im };
    } else {
        return { hn::MulAdd(c.im, t.im, hn::NegMulAdd(c.re, t.re, a.re)),
                 hn::NegMulAdd(c.im, t.re, hn::NegMulAdd(c.re, t.im, a.im)) };
    }
}

template <typename Real, int Parts>
HWY_INLINE element<Real, Parts> multiply(element<Real, Parts> a, element<Real, Parts> b)
{
    if constexpr (Parts == 1) {
        return { hn::Mul(a.re, b.re), a.im };
    } else {
        return { hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
                 hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im)) };
    }
}

template <typename Real, int Parts>
HWY_INLINE vec<Real> size_of(element<Real, Parts> a)
{
    return Parts == 1 ? hn::Abs(a.re) : hn::Add(hn::Abs(a.re), hn::Abs(a.im));
}

//! `complement` is 63 - index. For a double, the bits below the key's are 0 and the index
//! is in the lowest bits, which gives the same order.
template <typename Real>
HWY_INLINE ints<Real> key_of(vec<Real> size, ints<Real> complement)
{
    const int_tag<Real> d;
    constexpr auto dropped =
        int_of<Real>((int64_t(inverse_pivot::index_mask + 1) << below_bits<Real>)-1);
    return hn::Or(hn::AndNot(hn::Set(d, dropped), hn::BitCast(d, size)), complement);
}

//! The 63 - index in a key.
template <typename Real>
HWY_INLINE ints<Real> complement_in(ints<Real> key)
{
    return hn::And(key, hn::Set(int_tag<Real>(), inverse_pivot::index_mask));
}

//! The power of two that scales a size to [1/2, 1), as far as the type allows.
template <typename Real>
HWY_INLINE vec<Real> scale_for(vec<Real> size)
{
    using bounds = inverse_pivot::limits<Real>;
    const auto exponent = hn::And(hn::BitCast(int_tag<Real>(), size),
                                  constant_bits<Real>(bounds::exponent));
    return hn::BitCast(tag<Real>(),
                       hn::Max(hn::Sub(constant_bits<Real>(bounds::scale_sum), exponent),
                               constant_bits<Real>(bounds::least_scale)));
}

template <typename Real, int Parts>
HWY_INLINE vec<Real> modulus(element<Real, Parts> a)
{
    if constexpr (Parts == 1) {
        return hn::Abs(a.re);
    } else {
        const auto s = scale_for<Real>(size_of(a));
        const auto re = hn::Mul(a.re, s);
        const auto im = hn::Mul(a.im, s);
        return hn::Div(hn::Sqrt(hn::MulAdd(re, re, hn::Mul(im, im))), s);
    }
}

template <typename Real, int Parts>
HWY_INLINE element<Real, Parts> reciprocal(element<Real, Parts> p)
{
    const tag<Real> d;
    const auto s = scale_for<Real>(size_of(p));
    const auto one = hn::Set(d, Real(1));
    const auto re = hn::Mul(p.re, s);
    if constexpr (Parts == 1) {
        // NaN, not 0, for an infinite pivot, so that X shows it.
        return { hn::MulAdd(re, hn::Zero(d), hn::Mul(hn::Div(one, re), s)), p.im };
    } else {
        const auto im = hn::Mul(p.im, s);
        const auto q = hn::Div(one, hn::MulAdd(re, re, hn::Mul(im, im)));
        return { hn::Mul(hn::Mul(re, q), s), hn::Mul(hn::Mul(hn::Neg(im), q), s) };
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
