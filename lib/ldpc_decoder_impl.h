/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/ldpc_decoder.h>

namespace gr::cudaphy {

class ldpc_decoder_impl : public ldpc_decoder, public batch_block
{
public:
    ldpc_decoder_impl(kernels::ldpc_code::sptr code,
                      const kernels::ldpc_decoder::parameters& parameters,
                      bool drops,
                      const batch_options& options);

    std::string backend() const override { return used_backend(); }
    uint64_t frames() const override { return d_frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    double average_iterations() const override;

private:
    std::unique_ptr<batch_job> make_job(queue& line) override;
    void report(const batch_status& status, int frame, uint64_t item) override;
    bool keeps(const batch_status& status, int frame) const override;
    bool drops_frames() const override { return d_drops; }

    const kernels::ldpc_code::sptr d_code;
    const kernels::ldpc_decoder::parameters d_parameters;
    const bool d_drops;
    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 };
};

} // namespace gr::cudaphy
