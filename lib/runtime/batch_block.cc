/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/batch_block.h"
#include <algorithm>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>

namespace gr::cudaphy {

//! One batch under way: its queue, its job, and on a device its buffers there.
struct batch_block::slot {
    std::unique_ptr<queue> line;
    std::unique_ptr<batch_job> job;
    std::vector<array<char>> in,
        out; // empty where the job works in GNU Radio's own rings
    array<int> status;
    std::shared_ptr<void> host_status;
    int frames = 0;
    uint64_t reserved = 0; // output frame that its first one was given

    int* statuses() const { return static_cast<int*>(host_status.get()); }
};

namespace {

size_t frame_bytes(const batch_port& port) { return port.item_bytes * port.items; }

int default_batch(const std::vector<batch_port>& inputs,
                  const std::vector<batch_port>& outputs)
{
    size_t bytes = 0;
    for (const auto& port : inputs) {
        bytes += frame_bytes(port);
    }
    for (const auto& port : outputs) {
        bytes += frame_bytes(port);
    }
    return static_cast<int>(std::clamp<size_t>((size_t{ 1 } << 20) / bytes, 1, 1 << 20));
}

} // namespace

batch_block::batch_block(const batch_options& options,
                         std::vector<batch_port> inputs,
                         std::vector<batch_port> outputs,
                         int status_words)
    : d_options(options),
      d_backend(resolve(backend_from_name(options.backend), options.device)),
      d_inputs(std::move(inputs)), d_outputs(std::move(outputs)),
      d_status_words(status_words), d_max_batch(options.max_batch)
{
    if (options.max_batch < 0 || options.max_batch > 1 << 24) {
        throw std::invalid_argument("max_batch " + std::to_string(options.max_batch) +
                                    " is not in 0 (automatic) to 16777216 frames");
    }
    if (!(options.max_latency >= 0 && options.max_latency <= 3600)) {
        throw std::invalid_argument("max_latency " + std::to_string(options.max_latency) +
                                    " is not in 0 to 3600 seconds");
    }
    if (d_max_batch == 0) {
        d_max_batch = default_batch(d_inputs, d_outputs);
    }
}

batch_block::~batch_block() = default;

void batch_block::make_jobs()
{
    const bool on_device = d_backend.where == backend::cuda;
    const int count = on_device ? slots_on_device : 1;
    const size_t frames = d_max_batch;
    for (int i = 0; i < count; ++i) {
        auto made = std::make_unique<slot>();
        made->line = queue::make(d_backend.where, d_backend.device);
        made->job = make_job(*made->line);
        made->host_status = make_locked_memory(
            std::max<size_t>(1, frames * d_status_words) * sizeof(int));
        if (on_device) {
            for (const auto& port : d_inputs) {
                made->in.emplace_back(*made->line, frames * frame_bytes(port));
            }
            for (const auto& port : d_outputs) {
                made->out.emplace_back(*made->line, frames * frame_bytes(port));
            }
            made->status = array<int>(*made->line, frames * d_status_words);
        }
        d_slots.push_back(std::move(made));
    }

    // Room for every batch under way and one more to come. GNU Radio sizes the ring
    // before a block from its relative rate and output multiple, and nothing else: so
    // these say what is needed. The rate has no other use here, since this class moves
    // the tags itself.
    set_tag_propagation_policy(TPP_DONT);
    const int64_t depth = (count + 1) * static_cast<int64_t>(frames);
    int multiple = 1;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        multiple = std::max(multiple, d_outputs[p].items);
        set_min_output_buffer(
            p, static_cast<long>(std::min<int64_t>(depth * d_outputs[p].items, 1 << 28)));
    }
    set_output_multiple(multiple);
    int64_t input_items = 1;
    for (const auto& port : d_inputs) {
        input_items = std::max<int64_t>(input_items,
                                        std::min<int64_t>(depth * port.items, 1 << 28));
    }
    set_relative_rate(2.0 * multiple / static_cast<double>(input_items));
}

