/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

//! One period of an m-sequence of degree 18.
std::vector<uint8_t> sequence(uint32_t state, uint32_t taps)
{
    std::vector<uint8_t> out(gold_codes);
    for (auto& bit : out) {
        bit = state & 1;
        const uint32_t next = static_cast<uint32_t>(__builtin_parity(state & taps));
        state = state >> 1 | next << 17;
    }
    return out;
}

} // namespace

std::vector<uint8_t> pl_scrambling(int gold_code, size_t count)
{
    if (gold_code < 0 || gold_code >= gold_codes) {
        throw std::invalid_argument("gold_code is " + std::to_string(gold_code) +
                                    ", allowed are 0 to " +
                                    std::to_string(gold_codes - 1));
    }
    // x(i + 18) = x(i + 7) + x(i), y(i + 18) = y(i + 10) + y(i + 7) + y(i + 5) + y(i).
    const auto x = sequence(1, 1 | 1 << 7);
    const auto y = sequence(0x3ffff, 1 | 1 << 5 | 1 << 7 | 1 << 10);
    const auto z = [&](size_t i) {
        return x[(i + static_cast<size_t>(gold_code)) % gold_codes] ^ y[i % gold_codes];
    };
    constexpr size_t half = 131072;
    std::vector<uint8_t> turns(count);
    for (size_t i = 0; i < count; ++i) {
        turns[i] = static_cast<uint8_t>(2 * z(i + half) + z(i));
    }
    return turns;
}

} // namespace gr::cudaphy::kernels
