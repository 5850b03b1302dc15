/* SPDX-License-Identifier: GPL-3.0-or-later */
// Gauss-Jordan elimination of a matrix in each vector lane. Highway includes this file
// once an instruction set, hence no #pragma once.
//
// All lanes run the same loops. The pivot's row and column differ between lanes, so that
// they are vectors of indices. Selects along the remaining rows gather the pivot's row.
// The elimination merges the row that changes places with it, so that a swap needs no
// pass of its own. Eight columns at a time (four on machines with 16 registers) keep
// their part of the pivot's row in registers.
#if defined(CUDAPHY_INVERSE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_LANES_INL_H
#undef CUDAPHY_INVERSE_LANES_INL_H
#else
#define CUDAPHY_INVERSE_LANES_INL_H
#endif

#include "kernels/linalg/inverse/tile-inl.h"
#include <gnuradio/cudaphy/kernels/inverse.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! If Order is above 0, it is the order, and the loops are unrolled.
template <typename Real, int Parts, pivoting Pivoting, int Order>
class lane_inverter
{
public:
    using number = element<Real, Parts>;

    explicit lane_inverter(const tile<Real, Parts>& of) : d_tile(of), d_order(of.order())
    {
    }

    //! Leaves the inverse in the tile, with rows and columns where the pivots moved them.
    //! Lanes without an inverse get 0. Calls before_step(k) before each step, for work
    //! that overlaps with the step.
    template <typename BeforeStep>
    void run(const BeforeStep& before_step)
    {
        const tag<Real> d;
        const int_tag<Real> di;
        const int n = order();
        d_state = hn::Zero(di);
        d_determinant = number::real(hn::Set(d, Real(1)));
        const auto unchanged = hn::Zero(d);
        d_zero = hn::Ne(unchanged, unchanged);
        d_odd = d_zero;
        for (int i = 0; i < n; ++i) {
            const auto complement = hn::Set(di, inverse_pivot::index_mask - i);
            hn::Store(complement, di, d_rows + i * hn::Lanes(d));
            hn::Store(complement, di, d_columns + i * hn::Lanes(d));
        }
        const auto a_finite = d_tile.is_finite();
        d_best = first_key();
#pragma GCC unroll 4
        for (int k = 0; k < (Order ? Order : n); ++k) {
            before_step(k);
            step(k);
        }
        const auto lost =
            hn::Or(hn::Not(a_finite), hn::AndNot(d_zero, hn::Not(d_tile.is_finite())));
        d_state = hn::IfThenElse(hn::RebindMask(di, lost), hn::Set(di, -1), d_state);
        d_zero = hn::Or(d_zero, lost);
        if (!hn::AllFalse(d, d_zero)) {
            d_tile.clear(d_zero);
        }
    }

    //! Undoes the swaps by selects among all places, which suits small orders.
    void unpermute() const
    {
        static_assert(Order > 0);
        for (int c = 0; c < Order; ++c) {
            put_in_order(row_complements(), [&](int r) { return d_tile.at(r, c); });
        }
        for (int r = 0; r < Order; ++r) {
            put_in_order(column_complements(), [&](int c) { return d_tile.at(r, c); });
        }
    }

    ints<Real> state() const { return d_state; }
    //! The lanes in which X = 0.
    mask<Real> is_zero() const { return d_zero; }
    number determinant() const
    {
        const tag<Real> d;
        const auto nan = hn::Set(d, std::numeric_limits<Real>::quiet_NaN());
        const auto lost = hn::RebindMask(d, hn::Lt(d_state, hn::Zero(int_tag<Real>())));
        const number negative = { hn::Neg(d_determinant.re), hn::Neg(d_determinant.im) };
        const auto product = select(d_odd, negative, d_determinant);
        return select(lost, number::real(nan), select(d_zero, number::zero(), product));
    }
    //! For row r of the tile and each lane, 63 - its row of X; and so for the columns.
    const int_of<Real>* row_complements() const { return d_columns; }
    const int_of<Real>* column_complements() const { return d_rows; }

private:
    int order() const { return Order ? Order : d_order; }

