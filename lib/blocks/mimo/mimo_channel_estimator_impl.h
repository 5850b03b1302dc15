/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/channel_estimator.h>
#include <gnuradio/cudaphy/mimo_channel_estimator.h>

namespace gr::cudaphy {

class mimo_channel_estimator_impl : public mimo_channel_estimator, public batch_block
{
public:
    mimo_channel_estimator_impl(const kernels::channel_estimator::parameters& parameters,
                                const batch_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t failures() const override { return d_failures; }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool reports_zeros() const override { return false; }
    std::string frame_sizes() const override;

    const kernels::channel_estimator::parameters d_parameters;
    std::atomic<uint64_t> d_failures{ 0 };
};

} // namespace gr::cudaphy