bool batch_block::keeps(const batch_status&, int) const { return true; }

bool batch_block::start()
{
    d_submitted = d_finished = d_reserved = d_produced = 0;
    d_in_flight.clear();
    d_free.clear();
    for (auto& made : d_slots) {
        d_free.push_back(made.get());
    }
    d_problem.clear();
    d_waiting_since.reset();
    d_packets.reset();
    if (!d_options.length_tag_key.empty()) {
        d_packets.emplace(d_options.length_tag_key,
                          d_inputs[0].items,
                          detail()->input(0)->buffer()->link()->alias());
    }
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    if (d_backend.where == backend::cuda) {
        lock_rings();
    }
    return block::start();
}

bool batch_block::stop()
{
    // What is still under way when the flowgraph is stopped from outside has nowhere to
    // go, but its copies must end before the rings do.
    for (auto* busy : d_in_flight) {
        try {
            busy->line->synchronize();
        } catch (const std::exception& problem) {
            if (d_problem.empty()) {
                d_logger->error("{}", problem.what());
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
        const bool doubled =
            ring->get_mapping_type() == buffer_mapping_type::double_mapped;
        auto locked = lock_pages(ring->base(),
                                 (doubled ? 2 : 1) * size_t{ ring->bufsize() } *
                                     ring->get_sizeof_item());
        all_locked = all_locked && locked;
        d_locks.push_back(std::move(locked));
    };
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        lock(detail()->input(p)->buffer());
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        lock(detail()->output(p));
    }
    if (!all_locked) {
        d_logger->warn("a stream buffer can't be page-locked: copies to and from the GPU "
                       "go through the driver's "
                       "staging memory, at about a fifth of the speed (see ulimit -l)");
    }
}

void batch_block::forecast(int, gr_vector_int& required)
{
    // At a packet's head one item is enough to read its length, and a wrong one is found
    // even if too little follows.
    const bool head = d_packets && d_packets->at_head() && d_in_flight.empty();
    for (size_t p = 0; p < required.size(); ++p) {
        required[p] = head ? (p == 0 ? 1 : 0) : d_inputs[p].items;
    }
}

int batch_block::general_work(int,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    try {
        return work(ninput_items, { input_items, output_items, d_finished, d_produced });
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread and leave the others waiting.
        d_problem = problem.what();
        d_logger->error("{}: the flowgraph ends here", d_problem);
        return WORK_DONE;
    }
}

int batch_block::work(const gr_vector_int& ninput_items, const rings& rings)
{
    int waiting = frames_waiting(ninput_items);
    if (d_problem.empty() && holds_back(waiting)) {
        return 0;
    }
    if (d_packets && d_problem.empty()) {
        waiting = frames_in_packets(waiting, ninput_items);
        if (!d_problem.empty()) {
            d_logger->error("{}: the flowgraph ends here", d_problem);
        }
    } else if (!d_problem.empty()) {
        waiting = 0;
    }
    while (waiting > 0 && !d_free.empty()) {
        const int frames = std::min({ waiting, d_max_batch, frames_that_fit() });
        if (frames == 0) {
            break;
        }
        submit(rings, frames);
        waiting -= frames;
        d_waiting_since.reset();
    }
    // The oldest batch is waited for, so that a call never ends without progress while
    // there is work; what else is done by then goes out with it.
    if (!d_in_flight.empty()) {
        do {
            collect(rings);
        } while (!d_in_flight.empty() && d_in_flight.front()->line->idle());
        return WORK_CALLED_PRODUCE;
    }
    return d_problem.empty() ? 0 : static_cast<int>(WORK_DONE);
}

int batch_block::frames_waiting(const gr_vector_int& ninput_items) const
{
    int frames = ninput_items[0] / d_inputs[0].items;
    for (size_t p = 1; p < d_inputs.size(); ++p) {
        frames = std::min(frames, ninput_items[p] / d_inputs[p].items);
    }
    return frames - static_cast<int>(d_submitted - d_finished);
}

int batch_block::frames_that_fit() const
{
    // Not noutput_items: that is half the ring at most, and batches under way take their
    // part of it.
    int frames = d_max_batch * (slots_on_device + 1);
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        frames =
            std::min(frames, detail()->output(p)->space_available() / d_outputs[p].items);
    }
    return frames - static_cast<int>(d_reserved - d_produced);
}

