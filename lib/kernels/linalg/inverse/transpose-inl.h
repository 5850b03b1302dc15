/* SPDX-License-Identifier: GPL-3.0-or-later */
// Moves row-major matrices into a tile and out of it. Highway includes this file once an
// instruction set, hence no #pragma once.
#if defined(CUDAPHY_INVERSE_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_TRANSPOSE_INL_H
#undef CUDAPHY_INVERSE_TRANSPOSE_INL_H
#else
#define CUDAPHY_INVERSE_TRANSPOSE_INL_H
#endif

#include "kernels/common/transpose-inl.h"
#include "kernels/linalg/inverse/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! to[v][lane] = from[lane][at + v], for v below `count`
template <typename Real>
HWY_INLINE void
load_transposed(const Real* const* from, size_t at, size_t count, Real* to)
{
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    size_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t block = block_elements<Real>;
    whole = count - count % block;
    for (size_t v = 0; v < whole; v += block) {
        const auto line = [&](size_t lane) HWY_ATTR { return from[lane] + at + v; };
        vec<Real> several[block];
        for (size_t b = 0; b < block; ++b) {
            several[b] = load_blocks(d, line, b);
        }
        transpose_in_blocks(d, several);
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

//! The inverse of the function above.
template <typename Real>
HWY_INLINE void
store_transposed(const Real* from, size_t at, size_t count, Real* const* to)
{
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    size_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t block = block_elements<Real>;
    whole = count - count % block;
    for (size_t v = 0; v < whole; v += block) {
        const auto line = [&](size_t lane) HWY_ATTR { return to[lane] + at + v; };
        vec<Real> several[block];
        for (size_t b = 0; b < block; ++b) {
            several[b] = hn::Load(d, from + (v + b) * lanes);
        }
        transpose_in_blocks(d, several);
        for (size_t b = 0; b < block; ++b) {
            store_blocks(several[b], d, line, b);
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
