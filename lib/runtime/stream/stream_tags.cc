/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/stream_tags.h"

namespace gr::cudaphy {

void stream_tags::begin(scheduler_port& port,
                        const std::vector<batch_kind>& kinds,
                        const std::string& length_key,
                        const pmt::pmt_t& source,
                        size_t connected)
{
    d_port = &port;
    d_connected = connected;
    d_length_key = pmt::intern(length_key);
    d_source = source;
    d_writers = std::vector<tag_writer>(kinds.at(0).out.size());
    d_packets.reset();
    if (!length_key.empty()) {
        std::vector<int> items;
        for (const auto& kind : kinds) {
            items.push_back(kind.in[0]);
        }
        d_packets.emplace(length_key, items, port.block_before(0)->alias());
    }
}

void stream_tags::carry(const frame_reservation& frames,
                        const batch_kind& kind,
                        uint64_t first,
                        uint64_t published,
                        const kept_frames& kept,
                        bool drops,
                        const std::function<void(const std::vector<tag_t>&)>& check)
{
    tag_t length;
    length.key = d_length_key;
    length.srcid = d_source;
    const auto add_length = [&](int frame, uint64_t length_in_frames) {
        for (size_t p = 0; p < d_connected; ++p) {
            length.offset =
                d_port->items_written(p) + uint64_t(kept[frame]) * kind.out[p];
            length.value = pmt::from_long(length_in_frames * kind.out[p]);
            d_writers[p].add(length);
        }
    };
    if (d_packets) {
        while (const auto head = d_packets->next_head(published, frames.frames)) {
            if (!drops) {
                add_length(static_cast<int>(head->frame - published), head->frames);
            }
        }
        for (int f = 0; drops && f < frames.frames; ++f) {
            if (kept.keeps(f)) {
                add_length(f, 1);
            }
        }
    }

    auto tags = d_port->tags(0, first, first + uint64_t(frames.frames) * kind.in[0]);
    check(tags);
    for (auto& tag : tags) {
        if (d_packets && pmt::eqv(tag.key, d_length_key)) {
            continue;
        }
        const auto item = tag.offset - first;
        const int frame = static_cast<int>(item / kind.in[0]);
        const auto within = item % kind.in[0];
        if (!kept.keeps(frame)) {
            continue;
        }
        for (size_t p = 0; p < d_connected; ++p) {
            tag.offset = d_port->items_written(p) + uint64_t(kept[frame]) * kind.out[p] +
                         within * kind.out[p] / kind.in[0];
            d_writers[p].add(tag);
        }
    }
    for (size_t p = 0; p < d_connected; ++p) {
        write(p);
    }
}

} // namespace gr::cudaphy
