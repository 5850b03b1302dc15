/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"

namespace gr::cudaphy::kernels {

//! Words of one code, on the device.
struct ldpc_words_cuda {
    const void* llr;      //!< (words, n)
    int* steps;           //!< (words), floats: steps in a unit of LLR
    float* soft;          //!< (words, outputs); null: not wanted
    int n, outputs;       //!< outputs: of soft
    unsigned words;       //!< 1 or more
    ldpc_word_steps rule; //!< with a typical LLR
};

//! Chooses the steps of words of up to ldpc_cuda_source::most_codes codes in one launch.
//! \param type  of their LLRs, float32 or float16
void ldpc_choose_steps_cuda(const std::vector<ldpc_words_cuda>&,
                            ldpc_decoder::number type,
                            queue&);

//! Divides soft values, which are in steps, by the steps that ldpc_choose_steps_cuda()
//! chooses for these words. `steps` is not read, because the decoder has put iterations
//! there.
void ldpc_soft_from_steps_cuda(const std::vector<ldpc_words_cuda>&,
                               ldpc_decoder::number type,
                               queue&);

} // namespace gr::cudaphy::kernels
