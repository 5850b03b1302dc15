/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/ofdm/ofdm_frame_finder.h"
#include "blocks/packets/radio_time.h"
#include <atomic>
#include <deque>
#include <gnuradio/cudaphy/ofdm_synchronizer.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <optional>

namespace gr::cudaphy {

class ofdm_synchronizer_impl : public ofdm_synchronizer, public counting_block
{
public:
    ofdm_synchronizer_impl(const ofdm_frame_shape& shape,
                           const std::string& length_tag_key,
                           double sample_rate);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    uint64_t frames() const override { return d_frames; }
    uint64_t false_alarms() const override { return d_false_alarms; }
    uint64_t torn_frames() const override { return d_torn; }
    double carrier_offset() const override { return d_offset; }
    block_statistics statistics() const override;

private:
    //! A sample of the input with its time.
    struct clock {
        uint64_t sample;
        radio_time time;
    };

    void take(const gr_vector_int& ninput_items, const gr_vector_const_void_star& in);
    void look_for_frame();
    int samples_to_gap(int count);
    bool is_gap(const clock& now) const;
    void begin_anew();
    double rate() const { return d_rate > 0 ? d_rate : d_sample_rate; }
    void keep_tags(int count);
    void tag_frame(uint64_t item);
    void tag_symbol(uint64_t item);
    void add_to_all(uint64_t item, const pmt::pmt_t& key, const pmt::pmt_t& value);

    const ofdm_frame_shape d_shape;
    const pmt::pmt_t d_length_key; //!< null if there is none
    const double d_sample_rate;

    ofdm_frame_finder d_finder;
    uint64_t d_started = 0; //!< the sample of the input that is the finder's sample 0
    ofdm_frame d_frame{};
    int d_symbol = -1; //!< of d_frame, which is put out next; -1: no frame
    std::deque<tag_t> d_tags;
    std::optional<clock> d_clock;
    std::deque<clock> d_clocks;    //!< later than the frames that were put out
    std::optional<clock> d_latest; //!< the last one that was compared for a gap
    double d_rate = 0;
    uint64_t d_alarms_before = 0; //!< false alarms before the finder's sample 0
    std::atomic<uint64_t> d_frames{ 0 }, d_false_alarms{ 0 }, d_torn{ 0 };
    std::atomic<double> d_offset{ 0 };
};

} // namespace gr::cudaphy
