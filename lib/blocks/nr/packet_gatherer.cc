/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/packet_gatherer.h"
#include "kernels/common/parallel.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <stdexcept>

namespace gr::cudaphy {
namespace {

constexpr size_t items_a_copy = 1 << 13; // worth a core's start

} // namespace

packet_gatherer::packet_gatherer(size_t streams,
                                 size_t items,
                                 const pmt::pmt_t& length_key,
                                 size_t packets,
                                 bool for_gpu)
    : d_items(items), d_packets(packets), d_room(packets == 1 ? 1 : 2 * packets),
      d_key(length_key), d_gathered(make(d_room * streams * items, for_gpu)),
      d_tags(streams), d_whole_tags(streams)
{
}

packet_gatherer::memory packet_gatherer::make(size_t items, bool for_gpu)
{
    auto* const there =
        for_gpu ? page_locked_memory(items * sizeof(gr_complex)) : nullptr;
    return there ? memory(static_cast<gr_complex*>(there), { true })
                 : memory(new gr_complex[items], { false });
}

void packet_gatherer::release_memory::operator()(gr_complex* memory) const
{
    if (page_locked) {
        release_page_locked(memory);
    } else {
        delete[] memory;
    }
}

void packet_gatherer::drop_begun()
{
    d_filled = d_skip = 0;
    for (auto& list : d_tags) {
        list.clear();
    }
}

void packet_gatherer::release()
{
    d_first += d_waiting;
    d_waiting = 0;
    if (d_first == d_room || d_filled == 0) {
        d_first = 0;
    }
}

void packet_gatherer::clear()
{
    drop_begun();
    d_first = d_waiting = 0;
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
            drop_begun();
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
    const size_t streams = d_tags.size();
    auto* const packet = d_gathered.get() + (d_first + d_waiting) * streams * d_items;
    // Pieces of all streams, one stream after the other.
    for_each_part(streams * step, items_a_copy, [&](size_t first, size_t last) {
        while (first < last) {
            const size_t stream = first / step, at = first % step;
            const size_t count = std::min(step - at, last - first);
            std::copy_n(static_cast<const gr_complex*>(from[stream]) + done + at,
                        count,
                        packet + stream * d_items + d_filled + at);
            first += count;
        }
    });
    for (size_t stream = 0; stream < streams; ++stream) {
        for (auto tag : tags[stream]) {
            if (tag.offset >= done && tag.offset < done + step) {
                tag.offset += d_filled - done;
                d_tags[stream].push_back(tag);
            }
        }
    }
    d_filled += step;
    if (d_filled == d_items) {
        std::swap(d_tags, d_whole_tags);
        drop_begun();
        ++d_waiting;
    }
    return step;
}

} // namespace gr::cudaphy
