/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/stream/pmt_number.h"
#include <gnuradio/tags.h>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Which slot of which frame a packet is: 10 · 2^mu slots a frame, 1024 frames,
 * then again (3GPP TS 38.211, sections 4.3.1 and 4.3.2).
 */
class slot_clock
{
public:
    slot_clock(int numerology, int slot) : d_a_frame(10 << numerology), d_number(slot) {}

    int slots_a_frame() const { return d_a_frame; }
    int slot() const { return static_cast<int>(d_number % d_a_frame); }
    int frame() const { return static_cast<int>(d_number / d_a_frame); }

    void advance(int64_t slots)
    {
        d_number = (d_number + slots) % (frames * int64_t(d_a_frame));
    }
    //! Without a frame: the next slot of that number. False, and nothing is changed, if
    //! there is no such slot or frame.
    bool set(int64_t slot, std::optional<int64_t> frame = {})
    {
        if (slot < 0 || slot >= d_a_frame ||
            (frame && (*frame < 0 || *frame >= frames))) {
            return false;
        }
        const int64_t behind = slot - this->slot();
        if (frame) {
            d_number = *frame * d_a_frame + slot;
        } else {
            advance(behind < 0 ? behind + d_a_frame : behind);
        }
        return true;
    }

private:
    static constexpr int64_t frames = 1024;

    int d_a_frame;
    int64_t d_number;
};

//! Keys of the tags of a slot's first item, and of metadata.
namespace slot_keys {
inline const pmt::pmt_t slot = pmt::mp("slot"), frame = pmt::mp("frame"),
                        schedule = pmt::mp("nr_schedule"), rx_time = pmt::mp("rx_time"),
                        rx_rate = pmt::mp("rx_rate"), tx_time = pmt::mp("tx_time");
}

//! The value of the first tag with that key at an offset; null if there is none.
inline pmt::pmt_t
tag_value(const std::vector<tag_t>& tags, const pmt::pmt_t& key, uint64_t offset = 0)
{
    for (const auto& tag : tags) {
        if (tag.offset == offset && pmt::eqv(tag.key, key)) {
            return tag.value;
        }
    }
    return nullptr;
}

inline std::optional<int64_t>
tag_number(const std::vector<tag_t>& tags, const pmt::pmt_t& key, uint64_t offset = 0)
{
    const auto value = tag_value(tags, key, offset);
    return value ? whole_number(value) : std::nullopt;
}

} // namespace gr::cudaphy
