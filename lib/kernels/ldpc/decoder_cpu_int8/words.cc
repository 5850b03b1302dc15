/* SPDX-License-Identifier: GPL-3.0-or-later */
// Converts LLRs to steps, transposes codewords to bytes side by side and back, and
// converts L to bits.
#include "kernels/common/highway_targets.h"
#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cpu_int8/tile.h"
#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decoder_cpu_int8/words.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/ldpc/algebra/bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using float_tag = hn::CappedTag<float, 16>;
using float_vector = hn::Vec<float_tag>;
constexpr float_tag df;
using byte_tag = hn::CappedTag<int8_t, 64>;
constexpr byte_tag db;
constexpr hn::CappedTag<int8_t, 32> d_half;

constexpr int most = ldpc_fixed_limits::cpu().greatest_llr;

HWY_INLINE float_vector value_of(const float* at) { return hn::LoadU(df, at); }
HWY_INLINE float_vector value_of(const int8_t* at)
{
    const hn::Rebind<int8_t, float_tag> d8;
    const hn::RebindToSigned<float_tag> d32;
    return hn::ConvertTo(df, hn::PromoteTo(d32, hn::LoadU(d8, at)));
}

//! A binary16 is a float of the same bits 13 places up, but for its exponent's bias.
HWY_INLINE float_vector value_of(const float16* at)
{
    const hn::RebindToUnsigned<float_tag> du;
    const hn::Rebind<uint16_t, float_tag> d16_;
    static_assert(sizeof(float16) == sizeof(uint16_t));
    const auto bits =
        hn::PromoteTo(du, hn::LoadU(d16_, reinterpret_cast<const uint16_t*>(at)));
    const auto rest = hn::And(bits, hn::Set(du, 0x7fff));
    const auto is_number = hn::Lt(hn::BitCast(hn::RebindToSigned<float_tag>(), rest),
                                  hn::Set(hn::RebindToSigned<float_tag>(), 0x7c01));
    const auto finite =
        hn::Mul(hn::BitCast(df, hn::ShiftLeft<13>(rest)), hn::Set(df, 0x1p112f));
    const auto beyond = hn::Ge(finite, hn::Set(df, 65536.0f)); // infinity
    const auto magnitude = hn::IfThenElse(beyond, hn::Set(df, HUGE_VALF), finite);
    const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, rest));
    const auto number = hn::Or(magnitude, hn::BitCast(df, sign));
    return hn::IfThenElseZero(hn::RebindMask(df, is_number), number);
}

#if HWY_TARGET <= HWY_AVX3
//! Four vectors' worth at once, which come to bytes in four shuffles; `steps` below 0
//! negates.
template <typename Llr>
HWY_INLINE void convert_four(const Llr* from, float steps, int8_t* to)
{
    const auto some = [&](int i) HWY_ATTR {
        const auto llr = value_of(from + 16 * i);
        const auto value =
            _mm512_maskz_mul_ps(hn::Eq(llr, llr).raw, llr.raw, _mm512_set1_ps(steps));
        const auto clamped = hn::Max(hn::Min(float_vector{ value }, hn::Set(df, most)),
                                     hn::Set(df, -most));
        return _mm512_cvtps_epi32(clamped.raw); // to the nearest, ties to even
    };
    const auto packed = _mm512_packs_epi16(_mm512_packs_epi32(some(0), some(1)),
                                           _mm512_packs_epi32(some(2), some(3)));
    const auto order =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(to,
                        _mm512_add_epi8(_mm512_permutexvar_epi32(order, packed),
                                        _mm512_set1_epi8(fixed_zero)));
}
#endif

//! One vector's worth.
template <typename Llr>
HWY_INLINE void convert_some(const Llr* from, float steps, bool negate, int8_t* to)
{
    const auto value = hn::Mul(value_of(from), hn::Set(df, steps));
    const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
    const auto clamped = hn::Max(hn::Min(number, hn::Set(df, most)), hn::Set(df, -most));
    const auto flipped = negate ? hn::Neg(clamped) : clamped;
    // Added to this, a small number's integer, ties to even, is in the lowest byte.
    const auto rounded = hn::Add(flipped, hn::Set(df, 12582912.0f + fixed_zero));
    const hn::RebindToUnsigned<float_tag> du;
    const hn::Rebind<uint8_t, float_tag> d8;
    hn::StoreU(
        hn::TruncateTo(d8, hn::BitCast(du, rounded)), d8, reinterpret_cast<uint8_t*>(to));
}

