/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/tags.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief The tags on the first item of decoded words: `iterations`, `ldpc_ok`,
 * `nan_llrs`.
 *
 * At a million words a second they are what a flowgraph is busy with: GNU Radio counts
 * the references to key, value and source of each tag, atomically, with every copy. So
 * all three are made once, and a block keeps tags that it changes in place.
 */
class ldpc_word_tags
{
public:
    //! \param which  words have tags: "all"; "failed": words that are not decoded, and
    //! those with LLRs that were NaN.
    //! \throws std::invalid_argument for another name.
    ldpc_word_tags(const std::string& which, int max_iterations);

    //! \param source  the block, from its start on
    void set_source(const pmt::pmt_t& source);

    //! Calls add(tag) with each tag of a word at item.
    template <typename Add>
    void each(uint64_t item, int iterations, bool ok, int nan_llrs, const Add& add)
    {
        if (d_only_failed && ok && nan_llrs == 0) {
            return;
        }
        set(d_iterations, item, d_counts[iterations]);
        add(d_iterations);
        set(d_ok, item, d_decided[ok]);
        add(d_ok);
        if (nan_llrs > 0) {
            set(d_nan, item, pmt::from_long(nan_llrs));
            add(d_nan);
        }
    }

private:
    static void set(tag_t& tag, uint64_t item, const pmt::pmt_t& value)
    {
        tag.offset = item;
        if (tag.value != value) {
            tag.value = value;
        }
    }

    const bool d_only_failed;
    std::vector<pmt::pmt_t> d_counts, d_decided; //!< values
    tag_t d_iterations, d_ok, d_nan;
};

} // namespace gr::cudaphy
