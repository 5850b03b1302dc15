/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products of compressed rows, included once an instruction set. No #pragma once, for
// that.
//
// Short rows one by one wait for their loops, not for memory: 2 clocks an entry. But in
// grids and bands neighbouring rows have as many entries as each other. In memory these
// are a small matrix (rows, entries), which for up to four entries a few shuffles
// transpose, so that a vector of rows takes all of their j-th entries at once.

namespace hn = hwy::HWY_NAMESPACE;

//! A vector of rows of `Count` entries each; finish(tag, sum) is what becomes of them.
template <int Count, class D, typename T, typename Begin, typename Finish>
HWY_INLINE void add_alike_rows(D tag,
                               const int32_t* column,
                               const T* value,
                               const T* x,
                               T* y,
                               const Begin& begin,
                               const Finish& finish)
{
    const hn::Rebind<int32_t, D> places;
    hn::Vec<D> v[4];
    hn::Vec<decltype(places)> c[4];
    if constexpr (Count == 1) {
        v[0] = hn::LoadU(tag, value);
        c[0] = hn::LoadU(places, column);
    } else if constexpr (Count == 2) {
        hn::LoadInterleaved2(tag, value, v[0], v[1]);
        hn::LoadInterleaved2(places, column, c[0], c[1]);
    } else if constexpr (Count == 3) {
        hn::LoadInterleaved3(tag, value, v[0], v[1], v[2]);
        hn::LoadInterleaved3(places, column, c[0], c[1], c[2]);
    } else {
        hn::LoadInterleaved4(tag, value, v[0], v[1], v[2], v[3]);
        hn::LoadInterleaved4(places, column, c[0], c[1], c[2], c[3]);
    }
    auto sum = begin(tag, y);
    const auto counting = hn::Iota(places, 0);
    HWY_UNROLL(4)
    for (int j = 0; j < Count; ++j) {
        const bool in_a_row = hn::AllTrue(
            places, hn::Eq(c[j], hn::Add(hn::Set(places, column[j]), counting)));
        if (in_a_row) {
            sum = hn::MulAdd(v[j], hn::LoadU(tag, x + column[j]), sum);
        } else if constexpr (sizeof(T) == sizeof(int32_t)) {
            sum = hn::MulAdd(v[j], hn::GatherIndex(tag, x, c[j]), sum);
        } else {
            const auto wide = hn::PromoteTo(hn::RebindToSigned<D>(), c[j]);
            sum = hn::MulAdd(v[j], hn::GatherIndex(tag, x, wide), sum);
        }
    }
    hn::StoreU(finish(tag, sum), tag, y);
}

//! As many rows as the tag has lanes, if they have all so many entries.
template <class D, typename Start, typename T, typename Begin, typename Finish>
HWY_INLINE bool done_as_alike_rows(D tag,
                                   const Start* start,
                                   Start count,
                                   const int32_t* column,
                                   const T* value,
                                   const T* x,
                                   T* y,
                                   const Begin& begin,
                                   const Finish& finish)
{
    const hn::CappedTag<Start, hn::MaxLanes(D())> starts;
    for (size_t i = 0; i < hn::Lanes(tag); i += hn::Lanes(starts)) {
        const auto counts =
            hn::Sub(hn::LoadU(starts, start + i + 1), hn::LoadU(starts, start + i));
        if (!hn::AllTrue(starts, hn::Eq(counts, hn::Set(starts, count)))) {
            return false;
        }
    }
    switch (count) {
    case 1:
        add_alike_rows<1>(tag, column, value, x, y, begin, finish);
        return true;
    case 2:
        add_alike_rows<2>(tag, column, value, x, y, begin, finish);
        return true;
    case 3:
        add_alike_rows<3>(tag, column, value, x, y, begin, finish);
        return true;
    default:
        add_alike_rows<4>(tag, column, value, x, y, begin, finish);
        return true;
    }
}

/*!
 * y[row] = finish(begin(y[row]) + the row's entries times x), columns ascending. Rows may
 * take elements of y as x, but no other row's.
 * \param start  of each row and the end, of which only differences count
 * \param column, value  the first row's entries, and those of all that follow
 */
template <typename Start, typename T, typename Begin, typename Finish>
HWY_INLINE void add_compressed_rows(const Start* start,
                                    int64_t rows,
                                    const int32_t* column,
                                    const T* value,
                                    const T* x,
                                    T* y,
                                    const Begin& begin,
                                    const Finish& finish)
{
    const hn::CappedTag<T, 8> vector;
    const hn::CappedTag<T, 4> half;
    const hn::CappedTag<T, 1> one;
    constexpr int64_t lanes = hn::MaxLanes(vector), half_lanes = hn::MaxLanes(half);
    for (int64_t row = 0; row < rows;) {
        const Start count = start[row + 1] - start[row];
        int64_t done = 0;
        if constexpr (half_lanes == 4) {
            const auto try_rows = [&](auto tag) HWY_ATTR {
                return done_as_alike_rows(
                    tag, start + row, count, column, value, x, y + row, begin, finish);
            };
            if (count > 0 && count <= 4) {
                if (row + lanes <= rows && try_rows(vector)) {
                    done = lanes;
                } else if (lanes > 4 && row + 4 <= rows && try_rows(half)) {
                    done = 4;
                }
            }
        }
        if (done == 0) {
            auto sum = begin(one, y + row);
            for (Start e = 0; e < count; ++e) {
                sum = hn::MulAdd(
                    hn::LoadU(one, value + e), hn::LoadU(one, x + column[e]), sum);
            }
            hn::StoreU(finish(one, sum), one, y + row);
            done = 1;
        }
        row += done;
        column += done * int64_t(count);
        value += done * int64_t(count);
    }
}
