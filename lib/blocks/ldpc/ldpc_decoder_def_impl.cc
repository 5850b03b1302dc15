/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/fec_work.h"
#include "blocks/ldpc/last_columns.h"
#include "blocks/ldpc/ldpc_code_choice.h"
#include "blocks/ldpc/ldpc_on_host.h"
#include <atomic>
#include <cstring>
#include <gnuradio/cudaphy/kernels/nan_count.h>
#include <gnuradio/cudaphy/ldpc_decoder_def.h>
#include <numeric>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_decoder::parameters;

class ldpc_decoder_def_impl : public ldpc_decoder_def
{
public:
    ldpc_decoder_def_impl(const ldpc_code_choice& codes,
                          const parameters& p,
                          int batch,
                          const resolved_backend& where,
                          std::vector<int> positions)
        : d_code(codes.all()[0]), d_backend(where), d_batch(batch),
          d_positions(std::move(positions)),
          d_decoder(
              d_code, p, where, std::max(batch, words_of_a_launch(0, codes.first())))
    {
        d_logger->info("runs on {}: {}", name_of(where.where), where.reason);
    }

    double rate() override { return d_code->rate(); }
    int get_input_size() override { return d_batch * d_code->n(); }
    int get_output_size() override { return d_batch * d_code->k(); }
    float get_iterations() override { return d_last_iterations; }

    bool set_frame_size(unsigned bits) override
    {
        const fec_frame frame(bits, d_code->k(), d_code->n());
        d_too_short = frame.words == 0;
        d_batch = std::max(1u, frame.words);
        return frame.whole;
    }

    void generic_work(fec_work<decltype(&generic_decoder::generic_work)>::input in,
                      void* out) override
    {
        if (d_too_short) {
            std::memset(out, 0, get_output_size());
            d_logger->warn("a packet holds less than a codeword of {:d} bits",
                           d_code->n());
            return;
        }
        decode(in, static_cast<uint8_t*>(out));
        const auto& iterations = d_decoder.iterations();
        const auto& ok = d_decoder.ok();
        const auto total =
            std::accumulate(iterations.begin(), iterations.end(), int64_t{ 0 });
        d_last_iterations = static_cast<float>(total) / d_batch;
        d_iterations += total;
        d_frames += d_batch;
        d_frame_errors += std::count(ok.begin(), ok.end(), 0);
        d_nan_llrs += kernels::count_nan(
            { static_cast<const float*>(in), size_t(d_batch) * d_code->n() });
    }

    std::string backend() const override { return name_of(d_backend.where); }
    uint64_t frames() const override { return d_frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    uint64_t nan_llrs() const override { return d_nan_llrs; }
    double average_iterations() const override
    {
        const auto frames = d_frames.load();
        return frames ? static_cast<double>(d_iterations) / frames : 0.0;
    }

private:
    void decode(const void* in, uint8_t* out)
    {
        if (d_positions.empty()) {
            d_decoder.run(in, d_batch, out);
            return;
        }
        const size_t n = d_code->n();
        d_words.resize(d_batch * n);
        d_decoder.run(in, d_batch, d_words.data());
        for (int b = 0; b < d_batch; ++b) {
            for (const int position : d_positions) {
                *out++ = d_words[b * n + position];
            }
        }
    }

    const kernels::ldpc_code::sptr d_code;
    const resolved_backend d_backend;
    int d_batch;
    bool d_too_short = false;
    const std::vector<int> d_positions; //!< of the information; empty: the code's own
    ldpc_on_host_decoder d_decoder;
    std::vector<uint8_t> d_words;
    float d_last_iterations = 0;
    std::atomic<uint64_t> d_frames{ 0 }, d_frame_errors{ 0 }, d_iterations{ 0 },
        d_nan_llrs{ 0 };
};

} // namespace

ldpc_decoder_def::sptr ldpc_decoder_def::make(kernels::ldpc_code::sptr code,
                                              const ldpc_decoder_options& decoding,
                                              int batch,
                                              const std::string& backend,
                                              int device,
                                              const std::string& info_bits)
{
    const bool last = in_last_columns(info_bits);
    const ldpc_code_choice choice(code, {}, "");
    auto fixed = decoding;
    fixed.type = "float";
    fixed.output = last ? "codeword" : "info";
    fixed.packed = false;
    fixed.llr_positive = 1;
    return std::make_shared<ldpc_decoder_def_impl>(
        choice,
        fixed.parameters(),
        checked_fec_batch(batch, *code),
        resolve(backend_from_name(backend), device),
        last ? last_columns(*code) : std::vector<int>{});
}

} // namespace gr::cudaphy
