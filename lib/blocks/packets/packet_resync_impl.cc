/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/packets/packet_resync_impl.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>
#include <stdexcept>

namespace gr::cudaphy {
namespace {

constexpr uint64_t most_bytes = 1 << 28;
constexpr uint64_t most_tolerance = 1 << 20;
const pmt::pmt_t rx_time = pmt::mp("rx_time"), rx_rate = pmt::mp("rx_rate"),
                 rx_freq = pmt::mp("rx_freq");

void check(bool good, const std::string& problem)
{
    if (!good) {
        throw std::invalid_argument(problem);
    }
}

std::optional<uint64_t> length_of(const tag_t& tag)
{
    const auto length = whole_number(tag.value);
    return length && *length > 0 ? std::optional<uint64_t>(*length) : std::nullopt;
}

} // namespace

packet_resync::sptr packet_resync::make(size_t item_bytes,
                                        uint64_t packet_length,
                                        double sample_rate,
                                        const std::string& length_tag_key,
                                        uint64_t tolerance,
                                        bool stamp)
{
    check(item_bytes >= 1 && item_bytes <= 1 << 20,
          "item_bytes " + std::to_string(item_bytes) + " is not in 1 to 2^20");
    check(packet_length <= most_bytes / item_bytes,
          "packet_length " + std::to_string(packet_length) +
              " makes more than 2^28 bytes");
    check(sample_rate == 0 || is_usable_rate(sample_rate),
          "sample_rate " + std::to_string(sample_rate) +
              " is neither 0 nor 0.001 to 1e12");
    check(!length_tag_key.empty(),
          "length_tag_key is empty, but packets need a length tag");
    check(tolerance <= most_tolerance,
          "tolerance " + std::to_string(tolerance) + " is not in 0 to 2^20 items");
    return gnuradio::make_block_sptr<packet_resync_impl>(
        item_bytes, packet_length, sample_rate, length_tag_key, tolerance, stamp);
}

packet_resync_impl::packet_resync_impl(size_t item_bytes,
                                       uint64_t packet_length,
                                       double sample_rate,
                                       const std::string& length_tag_key,
                                       uint64_t tolerance,
                                       bool stamp)
    : gr::block("packet_resync",
                gr::io_signature::make(1, 1, item_bytes),
                gr::io_signature::make(1, 1, item_bytes)),
      d_item_bytes(item_bytes), d_fixed_length(packet_length), d_given_rate(sample_rate),
      d_key(pmt::intern(length_tag_key)), d_tolerance(tolerance), d_stamp(stamp)
{
    set_tag_propagation_policy(TPP_DONT);
    message_port_register_out(pmt::mp("gaps"));
}

bool packet_resync_impl::start()
{
    d_full = false;
    d_sent = 0;
    d_time.reset();
    d_rate = d_given_rate;
    d_state.clear();
    begin(0, d_fixed_length, d_fixed_length > 0);
    return block::start();
}

//! In the statistics each packet counts as a frame and as a batch. Nothing is computed.
block_statistics packet_resync_impl::statistics() const
{
    block_statistics found;
    found.batches = found.frames = d_packets;
    found.last_batch = found.largest_batch = found.frames ? 1 : 0;
    found.failures = d_lost_packets;
    return found;
}

void packet_resync_impl::forecast(int, gr_vector_int& required)
{
    required[0] = d_full ? 0 : 1;
}

int packet_resync_impl::general_work(int noutput_items,
                                     gr_vector_int& ninput_items,
                                     gr_vector_const_void_star& in,
                                     gr_vector_void_star& out)
{
    const auto first = nitems_read(0);
    const auto* from = static_cast<const char*>(in[0]);
    auto* to = static_cast<char*>(out[0]);
    uint64_t taken = 0, given = 0;
    const uint64_t there = ninput_items[0], room = noutput_items;

    std::vector<tag_t> tags;
    get_tags_in_range(tags, 0, first, first + there);
    std::stable_sort(tags.begin(), tags.end(), tag_t::offset_compare);
    auto next = tags.begin();
    while (true) {
        if (d_full) {
            const auto step = put_out(to + given * d_item_bytes, room - given);
            given += step;
            produce(0, static_cast<int>(step));
            if (d_full) {
                break;
            }
        }
        if (taken == there) {
            break;
        }
        const auto item = first + taken;
        const auto after = std::find_if(
            next, tags.end(), [&](const tag_t& tag) { return tag.offset != item; });
        heed({ next, after }, item);
        next = after;
        // Up to the next tag, the packet's end or the end of the input.
        uint64_t step = (next == tags.end() ? first + there : next->offset) - item;
        if (d_length) {
            step = std::min(step, d_length - d_position);
        }
        take(from + taken * d_item_bytes, step, item);
        taken += step;
    }
    consume(0, static_cast<int>(taken));
    return WORK_CALLED_PRODUCE;
}

//! Evaluates all tags of one item.
void packet_resync_impl::heed(const std::vector<tag_t>& tags, uint64_t item)
{
    for (const auto& tag : tags) {
        const auto rate = d_given_rate == 0 && pmt::eqv(tag.key, rx_rate)
                              ? radio_rate(tag.value)
                              : std::nullopt;
        if (rate && *rate != d_rate) {
            if (d_time && d_rate > 0) { // the old rate is valid up to this item
                d_time = { item, d_time->time.after(item - d_time->item, d_rate) };
            }
            d_rate = *rate;
        }
    }
    for (const auto& tag : tags) {
        const auto time =
            pmt::eqv(tag.key, rx_time) ? radio_time::from_pmt(tag.value) : std::nullopt;
        if (!time) {
            continue;
        }
        // With length tags, a gap between packets does no harm: the items there may be
        // missing on purpose.
        const bool amid = d_whole && d_position > 0;
        if (d_time && d_rate > 0 && (d_fixed_length || amid)) {
            const auto expected = d_time->time.after(item - d_time->item, d_rate);
            const double off = std::round(time->since(expected) * d_rate);
            if (std::abs(off) > d_tolerance) {
                gap(item,
                    off > 0 && off < 1e18 ? static_cast<uint64_t>(off) : 0,
                    tag.value);
            }
        } else if (amid) { // the expected time is unknown
            gap(item, 0, tag.value);
        }
        d_time = { item, *time };
    }
    for (const auto& tag : tags) {
        if (d_fixed_length == 0 && pmt::eqv(tag.key, d_key)) {
            const auto length = length_of(tag);
            const bool fits = length && *length <= most_bytes / d_item_bytes;
            if (d_position > 0) {
                lose(); // the end of the packet before is missing
            }
            begin(item, length.value_or(0), fits);
            if (length && !fits) {
                ++d_lost_packets;
            }
        }
    }
    for (const auto& tag : tags) {
        if (pmt::eqv(tag.key, d_key)) {
            continue;
        }
        if (d_whole) {
            d_tags.push_back(tag);
            d_tags.back().offset = d_position;
        } else {
            keep_state(tag);
        }
    }
}

void packet_resync_impl::keep_state(const tag_t& tag)
{
    if (pmt::eqv(tag.key, rx_time) || pmt::eqv(tag.key, rx_rate) ||
        pmt::eqv(tag.key, rx_freq)) {
        d_state[pmt::symbol_to_string(tag.key)] = tag;
    }
}

//! Reports a gap before `item`, and drops torn packets.
//! \param lost  the number of missing items, 0 if unknown
void packet_resync_impl::gap(uint64_t item, uint64_t lost, const pmt::pmt_t& time)
{
    ++d_gaps;
    d_lost_items += lost;
    const uint64_t lost_before = d_lost_packets;
    const bool torn = d_position > 0 && d_whole;
    if (d_fixed_length && lost) {
        // The packets with an item in the gap or before it, less one that is counted.
        const auto end = d_position + lost, into = end % d_fixed_length;
        const bool counted = !d_whole;
        lose();
        d_lost_packets =
            lost_before + (end + d_fixed_length - 1) / d_fixed_length - counted;
        begin(item, d_fixed_length, into == 0);
        d_position = into;
    } else {
        if (torn) {
            lose();
        }
        begin(item, d_fixed_length, d_fixed_length > 0);
    }
    auto report = pmt::make_dict();
    const auto add = [&report](const char* name, const pmt::pmt_t& value) {
        report = pmt::dict_add(report, pmt::mp(name), value);
    };
    add("item", pmt::from_uint64(item));
    add("lost_items", pmt::from_uint64(lost));
    add("lost_packets", pmt::from_uint64(d_lost_packets - lost_before));
    add("rx_time", time);
    message_port_pub(pmt::mp("gaps"), report);
    d_logger->warn("a gap before item {}: {} lost, {} packets in all",
                   item,
                   lost ? std::to_string(lost) + " items" : "an unknown number of items",
                   d_lost_packets.load());
}

//! Drops the packet that is being received.
void packet_resync_impl::lose()
{
    if (d_whole) {
        ++d_lost_packets;
        d_dropped_items += d_position;
        for (auto tag : d_tags) {
            tag.offset += d_head;
            keep_state(tag);
        }
    }
    d_whole = false;
}

void packet_resync_impl::begin(uint64_t item, uint64_t length, bool whole)
{
    d_head = item;
    d_length = length;
    d_position = 0;
    d_whole = whole;
    d_items.clear();
    d_tags.clear();
}

void packet_resync_impl::take(const char* from, uint64_t items, uint64_t item)
{
    d_position += items;
    if (d_whole) {
        d_items.insert(d_items.end(), from, from + items * d_item_bytes);
    } else {
        d_dropped_items += items;
    }
    if (d_length && d_position == d_length) {
        d_full = d_whole;
        if (!d_full) {
            begin(item + items, d_fixed_length, d_fixed_length > 0);
        }
    }
}

//! Moves tags of dropped items to the packet's head.
void packet_resync_impl::add_head_tags()
{
    const auto has = [this](const pmt::pmt_t& key) {
        return std::any_of(d_tags.begin(), d_tags.end(), [&](const tag_t& tag) {
            return tag.offset == 0 && pmt::eqv(tag.key, key);
        });
    };
    const auto add = [&](const pmt::pmt_t& key, const pmt::pmt_t& value) {
        if (!has(key)) {
            tag_t tag;
            tag.offset = 0;
            tag.key = key;
            tag.value = value;
            tag.srcid = alias_pmt();
            d_tags.push_back(tag);
        }
    };
    bool timed = d_stamp;
    for (const auto& [name, tag] : d_state) {
        if (pmt::eqv(tag.key, rx_time)) {
            timed = true;
        } else {
            add(tag.key, tag.value);
        }
    }
    // The known time may lie behind the head, because of a tag within the packet.
    if (timed && d_time && d_rate > 0) {
        const auto& at = *d_time;
        if (at.item <= d_head) {
            add(rx_time, at.time.after(d_head - at.item, d_rate).to_pmt());
        } else {
            const double back = (at.item - d_head) / d_rate, whole = std::ceil(back);
            const double part = at.time.fraction + (whole - back);
            const auto seconds = static_cast<uint64_t>(whole - std::floor(part));
            if (at.time.seconds >= seconds) {
                add(rx_time,
                    radio_time{ at.time.seconds - seconds, part - std::floor(part) }
                        .to_pmt());
            }
        }
    }
    d_state.clear();
    add(d_key, pmt::from_long(static_cast<long>(d_length)));
}

uint64_t packet_resync_impl::put_out(char* to, uint64_t room)
{
    if (d_sent == 0 && room > 0) {
        add_head_tags();
        for (auto& tag : d_tags) {
            add_item_tag(
                0, nitems_written(0) + tag.offset, tag.key, tag.value, tag.srcid);
        }
    }
    const auto step = std::min(room, d_length - d_sent);
    std::memcpy(to, d_items.data() + d_sent * d_item_bytes, step * d_item_bytes);
    d_sent += step;
    if (d_sent == d_length) {
        ++d_packets;
        d_full = false;
        d_sent = 0;
        begin(d_head + d_length, d_fixed_length, d_fixed_length > 0);
    }
    return step;
}

} // namespace gr::cudaphy
