/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/block_counters.h"
#include <algorithm>
#ifdef GR_CTRLPORT
#include <gnuradio/rpcregisterhelpers.h>
#endif

namespace gr::cudaphy {

counting_block::~counting_block() = default;

void block_counters::queued(uint64_t depth)
{
    d_depth = depth;
    d_largest_depth = std::max<uint64_t>(d_largest_depth, depth);
}

void block_counters::computed(uint64_t frames, std::optional<double> seconds)
{
    ++d_batches;
    d_frames += frames;
    d_last_batch = frames;
    d_largest_batch = std::max<uint64_t>(d_largest_batch, frames);
    if (!seconds) {
        d_untimed += frames;
        return;
    }
    d_last_compute = *seconds;
    d_compute =
        d_compute + *seconds * double(d_untimed + frames) / std::max(1.0, double(frames));
    d_untimed = 0;
}

block_statistics block_counters::now() const
{
    block_statistics found;
    found.backend = d_backend;
    found.batches = d_batches;
    found.frames = d_frames;
    found.last_batch = d_last_batch;
    found.largest_batch = d_largest_batch;
    found.queue_depth = d_depth;
    found.largest_depth = d_largest_depth;
    found.failures = d_failures();
    found.compute_seconds = d_compute;
    found.last_compute = d_last_compute;
    return found;
}

double block_counters::batch_size_average() const
{
    // Frames first: a batch that is counted in between is counted before its frames.
    const double frames = static_cast<double>(d_frames);
    const double batches = static_cast<double>(d_batches);
    return batches > 0 ? frames / batches : 0;
}

void block_counters::register_at_control_port([[maybe_unused]] const std::string& alias)
{
#ifdef GR_CTRLPORT
    const auto add = [&](const char* name,
                         double (block_counters::*get)() const,
                         const char* unit,
                         const char* what,
                         DisplayType display) {
        d_registrations.push_back(
            std::make_shared<rpcbasic_register_get<block_counters, double>>(
                alias,
                name,
                this,
                get,
                pmt::mp(0.0),
                pmt::mp(1e9),
                pmt::mp(0.0),
                unit,
                what,
                RPC_PRIVLVL_MIN,
                display));
    };
    const auto graph = DISPTIME | DISPOPTSTRIP;
    add("batch size", &block_counters::batch_size, "frames", "Last batch", graph);
    add("avg batch size",
        &block_counters::batch_size_average,
        "frames",
        "Average of all batches",
        graph);
    add("queue depth", &block_counters::depth, "batches", "Under way or waiting", graph);
    add("failures", &block_counters::failures, "frames", "Failed or refused", DISPNULL);
    add("compute time", &block_counters::compute_time, "s", "Last batch's", graph);
    add("total compute time",
        &block_counters::compute_time_total,
        "s",
        "Time in kernels",
        DISPNULL);
#endif
}

} // namespace gr::cudaphy
