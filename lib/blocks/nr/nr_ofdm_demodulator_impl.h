/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/slot_block.h"
#include "blocks/packets/radio_time.h"
#include <gnuradio/cudaphy/nr_ofdm_demodulator.h>

namespace gr::cudaphy {

class nr_ofdm_demodulator_impl : public nr_ofdm_demodulator, public slot_block
{
public:
    nr_ofdm_demodulator_impl(const kernels::nr::ofdm_parameters& ofdm,
                             int antennas,
                             const nr_ofdm_demodulator_options& options);

    bool start() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override;

    double sample_rate() const override { return d_ofdm.sample_rate(); }
    uint64_t slots() const override { return d_slots; }
    uint64_t lost_slots() const override { return d_lost_slots; }
    uint64_t gaps() const override { return d_gaps; }
    uint64_t dropped_samples() const override { return d_dropped; }

private:
    void run(size_t room,
             const gr_vector_int& ninput_items,
             const gr_vector_const_void_star& in,
             gr_vector_void_star& out);
    size_t slot_samples() const { return d_ofdm.samples(d_clock.slot(), 1); }
    //! Evaluates the tags of input 0 at an offset.
    void heed(const std::vector<tag_t>& tags, uint64_t offset, uint64_t item);
    void heed_time(const radio_time& time, uint64_t item);
    void lose(size_t samples);
    void begin_anew();
    void drop_begun();
    //! Takes `count` items, all of the slot that has begun.
    void take(const gr_vector_const_void_star& in,
              size_t done,
              size_t count,
              const tag_lists& tags,
              uint64_t item);
    void demodulate();
    bool passes_on(const tag_t& tag) const;

    const kernels::nr::ofdm d_ofdm;
    const int d_antennas;
    const nr_ofdm_demodulator_options d_options;
    const int d_advance;
    const size_t d_longest; //!< samples of a slot at most

    bool d_timed = false;              //!< it is known where slots begin
    slot_clock d_clock;                //!< the slot that has begun
    size_t d_position = 0;             //!< samples of it that have come or are missing
    bool d_whole = true;               //!< none is missing
    std::vector<gr_complex> d_samples; //!< (antennas, longest)
    tag_lists d_tags;
    std::optional<radio_time> d_slot_time;
    struct known_time {
        uint64_t item;
        radio_time time;
    };
    std::optional<known_time> d_time;
    bool d_warned_of_rate = false, d_warned_of_slot = false, d_waits = false;
    uint64_t d_waited = 0; //!< samples without a tag `slot`

    std::atomic<uint64_t> d_slots{ 0 }, d_lost_slots{ 0 }, d_gaps{ 0 }, d_dropped{ 0 };
};

} // namespace gr::cudaphy
