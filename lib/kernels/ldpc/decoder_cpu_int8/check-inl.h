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
static_assert(limits.rounding == .25 && limits.greatest_correction % 2 == 0);

//! The signs of a check, and what both kinds of answers do with them.
class signed_answers
{
public:
    HWY_INLINE explicit signed_answers(vector sum_of_q) : d_signs(sum_of_q) {}

protected:
    //! Bytes of r, with the sign of the check.
    HWY_INLINE magnitudes with_sign(vector r) const
    {
        return hn::BitCast(du, with_sign_of(d_signs, r));
    }
    //! Bytes of positive r: 3/4 of them, rounded to the nearest (halves down), or half of
    //! them, rounded up. Averages are rounded up. \param most_of_half
    //! fixed_messages::most_of_half
    static HWY_INLINE vector weaker(vector message, magnitudes most_of_half)
    {
        const auto whole = hn::BitCast(du, message);
        const auto less_2 = hn::Set(du, static_cast<uint8_t>(fixed_zero - 2));
        const auto half = hn::AverageRound(whole, less_2); // and 1 less
        return hn::BitCast(di, hn::AverageRound(whole, hn::Min(half, most_of_half)));
    }
    //! `weak` where the message's sign changes, else `whole`. \param r  the message
    //! before
    HWY_INLINE magnitudes damped(vector q,
                                 const int8_t* r,
                                 magnitudes weak,
                                 magnitudes whole) const
    {
        const auto before = hn::Sub(hn::Load(di, r), hn::Set(di, fixed_zero));
        const auto changes =
            hn::IfNegativeThenElse(hn::Xor(q, d_signs), hn::Neg(before), before);
        return hn::BitCast(du,
                           hn::IfNegativeThenElse(
                               changes, hn::BitCast(di, weak), hn::BitCast(di, whole)));
    }
    static HWY_INLINE magnitudes of_lanes(magnitudes magnitude,
                                          magnitudes chosen,
                                          magnitudes if_equal,
                                          magnitudes else_)
    {
        const auto is_equal = hn::Eq(hn::BitCast(di, magnitude), hn::BitCast(di, chosen));
        return hn::IfThenElse(hn::RebindMask(du, is_equal), if_equal, else_);
    }

private:
    vector d_signs;
};

//! The results of a check before each bit's sign is applied. Messages are products of the
//! least magnitude and a factor.
template <bool Damps>
class scaled_answers : signed_answers
{
public:
    using least_found = minima;
    //! Codes whose messages are damped have short rows.
    static constexpr size_t most_unrolled = Damps ? 12 : 20;

    HWY_INLINE scaled_answers(const minima& found,
                              vector sum_of_q,
                              const message_table& table,
                              magnitudes most_of_half)
        : signed_answers(sum_of_q), d_least(found.least)
    {
        const auto second_r = table(found.second), least_r = table(found.least);
        d_to_least = with_sign(second_r);
        d_to_others = with_sign(least_r);
        d_damped_to_least = with_sign(weaker(second_r, most_of_half));
        d_damped_to_others = with_sign(weaker(least_r, most_of_half));
        d_of_least = hn::SaturatedAdd(found.least, d_to_least);
    }
    //! A message with its sign.
    HWY_INLINE vector to(vector q, magnitudes magnitude, const int8_t* r) const
    {
        const auto message = Damps
                                 ? damped_message(q, magnitude, r)
                                 : of_lanes(magnitude, d_least, d_to_least, d_to_others);
        return with_sign_of(q, hn::BitCast(di, message));
    }
    //! L = q + r. The sum of bytes saturates where L does. \param r  the message before
    HWY_INLINE vector sum(vector q, magnitudes magnitude, const int8_t* r) const
    {
        if (Damps) {
            const auto sum = hn::SaturatedAdd(magnitude, damped_message(q, magnitude, r));
            return with_sign_of(q, hn::BitCast(di, sum));
        }
#if HWY_TARGET <= HWY_AVX3
        const magnitudes sum{ _mm512_mask_adds_epu8(
            d_of_least.raw,
            _mm512_cmpneq_epu8_mask(magnitude.raw, d_least.raw),
            magnitude.raw,
            d_to_others.raw) };
#else
        const auto sum = of_lanes(
            magnitude, d_least, d_of_least, hn::SaturatedAdd(magnitude, d_to_others));
#endif
        return with_sign_of(q, hn::BitCast(di, sum));
    }

private:
    //! A message before q's sign is applied; damped if its sign changes.
    HWY_INLINE magnitudes damped_message(vector q,
                                         magnitudes magnitude,
                                         const int8_t* r) const
    {
        return damped(q,
                      r,
                      of_lanes(magnitude, d_least, d_damped_to_least, d_damped_to_others),
                      of_lanes(magnitude, d_least, d_to_least, d_to_others));
    }

