/* SPDX-License-Identifier: GPL-3.0-or-later */
// Gauss-Jordan elimination of one matrix a vector lane. Included once an instruction set
// by inverse_cpu.cc, hence no #pragma once.
//
// A tile holds as many matrices as a vector has lanes: the float f of the matrices (their
// row-major order, real and imaginary part interleaved) is the vector at tile + f *
// lanes. All lanes run the same loops; what differs between them, the pivot's row and
// column, is a vector, and a swap is a pass of masked moves over the rows or columns that
// any lane asks for. Each element gets the same operations in the same order as on CUDA.
#if defined(CUDAPHY_INVERSE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_LANES_INL_H
#undef CUDAPHY_INVERSE_LANES_INL_H
#else
#define CUDAPHY_INVERSE_LANES_INL_H
#endif

#include "kernels/linalg/inverse_pivot_old.h"
#include <hwy/highway.h>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using df = hn::ScalableTag<float>;
using di = hn::RebindToSigned<df>;
using vf = hn::Vec<df>;
using vi = hn::Vec<di>;
using mf = hn::Mask<df>;
using mi = hn::Mask<di>;
constexpr size_t max_lanes = hn::MaxLanes(df());

//! Floats from a row of a tile to the next. From order 16 on a row is a power of two of
//! cache lines or nearly so, and a column would fall into few sets of the cache.
template <int Parts>
constexpr size_t row_floats(int n)
{
    return Parts * (n < 16 ? n : n | 1);
}

//! One element of every lane's matrix; a real one has no im.
template <int Parts>
struct element {
    vf re, im;

    static element zero() { return { hn::Zero(df()), hn::Zero(df()) }; }
    static element load(const float* from)
    {
        const df d;
        return { hn::Load(d, from),
                 Parts == 2 ? hn::Load(d, from + hn::Lanes(d)) : hn::Zero(d) };
    }
    void store(float* to) const
    {
        const df d;
        hn::Store(re, d, to);
        if (Parts == 2) {
            hn::Store(im, d, to + hn::Lanes(d));
        }
    }
};

template <int Parts>
HWY_INLINE element<Parts> select(mf mask, element<Parts> yes, element<Parts> no)
{
    return { hn::IfThenElse(mask, yes.re, no.re),
             Parts == 2 ? hn::IfThenElse(mask, yes.im, no.im) : no.im };
}

//! a - c t
template <int Parts>
HWY_INLINE element<Parts>
subtract_product(element<Parts> a, element<Parts> c, element<Parts> t)
{
    if constexpr (Parts == 1) {
        return { hn::NegMulAdd(c.re, t.re, a.re), a.im };
    } else {
        return { hn::MulAdd(c.im, t.im, hn::NegMulAdd(c.re, t.re, a.re)),
                 hn::NegMulAdd(c.im, t.re, hn::NegMulAdd(c.re, t.im, a.im)) };
    }
}

template <int Parts>
HWY_INLINE element<Parts> multiply(element<Parts> a, element<Parts> b)
{
    if constexpr (Parts == 1) {
        return { hn::Mul(a.re, b.re), a.im };
    } else {
        return { hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
                 hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im)) };
    }
}

template <int Parts>
HWY_INLINE vi component_bits(element<Parts> a)
{
    const di d;
    const auto sign_free = hn::Set(d, inverse_pivot_old::sign_free);
    const auto re = hn::And(hn::BitCast(d, a.re), sign_free);
    return Parts == 2 ? hn::Max(re, hn::And(hn::BitCast(d, a.im), sign_free)) : re;
}

HWY_INLINE mi is_not_finite(vi bits)
{
    return hn::Gt(bits, hn::Set(di(), inverse_pivot_old::largest_finite_bits));
}

//! The power of two that takes a number of these bits to [1/2, 1), as far as float goes.
HWY_INLINE vf power_of_two(vi bits)
{
    const di d;
    const auto exponent = hn::ShiftRight<inverse_pivot_old::mantissa_bits>(bits);
    const auto inverse = hn::Sub(hn::Set(d, inverse_pivot_old::scale_sum), exponent);
    const auto normal =
        hn::Min(hn::Max(inverse, hn::Set(d, 1)), hn::Set(d, inverse_pivot_old::scale_sum));
    return hn::BitCast(df(), hn::ShiftLeft<inverse_pivot_old::mantissa_bits>(normal));
}

