/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/batch_slot.h"
#include "runtime/length_tag.h"
#include <algorithm>
#include <cstring>
#include <thread>

namespace gr::cudaphy {

int batch_block::general_work(int,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    turn mine(d_turn);
    d_port.call_begins();
    if (d_is_lost) {
        return WORK_DONE;
    }
    try {
        if (!d_is_led) {
            return work(mine, ninput_items, { input_items, output_items, d_behind });
        }
        if (sleeps_on()) { // the ring is full
            std::this_thread::yield();
            return 0;
        }
        const auto now = d_port.now(); // a thread before may have been at work meanwhile
        return work(mine, now.items, { now.in, now.out, d_behind });
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread and leave the others waiting.
        fail(problem);
        return WORK_DONE;
    }
}

void batch_block::fail(const std::exception& problem)
{
    d_problem = dynamic_cast<const std::bad_alloc*>(&problem)
                    ? memory_problem(d_kinds[next_kind()].max_batch)
                    : problem.what();
    d_logger->error("{}: the flowgraph ends here", d_problem);
}

int batch_block::work(turn& mine, const gr_vector_int& ninput_items, const rings& rings)
{
    if (d_problem.empty() && holds_back(frames_waiting(ninput_items))) {
        return 0;
    }
    const bool published = submit_waiting(ninput_items, rings);
    if (!published) {
        advance_next();
    } else if (!d_leads) {
        return WORK_CALLED_PRODUCE; // at once: the blocks behind learn of it only then
    }
    // A batch is waited for, here or before the next call, so that no call is without
    // progress while there is work; what else is done by then goes out with it.
    if (is_busy()) {
        bool done = is_one_done(false);
        if (!done && is_called_again()) {
            d_pause = pause{ frames_waiting(ninput_items) };
            return 0;
        }
        do {
            if (!done && !wait_for_one(mine)) {
                return 0; // there is something to submit first
            }
            done = false;
            if (d_is_led) {
                const auto now = d_port.now();
                collect_done({ now.in, now.out, d_behind });
            } else {
                collect_done(rings);
            }
        } while (advance_next() && !is_called_again());
        return WORK_CALLED_PRODUCE;
    }
    if (!d_problem.empty()) {
        return WORK_DONE;
    }
    if (d_short_of_room) {
        d_pause = pause{ frames_waiting(ninput_items) };
    } else {
        wait_for_announced();
    }
    return 0;
}

//! Submits what can be; says whether anything was published by that.
bool batch_block::submit_waiting(const gr_vector_int& ninput_items, const rings& rings)
{
    bool published = false;
    d_short_of_room = false;
    while (d_problem.empty()) {
        if (d_packets && !at_known_packet(ninput_items)) {
            break;
        }
        if (d_packets && d_packets->refused_items()) {
            if (!pass_over(ninput_items)) {
                break;
            }
            continue;
        }
        auto batch = next_batch(ninput_items);
        if (batch.parts.empty()) {
            break;
        }
        submit(rings, std::move(batch));
        published = published || d_publishes_early;
        d_waiting_since.reset();
    }
    return published;
}

packet_cutter::label batch_block::label_at(uint64_t item)
{
    packet_cutter::label found;
    std::vector<tag_t> tags;
    get_tags_in_range(tags, 0, item, item + 1);
    found.length = packet_length(tags, d_length_key);
    if (d_kinds.size() > 1 && found.length) {
        found.kind = kind_of(tags, found.refusal);
    }
    return found;
}

//! Whether the packet that the next item belongs to is known; at its head it is looked
//! at.
bool batch_block::at_known_packet(const gr_vector_int& ninput_items)
{
    if (!d_packets->at_head()) {
        return true;
    }
    const auto in_flight = d_ahead.in[0] - d_behind.in[0];
    if (static_cast<uint64_t>(ninput_items[0]) <= in_flight) {
        return false;
    }
    frames_in_packets(0);
    return d_problem.empty();
}

int batch_block::frames_in_packets(int frames)
{
    const auto good = d_packets->advance(
        nitems_read(0) + d_ahead.in[0] - d_behind.in[0],
        frames,
        [this](uint64_t item) { return label_at(item); },
        d_problem);
    if (!d_problem.empty()) {
        const auto sizes = frame_sizes();
        d_problem += sizes.empty() ? "" : ": " + sizes;
        d_logger->error("{}: the flowgraph ends here", d_problem);
    }
    return good;
}

//! Lets as much as is there of a refused packet wait for its turn; says whether anything
//! is.
bool batch_block::pass_over(const gr_vector_int& ninput_items)
{
    const auto in_flight = d_ahead.in[0] - d_behind.in[0];
    if (static_cast<uint64_t>(ninput_items[0]) <= in_flight) {
        return false;
    }
    flight refused;
    refused.refused_items =
        std::min<uint64_t>(d_packets->refused_items(), ninput_items[0] - in_flight);
    refused.packet_items = d_packets->refused_length();
    if (d_packets->refused_items() == d_packets->refused_length()) {
        const auto item = nitems_read(0) + in_flight;
        get_tags_in_range(refused.head, 0, item, item + 1);
        refused.refusal = d_packets->refusal();
    }
    d_packets->pass_over(refused.refused_items);
    d_ahead.in[0] += refused.refused_items;
    d_in_flight.push_back(std::move(refused));
    return true;
}

//! Whether a batch is computed where it lies, in GNU Radio's rings, as far as it passes
//! the host. Copies carry large batches faster, 1.05 MB of matrices by a fifth, but only
//! while another one is computed.
bool batch_block::stays_in_rings(const load& batch) const
{
    constexpr size_t small = 320 << 10, alone = 1 << 20; // bytes
    if (!d_reaches_rings || !passes_once()) {
        return false;
    }
    size_t most = 0;
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        if (!d_edges_in[p]) {
            most = std::max(most, batch.in[p] * d_inputs[p].item_bytes);
        }
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (d_edges_out[p] && d_host_reads[p]) {
            return false;
        }
        if (d_host_reads[p]) {
            most = std::max(most, batch.out[p] * d_outputs[p].item_bytes);
        }
    }
    return most <= (d_in_flight.empty() ? alone : small);
}

