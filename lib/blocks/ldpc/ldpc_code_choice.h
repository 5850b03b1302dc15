/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/code_choice.h"
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy {

using ldpc_code_choice = code_choice<kernels::ldpc_code>;

//! Codewords in one launch; where the user leaves it open (max_batch 0), enough for every
//! multiprocessor, lane and core, within some megabytes of LLRs.
inline int words_of_a_launch(int max_batch, const kernels::ldpc_code& code)
{
    return max_batch ? max_batch : std::clamp((1 << 21) / code.n(), 32, 1024);
}

//! \throws std::invalid_argument for a batch out of range, where no batch_block checks
//! it.
inline const ldpc_block_options& checked_block(const ldpc_block_options& options)
{
    if (options.max_batch < 0 || options.max_batch > 1 << 24) {
        throw std::invalid_argument("max_batch " + std::to_string(options.max_batch) +
                                    " is not in 0 (automatic) to 16777216 frames");
    }
    return options;
}

} // namespace gr::cudaphy