//! The s of inverse_pivot.h.
HWY_INLINE vf scale_for(vi bits)
{
    const di d;
    const auto exponent = hn::Sub(hn::ShiftRight<inverse_pivot_old::mantissa_bits>(bits),
                                  hn::Set(d, inverse_pivot_old::bias));
    const auto outside =
        hn::Gt(hn::Abs(exponent), hn::Set(d, inverse_pivot_old::benign_exponent));
    return hn::IfThenElse(
        hn::RebindMask(df(), outside), power_of_two(bits), hn::Set(df(), 1.0f));
}

template <int Parts>
HWY_INLINE element<Parts> reciprocal(element<Parts> p)
{
    const df d;
    const auto one = hn::Set(d, 1.0f);
    if constexpr (Parts == 1) {
        return { hn::Div(one, p.re), p.im };
    } else {
        const auto s = power_of_two(component_bits(p));
        const auto re = hn::Mul(p.re, s);
        const auto im = hn::Mul(p.im, s);
        const auto q = hn::Div(one, hn::MulAdd(re, re, hn::Mul(im, im)));
        return { hn::Mul(hn::Mul(re, q), s), hn::Mul(hn::Mul(hn::Neg(im), q), s) };
    }
}

//! The largest modulus seen so far, and where.
struct pivot_search {
    vf modulus = hn::Set(df(), -1.0f);
    vi place;

    explicit pivot_search(vi start) : place(start) {}

    template <bool Scaled, int Parts>
    HWY_INLINE void consider(element<Parts> a, vf s, int row, int column)
    {
        vf candidate;
        if constexpr (Parts == 1) {
            candidate = hn::Abs(a.re);
        } else {
            const auto re = Scaled ? hn::Mul(a.re, s) : a.re;
            const auto im = Scaled ? hn::Mul(a.im, s) : a.im;
            candidate = hn::MulAdd(re, re, hn::Mul(im, im));
        }
        const auto larger = hn::Gt(candidate, modulus);
        modulus = hn::IfThenElse(larger, candidate, modulus);
        place = hn::IfThenElse(hn::RebindMask(di(), larger),
                               hn::Set(di(), row << inverse_pivot_old::column_bits | column),
                               place);
    }
};

template <int Parts>
class lane_inverter
{
public:
    lane_inverter(float* tile, int order, bool partial)
        : d_tile(tile), n(order), d_partial(partial)
    {
    }

    void run(int32_t* pivots, int32_t* states)
    {
        const df d;
        const auto largest = largest_component(0, n, 0, n);
        d_state =
            hn::IfThenElse(is_not_finite(largest), hn::Set(di(), -1), hn::Zero(di()));
        d_scale = scale_for(largest);
        auto found = search(0);
        for (int k = 0; k < n; ++k) {
            check_pivot(k, found);
            hn::Store(found.place, di(), pivots + k * hn::Lanes(d));
            swap_rows(k, hn::ShiftRight<inverse_pivot_old::column_bits>(found.place));
            if (!d_partial) {
                swap_columns(
                    k, hn::And(found.place, hn::Set(di(), inverse_pivot_old::column_mask)));
            }
            scale_row(k);
            found = start(k + 1);
            if (d_partial || k + 1 == n) {
                eliminate<false, false>(k, found);
                if (k + 1 < n) {
                    found = search(k + 1);
                }
            } else if (is_scaled()) {
                eliminate<true, true>(k, found);
            } else {
                eliminate<true, false>(k, found);
            }
        }
        fail(is_not_finite(largest_component(0, n, 0, n)), -1);
        hn::Store(d_state, di(), states);
    }

private:
    float* at(int row, int column) const
    {
        return d_tile + (row * row_floats<Parts>(n) + column * Parts) * hn::Lanes(df());
    }
    element<Parts> load(int row, int column) const
    {
        return element<Parts>::load(at(row, column));
    }

    static pivot_search start(int k)
    {
        return pivot_search(hn::Set(di(), k << inverse_pivot_old::column_bits | k));
    }

    bool is_scaled() const
    {
        const df d;
        return Parts == 2 && !hn::AllTrue(d, hn::Eq(d_scale, hn::Set(d, 1.0f)));
    }

    //! The columns in which step k looks for its pivot end here.
    int end_of_search(int k) const { return d_partial ? k + 1 : n; }

