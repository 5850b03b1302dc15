/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the references in double precision and in whole steps. A template's Real is
// double or int.

#include "kernels/ldpc/decoder/makers.h"
#include <algorithm>
#include <cstdlib>

namespace gr::cudaphy::kernels {

//! The message of a check's other bits to one of its bits: the least magnitude and the
//! sign.
template <typename Real>
struct min_sum_message {
    Real least;
    bool negative;
    Real second; //!< the least magnitude but one
};

//! For each value the two least magnitudes of all others, at most `limit`, and whether an
//! odd number of the others is negative. A value's others have the least two of the three
//! least magnitudes that are left without it.
//! \param[out] out  (count); its memory is used again
template <typename Real>
void min_sum_of_others(const Real* values,
                       size_t count,
                       Real limit,
                       std::vector<min_sum_message<Real>>& out)
{
    Real first = limit, second = limit, third = limit;
    bool negative = false;
    for (size_t i = 0; i < count; ++i) {
        const Real magnitude = std::abs(values[i]);
        third = std::min(third, std::max(second, magnitude));
        second = std::min(second, std::max(first, magnitude));
        first = std::min(first, magnitude);
        negative ^= values[i] < 0;
    }
    out.resize(count);
    for (size_t i = 0; i < count; ++i) {
        const Real magnitude = std::abs(values[i]);
        out[i] = { magnitude == first ? second : first,
                   negative != (values[i] < 0),
                   magnitude <= second ? third : second };
    }
}

//! Whether the LLRs `l` of all columns of H decide for a codeword (or, with a stop_crc,
//! for information that passes the CRC) and no information bit is undecided.
template <typename Real>
bool is_decoded(const ldpc_decoding& decoding, const std::vector<Real>& l)
{
    const ldpc_code& code = *decoding.code;
    Real least = l[code.info_positions()[0]];
    for (const int column : code.info_positions()) {
        least = std::min(least, l[column]);
    }
    std::vector<uint8_t> hard(l.size());
    std::transform(l.begin(), l.end(), hard.begin(), [](Real x) { return x < 0; });
    const auto& crc = decoding.parameters.stop_crc;
    return least != 0 &&
           (crc.bits > 0 ? passes(crc, code, hard.data()) : code.is_decoded(hard.data()));
}

//! Writes a word's bits, and its soft values where they are wanted.
//! \param positions  output_positions()
//! \param soft       the soft value of an LLR whose sign is as llr_positive says
template <typename Real, typename Soft>
void put_word(const ldpc_decoding& decoding,
              const std::vector<int>& positions,
              const std::vector<Real>& l,
              const ldpc_decoder::results& to,
              size_t word,
              Soft soft)
{
    const auto& p = decoding.parameters;
    const size_t count = decoding.output_bits();
    const size_t bytes = decoding.output_bytes();
    std::fill_n(&to.bits[word * bytes], bytes, uint8_t{ 0 });
    for (size_t i = 0; i < count; ++i) {
        const Real value = l[positions.empty() ? i : positions[i]];
        if (p.packed) {
            to.bits[word * bytes + i / 8] |= (value < 0) << (7 - i % 8);
        } else {
            to.bits[word * bytes + i] = value < 0;
        }
        if (!to.soft.empty()) {
            to.soft[word * count + i] = soft(p.llr_positive == 1 ? -value : value);
        }
    }
}

} // namespace gr::cudaphy::kernels
