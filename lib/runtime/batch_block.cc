/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/sizes.h"
#include "runtime/batch_slot.h"
#include "runtime/ring_size.h"
#include <algorithm>
#include <gnuradio/prefs.h>

namespace gr::cudaphy {

namespace {

constexpr int64_t most_bytes = 1 << 28; // that a port has in a batch

size_t frame_bytes(const std::vector<batch_port>& ports)
{
    size_t bytes = 0;
    for (const auto& port : ports) {
        bytes += port.item_bytes * port.items;
    }
    return bytes;
}

//! A GPU's batch costs the host the same whatever it holds, and inputs and outputs pass
//! the bus at the same time; what a processor works on is to stay in its second cache.
int default_batch(backend where,
                  const std::vector<batch_port>& inputs,
                  const std::vector<batch_port>& outputs)
{
    const size_t in = frame_bytes(inputs), out = frame_bytes(outputs);
    const size_t frames =
        where == backend::cuda ? (6u << 20) / std::max(in, out) : (1u << 20) / (in + out);
    return static_cast<int>(std::clamp<size_t>(frames, 1, 1 << 20));
}

//! Still a std::bad_alloc, which Python has as MemoryError, but one that says of what.
class too_little_memory : public std::bad_alloc
{
public:
    explicit too_little_memory(std::string text)
        : d_text(std::make_shared<const std::string>(std::move(text)))
    {
    }
    const char* what() const noexcept override { return d_text->c_str(); }

private:
    std::shared_ptr<const std::string> d_text; //!< shared: copies must not throw
};

} // namespace

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
    const int most = most_frames(only);
    if (!only.max_batch) {
        only.max_batch = default_batch(d_backend.where, d_inputs, d_outputs);
    }
    only.max_batch = std::min(only.max_batch, most);
    d_kinds.push_back(only);
}

//! How many frames a batch may hold, so that no port's part of it, nor the status words,
//! is too large. \throws std::invalid_argument if a single frame is
int batch_block::most_frames(const batch_kind& kind) const
{
    int64_t most = most_bytes;
    const auto fit = [&](const std::string& what, int64_t items, int64_t item_bytes) {
        const auto bytes = checked_product(name() + ": " + what + " times their bytes",
                                           most_bytes,
                                           { items, item_bytes });
        most = std::min(most, most_bytes / std::max<int64_t>(1, bytes));
    };
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        fit("a frame's items at input " + std::to_string(p),
            kind.in[p],
            d_inputs[p].item_bytes);
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        fit("a frame's items at output " + std::to_string(p),
            kind.out[p],
            d_outputs[p].item_bytes);
    }
    fit("a frame's status words", d_status_words, sizeof(int));
    return static_cast<int>(most);
}

batch_block::~batch_block() = default;

void batch_block::add_kind(const batch_kind& kind)
{
    if (d_options.length_tag_key.empty()) {
        throw std::invalid_argument("frames of several kinds need a length tag key: they "
                                    "are told apart packet by packet");
    }
    d_kinds.push_back(kind);
    d_kinds.back().max_batch = std::min(kind.max_batch, most_frames(kind));
}

