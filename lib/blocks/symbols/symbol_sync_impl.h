/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/symbols/rate_finder.h"
#include "blocks/symbols/sample_clock.h"
#include "runtime/block_counters.h"
#include "runtime/device/page_lock.h"
#include "runtime/scheduler_port.h"
#include <deque>
#include <gnuradio/cudaphy/kernels/symbol_stream.h>
#include <gnuradio/cudaphy/symbol_sync.h>
#include <mutex>

namespace gr::cudaphy {

/*!
 * A plain gr::block, because a batch_block gives a fixed number of items a frame.
 *
 * Samples are computed as they come, up to a chunk a call. What a chunk gives waits in
 * `d_stream` until the output has room; no more samples are taken before.
 */
class symbol_sync_impl : public symbol_sync, public counting_block
{
public:
    symbol_sync_impl(const kernels::symbol_sync_parameters& p,
                     double most_offset,
                     const resolved_backend& on,
                     double sample_rate);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;
    void setup_rpc() override { d_counters.register_at_control_port(alias()); }

    void set_samples_per_symbol(double samples_per_symbol) override;
    double samples_per_symbol() const override { return d_measured_rate; }
    double clock_error() const override { return d_clock_error; }
    double line() const override { return d_line; }
    bool locked() const override { return d_locked; }
    double level() const override { return d_level; }
    double carrier_offset() const override { return d_carrier_offset; }
    uint64_t symbols() const override { return d_symbols; }
    uint64_t gaps() const override { return d_gaps; }
    std::string backend() const override { return name_of(d_on.where); }
    block_statistics statistics() const override { return d_counters.now(); }

private:
    using clock = std::chrono::steady_clock;
    using symbol_stream = kernels::symbol_stream;

    bool waits() const { return d_sent < d_stream->symbols().size(); }
    int send(complex64* to, int room);
    //! Takes samples from `first` of the call's on; how many.
    int take(const void* samples, int first, int count);
    int samples_to_gap(int first, int count);
    void feed(const void* samples, size_t count, bool end);
    std::unique_ptr<symbol_stream> make_stream(const kernels::symbol_sync_parameters& p);
    void tag_carrier();
    void tag_carrier(uint64_t sample, double offset);
    bool change_rate(uint64_t next);
    void place_tags(bool end);
    void place(const tag_t& tag, const kernels::symbol_block& block, uint64_t item);
    void note(const kernels::symbol_block& block);
    void look_for_rate(const void* samples, size_t count);
    void tell_status();
    void hear(const pmt::pmt_t& message);

    const resolved_backend d_on;
    const kernels::symbol_sync_parameters d_parameters; //!< but for the rate
    const double d_most_offset;
    const size_t d_sample_bytes;
    scheduler_port d_port;
    std::unique_ptr<symbol_stream> d_stream;
    sample_clock d_clock;
    page_lock d_input_lock;

    uint64_t d_first = 0;       //!< sample of the input that is the stream's first
    bool d_empty = true;        //!< nothing has come since
    bool d_gap_next = false;    //!< samples are missing before the next one
    bool d_finished = false;    //!< the input has ended, and all is computed
    size_t d_sent = 0;          //!< symbols of the stream's result that have gone out
    uint64_t d_next = 0;        //!< item of the output that is the result's first symbol
    std::deque<tag_t> d_tags;   //!< of the input, without a symbol yet
    std::deque<tag_t> d_placed; //!< of the output, not gone out yet

    std::mutex d_mutex;                      //!< of d_wanted
    std::unique_ptr<symbol_stream> d_wanted; //!< of another rate

    rate_finder d_finder;
    clock::time_point d_told;
    clock::time_point d_counted; //!< since when these blocks of symbols are counted:
    uint64_t d_blocks = 0, d_locked_blocks = 0;
    std::optional<double> d_found_rate; //!< where there is no lock
    std::atomic<double> d_measured_rate, d_clock_error{ 0 }, d_line{ 0 }, d_level{ 0 },
        d_carrier_offset{ 0 };
    double d_told_offset = 0; //!< of the carrier, by the last tag
    std::atomic<bool> d_locked{ false };
    std::atomic<uint64_t> d_symbols{ 0 }, d_gaps{ 0 };
    block_counters d_counters;
};

} // namespace gr::cudaphy
