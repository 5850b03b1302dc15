/* SPDX-License-Identifier: GPL-3.0-or-later */
// A row a lane. A run of rows of one pattern needs no indices: a vector of rows takes
// vectors of neighbours at the pattern's offsets, each times one number. Rows of a run or
// block beyond whole vectors go in vectors of half the size, down to one lane.
#include "kernels/common/highway_targets.h"
#include "kernels/fdtd/stepper/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fdtd/stepper/cpu_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

#include "kernels/fdtd/sparse/compressed_rows-inl.h"

//! Calls rows(tag, i) for vectors of rows i, i + 1, ... that make up 0 ... count - 1.
template <size_t Lanes, typename T, typename Rows>
HWY_INLINE void for_vectors(T, int32_t i, int32_t count, const Rows& rows)
{
    const hn::CappedTag<T, Lanes> tag;
    const auto lanes = int32_t(hn::Lanes(tag));
    for (; i + lanes <= count; i += lanes) {
        rows(tag, i);
    }
    if constexpr (Lanes > 1) {
        if (i < count) {
            for_vectors<Lanes / 2>(T(), i, count, rows);
        }
    }
}

template <typename T, typename Rows>
HWY_INLINE void for_rows(int32_t count, const Rows& rows)
{
    for_vectors<hn::MaxLanes(hn::ScalableTag<T>())>(T(), 0, count, rows);
}

template <class D, class V>
HWY_INLINE V settled(D tag, V value)
{
    using T = hn::TFromD<D>;
    return hn::IfThenZeroElse(
        hn::Lt(hn::Abs(value), hn::Set(tag, fdtd_numbers<T>::smallest)), value);
}

//! A run of rows of a pattern with `Count` entries.
template <int Count, typename T>
void run_of(T* state, const fdtd_run& run, const fdtd_entry<T>* entries)
{
    T* const first = state + run.first;
    const T* from[Count];
    T value[Count];
    for (int j = 0; j < Count; ++j) {
        from[j] = first + entries[j].offset;
        value[j] = entries[j].value;
    }
    for_rows<T>(run.count, [&](auto tag, int32_t i) HWY_ATTR {
        auto sum = hn::LoadU(tag, first + i);
        HWY_UNROLL(8)
        for (int j = 0; j < Count; ++j) {
            sum = hn::MulAdd(hn::Set(tag, value[j]), hn::LoadU(tag, from[j] + i), sum);
        }
        hn::StoreU(settled(tag, sum), tag, first + i);
    });
}

template <typename T>
void run_of_any(T* state, const fdtd_run& run, const fdtd_entry<T>* entries)
{
    T* const first = state + run.first;
    const int count = run.code & fdtd_pattern_entries;
    for_rows<T>(run.count, [&](auto tag, int32_t i) HWY_ATTR {
        auto sum = hn::LoadU(tag, first + i);
        for (int j = 0; j < count; ++j) {
            sum = hn::MulAdd(hn::Set(tag, entries[j].value),
                             hn::LoadU(tag, first + entries[j].offset + i),
                             sum);
        }
        hn::StoreU(settled(tag, sum), tag, first + i);
    });
}

template <typename T>
void pattern_run(T* state, const fdtd_run& run, const fdtd_entry<T>* entries)
{
    switch (run.code & fdtd_pattern_entries) {
    case 1:
        return run_of<1>(state, run, entries);
    case 2:
        return run_of<2>(state, run, entries);
    case 3:
        return run_of<3>(state, run, entries);
    case 4:
        return run_of<4>(state, run, entries);
    case 5:
        return run_of<5>(state, run, entries);
    case 6:
        return run_of<6>(state, run, entries);
    default:
        return run_of_any(state, run, entries);
    }
}

//! Indices of a vector's elements, of the elements' own width.
template <class D>
HWY_INLINE auto indices(D, const int32_t* from)
{
    const hn::RebindToSigned<D> wide;
    if constexpr (sizeof(hn::TFromD<D>) == sizeof(int32_t)) {
        return hn::LoadU(wide, from);
    } else {
        return hn::PromoteTo(wide, hn::LoadU(hn::Rebind<int32_t, D>(), from));
    }
}

