/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/fixed_point.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::cudaphy::kernels {
namespace {

int clamped(double steps, const ldpc_decoder::parameters& p)
{
    const int most = ldpc_fixed_greatest_message;
    const int value =
        std::isnan(steps)
            ? 0
            : static_cast<int>(std::nearbyint(std::clamp<double>(steps, -most, most)));
    return p.llr_positive == 1 ? -value : value;
}

} // namespace

ldpc_fixed_schedule::ldpc_fixed_schedule(const ldpc_code& code)
    : group_start{ 0 }, check_start{ 0 }
{
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    const auto end_check = [&] { check_start.push_back(static_cast<int>(edges.size())); };
    const auto end_group = [&] {
        group_start.push_back(static_cast<int>(check_start.size()) - 1);
    };
    if (z == 0) {
        for (const auto& layer : code.layers()) {
            for (const int check : layer) {
                for (int e = code.row_start()[check]; e < code.row_start()[check + 1];
                     ++e) {
                    edges.push_back({ code.columns()[e], 0 });
                }
                telling.push_back(code.telling()[check]);
                end_check();
            }
            end_group();
        }
        return;
    }
    auto first = blocks.all.begin();
    for (int r = 0; r < blocks.block_rows; ++r) {
        const auto last = std::find_if(
            first, blocks.all.end(), [r](const auto& c) { return c.row != r; });
        for (int i = 0; i < z; ++i) {
            int round = 0;
            for (auto c = first; c != last; ++c) {
                round = c != first && c->column == (c - 1)->column ? round + 1 : 0;
                rounds = std::max(rounds, round + 1);
                if (c->missing != i) {
                    const int bit = c->column * z + (i + c->shift) % z;
                    edges.push_back(
                        { blocks.bits.empty() ? bit : blocks.bits[bit], round });
                }
            }
            const int check = r * z + i;
            telling.push_back(
                code.telling()[blocks.checks.empty() ? check : blocks.checks[check]]);
            end_check();
        }
        end_group();
        first = last;
    }
}

int ldpc_fixed_steps(float llr, float steps, const ldpc_decoder::parameters& p)
{
    return clamped(llr * steps, p); // in float32, as every backend multiplies
}

std::vector<int8_t>
ldpc_fixed_messages(float scale, const ldpc_fixed_limits& limits, int parts)
{
    const double factor = from_float16(to_float16(scale));
    std::vector<int8_t> messages(ldpc_fixed_greatest_message * parts + 1);
    for (size_t m = 0; m < messages.size(); ++m) {
        const double product = m * factor / parts; // parts is a power of 2
        const double rounded = limits.rounding == 0.5
                                   ? std::nearbyint(product)
                                   : std::floor(product + limits.rounding);
        messages[m] = static_cast<int8_t>(std::min<double>(rounded, limits.greatest_r));
    }
    return messages;
}

std::vector<int8_t> ldpc_fixed_damped_messages(float scale,
                                               float damping,
                                               const ldpc_fixed_limits& limits,
                                               int parts)
{
    if (!limits.keeps_change) {
        const auto as_float16 = [](float x) { return from_float16(to_float16(x)); };
        const float factor = as_float16(scale);
        const float less = as_float16(factor * as_float16(damping));
        return ldpc_fixed_messages(factor - less, limits, parts);
    }
    auto messages = ldpc_fixed_messages(scale, limits, parts);
    for (auto& r : messages) {
        const int damped = ldpc_fixed_halves(damping) ? (r + 1) / 2 : (3 * r + 1) / 4;
        r = static_cast<int8_t>(damped);
    }
    return messages;
}

uint16_t to_float16(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (bits >> 16) & 0x8000;
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) {
        return sign | 0x7e00;
    }
    if (magnitude >= 65520.0f) {
        return sign | 0x7c00;
    }
    if (magnitude < 6.103515625e-05f) { // 2^-14: subnormal, in units of 2^-24
        return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 16777216.0f));
    }
    std::memcpy(&bits, &magnitude, sizeof bits);
    const uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
    return sign | static_cast<uint16_t>((rounded - (112u << 23)) >> 13);
}

float from_float16(uint16_t half)
{
    const int exponent = (half >> 10) & 31;
    const float fraction = static_cast<float>(half & 0x3ff);
    float magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                                    : std::ldexp(fraction + 1024.0f, exponent - 25);
    if (exponent == 31) {
        magnitude = fraction == 0 ? INFINITY : NAN;
    }
    return half & 0x8000 ? -magnitude : magnitude;
}

} // namespace gr::cudaphy::kernels
