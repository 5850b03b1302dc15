/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_code_choice.h"
#include "blocks/ldpc/ldpc_mixed_on_host.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include "blocks/ldpc/pdu_worker.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/cudaphy/kernels/nan_count.h>
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
          d_options(options)
    {
        decoder(kind_of(number::float32));
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
    uint64_t nan_llrs() const override { return d_nan_llrs; }
    uint64_t refused_packets() const override { return refused(); }
    double average_iterations() const override
    {
        const auto frames = d_frames.load();
        return frames ? static_cast<double>(d_iterations) / frames : 0.0;
    }

private:
    //! PDUs of float32 and of int8 LLRs have a decoder each, whatever their codes.
    static int kind_of(number type) { return type == number::int8; }

    // The one for int8 LLRs, of all codes, is made when the first of them comes.
    ldpc_mixed_on_host& decoder(int kind)
    {
        auto& made = d_decoders[kind];
        if (!made) {
            auto p = d_parameters;
            p.llr = kind ? number::int8 : number::float32;
            std::vector<int> max_batch;
            for (const auto& code : d_codes.all()) {
                max_batch.push_back(words_of_a_launch(d_options.max_batch, *code));
            }
            made = std::make_unique<ldpc_mixed_on_host>(
                d_codes.all(), p, d_backend, max_batch);
        }
        return *made;
    }

    packet_refusal examine(request& one) const override
    {
        const auto& vector = one.vector;
        const int code = d_codes.named_in(one.metadata);
        if (code < 0) {
            return d_codes.none_named();
        }
        auto type = number::float32;
        if (pmt::is_s8vector(vector) || pmt::is_u8vector(vector)) {
            type = number::int8;
        } else if (!pmt::is_f32vector(vector)) {
            return { "the PDU holds neither f32 nor s8 nor u8 items" };
        }
        const auto items = pmt::length(vector);
        const int n = d_codes.all()[code]->n();
        if (items == 0 || items % n != 0) {
            return { "the PDU's LLRs are no whole number of codewords",
                     static_cast<int64_t>(items),
                     n };
        }
        one.kind = kind_of(type);
        one.frames = items / n;
        one.most = words_of_a_launch(d_options.max_batch, *d_codes.all()[code]);
        return {};
    }

    //! Where a PDU's words stand.
    struct pdu_position {
        ldpc_mixed_on_host::group* group;
        size_t first, frames;
    };

    //! The words of each code after each other; `positions`: of each PDU; `room`: for
    //! LLRs that must be moved, since there are several codes.
    std::vector<ldpc_mixed_on_host::group> by_codes(const pdu_batch& batch,
                                                    int kind,
                                                    std::vector<pdu_position>& positions,
                                                    std::vector<char>& room) const
    {
        const auto& parts = batch.parts();
        std::vector<ldpc_mixed_on_host::group> groups;
        std::vector<int> group_of(d_codes.all().size(), -1), codes;
        for (const auto& part : parts) {
            codes.push_back(d_codes.named_in(part.metadata));
            auto& at = group_of[codes.back()];
            if (at < 0) {
                at = static_cast<int>(groups.size());
                groups.push_back({ codes.back(), 0, batch.data() });
            }
            groups[at].frames += part.frames;
        }
        std::vector<size_t> bytes, begun(groups.size());
        for (size_t i = 0; i < parts.size(); ++i) {
            const auto at = group_of[codes[i]];
            bytes.push_back(parts[i].frames * d_codes.all()[codes[i]]->n() *
                            (kind ? sizeof(int8_t) : sizeof(float)));
            positions.push_back({ &groups[at], begun[at], parts[i].frames });
            begun[at] += parts[i].frames;
        }
        if (groups.size() == 1) {
            return groups;
        }
        room.resize(std::accumulate(bytes.begin(), bytes.end(), size_t{ 0 }));
        char* to = room.data();
        for (auto& group : groups) {
            group.llr = to;
            const auto* from = static_cast<const char*>(batch.data());
            for (size_t i = 0; i < parts.size(); ++i) {
                if (codes[i] == group.code) {
                    std::memcpy(to, from, bytes[i]);
                    to += bytes[i];
                }
                from += bytes[i];
            }
        }
        return groups;
    }

    void process(const pdu_batch& batch, int kind) override
    {
        std::vector<pdu_position> positions;
        std::vector<char> room;
        auto groups = by_codes(batch, kind, positions, room);
        decoder(kind).run(groups, d_soft);
        for (size_t i = 0; i < positions.size(); ++i) {
            publish(batch.parts()[i].metadata, positions[i], kind);
        }
    }

    size_t
    nan_llrs_of(const pdu_position& at, const kernels::ldpc_code& code, int kind) const
    {
        if (kind != kind_of(number::float32)) {
            return 0;
        }
        const auto* llr = static_cast<const float*>(at.group->llr);
        const size_t n = code.n();
        return kernels::count_nan({ llr + at.first * n, at.frames * n });
    }

    void publish(const pmt::pmt_t& before, const pdu_position& at, int kind)
    {
        const auto& group = *at.group;
        const auto& code = *d_codes.all()[group.code];
        const size_t bytes = output_bytes(code, d_parameters);
        const size_t values = d_soft ? output_bits(code, d_parameters) : 0;
        const auto* iterations = group.iterations.data() + at.first;
        const auto* ok = group.ok.data() + at.first;
        const auto failed = std::count(ok, ok + at.frames, 0);
        d_frames += at.frames;
        d_frame_errors += failed;
        d_iterations += std::accumulate(iterations, iterations + at.frames, 0L);
        auto metadata = pmt::dict_add(
            before,
            pmt::mp("iterations"),
            pmt::from_long(*std::max_element(iterations, iterations + at.frames)));
        metadata =
            pmt::dict_add(metadata, pmt::mp("ldpc_ok"), pmt::from_bool(failed == 0));
        if (const auto nan_llrs = nan_llrs_of(at, code, kind)) {
            d_nan_llrs += nan_llrs;
            metadata =
                pmt::dict_add(metadata, pmt::mp("nan_llrs"), pmt::from_long(nan_llrs));
        }
        if (failed) {
            metadata =
                pmt::dict_add(metadata, pmt::mp("frame_errors"), pmt::from_long(failed));
            metadata = pmt::dict_add(metadata,
                                     pmt::mp("reason"),
                                     pmt::intern("codewords failed their checks"));
        }
        message_port_pub(
            failed ? d_fail : d_ok,
            pmt::cons(metadata,
                      pmt::init_u8vector(at.frames * bytes,
                                         group.bits.data() + at.first * bytes)));
        if (d_soft) {
            message_port_pub(
                d_soft_port,
                pmt::cons(metadata,
                          pmt::init_f32vector(at.frames * values,
                                              group.soft.data() + at.first * values)));
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
    std::unique_ptr<ldpc_mixed_on_host> d_decoders[2]; //!< by kind

    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 },
        d_nan_llrs{ 0 };
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