//! Consecutive rows with `Count` entries, each at one distance: a run with own values.
template <int Count, typename T>
void straight_block(T* first, int32_t rows, const int32_t* distances, const T* values)
{
    const T* from[Count];
    for (int j = 0; j < Count; ++j) {
        from[j] = first + distances[j];
    }
    for_rows<T>(rows, [&](auto tag, int32_t i) HWY_ATTR {
        auto sum = hn::LoadU(tag, first + i);
        HWY_UNROLL(8)
        for (int j = 0; j < Count; ++j) {
            sum = hn::MulAdd(
                hn::LoadU(tag, values + j * rows + i), hn::LoadU(tag, from[j] + i), sum);
        }
        hn::StoreU(settled(tag, sum), tag, first + i);
    });
}

//! \returns false if the block is of another kind, or its rows have more entries
template <typename T>
bool done_as_straight_block(const fdtd_block& b,
                            const fdtd_block_shape& shape,
                            T* state,
                            const int32_t* columns,
                            const T* values)
{
    if (b.rows < 0 || shape.distances != (1u << shape.entries) - 1) {
        return false;
    }
    T* const first = state + b.rows;
    switch (shape.entries) {
    case 2:
        straight_block<2>(first, shape.rows, columns, values);
        return true;
    case 3:
        straight_block<3>(first, shape.rows, columns, values);
        return true;
    case 4:
        straight_block<4>(first, shape.rows, columns, values);
        return true;
    case 5:
        straight_block<5>(first, shape.rows, columns, values);
        return true;
    default:
        return false;
    }
}

//! Loads from[index[0]], from[index[1]], ...; `from` itself may lie outside of all
//! memory. Part of a vector is not gathered, because such a gather reads from[0], too.
template <class D, typename T>
HWY_INLINE auto gathered(D tag, const T* from, const int32_t* index)
{
    if constexpr (hn::MaxLanes(tag) * sizeof(T) < 16) {
        HWY_ALIGN T values[hn::MaxLanes(tag)];
        for (size_t l = 0; l < hn::Lanes(tag); ++l) {
            values[l] = from[index[l]];
        }
        return hn::LoadU(tag, values);
    } else {
        return hn::GatherIndex(tag, from, indices(tag, index));
    }
}

template <typename T>
void block(const fdtd_tables<T, fdtd_pointer>& t, T* state, const fdtd_block& b)
{
    const fdtd_block_shape shape(b);
    const int32_t* const columns = t.columns + b.columns * fdtd_block::columns_apart;
    const T* const values = t.values + b.values * fdtd_block::values_apart;
    if (shape.entries < 8 && done_as_straight_block(b, shape, state, columns, values)) {
        return;
    }
    const int32_t* const elements =
        b.rows < 0 ? t.block_rows + size_t(~b.rows) * fdtd_slice : nullptr;
    for_rows<T>(shape.rows, [&](auto tag, int32_t i) HWY_ATTR {
        const auto own = [&](const T* from) HWY_ATTR {
            return elements ? gathered(tag, from, elements + i)
                            : hn::LoadU(tag, from + b.rows + i);
        };
        auto sum = own(state);
        const auto* column = columns;
        const auto* value = values + i;
        for (int32_t j = 0; j < shape.entries; ++j) {
            const auto x = shape.has_distance(j)
                               ? own(state + *column)
                               : hn::GatherIndex(tag, state, indices(tag, column + i));
            sum = hn::MulAdd(hn::LoadU(tag, value), x, sum);
            column += shape.columns(j);
            value += shape.rows;
        }
        sum = settled(tag, sum);
        if (elements) {
            hn::ScatterIndex(sum, tag, state, indices(tag, elements + i));
        } else {
            hn::StoreU(sum, tag, state + b.rows + i);
        }
    });
}

template <typename T>
void compressed_rows(const fdtd_cpu_update<T>& u, const fdtd_tile& tile)
{
    const auto& t = *u.tables;
    const int64_t* start = t.row_start + u.phase.entries + (tile.first - u.phase.first);
    add_compressed_rows(
        start,
        int32_t(tile.rows & ~fdtd_marked),
        t.columns + start[0],
        t.values + start[0],
        u.state,
        u.state + tile.first,
        [](auto tag, const T* y) HWY_ATTR { return hn::LoadU(tag, y); },
        [](auto tag, auto sum) HWY_ATTR { return settled(tag, sum); });
}

