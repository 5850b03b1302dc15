/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <gnuradio/cudaphy/soft_demapper.h>

namespace gr::cudaphy {

class soft_demapper_impl : public soft_demapper, public batch_block
{
public:
    enum class number { float32, float16, int8 }; //!< of the LLRs

    soft_demapper_impl(const kernels::soft_demapper::parameters& parameters,
                       int vlen,
                       number type,
                       bool noise_input,
                       float noise_variance,
                       const batch_options& options);

    void set_noise_variance(float noise_variance) override;
    float noise_variance() const override { return d_noise_variance; }
    std::string backend() const override { return used_backend(); }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    void report(const batch_status&, int, uint64_t) override {}
    void take_noise_variance(const pmt::pmt_t& message);

    const kernels::soft_demapper::parameters d_parameters;
    const int d_vlen;
    const number d_type;
    const bool d_noise_input;
    std::atomic<float> d_noise_variance;
};

} // namespace gr::cudaphy
