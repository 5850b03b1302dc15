/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_decoder_impl.h"
#include "ldpc_sizes.h"
#include <gnuradio/cudaphy/kernels/nan_count.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_decoder::parameters;

bool checked_drop(const std::string& on_failure)
{
    if (on_failure != "mark" && on_failure != "drop") {
        throw std::invalid_argument("on_failure \"" + on_failure +
                                    "\" is neither \"drop\" nor \"mark\"");
    }
    return on_failure == "drop";
}

std::vector<batch_port>
output_ports(const kernels::ldpc_code& code, const parameters& p, bool soft)
{
    std::vector<batch_port> ports{ { 1, output_bytes(code, p) } };
    if (soft) {
        ports.push_back({ sizeof(float), output_bits(code, p) });
    }
    return ports;
}

// The batch's status words: first the iterations of all codewords, then whether each is
// one, then, where LLRs are floats, how many of them were NaN.
bool counts_nan(const parameters& p)
{
    return p.llr == kernels::ldpc_decoder::number::float32;
}
int iterations_of(const batch_status& status, int frame) { return status.words[frame]; }
bool is_ok(const batch_status& status, int frame)
{
    return status.words[status.frames + frame] != 0;
}
int nan_llrs_of(const batch_status& status, int frame)
{
    return status.words[2 * status.frames + frame];
}

class decoder_job : public batch_job
{
public:
    decoder_job(kernels::ldpc_code::sptr code,
                const parameters& p,
                bool soft,
                const queue& line)
        : d_code(code), d_parameters(p), d_soft(soft),
          d_kernel(kernels::ldpc_decoder::make(code, p, line.where(), line.device()))
    {
    }
    void run(const batch& work, queue& line) override
    {
        const size_t frames = work.frames;
        kernels::ldpc_decoder::results out{ work.output<uint8_t>(
                                                0, output_bytes(*d_code, d_parameters)),
                                            { work.status, frames },
                                            { work.status + frames, frames } };
        if (d_soft) {
            out.soft = work.output<float>(1, output_bits(*d_code, d_parameters));
        }
        d_kernel->run({ work.in[0], frames * d_code->n(), d_parameters.llr }, out, line);
        if (counts_nan(d_parameters)) {
            kernels::count_nan(work.input<float>(0, d_code->n()),
                               { work.status + 2 * frames, frames },
                               line);
        }
    }

private:
    const kernels::ldpc_code::sptr d_code;
    const parameters d_parameters;
    const bool d_soft;
    std::unique_ptr<kernels::ldpc_decoder> d_kernel;
};

} // namespace

ldpc_decoder::sptr ldpc_decoder::make(kernels::ldpc_code::sptr code,
                                      const ldpc_decoder_options& decoding,
                                      const ldpc_output_options& output,
                                      const ldpc_block_options& block)
{
    const auto p = decoding.parameters();
    if (p.llr == kernels::ldpc_decoder::number::float16) {
        throw std::invalid_argument(
            "type \"float16\" is no stream's: \"float\" or \"int8\"");
    }
    return gnuradio::make_block_sptr<ldpc_decoder_impl>(
        ldpc_code_choice(code, block.codes, block.code_tag_key),
        p,
        checked_drop(output.on_failure),
        output.soft,
        block);
}

ldpc_decoder::sptr ldpc_decoder::make(kernels::ldpc_code::sptr code,
                                      int max_iterations,
                                      float scale,
                                      bool early_stop,
                                      const std::string& output,
                                      const std::string& on_failure,
                                      int llr_positive,
                                      const std::string& length_tag_key,
                                      const std::string& backend,
                                      int device,
                                      int max_batch,
                                      double max_latency)
{
    ldpc_decoder_options decoding;
    decoding.max_iterations = max_iterations;
    decoding.scale = scale;
    decoding.early_stop = early_stop;
    decoding.output = output;
    decoding.llr_positive = llr_positive;
    return make(code,
                decoding,
                { on_failure, false },
                { length_tag_key, backend, device, max_batch, max_latency });
}

ldpc_decoder_impl::ldpc_decoder_impl(const ldpc_code_choice& codes,
                                     const parameters& p,
                                     bool drops,
                                     bool soft,
                                     const ldpc_block_options& options)
    : gr::block("ldpc_decoder",
                gr::io_signature::make(1, 1, llr_bytes(p)),
                gr::io_signature::makev(
                    1 + soft, 1 + soft, std::vector<int>{ 1, sizeof(float) })),
      batch_block({ options.length_tag_key,
                    options.backend,
                    options.device,
                    codes.batch(options.max_batch, 0),
                    options.max_latency },
                  { { llr_bytes(p), codes.first().n() } },
                  output_ports(codes.first(), p, soft),
                  2 + counts_nan(p)),
      d_codes(codes), d_parameters(p), d_drops(drops), d_soft(soft)
{
    message_port_register_out(pmt::mp("fail"));
    for (size_t i = 1; i < codes.all().size(); ++i) {
        const auto& code = *codes.all()[i];
        batch_kind kind{ { code.n() }, {}, codes.batch(options.max_batch, i) };
        for (const auto& port : output_ports(code, p, soft)) {
            kind.out.push_back(port.items);
        }
        add_kind(kind);
    }
    make_jobs();
}

double ldpc_decoder_impl::average_iterations() const
{
    const auto frames = d_frames.load();
    return frames ? static_cast<double>(d_iterations) / frames : 0.0;
}

std::unique_ptr<batch_job> ldpc_decoder_impl::make_job(queue& line)
{
    return make_job_of_kind(line, 0);
}

std::unique_ptr<batch_job> ldpc_decoder_impl::make_job_of_kind(queue& line, int kind)
{
    return std::make_unique<decoder_job>(d_codes.all()[kind], d_parameters, d_soft, line);
}

int ldpc_decoder_impl::kind_of(const std::vector<tag_t>& head, std::string& refusal) const
{
    return d_codes.named(head, refusal);
}

void ldpc_decoder_impl::refuse(const std::vector<tag_t>& head,
                               uint64_t,
                               const std::string& reason)
{
    ++d_refused;
    warn_sometimes("a packet is passed over: " + reason);
    message_port_pub(pmt::mp("fail"), refused_packet(head, reason));
}

bool ldpc_decoder_impl::keeps(const batch_status& status, int frame) const
{
    return !d_drops || is_ok(status, frame);
}

void ldpc_decoder_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const bool ok = is_ok(status, frame);
    ++d_frames;
    d_iterations += iterations_of(status, frame);
    d_frame_errors += !ok;
    const int nan_llrs = counts_nan(d_parameters) ? nan_llrs_of(status, frame) : 0;
    d_nan_llrs += nan_llrs;
    if (!keeps(status, frame)) {
        return;
    }
    add_item_tag(0,
                 item,
                 pmt::mp("iterations"),
                 pmt::from_long(iterations_of(status, frame)),
                 alias_pmt());
    add_item_tag(0, item, pmt::mp("ldpc_ok"), pmt::from_bool(ok), alias_pmt());
    if (nan_llrs > 0) {
        add_item_tag(0, item, pmt::mp("nan_llrs"), pmt::from_long(nan_llrs), alias_pmt());
    }
}

} // namespace gr::cudaphy