    template <typename Place>
    HWY_INLINE void put_in_order(const int_of<Real>* complements,
                                 const Place& place) const
    {
        const int_tag<Real> di;
        number from[Order];
        for (int r = 0; r < Order; ++r) {
            from[r] = number::load(place(r));
        }
        for (int i = 0; i < Order; ++i) {
            const auto wanted = hn::Set(di, inverse_pivot::index_mask - i);
            auto found = from[0];
            for (int r = 1; r < Order; ++r) {
                const auto id = hn::Load(di, complements + r * hn::Lanes(di));
                const auto here = hn::RebindMask(tag<Real>(), hn::Eq(id, wanted));
                found = select(here, from[r], found);
            }
            found.store(place(i));
        }
    }

    static constexpr bool is_full = Pivoting == pivoting::full;
    static constexpr int max_order = inverse<float>::max_order;
    //! Columns that are updated together.
    static constexpr int width = Parts == 1 || HWY_TARGET <= HWY_AVX3 ? 8 : 4;
    //! From this order on often no lane has its pivot in a given row, so that a test of
    //! all lanes pays.
    static constexpr int least_order_to_skip_rows = 12;

    Real* at(Real* row, int column) const
    {
        return row + size_t(column) * (Parts * hn::Lanes(tag<Real>()));
    }
    ints<Real> row_id(int i) const
    {
        const int_tag<Real> di;
        return hn::Load(di, d_rows + i * hn::Lanes(di));
    }
    ints<Real> column_id(int j) const
    {
        const int_tag<Real> di;
        return hn::Load(di, d_columns + j * hn::Lanes(di));
    }

    //! Calls part(first, integral_constant of the width) for the columns, some at a time.
    template <typename Part>
    HWY_INLINE void for_columns(int n, const Part& part)
    {
        if constexpr (Order > 0 && Order <= width) {
            part(0, std::integral_constant<int, Order>());
            return;
        }
        int j = 0;
        for (; j + width <= n; j += width) {
            part(j, std::integral_constant<int, width>());
        }
        for_rest<width - 1>(j, n - j, part);
    }
    template <int Width, typename Part>
    HWY_INLINE void for_rest(int first, int count, const Part& part)
    {
        if constexpr (Width > 0) {
            if (count == Width) {
                part(first, std::integral_constant<int, Width>());
            } else {
                for_rest<Width - 1>(first, count, part);
            }
        }
    }

    ints<Real> first_key()
    {
        auto best = hn::Zero(int_tag<Real>());
        for (int i = 0; i < order() && Pivoting != pivoting::none; ++i) {
            Real* row = d_tile.row(i);
            auto largest = size_of(number::load(row));
            for (int j = 1; j < order() && is_full; ++j) {
                largest = hn::Max(largest, size_of(number::load(at(row, j))));
            }
            best = hn::Max(best, key_of<Real>(largest, row_id(i)));
        }
        return best;
    }

    HWY_INLINE void step(int k)
    {
        gather_row(k);
        if constexpr (is_full) {
            swap_columns(k);
        }
        take_factors(k);
        scale_row(k);
        eliminate(k);
        if constexpr (Pivoting != pivoting::none) {
            const auto pivot = complement_in<Real>(d_best);
            swap_ids(d_rows, k, pivot);
            d_best = next_key(k + 1);
        }
    }

    mask<Real> is_pivot_row(int i) const
    {
        return hn::RebindMask(tag<Real>(),
                              hn::Eq(row_id(i), complement_in<Real>(d_best)));
    }

