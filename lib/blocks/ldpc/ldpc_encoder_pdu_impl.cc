/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_code_choice.h"
#include "blocks/ldpc/ldpc_on_host.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include "blocks/ldpc/pdu_worker.h"
#include <gnuradio/cudaphy/ldpc_encoder_pdu.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_encoder::parameters;

class ldpc_encoder_pdu_impl : public ldpc_encoder_pdu, public pdu_worker
{
public:
    ldpc_encoder_pdu_impl(const ldpc_code_choice& codes,
                          const parameters& p,
                          const ldpc_block_options& options)
        : gr::block("ldpc_encoder_pdu",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(0, 0, 0)),
          pdu_worker(
              *this,
              pmt::mp("pdus"),
              name_of(resolve(backend_from_name(options.backend), options.device).where)),
          d_codes(codes), d_parameters(p), d_max_batch(options.max_batch),
          d_backend(resolve(backend_from_name(options.backend), options.device))
    {
        for (const auto& code : codes.all()) {
            d_encoders.push_back(std::make_unique<ldpc_on_host_encoder>(
                code, p, d_backend, words_of_a_launch(d_max_batch, *code)));
        }
        message_port_register_in(d_port);
        message_port_register_out(d_port);
        message_port_register_out(pmt::mp("fail"));
        set_msg_handler(d_port, [this](const pmt::pmt_t& pdu) { take(pdu); });
    }

    bool start() override
    {
        d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
        return block::start();
    }
    bool stop() override
    {
        forget();
        return block::stop();
    }

    void setup_rpc() override { register_at_control_port(); }
    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t refused_packets() const override { return refused(); }

private:
    int input_bytes(int code) const
    {
        return bytes_of(d_codes.all()[code]->k(), d_parameters.packed_input);
    }

    packet_refusal examine(request& one) const override
    {
        const auto& vector = one.vector;
        const int code = d_codes.named_in(one.metadata);
        if (code < 0) {
            return d_codes.none_named();
        }
        if (!pmt::is_u8vector(vector)) {
            return { "the PDU holds no u8 items" };
        }
        const auto items = pmt::length(vector);
        if (items == 0 || items % input_bytes(code) != 0) {
            return { "the PDU's bytes are no whole number of information words",
                     static_cast<int64_t>(items),
                     input_bytes(code) };
        }
        one.kind = code;
        one.frames = items / input_bytes(code);
        one.most = words_of_a_launch(d_max_batch, *d_codes.all()[code]);
        return {};
    }

    void process(const pdu_batch& batch, int code) override
    {
        const size_t bytes =
            bytes_of(d_codes.all()[code]->n(), d_parameters.packed_output);
        std::vector<uint8_t> words(batch.frames() * bytes);
        d_encoders[code]->run(
            static_cast<const uint8_t*>(batch.data()), batch.frames(), words.data());
        for (const auto& part : batch.parts()) {
            message_port_pub(
                d_port,
                pmt::cons(part.metadata,
                          pmt::init_u8vector(part.frames * bytes,
                                             words.data() + part.first * bytes)));
        }
    }

    void report(const std::string& problem) override
    {
        d_logger->error("{}: the PDU is lost", problem);
    }

    const ldpc_code_choice d_codes;
    const parameters d_parameters;
    const int d_max_batch;
    const resolved_backend d_backend;
    const pmt::pmt_t d_port = pmt::mp("pdus");
    std::vector<std::unique_ptr<ldpc_on_host_encoder>> d_encoders;
};

} // namespace

ldpc_encoder_pdu::sptr ldpc_encoder_pdu::make(kernels::ldpc_code::sptr code,
                                              bool packed_input,
                                              bool packed_output,
                                              const ldpc_block_options& block)
{
    return gnuradio::make_block_sptr<ldpc_encoder_pdu_impl>(
        ldpc_code_choice(code, block.codes, block.code_tag_key),
        parameters{ packed_input, packed_output },
        checked_block(block));
}

} // namespace gr::cudaphy
