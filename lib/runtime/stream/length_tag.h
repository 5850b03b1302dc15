/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/stream/pmt_number.h"
#include <gnuradio/tags.h>
#include <vector>

namespace gr::cudaphy {

//! A packet's length by the tags on its first item: that of the first tag `key` with a
//! whole number.
inline std::optional<int64_t> packet_length(const std::vector<tag_t>& tags,
                                            const pmt::pmt_t& key)
{
    for (const auto& tag : tags) {
        if (pmt::eqv(tag.key, key)) {
            if (const auto length = whole_number(tag.value)) {
                return length;
            }
        }
    }
    return {};
}

} // namespace gr::cudaphy