    void fail(mi where, int code)
    {
        const di d;
        const auto first = hn::And(where, hn::Eq(d_state, hn::Zero(d)));
        d_state = hn::IfThenElse(first, hn::Set(d, code), d_state);
    }

    vi largest_component(int row, int end_row, int column, int end_column) const
    {
        auto largest = hn::Zero(di());
        for (int i = row; i < end_row; ++i) {
            for (int j = column; j < end_column; ++j) {
                largest = hn::Max(largest, component_bits(load(i, j)));
            }
        }
        return largest;
    }

    pivot_search search(int k) const
    {
        auto found = start(k);
        for (int i = k; i < n; ++i) {
            for (int j = k; j < end_of_search(k); ++j) {
                found.consider<true>(load(i, j), d_scale, i, j);
            }
        }
        return found;
    }

    //! Settles what a pivot too small or not finite means.
    void check_pivot(int k, pivot_search& found)
    {
        const df d;
        const auto smallest = hn::Set(
            d, Parts == 2 ? inverse_pivot_old::too_small : inverse_pivot_old::too_small_real);
        const auto small = hn::And(hn::RebindMask(di(), hn::Lt(found.modulus, smallest)),
                                   hn::Eq(d_state, hn::Zero(di())));
        if (!hn::AllFalse(di(), small)) {
            const auto largest = largest_component(k, n, k, end_of_search(k));
            fail(hn::And(small, is_not_finite(largest)), -1);
            fail(hn::And(small, hn::Eq(largest, hn::Zero(di()))), k + 1);
            d_scale =
                hn::IfThenElse(hn::RebindMask(d, small), scale_for(largest), d_scale);
            found = search(k);
        }
        const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
        fail(hn::RebindMask(di(), hn::Ge(found.modulus, infinity)), -1);
    }

    void swap(mf mask, float* one, float* other)
    {
        const auto first = element<Parts>::load(one);
        const auto second = element<Parts>::load(other);
        select(mask, second, first).store(one);
        select(mask, first, second).store(other);
    }

    void swap_rows(int k, vi pivot_row)
    {
        for (int i = k + 1; i < n; ++i) {
            const auto mask = hn::Eq(pivot_row, hn::Set(di(), i));
            if (hn::AllFalse(di(), mask)) {
                continue;
            }
            const auto move = hn::RebindMask(df(), mask);
            for (int j = 0; j < n; ++j) {
                swap(move, at(k, j), at(i, j));
            }
        }
    }

    void swap_columns(int k, vi pivot_column)
    {
        for (int j = k + 1; j < n; ++j) {
            const auto mask = hn::Eq(pivot_column, hn::Set(di(), j));
            if (hn::AllFalse(di(), mask)) {
                continue;
            }
            const auto move = hn::RebindMask(df(), mask);
            for (int i = 0; i < n; ++i) {
                swap(move, at(i, k), at(i, j));
            }
        }
    }

    void scale_row(int k)
    {
        const auto r = reciprocal(load(k, k));
        for (int j = 0; j < n; ++j) {
            if (j != k) {
                multiply(load(k, j), r).store(at(k, j));
            }
        }
        r.store(at(k, k));
    }

    //! Step k on the other rows; looks for the next pivot on the way.
    template <bool Search, bool Scaled>
    void eliminate(int k, pivot_search& found)
    {
        const auto s = d_scale;
        for (int i = 0; i < n; ++i) {
            if (i == k) {
                continue;
            }
            const auto c = load(i, k);
            element<Parts>::zero().store(at(i, k));
            const int begin = Search && i > k ? k + 1 : n;
            for (int j = 0; j < begin; ++j) {
                subtract_product(load(i, j), c, load(k, j)).store(at(i, j));
            }
            for (int j = begin; j < n; ++j) {
                const auto a = subtract_product(load(i, j), c, load(k, j));
                a.store(at(i, j));
                found.consider<Scaled>(a, s, i, j);
            }
        }
    }

    float* d_tile;
    int n;
    bool d_partial;
    vi d_state;
    vf d_scale;
};

template <int Parts>
void invert_tile(float* tile, int n, bool partial, int32_t* pivots, int32_t* states)
{
    lane_inverter<Parts>(tile, n, partial).run(pivots, states);
}

#if HWY_TARGET != HWY_SCALAR

