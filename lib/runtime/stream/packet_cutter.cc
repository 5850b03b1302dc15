/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/packet_cutter.h"
#include <algorithm>

namespace gr::cudaphy {
namespace {

//! Of a packet, so that the number of items made from it does not overflow.
constexpr int64_t most_items = int64_t{ 1 } << 40;

} // namespace

bool packet_cutter::read_head(uint64_t item,
                              const label_reader& read,
                              std::string& problem)
{
    auto found = read(item);
    if (!found.length) {
        problem = "item " + std::to_string(item) +
                  " of input 0 should begin a packet, but carries no tag \"" + d_key +
                  "\" with the packet's length. " + d_before +
                  " or a block before it must set the tag, or a Stream to Tagged "
                  "Stream be put in between; for a stream without packets leave "
                  "the length tag key empty";
        return false;
    }
    const auto length = *found.length;
    const int items = d_items[found.refusal.empty() ? found.kind : 0];
    if (length <= 0 || length > most_items ||
        (found.refusal.empty() && length % items != 0)) {
        const auto wrong =
            "the packet at item " + std::to_string(item) + " of input 0 has " +
            std::to_string(length) + " items by its tag \"" + d_key + "\", which is " +
            (length > most_items ? "more than the 2^40 that a packet may have"
                                 : "no whole multiple of the " + std::to_string(items) +
                                       " items of one frame");
        if (length <= 0 || length > most_items || d_items.size() == 1) {
            problem = wrong;
            return false;
        }
        found.refusal = wrong;
    }
    if (!found.refusal.empty()) {
        d_refused = d_refused_length = static_cast<uint64_t>(length);
        d_refusal = found.refusal;
        return true;
    }
    d_kind = found.kind;
    d_left = static_cast<uint64_t>(length) / items;
    d_heads.push_back({ d_frame, d_left });
    return true;
}

int packet_cutter::advance(uint64_t item,
                           int frames,
                           const label_reader& read,
                           std::string& problem)
{
    int good = 0;
    do {
        if (at_head()) {
            const int kind = d_kind;
            const auto at = item + static_cast<uint64_t>(good) * d_items[kind];
            if (!read_head(at, read, problem) || d_refused || d_kind != kind) {
                return good;
            }
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
