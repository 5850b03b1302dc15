/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_encoder_impl.h"
#include "ldpc_batch.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

class encoder_job : public batch_job
{
public:
    encoder_job(kernels::ldpc_code::sptr code, const queue& line)
        : d_code(code),
          d_kernel(kernels::ldpc_encoder::make(code, line.where(), line.device()))
    {
    }
    void run(const batch& work, queue& line) override
    {
        d_kernel->run(work.input<uint8_t>(0, d_code->k()),
                      work.output<uint8_t>(0, d_code->n()),
                      line);
    }

private:
    const kernels::ldpc_code::sptr d_code;
    std::unique_ptr<kernels::ldpc_encoder> d_kernel;
};

} // namespace

ldpc_encoder::sptr ldpc_encoder::make(kernels::ldpc_code::sptr code,
                                      const std::string& length_tag_key,
                                      const std::string& backend,
                                      int device,
                                      int max_batch,
                                      double max_latency)
{
    return gnuradio::make_block_sptr<ldpc_encoder_impl>(
        checked_code(code),
        batch_options{
            length_tag_key, backend, device, ldpc_batch(max_batch, code), max_latency });
}

ldpc_encoder_impl::ldpc_encoder_impl(kernels::ldpc_code::sptr code,
                                     const batch_options& options)
    : gr::block("ldpc_encoder",
                gr::io_signature::make(1, 1, 1),
                gr::io_signature::make(1, 1, 1)),
      batch_block(options, { { 1, code->k() } }, { { 1, code->n() } }, 0), d_code(code)
{
    make_jobs();
}

std::unique_ptr<batch_job> ldpc_encoder_impl::make_job(queue& line)
{
    return std::make_unique<encoder_job>(d_code, line);
}

} // namespace gr::cudaphy
