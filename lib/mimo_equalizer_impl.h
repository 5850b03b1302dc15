/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <gnuradio/cudaphy/mimo_equalizer.h>

namespace gr::cudaphy {

class mimo_equalizer_impl : public mimo_equalizer, public batch_block
{
public:
    mimo_equalizer_impl(const kernels::equalizer::parameters& parameters,
                        bool noise_input,
                        float noise_variance,
                        const batch_options& options);

    void set_noise_variance(float noise_variance) override;
    float noise_variance() const override { return d_noise_variance; }
    std::string backend() const override { return used_backend(); }
    uint64_t failures() const override { return d_failures; }

private:
    std::unique_ptr<batch_job> make_job(queue& line) override;
    void report(const batch_status& status, int frame, uint64_t item) override;

    const kernels::equalizer::parameters d_parameters;
    const bool d_noise_input;
    std::atomic<float> d_noise_variance;
    std::atomic<uint64_t> d_failures{ 0 };
};

} // namespace gr::cudaphy