    //! Gathers the pivot's row in d_row, and sets d_wanted_rows.
    HWY_INLINE void gather_row(int k)
    {
        const int n = order();
        if constexpr (Pivoting != pivoting::none) {
            d_wanted_rows = order() < least_order_to_skip_rows ? ~uint64_t(0) : 0;
            for (int i = k + 1; i < n && order() >= least_order_to_skip_rows; ++i) {
                const bool any = !hn::AllFalse(tag<Real>(), is_pivot_row(i));
                d_wanted_rows |= uint64_t(any) << i;
            }
        }
        for_columns(n, [&](int first, auto columns) {
            constexpr int w = columns;
            const uint64_t wanted = d_wanted_rows;
            number t[w];
            const Real* from = at(d_tile.row(k), first);
            for (int j = 0; j < w; ++j) {
                t[j] = number::load(at(const_cast<Real*>(from), j));
            }
            for (int i = k + 1; i < n && Pivoting != pivoting::none; ++i) {
                if (wanted >> i & 1) {
                    const auto here = is_pivot_row(i);
                    Real* row = at(d_tile.row(i), first);
                    for (int j = 0; j < w; ++j) {
                        t[j] = select(here, number::load(at(row, j)), t[j]);
                    }
                }
            }
            for (int j = 0; j < w; ++j) {
                t[j].store(at(d_row, first + j));
            }
        });
    }

    //! Full pivoting: moves the pivot's column to k, in the whole matrix and in d_row.
    HWY_INLINE void swap_columns(int k)
    {
        const tag<Real> d;
        const int n = order();
        auto best = hn::Zero(int_tag<Real>());
        for (int j = k; j < n; ++j) {
            const auto size = size_of(number::load(at(d_row, j)));
            best = hn::Max(best, key_of<Real>(size, column_id(j)));
        }
        const auto pivot = complement_in<Real>(best);
        for (int j = k + 1; j < n; ++j) {
            const auto here = hn::RebindMask(d, hn::Eq(column_id(j), pivot));
            if (order() >= least_order_to_skip_rows && hn::AllFalse(d, here)) {
                continue;
            }
            swap(here, at(d_row, k), at(d_row, j));
            for (int i = 0; i < n; ++i) {
                Real* row = d_tile.row(i);
                swap(here, at(row, k), at(row, j));
            }
        }
        swap_ids(d_columns, k, pivot);
    }

    HWY_INLINE void swap(mask<Real> which, Real* one, Real* other)
    {
        const auto first = number::load(one);
        const auto second = number::load(other);
        select(which, second, first).store(one);
        select(which, first, second).store(other);
    }

    HWY_INLINE void swap_ids(int_of<Real>* ids, int k, ints<Real> pivot)
    {
        const int_tag<Real> di;
        const size_t lanes = hn::Lanes(di);
        const auto old = hn::Load(di, ids + k * lanes);
        const auto moved = hn::RebindMask(tag<Real>(), hn::Ne(old, pivot));
        d_odd = hn::Xor(d_odd, moved);
        for (int i = k + 1; i < order(); ++i) {
            const auto id = hn::Load(di, ids + i * lanes);
            hn::Store(hn::IfThenElse(hn::Eq(id, pivot), old, id), di, ids + i * lanes);
        }
        hn::Store(pivot, di, ids + k * lanes);
    }

    //! Moves column k, as it is after the swap of rows, to d_column. In the tile it
    //! becomes 0.
    HWY_INLINE void take_factors(int k)
    {
        const int n = order();
        Real* const pivot_place = at(d_tile.row(k), k);
        const auto old = number::load(pivot_place);
        for (int i = 0; i < n; ++i) {
            Real* place = at(d_tile.row(i), k);
            auto c = number::load(place);
            if (Pivoting != pivoting::none && i > k) {
                c = select(is_pivot_row(i), old, c);
            }
            c.store(at(d_column, i));
            number::zero().store(place);
        }
    }

    //! Divides d_row by the pivot, or by the bound that replaces the pivot.
    HWY_INLINE void scale_row(int k)
    {
        const int n = order();
        const auto pivot = settle_pivot(k, number::load(at(d_row, k)));
        d_determinant = multiply(d_determinant, pivot);
        const auto r = reciprocal(pivot);
        for (int j = 0; j < n; ++j) {
            multiply(number::load(at(d_row, j)), r).store(at(d_row, j));
        }
        r.store(at(d_row, k));
    }

