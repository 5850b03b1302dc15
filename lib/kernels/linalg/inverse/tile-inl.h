/* SPDX-License-Identifier: GPL-3.0-or-later */
// A tile: as many matrices as a vector has lanes. Element (i, j) of all matrices is a
// vector of real parts, followed by a vector of imaginary parts. Highway includes this
// file once an instruction set, hence no #pragma once.
#if defined(CUDAPHY_INVERSE_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_TILE_INL_H
#undef CUDAPHY_INVERSE_TILE_INL_H
#else
#define CUDAPHY_INVERSE_TILE_INL_H
#endif

#include "kernels/linalg/inverse/element-inl.h"
#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

template <typename Real, int Parts>
class tile
{
public:
    tile(Real* at, int order) : d_at(at), d_order(order), d_apart(apart(order)) {}

    static size_t reals(int order)
    {
        return size_t(order) * apart(order) * hn::Lanes(tag<Real>());
    }

    int order() const { return d_order; }
    Real* row(int i) const { return d_at + i * d_apart * hn::Lanes(tag<Real>()); }
    Real* at(int i, int j) const { return row(i) + j * (Parts * hn::Lanes(tag<Real>())); }

    //! The lanes whose every element is finite.
    mask<Real> is_finite() const
    {
        const tag<Real> d;
        const size_t lanes = hn::Lanes(d);
        const auto zero = hn::Zero(d);
        // 0 times infinity or NaN is NaN. Several sums, because each addition waits for
        // the one before.
        vec<Real> sums[4] = { zero, zero, zero, zero };
        const size_t vectors = size_t(d_order) * Parts;
        for (int i = 0; i < d_order; ++i) {
            const Real* from = row(i);
            size_t v = 0;
            for (; v + 4 <= vectors; v += 4) {
                for (size_t s = 0; s < 4; ++s) {
                    const auto a = hn::Load(d, from + (v + s) * lanes);
                    sums[s] = hn::MulAdd(a, zero, sums[s]);
                }
            }
            for (; v < vectors; ++v) {
                sums[0] = hn::MulAdd(hn::Load(d, from + v * lanes), zero, sums[0]);
            }
        }
        const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
        return hn::Eq(sum, zero);
    }

    //! Sets matrices to 0.
    void clear(mask<Real> which) const
    {
        const tag<Real> d;
        const size_t lanes = hn::Lanes(d);
        for (int i = 0; i < d_order; ++i) {
            for (int v = 0; v < d_order * Parts; ++v) {
                Real* place = row(i) + v * lanes;
                hn::Store(hn::IfThenZeroElse(which, hn::Load(d, place)), d, place);
            }
        }
    }

    //! The largest sum of a column's moduli.
    vec<Real> one_norm() const
    {
        auto largest = hn::Zero(tag<Real>());
        for (int j = 0; j < d_order; ++j) {
            auto sum = hn::Zero(tag<Real>());
            for (int i = 0; i < d_order; ++i) {
                sum = hn::Add(sum, modulus(element<Real, Parts>::load(at(i, j))));
            }
            largest = hn::Max(largest, sum);
        }
        return largest;
    }

    //! From and to interleaved matrices, with `apart` elements from one element of a
    //! matrix to its next. If `count` is less than the lanes, the last matrix is
    //! repeated.
    void load_interleaved(const Real* from, size_t apart, size_t count) const
    {
        const tag<Real> d;
        const size_t lanes = hn::Lanes(d);
        for (int i = 0; i < d_order; ++i) {
            for (int j = 0; j < d_order; ++j, from += apart * Parts) {
                Real* to = at(i, j);
                if (count < lanes) {
                    for (size_t lane = 0; lane < lanes; ++lane) {
                        const Real* one = from + std::min(lane, count - 1) * Parts;
                        to[lane] = one[0];
                        if constexpr (Parts == 2) {
                            to[lanes + lane] = one[1];
                        }
                    }
                } else if constexpr (Parts == 1) {
                    hn::Store(hn::LoadU(d, from), d, to);
                } else {
                    element<Real, Parts> a;
                    hn::LoadInterleaved2(d, from, a.re, a.im);
                    a.store(to);
                }
            }
        }
    }
    void store_interleaved(Real* to, size_t apart, size_t count) const
    {
        const tag<Real> d;
        const size_t lanes = hn::Lanes(d);
        for (int i = 0; i < d_order; ++i) {
            for (int j = 0; j < d_order; ++j, to += apart * Parts) {
                const Real* from = at(i, j);
                if (count < lanes) {
                    for (size_t lane = 0; lane < count; ++lane) {
                        to[lane * Parts] = from[lane];
                        if constexpr (Parts == 2) {
                            to[lane * Parts + 1] = from[lanes + lane];
                        }
                    }
                } else if constexpr (Parts == 1) {
                    hn::StoreU(hn::Load(d, from), d, to);
                } else {
                    const auto a = element<Real, Parts>::load(from);
                    hn::StoreInterleaved2(a.re, a.im, d, to);
                }
            }
        }
    }

    //! Row-major matrices, one a lane; `from` and `to` hold a pointer a lane.
    void load_rows(const Real* const* from) const;
    void store_rows(Real* const* to) const;

private:
    //! From order 16 on a row has a power of two of cache lines, or nearly so. Without a
    //! gap a column would fall into few sets of the cache.
    static size_t apart(int order) { return Parts * (order < 16 ? order : order | 1); }

    Real* d_at;
    int d_order;
    size_t d_apart;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#include "kernels/linalg/inverse/transpose-inl.h"
#endif
