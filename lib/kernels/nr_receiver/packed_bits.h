/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels::nr {

//! Bytes of bits, the first one highest.
inline std::vector<uint8_t> packed_bits(const std::vector<uint8_t>& bits)
{
    std::vector<uint8_t> out((bits.size() + 7) / 8);
    for (size_t i = 0; i < bits.size(); ++i) {
        out[i / 8] |= static_cast<uint8_t>(bits[i] << (7 - i % 8));
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
