/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/ldpc/decoder/makers.h"
#include <algorithm>
#include <cmath>

// The header leaves these points open. All backends decide them alike:
//
// - The minimum runs over the check's other bits and the clamp, 1e4. So |r| <= s * 1e4,
//   and |L| <= 1e4 * (1 + the bit's degree): L stays finite however many iterations run.
// Without the clamp messages may grow by the factor degree - 1 an iteration, and 1000
// fixed iterations overflow.
// - A check of one bit has no other bits: its message is s * 1e4 towards 0, which is what
//   the check says. A check of two bits passes each one's value to the other.
// - It makes no difference whether two bits of a check share the minimum or one holds it:
//   the least and the second least magnitude are then equal.
// - The factor rises by itself because no fixed one serves all. A small one converges at
//   the least signal, but messages fade along a chain of bits of two checks each, and a
//   few bits stay undecided for ever, the more so the more the received bits differ in
//   strength: DVB-S2 short 3/5 with 8PSK at 6.3 dB Es/N0, 50 iterations, fails in 589 of
//   3200 frames with .77, in 4 of 19200 with a factor rising from there. (Those 4 end
//   with 5 to 30 bits wrong; every factor and rise tried leaves about as many.) 15
//   iterations decide most words before it comes closer to 1. (Figures of a factor that
//   does no more than that.)
//   Besides, it begins below the best fixed one and ends above: the first messages are
//   the least certain, and there min-sum overestimates most. The weight takes this back
//   for codes of high rate, which are done in a few iterations. The law stands in
//   docs/conventions.md, what it gains in docs/notebook/ldpc_decoder.md.
// - Only the factors of codes with long chains come closer to 1 (default_factors.cc says
// which).
//   Other codes would lose in many iterations: of 1500 frames of CCSDS AR4JA, k =
//   1024, rate 1/2, at 1.22 dB and 50 iterations, 297 fail with .72 fixed, 294 with the
//   factor that rises and settles, 386 with the one that comes closer to 1; with 20
//   iterations 661, 579 and 562.
// - Sum-product is computed pair by pair, forwards and backwards along a check's bits:
//   |a + b| = min(|a|, |b|) + ln(1 + e^-(|a| + |b|)) - ln(1 + e^-||a| - |b||), where +
//   stands for the rule of two bits. It neither overflows nor loses large values, as a
//   product of tanh does from |q| = 17 on in float32: LLRs of 100 give messages of about
//   100. A zero gives exact zeros. (Hu, Eleftheriou, Arnold, Dholakia, IEEE GLOBECOM
//   2001.) The clamp bounds its messages as it does those of min-sum.
// - Flooding adds a bit's messages up in the order of the code's layers, starting from
//   the received value, and so the sum has the same rounding errors everywhere.
// - The sign of a zero is free. A message whose magnitude is 0 leaves L's value as it is,
//   and a bit of q = 0 makes the messages to all others of its check 0; so a zero's sign
//   reaches only signs of zeros. Hard decisions ask L < 0, for which both zeros are
//   alike.
// - If nothing was received, L = 0 decides zeros, which fulfil every check and have the
// remainder 0. The rule of the least L makes such a word fail. A word of 5G NR of which
// only parity bits beyond the core arrived fails for the same reason: the checks that
// these bits contradict do not tell.

namespace gr::cudaphy::kernels {
namespace {

void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("ldpc_decoder: " + problem);
    }
}

void require_size(const char* name, size_t given, size_t batch, size_t per_word)
{
    require(given == batch * per_word,
            std::string(name) + " has " + std::to_string(given) + " items; " +
                std::to_string(batch) + " codewords need " +
                std::to_string(batch * per_word));
}

} // namespace

int ldpc_decoding::halvings(const ldpc_code& code, int t, int iterations)
{
    if (!code.default_scale_closes()) {
        return 0;
    }
    if (iterations < 50 && has_low_rate(code)) {
        return 250 * t / (iterations * (iterations + 50));
    }
    if (iterations < 50 && code.default_scale() < .7f) {
        return 5 * t / (2 * iterations);
    }
    return t / (has_low_rate(code) || code.default_scale() < .7f ? 20 : 15);
}

std::vector<float> ldpc_decoding::scales_of(const ldpc_code& code,
                                            const ldpc_decoder::parameters& wanted)
{
    const bool scaled = wanted.rule == ldpc_decoder::check_rule::normalized_min_sum;
    std::vector<float> out(wanted.max_iterations, scaled ? wanted.scale : 1);
    if (scaled && wanted.scale == 0) {
        const double own = code.default_scale();
        const double weight = std::min(1.0, 2 * (1 - code.rate()));
        const double first = own - .15 * weight;
        const double last = std::min(1.0, own + 1.6 * weight / wanted.max_iterations);
        for (int t = 0; t < wanted.max_iterations; ++t) {
            const double rising = last - (last - first) * std::exp2(-t / 3.0);
            const int closer = halvings(code, t, wanted.max_iterations);
            out[t] = static_cast<float>(1 - std::ldexp(1 - rising, -closer));
        }
    }
    return out;
}