bool batch_block::holds_back(int waiting)
{
    if (d_options.max_latency <= 0 || waiting <= 0 || !d_in_flight.empty()) {
        return false;
    }
    const auto reader = detail()->input(0);
    const int full =
        std::min(d_max_batch, reader->max_possible_items_available() / d_inputs[0].items);
    if (waiting >= full || reader->done()) {
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!d_waiting_since) {
        d_waiting_since = now;
    }
    const std::chrono::duration<double> left = // seconds; auto would be nanoseconds
        std::chrono::duration<double>(d_options.max_latency) - (now - *d_waiting_since);
    if (left.count() <= 0) {
        return false;
    }
    // Woken by the scheduler's own signal when items come or the stream ends.
    auto& threads = detail()->d_tpb;
    gr::thread::scoped_lock guard(threads.mutex);
    if (!threads.input_changed) {
        threads.input_cond.timed_wait(guard,
                                      boost::posix_time::microseconds(
                                          static_cast<int64_t>(left.count() * 1e6) + 1));
    }
    return true;
}

int batch_block::frames_in_packets(int waiting, const gr_vector_int& ninput_items)
{
    const auto in_flight_items =
        static_cast<int>(d_submitted - d_finished) * d_inputs[0].items;
    // Only what can be submitted now: the cutter does not go back.
    const int room = static_cast<int>(d_free.size()) * d_max_batch;
    const int frames = std::max(0, std::min({ room, waiting, frames_that_fit() }));
    if (frames == 0 && !(d_packets->at_head() && ninput_items[0] > in_flight_items)) {
        return 0;
    }
    const auto key = pmt::intern(d_options.length_tag_key);
    const auto length_at = [&](uint64_t item) -> std::optional<int64_t> {
        std::vector<tag_t> tags;
        get_tags_in_range(tags, 0, item, item + 1, key);
        for (const auto& tag : tags) {
            if (pmt::is_integer(tag.value)) {
                return pmt::to_long(tag.value);
            }
            if (pmt::is_uint64(tag.value)) {
                return static_cast<int64_t>(pmt::to_uint64(tag.value));
            }
        }
        return std::nullopt;
    };
    return d_packets->advance(
        nitems_read(0) + in_flight_items, frames, length_at, d_problem);
}

void batch_block::submit(const rings& rings, int frames)
{
    auto* free = d_free.back();
    batch work{ frames, {}, {}, free->statuses() };
    const bool on_device = !free->in.empty();
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        const auto bytes = frame_bytes(d_inputs[p]);
        const auto* from = static_cast<const char*>(rings.in[p]) +
                           (d_submitted - rings.finished) * bytes;
        if (on_device) {
            free->line->copy_in(free->in[p].data(), from, frames * bytes);
        }
        work.in.push_back(on_device ? free->in[p].data() : from);
    }
    std::vector<char*> to;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        to.push_back(static_cast<char*>(rings.out[p]) +
                     (d_reserved - rings.produced) * frame_bytes(d_outputs[p]));
        work.out.push_back(on_device ? free->out[p].data() : to.back());
    }
    if (on_device) {
        work.status = free->status.data();
    }
    free->job->run(work, *free->line);
    if (on_device) {
        for (size_t p = 0; p < d_outputs.size(); ++p) {
            free->line->copy_out(
                to[p], free->out[p].data(), frames * frame_bytes(d_outputs[p]));
        }
        if (d_status_words) {
            free->line->copy_out(free->statuses(),
                                 free->status.data(),
                                 sizeof(int) * frames * d_status_words);
        }
    }
    d_free.pop_back();
    free->frames = frames;
    free->reserved = d_reserved;
    d_in_flight.push_back(free);
    d_submitted += frames;
    d_reserved += frames;
}

