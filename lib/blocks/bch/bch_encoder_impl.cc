/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/bch/bch_ports.h"
#include <gnuradio/cudaphy/bch_encoder.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::bch_code;
using kernels::bch_packing;

class encoder_job : public batch_job
{
public:
    encoder_job(const bch_code::sptr& code, const bch_packing& p, const queue& work_queue)
        : d_in(info_bytes(*code, p.packed_input)),
          d_out(word_bytes(*code, p.packed_output)),
          d_kernel(kernels::bch_encoder::make(
              code, p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        d_kernel->run(
            work.input<uint8_t>(0, d_in), work.output<uint8_t>(0, d_out), work_queue);
    }

private:
    const size_t d_in, d_out;
    std::unique_ptr<kernels::bch_encoder> d_kernel;
};

class bch_encoder_impl : public bch_encoder, public coding_block<bch_code>
{
public:
    bch_encoder_impl(const code_choice<bch_code>& codes,
                     const bch_packing& p,
                     const bch_block_options& options)
        : gr::block("bch_encoder",
                    gr::io_signature::make(1, 1, 1),
                    gr::io_signature::make(1, 1, 1)),
          coding_block(
              codes,
              [&](const bch_code& code) {
                  return bch_ports(info_bytes(code, p.packed_input),
                                   word_bytes(code, p.packed_output),
                                   options);
              },
              options,
              0),
          d_packing(p)
    {
        make_jobs();
    }

    std::string backend() const override { return used_backend(); }
    uint64_t refused_packets() const override { return refused(); }
    uint64_t failures() const override { return refused(); }

private:
    std::unique_ptr<batch_job> make_code_job(const bch_code::sptr& code,
                                             queue& work_queue) override
    {
        return std::make_unique<encoder_job>(code, d_packing, work_queue);
    }
    void report(const batch_status&, int, uint64_t) override {}

    const bch_packing d_packing;
};

} // namespace

bch_encoder::sptr bch_encoder::make(bch_code::sptr code,
                                    const bch_packing& packing,
                                    const bch_block_options& block)
{
    return gnuradio::make_block_sptr<bch_encoder_impl>(
        code_choice<bch_code>(std::move(code), block.codes, block.code_tag_key),
        packing,
        block);
}

} // namespace gr::cudaphy
