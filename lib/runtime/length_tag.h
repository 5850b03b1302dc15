/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/tags.h>
#include <optional>
#include <vector>

namespace gr::cudaphy {

//! A packet's length by the tags on its first item: that of the first tag `key` with an
//! integer.
inline std::optional<int64_t> packet_length(const std::vector<tag_t>& tags,
                                            const pmt::pmt_t& key)
{
    for (const auto& tag : tags) {
        if (!pmt::eqv(tag.key, key)) {
            continue;
        }
        if (pmt::is_integer(tag.value)) {
            return pmt::to_long(tag.value);
        }
        if (pmt::is_uint64(tag.value)) {
            return static_cast<int64_t>(pmt::to_uint64(tag.value));
        }
    }
    return {};
}

} // namespace gr::cudaphy