    magnitudes d_to_least, d_to_others;               //!< messages as bytes of r
    magnitudes d_damped_to_least, d_damped_to_others; //!< the same
    magnitudes d_of_least; //!< L of the bits of the least magnitude
    magnitudes d_least;
};

//! The same, damped, if messages are corrected (ldpc_fixed_corrected()).
class corrected_answers : signed_answers
{
public:
    //! The three least magnitudes.
    struct least_found : minima {
        magnitudes third;

        HWY_INLINE least_found() : third(least) {}
        HWY_INLINE void add(magnitudes magnitude)
        {
            third = hn::Min(third, hn::Max(second, magnitude));
            minima::add(magnitude);
        }
        HWY_INLINE void add(size_t, magnitudes magnitude) { add(magnitude); }
    };
    //! Codes whose messages are corrected have rows of three and four.
    static constexpr size_t most_unrolled = 4;

    HWY_INLINE corrected_answers(const least_found& found,
                                 vector sum_of_q,
                                 const message_table&,
                                 magnitudes most_of_half)
        : signed_answers(sum_of_q), d_least(found.least), d_second(found.second)
    {
        const auto give =
            [&](magnitudes least, magnitudes second, answer& to) INLINE_LAMBDA {
                const auto message = corrected(least, second);
                to = { with_sign(message), with_sign(weaker(message, most_of_half)) };
            };
        give(found.second, found.third, d_to_least);
        give(found.least, found.third, d_to_second);
        give(found.least, found.second, d_to_others);
    }
    HWY_INLINE vector to(vector q, magnitudes magnitude, const int8_t* r) const
    {
        return with_sign_of(q, hn::BitCast(di, message(q, magnitude, r)));
    }
    HWY_INLINE vector sum(vector q, magnitudes magnitude, const int8_t* r) const
    {
        const auto sum = hn::SaturatedAdd(magnitude, message(q, magnitude, r));
        return with_sign_of(q, hn::BitCast(di, sum));
    }

private:
    //! A message as bytes of r, and the same damped.
    struct answer {
        magnitudes whole, weak;
    };

    //! The message as bytes of positive r.
    static HWY_INLINE vector corrected(magnitudes least, magnitudes second)
    {
        const auto most_quarters = hn::Set(du, limits.greatest_correction / 2);
        const auto half = hn::Min(least, most_quarters);
        const auto quarters =
            hn::SaturatedSub(hn::Add(half, half), hn::Sub(second, least));
        // Quarters of a step are rounded as limits.rounding says.
        const auto rounded = hn::Add(quarters, hn::Set(du, 2));
        const auto correction = hn::ShiftRight<2>(rounded);
        const auto most = hn::Set(du, limits.greatest_r);
        const auto message = hn::Min(hn::Sub(least, correction), most);
        return hn::Add(hn::BitCast(di, message), hn::Set(di, fixed_zero));
    }
    HWY_INLINE magnitudes message(vector q, magnitudes magnitude, const int8_t* r) const
    {
        const auto chosen = [&](magnitudes answer::*which) INLINE_LAMBDA {
            const auto to_more =
                of_lanes(magnitude, d_second, d_to_second.*which, d_to_others.*which);
            return of_lanes(magnitude, d_least, d_to_least.*which, to_more);
        };
        return damped(q, r, chosen(&answer::weak), chosen(&answer::whole));
    }

    answer d_to_least, d_to_second, d_to_others;
    magnitudes d_least, d_second;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
