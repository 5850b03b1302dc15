/* SPDX-License-Identifier: GPL-3.0-or-later */
// A part of a batch, a vector of matrices at a time. Included once an instruction set by
// cpu_type.h, hence no #pragma once.
#if defined(CUDAPHY_INVERSE_INVERT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_INVERSE_INVERT_INL_H
#undef CUDAPHY_INVERSE_INVERT_INL_H
#else
#define CUDAPHY_INVERSE_INVERT_INL_H
#endif

#include "kernels/common/memory/thread_memory.h"
#include "kernels/linalg/inverse/cpu.h"
#include "kernels/linalg/inverse/lanes-inl.h"
#include <algorithm>
#include <cstring>
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! Whether a masked store does not touch the memory of masked lanes.
constexpr bool has_masked_stores = HWY_TARGET <= HWY_AVX2;

template <typename T>
HWY_INLINE void prefetch(const T* from, size_t count)
{
    constexpr size_t line = 64 / sizeof(T);
    for (size_t e = 0; e < count; e += line) {
        hwy::Prefetch(from + e);
    }
}

//! Copies the inverse of the permuted matrix so that each element goes to its place in X:
//! (P A Q)^-1 = Q^-1 A^-1 P^-1. Rows go where A's columns came from, and columns where
//! A's rows came from.
template <typename T, typename Id>
void unpermute_rows(
    const T* from, T* to, int n, const Id* rows, const Id* columns, size_t lanes)
{
    int place[inverse<float>::max_order];
    for (int c = 0; c < n; ++c) {
        place[c] = inverse_pivot::index_mask - int(columns[c * lanes]);
    }
    for (int r = 0; r < n; ++r, from += n) {
        T* row = to + (inverse_pivot::index_mask - int(rows[r * lanes])) * n;
        for (int c = 0; c < n; ++c) {
            std::memcpy(row + place[c], from + c, sizeof(T));
        }
    }
}

//! The same for all lanes, with vectors, if a row fits into a vector. `from` has room for
//! a vector behind its end.
template <typename T, typename Real, typename Id>
void unpermute_short_rows(
    const Real* from, T* to, size_t count, int n, const Id* rows, const Id* columns)
{
    constexpr int parts = sizeof(T) / sizeof(Real);
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    const size_t row_reals = size_t(n) * parts;
    // Store all indices before loading any, because the processor can't forward a vector
    // from several pending stores.
    HWY_ALIGN Id indices[max_lanes<Real> * max_lanes<Real>] = {};
    for (size_t lane = 0; lane < count; ++lane) {
        for (int c = 0; c < n; ++c) {
            const auto j = inverse_pivot::index_mask - columns[c * lanes + lane];
            for (int part = 0; part < parts; ++part) {
                indices[lane * lanes + j * parts + part] = Id(c * parts + part);
            }
        }
    }
    const auto whole = hn::FirstN(d, row_reals);
    for (size_t lane = 0; lane < count; ++lane) {
        const auto order =
            hn::IndicesFromVec(d, hn::Load(int_tag<Real>(), indices + lane * lanes));
        auto* matrix = reinterpret_cast<Real*>(to + lane * n * n);
        for (int r = 0; r < n; ++r, from += row_reals) {
            const auto i = inverse_pivot::index_mask - rows[r * lanes + lane];
            const auto row = hn::TableLookupLanes(hn::LoadU(d, from), order);
            if (row_reals == lanes) {
                hn::StoreU(row, d, matrix + i * row_reals);
            } else {
                hn::BlendedStore(row, whole, d, matrix + i * row_reals);
            }
        }
    }
}

template <typename Real, int Parts, typename Id>
void unpermute_tile(const tile<Real, Parts>& from,
                    const tile<Real, Parts>& to,
                    const Id* rows,
                    const Id* columns)
{
    const tag<Real> d;
    const int_tag<Real> di;
    const size_t lanes = hn::Lanes(d);
    const int n = from.order();
    const auto last = hn::Set(di, inverse_pivot::index_mask);
    const auto row_reals = hn::Set(di, Id(to.row(1) - to.row(0)));
    const auto element_reals = hn::Set(di, Id(Parts * lanes));
    const auto lane = hn::Iota(di, 0);
    HWY_ALIGN Id column_at[inverse<float>::max_order * max_lanes<Real>];
    for (int c = 0; c < n; ++c) {
        const auto j = hn::Sub(last, hn::Load(di, columns + c * lanes));
        hn::Store(hn::Add(lane, hn::Mul(j, element_reals)), di, column_at + c * lanes);
    }
    for (int r = 0; r < n; ++r) {
        const auto i = hn::Sub(last, hn::Load(di, rows + r * lanes));
        const auto row_at = hn::Mul(i, row_reals);
        for (int c = 0; c < n; ++c) {
            const auto at = hn::Add(row_at, hn::Load(di, column_at + c * lanes));
            for (int part = 0; part < Parts; ++part) {
                hn::ScatterIndex(hn::Load(d, from.at(r, c) + part * lanes),
                                 d,
                                 to.row(0) + part * lanes,
                                 at);
            }
        }
    }
}