void batch_block::collect(const rings& rings)
{
    auto* done = d_in_flight.front();
    done->line->synchronize();

    // How many frames of the batch are put out before each of them.
    const batch_status status{ done->statuses(), done->frames };
    std::vector<int> kept_before(done->frames + 1, 0);
    for (int f = 0; f < done->frames; ++f) {
        const bool kept = keeps(status, f);
        kept_before[f + 1] = kept_before[f] + kept;
    }
    const int kept = kept_before[done->frames];
    if (kept != done->frames || done->reserved != d_produced) {
        for (size_t p = 0; p < d_outputs.size(); ++p) {
            const auto bytes = frame_bytes(d_outputs[p]);
            auto* ring = static_cast<char*>(rings.out[p]);
            for (int f = 0; f < done->frames; ++f) {
                if (kept_before[f + 1] > kept_before[f]) {
                    std::memmove(ring + (d_produced + kept_before[f] - rings.produced) *
                                            bytes,
                                 ring + (done->reserved + f - rings.produced) * bytes,
                                 bytes);
                }
            }
        }
    }

    // Tags before items: once produced, items may be read at any moment.
    copy_tags(done->frames, kept_before);
    for (int f = 0; f < done->frames; ++f) {
        report(
            status, f, nitems_written(0) + uint64_t(kept_before[f]) * d_outputs[0].items);
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        produce(p, kept * d_outputs[p].items);
    }
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        consume(p, done->frames * d_inputs[p].items);
    }
    d_finished += done->frames;
    d_produced += kept;
    d_in_flight.pop_front();
    d_free.push_back(done);
    if (d_in_flight.empty()) {
        d_reserved = d_produced; // frames dropped leave no room unused for long
    }
}

void batch_block::copy_tags(int frames, const std::vector<int>& kept_before)
{
    const auto key = pmt::intern(d_options.length_tag_key);
    const auto source = alias_pmt();
    const auto add_length = [&](int frame, uint64_t length_in_frames) {
        for (size_t p = 0; p < d_outputs.size(); ++p) {
            add_item_tag(p,
                         nitems_written(p) +
                             uint64_t(kept_before[frame]) * d_outputs[p].items,
                         key,
                         pmt::from_long(length_in_frames * d_outputs[p].items),
                         source);
        }
    };
    if (d_packets) {
        while (const auto head = d_packets->next_head(d_finished, frames)) {
            if (!drops_frames()) {
                add_length(static_cast<int>(head->frame - d_finished), head->frames);
            }
        }
        for (int f = 0; drops_frames() && f < frames; ++f) {
            if (kept_before[f + 1] > kept_before[f]) {
                add_length(f, 1);
            }
        }
    }

    std::vector<tag_t> tags;
    const auto first = nitems_read(0);
    get_tags_in_range(tags, 0, first, first + uint64_t(frames) * d_inputs[0].items);
    for (const auto& tag : tags) {
        if (d_packets && pmt::eqv(tag.key, key)) {
            continue;
        }
        const auto item = tag.offset - first;
        const int frame = static_cast<int>(item / d_inputs[0].items);
        const auto within = item % d_inputs[0].items;
        if (kept_before[frame + 1] == kept_before[frame]) {
            continue;
        }
        for (size_t p = 0; p < d_outputs.size(); ++p) {
            const auto to = uint64_t(kept_before[frame]) * d_outputs[p].items +
                            within * d_outputs[p].items / d_inputs[0].items;
            add_item_tag(p, nitems_written(p) + to, tag.key, tag.value, tag.srcid);
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
