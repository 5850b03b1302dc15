/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/ldpc_encoder.h>

namespace gr::cudaphy {

class ldpc_encoder_impl : public ldpc_encoder, public batch_block
{
public:
    ldpc_encoder_impl(kernels::ldpc_code::sptr code, const batch_options& options);

    std::string backend() const override { return used_backend(); }

private:
    std::unique_ptr<batch_job> make_job(queue& line) override;
    void report(const batch_status&, int, uint64_t) override {}

    const kernels::ldpc_code::sptr d_code;
};

} // namespace gr::cudaphy
