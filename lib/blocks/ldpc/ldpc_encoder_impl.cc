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

//! A launch a code.
class mixed_encoder_job : public mixed_batch_job
{
public:
    mixed_encoder_job(const std::vector<kernels::ldpc_code::sptr>& codes,
                      const parameters& p,
                      const queue& work_queue)
    {
        for (const auto& code : codes) {
            d_jobs.emplace_back(code, p, work_queue);
        }
    }
    void run(const std::vector<batch_part>& parts, queue& work_queue) override
    {
        for (const auto& [kind, work] : parts) {
            d_jobs[kind].run(work, work_queue);
        }
    }

private:
    std::vector<encoder_job> d_jobs;
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
      batch_block({ options.length_tag_key,
                    options.backend,
                    options.device,
                    codes.batch(options.max_batch, 0),
                    options.max_latency },
                  { { 1, input_bytes(codes.first(), p) } },
                  { { 1, output_bytes(codes.first(), p) } },
                  0),
      d_codes(codes), d_parameters(p)
{
    message_port_register_out(pmt::mp("fail"));
    for (size_t i = 1; i < codes.all().size(); ++i) {
        const auto& code = *codes.all()[i];
        add_kind({ { input_bytes(code, p) },
                   { output_bytes(code, p) },
                   codes.batch(options.max_batch, i) });
    }
    make_jobs();
}

std::unique_ptr<batch_job> ldpc_encoder_impl::make_job(queue& work_queue)
{
    return std::make_unique<encoder_job>(d_codes.all()[0], d_parameters, work_queue);
}

std::unique_ptr<mixed_batch_job> ldpc_encoder_impl::make_mixed_job(queue& work_queue)
{
    return std::make_unique<mixed_encoder_job>(d_codes.all(), d_parameters, work_queue);
}

int ldpc_encoder_impl::kind_of(const std::vector<tag_t>& head, std::string& refusal) const
{
    const int code = d_codes.named(head);
    refusal = code < 0 ? d_codes.none_named().reason : "";
    return code;
}

void ldpc_encoder_impl::refuse(const std::vector<tag_t>& head,
                               uint64_t items,
                               const std::string& reason)
{
    ++d_refused;
    warn_sometimes("a packet is passed over: " + reason);
    message_port_pub(
        pmt::mp("fail"),
        refused_packet(head, d_codes, items, [this](const kernels::ldpc_code& code) {
            return input_bytes(code, d_parameters);
        }));
}

} // namespace gr::cudaphy
