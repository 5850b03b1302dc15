/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/coding_block.h"
#include "blocks/coding/word_tags.h"
#include "blocks/ldpc/ldpc_boundary_hint.h"
#include "blocks/ldpc/ldpc_code_choice.h"
#include <gnuradio/cudaphy/ldpc_decoder.h>

namespace gr::cudaphy {

class ldpc_decoder_impl : public ldpc_decoder, public coding_block<kernels::ldpc_code>
{
public:
    ldpc_decoder_impl(const ldpc_code_choice& codes,
                      const kernels::ldpc_decoder::parameters& parameters,
                      const ldpc_output_options& output,
                      const ldpc_block_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t frames() const override { return d_frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    double average_iterations() const override;
    uint64_t nan_llrs() const override { return d_nan_llrs; }
    uint64_t refused_packets() const override { return refused(); }
    bool start() override;
    uint64_t failures() const override { return d_frame_errors + refused(); }

private:
    std::unique_ptr<batch_job> make_code_job(const kernels::ldpc_code::sptr& code,
                                             queue& work_queue) override;
    std::unique_ptr<mixed_batch_job> make_mixed_job(queue& work_queue) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool keeps(const batch_status& status, int frame) const override;
    bool drops_frames() const override { return d_drops; }

    const kernels::ldpc_decoder::parameters d_parameters;
    const bool d_drops, d_soft;
    word_tags d_tags;
    //! Also of the jobs, which look at LLRs that are not on a GPU.
    const std::shared_ptr<ldpc_boundary_hint> d_hint;
    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 },
        d_nan_llrs{ 0 };
};

} // namespace gr::cudaphy