namespace {

//! The CRC's remainder after one more bit: remainder * x + bit.
uint32_t next_remainder(const ldpc_decoder::crc& crc, uint32_t remainder, uint32_t bit)
{
    const uint32_t mask = crc.bits == 32 ? ~0u : (1u << crc.bits) - 1;
    const uint32_t out = (remainder >> (crc.bits - 1)) & 1;
    return (remainder << 1 & mask) ^ bit ^ (out ? crc.polynomial : 0);
}

} // namespace

bool passes(const ldpc_decoder::crc& crc, const ldpc_code& code, const uint8_t* columns)
{
    uint32_t remainder = 0;
    for (const int column : code.info_positions()) {
        remainder = next_remainder(crc, remainder, columns[column]);
    }
    return remainder == 0;
}

std::vector<uint32_t> ldpc_decoding::crc_terms() const
{
    const auto& crc = parameters.stop_crc;
    std::vector<uint32_t> out(crc.bits > 0 ? code->k() : 0);
    uint32_t power = 1;
    for (auto term = out.rbegin(); term != out.rend(); ++term) {
        *term = power;
        power = next_remainder(crc, power, 0);
    }
    return out;
}

ldpc_decoding ldpc_decoding::with_steps(float steps) const
{
    auto out = *this;
    auto& p = out.parameters;
    if (corrects()) {
        std::fill(out.scales.begin(), out.scales.end(), 1.f);
    }
    const bool has_own_steps = p.llr_steps == 0;
    // Where a code of this rate begins to decode, BPSK's mean LLR is about -4 ln(1 -
    // rate): within a tenth of what the capacity says from rate 1/9 to 19/20. The
    // quartiles of |LLR| are then 0.5 to 0.7 and 1.3 to 2.1 times that.
    const double rate = std::clamp(code->rate(), 0.02, 0.98);
    const double typical = -3.6 * std::log1p(-rate);
    if (p.llr == ldpc_decoder::number::int8) {
        // CUDA's L holds the steps of any int8.
        const bool fits = steps == steps_on_cuda;
        out.typical_llr =
            static_cast<float>(has_own_steps && !fits ? typical * steps : 0);
        p.llr_steps = 1;
        return out;
    }
    if (has_own_steps) {
        p.llr_steps = steps;
        p.llr_scale = std::max(p.llr_scale, 1e-8f); // the rest is up to the words' steps
        out.typical_llr = static_cast<float>(typical / p.llr_scale);
    }
    p.llr_steps *= p.llr_scale;
    return out;
}

size_t ldpc_decoding::output_bytes() const
{
    const size_t bits = output_bits();
    return parameters.packed ? (bits + 7) / 8 : bits;
}

size_t ldpc_decoding::batch(const ldpc_decoder::received& llr,
                            const ldpc_decoder::results& out) const
{
    const size_t n = code->n();
    require(llr.type == parameters.llr, "llr has another type than the parameters say");
    require(llr.size % n == 0,
            "llr has " + std::to_string(llr.size) +
                " items, which is no whole number of codewords of " + std::to_string(n));
    const size_t words = llr.size / n;
    require_size("bits", out.bits.size(), words, output_bytes());
    require_size("iterations", out.iterations.size(), words, 1);
    require_size("ok", out.ok.size(), words, 1);
    if (!out.soft.empty()) {
        require_size("soft", out.soft.size(), words, output_bits());
    }
    return words;
}

std::vector<int> ldpc_decoding::sources() const
{
    const auto& columns = code->transmitted();
    if (columns.empty()) {
        return {};
    }
    std::vector<int> out(code->variables(), punctured);
    for (const int column : code->shortened()) {
        out[column] = shortened;
    }
    for (size_t i = 0; i < columns.size(); ++i) {
        out[columns[i]] = static_cast<int>(i);
    }
    return out;
}

std::vector<int> ldpc_decoding::output_positions() const
{
    const auto& positions =
        parameters.whole_words ? code->transmitted() : code->info_positions();
    for (size_t i = 0; i < positions.size(); ++i) {
        if (positions[i] != static_cast<int>(i)) {
            return positions;
        }
    }
    return {};
}