    HWY_INLINE number settle_pivot(int k, number found)
    {
        using bounds = inverse_pivot::limits<Real>;
        const tag<Real> d;
        const int_tag<Real> di;
        const auto zero = hn::Zero(d);
        mask<Real> small;
        auto pivot = found;
        if constexpr (Pivoting == pivoting::none) {
            small = hn::Le(found.re, zero);
            d_zero = hn::Or(d_zero, small);
            pivot = number::real(found.re);
        } else {
            const auto size = size_of(found);
            const auto nothing = hn::Eq(size, zero);
            small = nothing;
            if constexpr (is_full) {
                if (k == 0) {
                    d_smallest = hn::Max(hn::Set(d, bounds::smallest),
                                         hn::Mul(hn::Set(d, bounds::eps), size));
                }
                small = hn::Lt(size, d_smallest);
                pivot = select(small, number::real(d_smallest), found);
            }
            d_zero = hn::Or(d_zero, nothing);
        }
        const auto first =
            hn::And(hn::RebindMask(di, small), hn::Eq(d_state, hn::Zero(di)));
        d_state = hn::IfThenElse(first, hn::Set(di, k + 1), d_state);
        return pivot;
    }

    //! Step k on all rows. With full pivoting, d_largest becomes the largest key of each
    //! remaining row.
    HWY_INLINE void eliminate(int k)
    {
        const int n = order();
        const size_t lanes = hn::Lanes(tag<Real>());
        for_columns(n, [&](int first, auto columns) {
            constexpr int w = columns;
            const uint64_t wanted = d_wanted_rows;
            number t[w];
            for (int j = 0; j < w; ++j) {
                t[j] = number::load(at(d_row, first + j));
            }
            Real* const pivot_row = at(d_tile.row(k), first);
            for (int i = 0; i < k; ++i) {
                const auto c = number::load(at(d_column, i));
                Real* row = at(d_tile.row(i), first);
                for (int j = 0; j < w; ++j) {
                    Real* place = at(row, j);
                    subtract_product(number::load(place), c, t[j]).store(place);
                }
            }
            for (int i = k + 1; i < n; ++i) {
                const auto c = number::load(at(d_column, i));
                Real* row = at(d_tile.row(i), first);
                auto largest = first == 0 ? hn::Zero(tag<Real>())
                                          : hn::Load(tag<Real>(), d_largest + i * lanes);
                const bool swapped = Pivoting != pivoting::none && (wanted >> i & 1);
                const auto here = swapped ? is_pivot_row(i) : d_zero;
                for (int j = 0; j < w; ++j) {
                    Real* place = at(row, j);
                    auto a = number::load(place);
                    if (swapped) {
                        a = select(here, number::load(at(pivot_row, j)), a);
                    }
                    a = subtract_product(a, c, t[j]);
                    a.store(place);
                    if (is_full && first + j > k) {
                        largest = hn::Max(largest, size_of(a));
                    }
                }
                if (is_full) {
                    hn::Store(largest, tag<Real>(), d_largest + i * lanes);
                }
            }
            for (int j = 0; j < w; ++j) {
                t[j].store(at(pivot_row, j));
            }
        });
    }

    //! The largest key among the rows from k on.
    HWY_INLINE ints<Real> next_key(int k)
    {
        const size_t lanes = hn::Lanes(tag<Real>());
        auto best = hn::Zero(int_tag<Real>());
        for (int i = k; i < order(); ++i) {
            const auto size = is_full ? hn::Load(tag<Real>(), d_largest + i * lanes)
                                      : size_of(number::load(at(d_tile.row(i), k)));
            best = hn::Max(best, key_of<Real>(size, row_id(i)));
        }
        return best;
    }

    static constexpr size_t vectors = max_order * max_lanes<Real>;

    tile<Real, Parts> d_tile;
    int d_order;
    uint64_t d_wanted_rows = 0; //!< bit i: a lane's pivot may be in row i
    ints<Real> d_best;          //!< the key of the pivot's row
    ints<Real> d_state;
    mask<Real> d_zero;
    mask<Real> d_odd;
    vec<Real> d_smallest;
    number d_determinant;
    HWY_ALIGN int_of<Real> d_rows[vectors];
    HWY_ALIGN int_of<Real> d_columns[vectors];
    HWY_ALIGN Real d_row[Parts * vectors];
    HWY_ALIGN Real d_column[Parts * vectors];
    HWY_ALIGN Real d_largest[vectors];
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
