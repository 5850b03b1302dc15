/* SPDX-License-Identifier: GPL-3.0-or-later */
// What sweep-inl.h computes for a vector of checks, compiled for each instruction set.
#if defined(CUDAPHY_LDPC_CHECK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_LDPC_CHECK_INL_H
#undef CUDAPHY_LDPC_CHECK_INL_H
#else
#define CUDAPHY_LDPC_CHECK_INL_H
#endif

#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cpu_int8/tile.h"
#include <hwy/highway.h>

// Unrolled code is fast only if the compiler inlines every copy of the lambda.
#undef INLINE_LAMBDA
#define INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using signed_tag = hn::CappedTag<int8_t, 64>;
using unsigned_tag = hn::RebindToUnsigned<signed_tag>;
using vector = hn::Vec<signed_tag>;
using magnitudes = hn::Vec<unsigned_tag>;
constexpr signed_tag di;
constexpr unsigned_tag du;
constexpr size_t lanes = hn::MaxLanes(di);

//! The identity, which keeps the compiler from turning next - (L - r) into (next + r) -
//! L. That would be one operation more, because L - r is already computed.
template <typename Vector>
HWY_INLINE Vector settled(Vector x)
{
#if HWY_TARGET <= HWY_AVX3 && defined(__GNUC__)
    __asm__("" : "+v"(x.raw));
#endif
    return x;
}

//! -x if q < 0, else x; x is a byte of L or r in memory.
HWY_INLINE vector with_sign_of(vector q, vector x)
{
    const auto twice_zero = hn::Set(di, int8_t(2 * fixed_zero));
#if HWY_TARGET <= HWY_AVX3
    // A compare, because moving signs to a mask would use the port of the minima.
    return vector{ _mm512_mask_sub_epi8(
        x.raw,
        _mm512_cmplt_epi8_mask(q.raw, _mm512_setzero_si512()),
        twice_zero.raw,
        x.raw) };
#else
    return hn::IfNegativeThenElse(q, hn::Sub(twice_zero, x), x);
#endif
}

#if HWY_TARGET == HWY_AVX3_DL
class message_table
{
public:
    explicit message_table(const fixed_messages& messages)
        : d_low(hn::Load(di, messages.message)),
          d_high(hn::Load(di, messages.message + 64))
    {
    }
    HWY_INLINE vector operator()(magnitudes m) const
    {
        return vector{ _mm512_permutex2var_epi8(d_low.raw, m.raw, d_high.raw) };
    }

private:
    vector d_low, d_high;
};
#elif HWY_TARGET == HWY_SCALAR
class message_table
{
public:
    explicit message_table(const fixed_messages& messages) : d_messages(messages) {}
    HWY_INLINE vector operator()(magnitudes m) const
    {
        return hn::Set(di, d_messages.message[hn::GetLane(m)]);
    }

private:
    const fixed_messages& d_messages;
};
#else
//! Eight tables of 16 entries; three bits of the index choose the table.
class message_table
{
public:
    explicit message_table(const fixed_messages& messages) : d_messages(messages) {}
    HWY_INLINE vector operator()(magnitudes m) const
    {
        const auto low = hn::BitCast(di, hn::And(m, hn::Set(du, 15)));
        const auto index = hn::BitCast(di, m);
        const auto message = [&](int i) INLINE_LAMBDA {
            return hn::TableLookupBytes(hn::LoadDup128(di, d_messages.message + 16 * i),
                                        low);
        };
        const auto has = [&](int bit) INLINE_LAMBDA {
            const auto bits = hn::Set(di, static_cast<int8_t>(bit));
            return hn::Eq(hn::And(index, bits), bits);
        };
        const auto b16 = has(16), b32 = has(32), b64 = has(64);
        const auto pair = [&](int i) INLINE_LAMBDA {
            return hn::IfThenElse(b16, message(i + 1), message(i));
        };
        const auto four = [&](int i) INLINE_LAMBDA {
            return hn::IfThenElse(b32, pair(i + 2), pair(i));
        };
        return hn::IfThenElse(b64, four(4), four(0));
    }

private:
    const fixed_messages& d_messages;
};
#endif

//! The results of the first pass over a check's bits.
struct minima {
    magnitudes least, second;

