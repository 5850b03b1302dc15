/* SPDX-License-Identifier: GPL-3.0-or-later */
// A block has J = E / Q_m symbols. Bit i of all symbols is bits i J ... (i + 1) J - 1
// from the circular buffer. They form a plane, contiguous in the buffer except at its
// end. Symbols are taken in pieces whose planes fit into the L1 cache: split into planes
// (or made of them), then added to (or taken from) the buffer in whole vectors.
#include "kernels/common/highway_targets.h"
#include "kernels/ldpc/codes/nr5g_dimensions.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr5g.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/nr5g/rate_matching.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#ifndef CUDAPHY_NR5G_RATE_MATCHING_ONCE
#define CUDAPHY_NR5G_RATE_MATCHING_ONCE
namespace gr::cudaphy::kernels::nr5g {
namespace {

constexpr size_t symbols_a_piece = 512;
constexpr int most_order = 10;

//! The bits of one block in the buffer.
struct selection {
    size_t symbols;
    int order;
    size_t start, places;

    //! Calls part(place, first, count) for runs of the symbols first... of plane i.
    template <typename Part>
    void for_each_run(int plane, size_t symbol, size_t count, const Part& part) const
    {
        size_t place = (start + plane * symbols + symbol) % places;
        for (size_t done = 0; done < count;) {
            const size_t run = std::min(count - done, places - place);
            part(place, done, run);
            done += run;
            place = 0;
        }
    }
};

} // namespace
} // namespace gr::cudaphy::kernels::nr5g
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::nr5g {
namespace {
namespace HWY_NAMESPACE {

using namespace hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
template <typename D, typename V>
HWY_INLINE void LoadPairs(D d, const TFromD<D>* from, V (&v)[1])
{
    v[0] = LoadU(d, from);
}
template <typename D, typename V>
HWY_INLINE void LoadPairs(D d, const TFromD<D>* from, V (&v)[2])
{
    LoadInterleaved2(d, from, v[0], v[1]);
}
template <typename D, typename V>
HWY_INLINE void LoadPairs(D d, const TFromD<D>* from, V (&v)[3])
{
    LoadInterleaved3(d, from, v[0], v[1], v[2]);
}
template <typename D, typename V>
HWY_INLINE void LoadPairs(D d, const TFromD<D>* from, V (&v)[4])
{
    LoadInterleaved4(d, from, v[0], v[1], v[2], v[3]);
}

//! Splits whole vectors of symbols of 2 · pairs values into planes; returns how many.
//! Vectors of pairs of values first, then each pair.
template <size_t pairs, typename T, typename Pair>
HWY_INLINE size_t SplitVectors(const T* HWY_RESTRICT from, size_t symbols, T* planes)
{
    const ScalableTag<T> d;
    const Repartition<Pair, decltype(d)> d_pair;
    const size_t half = Lanes(d_pair);
    size_t symbol = 0;
    for (; symbol + 2 * half <= symbols; symbol += 2 * half) {
        Vec<decltype(d_pair)> low[pairs], high[pairs];
        const auto* at = reinterpret_cast<const Pair*>(from) + symbol * pairs;
        LoadPairs(d_pair, at, low);
        LoadPairs(d_pair, at + half * pairs, high);
        for (size_t i = 0; i < pairs; ++i) {
            const auto a = BitCast(d, low[i]);
            const auto b = BitCast(d, high[i]);
            T* plane = planes + 2 * i * symbols_a_piece + symbol;
            StoreU(ConcatEven(d, b, a), d, plane);
            StoreU(ConcatOdd(d, b, a), d, plane + symbols_a_piece);
        }
    }
    return symbol;
}
#endif

template <int order, typename T>
HWY_INLINE void Split(const T* HWY_RESTRICT from, size_t symbols, T* HWY_RESTRICT planes)
{
    size_t symbol = 0;
#if HWY_TARGET != HWY_SCALAR
    using Pair = std::conditional_t<sizeof(T) == 1, uint16_t, uint64_t>;
    if constexpr (order % 2 == 0 && order <= 8) {
        symbol = SplitVectors<order / 2, T, Pair>(from, symbols, planes);
    }
#endif
    for (; symbol < symbols; ++symbol) {
        for (int i = 0; i < order; ++i) {
            planes[i * symbols_a_piece + symbol] = from[symbol * order + i];
        }
    }
}

template <int order>
HWY_INLINE void
Join(const uint8_t* HWY_RESTRICT planes, size_t symbols, uint8_t* HWY_RESTRICT to)
{
    for (size_t symbol = 0; symbol < symbols; ++symbol) {
        for (int i = 0; i < order; ++i) {
            to[symbol * order + i] = planes[i * symbols_a_piece + symbol];
        }
    }
}

template <typename V>
HWY_INLINE V Sum(ScalableTag<int8_t>, V a, V b)
{
    return SaturatedAdd(a, b);
}
template <typename V>
HWY_INLINE V Sum(ScalableTag<float>, V a, V b)
{
    return Add(a, IfThenElseZero(Eq(b, b), b)); // without NaN
}

template <typename T>
HWY_INLINE void Accumulate(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, size_t count)
{
    const ScalableTag<T> d;
    size_t i = 0;
    for (; i + Lanes(d) <= count; i += Lanes(d)) {
        StoreU(Sum(d, LoadU(d, to + i), LoadU(d, from + i)), d, to + i);
    }
    if (i < count) {
        HWY_ALIGN T a[MaxLanes(d)] = {}, b[MaxLanes(d)] = {};
        std::copy(to + i, to + count, a);
        std::copy(from + i, from + count, b);
        Store(Sum(d, Load(d, a), Load(d, b)), d, a);
        std::copy(a, a + count - i, to + i);
    }
}

template <int order, typename T>
void AddSymbols(const selection& bits, const T* llr, T* soft)
{
    HWY_ALIGN T planes[order * symbols_a_piece];
    for (size_t symbol = 0; symbol < bits.symbols; symbol += symbols_a_piece) {
        const size_t count = std::min(symbols_a_piece, bits.symbols - symbol);
        const T* from = llr + symbol * order;
        if constexpr (order > 1) {
            Split<order>(from, count, planes);
        }
        for (int i = 0; i < order; ++i) {
            const T* plane = order > 1 ? planes + i * symbols_a_piece : from;
            bits.for_each_run(
                i, symbol, count, [&](size_t place, size_t first, size_t run) {
                    Accumulate(soft + place, plane + first, run);
                });
        }
    }
}

template <int order>
void TakeSymbols(const selection& bits, const uint8_t* word, uint8_t* coded)
{
    HWY_ALIGN uint8_t planes[order * symbols_a_piece];
    for (size_t symbol = 0; symbol < bits.symbols; symbol += symbols_a_piece) {
        const size_t count = std::min(symbols_a_piece, bits.symbols - symbol);
        for (int i = 0; i < order; ++i) {
            uint8_t* plane = planes + i * symbols_a_piece;
            bits.for_each_run(
                i, symbol, count, [&](size_t place, size_t first, size_t run) {
                    std::copy_n(word + place, run, plane + first);
                });
        }
        Join<order>(planes, count, coded + symbol * order);
    }
}

template <typename T>
void AddAnyOrder(const selection& bits, const T* llr, T* soft)
{
    switch (bits.order) {
    case 1:
        return AddSymbols<1>(bits, llr, soft);
    case 2:
        return AddSymbols<2>(bits, llr, soft);
    case 4:
        return AddSymbols<4>(bits, llr, soft);
    case 6:
        return AddSymbols<6>(bits, llr, soft);
    case 8:
        return AddSymbols<8>(bits, llr, soft);
    default:
        return AddSymbols<10>(bits, llr, soft);
    }
}

void add_floats(const selection& bits, const float* llr, float* soft)
{
    AddAnyOrder(bits, llr, soft);
}

void add_int8s(const selection& bits, const int8_t* llr, int8_t* soft)
{
    AddAnyOrder(bits, llr, soft);
}

void take_bits(const selection& bits, const uint8_t* word, uint8_t* coded)
{
    switch (bits.order) {
    case 1:
        return TakeSymbols<1>(bits, word, coded);
    case 2:
        return TakeSymbols<2>(bits, word, coded);
    case 4:
        return TakeSymbols<4>(bits, word, coded);
    case 6:
        return TakeSymbols<6>(bits, word, coded);
    case 8:
        return TakeSymbols<8>(bits, word, coded);
    default:
        return TakeSymbols<10>(bits, word, coded);
    }
}

} // namespace HWY_NAMESPACE
} // namespace
} // namespace gr::cudaphy::kernels::nr5g
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels::nr5g {
namespace {

HWY_EXPORT(add_floats);
HWY_EXPORT(add_int8s);
HWY_EXPORT(take_bits);

void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("nr5g::rate_matcher: " + problem);
    }
}

} // namespace

