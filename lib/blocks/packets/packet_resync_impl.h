/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/packets/radio_time.h"
#include <atomic>
#include <gnuradio/cudaphy/packet_resync.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <map>
#include <vector>

namespace gr::cudaphy {

class packet_resync_impl : public packet_resync, public counting_block
{
public:
    packet_resync_impl(size_t item_bytes,
                       uint64_t packet_length,
                       double sample_rate,
                       const std::string& length_tag_key,
                       uint64_t tolerance,
                       bool stamp);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override;

    block_statistics statistics() const override;

    uint64_t packets() const override { return d_packets; }
    uint64_t gaps() const override { return d_gaps; }
    uint64_t lost_items() const override { return d_lost_items; }
    uint64_t lost_packets() const override { return d_lost_packets; }
    uint64_t dropped_items() const override { return d_dropped_items; }

private:
    void heed(const std::vector<tag_t>& tags, uint64_t item);
    void gap(uint64_t item, uint64_t lost, const pmt::pmt_t& time);
    void begin(uint64_t item, uint64_t length, bool whole);
    void lose();
    void take(const char* from, uint64_t items, uint64_t item);
    uint64_t put_out(char* to, uint64_t room);
    void keep_state(const tag_t& tag);
    void add_head_tags();

    const size_t d_item_bytes;
    const uint64_t d_fixed_length;
    const double d_given_rate;
    const pmt::pmt_t d_key;
    const uint64_t d_tolerance;
    const bool d_stamp;

    // The packet that is being received: its first item, its length, its items so far.
    uint64_t d_head = 0, d_length = 0, d_position = 0;
    bool d_whole = false; //!< no gap so far; false: the packet is dropped
    std::vector<char> d_items;
    std::vector<tag_t> d_tags; //!< with offsets from the packet's head
    bool d_full = false;       //!< the packet is complete and is being put out
    uint64_t d_sent = 0;       //!< items that are put out

    // The radio's time at an item of the input, and the radio's rate.
    struct known_time {
        uint64_t item;
        radio_time time;
    };
    std::optional<known_time> d_time;
    double d_rate = 0;
    //! rx_time, rx_rate and rx_freq of dropped items, by name.
    std::map<std::string, tag_t> d_state;

    std::atomic<uint64_t> d_packets{ 0 }, d_gaps{ 0 }, d_lost_items{ 0 },
        d_lost_packets{ 0 }, d_dropped_items{ 0 };
};

} // namespace gr::cudaphy
