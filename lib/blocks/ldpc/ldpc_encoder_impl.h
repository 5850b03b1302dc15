/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/coding_block.h"
#include "blocks/ldpc/ldpc_code_choice.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/ldpc_encoder.h>

namespace gr::cudaphy {

class ldpc_encoder_impl : public ldpc_encoder, public coding_block<kernels::ldpc_code>
{
public:
    ldpc_encoder_impl(const ldpc_code_choice& codes,
                      const kernels::ldpc_encoder::parameters& parameters,
                      const ldpc_block_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t refused_packets() const override { return refused(); }

private:
    std::unique_ptr<batch_job> make_code_job(const kernels::ldpc_code::sptr& code,
                                             queue& work_queue) override;
    void report(const batch_status&, int, uint64_t) override {}

    const kernels::ldpc_encoder::parameters d_parameters;
};

} // namespace gr::cudaphy
