/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_decoder_impl.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>
#include <gnuradio/cudaphy/kernels/nan_count.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using parameters = kernels::ldpc_decoder::parameters;

std::vector<batch_port>
output_ports(const kernels::ldpc_code& code, const parameters& p, bool soft)
{
    std::vector<batch_port> ports{ { 1, output_bytes(code, p) } };
    if (soft) {
        ports.push_back({ sizeof(float), output_bits(code, p) });
    }
    return ports;
}

//! Codewords in one launch where the user leaves it open. A GPU decodes one or two on
//! each multiprocessor at a time, whole launches one after another, so that few of long
//! codes leave most of it idle.
int batch_of(const kernels::ldpc_code& code,
             const parameters& p,
             const ldpc_block_options& options)
{
    const bool on_gpu =
        resolve(backend_from_name(options.backend), options.device).where ==
        backend::cuda;
    if (options.max_batch || !on_gpu) {
        return words_of_a_launch(options.max_batch, code);
    }
    constexpr size_t full = 256, few_bytes = 8 << 20, most_bytes = 32 << 20;
    const size_t bytes = code.n() * llr_bytes(p);
    const auto words = std::min(std::max(full, few_bytes / bytes), most_bytes / bytes);
    return static_cast<int>(std::clamp<size_t>(words, 32, 1024));
}

