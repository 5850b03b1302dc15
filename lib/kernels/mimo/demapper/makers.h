/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy::kernels {

// Largest magnitude of a log-likelihood ratio. It keeps LLRs finite for every finite
// symbol and positive noise variance, and is far above what a decoder tells apart.
constexpr float largest_llr = 1e9f;

//! Coordinates of points beyond this are refused, so that no metric can overflow.
constexpr float largest_coordinate = 1e6f;

//! \throws std::invalid_argument unless noise serves x, an interleaver's frames are
//! whole, and llr holds their LLRs.
void check_soft_demapper_sizes(const soft_demapper::parameters& p,
                               view<const complex64> x,
                               const noise_variances& noise,
                               size_t llrs);

//! A bit_interleaver in numbers.
struct llr_columns {
    size_t rows = 0; //!< 0: LLRs stand symbol by symbol
    size_t bits = 0; //!< of a frame
    int column[10] = {};

    explicit llr_columns(const soft_demapper::parameters& p)
    {
        const auto& from = p.interleaver;
        if (from.columns.empty()) {
            return;
        }
        rows = from.symbols;
        bits = from.bits ? from.bits : rows * p.points.bits;
        for (size_t i = 0; i < from.columns.size(); ++i) {
            column[i] = from.columns[i] - '0';
        }
    }
    //! Where the LLR of bit `bit` of a frame's symbol `row` stands; from `bits` on: it is
    //! padding.
    size_t place(size_t row, int bit) const { return column[bit] * rows + row; }
};

//! An LLR as int8 in steps, and as float16.
inline int8_t quantized(float llr, float steps)
{
    return int8_t(std::nearbyint(std::clamp(llr * steps, -127.0f, 127.0f)));
}
inline float16 halved(float llr)
{
    // Rounded at float16's unit in the last place, ties to even, by an addition of 1.5 *
    // 2^23 of these units; below 2^-14 the unit stays 2^-24.
    const float value = std::clamp(llr, -65504.0f, 65504.0f);
    int exponent = 0;
    std::frexp(value, &exponent);
    exponent = std::max(exponent, -13);
    const float unit = std::ldexp(1.0f, exponent - 11);
    const float rounded = std::nearbyint(value / unit) * unit;
    const float size = std::abs(rounded);
    uint16_t bits = std::signbit(value) ? 0x8000 : 0;
    if (size >= 6.103515625e-5f) {
        std::frexp(size, &exponent);
        const int mantissa = int(std::ldexp(size, 11 - exponent)); // 1024..2047
        bits = uint16_t(bits | ((exponent + 14) << 10) | (mantissa & 1023));
    } else {
        bits = uint16_t(bits | int(std::ldexp(size, 24)));
    }
    return { bits };
}

} // namespace gr::cudaphy::kernels