template <typename Llr>
void convert_line(const Llr* from, size_t count, float steps, bool negate, int8_t* to)
{
    constexpr size_t lanes = hn::MaxLanes(df);
    size_t i = 0;
#if HWY_TARGET <= HWY_AVX3
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
        convert_four(from + i, negate ? -steps : steps, to + i);
    }
#endif
    for (; i + lanes <= count; i += lanes) {
        convert_some(from + i, steps, negate, to + i);
    }
    if (i < count) {
        Llr last[lanes] = {};
        std::copy(from + i, from + count, last);
        convert_some(last, steps, negate, to + i);
    }
}

HWY_INLINE void convert_some(const int8_t* from, bool negate, int8_t* to)
{
    const auto value =
        hn::Max(hn::Min(hn::LoadU(db, from), hn::Set(db, most)), hn::Set(db, -most));
    hn::StoreU(hn::Add(negate ? hn::Neg(value) : value, hn::Set(db, fixed_zero)), db, to);
}

void convert_line(const int8_t* from, size_t count, float steps, bool negate, int8_t* to)
{
    if (steps != 1) {
        convert_line<int8_t>(from, count, steps, negate, to);
        return;
    }
    constexpr size_t lanes = hn::MaxLanes(db);
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        convert_some(from + i, negate, to + i);
    }
    if (i < count) {
        int8_t last[lanes] = {};
        std::copy(from + i, from + count, last);
        convert_some(last, negate, to + i);
    }
}

//! How many of a vector's values are >= least or <= -least.
template <typename Llr>
HWY_INLINE size_t count_some(const Llr* at, float least)
{
    return hn::CountTrue(df, hn::Ge(hn::Abs(value_of(at)), hn::Set(df, least)));
}
HWY_INLINE size_t count_some(const int8_t* at, float least)
{
    if (least > 127) {
        return 0;
    }
    const auto magnitude =
        hn::Abs(hn::Max(hn::LoadU(d_half, at), hn::Set(d_half, int8_t{ -127 })));
    const auto below = static_cast<int8_t>(std::ceil(least) - 1);
    return hn::CountTrue(d_half, hn::Gt(magnitude, hn::Set(d_half, below)));
}

//! How many of the values that ldpc_word_steps looks at are >= least or <= -least.
template <typename Llr>
int count_at_least(const Llr* from, size_t count, float least)
{
    constexpr size_t lanes = sizeof(Llr) == 1 ? hn::MaxLanes(d_half) : hn::MaxLanes(df);
    constexpr size_t group = ldpc_word_steps::group;
    static_assert(group % lanes == 0);
    const size_t spacing = group * ldpc_word_steps::spacing(static_cast<int>(count));
    size_t found = 0;
    for (size_t first = 0; first < count; first += spacing) {
        const size_t end = std::min(first + group, count);
        size_t i = first;
        for (; i + lanes <= end; i += lanes) {
            found += count_some(from + i, least);
        }
        if (i < end) {
            Llr last[lanes] = {};
            std::copy(from + i, from + end, last);
            found += count_some(last, least);
        }
    }
    return static_cast<int>(found);
}

//! The steps of a word in a unit of LLR.
template <typename Llr>
float steps_of(const ldpc_word_steps& of, const Llr* from, size_t count)
{
    return of.typical == 0 ? of.steps : of.of_word([&](float least) {
        return count_at_least(from, count, least);
    });
}

template <typename Llr>
void convert_lines(const ldpc_decoding& decoding,
                   const void* llr,
                   size_t first,
                   size_t words,
                   fixed_tile& tile)
{
    const size_t n = decoding.code->n();
    const auto& p = decoding.parameters;
    const auto steps = decoding.word_steps();
    for (size_t word = 0; word < words; ++word) {
        const auto* from = static_cast<const Llr*>(llr) + (first + word) * n;
        tile.steps[word] = steps_of(steps, from, n);
        convert_line(from,
                     n,
                     tile.steps[word],
                     p.llr_positive == 1,
                     tile.lines.get() + word * fixed_tile::line_stride(decoding));
    }
}

#if HWY_TARGET != HWY_SCALAR
using block_tag = hn::FixedTag<uint8_t, 16>;
using block = hn::Vec<block_tag>;
constexpr block_tag d16;