// The batch's status words: first the iterations of all codewords, then whether each is
// one, then, where LLRs are no int8, how many of them were NaN.
bool counts_nan(const parameters& p)
{
    return p.llr != kernels::ldpc_decoder::number::int8;
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

//! A batch as the kernels see it.
struct decoder_views {
    kernels::ldpc_decoder::received llr;
    kernels::ldpc_decoder::results out;
};

decoder_views views_of(const batch& work,
                       const kernels::ldpc_code& code,
                       const parameters& p,
                       bool soft)
{
    const size_t frames = work.frames;
    decoder_views made{ { work.in[0], frames * code.n(), p.llr },
                        { work.output<uint8_t>(0, output_bytes(code, p)),
                          { work.status, frames },
                          { work.status + frames, frames } } };
    if (soft) {
        made.out.soft = work.output<float>(1, output_bits(code, p));
    }
    return made;
}

void count_nan(const batch& work,
               const kernels::ldpc_code& code,
               const parameters& p,
               queue& work_queue)
{
    if (!counts_nan(p)) {
        return;
    }
    const size_t frames = work.frames;
    const view<int> counts{ work.status + 2 * frames, frames };
    if (p.llr == kernels::ldpc_decoder::number::float16) {
        kernels::count_nan(work.input<float16>(0, code.n()), counts, work_queue);
    } else {
        kernels::count_nan(work.input<float>(0, code.n()), counts, work_queue);
    }
}

using hint = std::shared_ptr<ldpc_boundary_hint>;

class decoder_job : public batch_job
{
public:
    decoder_job(kernels::ldpc_code::sptr code,
                const parameters& p,
                bool soft,
                const hint& looks,
                const queue& work_queue)
        : d_code(code), d_parameters(p), d_soft(soft), d_hint(looks),
          d_kernel(kernels::ldpc_decoder::make(
              code, p, work_queue.where(), work_queue.device()))
    {
        d_kernel->prepare();
    }
    void run(const batch& work, queue& work_queue) override
    {
        const auto views = views_of(work, *d_code, d_parameters, d_soft);
        if (work_queue.where() != backend::cuda) {
            d_hint->look(views.llr, *d_code);
        }
        d_kernel->run(views.llr, views.out, work_queue);
        count_nan(work, *d_code, d_parameters, work_queue);
    }

private:
    const kernels::ldpc_code::sptr d_code;
    const parameters d_parameters;
    const bool d_soft;
    const hint d_hint;
    std::unique_ptr<kernels::ldpc_decoder> d_kernel;
};

class mixed_decoder_job : public mixed_batch_job
{
public:
    mixed_decoder_job(const std::vector<kernels::ldpc_code::sptr>& codes,
                      const parameters& p,
                      bool soft,
                      const hint& looks,
                      const queue& work_queue)
        : d_codes(codes), d_parameters(p), d_soft(soft), d_hint(looks),
          d_kernel(kernels::ldpc_mixed_decoder::make(
              codes, p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const std::vector<batch_part>& parts, queue& work_queue) override
    {
        std::vector<kernels::ldpc_mixed_decoder::part> all;
        for (const auto& [kind, work] : parts) {
            const auto views = views_of(work, *d_codes[kind], d_parameters, d_soft);
            all.push_back({ kind, views.llr, views.out });
            if (work_queue.where() != backend::cuda) {
                d_hint->look(views.llr, *d_codes[kind]);
            }
        }
        d_kernel->run(all, work_queue);
        for (const auto& [kind, work] : parts) {
            count_nan(work, *d_codes[kind], d_parameters, work_queue);
        }
    }

private:
    const std::vector<kernels::ldpc_code::sptr> d_codes;
    const parameters d_parameters;
    const bool d_soft;
    const hint d_hint;
    std::unique_ptr<kernels::ldpc_mixed_decoder> d_kernel;
};

} // namespace

ldpc_decoder::sptr ldpc_decoder::make(kernels::ldpc_code::sptr code,
                                      const ldpc_decoder_options& decoding,
                                      const ldpc_output_options& output,
                                      const ldpc_block_options& block)
{
    return gnuradio::make_block_sptr<ldpc_decoder_impl>(
        ldpc_code_choice(code, block.codes, block.code_tag_key),
        decoding.parameters(),
        output,
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
                                     const ldpc_output_options& output,
                                     const ldpc_block_options& options)
    : gr::block("ldpc_decoder",
                gr::io_signature::make(1, 1, llr_bytes(p)),
                gr::io_signature::makev(1 + output.soft,
                                        1 + output.soft,
                                        std::vector<int>{ 1, sizeof(float) })),
      coding_block(
          codes,
          [&](const kernels::ldpc_code& code) {
              return word_ports{ { { llr_bytes(p), code.n() } },
                                 output_ports(code, p, output.soft),
                                 batch_of(code, p, options) };
          },
          options,
          2 + counts_nan(p)),
      d_parameters(p), d_drops(checked_drop(output.on_failure)), d_soft(output.soft),
      d_tags(output.word_tags, p.max_iterations, ldpc_word_tag_keys),
      d_hint(std::make_shared<ldpc_boundary_hint>(p))
{
    make_jobs();
}

double ldpc_decoder_impl::average_iterations() const
{
    const auto frames = d_frames.load();
    return frames ? static_cast<double>(d_iterations) / frames : 0.0;
}

bool ldpc_decoder_impl::start()
{
    d_tags.start(alias_pmt());
    return batch_block::start();
}

std::unique_ptr<batch_job>
ldpc_decoder_impl::make_code_job(const kernels::ldpc_code::sptr& code, queue& work_queue)
{
    return std::make_unique<decoder_job>(code, d_parameters, d_soft, d_hint, work_queue);
}

std::unique_ptr<mixed_batch_job> ldpc_decoder_impl::make_mixed_job(queue& work_queue)
{
    return std::make_unique<mixed_decoder_job>(
        codes().all(), d_parameters, d_soft, d_hint, work_queue);
}

bool ldpc_decoder_impl::keeps(const batch_status& status, int frame) const
{
    return !d_drops || is_ok(status, frame);
}

void ldpc_decoder_impl::report(const batch_status& status, int frame, uint64_t item)
{
    const bool ok = is_ok(status, frame);
    const int iterations = iterations_of(status, frame);
    ++d_frames;
    d_iterations += iterations;
    d_frame_errors += !ok;
    if (d_hint->due(ok)) {
        d_logger->warn(ldpc_boundary_hint::text());
    }
    const int nan_llrs = counts_nan(d_parameters) ? nan_llrs_of(status, frame) : 0;
    d_nan_llrs += nan_llrs;
    if (keeps(status, frame)) {
        d_tags.each(
            item, iterations, ok, nan_llrs, [&](const tag_t& tag) { add_tag(tag); });
    }
}

} // namespace gr::cudaphy
