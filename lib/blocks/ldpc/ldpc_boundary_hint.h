/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <atomic>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>

namespace gr::cudaphy {

/*!
 * \brief Notices that words fail although their LLRs are good enough. The words' first
 * items may then not be where the block takes them to be.
 *
 * Each LLR L carries 1 - h(1 / (1 + e^|L|)) bits of information, with the entropy h in
 * bits. If the sum exceeds what the code needs by half of its redundancy, and nine words
 * in ten still fail, noise is not the reason.
 */
class ldpc_boundary_hint
{
public:
    explicit ldpc_boundary_hint(const kernels::ldpc_decoder::parameters&);

    //! Looks at some LLRs of a batch's first word, which are in the host's memory.
    void look(const kernels::ldpc_decoder::received& llr, const kernels::ldpc_code&);
    //! Counts a decoded word. True once in this object's life: text() is then to be
    //! logged.
    bool due(bool ok);

    static const char* text();

private:
    const float d_scale; //!< makes natural units of LLRs as they come
    const kernels::ldpc_decoder::number d_type;
    std::atomic<unsigned> d_looks{ 0 }, d_certain{ 0 };
    unsigned d_words = 0, d_failed = 0; //!< since the last verdict
    bool d_told = false;
};

} // namespace gr::cudaphy