//! The bytes of Rows blocks of 16, one block after the other, as the bits of their index
//! rotated once: row r of 16 columns comes to r, Rows / 2 + r, ... in pairs.
template <int Rows>
HWY_INLINE void shuffle(block* rows)
{
    block out[Rows];
    for (int i = 0; i < Rows / 2; ++i) {
        out[2 * i] = hn::InterleaveLower(d16, rows[i], rows[i + Rows / 2]);
        out[2 * i + 1] = hn::InterleaveUpper(d16, rows[i], rows[i + Rows / 2]);
    }
    std::copy_n(out, Rows, rows);
}

//! Of `Rows` lines, 16 bytes each, to 16 columns, `Rows` bytes each, `pitch` bytes apart.
template <int Rows>
HWY_INLINE void
to_columns(const int8_t* lines, size_t stride, int8_t* columns, size_t pitch)
{
    block rows[Rows];
    for (int i = 0; i < Rows; ++i) {
        rows[i] = hn::LoadU(d16, reinterpret_cast<const uint8_t*>(lines + i * stride));
    }
    for (int i = 1; i < Rows; i *= 2) {
        shuffle<Rows>(rows);
    }
    for (int i = 0; i < Rows; ++i) {
        const size_t at = Rows == 16 ? i * pitch : i * size_t{ 16 };
        hn::StoreU(rows[i], d16, reinterpret_cast<uint8_t*>(columns + at));
    }
}

template <int Rows>
HWY_INLINE void
to_lines(const int8_t* columns, size_t pitch, int8_t* lines, size_t stride)
{
    block rows[Rows];
    for (int i = 0; i < Rows; ++i) {
        const size_t at = Rows == 16 ? i * pitch : i * size_t{ 16 };
        rows[i] = hn::LoadU(d16, reinterpret_cast<const uint8_t*>(columns + at));
    }
    for (int i = 0; i < 4; ++i) {
        shuffle<Rows>(rows);
    }
    for (int i = 0; i < Rows; ++i) {
        hn::StoreU(rows[i], d16, reinterpret_cast<uint8_t*>(lines + i * stride));
    }
}

//! Lines and columns change places, 16 columns and up to 16 lines at a time.
template <int Rows>
void interleave(const int8_t* lines, size_t stride, size_t bits, int words, int8_t* out)
{
    for (size_t bit = 0; bit < bits; bit += 16) {
        for (int word = 0; word < words; word += Rows) {
            to_columns<Rows>(
                lines + word * stride + bit, stride, out + bit * words + word, words);
        }
    }
}

template <int Rows>
void separate(const int8_t* from, size_t stride, size_t bits, int words, int8_t* lines)
{
    for (size_t bit = 0; bit < bits; bit += 16) {
        for (int word = 0; word < words; word += Rows) {
            to_lines<Rows>(
                from + bit * words + word, words, lines + word * stride + bit, stride);
        }
    }
}
#endif

} // namespace

void fixed_convert(const ldpc_decoding& decoding,
                   const ldpc_decoder::received& llr,
                   size_t first,
                   size_t words,
                   fixed_tile& tile)
{
    switch (llr.type) {
    case ldpc_decoder::number::float32:
        return convert_lines<float>(decoding, llr.data, first, words, tile);
    case ldpc_decoder::number::float16:
        return convert_lines<float16>(decoding, llr.data, first, words, tile);
    case ldpc_decoder::number::int8:
        return convert_lines<int8_t>(decoding, llr.data, first, words, tile);
    }
}

const int8_t* fixed_interleave(fixed_tile& tile,
                               [[maybe_unused]] size_t stride,
                               [[maybe_unused]] size_t bits,
                               int words,
                               int8_t* out)
{
    const int8_t* lines = tile.lines.get();
    switch (words) {
    case 1:
        return lines;
#if HWY_TARGET != HWY_SCALAR
    case 2:
        interleave<2>(lines, stride, bits, words, out);
        break;
    case 4:
        interleave<4>(lines, stride, bits, words, out);
        break;
    case 8:
        interleave<8>(lines, stride, bits, words, out);
        break;
    default:
        interleave<16>(lines, stride, bits, words, out);
#endif
    }
    return out;
}

