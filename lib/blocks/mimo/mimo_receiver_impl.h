/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/word_tags.h"
#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/mimo_receiver.h>

namespace gr::cudaphy {

class mimo_receiver_impl : public mimo_receiver, public batch_block
{
public:
    //! \param slot  of a receiver with these parameters
    mimo_receiver_impl(const kernels::mimo_receiver::parameters& parameters,
                       const kernels::mimo_receiver::sizes& slot,
                       const mimo_receiver_outputs& outputs,
                       const batch_options& options);

    std::string backend() const override { return used_backend(); }
    int words() const override { return static_cast<int>(d_slot.words); }
    uint64_t frames() const override { return d_frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    double average_iterations() const override;
    bool start() override;
    uint64_t failures() const override { return d_frame_errors; }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    std::string frame_sizes() const override;
    void report(const batch_status& status, int frame, uint64_t item) override;

    const kernels::mimo_receiver::parameters d_parameters;
    const kernels::mimo_receiver::sizes d_slot;
    const mimo_receiver_outputs d_outputs;
    word_tags d_tags;
    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 };
};

} // namespace gr::cudaphy