template <typename T, pivoting Pivoting, int Order>
void invert_with(const inverse_part<T>& part)
{
    using Real = typename inverse<T>::real;
    constexpr int parts = sizeof(T) / sizeof(Real);
    using tile_type = tile<Real, parts>;
    const tag<Real> d;
    const size_t lanes = hn::Lanes(d);
    constexpr size_t most = max_lanes<Real>;
    const auto& out = *part.out;
    const int n = Order ? Order : part.parameters->order;
    const size_t elements = size_t(n) * n;
    const bool interleaved = part.parameters->layout == matrix_layout::interleaved;
    const bool wants_rcond = !out.rcond.empty();
    const auto reals = [](const T* of) { return reinterpret_cast<const Real*>(of); };

    thread_local thread_memory<Real> memory;
    const size_t tile_reals = tile_type::reals(n);
    Real* const tiles = memory.get(2 * tile_reals + most);
    const tile_type work(tiles, n);
    const tile_type scratch(tiles + tile_reals, n);
    lane_inverter<Real, parts, Pivoting, Order> inverter(work);
    const Real* sources[most];
    Real* targets[most];
    HWY_ALIGN Real norms[most];
    HWY_ALIGN Real determinants[parts * most];
    HWY_ALIGN int_of<Real> states[most];

    for (size_t first = part.first; first < part.last; first += lanes) {
        const size_t count = std::min(lanes, part.last - first);
        if (interleaved) {
            work.load_interleaved(reals(part.a + first), part.batch, count);
        } else {
            for (size_t lane = 0; lane < lanes; ++lane) {
                // Lanes beyond the batch repeat its last matrix.
                sources[lane] =
                    reals(part.a + (first + std::min(lane, count - 1)) * elements);
            }
            work.load_rows(sources);
        }
        const auto a_norm = wants_rcond ? work.one_norm() : hn::Zero(d);
        const size_t ahead = first + lanes;
        inverter.run([&](int k) {
            if (ahead + lanes > part.last) {
                return;
            }
            if (interleaved) {
                for (int j = 0; j < n; ++j) {
                    prefetch(part.a + (size_t(k) * n + j) * part.batch + ahead, lanes);
                }
            } else {
                prefetch(part.a + ahead * elements + k * n * lanes, n * lanes);
            }
        });

        const auto* rows = inverter.row_complements();
        const auto* columns = inverter.column_complements();
        constexpr bool in_order = Pivoting == pivoting::none || Order > 0;
        if constexpr (Pivoting != pivoting::none && Order > 0) {
            inverter.unpermute();
        }
        const bool by_tile = !in_order && (interleaved || wants_rcond);
        if (by_tile) {
            unpermute_tile(work, scratch, rows, columns);
        }
        const tile_type& result = by_tile ? scratch : work;
        const auto result_norm = wants_rcond ? result.one_norm() : hn::Zero(d);
        if (interleaved) {
            auto* to = reinterpret_cast<Real*>(out.x.data() + first);
            result.store_interleaved(to, part.batch, count);
        } else {
            const bool straight = in_order && count == lanes;
            auto* const rows_at = by_tile ? work.row(0) : scratch.row(0);
            auto* to = straight ? reinterpret_cast<Real*>(out.x.data() + first * elements)
                                : rows_at;
            for (size_t lane = 0; lane < lanes; ++lane) {
                targets[lane] = to + lane * elements * parts;
            }
            result.store_rows(targets);
            const bool short_rows =
                !in_order && !by_tile && has_masked_stores && n * parts <= int(lanes);
            if (short_rows) {
                unpermute_short_rows(
                    to, out.x.data() + first * elements, count, n, rows, columns);
            }
            for (size_t lane = 0; lane < count && !straight && !short_rows; ++lane) {
                const T* from = reinterpret_cast<const T*>(targets[lane]);
                T* x = out.x.data() + (first + lane) * elements;
                if (in_order || by_tile) {
                    std::copy_n(from, elements, x);
                } else {
                    unpermute_rows(from, x, n, rows + lane, columns + lane, lanes);
                }
            }
        }

        hn::Store(inverter.state(), int_tag<Real>(), states);
        for (size_t lane = 0; lane < count; ++lane) {
            out.status[first + lane] = int(states[lane]);
        }
        if (!out.determinant.empty()) {
            inverter.determinant().store(determinants);
            auto* to = reinterpret_cast<Real*>(out.determinant.data() + first);
            for (size_t lane = 0; lane < count; ++lane) {
                for (int p = 0; p < parts; ++p) {
                    to[lane * parts + p] = determinants[p * lanes + lane];
                }
            }
        }
        if (wants_rcond) {
            const auto one = hn::Set(d, Real(1));
            const auto rcond = hn::Div(one, hn::Mul(a_norm, result_norm));
            hn::Store(hn::IfThenZeroElse(inverter.is_zero(), rcond), d, norms);
            std::copy_n(norms, count, out.rcond.data() + first);
        }
    }
}

template <typename T, pivoting Pivoting>
void invert_pivoting(const inverse_part<T>& part)
{
    switch (part.parameters->order) {
    case 2:
        return invert_with<T, Pivoting, 2>(part);
    case 3:
        return invert_with<T, Pivoting, 3>(part);
    case 4:
        return invert_with<T, Pivoting, 4>(part);
    default:
        return invert_with<T, Pivoting, 0>(part);
    }
}

template <typename T>
void invert(const inverse_part<T>& part)
{
    switch (part.parameters->pivot) {
    case pivoting::full:
        return invert_pivoting<T, pivoting::full>(part);
    case pivoting::partial:
        return invert_pivoting<T, pivoting::partial>(part);
    case pivoting::none:
        return invert_pivoting<T, pivoting::none>(part);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