//! x for rows that have an entry, else 0. For a row without the entry, the element may
//! lie beyond the state or be written by another thread meanwhile: it is not read.
template <class D, class M, typename T>
HWY_INLINE hn::Vec<D> load_entries(D tag, M there, const T* value, const T* x)
{
    if (hn::AllTrue(tag, there)) {
        return hn::LoadU(tag, x);
    }
    HWY_ALIGN T elements[hn::MaxLanes(D())];
    for (size_t l = 0; l < hn::Lanes(tag); ++l) {
        elements[l] = value[l] == value[l] ? x[l] : T(0);
    }
    return hn::Load(tag, elements);
}

template <typename T>
void diagonals(const fdtd_cpu_update<T>& u, const fdtd_tile& tile)
{
    const auto& t = *u.tables;
    const auto rows = int32_t(tile.rows & ~fdtd_marked);
    const T* const values = t.values + u.phase.entries + (tile.first - u.phase.first);
    for_rows<T>(rows, [&](auto tag, int32_t i) HWY_ATTR {
        T* const element = u.state + tile.first + i;
        auto sum = hn::LoadU(tag, element);
        for (auto d = u.phase.diagonals; d < u.phase.diagonals_end; ++d) {
            const T* const value =
                values + int64_t(d - u.phase.diagonals) * u.phase.rows + i;
            const auto v = hn::LoadU(tag, value);
            const auto there = hn::Eq(v, v);
            if (hn::AllFalse(tag, there)) {
                continue;
            }
            const auto x = load_entries(tag, there, value, element + t.diagonals[d]);
            sum = hn::IfThenElse(there, hn::MulAdd(v, x, sum), sum);
        }
        hn::StoreU(settled(tag, sum), tag, element);
    });
}

template <typename T>
HWY_INLINE void tiles(const fdtd_cpu_update<T>& u, int32_t first, int32_t last)
{
    const auto& t = *u.tables;
    for (; first < last; ++first) {
        const auto& tile = t.tiles[first];
        if (u.format == sparse_format::crs) {
            compressed_rows(u, tile);
            continue;
        }
        if (u.format == sparse_format::diagonal) {
            diagonals(u, tile);
            continue;
        }
        for (auto r = tile.words; r < t.tiles[first + 1].words; ++r) {
            const auto& run = t.runs[r];
            pattern_run(u.state, run, t.pattern_entries + size_t(run.code >> 8) * 2);
        }
        for (auto b = tile.blocks; b < t.tiles[first + 1].blocks; ++b) {
            block(t, u.state, t.blocks[b]);
        }
    }
}

template <typename T>
HWY_INLINE bool finite(const T* values, size_t count)
{
    bool all = true;
    for_rows<T>(int32_t(count), [&](auto tag, int32_t i) HWY_ATTR {
        const auto bound = hn::Set(tag, fdtd_numbers<T>::largest);
        const auto value = hn::LoadU(tag, values + i);
        all = all && hn::AllTrue(tag, hn::Le(hn::Abs(value), bound));
    });
    return all;
}

} // namespace

void tiles_float(const fdtd_cpu_update<float>& u, int32_t first, int32_t last)
{
    tiles(u, first, last);
}
void tiles_double(const fdtd_cpu_update<double>& u, int32_t first, int32_t last)
{
    tiles(u, first, last);
}
bool finite_float(const float* values, size_t count) { return finite(values, count); }
bool finite_double(const double* values, size_t count) { return finite(values, count); }

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {

HWY_EXPORT(tiles_float);
HWY_EXPORT(tiles_double);
HWY_EXPORT(finite_float);
HWY_EXPORT(finite_double);

template <>
void fdtd_cpu_tiles(const fdtd_cpu_update<float>& u, int32_t first, int32_t last)
{
    HWY_DYNAMIC_DISPATCH(tiles_float)(u, first, last);
}
template <>
void fdtd_cpu_tiles(const fdtd_cpu_update<double>& u, int32_t first, int32_t last)
{
    HWY_DYNAMIC_DISPATCH(tiles_double)(u, first, last);
}
template <>
bool fdtd_cpu_finite(const float* values, size_t count)
{
    return HWY_DYNAMIC_DISPATCH(finite_float)(values, count);
}
template <>
bool fdtd_cpu_finite(const double* values, size_t count)
{
    return HWY_DYNAMIC_DISPATCH(finite_double)(values, count);
}

} // namespace gr::cudaphy::kernels
#endif
