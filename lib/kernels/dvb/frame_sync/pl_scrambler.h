/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

//! Gold codes that scramble the physical layer: numbers 0 to gold_codes - 1.
constexpr int gold_codes = (1 << 18) - 1;

/*!
 * Quarter turns, 0 to 3, by which the transmitter turns each symbol behind a header,
 * pilots included. (EN 302 307-1, section 5.5.4)
 * \throws std::invalid_argument if there is no such Gold code
 */
std::vector<uint8_t> pl_scrambling(int gold_code, size_t count);

} // namespace gr::cudaphy::kernels