//! Whether a batch follows what it is made from on the queue of the block before, which
//! saves an event and a wait, 5 us. Large ones would hold up that block's copies.
bool batch_block::lends(const load& batch) const
{
    return d_lent && batch.in[0] * d_inputs[0].item_bytes <= d_small_batch;
}

//! Whether kernels write the status words to the host's memory themselves.
bool batch_block::status_stays_on_host(int frames) const
{
    constexpr size_t few = 4096;
    return d_reaches_rings && passes_once() && size_t(frames) * d_status_words <= few;
}

void batch_block::submit(const rings& rings, gathered found)
{
    auto& [parts, all] = found;
    lead_or_not(all);
    announce();
    auto* free = d_free.back();
    const int frames = all.frames;
    const bool is_lent = lends(all);
    auto& line = is_lent ? *d_lent : *free->line;
    d_lent = nullptr; // for one batch
    free->used = &line;
    batch work{ frames, {}, {}, free->statuses() };
    const bool on_device = !free->in.empty();
    const bool own_memory = on_device && !stays_in_rings(all);
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        const auto bytes = d_inputs[p].item_bytes;
        const auto items = all.in[p], first = d_ahead.in[p] - items;
        const auto in_flight = first - d_behind.in[p];
        const auto* from =
            static_cast<const char*>(rings.in[p]) + (first - rings.behind.in[p]) * bytes;
        if (d_edges_in[p]) {
            work.in.push_back(d_edges_in[p]->read(
                line, nitems_read(p) + in_flight, items, free->in[p].data()));
            continue;
        }
        if (own_memory) {
            line.copy_in(free->in[p].data(), from, items * bytes);
        }
        work.in.push_back(own_memory ? free->in[p].data() : from);
    }
    const auto& reserved = parts.front().reserved;
    const auto item_of = [&](size_t p) {
        return nitems_written(p) + reserved[p] - d_behind.out[p];
    };
    std::vector<char*> to;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (p >= d_used_outputs) {
            to.push_back(nullptr);
            work.out.push_back(on_device ? free->out[p].data()
                                         : free->unread[p - d_used_outputs].data());
            continue;
        }
        to.push_back(static_cast<char*>(rings.out[p]) +
                     (reserved[p] - rings.behind.out[p]) * d_outputs[p].item_bytes);
        const bool leaves = !own_memory && !(on_device && d_edges_out[p]);
        void* const room = leaves ? to.back() : free->out[p].data();
        work.out.push_back(
            d_edges_out[p] ? d_edges_out[p]->place(item_of(p), all.out[p], room) : room);
    }
    if (own_memory && !status_stays_on_host(frames)) {
        work.status = free->status.data();
    }
    free->timed = is_timed();
    if (free->timed) {
        free->watch->begin(line);
    }
    if (free->mixed_job) {
        run_mixed(parts, work, *free, line);
    } else {
        free->job->run(work, line);
    }
    if (free->timed) {
        free->watch->end(line);
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (d_edges_out[p]) {
            d_edges_out[p]->written(
                line, item_of(p), all.out[p], work.out[p], is_lent, d_leads);
        }
        if (own_memory && d_host_reads[p]) {
            line.copy_out(to[p], work.out[p], all.out[p] * d_outputs[p].item_bytes);
        }
    }
    d_free.pop_back();
    const int* status = free->statuses();
    for (auto& part : parts) {
        part.busy = free;
        part.status = status;
        status += size_t(part.frames) * d_status_words;
        if (d_publishes_early) {
            publish(part, rings);
        }
    }
    parts.back().batch_frames = frames;
    if (d_publishes_early && !d_leads) {
        d_port.wake_readers();
    }
    for (auto& part : parts) {
        d_in_flight.push_back(std::move(part));
    }
    advance_next(&line);
    // After the blocks behind were told: none of them waits for it.
    free->end->submit(line,
                      work.status,
                      size_t(frames) * d_status_words,
                      reports_zeros() || drops_frames());
    d_counters.queued(d_slots.size() - d_free.size());
}

