/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/device/device_output.h"
#include "runtime/scheduler_port.h"
#include <atomic>
#include <chrono>
#include <deque>
#include <gnuradio/cudaphy/dvbs2_frame_sync.h>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <mutex>

namespace gr::cudaphy {

class dvbs2_frame_sync_impl : public dvbs2_frame_sync,
                              public counting_block,
                              public device_block
{
public:
    //! \param chosen  whether the backend was asked for by name
    dvbs2_frame_sync_impl(const kernels::dvbs2_frame_sync::parameters& how,
                          bool chosen,
                          const std::string& length_tag_key);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    bool locked() const override { return shown().locked; }
    uint64_t frames() const override { return shown().counts.frames; }
    uint64_t dummy_frames() const override { return shown().counts.dummy_frames; }
    uint64_t filtered() const override { return shown().counts.filtered; }
    uint64_t dropped() const override { return shown().counts.cut; }
    uint64_t lost_locks() const override { return shown().counts.lost_locks; }
    double frequency() const override { return shown().frequency; }
    double esn0() const override { return shown().esn0; }
    std::string modcod() const override { return shown().modcod; }
    std::string backend() const override { return name_of(d_where); }
    block_statistics statistics() const override;

    std::optional<place> works_on() const override;
    //! It decides on the host, by the symbols.
    bool reads_there() const override { return false; }

private:
    //! What other threads see.
    struct state {
        bool locked = false;
        kernels::dvbs2_frame_sync::counts counts;
        double frequency = 0, esn0 = 0;
        std::string modcod;
    };

    state shown() const;
    void show();
    bool has_ended();
    void take(const gr_complex* in, int count);
    int symbols_to_change(int count);
    void keep_tags(int count);
    void forget_tags();
    bool next_frame();
    int put_out(gr_complex* out, size_t room);
    int fail(const std::exception& problem);
    void tag_frame(uint64_t item);
    void report();

    const kernels::dvbs2_frame_sync::parameters d_how; //!< its backend is a certain one
    const bool d_chosen;
    const pmt::pmt_t d_length_key;
    scheduler_port d_port;
    std::unique_ptr<queue> d_host;           //!< a queue of the host's
    std::unique_ptr<device_output> d_output; //!< of a GPU
    std::atomic<cudaphy::backend> d_where;   //!< in use
    std::unique_ptr<kernels::dvbs2_frame_sync> d_sync;
    kernels::dvbs2_frame d_frame;
    size_t d_given = 0;  //!< symbols of d_frame that are put out
    size_t d_length = 0; //!< symbols of d_frame
    bool d_has_frame = false;
    bool d_finished = false;
    bool d_failed = false;
    uint64_t d_started = 0;   //!< the input's item that is d_sync's symbol 0
    uint64_t d_last_gap = 0;  //!< item of the last gap that d_sync was told
    std::deque<tag_t> d_tags; //!< that wait for a frame
    std::string d_modcod;
    std::chrono::steady_clock::time_point d_reported;
    mutable std::mutex d_mutex;
    state d_shown;
};

} // namespace gr::cudaphy
