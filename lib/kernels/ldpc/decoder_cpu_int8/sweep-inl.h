/* SPDX-License-Identifier: GPL-3.0-or-later */
// One iteration, a vector of checks at a time: 64 on AVX-512. Each message is stored as a
// byte. Reading and writing them in order costs less than composing them of two
// magnitudes, an index and signs.
//
// AVX-512 does minima, saturated sums and |q| on one port, compares and permutations on
// another, plain sums, logic and blends on both. An edge takes five of the first kind
// (|q|, three for the two minima, |q| + r), two compares and 3.5 of either (4 if parity
// is computed). That takes 5.3 cycles for 64 edges if loads and stores keep up.
//
// Each kind of iteration (the first one, later ones, damped ones) has a source file of
// its own, because one for all takes more than 500 MB to compile.
#if defined(CUDAPHY_LDPC_SWEEP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_LDPC_SWEEP_INL_H
#undef CUDAPHY_LDPC_SWEEP_INL_H
#else
#define CUDAPHY_LDPC_SWEEP_INL_H
#endif

#include "kernels/ldpc/decoder_cpu_int8/check-inl.h"
#include <algorithm>
#include <array>
#include <hwy/cache_control.h>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! The data of a block row.
struct work {
    const ldpc_fixed_plan::row& row;
    const ldpc_fixed_plan::edge* HWY_RESTRICT edge; //!< the row's first
    int8_t* HWY_RESTRICT l;
    int8_t* HWY_RESTRICT r; //!< the row's first
    fixed_tile& tile;
    const message_table& table;
    magnitudes most_of_half; //!< fixed_messages::most_of_half
    //! The lanes whose parity counts: in all vectors but the last one, then in the last
    //! one.
    const int8_t* tail;
    uint32_t repetition; //!< where a column's first vector is repeated; 0: nowhere

    //! Prefetches what the next vectors read.
    HWY_INLINE void fetch() const
    {
        for (int i = 0; i < tile.lines_ahead && tile.ahead < tile.end_ahead; ++i) {
            tile.ahead += fixed_tile::line_of_cache;
            __builtin_prefetch(tile.ahead, 0, 2); // as far as the second cache
        }
    }
    //! Repeats a column's first vector `first` after all its vectors were stored.
    HWY_INLINE void repeat(uint32_t first) const
    {
        hn::StoreU(hn::Load(di, l + first), di, l + first + repetition);
    }
};

//! The sum of bits of `Count` vectors.
template <size_t Count>
HWY_INLINE vector sum_of_bits(const vector* terms)
{
    auto sum = terms[0];
    for (size_t i = 1; i + 1 < Count; i += 2) {
        sum = hn::Xor3(sum, terms[i], terms[i + 1]);
    }
    return Count % 2 == 0 ? hn::Xor(sum, terms[Count - 1]) : sum;
}

//! The value of fixed_sign in the sum of `degree` L of which an even number is negative.
HWY_INLINE vector even(size_t degree)
{
    return hn::Set(di, degree % 2 == 0 ? 0 : fixed_sign);
}

//! The lanes in which the sum differs from it: an odd number is negative.
HWY_INLINE vector lanes_of(vector odd)
{
    const auto bit = hn::Set(di, fixed_sign);
    return hn::VecFromMask(di, hn::Eq(hn::And(odd, bit), bit));
}

HWY_INLINE vector checks_of(const work& w, int v, vector parity)
{
    const int8_t* set = w.tail + (v + 1 == w.row.vectors ? lanes : 0);
    return hn::And(parity, hn::Load(di, set));
}

constexpr size_t most_unrolled = lanes == 64 ? 20 : 8;

//! q = L - r. In the first iteration r is not yet written.
template <bool First>
HWY_INLINE vector less_message(vector l, const int8_t* r)
{
    return settled(hn::Sub(l, First ? hn::Set(di, fixed_zero) : hn::Load(di, r)));
}

