/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_encoder_impl.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_encoder::parameters;

int input_bytes(const kernels::ldpc_code& code, const parameters& p)
{
    return bytes_of(code.k(), p.packed_input);
}

int output_bytes(const kernels::ldpc_code& code, const parameters& p)
{
    return bytes_of(code.n(), p.packed_output);
}

class encoder_job : public batch_job
{
public:
    encoder_job(kernels::ldpc_code::sptr code,
                const parameters& p,
                const queue& work_queue)
        : d_input_bytes(input_bytes(*code, p)), d_output_bytes(output_bytes(*code, p)),
          d_kernel(kernels::ldpc_encoder::make(
              code, p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        d_kernel->run(work.input<uint8_t>(0, d_input_bytes),
                      work.output<uint8_t>(0, d_output_bytes),
                      work_queue);
    }

private:
    const size_t d_input_bytes, d_output_bytes;
    std::unique_ptr<kernels::ldpc_encoder> d_kernel;
};

} // namespace

ldpc_encoder::sptr ldpc_encoder::make(kernels::ldpc_code::sptr code,
                                      bool packed_input,
                                      bool packed_output,
                                      const ldpc_block_options& block)
{
    return gnuradio::make_block_sptr<ldpc_encoder_impl>(
        ldpc_code_choice(code, block.codes, block.code_tag_key),
        parameters{ packed_input, packed_output },
        block);
}

ldpc_encoder::sptr ldpc_encoder::make(kernels::ldpc_code::sptr code,
                                      const std::string& length_tag_key,
                                      const std::string& backend,
                                      int device,
                                      int max_batch,
                                      double max_latency)
{
    return make(
        code, false, false, { length_tag_key, backend, device, max_batch, max_latency });
}

ldpc_encoder_impl::ldpc_encoder_impl(const ldpc_code_choice& codes,
                                     const parameters& p,
                                     const ldpc_block_options& options)
    : gr::block("ldpc_encoder",
                gr::io_signature::make(1, 1, 1),
                gr::io_signature::make(1, 1, 1)),
      coding_block(
          codes,
          [&](const kernels::ldpc_code& code) {
              return word_ports{ { { 1, input_bytes(code, p) } },
                                 { { 1, output_bytes(code, p) } },
                                 words_of_a_launch(options.max_batch, code) };
          },
          options,
          0),
      d_parameters(p)
{
    make_jobs();
}

std::unique_ptr<batch_job>
ldpc_encoder_impl::make_code_job(const kernels::ldpc_code::sptr& code, queue& work_queue)
{
    return std::make_unique<encoder_job>(code, d_parameters, work_queue);
}

} // namespace gr::cudaphy
