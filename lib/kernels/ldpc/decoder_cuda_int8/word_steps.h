/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include <functional>
#include <vector>

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

/*!
 * \brief Chooses the steps of words of up to ldpc_cuda_source::most_codes codes, calls
 * `decode`, and divides the soft values, which leave the decoder in steps, by the steps.
 *
 * These are chosen again then, because the decoder has put iterations where they stood.
 * \param words  may be empty
 * \param type  of their LLRs, float32 or float16 unless there are no words
 */
void ldpc_with_steps_cuda(const std::vector<ldpc_words_cuda>& words,
                          ldpc_decoder::number type,
                          queue&,
                          const std::function<void()>& decode);

} // namespace gr::cudaphy::kernels