template <bool First, bool Watched, typename Answers, size_t... I>
HWY_INLINE void visit_each(const work& w, vector& odd, std::index_sequence<I...>)
{
    constexpr size_t degree = sizeof...(I);
    const auto* HWY_RESTRICT edge = w.edge;
    int8_t* HWY_RESTRICT l = w.l;
    int8_t* HWY_RESTRICT r = w.r;
    for (int v = 0; v < w.row.vectors; ++v) {
        w.fetch();
        vector q[degree];
        magnitudes magnitude[degree];
        typename Answers::least_found found;
        const auto take = [&](size_t i) INLINE_LAMBDA {
            if (First) {
                hwy::Prefetch(r + (i + 2 * degree) * lanes); // to be written
            }
            q[i] = less_message<First>(hn::LoadU(di, l + edge[i].load), r + i * lanes);
            magnitude[i] = hn::BitCast(du, hn::Abs(q[i]));
            found.add(i, magnitude[i]);
        };
        (take(I), ...);
        const Answers answer(found, sum_of_bits<degree>(q), w.table, w.most_of_half);
        vector next[degree];
        const auto give = [&](size_t i) INLINE_LAMBDA {
            next[i] = answer.sum(q[i], magnitude[i], r + i * lanes);
            hn::Store(hn::Sub(next[i], q[i]), di, r + i * lanes);
            hn::Store(next[i], di, l + edge[i].store);
        };
        (give(I), ...);
        if (Watched) {
            odd = hn::Or(
                odd, checks_of(w, v, hn::Xor(sum_of_bits<degree>(next), even(degree))));
        }
        edge += degree;
        r += degree * lanes;
    }
    if (w.repetition > 0) {
        (w.repeat(w.edge[I].store), ...);
    }
}

template <bool First, bool Watched, typename Answers, size_t Degree>
void visit_unrolled(const work& w, vector& odd)
{
    visit_each<First, Watched, Answers>(w, odd, std::make_index_sequence<Degree>());
}

//! Any row; the messages of late edges go to tile.news, and parities to tile.parity.
template <bool First, bool Late, typename Answers>
void visit_many(const work& w, vector& odd)
{
    const int degree = w.row.degree;
    const int at_once = Late ? w.row.at_once : degree;
    const auto* HWY_RESTRICT edge = w.edge;
    int8_t* HWY_RESTRICT l = w.l;
    int8_t* HWY_RESTRICT r = w.r;
    int8_t* HWY_RESTRICT q = w.tile.q.get();
    int8_t* HWY_RESTRICT magnitude = q + degree * lanes;
    for (int v = 0; v < w.row.vectors; ++v) {
        w.fetch();
        typename Answers::least_found found;
        auto signs = hn::Zero(di);
        for (int i = 0; i < degree; ++i) {
            const auto here =
                less_message<First>(hn::LoadU(di, l + edge[i].load), r + i * lanes);
            const auto absolute = hn::Abs(here);
            signs = hn::Xor(signs, here);
            found.add(hn::BitCast(du, absolute));
            hn::Store(here, di, q + i * lanes);
            hn::Store(absolute, di, magnitude + i * lanes);
        }
        const Answers answer(found, signs, w.table, w.most_of_half);
        auto parity = even(degree);
        for (int i = 0; i < at_once; ++i) {
            const auto here = hn::Load(di, q + i * lanes);
            const auto absolute = hn::Load(di, magnitude + i * lanes);
            const auto next = answer.sum(here, hn::BitCast(du, absolute), r + i * lanes);
            hn::Store(hn::Sub(next, here), di, r + i * lanes);
            hn::Store(next, di, l + edge[i].store);
            parity = hn::Xor(parity, next);
        }
        if (Late) {
            for (int i = at_once; i < degree; ++i) {
                const auto message =
                    answer.to(hn::Load(di, q + i * lanes),
                              hn::BitCast(du, hn::Load(di, magnitude + i * lanes)),
                              r + i * lanes);
                const int to = (i - at_once) * w.row.vectors + v;
                hn::Store(message, di, w.tile.news.get() + to * lanes);
            }
            hn::Store(parity, di, w.tile.parity.get() + v * lanes);
        } else {
            odd = hn::Or(odd, checks_of(w, v, parity));
        }
        edge += degree;
        r += degree * lanes;
    }
    if (w.repetition > 0) {
        for (int i = 0; i < at_once; ++i) {
            w.repeat(w.edge[i].store);
        }
    }
}