void batch_block::make_jobs()
{
    // Of every kind the largest, port by port: items of one frame, and of a batch.
    std::vector<int> frame_in(d_inputs.size(), 1), frame_out(d_outputs.size(), 1);
    d_most.in.assign(d_inputs.size(), 0);
    d_most.out.assign(d_outputs.size(), 0);
    for (const auto& kind : d_kinds) {
        d_most.frames = std::max(d_most.frames, kind.max_batch);
        const auto enlarge = [&](auto& frame, auto& batch, const auto& items) {
            for (size_t p = 0; p < frame.size(); ++p) {
                frame[p] = std::max(frame[p], items[p]);
                batch[p] = std::max(batch[p], size_t(items[p]) * kind.max_batch);
            }
        };
        enlarge(frame_in, d_most.in, kind.in);
        enlarge(frame_out, d_most.out, kind.out);
    }
    const size_t frames = d_most.frames;

    const bool on_device = has_own_memory();
    const int count = on_device ? slots_on_device : 1;
    const auto make_slot = [&] {
        auto made = std::make_unique<slot>();
        made->line = make_queue();
        made->watch = std::make_unique<stopwatch>(*made->line);
        if (d_kinds.size() > 1) {
            made->mixed_job = make_mixed_job(*made->line);
            made->sorter = make_sorter(*made->line);
        } else {
            made->job = make_job(*made->line);
        }
        made->end = std::make_unique<batch_end>(*made->line, frames * d_status_words);
        if (on_device) {
            for (size_t p = 0; p < d_inputs.size(); ++p) {
                made->in.emplace_back(*made->line, d_most.in[p] * d_inputs[p].item_bytes);
            }
            for (size_t p = 0; p < d_outputs.size(); ++p) {
                made->out.emplace_back(*made->line,
                                       d_most.out[p] * d_outputs[p].item_bytes);
            }
            made->status = array<int>(*made->line, frames * d_status_words);
        }
        d_slots.push_back(std::move(made));
    };
    try {
        for (int i = 0; i < count; ++i) {
            make_slot();
        }
    } catch (const std::bad_alloc&) {
        throw too_little_memory(memory_problem(frames));
    }

    // Room for every batch under way, one more to come, and yet another, because a ring
    // is full one item early, and a batch is not cut to fit. GNU Radio sizes the ring
    // before a block from its relative rate and output multiple, and nothing else: so
    // these say what is needed. The rate has no other use here, since this class moves
    // the tags itself.
    set_tag_propagation_policy(TPP_DONT);
    const auto in_rings = [count](int64_t batch) {
        return std::min<int64_t>((count + 2) * batch, 1 << 28);
    };
    int multiple = 1;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        multiple = std::max(multiple, frame_out[p]);
        set_min_output_buffer(p, static_cast<long>(in_rings(d_most.out[p])));
    }
    set_output_multiple(multiple);
    int64_t input_items = 1;
    for (const auto batch : d_most.in) {
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

std::unique_ptr<queue> batch_block::make_queue()
{
    return queue::make(d_backend.where, d_backend.device);
}

int batch_block::kind_of(const std::vector<tag_t>&, std::string&) const { return 0; }

void batch_block::refuse(const std::vector<tag_t>&, uint64_t, const std::string&) {}

bool batch_block::keeps(const batch_status&, int) const { return true; }

bool batch_block::start()
{
    d_behind.in.assign(d_inputs.size(), 0);
    d_behind.out.assign(d_outputs.size(), 0);
    d_ahead = d_behind;
    d_published = 0;
    d_in_flight.clear();
    d_counters.queued(0);
    d_free.clear();
    for (auto& made : d_slots) {
        made->used = nullptr;
        d_free.push_back(made.get());
    }
    d_problem.clear();
    d_waiting_since.reset();
    d_short_of_room = d_takes_any_room = d_is_lost = false;
    d_pause.reset();
    d_last_timed = {};
    d_given_up = 0;
    d_packets.reset();
    d_last_seen.clear();
    d_used_outputs = static_cast<size_t>(d_port.outputs());
    d_length_key = pmt::intern(d_options.length_tag_key);
    d_source = alias_pmt();
    d_tag_writers = std::vector<tag_writer>(d_outputs.size());
    if (!d_options.length_tag_key.empty()) {
        std::vector<int> items;
        for (const auto& kind : d_kinds) {
            items.push_back(kind.in[0]);
        }
        d_packets.emplace(
            d_options.length_tag_key, items, d_port.block_before(0)->alias());
    }
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    d_reaches_rings = false;
    try {
        for (auto& made : d_slots) {
            made->unread.clear();
            for (size_t p = d_used_outputs; made->out.empty() && p < d_outputs.size();
                 ++p) {
                made->unread.emplace_back(*made->line,
                                          d_most.out[p] * d_outputs[p].item_bytes);
            }
        }
        find_edges();
        find_chain();
        if (d_backend.where == backend::cuda) {
            lock_rings();
        }
    } catch (const std::exception& problem) {
        // Thrown on, it would leave all blocks waiting for this one's start.
        fail(problem);
    }
    return block::start();
}

bool batch_block::stop()
{
    // What is still under way when the flowgraph is stopped from outside has nowhere to
    // go, but its copies must end before the rings do; so must those of a batch that
    // failed while it was submitted.
    const turn mine(d_turn);
    d_runs = false;
    if (d_next) {
        d_next->release();
        d_next.reset();
        d_leads = d_next_is_busy = false;
    }
    for (auto& each : d_slots) {
        try {
            each->line->synchronize();
            if (each->used) {
                each->used->synchronize();
            }
        } catch (const std::exception& problem) {
            if (d_problem.empty()) {
                d_problem = problem.what();
                d_logger->error("{}", d_problem);
            }
        }
    }
    d_in_flight.clear();
    d_locks.clear();
    if (d_packets && d_packets->frames_missing() && d_problem.empty()) {
        d_logger->warn("the stream ended {} frames before its last packet did",
                       d_packets->frames_missing());
    }
    // GNU Radio notes what a ring came to as its maximum, and where there is a maximum it
    // heeds no minimum: the next start would get rings of the default size.
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (max_output_buffer(p) >= min_output_buffer(p)) {
            set_max_output_buffer(p, -1);
        }
    }
    return block::stop();
}

