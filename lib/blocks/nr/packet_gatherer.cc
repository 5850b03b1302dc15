/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/packet_gatherer.h"
#include <algorithm>
#include <stdexcept>

namespace gr::cudaphy {

void packet_gatherer::clear()
{
    d_filled = d_skip = 0;
    for (auto& list : d_tags) {
        list.clear();
    }
}

size_t packet_gatherer::take(const gr_vector_const_void_star& from,
                             size_t done,
                             size_t there,
                             const std::vector<std::vector<tag_t>>& tags,
                             uint64_t item)
{
    std::optional<size_t> next; // length tag behind this item
    bool begins = false;
    for (const auto& tag : tags[0]) {
        if (d_key && tag.offset >= done && pmt::eqv(tag.key, d_key)) {
            if (tag.offset > done) {
                next = tag.offset;
                break;
            }
            begins = true;
            const auto length = whole_number(tag.value).value_or(0);
            d_refused += d_filled > 0; // torn
            clear();
            if (length < 1 || size_t(length) != d_items) {
                ++d_refused;
                d_skip = length < 1 ? 1 : static_cast<size_t>(length);
            }
        }
    }
    if (d_key && !begins && d_filled == 0 && d_skip == 0) {
        throw std::runtime_error("a packet begins at item " + std::to_string(item) +
                                 " of input 0, but there is no tag " +
                                 pmt::symbol_to_string(d_key) + " with its length");
    }
    size_t step = there - done;
    if (next) {
        step = std::min(step, *next - done);
    }
    if (d_skip) {
        step = std::min(step, d_skip);
        d_skip -= step;
        return step;
    }
    step = std::min(step, d_items - d_filled);
    for (size_t stream = 0; stream < d_tags.size(); ++stream) {
        const auto* const first = static_cast<const gr_complex*>(from[stream]) + done;
        std::copy(first, first + step, d_gathered.data() + stream * d_items + d_filled);
        for (auto tag : tags[stream]) {
            if (tag.offset >= done && tag.offset < done + step) {
                tag.offset += d_filled - done;
                d_tags[stream].push_back(tag);
            }
        }
    }
    d_filled += step;
    return step;
}

} // namespace gr::cudaphy