rate_matcher::rate_matcher(const parameters& wanted) : d_parameters(wanted)
{
    const int z = wanted.lifting_size;
    const int order = wanted.modulation_order;
    const int version = wanted.redundancy_version;
    require(wanted.base_graph == 1 || wanted.base_graph == 2,
            "the base graph is 1 or 2, not " + std::to_string(wanted.base_graph));
    require(lifting_set(z) >= 0, std::to_string(z) + " is no lifting size");
    require(order == 1 || (order >= 2 && order <= most_order && order % 2 == 0),
            "the modulation order is 1, 2, 4, 6, 8 or 10, not " + std::to_string(order));
    require(version >= 0 && version <= 3,
            "the redundancy version is 0 to 3, not " + std::to_string(version));
    require(wanted.limited_buffer >= 0,
            "the limited buffer has " + std::to_string(wanted.limited_buffer) + " bits");
    const auto& table = ldpc_tables::nr5g[wanted.base_graph - 1];
    d_systematic = table.systematic;
    // Indices of the standard's d: the end of the fillers, and the size of the buffer.
    const int fillers_end = (d_systematic - punctured_columns) * z;
    require(wanted.fillers >= 0 && wanted.fillers < fillers_end,
            "there are 0 to " + std::to_string(fillers_end - 1) + " fillers, not " +
                std::to_string(wanted.fillers));
    const int fillers_begin = fillers_end - wanted.fillers;
    const int columns = d_systematic + table.rows - punctured_columns;
    int buffer = columns * z;
    if (wanted.limited_buffer > 0) {
        buffer = std::min(buffer, wanted.limited_buffer);
    }
    const auto without_fillers = [&](int place) {
        return place - std::clamp(place - fillers_begin, 0, wanted.fillers);
    };
    d_soft_bits = without_fillers(buffer);
    static constexpr int starts[2][4] = { { 0, 17, 33, 56 }, { 0, 13, 25, 43 } };
    const int64_t start = starts[wanted.base_graph - 1][version];
    const int first = static_cast<int>(start * buffer / (columns * z)) * z; // k_0
    d_start = without_fillers(first) % d_soft_bits;
}

