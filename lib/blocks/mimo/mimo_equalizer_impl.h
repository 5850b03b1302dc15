/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/mimo/equalizer_inputs.h"
#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/mimo_equalizer.h>

namespace gr::cudaphy {

//! Which input port each of them has; -1: none.
struct equalizer_ports {
    int channel, noise, covariance;
    int count() const { return 1 + (channel > 0) + (noise > 0) + (covariance > 0); }
};

class mimo_equalizer_impl : public mimo_equalizer, public batch_block
{
public:
    mimo_equalizer_impl(const kernels::equalizer::parameters& parameters,
                        const equalizer_ports& ports,
                        const std::string& channel_from,
                        const std::string& covariance_from,
                        float noise_variance,
                        const batch_options& options);

    bool start() override;
    void set_noise_variance(float noise_variance) override;
    float noise_variance() const override { return d_noise_variance; }
    std::string backend() const override { return used_backend(); }
    uint64_t failures() const override { return d_failures; }

    //! What holds for each of the slots that are submitted next; on the work's thread.
    const std::vector<equalizer_inputs::state>& next_slots(int slots);

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool reports_zeros() const override { return false; }
    bool needs_own_thread() const override
    {
        return true;
    } // messages change d_side_inputs
    std::string frame_sizes() const override;
    void listen(const char* port, void (equalizer_inputs::*set)(const pmt::pmt_t&));

    const kernels::equalizer::parameters d_parameters;
    const equalizer_ports d_ports;
    const std::string d_length_tag_key;
    equalizer_inputs d_side_inputs;
    std::atomic<float> d_noise_variance;
    std::atomic<bool> d_noise_is_set{ false }; //!< since the last batch
    std::atomic<uint64_t> d_failures{ 0 };
};

} // namespace gr::cudaphy
