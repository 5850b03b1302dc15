/* SPDX-License-Identifier: GPL-3.0-or-later */
// The arithmetic of cpu.cc, compiled for each instruction set: loading received values,
// and one iteration.
#if defined(CUDAPHY_LDPC_DECODER_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_LDPC_DECODER_LANES_INL_H
#undef CUDAPHY_LDPC_DECODER_LANES_INL_H
#else
#define CUDAPHY_LDPC_DECODER_LANES_INL_H
#endif

#include "kernels/ldpc/decoder/cpu.h"
#include <algorithm>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using lane_tag = hn::CappedTag<float, most_lanes>;
using vector = hn::Vec<lane_tag>;
constexpr lane_tag d;

// A vector of received values as they are.

vector as_float(const float* from) { return hn::LoadU(d, from); }

vector as_float(const int8_t* from)
{
    const hn::RebindToSigned<lane_tag> di;
    const hn::Rebind<int8_t, lane_tag> d8;
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from)));
}

//! By hand, because not every target's own conversion keeps infinities and NaN.
vector as_float(const float16* from)
{
    const hn::RebindToUnsigned<lane_tag> du;
    const hn::RebindToSigned<lane_tag> di;
    const hn::Rebind<uint16_t, lane_tag> d16;
    const auto half =
        hn::PromoteTo(du, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from)));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000)));
    const auto magnitude = hn::And(half, hn::Set(du, 0x7fff));
    const auto exponents = hn::Set(du, 112u << 23); // what the biases differ by
    const auto number = hn::Add(hn::ShiftLeft<13>(magnitude), exponents);
    const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7bff));
    const auto more = hn::IfThenElseZero(hn::RebindMask(du, special), exponents);
    const auto subnormal = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, 0x400));
    const auto value = hn::IfThenElse(
        hn::RebindMask(d, subnormal),
        hn::Mul(hn::ConvertTo(d, hn::BitCast(di, magnitude)), hn::Set(d, 0x1p-24f)),
        hn::BitCast(d, hn::Add(number, more)));
    return hn::Or(value, hn::BitCast(d, sign));
}

float one_as_float(float from) { return from; }
float one_as_float(int8_t from) { return from; }
float one_as_float(float16 from) { return from_float16(from.bits); }

//! Sets `l` to the received values.
template <typename Llr>
void load(const cpu_plan& plan, const cpu_words& words, float* chunks, float* l)
{
    const hn::RebindToSigned<lane_tag> di;
    const size_t lanes = hn::Lanes(d);
    const auto& code = *plan.decoding.code;
    const size_t n = code.n();
    // Lanes without a codeword take the first codeword.
    HWY_ALIGN int32_t start[most_lanes] = {};
    for (size_t lane = 0; lane < words.count; ++lane) {
        start[lane] = static_cast<int32_t>(lane * chunk_stride);
    }
    const auto starts = hn::Load(di, start);
    const auto limit = hn::Set(d, ldpc_decoding::clamp);
    const auto scale = hn::Set(d, plan.decoding.parameters.llr_scale);
    const auto flip =
        plan.decoding.parameters.llr_positive == 1 ? hn::SignBit(d) : hn::Zero(d);
    for (const int column : code.punctured()) {
        hn::Store(hn::Zero(d), d, l + column * lanes);
    }
    for (const int column : code.shortened()) {
        hn::Store(limit, d, l + column * lanes);
    }
    for (size_t first = 0; first < n; first += chunk) {
        const size_t count = std::min(chunk, n - first);
        for (size_t lane = 0; lane < words.count; ++lane) {
            const Llr* from = static_cast<const Llr*>(words.llr) + lane * n + first;
            float* to = chunks + lane * chunk_stride;
            size_t i = 0;
            for (; i + lanes <= count; i += lanes) {
                hn::StoreU(as_float(from + i), d, to + i);
            }
            for (; i < count; ++i) {
                to[i] = one_as_float(from[i]);
            }
        }
        for (size_t i = 0; i < count; ++i) {
            const size_t column =
                code.transmitted().empty() ? first + i : code.transmitted()[first + i];
            const auto value = hn::Mul(hn::GatherIndex(d, chunks + i, starts), scale);
            const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
            const auto clamped = hn::Max(hn::Min(number, limit), hn::Neg(limit));
            hn::Store(hn::Xor(clamped, flip), d, l + column * lanes);
        }
    }
}

