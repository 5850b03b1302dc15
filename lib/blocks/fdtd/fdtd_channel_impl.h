/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/block_counters.h"
#include "runtime/device/stopwatch.h"
#include <atomic>
#include <gnuradio/cudaphy/fdtd_channel.h>
#include <gnuradio/cudaphy/kernels/fdtd_stepper.h>

namespace gr::cudaphy {

/*!
 * \brief One stepper does all time steps in order. Batches can't overlap, because each
 * begins with the fields at the end of the last one. So a call copies in, steps, copies
 * out and waits.
 */
template <typename T>
class fdtd_channel_impl : public fdtd_channel, public counting_block
{
public:
    struct options {
        std::vector<int32_t> plane;
        int plane_every;
        std::string format;
        resolved_backend where;
        int max_batch;
    };
    fdtd_channel_impl(const kernels::fdtd_system<T>& system, const options& options);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    void reset() override { d_reset_asked = true; }
    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t steps() const override { return d_reset_asked ? 0 : d_steps.load(); }
    double time_step() const override { return d_time_step; }
    uint64_t matrix_bytes() const override { return d_stepper->matrix_bytes(); }
    block_statistics statistics() const override { return d_counters.now(); }
    void setup_rpc() override { d_counters.register_at_control_port(alias()); }

private:
    using stepper = kernels::fdtd_stepper<T>;

    //! An array in the queue's memory, and its counterpart on the host.
    template <typename U>
    struct mirrored {
        array<U> there;
        std::shared_ptr<void> memory;
        U* here = nullptr;

        mirrored() = default;
        mirrored(queue& work_queue, size_t size);
        void copy_out(queue& work_queue, size_t count);
    };

    uint64_t planes_by(uint64_t item) const; //!< planes before an item of the stream
    size_t steps_that_fit(const gr_vector_int& ninput_items);
    size_t take_in(const gr_vector_const_void_star& in, size_t steps);
    size_t step(size_t steps);
    size_t put_out(const gr_vector_void_star& out, size_t steps);
    void move_tags(size_t steps);
    std::string growth(uint64_t steps) const;

    const resolved_backend d_backend;
    const size_t d_points, d_every; //!< points of a plane; time steps between planes
    const double d_time_step, d_largest_time_step;
    block_counters d_counters;
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<stepper> d_stepper;
    std::unique_ptr<stopwatch> d_watch;
    size_t d_sources, d_probes, d_most;
    size_t d_most_planes = 0; //!< of a call
    size_t d_call = 64;       //!< most time steps of a call, adapted to call_seconds
    mirrored<T> d_excitation, d_seen, d_planes;
    mirrored<int64_t> d_status;
    array<int32_t> d_elements;
    std::atomic<bool> d_reset_asked{ false };
    std::atomic<uint64_t> d_steps{ 0 }; //!< of the stepper since its reset
    std::atomic<uint64_t> d_failures{ 0 };
    std::string d_problem;
};

} // namespace gr::cudaphy