const int8_t* fixed_separate(fixed_tile& tile,
                             const int8_t* from,
                             [[maybe_unused]] size_t stride,
                             [[maybe_unused]] size_t bits,
                             int words)
{
    int8_t* lines = tile.lines.get();
    switch (words) {
    case 1:
        return from;
#if HWY_TARGET != HWY_SCALAR
    case 2:
        separate<2>(from, stride, bits, words, lines);
        break;
    case 4:
        separate<4>(from, stride, bits, words, lines);
        break;
    case 8:
        separate<8>(from, stride, bits, words, lines);
        break;
    default:
        separate<16>(from, stride, bits, words, lines);
#endif
    }
    return lines;
}

void fixed_least(const ldpc_fixed_plan& plan,
                 const std::vector<ldpc_fixed_plan::run>& runs,
                 const fixed_tile& tile,
                 int8_t* least)
{
    constexpr size_t lanes = hn::MaxLanes(db);
    auto sum = hn::Set(db, fixed_zero + most);
    for (const auto& run : runs) {
        const size_t bytes = size_t{ run.count } * plan.words;
        const int8_t* l = tile.l.get() + run.at;
        for (size_t i = 0; i + lanes <= bytes; i += lanes) {
            sum = hn::Min(sum, hn::LoadU(db, l + i));
        }
        if (bytes >= lanes) {
            sum = hn::Min(sum, hn::LoadU(db, l + bytes - lanes));
        } else {
            HWY_ALIGN int8_t partial[lanes];
            std::fill(std::copy_n(l, bytes, partial), partial + lanes, fixed_zero + most);
            sum = hn::Min(sum, hn::Load(db, partial));
        }
    }
    hn::StoreU(sum, db, least);
}

void fixed_keep(fixed_tile& tile, size_t bytes, const int8_t* set)
{
    const auto mask = hn::MaskFromVec(hn::LoadU(db, set));
    const int8_t* from = tile.interleaved.get();
    int8_t* to = tile.decided.get();
    for (size_t i = 0; i < bytes; i += hn::MaxLanes(db)) {
        hn::Store(hn::IfThenElse(mask, hn::Load(db, from + i), hn::Load(db, to + i)),
                  db,
                  to + i);
    }
}

void fixed_bits(const int8_t* l, size_t bits, uint8_t* to)
{
    const hn::RebindToUnsigned<byte_tag> du;
    constexpr size_t lanes = hn::MaxLanes(db);
    size_t i = 0;
    for (; i + lanes <= bits; i += lanes) {
        const auto negative = hn::Lt(hn::LoadU(db, l + i), hn::Set(db, fixed_zero));
        hn::StoreU(
            hn::And(hn::BitCast(du, hn::VecFromMask(db, negative)), hn::Set(du, 1)),
            du,
            to + i);
    }
    for (; i < bits; ++i) {
        to[i] = l[i] < fixed_zero;
    }
}

void fixed_packed_bits(const int8_t* l, size_t bits, uint8_t* to)
{
    size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t lanes = hn::MaxLanes(db);
    // The first bit of a mask is its lowest.
    HWY_ALIGN static constexpr int8_t backwards[] = { 7,  6,  5,  4,  3,  2,  1, 0,
                                                      15, 14, 13, 12, 11, 10, 9, 8 };
    const auto order = hn::LoadDup128(db, backwards);
    for (; i + lanes <= bits; i += lanes) {
        const auto eights = hn::TableLookupBytes(hn::LoadU(db, l + i), order);
        uint8_t mask[8];
        hn::StoreMaskBits(db, hn::Lt(eights, hn::Set(db, fixed_zero)), mask);
        std::memcpy(to + i / 8, mask, lanes / 8);
    }
#endif
    for (; i < bits; i += 8) {
        uint8_t byte = 0;
        for (size_t bit = i; bit < std::min(i + 8, bits); ++bit) {
            byte |= (l[bit] < fixed_zero) << (7 - (bit - i));
        }
        to[i / 8] = byte;
    }
}