//! One iteration of min-sum; in the first one all messages so far are 0.
template <bool First, bool Flooding>
void min_sum(const cpu_plan& plan, float factor, cpu_tile& tile)
{
    const size_t lanes = hn::Lanes(d);
    const auto scale = hn::Set(d, factor);
    const auto offset = hn::Set(d, plan.decoding.offset());
    const auto sign_bit = hn::SignBit(d);
    float* HWY_RESTRICT l = tile.l.get();
    float* HWY_RESTRICT sums = tile.sums.get();
    float* HWY_RESTRICT q = tile.q.get();
    float* HWY_RESTRICT magnitude = tile.magnitudes.get();
    const uint32_t* HWY_RESTRICT at = plan.offsets.data();
    edge_bits* HWY_RESTRICT edge = tile.edges.data();

    for (const auto& check : plan.schedule.checks) {
        const int degree = check.degree;
        auto least = hn::Set(d, ldpc_decoding::clamp);
        auto second = least;
        auto signs = hn::Zero(d);
        const auto old_least = First ? least : hn::Load(d, magnitude);
        const auto old_others = First ? least : hn::Load(d, magnitude + lanes);
        for (int slot = 0; slot < degree; ++slot) {
            auto value = hn::Load(d, l + at[slot]);
            if (!First) {
                const auto at_least = hn::LoadMaskBits(d, edge[slot].least);
                const auto negative = hn::LoadMaskBits(d, edge[slot].negative);
                const auto r = hn::Xor(hn::IfThenElse(at_least, old_least, old_others),
                                       hn::IfThenElseZero(negative, sign_bit));
                value = hn::Sub(value, r);
            }
            hn::Store(value, d, q + slot * lanes);
            const auto absolute = hn::Abs(value);
            signs = hn::Xor(signs, value);
            second = hn::Min(second, hn::Max(least, absolute));
            least = hn::Min(least, absolute);
        }
        // The bit with the least magnitude gets the second least, all others the least.
        const auto to_least = hn::ZeroIfNegative(hn::Sub(hn::Mul(second, scale), offset));
        const auto to_others = hn::ZeroIfNegative(hn::Sub(hn::Mul(least, scale), offset));
        hn::Store(to_least, d, magnitude);
        hn::Store(to_others, d, magnitude + lanes);
        for (int slot = 0; slot < degree; ++slot) {
            const auto value = hn::Load(d, q + slot * lanes);
            const auto at_least = hn::Eq(hn::Abs(value), least);
            const auto r = hn::CopySign(hn::IfThenElse(at_least, to_least, to_others),
                                        hn::Xor(signs, value));
            hn::StoreMaskBits(d, at_least, edge[slot].least);
            hn::StoreMaskBits(d, hn::Lt(r, hn::Zero(d)), edge[slot].negative);
            if (Flooding) {
                float* sum = sums + at[slot];
                hn::Store(hn::Add(hn::Load(d, sum), r), d, sum);
            } else {
                hn::Store(hn::Add(value, r), d, l + at[slot]);
            }
        }
        at += degree;
        edge += degree;
        magnitude += 2 * lanes;
    }
}

//! The message of two bits of a check to the third one, all as magnitudes.
vector box_plus(vector a, vector b)
{
    const auto one = hn::Set(d, 1.0f);
    const auto far = hn::Exp(d, hn::Neg(hn::Add(a, b)));
    const auto near = hn::Exp(d, hn::Neg(hn::Abs(hn::Sub(a, b))));
    const auto change = hn::Div(hn::Sub(far, near), hn::Add(one, near));
    return hn::ZeroIfNegative(hn::Add(hn::Min(a, b), hn::Log1p(d, change)));
}

