/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/slot_block.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gr::cudaphy {

void slot_block::forecast(int, gr_vector_int& required)
{
    std::fill(required.begin(), required.end(), leaving() ? 0 : 1);
}

slot_block::tag_lists slot_block::next_tags(size_t streams, size_t count)
{
    tag_lists out(streams);
    for (size_t port = 0; port < out.size(); ++port) {
        const auto first = nitems_read(port);
        get_tags_in_range(out[port], port, first, first + count);
        std::stable_sort(out[port].begin(), out[port].end(), tag_t::offset_compare);
        for (auto& tag : out[port]) {
            tag.offset -= first;
        }
    }
    return out;
}

void slot_block::leave(std::vector<gr_complex>&& items, tag_lists&& tags)
{
    d_items = std::move(items);
    d_tags = std::move(tags);
    d_each = d_items.size() / d_tags.size();
    d_sent = 0;
}

size_t slot_block::put_out(gr_vector_void_star& out, size_t done, size_t room)
{
    const size_t step = std::min(room, d_each - d_sent);
    for (size_t port = 0; port < out.size(); ++port) {
        if (d_sent == 0 && step > 0) {
            if (d_length_key) {
                add_tag(d_tags[port],
                        d_length_key,
                        pmt::from_long(static_cast<long>(d_each)));
            }
            for (const auto& tag : d_tags[port]) {
                add_item_tag(port,
                             nitems_written(port) + tag.offset,
                             tag.key,
                             tag.value,
                             tag.srcid);
            }
        }
        const auto* const from = d_items.data() + port * d_each + d_sent;
        std::copy(from, from + step, static_cast<gr_complex*>(out[port]) + done);
        produce(port, static_cast<int>(step));
    }
    d_sent += step;
    return step;
}

void slot_block::add_tag(std::vector<tag_t>& tags,
                         const pmt::pmt_t& key,
                         const pmt::pmt_t& value)
{
    tag_t tag;
    tag.offset = 0;
    tag.key = key;
    tag.value = value;
    tag.srcid = alias_pmt();
    tags.push_back(tag);
}

void slot_block::add_slot(std::vector<tag_t>& tags, const slot_clock& clock)
{
    add_tag(tags, slot_keys::slot, pmt::from_long(clock.slot()));
    add_tag(tags, slot_keys::frame, pmt::from_long(clock.frame()));
}

int slot_block::guarded(const std::function<void()>& work)
{
    try {
        work();
        return WORK_CALLED_PRODUCE;
    } catch (const std::exception& problem) {
        // An exception that leaves general_work() would end this block's thread, and the
        // other blocks would wait for ever.
        d_logger->error("{}: the flowgraph ends here", problem.what());
        return WORK_DONE;
    }
}

void slot_block::computed(uint64_t frames, std::chrono::steady_clock::time_point began)
{
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    d_counters.computed(frames, took.count());
}

pmt::pmt_t required_key(const std::string& length_tag_key)
{
    if (length_tag_key.empty()) {
        throw std::invalid_argument(
            "length_tag_key is empty, but a slot's packet needs a length tag");
    }
    return pmt::intern(length_tag_key);
}

int checked_streams(const char* what, int streams)
{
    if (streams < 1 || streams > 64) {
        throw std::invalid_argument(std::string(what) + " is " + std::to_string(streams) +
                                    "; allowed: 1 to 64");
    }
    return streams;
}

int checked_slot(int slot, int numerology)
{
    const int slots = numerology >= 0 && numerology <= 4 ? 10 << numerology : 0;
    if (slot < 0 || slot >= slots) {
        throw std::invalid_argument("slot is " + std::to_string(slot) +
                                    "; a frame has slots 0 to " +
                                    std::to_string(slots - 1) + " (TS 38.211, 4.3.2)");
    }
    return slot;
}

} // namespace gr::cudaphy
