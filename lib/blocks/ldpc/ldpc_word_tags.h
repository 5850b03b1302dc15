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
 * At a million words a second a flowgraph spends most of its time on tags. So key, value
 * and source are made once. Each copy of a tag counts references to all three, and so do
 * the thread that reads the tag and every other user of the key. So there are several
 * sets of the same objects, each with its own counts, which are used in rotation.
 */
class ldpc_word_tags
{
public:
    //! \param which  words have tags: "all"; "failed": words that are not decoded, and
    //! those with LLRs that were NaN.
    //! \throws std::invalid_argument for another name.
    ldpc_word_tags(const std::string& which, int max_iterations);

    //! Before the first word.
    //! \param source  the block, by its name
    void start(const pmt::pmt_t& source);

    //! Calls add(tag) with each tag of a word at item.
    template <typename Add>
    void each(uint64_t item, int iterations, bool ok, int nan_llrs, const Add& add)
    {
        if (d_only_failed && ok && nan_llrs == 0) {
            return;
        }
        auto& use = d_sets[d_words++ / words_a_turn % sets];
        set(use.iterations, item, use.counts[iterations]);
        add(use.iterations);
        set(use.ok, item, use.decided[ok]);
        add(use.ok);
        if (nan_llrs > 0) {
            set(use.nan, item, pmt::from_long(nan_llrs));
            add(use.nan);
        }
    }

private:
    static constexpr size_t sets = 8, words_a_turn = 256;

    struct tag_set {
        tag_t iterations, ok, nan;
        std::vector<pmt::pmt_t> counts, decided; //!< values
    };

    static void set(tag_t& tag, uint64_t item, const pmt::pmt_t& value)
    {
        tag.offset = item;
        if (tag.value != value) {
            tag.value = value;
        }
    }

    const bool d_only_failed;
    const int d_max_iterations;
    std::vector<tag_set> d_sets;
    size_t d_words = 0; //!< that had tags
};

} // namespace gr::cudaphy
