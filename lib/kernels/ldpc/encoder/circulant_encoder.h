/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/circulant_plan.h"
#include <cstddef>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Encodes words one by one on vector units, by an ldpc_circulant_plan.
 *
 * If circulants read a string from another bit on, the string is stored twice in a row,
 * so that any Z of its bits are contiguous. Bit i of a string is bit i mod 64 of its word
 * i / 64.
 */
class ldpc_circulant_encoder
{
public:
    ldpc_circulant_encoder(const ldpc_code&,
                           ldpc_circulant_plan,
                           const ldpc_encoder::parameters&);

    //! Encodes `count` words. `workspace` is from new_workspace(), for one thread.
    void encode(const uint8_t* info,
                uint8_t* words,
                size_t count,
                std::vector<uint64_t>& workspace) const;
    std::vector<uint64_t> new_workspace() const
    {
        return std::vector<uint64_t>(workspace_words);
    }

    //! Where terms begin, as the vectors read them.
    struct term {
        uint32_t byte, bit; //!< from the first string's beginning; bit 0..7
    };
    //! A bit that a sum has one term too many of.
    struct extra {
        uint32_t sum, at, from, bit; //!< the sum's number, its bit, a string and its bit
    };

    ldpc_circulant_plan plan;
    std::vector<term> terms;     //!< as plan.terms
    std::vector<uint32_t> whole; //!< of each sum, the end of its terms of bit 0
    std::vector<extra> extras;   //!< by sum
    std::vector<char> is_mixed;  //!< of each string
    size_t k, n, bytes_in, bytes_out;
    bool packed_input, packed_output;
    size_t string_bytes; //!< from one string to the next
    // In the workspace, behind the strings, in words:
    size_t information, turned, ones, products, moved, sent;
    size_t workspace_words;
};

} // namespace gr::cudaphy::kernels
