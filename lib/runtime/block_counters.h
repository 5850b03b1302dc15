/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <atomic>
#include <functional>
#include <gnuradio/block.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <memory>
#include <optional>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief What a block counts while it works, read from other threads, and over
 * ControlPort where GNU Radio has it.
 *
 * One thread at a time counts, any number read.
 */
class block_counters
{
public:
    block_counters(std::string backend, std::function<uint64_t()> failures)
        : d_backend(std::move(backend)), d_failures(std::move(failures))
    {
    }

    void queued(uint64_t depth); //!< this many batches are under way or wait
    //! A batch is done. Not every batch is timed: the total counts the frames of the
    //! others at the time a frame of the next timed one.
    void computed(uint64_t frames, std::optional<double> seconds);
    block_statistics now() const;

    //! Makes the figures known to ControlPort under the block's alias.
    void register_at_control_port(const std::string& alias);

private:
    double batch_size() const { return static_cast<double>(d_last_batch); }
    double batch_size_average() const;
    double depth() const { return static_cast<double>(d_depth); }
    double failures() const { return static_cast<double>(d_failures()); }
    double compute_time() const { return d_last_compute; }
    double compute_time_total() const { return d_compute; }

    const std::string d_backend;
    const std::function<uint64_t()> d_failures;
    std::atomic<uint64_t> d_batches{ 0 }, d_frames{ 0 }, d_last_batch{ 0 },
        d_largest_batch{ 0 }, d_depth{ 0 }, d_largest_depth{ 0 };
    std::atomic<double> d_compute{ 0 }, d_last_compute{ 0 };
    uint64_t d_untimed = 0; //!< frames
    //! The last member, so that ControlPort reads no member that is destroyed.
    std::vector<std::shared_ptr<void>> d_registrations;
};

} // namespace gr::cudaphy