namespace {

//! Checks a value of an enumeration, which a caller may have made from any number.
template <typename Enumeration>
void require_known(const char* name, Enumeration given, Enumeration last)
{
    const int value = static_cast<int>(given);
    require(value >= 0 && value <= static_cast<int>(last),
            std::string(name) + " is " + std::to_string(value) +
                ", which is no known value");
}

void check(const ldpc_decoder::parameters& wanted)
{
    using p = ldpc_decoder;
    require_known("rule", wanted.rule, p::check_rule::sum_product);
    require_known("schedule", wanted.schedule, p::message_schedule::flooding);
    require_known("llr", wanted.llr, p::number::int8);
    require_known("calculation", wanted.calculation, p::arithmetic::int8);
    require(wanted.max_iterations >= 1 && wanted.max_iterations <= 1000,
            "max_iterations is " + std::to_string(wanted.max_iterations) +
                ", allowed is 1 to 1000");
    require(wanted.scale >= 0 && wanted.scale <= 1,
            "scale is " + std::to_string(wanted.scale) +
                ", allowed is above 0 to 1, or 0 for the code's own");
    require(wanted.llr_positive == 0 || wanted.llr_positive == 1,
            "llr_positive is " + std::to_string(wanted.llr_positive) +
                ", allowed is 0 or 1");
    require(wanted.offset >= 0 && wanted.offset <= ldpc_decoding::clamp,
            "offset is " + std::to_string(wanted.offset) + ", allowed is 0 to 1e4");
    require(wanted.llr_steps >= 0 && wanted.llr_steps <= 64,
            "llr_steps is " + std::to_string(wanted.llr_steps) +
                ", allowed is above 0 to 64, or 0 for the backend's own");
    require(wanted.llr_scale > 0 && wanted.llr_scale <= 1e6f,
            "llr_scale is " + std::to_string(wanted.llr_scale) +
                ", allowed is above 0 to 1e6");
    require(wanted.stop_crc.bits >= 0 && wanted.stop_crc.bits <= 32,
            "stop_crc has " + std::to_string(wanted.stop_crc.bits) +
                " bits, allowed is 1 to 32, or 0 for none");
    require(uint64_t{ wanted.stop_crc.polynomial } >> wanted.stop_crc.bits == 0,
            "stop_crc's polynomial " + std::to_string(wanted.stop_crc.polynomial) +
                " has terms beyond its " + std::to_string(wanted.stop_crc.bits) +
                " bits; the highest term is left out");
}

//! The arithmetic that `automatic` means. \throws std::invalid_argument if int8 was
//! chosen and is impossible.
ldpc_decoder::arithmetic resolved(const ldpc_decoder::parameters& wanted)
{
    using p = ldpc_decoder;
    const bool can = wanted.rule == p::check_rule::normalized_min_sum &&
                     wanted.schedule == p::message_schedule::layered;
    require(can || wanted.calculation != p::arithmetic::int8,
            "int8 arithmetic takes layered normalised min-sum only: choose float32 "
            "arithmetic for "
            "other rules and schedules");
    if (wanted.calculation != p::arithmetic::automatic) {
        return wanted.calculation;
    }
    return can ? p::arithmetic::int8 : p::arithmetic::float32;
}

} // namespace

std::unique_ptr<ldpc_decoder> ldpc_decoder::make(ldpc_code::sptr code,
                                                 const parameters& wanted,
                                                 backend where,
                                                 int device)
{
    require(code != nullptr, "code is null");
    check(wanted);
    require(wanted.stop_crc.bits < code->k(),
            "stop_crc has " + std::to_string(wanted.stop_crc.bits) +
                " bits, but the code only " + std::to_string(code->k()) +
                " information bits");
    const ldpc_decoding decoding{ code, wanted, ldpc_decoding::scales_of(*code, wanted) };
    if (resolved(wanted) == arithmetic::int8) {
        const auto elsewhere = decoding.with_steps(ldpc_decoding::steps_elsewhere);
        const auto on_cuda = decoding.with_steps(ldpc_decoding::steps_on_cuda);
        return dispatch(
            where,
            device,
            [&] { return make_ldpc_fixed_decoder_reference(elsewhere); },
            [&] { return make_ldpc_fixed_decoder_cpu(elsewhere); },
            [&](int index) {
                try {
                    return make_ldpc_fixed_decoder_cuda(on_cuda, index);
                } catch (const std::invalid_argument&) { // not offered for this code
                    if (wanted.calculation != arithmetic::automatic) {
                        throw;
                    }
                    return make_ldpc_decoder_cuda(decoding, index);
                }
            });
    }
    return dispatch(
        where,
        device,
        [&] { return make_ldpc_decoder_reference(decoding); },
        [&] { return make_ldpc_decoder_cpu(decoding); },
        [&](int index) { return make_ldpc_decoder_cuda(decoding, index); });
}

} // namespace gr::cudaphy::kernels