int rate_matcher::reach(int coded) const
{
    require(coded >= 0, "no " + std::to_string(coded) + " bits can be sent");
    const int64_t end = int64_t{ d_start } + coded;
    return coded == 0 ? 0 : static_cast<int>(std::min<int64_t>(end, d_soft_bits));
}

int rate_matcher::rows(int places) const
{
    const int z = d_parameters.lifting_size;
    const int columns = (places + d_parameters.fillers + z - 1) / z;
    const int rows = columns + punctured_columns - d_systematic;
    require(places >= 0 && rows <= ldpc_tables::nr5g[d_parameters.base_graph - 1].rows,
            "no code has " + std::to_string(places) + " bits");
    return std::max(core_rows, rows);
}

void rate_matcher::require_sizes(size_t coded, size_t places) const
{
    require(coded % d_parameters.modulation_order == 0,
            std::to_string(coded) + " coded bits are no whole number of symbols of " +
                std::to_string(d_parameters.modulation_order));
    require(coded <= INT32_MAX, "more than 2^31 coded bits");
    const size_t needed = reach(static_cast<int>(coded));
    require(places >= needed,
            std::to_string(coded) + " coded bits reach place " + std::to_string(needed) +
                " of the buffer, which has " + std::to_string(places));
}

void rate_matcher::match(view<const uint8_t> word, view<uint8_t> coded) const
{
    require_sizes(coded.size(), word.size());
    const int order = d_parameters.modulation_order;
    HWY_DYNAMIC_DISPATCH(take_bits)
    ({ coded.size() / order, order, size_t(d_start), size_t(d_soft_bits) },
     word.data(),
     coded.data());
}

void rate_matcher::recover(view<const float> llr, view<float> soft) const
{
    require_sizes(llr.size(), soft.size());
    const int order = d_parameters.modulation_order;
    HWY_DYNAMIC_DISPATCH(add_floats)
    ({ llr.size() / order, order, size_t(d_start), size_t(d_soft_bits) },
     llr.data(),
     soft.data());
}

void rate_matcher::recover(view<const int8_t> llr, view<int8_t> soft) const
{
    require_sizes(llr.size(), soft.size());
    const int order = d_parameters.modulation_order;
    HWY_DYNAMIC_DISPATCH(add_int8s)
    ({ llr.size() / order, order, size_t(d_start), size_t(d_soft_bits) },
     llr.data(),
     soft.data());
}

} // namespace gr::cudaphy::kernels::nr5g
#endif