//! Takes back what is done, oldest first.
void batch_block::collect_done(const rings& rings)
{
    if (!is_oldest_done()) {
        return;
    }
    do {
        collect(rings);
    } while (is_oldest_done());
    if (d_is_visited) { // GNU Radio does it after general_work only
        d_port.wake_writers();
        if (!d_leads) {
            d_port.wake_readers();
        }
    }
}

//! As consume(), from any thread.
void batch_block::take_in(size_t port, int items)
{
    d_port.consume(port, items, d_is_visited);
}

//! As produce(), from any thread, and GNU Radio wakes no reader up for it.
void batch_block::put_out(size_t port, int items)
{
    d_port.produce(port, items, d_is_visited || d_leads);
}

//! Takes back the oldest frames of one kind under way, whose batch is done.
void batch_block::collect(const rings& rings)
{
    auto& done = d_in_flight.front();
    if (done.busy) {
        if (done.batch_frames) {
            d_counters.computed(done.batch_frames,
                                done.busy->timed
                                    ? std::optional(done.busy->watch->seconds())
                                    : std::nullopt);
        }
        if (!d_publishes_early) {
            publish(done, rings);
        }
        finish(done);
        if (done.batch_frames) {
            d_free.push_back(done.busy);
        }
    } else {
        if (!done.refusal.empty()) {
            refuse(done.head, done.packet_items, done.refusal);
        }
        take_in(0, static_cast<int>(done.refused_items));
        d_behind.in[0] += done.refused_items;
    }
    d_in_flight.pop_front();
    d_counters.queued(d_slots.size() - d_free.size());
    if (d_in_flight.empty()) {
        d_ahead.out = d_behind.out; // frames dropped leave no room unused for long
        may_sleep();
    }
}

//! Puts a batch's items out. Early, before it is computed, all of its frames are put out,
//! and what happened to them is not known yet.
void batch_block::publish(flight& batch, const rings& rings)
{
    const auto& kind = d_kinds[batch.kind];
    kept_frames kept_before;
    if (drops_frames()) {
        const batch_status status{ batch.status, batch.frames };
        kept_before.before.push_back(0);
        for (int f = 0; f < batch.frames; ++f) {
            kept_before.before.push_back(kept_before[f] + keeps(status, f));
        }
    }
    const int kept = kept_before[batch.frames];
    if (!d_publishes_early && (kept != batch.frames || batch.reserved != d_behind.out)) {
        close_gaps(batch, kept_before, rings);
    }

    // Tags before items: once produced, items may be read at any moment.
    copy_tags(batch, kept_before);
    batch.first_out = nitems_written(0);
    if (!d_publishes_early) {
        report_all(batch, kept_before);
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        if (p < d_used_outputs) {
            put_out(p, kept * kind.out[p]);
        }
        d_behind.out[p] += uint64_t(kept) * kind.out[p];
    }
    d_published += batch.frames;
}

