/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_code_choice.h"
#include "ldpc_on_host.h"
#include "ldpc_sizes.h"
#include "pdu_worker.h"
#include <algorithm>
#include <gnuradio/cudaphy/ldpc_decoder_pdu.h>
#include <gnuradio/io_signature.h>
#include <numeric>

namespace gr::cudaphy {
namespace {

using number = kernels::ldpc_decoder::number;
using parameters = kernels::ldpc_decoder::parameters;

class ldpc_decoder_pdu_impl : public ldpc_decoder_pdu, public pdu_worker
{
public:
    ldpc_decoder_pdu_impl(const ldpc_code_choice& codes,
                          const parameters& p,
                          bool soft,
                          const ldpc_block_options& options)
        : gr::block("ldpc_decoder_pdu",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(0, 0, 0)),
          pdu_worker(
              *this,
              pmt::mp("pdus"),
              name_of(resolve(backend_from_name(options.backend), options.device).where)),
          d_codes(codes), d_parameters(p), d_soft(soft),
          d_backend(resolve(backend_from_name(options.backend), options.device)),
          d_options(options), d_decoders(2 * codes.all().size())
    {
        for (size_t i = 0; i < codes.all().size(); ++i) {
            decoder(kind_of(static_cast<int>(i), number::float32));
        }
        message_port_register_in(d_in);
        message_port_register_out(d_ok);
        message_port_register_out(d_fail);
        if (soft) {
            message_port_register_out(d_soft_port);
        }
        set_msg_handler(d_in, [this](const pmt::pmt_t& pdu) { take(pdu); });
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
    uint64_t frames() const override { return d_frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    uint64_t failed_frames() const override { return d_frame_errors; }
    uint64_t refused_packets() const override { return refused(); }
    double average_iterations() const override
    {
        const auto frames = d_frames.load();
        return frames ? static_cast<double>(d_iterations) / frames : 0.0;
    }

private:
    //! A decoder's number, and its PDUs' kind: two a code, for float32 and int8 LLRs.
    static int kind_of(int code, number type)
    {
        return 2 * code + (type == number::int8);
    }

    // Those for int8 LLRs are made when the first of them comes.
    ldpc_on_host_decoder& decoder(int kind)
    {
        auto& place = d_decoders[kind];
        if (!place) {
            const int code = kind / 2;
            auto p = d_parameters;
            p.llr = kind % 2 ? number::int8 : number::float32;
            place = std::make_unique<ldpc_on_host_decoder>(
                d_codes.all()[code],
                p,
                d_backend,
                d_codes.batch(d_options.max_batch, code));
        }
        return *place;
    }

    std::string examine(request& one) const override
    {
        std::string refusal;
        const auto& vector = one.vector;
        const int code = d_codes.named_in(one.metadata, refusal);
        if (code < 0) {
            return refusal;
        }
        auto type = number::float32;
        if (pmt::is_s8vector(vector) || pmt::is_u8vector(vector)) {
            type = number::int8;
        } else if (!pmt::is_f32vector(vector)) {
            return "the PDU holds neither f32 nor s8 nor u8 items";
        }
        const auto items = pmt::length(vector);
        const int n = d_codes.all()[code]->n();
        if (items == 0 || items % n != 0) {
            return "the PDU has " + std::to_string(items) +
                   " LLRs, which is no whole number of codewords of " +
                   std::to_string(n) + " bits";
        }
        one.kind = kind_of(code, type);
        one.frames = items / n;
        one.most = d_codes.batch(d_options.max_batch, code);
        return "";
    }

    void process(const pdu_batch& batch, int kind) override
    {
        const auto& code = *d_codes.all()[kind / 2];
        auto& kernel = decoder(kind);
        const size_t bytes = output_bytes(code, d_parameters);
        const size_t values = d_soft ? output_bits(code, d_parameters) : 0;
        std::vector<uint8_t> bits(batch.frames() * bytes);
        std::vector<float> soft(batch.frames() * values);
        kernel.run(
            batch.data(), batch.frames(), bits.data(), d_soft ? soft.data() : nullptr);
        for (const auto& part : batch.parts()) {
            const auto* iterations = kernel.iterations().data() + part.first;
            const auto* ok = kernel.ok().data() + part.first;
            const auto failed = std::count(ok, ok + part.frames, 0);
            d_frames += part.frames;
            d_frame_errors += failed;
            d_iterations += std::accumulate(iterations, iterations + part.frames, 0L);
            auto metadata = pmt::dict_add(
                part.metadata,
                pmt::mp("iterations"),
                pmt::from_long(*std::max_element(iterations, iterations + part.frames)));
            metadata =
                pmt::dict_add(metadata, pmt::mp("ldpc_ok"), pmt::from_bool(failed == 0));
            if (failed) {
                metadata = pmt::dict_add(
                    metadata, pmt::mp("frame_errors"), pmt::from_long(failed));
                metadata = pmt::dict_add(metadata,
                                         pmt::mp("reason"),
                                         pmt::intern("codewords failed their checks"));
            }
            message_port_pub(
                failed ? d_fail : d_ok,
                pmt::cons(metadata,
                          pmt::init_u8vector(part.frames * bytes,
                                             bits.data() + part.first * bytes)));
            if (d_soft) {
                message_port_pub(
                    d_soft_port,
                    pmt::cons(metadata,
                              pmt::init_f32vector(part.frames * values,
                                                  soft.data() + part.first * values)));
            }
        }
    }

    void report(const std::string& problem) override
    {
        d_logger->error("{}: the PDU is lost", problem);
    }

    const ldpc_code_choice d_codes;
    const parameters d_parameters;
    const bool d_soft;
    const resolved_backend d_backend;
    const ldpc_block_options d_options;
    const pmt::pmt_t d_in = pmt::mp("pdus"), d_ok = pmt::mp("ok"),
                     d_fail = pmt::mp("fail"), d_soft_port = pmt::mp("soft");
    std::vector<std::unique_ptr<ldpc_on_host_decoder>> d_decoders; //!< two a code

    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 };
};

} // namespace

ldpc_decoder_pdu::sptr ldpc_decoder_pdu::make(kernels::ldpc_code::sptr code,
                                              const ldpc_decoder_options& decoding,
                                              bool soft_output,
                                              const ldpc_block_options& block)
{
    auto p = decoding.parameters();
    p.llr = number::float32;
    return gnuradio::make_block_sptr<ldpc_decoder_pdu_impl>(
        ldpc_code_choice(code, block.codes, block.code_tag_key),
        p,
        soft_output,
        checked_block(block));
}

} // namespace gr::cudaphy