    HWY_INLINE minima() : least(hn::Set(du, ldpc_fixed_greatest_message)), second(least)
    {
    }
    HWY_INLINE void add(magnitudes magnitude)
    {
        second = hn::Min(second, hn::Max(least, magnitude));
        least = hn::Min(least, magnitude);
    }
    //! The same after i bits, with i known at compile time.
    HWY_INLINE void add(size_t i, magnitudes magnitude)
    {
        if (i == 0) {
            least = magnitude;
        } else if (i == 1) {
            second = hn::Max(least, magnitude);
            least = hn::Min(least, magnitude);
        } else {
            add(magnitude);
        }
    }
};

constexpr auto limits = ldpc_fixed_limits::cpu();
static_assert(limits.least_l == -limits.greatest_l && limits.keeps_change);
static_assert(limits.greatest_l + limits.greatest_r <= 127); // q = L - r is a byte
static_assert(uint8_t(fixed_zero) + limits.greatest_l == 255);

//! The results of a check before each bit's sign is applied.
struct answers {
    magnitudes to_least, to_others;               //!< messages as bytes of r
    magnitudes damped_to_least, damped_to_others; //!< the same
    magnitudes of_least; //!< L of the bits of the least magnitude
    magnitudes least;
    vector signs;

    //! \param most_of_half  fixed_messages::most_of_half
    HWY_INLINE answers(const minima& found,
                       vector sum_of_q,
                       const message_table& table,
                       magnitudes most_of_half)
        : least(found.least), signs(sum_of_q)
    {
        const auto second_r = table(found.second), least_r = table(found.least);
        to_least = hn::BitCast(du, with_sign_of(signs, second_r));
        to_others = hn::BitCast(du, with_sign_of(signs, least_r));
        damped_to_least =
            hn::BitCast(du, with_sign_of(signs, weaker(second_r, most_of_half)));
        damped_to_others =
            hn::BitCast(du, with_sign_of(signs, weaker(least_r, most_of_half)));
        of_least = hn::SaturatedAdd(found.least, to_least);
    }
    //! A message with its sign.
    template <bool Damps>
    HWY_INLINE vector to(vector q, magnitudes magnitude, const int8_t* r) const
    {
        const auto message =
            Damps ? damped(q, magnitude, r) : of_lanes(magnitude, to_least, to_others);
        return with_sign_of(q, hn::BitCast(di, message));
    }
    //! L = q + r. The sum of bytes saturates where L does. \param r  the message before
    template <bool Damps>
    HWY_INLINE vector sum(vector q, magnitudes magnitude, const int8_t* r) const
    {
        if (Damps) {
            const auto sum = hn::SaturatedAdd(magnitude, damped(q, magnitude, r));
            return with_sign_of(q, hn::BitCast(di, sum));
        }
#if HWY_TARGET <= HWY_AVX3
        const magnitudes sum{ _mm512_mask_adds_epu8(
            of_least.raw,
            _mm512_cmpneq_epu8_mask(magnitude.raw, least.raw),
            magnitude.raw,
            to_others.raw) };
#else
        const auto sum =
            of_lanes(magnitude, of_least, hn::SaturatedAdd(magnitude, to_others));
#endif
        return with_sign_of(q, hn::BitCast(di, sum));
    }

private:
    //! Bytes of positive r: 3/4 of them, rounded to the nearest (halves down), or half of
    //! them, rounded up. Averages are rounded up.
    static HWY_INLINE vector weaker(vector message, magnitudes most_of_half)
    {
        const auto whole = hn::BitCast(du, message);
        const auto less_2 = hn::Set(du, static_cast<uint8_t>(fixed_zero - 2));
        const auto half = hn::AverageRound(whole, less_2); // and 1 less
        return hn::BitCast(di, hn::AverageRound(whole, hn::Min(half, most_of_half)));
    }
    //! The messages before q's sign is applied; damped if their sign changes.
    HWY_INLINE magnitudes damped(vector q, magnitudes magnitude, const int8_t* r) const
    {
        const auto before = hn::Sub(hn::Load(di, r), hn::Set(di, fixed_zero));
        const auto changes =
            hn::IfNegativeThenElse(hn::Xor(q, signs), hn::Neg(before), before);
        return hn::BitCast(
            du,
            hn::IfNegativeThenElse(
                changes,
                hn::BitCast(di, of_lanes(magnitude, damped_to_least, damped_to_others)),
                hn::BitCast(di, of_lanes(magnitude, to_least, to_others))));
    }
    HWY_INLINE magnitudes of_lanes(magnitudes magnitude,
                                   magnitudes if_least,
                                   magnitudes else_) const
    {
        const auto is_least = hn::Eq(hn::BitCast(di, magnitude), hn::BitCast(di, least));
        return hn::IfThenElse(hn::RebindMask(du, is_least), if_least, else_);
    }
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