void batch_block::lock_rings()
{
    bool all_locked = true;
    const auto lock = [&](const gr::buffer_sptr& ring) {
        // Of a double-mapped ring both halves in one range: apart, copies across the wrap
        // bring garbage.
        const auto memory = scheduler_port::memory_of(ring);
        auto locked = lock_pages(memory.base, memory.bytes);
        all_locked = all_locked && locked;
        d_locks.push_back(std::move(locked));
    };
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        if (!d_edges_in[p]) {
            lock(d_port.input_ring(p));
        }
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (d_host_reads[p]) {
            lock(d_port.output_ring(p));
        }
    }
    if (!all_locked) {
        d_logger->warn("a stream buffer can't be page-locked: copies to and from the GPU "
                       "go through the driver's "
                       "staging memory, at about a fifth of the speed (see ulimit -l)");
    }
    const auto is_reached = [&](const void* memory) {
        return is_reached_by_gpu(memory, d_backend.device);
    };
    d_reaches_rings = all_locked && d_slots.size() > 0;
    for (const auto& lock : d_locks) {
        d_reaches_rings = d_reaches_rings && is_reached(lock.get());
    }
    for (const auto& each : d_slots) {
        d_reaches_rings = d_reaches_rings && is_reached(each->statuses());
    }
}

//! Whether a stream from one to the other can stay where it is.
bool batch_block::shares_memory_with(const batch_block& other) const
{
    return has_own_memory() && other.has_own_memory() &&
           d_backend.where == other.d_backend.where &&
           d_backend.device == other.d_backend.device;
}

//! Finds out which streams stay on the device. Both blocks at a stream come to the same
//! answer, since GNU Radio starts every block before the first one works.
void batch_block::find_edges()
{
    d_edges_in.assign(d_inputs.size(), nullptr);
    d_edges_out.assign(d_outputs.size(), nullptr);
    d_host_reads.assign(d_used_outputs, true);
    d_host_reads.resize(d_outputs.size(), false);
    d_publishes_early = false;
    if (!has_own_memory() ||
        !prefs::singleton()->get_bool("cudaphy", "stay_on_device", true)) {
        return;
    }
    // A block that drops frames closes the gaps on the host.
    const auto stays = [](const batch_block* from, const batch_block* to) {
        return from && to && from->shares_memory_with(*to) && !from->drops_frames();
    };
    const auto along = [&](const gr::buffer_sptr& ring) {
        return device_edge::along(
            ring, [&] { return queue::make(d_backend.where, d_backend.device); });
    };
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        const auto ring = d_port.input_ring(p);
        const auto before =
            std::dynamic_pointer_cast<batch_block>(d_port.block_before(p));
        if (stays(before.get(), this)) {
            d_edges_in[p] = along(ring);
            d_logger->info("input {} from {} {} on the GPU",
                           p,
                           before->alias(),
                           d_edges_in[p] ? "stays" : "finds no room to stay");
        } else if (before && before->has_own_memory() &&
                   before->d_backend.device != d_backend.device) {
            d_logger->info("input {} comes from {} on another GPU ({}) through the host",
                           p,
                           before->alias(),
                           before->d_backend.device);
        }
    }
    d_publishes_early = d_kinds.size() == 1;
    for (size_t p = 0; p < d_used_outputs; ++p) {
        const auto readers = d_port.readers_of(p);
        bool host = readers.empty(), device = false;
        for (const auto& each : readers) {
            const auto reader = std::dynamic_pointer_cast<batch_block>(each);
            (stays(this, reader.get()) ? device : host) = true;
        }
        if (device) {
            d_edges_out[p] = along(d_port.output_ring(p));
        }
        if (d_edges_out[p]) {
            d_edges_out[p]->begin();
        }
        d_host_reads[p] = host || !d_edges_out[p];
        d_publishes_early = d_publishes_early && !d_host_reads[p];
    }
}

void batch_block::forecast(int, gr_vector_int& required)
{
    // At a packet's head one item is enough to read its length, and a wrong one is found
    // even if too little follows. What is in flight is not consumed yet, so that a call
    // that collects it needs nothing more.
    turn mine(d_turn);
    wait_before_work(mine);
    if (is_stuck()) {
        std::fill(required.begin(), required.end(), 0); // to end in general_work
        return;
    }
    const bool sleeps = sleeps_on();
    const bool first_item =
        d_packets && (d_packets->at_head() || d_packets->refused_items());
    const bool announced = d_in_flight.empty() && is_announced();
    for (size_t p = 0; p < required.size(); ++p) {
        if (sleeps) {
            required[p] = d_port.most_available(p);
        } else if (!d_in_flight.empty()) {
            required[p] = static_cast<int>(d_ahead.in[p] - d_behind.in[p]);
        } else if (announced || d_next_is_busy) {
            required[p] = 0;
        } else if (first_item) {
            required[p] = p == 0 ? 1 : 0;
        } else {
            required[p] = d_kinds[next_kind()].in[p];
        }
    }
}

void batch_block::warn_sometimes(const std::string& text)
{
    const auto now = std::chrono::steady_clock::now();
    if (now - d_last_warning < std::chrono::seconds(1)) {
        ++d_unsaid_warnings;
        return;
    }
    d_last_warning = now;
    if (d_unsaid_warnings) {
        d_logger->warn("{} ({} more since the last warning)", text, d_unsaid_warnings);
    } else {
        d_logger->warn("{}", text);
    }
    d_unsaid_warnings = 0;
}

} // namespace gr::cudaphy