//! Gives back what a batch was made from; one that was published early is reported now.
void batch_block::finish(const flight& done)
{
    const auto& kind = d_kinds[done.kind];
    if (d_publishes_early) {
        report_all(done, {});
    }
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        take_in(p, done.frames * kind.in[p]);
        d_behind.in[p] += uint64_t(done.frames) * kind.in[p];
    }
}

void batch_block::report_all(const flight& done, const kept_frames& kept_before)
{
    const batch_status status{ done.status, done.frames };
    const uint64_t items = d_kinds[done.kind].out[0];
    if (!done.busy->end->any_words()) {
        return;
    }
    const bool all = reports_zeros();
    constexpr int at_once = 64;
    for (int first = 0; d_status_words && first < done.frames; first += at_once) {
        const int last = std::min(first + at_once, done.frames);
        const int* words = status.words + size_t(first) * d_status_words;
        const int count = all ? 0 : (last - first) * d_status_words;
        int any = all;
        for (int w = 0; w < count; ++w) {
            any |= words[w];
        }
        for (int f = first; any && f < last; ++f) {
            report(status, f, done.first_out + kept_before[f] * items);
        }
        write_tags(0);
    }
}

//! Moves the frames of a batch that are put out to where the last batch ended.
void batch_block::close_gaps(const flight& done,
                             const kept_frames& kept_before,
                             const rings& rings)
{
    for (size_t p = 0; p < d_used_outputs; ++p) {
        const auto items = d_kinds[done.kind].out[p];
        const auto bytes = d_outputs[p].item_bytes;
        auto* ring = static_cast<char*>(rings.out[p]);
        auto* to = ring + (d_behind.out[p] - rings.behind.out[p]) * bytes;
        const auto* from = ring + (done.reserved[p] - rings.behind.out[p]) * bytes;
        for (int f = 0; f < done.frames; ++f) {
            if (kept_before[f + 1] > kept_before[f]) {
                std::memmove(to + size_t(kept_before[f]) * items * bytes,
                             from + size_t(f) * items * bytes,
                             items * bytes);
            }
        }
    }
}

void batch_block::write_tags(size_t port)
{
    d_tag_writers[port].write(*d_port.output_ring(port));
}

void batch_block::copy_tags(const flight& done, const kept_frames& kept_before)
{
    const auto& kind = d_kinds[done.kind];
    tag_t length;
    length.key = d_length_key;
    length.srcid = d_source;
    const auto add_length = [&](int frame, uint64_t length_in_frames) {
        for (size_t p = 0; p < d_used_outputs; ++p) {
            length.offset =
                nitems_written(p) + uint64_t(kept_before[frame]) * kind.out[p];
            length.value = pmt::from_long(length_in_frames * kind.out[p]);
            d_tag_writers[p].add(length);
        }
    };
    if (d_packets) {
        while (const auto head = d_packets->next_head(d_published, done.frames)) {
            if (!drops_frames()) {
                add_length(static_cast<int>(head->frame - d_published), head->frames);
            }
        }
        for (int f = 0; drops_frames() && f < done.frames; ++f) {
            if (kept_before[f + 1] > kept_before[f]) {
                add_length(f, 1);
            }
        }
    }

    std::vector<tag_t> tags;
    const auto first = nitems_read(0) + done.first_in - d_behind.in[0];
    get_tags_in_range(tags, 0, first, first + uint64_t(done.frames) * kind.in[0]);
    if (d_problem.empty()) {
        check_frame_starts(tags, 0, kind.in[0]);
    }
    for (auto& tag : tags) {
        if (d_packets && pmt::eqv(tag.key, d_length_key)) {
            continue;
        }
        const auto item = tag.offset - first;
        const int frame = static_cast<int>(item / kind.in[0]);
        const auto within = item % kind.in[0];
        if (kept_before[frame + 1] == kept_before[frame]) {
            continue;
        }
        for (size_t p = 0; p < d_used_outputs; ++p) {
            const auto to = uint64_t(kept_before[frame]) * kind.out[p] +
                            within * kind.out[p] / kind.in[0];
            tag.offset = nitems_written(p) + to;
            d_tag_writers[p].add(tag);
        }
    }
    for (size_t p = 0; p < d_used_outputs; ++p) {
        write_tags(p);
    }
}

} // namespace gr::cudaphy
