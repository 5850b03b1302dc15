/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/batch_block.h"
#include "runtime/batch_worker.h"
#include "runtime/stream/ring_size.h"
#include <algorithm>

namespace gr::cudaphy {

batch_block::batch_block(const batch_options& options,
                         std::vector<batch_port> inputs,
                         std::vector<batch_port> outputs,
                         int status_words)
    : d_options(options),
      d_backend(resolve(backend_from_name(options.backend), options.device)),
      d_inputs(std::move(inputs)), d_outputs(std::move(outputs)),
      d_status_words(status_words),
      d_counters(name_of(d_backend.where), [this] { return failures(); })
{
    if (options.max_batch < 0 || options.max_batch > 1 << 24) {
        throw std::invalid_argument("max_batch " + std::to_string(options.max_batch) +
                                    " is not in 0 (automatic) to 16777216 frames");
    }
    if (!(options.max_latency >= 0 && options.max_latency <= 3600)) {
        throw std::invalid_argument("max_latency " + std::to_string(options.max_latency) +
                                    " is not in 0 to 3600 seconds");
    }
    for (const auto* ports : { &d_inputs, &d_outputs }) {
        for (const auto& port : *ports) {
            const auto problem = ring_problem(port.item_bytes);
            if (!problem.empty()) {
                throw std::invalid_argument(name() + ": " + problem);
            }
        }
    }
    batch_kind only{ {}, {}, options.max_batch };
    for (const auto& port : d_inputs) {
        only.in.push_back(port.items);
    }
    for (const auto& port : d_outputs) {
        only.out.push_back(port.items);
    }
    const int most = most_frames(name(), only, d_inputs, d_outputs, d_status_words);
    if (!only.max_batch) {
        only.max_batch = default_batch(d_backend.where, d_inputs, d_outputs);
    }
    only.max_batch = std::min(only.max_batch, most);
    d_kinds.push_back(only);
}

batch_block::~batch_block() = default;

void batch_block::add_kind(const batch_kind& kind)
{
    if (d_options.length_tag_key.empty()) {
        throw std::invalid_argument("frames of several kinds need a length tag key: they "
                                    "are told apart packet by packet");
    }
    const int most = most_frames(name(), kind, d_inputs, d_outputs, d_status_words);
    d_kinds.push_back(kind);
    d_kinds.back().max_batch = std::min(kind.max_batch, most);
}

void batch_block::make_jobs()
{
    const auto most = batch_load::largest(d_kinds);
    d_worker = std::make_unique<batch_worker>(*this, most);
    size_rings(most);
}

//! Room for every batch under way, one more to come, and yet another, because a ring is
//! full one item early, and a batch is not cut to fit. GNU Radio sizes the ring before a
//! block from its relative rate and output multiple, and nothing else: so these say what
//! is needed. The rate has no other use here, since this class moves the tags itself.
void batch_block::size_rings(const batch_load& most)
{
    const int slots = has_own_memory() ? batch_worker::slots_on_device : 1;
    set_tag_propagation_policy(TPP_DONT);
    const auto in_rings = [slots](int64_t batch) {
        return std::min<int64_t>((slots + 2) * batch, 1 << 28);
    };
    int multiple = 1;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        for (const auto& kind : d_kinds) {
            multiple = std::max(multiple, kind.out[p]);
        }
        set_min_output_buffer(p, static_cast<long>(in_rings(most.out[p])));
    }
    set_output_multiple(multiple);
    int64_t input_items = 1;
    for (const auto batch : most.in) {
        input_items = std::max(input_items, in_rings(batch));
    }
    set_relative_rate(2.0 * multiple / static_cast<double>(input_items));
}

std::string batch_block::memory_problem(size_t frames) const
{
    const bool cuda = d_backend.where == backend::cuda;
    return name() + ": " +
           (cuda ? "CUDA device " + std::to_string(d_backend.device) : "this machine") +
           " has too little free memory for batches of " + std::to_string(frames) +
           " frames: lower max_batch, or free memory";
}

std::unique_ptr<mixed_batch_job> batch_block::make_mixed_job(queue&)
{
    throw std::logic_error(name() + " has no job for frames of several kinds");
}

std::unique_ptr<queue> batch_block::make_queue()
{
    return queue::make(d_backend.where, d_backend.device);
}

int batch_block::kind_of(const std::vector<tag_t>&, std::string&) const { return 0; }

void batch_block::refuse(const std::vector<tag_t>&, uint64_t, const std::string&) {}

bool batch_block::keeps(const batch_status&, int) const { return true; }

// On the host a batch is done when it is submitted.
bool batch_block::is_done(queue&, const batch_end& end) const { return end.done(); }

std::optional<device_block::place> batch_block::works_on() const
{
    if (!has_own_memory()) {
        return {};
    }
    return place{ d_backend.where, d_backend.device };
}

bool batch_block::start()
{
    d_tags.begin(d_worker->port(),
                 d_kinds,
                 d_options.length_tag_key,
                 alias_pmt(),
                 static_cast<size_t>(d_worker->port().outputs()));
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    d_worker->start();
    return block::start();
}

bool batch_block::stop()
{
    d_worker->stop();
    // GNU Radio notes what a ring came to as its maximum, and where there is a maximum it
    // heeds no minimum: the next start would get rings of the default size.
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (max_output_buffer(p) >= min_output_buffer(p)) {
            set_max_output_buffer(p, -1);
        }
    }
    return block::stop();
}

void batch_block::forecast(int, gr_vector_int& required) { d_worker->forecast(required); }

int batch_block::general_work(int,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    return d_worker->work(ninput_items, input_items, output_items);
}

void batch_block::check_frame_starts(const std::vector<tag_t>& tags,
                                     size_t port,
                                     int group) const
{
    static const auto key = pmt::intern("frame_start");
    for (const auto& tag : tags) {
        if (tag.offset % group == 0 || !pmt::eqv(tag.key, key) || frame_sizes().empty()) {
            continue;
        }
        throw std::runtime_error(
            "a frame begins at item " + std::to_string(tag.offset) + " of input " +
            std::to_string(port) +
            ", as its tag frame_start says, which is no whole multiple of " +
            count_of(group, "item") +
            ". Set the sizes of a frame as in the block that it comes from; here they "
            "are " +
            frame_sizes());
    }
}

void batch_block::warn_sometimes(const std::string& text)
{
    const auto now = std::chrono::steady_clock::now();
    if (now - d_last_warning < std::chrono::seconds(1)) {
        ++d_left_out_warnings;
        return;
    }
    d_last_warning = now;
    if (d_left_out_warnings) {
        d_logger->warn("{} ({} more since the last warning)", text, d_left_out_warnings);
    } else {
        d_logger->warn("{}", text);
    }
    d_left_out_warnings = 0;
}

} // namespace gr::cudaphy
