/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <atomic>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>

namespace gr::cudaphy {

/*!
 * \brief Notices where words fail although their LLRs would do: the first item of each
 * word may not be where it is taken to be.
 *
 * LLRs alone say how much they tell of their bits: 1 - h(1 / (1 + e^|L|)) each, with the
 * entropy h in bits. Where that comes to more than the code needs and half of what it has
 * to spare, and still nine words in ten fail, it is not noise that they fail of.
 */
class ldpc_boundary_hint
{
public:
    explicit ldpc_boundary_hint(const kernels::ldpc_decoder::parameters&);

    //! Looks at some LLRs of a batch's first word, which are in the host's memory.
    void look(const kernels::ldpc_decoder::received& llr, const kernels::ldpc_code&);
    //! Counts a decoded word. True once in this object's life, where its text is due.
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
