/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/ldpc/ldpc_code_choice.h"
#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/ldpc_encoder.h>

namespace gr::cudaphy {

class ldpc_encoder_impl : public ldpc_encoder, public batch_block
{
public:
    ldpc_encoder_impl(const ldpc_code_choice& codes,
                      const kernels::ldpc_encoder::parameters& parameters,
                      const ldpc_block_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t refused_packets() const override { return d_refused; }

private:
    std::unique_ptr<batch_job> make_job(queue& work_queue) override;
    std::unique_ptr<mixed_batch_job> make_mixed_job(queue& work_queue) override;
    int kind_of(const std::vector<tag_t>& head, std::string& refusal) const override;
    void refuse(const std::vector<tag_t>& head,
                uint64_t items,
                const std::string& reason) override;
    void report(const batch_status&, int, uint64_t) override {}

    const ldpc_code_choice d_codes;
    const kernels::ldpc_encoder::parameters d_parameters;
    std::atomic<uint64_t> d_refused{ 0 };
};

} // namespace gr::cudaphy
