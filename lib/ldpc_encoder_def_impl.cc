/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fec_work.h"
#include "ldpc_code_choice.h"
#include "ldpc_on_host.h"
#include <cstring>
#include <gnuradio/cudaphy/ldpc_encoder_def.h>

namespace gr::cudaphy {
namespace {

class ldpc_encoder_def_impl : public ldpc_encoder_def
{
public:
    ldpc_encoder_def_impl(const ldpc_code_choice& codes,
                          int batch,
                          const resolved_backend& where)
        : d_code(codes.all()[0]), d_backend(where), d_batch(batch),
          d_encoder(d_code, {}, where, std::max(batch, codes.batch(0, 0)))
    {
        d_logger->info("runs on {}: {}", name_of(where.where), where.reason);
    }

    double rate() override { return static_cast<double>(d_code->n()) / d_code->k(); }
    int get_input_size() override { return d_batch * d_code->k(); }
    int get_output_size() override { return d_batch * d_code->n(); }

    bool set_frame_size(unsigned bits) override
    {
        const unsigned k = d_code->k(), most = most_fec_items / d_code->n();
        d_too_short = bits < k;
        d_batch = std::clamp(bits / k, 1u, std::max(1u, most));
        return !d_too_short && bits % k == 0 && bits / k <= most;
    }

    void generic_work(fec_work<decltype(&generic_encoder::generic_work)>::input in,
                      void* out) override
    {
        if (d_too_short) {
            std::memset(out, 0, get_output_size());
            d_logger->warn("a packet holds less than the {:d} information bits of a "
                           "codeword",
                           d_code->k());
            return;
        }
        d_encoder.run(
            static_cast<const uint8_t*>(in), d_batch, static_cast<uint8_t*>(out));
    }

    std::string backend() const override { return name_of(d_backend.where); }

private:
    const kernels::ldpc_code::sptr d_code;
    const resolved_backend d_backend;
    int d_batch;
    bool d_too_short = false;
    ldpc_on_host_encoder d_encoder;
};

} // namespace

ldpc_encoder_def::sptr ldpc_encoder_def::make(kernels::ldpc_code::sptr code,
                                              int batch,
                                              const std::string& backend,
                                              int device)
{
    const ldpc_code_choice choice(code, {}, "");
    return std::make_shared<ldpc_encoder_def_impl>(
        choice,
        checked_fec_batch(batch, *code),
        resolve(backend_from_name(backend), device));
}

} // namespace gr::cudaphy
