/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

//! \throws std::invalid_argument for none, or one without information bits.
inline const kernels::ldpc_code::sptr& checked_code(const kernels::ldpc_code::sptr& code)
{
    if (!code) {
        throw std::invalid_argument("no LDPC code was given: make one with ldpc_code");
    }
    if (code->k() < 1) {
        throw std::invalid_argument("the code " + code->name() +
                                    " has no information bits");
    }
    return code;
}

//! Codewords in one launch where the user leaves it open: enough for every
//! multiprocessor, lane and core, within some megabytes of LLRs.
inline int ldpc_batch(int max_batch, const kernels::ldpc_code::sptr& code)
{
    return max_batch ? max_batch
                     : std::clamp((1 << 21) / checked_code(code)->n(), 32, 1024);
}

} // namespace gr::cudaphy
