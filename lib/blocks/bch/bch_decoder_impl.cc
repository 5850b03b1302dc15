/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/bch/bch_ports.h"
#include "blocks/coding/word_tags.h"
#include <gnuradio/cudaphy/bch_decoder.h>
#include <gnuradio/io_signature.h>

namespace gr::cudaphy {
namespace {

using kernels::bch_code;
using kernels::bch_packing;

//! The status word of each word: bits that were wrong, or bch_decoder::failed.
class decoder_job : public batch_job
{
public:
    //! \param own_queue  outlives the job
    decoder_job(const bch_code::sptr& code, const bch_packing& p, queue& own_queue)
        : d_own_queue(own_queue), d_in(word_bytes(*code, p.packed_input)),
          d_out(info_bytes(*code, p.packed_output)),
          d_kernel(
              kernels::bch_decoder::make(code, p, own_queue.where(), own_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        const size_t words = work.frames;
        const size_t needed = d_kernel->workspace_bytes(words);
        if (d_workspace.size() < needed) {
            work_queue.synchronize(); // kernels may still work in the old one
            d_workspace = {};
            d_workspace = array<uint8_t>(d_own_queue, needed);
        }
        d_kernel->run(work.input<uint8_t>(0, d_in),
                      work.output<uint8_t>(0, d_out),
                      { work.status, words },
                      d_workspace,
                      work_queue);
    }

private:
    queue& d_own_queue;
    const size_t d_in, d_out;
    std::unique_ptr<kernels::bch_decoder> d_kernel;
    array<uint8_t> d_workspace;
};

int largest_t(const code_choice<bch_code>& codes)
{
    int t = 0;
    for (const auto& code : codes.all()) {
        t = std::max(t, code->t());
    }
    return t;
}

class bch_decoder_impl : public bch_decoder, public coding_block<bch_code>
{
public:
    bch_decoder_impl(const code_choice<bch_code>& codes,
                     const bch_packing& p,
                     const bch_output_options& output,
                     const bch_block_options& options)
        : gr::block("bch_decoder",
                    gr::io_signature::make(1, 1, 1),
                    gr::io_signature::make(1, 1, 1)),
          coding_block(
              codes,
              [&](const bch_code& code) {
                  return bch_ports(word_bytes(code, p.packed_input),
                                   info_bytes(code, p.packed_output),
                                   options);
              },
              options,
              1),
          d_packing(p), d_drops(checked_drop(output.on_failure)),
          d_tags(output.word_tags, largest_t(codes), bch_word_tag_keys)
    {
        make_jobs();
    }

    std::string backend() const override { return used_backend(); }
    uint64_t frames() const override { return statistics().frames; }
    uint64_t frame_errors() const override { return d_frame_errors; }
    uint64_t corrected_bits() const override { return d_corrected; }
    uint64_t refused_packets() const override { return refused(); }
    uint64_t failures() const override { return d_frame_errors + refused(); }
    bool start() override
    {
        d_tags.start(alias_pmt());
        return batch_block::start();
    }

private:
    std::unique_ptr<batch_job> make_code_job(const bch_code::sptr& code,
                                             queue& work_queue) override
    {
        return std::make_unique<decoder_job>(code, d_packing, work_queue);
    }
    static bool is_ok(const batch_status& status, int frame)
    {
        return status.words[frame] != kernels::bch_decoder::failed;
    }
    bool keeps(const batch_status& status, int frame) const override
    {
        return !d_drops || is_ok(status, frame);
    }
    bool drops_frames() const override { return d_drops; }
    bool reports_zeros() const override { return !d_tags.only_failed(); }
    void report(const batch_status& status, int frame, uint64_t item) override
    {
        const int corrected = status.words[frame];
        const bool ok = is_ok(status, frame);
        d_frame_errors += !ok;
        d_corrected += ok ? corrected : 0;
        if (keeps(status, frame)) {
            d_tags.each(item, corrected, ok, 0, [&](const tag_t& tag) { add_tag(tag); });
        }
    }

    const bch_packing d_packing;
    const bool d_drops;
    word_tags d_tags;
    std::atomic<uint64_t> d_frame_errors{ 0 }, d_corrected{ 0 };
};

} // namespace

bch_decoder::sptr bch_decoder::make(bch_code::sptr code,
                                    const bch_packing& packing,
                                    const bch_output_options& output,
                                    const bch_block_options& block)
{
    return gnuradio::make_block_sptr<bch_decoder_impl>(
        code_choice<bch_code>(std::move(code), block.codes, block.code_tag_key),
        packing,
        output,
        block);
}

} // namespace gr::cudaphy
