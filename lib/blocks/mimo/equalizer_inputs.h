/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/tags.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief The inputs of an equalizer beside its streams: channels and noise variances that
 * come by tags and messages, and the slots for which they hold.
 *
 * Used by the block's thread alone.
 */
class equalizer_inputs
{
public:
    //! A matrix, or one a tone; null while none is known.
    using values = std::shared_ptr<const std::vector<complex64>>;
    //! What holds from a slot on.
    struct state {
        values channel, covariance;
        float noise_variance;
    };

    equalizer_inputs(const kernels::equalizer::parameters& p,
                     bool channel_tags,
                     bool noise_tags,
                     float noise_variance);

    //! Forgets the stream, not what has come by messages.
    void restart();

    //! Each takes a message's value. \throws std::invalid_argument if it can't
    void set_channel(const pmt::pmt_t& message);
    void set_covariance(const pmt::pmt_t& message);
    void set_noise_variance(const pmt::pmt_t& message);
    //! From the next slot on.
    void set_noise_now(float value) { d_now.noise_variance = value; }

    //! What holds for each of the next slots. `tags` are those of input 0 on them; those
    //! named `head`, if any, begin packets. An unusable tag or message goes to
    //! `complain`.
    template <typename Complain>
    const std::vector<state>& next_slots(int slots,
                                         std::vector<tag_t> tags,
                                         const std::string& head,
                                         const Complain& complain);

    uint64_t next_item() const { return d_next_slot * d_items; }
    uint64_t items_a_slot() const { return d_items; }

private:
    values parsed(const pmt::pmt_t& message, size_t one, size_t all) const;
    void take_message();

    const size_t d_matrix, d_square, d_tones;
    const uint64_t d_items;
    const bool d_channel_tags, d_noise_tags;
    state d_now;               //!< at the next slot
    state d_message;           //!< what messages brought, null and NaN where nothing new
    std::vector<tag_t> d_late; //!< that begin within the last slot
    uint64_t d_next_slot = 0;
    std::vector<state> d_slots;
};

float noise_variance_of(const pmt::pmt_t& value);

template <typename Complain>
const std::vector<equalizer_inputs::state>& equalizer_inputs::next_slots(
    int slots, std::vector<tag_t> tags, const std::string& head, const Complain& complain)
{
    tags.insert(tags.begin(), d_late.begin(), d_late.end());
    d_late.clear();
    const uint64_t first = next_item();
    const auto slot_of = [&](const tag_t& tag) {
        return tag.offset <= first ? 0 : (tag.offset - first + d_items - 1) / d_items;
    };
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    if (head.empty()) {
        take_message();
    }
    auto tag = tags.begin();
    d_slots.clear();
    for (int slot = 0; slot < slots; ++slot) {
        auto end = tag;
        while (end != tags.end() && slot_of(*end) <= uint64_t(slot)) {
            if (!head.empty() && pmt::symbol_to_string(end->key) == head) {
                take_message();
            }
            ++end;
        }
        for (; tag != end; ++tag) {
            try {
                const auto key = pmt::symbol_to_string(tag->key);
                if (d_channel_tags && key == "channel") {
                    d_now.channel = parsed(tag->value, d_matrix, d_matrix * d_tones);
                } else if (d_noise_tags && key == "noise_var") {
                    d_now.noise_variance = noise_variance_of(tag->value);
                }
            } catch (const std::invalid_argument& problem) {
                complain("the tag at item " + std::to_string(tag->offset) + ": " +
                         problem.what());
            }
        }
        d_slots.push_back(d_now);
    }
    d_late.assign(tag, tags.end());
    d_next_slot += slots;
    return d_slots;
}

} // namespace gr::cudaphy