void fixed_packed_words([[maybe_unused]] const int8_t* from,
                        [[maybe_unused]] size_t bits,
                        [[maybe_unused]] size_t count,
                        [[maybe_unused]] uint8_t* to,
                        [[maybe_unused]] size_t stride)
{
#if HWY_TARGET != HWY_SCALAR
    alignas(64) uint64_t square[side], rows[side];
    for (size_t bit = 0; bit < bits; bit += side) {
        const size_t height = std::min(side, bits - bit);
        for (size_t i = 0; i < side; ++i) {
            uint8_t mask[8] = {};
            if (i < height) {
                const auto l = hn::LoadU(db, from + (bit + i) * hn::MaxLanes(db));
                hn::StoreMaskBits(db, hn::Lt(l, hn::Set(db, fixed_zero)), mask);
            }
            std::memcpy(&square[swapped(i)], mask, sizeof mask);
        }
        transpose_swapped(square, rows);
        reverse_in_bytes(rows, side);
        for (size_t word = 0; word < count; ++word) {
            uint8_t* out = to + word * stride + bit / 8;
            if (height == side) {
                std::memcpy(out, &rows[word], sizeof rows[word]);
            } else {
                std::memcpy(out, &rows[word], (height + 7) / 8);
            }
        }
    }
#endif
}

void fixed_soft(const int8_t* l, size_t bits, float steps, bool negated, float* to)
{
    const hn::Rebind<int8_t, float_tag> d8;
    const hn::RebindToSigned<float_tag> d32;
    const auto divisor = hn::Set(df, steps);
    constexpr size_t lanes = hn::MaxLanes(df);
    size_t i = 0;
    for (; i + lanes <= bits; i += lanes) {
        const auto value =
            hn::Sub(hn::PromoteTo(d32, hn::LoadU(d8, l + i)), hn::Set(d32, fixed_zero));
        const auto flipped = negated ? hn::Neg(value) : value;
        hn::StoreU(hn::Div(hn::ConvertTo(df, flipped), divisor), df, to + i);
    }
    for (; i < bits; ++i) {
        const int value = l[i] - fixed_zero;
        to[i] = static_cast<float>(negated ? -value : value) / steps;
    }
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
HWY_EXPORT(fixed_convert);
HWY_EXPORT(fixed_interleave);
HWY_EXPORT(fixed_separate);
HWY_EXPORT(fixed_least);
HWY_EXPORT(fixed_keep);
HWY_EXPORT(fixed_bits);
HWY_EXPORT(fixed_packed_bits);
HWY_EXPORT(fixed_packed_words);
HWY_EXPORT(fixed_soft);

void fixed_convert(const ldpc_decoding& decoding,
                   const ldpc_decoder::received& llr,
                   size_t first,
                   size_t words,
                   fixed_tile& tile)
{
    HWY_DYNAMIC_DISPATCH(fixed_convert)(decoding, llr, first, words, tile);
}

const int8_t*
fixed_interleave(fixed_tile& tile, size_t stride, size_t bits, int words, int8_t* out)
{
    return HWY_DYNAMIC_DISPATCH(fixed_interleave)(tile, stride, bits, words, out);
}

const int8_t* fixed_separate(
    fixed_tile& tile, const int8_t* from, size_t stride, size_t bits, int words)
{
    return HWY_DYNAMIC_DISPATCH(fixed_separate)(tile, from, stride, bits, words);
}

void fixed_least(const ldpc_fixed_plan& plan,
                 const std::vector<ldpc_fixed_plan::run>& runs,
                 const fixed_tile& tile,
                 int8_t* least)
{
    HWY_DYNAMIC_DISPATCH(fixed_least)(plan, runs, tile, least);
}

void fixed_keep(fixed_tile& tile, size_t bytes, const int8_t* set)
{
    HWY_DYNAMIC_DISPATCH(fixed_keep)(tile, bytes, set);
}

void fixed_bits(const int8_t* l, size_t bits, uint8_t* to)
{
    HWY_DYNAMIC_DISPATCH(fixed_bits)(l, bits, to);
}

void fixed_packed_bits(const int8_t* l, size_t bits, uint8_t* to)
{
    HWY_DYNAMIC_DISPATCH(fixed_packed_bits)(l, bits, to);
}

void fixed_packed_words(
    const int8_t* from, size_t bits, size_t count, uint8_t* to, size_t stride)
{
    HWY_DYNAMIC_DISPATCH(fixed_packed_words)(from, bits, count, to, stride);
}

void fixed_soft(const int8_t* l, size_t bits, float steps, bool negated, float* to)
{
    HWY_DYNAMIC_DISPATCH(fixed_soft)(l, bits, steps, negated, to);
}

} // namespace gr::cudaphy::kernels
#endif
