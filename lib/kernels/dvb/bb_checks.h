/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

//! CRC-8 of DVB-S2, x^8 + x^7 + x^6 + x^4 + x^2 + 1. (EN 302 307-1, section 5.1.4)
inline uint8_t crc8(const uint8_t* bytes, size_t count)
{
    static const auto table = [] {
        std::array<uint8_t, 256> all{};
        for (int value = 0; value < 256; ++value) {
            int state = value;
            for (int bit = 0; bit < 8; ++bit) {
                state = state << 1 ^ (state & 128 ? 0x1d5 : 0);
            }
            all[value] = static_cast<uint8_t>(state);
        }
        return all;
    }();
    uint8_t state = 0;
    for (size_t i = 0; i < count; ++i) {
        state = table[state ^ bytes[i]];
    }
    return state;
}

//! CRC-32 of GSE: 0x04c11db7 from all ones, not reflected. (TS 102 606-1,
//! section 4.2.2.2)
inline uint32_t crc32(const uint8_t* bytes, size_t count, uint32_t state = ~0u)
{
    static const auto table = [] {
        std::array<uint32_t, 256> all{};
        for (uint32_t value = 0; value < 256; ++value) {
            uint32_t one = value << 24;
            for (int bit = 0; bit < 8; ++bit) {
                one = one << 1 ^ (one >> 31 ? 0x04c11db7u : 0u);
            }
            all[value] = one;
        }
        return all;
    }();
    for (size_t i = 0; i < count; ++i) {
        state = state << 8 ^ table[state >> 24 ^ bytes[i]];
    }
    return state;
}

//! The bytes that scramble a baseband frame: 1 + x^14 + x^15 from 100101010000000. (EN
//! 302 307-1, section 5.2.2)
inline const std::vector<uint8_t>& bb_scrambler()
{
    static const auto sequence = [] {
        std::vector<uint8_t> all(64800 / 8);
        int state = 0x4a80; // the oldest bit is the lowest
        for (auto& byte : all) {
            for (int bit = 0; bit < 8; ++bit) {
                const int next = (state ^ state >> 1) & 1;
                byte = static_cast<uint8_t>(byte << 1 | next);
                state = state >> 1 | next << 14;
            }
        }
        return all;
    }();
    return sequence;
}

} // namespace gr::cudaphy::kernels