//! Four floats from each of a vector's blocks' sources.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* sources, size_t f)
{
    if constexpr (hn::MaxLanes(d) == 4) {
        return hn::LoadU(d, sources[0] + f);
    } else {
        const hn::Half<D> half;
        constexpr size_t lanes = hn::MaxLanes(half);
        return hn::Combine(
            d, load_blocks(half, sources + lanes, f), load_blocks(half, sources, f));
    }
}

template <class D>
HWY_INLINE void store_blocks(hn::Vec<D> v, D d, float* const* targets, size_t f)
{
    if constexpr (hn::MaxLanes(d) == 4) {
        hn::StoreU(v, d, targets[0] + f);
    } else {
        const hn::Half<D> half;
        constexpr size_t lanes = hn::MaxLanes(half);
        store_blocks(hn::LowerHalf(half, v), half, targets, f);
        store_blocks(hn::UpperHalf(half, v), half, targets + lanes, f);
    }
}

//! Transposes the 4 x 4 floats that each 128-bit block makes of four vectors.
HWY_INLINE void transpose_blocks(vf& v0, vf& v1, vf& v2, vf& v3)
{
    const df d;
    const hn::Repartition<uint64_t, df> wide;
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, v0, v1));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, v0, v1));
    const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, v2, v3));
    v0 = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
    v1 = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
    v2 = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
    v3 = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}

#endif

//! tile[f][lane] = sources[lane][f] for the floats first .. end - 1, which go to
//! tile[first + shift] and on.
HWY_INLINE void load_floats(
    const float* const* sources, size_t first, size_t end, size_t shift, float* tile)
{
    const df d;
    const size_t lanes = hn::Lanes(d);
    size_t f = first;
    tile += shift * lanes;
#if HWY_TARGET != HWY_SCALAR
    for (; f + 4 <= end; f += 4) {
        auto v0 = load_blocks(d, sources, f);
        auto v1 = load_blocks(d, sources + 1, f);
        auto v2 = load_blocks(d, sources + 2, f);
        auto v3 = load_blocks(d, sources + 3, f);
        transpose_blocks(v0, v1, v2, v3);
        hn::Store(v0, d, tile + f * lanes);
        hn::Store(v1, d, tile + (f + 1) * lanes);
        hn::Store(v2, d, tile + (f + 2) * lanes);
        hn::Store(v3, d, tile + (f + 3) * lanes);
    }
#endif
    for (; f < end; ++f) {
        for (size_t lane = 0; lane < lanes; ++lane) {
            tile[f * lanes + lane] = sources[lane][f];
        }
    }
}

//! Row-major matrices to a tile.
void load_lanes(const float* const* sources, int n, size_t row, size_t apart, float* tile)
{
    if (row == apart) {
        load_floats(sources, 0, n * row, 0, tile);
        return;
    }
    for (int i = 0; i < n; ++i) {
        load_floats(sources, i * row, (i + 1) * row, i * (apart - row), tile);
    }
}

//! The way back.
HWY_INLINE void store_floats(
    const float* tile, size_t first, size_t end, size_t shift, float* const* targets)
{
    const df d;
    const size_t lanes = hn::Lanes(d);
    size_t f = first;
    tile += shift * lanes;
#if HWY_TARGET != HWY_SCALAR
    for (; f + 4 <= end; f += 4) {
        auto v0 = hn::Load(d, tile + f * lanes);
        auto v1 = hn::Load(d, tile + (f + 1) * lanes);
        auto v2 = hn::Load(d, tile + (f + 2) * lanes);
        auto v3 = hn::Load(d, tile + (f + 3) * lanes);
        transpose_blocks(v0, v1, v2, v3);
        store_blocks(v0, d, targets, f);
        store_blocks(v1, d, targets + 1, f);
        store_blocks(v2, d, targets + 2, f);
        store_blocks(v3, d, targets + 3, f);
    }
#endif
    for (; f < end; ++f) {
        for (size_t lane = 0; lane < lanes; ++lane) {
            targets[lane][f] = tile[f * lanes + lane];
        }
    }
}

void store_lanes(
    const float* tile, int n, size_t row, size_t apart, float* const* targets)
{
    if (row == apart) {
        store_floats(tile, 0, n * row, 0, targets);
        return;
    }
    for (int i = 0; i < n; ++i) {
        store_floats(tile, i * row, (i + 1) * row, i * (apart - row), targets);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
