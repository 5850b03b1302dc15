/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldpc_decoder_impl.h"
#include "ldpc_batch.h"
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_decoder::parameters;

bool is_one_of(const std::string& what,
               const std::string& value,
               const char* yes,
               const char* no)
{
    if (value != yes && value != no) {
        throw std::invalid_argument(what + " \"" + value + "\" is neither \"" + yes +
                                    "\" nor \"" + no + "\"");
    }
    return value == yes;
}

int output_bits(const kernels::ldpc_code& code, const parameters& p)
{
    return p.whole_words ? code.n() : code.k();
}

// The batch's status words: first the iterations of all codewords, then whether each is
// one.
int iterations_of(const batch_status& status, int frame) { return status.words[frame]; }
bool is_ok(const batch_status& status, int frame)
{
    return status.words[status.frames + frame] != 0;
}

class decoder_job : public batch_job
{
public:
    decoder_job(kernels::ldpc_code::sptr code, const parameters& p, const queue& line)
        : d_n(code->n()), d_bits(output_bits(*code, p)),
          d_kernel(kernels::ldpc_decoder::make(code, p, line.where(), line.device()))
    {
    }
    void run(const batch& work, queue& line) override
    {
        const size_t frames = work.frames;
        d_kernel->run(work.input<float>(0, d_n),
                      work.output<uint8_t>(0, d_bits),
                      { work.status, frames },
                      { work.status + frames, frames },
                      line);
    }

private:
    const size_t d_n, d_bits;
    std::unique_ptr<kernels::ldpc_decoder> d_kernel;
};

} // namespace

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
    parameters p;
    p.max_iterations = max_iterations;
    p.scale = scale;
    p.early_stop = early_stop;
    p.whole_words = is_one_of("output", output, "codeword", "info");
    p.llr_positive = llr_positive;
    return gnuradio::make_block_sptr<ldpc_decoder_impl>(
        checked_code(code),
        p,
        is_one_of("on_failure", on_failure, "drop", "mark"),
        batch_options{
            length_tag_key, backend, device, ldpc_batch(max_batch, code), max_latency });
}

ldpc_decoder_impl::ldpc_decoder_impl(kernels::ldpc_code::sptr code,
                                     const parameters& p,
                                     bool drops,
                                     const batch_options& options)
    : gr::block("ldpc_decoder",
                gr::io_signature::make(1, 1, sizeof(float)),
                gr::io_signature::make(1, 1, 1)),
      batch_block(
          options, { { sizeof(float), code->n() } }, { { 1, output_bits(*code, p) } }, 2),
      d_code(code), d_parameters(p), d_drops(drops)
{
    make_jobs();
}

double ldpc_decoder_impl::average_iterations() const
{
    const auto frames = d_frames.load();
    return frames ? static_cast<double>(d_iterations) / frames : 0.0;
}

std::unique_ptr<batch_job> ldpc_decoder_impl::make_job(queue& line)
{
    return std::make_unique<decoder_job>(d_code, d_parameters, line);
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
    if (!keeps(status, frame)) {
        return;
    }
    add_item_tag(0,
                 item,
                 pmt::mp("iterations"),
                 pmt::from_long(iterations_of(status, frame)),
                 alias_pmt());
    add_item_tag(0, item, pmt::mp("ldpc_ok"), pmt::from_bool(ok), alias_pmt());
}

} // namespace gr::cudaphy
