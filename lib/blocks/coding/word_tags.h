/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/tags.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

//! Keys of the tags with a count and with whether the word is decoded.
struct word_tag_keys {
    const char *count, *ok;
};
constexpr word_tag_keys ldpc_word_tag_keys{ "iterations", "ldpc_ok" };
constexpr word_tag_keys bch_word_tag_keys{ "bch_corrected", "bch_ok" };

/*!
 * \brief The tags on the first item of decoded words: a count, whether the word is
 * decoded, and `nan_llrs`.
 *
 * At a million words a second a flowgraph spends most of its time on tags. So key, value
 * and source are made once. Each copy of a tag counts references to all three, and so do
 * the thread that reads the tag and every other user of the key. So there are several
 * sets of the same objects, each with its own counts, which are used in rotation.
 */
class word_tags
{
public:
    //! \param which  words have tags: "all"; "failed": words that are not decoded, and
    //! those with LLRs that were NaN.
    //! \param most  counts are -1 to this
    //! \throws std::invalid_argument for another name.
    word_tags(const std::string& which, int most, const word_tag_keys& keys);

    bool only_failed() const { return d_only_failed; }

    //! Before the first word.
    //! \param source  the block, by its name
    void start(const pmt::pmt_t& source);

    //! Calls add(tag) with each tag of a word at item.
    template <typename Add>
    void each(uint64_t item, int count, bool ok, int nan_llrs, const Add& add)
    {
        if (d_only_failed && ok && nan_llrs == 0) {
            return;
        }
        auto& use = d_sets[d_words++ / words_a_turn % sets];
        set(use.count, item, use.counts[count + 1]);
        add(use.count);
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
        tag_t count, ok, nan;
        std::vector<pmt::pmt_t> counts, decided; //!< values; counts from -1 on
    };

    static void set(tag_t& tag, uint64_t item, const pmt::pmt_t& value)
    {
        tag.offset = item;
        if (tag.value != value) {
            tag.value = value;
        }
    }

    const bool d_only_failed;
    const int d_most;
    const word_tag_keys d_keys;
    std::vector<tag_set> d_sets;
    size_t d_words = 0; //!< that had tags
};

} // namespace gr::cudaphy
