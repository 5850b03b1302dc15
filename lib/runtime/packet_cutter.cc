/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/packet_cutter.h"
#include <algorithm>

namespace gr::cudaphy {

int packet_cutter::advance(uint64_t item,
                           int frames,
                           const length_lookup& length_at,
                           std::string& problem)
{
    int good = 0;
    do {
        if (d_left == 0) {
            const auto at = item + static_cast<uint64_t>(good) * d_items;
            const auto length = length_at(at);
            if (!length) {
                problem = "item " + std::to_string(at) +
                          " of input 0 should begin a packet, but carries no tag \"" +
                          d_key + "\" with the packet's length. " + d_before +
                          " or a block before it must set the tag, or a Stream to Tagged "
                          "Stream be put in between; for a stream without packets leave "
                          "the length tag key empty";
                return good;
            }
            if (*length <= 0 || *length % d_items != 0) {
                problem = "the packet at item " + std::to_string(at) +
                          " of input 0 has " + std::to_string(*length) +
                          " items by its tag \"" + d_key +
                          "\", which is no whole multiple of the " +
                          std::to_string(d_items) + " items of one frame";
                return good;
            }
            d_left = static_cast<uint64_t>(*length) / d_items;
            d_heads.push_back({ d_frame, d_left });
        }
        const auto step = std::min<uint64_t>(d_left, frames - good);
        good += static_cast<int>(step);
        d_left -= step;
        d_frame += step;
    } while (good < frames);
    return good;
}

std::optional<packet_cutter::head> packet_cutter::next_head(uint64_t first_frame,
                                                            int frames)
{
    if (d_heads.empty() || d_heads.front().frame >= first_frame + frames) {
        return std::nullopt;
    }
    const auto found = d_heads.front();
    d_heads.pop_front();
    return found;
}

} // namespace gr::cudaphy
