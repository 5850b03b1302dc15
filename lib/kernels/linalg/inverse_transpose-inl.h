/* SPDX-License-Identifier: GPL-3.0-or-later */
// Row-major matrices into and out of a tile. Included once an instruction set, hence no
// #pragma once.
#if defined(CUDAPHY_INVERSE_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_TRANSPOSE_INL_H
#undef CUDAPHY_INVERSE_TRANSPOSE_INL_H
#else
#define CUDAPHY_INVERSE_TRANSPOSE_INL_H
#endif

#include "kernels/linalg/inverse_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

//! 16 bytes from each of the sources of a vector's blocks, which are `apart` pointers
//! from one another.
template <class D>
HWY_INLINE hn::Vec<D>
load_blocks(D d, const hn::TFromD<D>* const* sources, size_t apart, size_t at)
{
    if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 16) {
        return hn::LoadU(d, sources[0] + at);
    } else {
        const hn::Half<D> half;
        const size_t blocks = hn::MaxLanes(half) * sizeof(hn::TFromD<D>) / 16;
        return hn::Combine(d,
                           load_blocks(half, sources + blocks * apart, apart, at),
                           load_blocks(half, sources, apart, at));
    }
}

template <class D>
HWY_INLINE void
store_blocks(hn::Vec<D> v, D d, hn::TFromD<D>* const* targets, size_t apart, size_t at)
{
    if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 16) {
        hn::StoreU(v, d, targets[0] + at);
    } else {
        const hn::Half<D> half;
        const size_t blocks = hn::MaxLanes(half) * sizeof(hn::TFromD<D>) / 16;
        store_blocks(hn::LowerHalf(half, v), half, targets, apart, at);
        store_blocks(hn::UpperHalf(half, v), half, targets + blocks * apart, apart, at);
    }
}

//! Transposes what each 16-byte block makes of as many vectors as it has lanes.
HWY_INLINE void transpose_blocks(vec<float> (&v)[4])
{
    const tag<float> d;
    const hn::Repartition<uint64_t, tag<float>> wide;
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
    const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
    const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
    v[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
    v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
    v[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
    v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}
HWY_INLINE void transpose_blocks(vec<double> (&v)[2])
{
    const tag<double> d;
    const auto low = hn::InterleaveLower(d, v[0], v[1]);
    v[1] = hn::InterleaveUpper(d, v[0], v[1]);
    v[0] = low;
}

#endif

//! to[v][lane] = from[lane][at + v], for v below `count`
template <typename Real>
HWY_INLINE void
load_transposed(const Real* const* from, size_t at, size_t count, Real* to)
{
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    size_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t block = 16 / sizeof(Real);
    whole = count - count % block;
    for (size_t v = 0; v < whole; v += block) {
        vec<Real> several[block];
        for (size_t b = 0; b < block; ++b) {
            several[b] = load_blocks(d, from + b, block, at + v);
        }
        transpose_blocks(several);
        for (size_t b = 0; b < block; ++b) {
            hn::Store(several[b], d, to + (v + b) * lanes);
        }
    }
#endif
    for (size_t v = whole; v < count; ++v) {
        for (size_t lane = 0; lane < lanes; ++lane) {
            to[v * lanes + lane] = from[lane][at + v];
        }
    }
}

//! The way back.
template <typename Real>
HWY_INLINE void
store_transposed(const Real* from, size_t at, size_t count, Real* const* to)
{
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    size_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t block = 16 / sizeof(Real);
    whole = count - count % block;
    for (size_t v = 0; v < whole; v += block) {
        vec<Real> several[block];
        for (size_t b = 0; b < block; ++b) {
            several[b] = hn::Load(d, from + (v + b) * lanes);
        }
        transpose_blocks(several);
        for (size_t b = 0; b < block; ++b) {
            store_blocks(several[b], d, to + b, block, at + v);
        }
    }
#endif
    for (size_t v = whole; v < count; ++v) {
        for (size_t lane = 0; lane < lanes; ++lane) {
            to[lane][at + v] = from[v * lanes + lane];
        }
    }
}

template <typename Real, int Parts>
void tile<Real, Parts>::load_rows(const Real* const* from) const
{
    const size_t reals = size_t(d_order) * Parts;
    if (d_apart == reals) {
        load_transposed(from, 0, d_order * reals, d_at);
        return;
    }
    for (int i = 0; i < d_order; ++i) {
        load_transposed(from, i * reals, reals, row(i));
    }
}

template <typename Real, int Parts>
void tile<Real, Parts>::store_rows(Real* const* to) const
{
    const size_t reals = size_t(d_order) * Parts;
    if (d_apart == reals) {
        store_transposed(d_at, 0, d_order * reals, to);
        return;
    }
    for (int i = 0; i < d_order; ++i) {
        store_transposed(row(i), i * reals, reals, to);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