//! One iteration of sum-product.
template <bool Flooding>
void sum_product(const cpu_plan& plan, cpu_tile& tile)
{
    const size_t lanes = hn::Lanes(d);
    const auto limit = hn::Set(d, ldpc_decoding::clamp);
    const auto nothing =
        hn::Set(d, 1e30f); // beyond every LLR: the sum of no bits is even
    float* HWY_RESTRICT l = tile.l.get();
    float* HWY_RESTRICT sums = tile.sums.get();
    float* HWY_RESTRICT q = tile.q.get();
    float* HWY_RESTRICT known = tile.known.get();
    float* HWY_RESTRICT message = tile.messages.get();
    const uint32_t* HWY_RESTRICT at = plan.offsets.data();

    for (const auto& check : plan.schedule.checks) {
        auto before = nothing;
        auto signs = hn::Zero(d);
        for (int slot = 0; slot < check.degree; ++slot) {
            const auto value =
                hn::Sub(hn::Load(d, l + at[slot]), hn::Load(d, message + slot * lanes));
            hn::Store(value, d, q + slot * lanes);
            hn::Store(before, d, known + slot * lanes);
            before = box_plus(before, hn::Abs(value));
            signs = hn::Xor(signs, value);
        }
        auto behind = nothing;
        for (int slot = check.degree - 1; slot >= 0; --slot) {
            const auto value = hn::Load(d, q + slot * lanes);
            const auto combined = box_plus(hn::Load(d, known + slot * lanes), behind);
            const auto r = hn::CopySign(hn::Min(combined, limit), hn::Xor(signs, value));
            hn::Store(r, d, message + slot * lanes);
            if (Flooding) {
                float* sum = sums + at[slot];
                hn::Store(hn::Add(hn::Load(d, sum), r), d, sum);
            } else {
                hn::Store(hn::Add(value, r), d, l + at[slot]);
            }
            behind = box_plus(behind, hn::Abs(value));
        }
        at += check.degree;
        message += check.degree * lanes;
    }
}

void start(const cpu_plan& plan, const cpu_words& words, cpu_tile& tile)
{
    float* to = plan.decoding.flooding() ? tile.received.get() : tile.l.get();
    switch (plan.decoding.parameters.llr) {
    case ldpc_decoder::number::float32:
        load<float>(plan, words, tile.chunks.get(), to);
        break;
    case ldpc_decoder::number::float16:
        load<float16>(plan, words, tile.chunks.get(), to);
        break;
    case ldpc_decoder::number::int8:
        load<int8_t>(plan, words, tile.chunks.get(), to);
        break;
    }
    const size_t lanes = hn::Lanes(d);
    if (plan.decoding.flooding()) {
        std::copy_n(to, plan.decoding.code->variables() * lanes, tile.l.get());
    }
    if (plan.decoding.sum_product()) {
        std::fill_n(tile.messages.get(), plan.schedule.columns.size() * lanes, 0.0f);
    }
}

void iterate(const cpu_plan& plan, int iteration, cpu_tile& tile)
{
    const float scale = plan.decoding.scales[iteration];
    const bool flooding = plan.decoding.flooding();
    if (flooding) {
        std::copy_n(tile.received.get(),
                    plan.decoding.code->variables() * hn::Lanes(d),
                    tile.sums.get());
    }
    if (plan.decoding.sum_product()) {
        flooding ? sum_product<true>(plan, tile) : sum_product<false>(plan, tile);
    } else if (iteration == 0) {
        flooding ? min_sum<true, true>(plan, scale, tile)
                 : min_sum<true, false>(plan, scale, tile);
    } else {
        flooding ? min_sum<false, true>(plan, scale, tile)
                 : min_sum<false, false>(plan, scale, tile);
    }
    if (flooding) {
        std::swap(tile.l, tile.sums);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