template <bool First>
void visit_late(const work& w,
                const ldpc_fixed_plan::late_edge& late,
                const ldpc_fixed_plan::edge* edge,
                int8_t* all_r)
{
    for (int v = 0; v < w.row.vectors; ++v, ++edge) {
        int8_t* r = all_r + late.message + size_t{ late.stride } * v;
        int8_t* sum = w.tile.parity.get() + v * lanes;
        const auto message = hn::Load(di, w.tile.news.get() + late.news + v * lanes);
        const auto q = less_message<First>(hn::LoadU(di, w.l + edge->load), r);
        const auto most = hn::Set(di, limits.greatest_l);
        const auto zero = hn::Set(di, fixed_zero);
        const auto after = hn::SaturatedAdd(q, hn::Sub(message, zero));
        const auto next = hn::Add(hn::Max(hn::Min(after, most), hn::Neg(most)), zero);
        hn::Store(hn::Sub(next, q), di, r);
        hn::Store(next, di, w.l + edge->store);
        hn::Store(hn::Xor(hn::Load(di, sum), next), di, sum);
    }
    if (w.repetition > 0) {
        w.repeat(late.to);
    }
}

using visit = void (*)(const work&, vector&);

template <bool First, bool Watched, typename Answers, size_t... I>
constexpr std::array<visit, sizeof...(I)> visits_of(std::index_sequence<I...>)
{
    return { visit_unrolled<First, Watched, Answers, I + 1>... };
}

template <bool First, bool Watched, typename Answers>
constexpr auto visits = visits_of<First, Watched, Answers>(
    std::make_index_sequence<std::min(most_unrolled, Answers::most_unrolled)>());

template <bool First, bool Watched, typename Answers>
void sweep(const ldpc_fixed_plan& plan,
           const ldpc_fixed_plan::iteration& order,
           const fixed_messages& messages,
           fixed_tile& tile,
           int8_t* odd)
{
    HWY_ALIGN int8_t tail[4 * lanes] = {}; // of rows that tell, then of others
    std::fill_n(tail, lanes + plan.tail, int8_t{ -1 });
    const message_table table(messages);
    int8_t* l = tile.l.get();
    auto sum = hn::Zero(di);
    for (const auto& row : order.rows) {
        const work w{ row,
                      order.edges.data() + row.first,
                      l,
                      tile.r.get() + size_t{ row.first } * lanes,
                      tile,
                      table,
                      hn::Set(du, messages.most_of_half),
                      row.telling ? tail : tail + 2 * lanes,
                      plan.words % plan.lanes == 0 ? 0 : plan.column_bytes };
        // The bit of a missing one is saved, and takes part as certain and without
        // message.
        HWY_ALIGN int8_t aside[lanes];
        const bool has_late = row.late.first != row.late.last;
        for (uint32_t h = row.holes.first; h < row.holes.last; ++h) {
            const auto& hole = order.holes[h];
            std::copy_n(l + hole.from, plan.words, aside);
            std::fill_n(l + hole.from, plan.words, int8_t(127 + fixed_zero));
            std::fill_n(tile.r.get() + hole.message, plan.words, fixed_zero);
        }
        if (has_late) {
            visit_many<First, true, Answers>(w, sum);
        } else if (row.degree <=
                   static_cast<int>(visits<First, Watched, Answers>.size())) {
            visits<First, Watched, Answers>[row.degree - 1](w, sum);
        } else {
            visit_many<First, false, Answers>(w, sum);
        }
        for (uint32_t h = row.holes.first; h < row.holes.last; ++h) {
            const auto& hole = order.holes[h];
            std::copy_n(aside, plan.words, l + hole.to);
            if (w.repetition > 0 && hole.check < lanes) {
                std::copy_n(aside, plan.words, l + hole.to + w.repetition);
            }
        }
        for (uint32_t i = row.late.first; i < row.late.last; ++i) {
            const auto& late = order.late[i];
            visit_late<First>(w, late, order.later.data() + late.first, tile.r.get());
        }
        if (has_late) {
            for (int v = 0; v < row.vectors; ++v) {
                const auto parity = hn::Load(di, tile.parity.get() + v * lanes);
                sum = hn::Or(sum, checks_of(w, v, parity));
            }
        }
    }
    if (Watched) {
        hn::StoreU(lanes_of(sum), di, odd);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
