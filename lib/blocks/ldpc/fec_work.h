/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/sizes.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

//! The type of generic_work's first argument: void*; from GNU Radio 3.10.11 on const
//! void*.
template <typename Work>
struct fec_work;
template <typename Coder, typename Input>
struct fec_work<void (Coder::*)(Input, void*)> {
    using input = Input;
};

constexpr int most_fec_items = 1 << 26; //!< of a frame that a FEC object takes or makes

//! \throws std::invalid_argument
inline int checked_fec_batch(int batch, const kernels::ldpc_code& code)
{
    if (batch < 1 || batch > 65536) {
        throw std::invalid_argument("batch " + std::to_string(batch) +
                                    " is not in 1 to 65536 codewords");
    }
    checked_product("batch times the bits of a codeword of " + code.name(),
                    most_fec_items,
                    { batch, code.n() });
    return batch;
}

/*!
 * \brief How many words make up the frame of `bits` information bits that a FEC block
 * sets.
 *
 * The asynchronous decoder computes the number of bits from the code's rate and truncates
 * it, so that it may be one too small: 901 instead of 902. If set_frame_size() then says
 * that the frame is not whole, the decoder uses get_input_size() and get_output_size()
 * instead of its own number. Nothing is thrown here, because the tagged decoder also asks
 * for the size of its largest packet. A frame of more than most_fec_items is cut short,
 * and not whole.
 */
struct fec_frame {
    fec_frame(unsigned bits, int k, int n)
        : words(std::min<uint64_t>((uint64_t{ bits } + (k > 2)) / k, most_fec_items / n)),
          whole(words > 0 && bits == words * k)
    {
    }
    unsigned words; //!< 0: less than one
    bool whole;     //!< and nothing is left over
};

} // namespace gr::cudaphy
