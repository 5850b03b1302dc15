/* SPDX-License-Identifier: GPL-3.0-or-later */

// One batch: gathered, submitted, collected.

#include "runtime/batch_block.h"
#include "runtime/batch_worker.h"
#include "runtime/stream/length_tag.h"
#include <algorithm>
#include <cstring>

namespace gr::cudaphy {

int batch_worker::next_kind() const
{
    const auto& packets = d_block.d_tags.packets();
    return packets ? packets->kind() : 0;
}

int batch_worker::frames_waiting(const gr_vector_int& ninput_items) const
{
    return d_ledger.frames_waiting(next_kind(), ninput_items);
}

int batch_worker::frames_that_fit() const
{
    return d_ledger.frames_that_fit(next_kind(),
                                    [this](size_t port) { return d_port.space(port); });
}

//! 0 if the next batch is to wait for one that is under way, or for room.
int batch_worker::frames_to_submit(const gr_vector_int& ninput_items)
{
    const auto& kind = kind_of_next();
    const auto under_way = slots_under_way();
    const int wanted = batch_pacer::wanted(
        frames_waiting(ninput_items), kind.max_batch, under_way, d_slots.size());
    if (wanted == 0) {
        return 0;
    }
    int third_of_ring = stream_ledger::no_limit;
    for (size_t p = 0; p < d_connected; ++p) {
        const auto ring = static_cast<int>(d_port.ring_items(p));
        third_of_ring = std::min(third_of_ring, std::max(1, ring / 3 / kind.out[p]));
    }
    return d_pacer.fitting(wanted, third_of_ring, frames_that_fit(), under_way);
}

//! The absolute item of input 0 that is to be reserved next.
uint64_t batch_worker::next_item() const
{
    return d_port.items_read(0) + d_ledger.in_under_way(0);
}

bool batch_worker::has_next_item(const gr_vector_int& ninput_items) const
{
    return static_cast<uint64_t>(ninput_items[0]) > d_ledger.in_under_way(0);
}

packet_cutter::label batch_worker::label_at(uint64_t item)
{
    packet_cutter::label found;
    const auto tags = d_port.tags(0, item, item + 1);
    found.length = packet_length(tags, d_block.d_tags.length_key());
    if (d_block.d_kinds.size() > 1 && found.length) {
        found.kind = d_block.kind_of(tags, found.refusal);
    }
    return found;
}

//! Whether the packet that the next item belongs to is known. At its head, its tags are
//! read.
bool batch_worker::at_known_packet(const gr_vector_int& ninput_items)
{
    if (!d_block.d_tags.packets()->at_head()) {
        return true;
    }
    if (!has_next_item(ninput_items)) {
        return false;
    }
    frames_in_packets(0);
    return d_problem.empty();
}

int batch_worker::frames_in_packets(int frames)
{
    std::string problem;
    const auto good = d_block.d_tags.packets()->advance(
        next_item(), frames, [this](uint64_t item) { return label_at(item); }, problem);
    if (!problem.empty()) {
        const auto sizes = d_block.frame_sizes();
        end_flowgraph(problem + (sizes.empty() ? "" : ": " + sizes));
    }
    return good;
}

//! Lets as much as is there of a refused packet wait for its turn. Whether anything is.
bool batch_worker::pass_over(const gr_vector_int& ninput_items)
{
    if (!has_next_item(ninput_items)) {
        return false;
    }
    auto& packets = *d_block.d_tags.packets();
    flight refused;
    refused.refused_items = std::min<uint64_t>(
        packets.refused_items(), ninput_items[0] - d_ledger.in_under_way(0));
    refused.packet_items = packets.refused_length();
    if (packets.refused_items() == packets.refused_length()) {
        refused.head = d_port.tags(0, next_item(), next_item() + 1);
        refused.refusal = packets.refusal();
    }
    packets.pass_over(refused.refused_items);
    d_ledger.pass_over(refused.refused_items);
    d_in_flight.push_back(std::move(refused));
    return true;
}

//! What is to be submitted now, its items reserved; no parts: nothing is.
batch_worker::gathered batch_worker::next_batch(const gr_vector_int& ninput_items)
{
    const size_t kinds = d_block.d_kinds.size();
    const auto& packets = d_block.d_tags.packets();
    gathered made{ {}, batch_load(d_most.in.size(), d_most.out.size(), kinds) };
    auto& [parts, all] = made;
    int kind = next_kind(); // that of the packet after these may be another
    int frames = frames_to_submit(ninput_items);
    while (frames > 0) {
        const int good = packets ? frames_in_packets(frames) : frames;
        parts.emplace_back().frames = d_ledger.reserve(kind, good);
        all.add(d_ledger.kind(kind), kind, good);
        if (kinds == 1 || parts.size() == kind_sorter::most_parts || has_failed() ||
            !at_known_packet(ninput_items) || packets->refused_items()) {
            break;
        }
        kind = next_kind();
        frames = std::min({ all.room_for(d_ledger.kind(kind), kind, d_most),
                            frames_waiting(ninput_items),
                            frames_that_fit() });
    }
    return made;
}

//! Submits what can be. Whether anything was published by that.
bool batch_worker::submit_waiting(const gr_vector_int& ninput_items, const rings& at)
{
    const auto& packets = d_block.d_tags.packets();
    bool published = false;
    d_pacer.round_begins();
    while (d_problem.empty()) {
        if (packets && !at_known_packet(ninput_items)) {
            break;
        }
        if (packets && packets->refused_items()) {
            if (!pass_over(ninput_items)) {
                break;
            }
            continue;
        }
        auto batch = next_batch(ninput_items);
        if (batch.parts.empty()) {
            break;
        }
        submit(at, std::move(batch));
        published = published || d_publishes_early;
        d_pacer.submitted();
    }
    return published;
}

//! Whether a batch is computed where it lies, in GNU Radio's rings, as far as it passes
//! the host. Copies carry large batches faster, 1.05 MB of matrices by a fifth, but only
//! while another one is computed.
bool batch_worker::stays_in_rings(const batch_load& batch) const
{
    constexpr size_t small = 320 << 10, alone = 1 << 20; // bytes
    if (!d_memory.device_reaches_rings() || !d_block.passes_once()) {
        return false;
    }
    const auto most =
        d_memory.most_host_bytes(batch, d_block.d_inputs, d_block.d_outputs);
    return most && *most <= (d_in_flight.empty() ? alone : small);
}

//! Whether a batch follows what it is made from on the queue of the block before, which
//! saves an event and a wait, 5 us. Large ones would hold up that block's copies.
bool batch_worker::shares_queue(const batch_load& batch) const
{
    return d_row.shared_queue() &&
           batch.in[0] * d_block.d_inputs[0].item_bytes <= d_block.d_small_batch;
}

//! Whether kernels write the status words to the host's memory themselves.
bool batch_worker::status_stays_on_host(int frames) const
{
    constexpr size_t few = 4096;
    return d_memory.device_reaches_rings() && d_block.passes_once() &&
           size_t(frames) * d_block.d_status_words <= few;
}

//! Absolute, of an output, of the first of these frames.
uint64_t batch_worker::absolute_item(size_t output, const frame_reservation& frames) const
{
    return d_port.items_written(output) + frames.first_out[output] -
           d_ledger.done().out[output];
}

//! \param own_memory  the batch works in the slot's buffers, not in GNU Radio's rings
void batch_worker::take_inputs(batch& work,
                               batch_slot& slot,
                               queue& where,
                               const rings& at,
                               const batch_load& all,
                               bool own_memory)
{
    for (size_t p = 0; p < d_block.d_inputs.size(); ++p) {
        const auto bytes = d_block.d_inputs[p].item_bytes;
        const auto items = all.in[p], first = d_ledger.reserved().in[p] - items;
        const auto before = first - d_ledger.done().in[p];
        const auto* from =
            static_cast<const char*>(at.in[p]) + (first - at.done.in[p]) * bytes;
        if (const auto* edge = d_memory.edge_in(p)) {
            work.in.push_back(edge->read(
                where, d_port.items_read(p) + before, items, slot.in[p].data()));
            continue;
        }
        if (own_memory) {
            where.copy_in(slot.in[p].data(), from, items * bytes);
        }
        work.in.push_back(own_memory ? slot.in[p].data() : from);
    }
}

//! Says where the batch writes. Returns where its items stand in the rings of the
//! outputs.
std::vector<char*> batch_worker::place_outputs(batch& work,
                                               batch_slot& slot,
                                               const rings& at,
                                               const gathered& found,
                                               bool own_memory)
{
    const auto& frames = found.parts.front().frames;
    std::vector<char*> ring;
    for (size_t p = 0; p < d_block.d_outputs.size(); ++p) {
        if (p >= d_connected) {
            ring.push_back(nullptr);
            work.out.push_back(d_on_device ? slot.out[p].data()
                                           : slot.unread[p - d_connected].data());
            continue;
        }
        ring.push_back(static_cast<char*>(at.out[p]) +
                       (frames.first_out[p] - at.done.out[p]) *
                           d_block.d_outputs[p].item_bytes);
        const auto* edge = d_memory.edge_out(p);
        const bool in_ring = !own_memory && !(d_on_device && edge);
        void* const room = in_ring ? ring.back() : slot.out[p].data();
        work.out.push_back(
            edge ? edge->place(absolute_item(p, frames), found.all.out[p], room) : room);
    }
    return ring;
}

void batch_worker::submit(const rings& at, gathered found)
{
    auto& [parts, all] = found;
    const auto& outputs = d_block.d_outputs;
    size_t out_bytes = 0;
    for (size_t p = 0; p < outputs.size(); ++p) {
        out_bytes += all.out[p] * outputs[p].item_bytes;
    }
    d_row.choose_thread(out_bytes, d_block.d_small_batch, d_block.d_large_batch_lasts);
    announce();
    auto& slot = *d_free.back();
    const bool is_shared = shares_queue(all);
    auto& where = is_shared ? *d_row.shared_queue() : *slot.own_queue;
    d_row.forget_shared_queue(); // it is for one batch
    slot.used = &where;
    batch work{ all.frames, {}, {}, slot.statuses() };
    const bool own_memory = d_on_device && !stays_in_rings(all);
    take_inputs(work, slot, where, at, all, own_memory);
    const auto ring = place_outputs(work, slot, at, found, own_memory);
    if (own_memory && !status_stays_on_host(all.frames)) {
        work.status = slot.status.data();
    }
    std::vector<kind_sorter::kind_frames> kinds;
    for (size_t i = 0; slot.mixed_job && i < parts.size(); ++i) {
        kinds.push_back({ parts[i].frames.kind, parts[i].frames.frames });
    }
    slot.timed = d_pacer.is_timed(std::chrono::steady_clock::now());
    slot.run(work, kinds, where);
    for (size_t p = 0; p < outputs.size(); ++p) {
        if (auto* edge = d_memory.edge_out(p)) {
            edge->written(where,
                          absolute_item(p, parts.front().frames),
                          all.out[p],
                          work.out[p],
                          is_shared,
                          d_row.serves_next());
        }
        if (own_memory && d_memory.host_reads(p)) {
            where.copy_out(ring[p], work.out[p], all.out[p] * outputs[p].item_bytes);
        }
    }
    d_free.pop_back();
    const int* status = slot.statuses();
    for (auto& part : parts) {
        part.slot = &slot;
        part.status = status;
        status += size_t(part.frames.frames) * d_block.d_status_words;
        if (d_publishes_early) {
            publish(part, at);
        }
    }
    parts.back().batch_frames = all.frames;
    if (d_publishes_early && !d_row.serves_next()) {
        d_port.wake_readers();
    }
    for (auto& part : parts) {
        d_in_flight.push_back(std::move(part));
    }
    d_row.work_for_next(&where);
    // After the blocks behind were told, because none of them waits for it.
    slot.end->submit(where,
                     work.status,
                     size_t(all.frames) * d_block.d_status_words,
                     d_block.reports_zeros() || d_block.drops_frames());
    d_block.d_counters.queued(slots_under_way());
}

//! Takes back what is done, oldest first.
void batch_worker::collect_done(const rings& at)
{
    if (!is_oldest_done()) {
        return;
    }
    do {
        collect(at);
    } while (is_oldest_done());
    if (d_row.is_in_foreign_thread()) { // GNU Radio does it after general_work only
        d_port.wake_writers();
        if (!d_row.serves_next()) {
            d_port.wake_readers();
        }
    }
}

//! Takes back the oldest frames of one kind under way, whose batch is done.
void batch_worker::collect(const rings& at)
{
    auto& done = d_in_flight.front();
    if (done.slot) {
        if (done.batch_frames) {
            d_block.d_counters.computed(
                done.batch_frames,
                done.slot->timed ? std::optional(done.slot->kernel_time->seconds())
                                 : std::nullopt);
        }
        if (!d_publishes_early) {
            publish(done, at);
        }
        finish(done);
        if (done.batch_frames) {
            d_free.push_back(done.slot);
        }
    } else {
        if (!done.refusal.empty()) {
            d_block.refuse(done.head, done.packet_items, done.refusal);
        }
        d_port.consume(
            0, static_cast<int>(done.refused_items), d_row.is_in_foreign_thread());
        d_ledger.consume_passed_over(done.refused_items);
    }
    d_in_flight.pop_front();
    d_block.d_counters.queued(slots_under_way());
    if (d_in_flight.empty()) {
        d_ledger.release_room();
        may_sleep();
    }
}

//! Puts a batch's items out. Early, before it is computed, all of its frames are put out,
//! and what happened to them is not known yet.
void batch_worker::publish(flight& batch, const rings& at)
{
    const auto& frames = batch.frames;
    const auto& kind = d_ledger.kind(frames.kind);
    const bool drops = d_block.drops_frames();
    kept_frames kept;
    if (drops) {
        const batch_status status{ batch.status, frames.frames };
        kept.before.push_back(0);
        for (int f = 0; f < frames.frames; ++f) {
            kept.before.push_back(kept[f] + d_block.keeps(status, f));
        }
    }
    const int count = kept[frames.frames];
    if (!d_publishes_early &&
        (count != frames.frames || frames.first_out != d_ledger.done().out)) {
        close_gaps(frames, kept, at);
    }
    d_block.d_tags.carry(frames,
                         kind,
                         d_port.items_read(0) + frames.first_in - d_ledger.done().in[0],
                         d_ledger.frames_published(),
                         kept,
                         drops,
                         [&](const std::vector<tag_t>& tags) {
                             if (d_problem.empty()) {
                                 d_block.check_frame_starts(tags, 0, kind.in[0]);
                             }
                         });
    batch.first_out = d_port.items_written(0);
    if (!d_publishes_early) {
        report_all(batch, kept);
    }
    const bool across_threads = d_row.is_in_foreign_thread() || d_row.serves_next();
    for (size_t p = 0; p < d_connected; ++p) {
        d_port.produce(p, count * kind.out[p], across_threads);
    }
    d_ledger.publish(frames, count);
}

//! Gives back what a batch was made from; one that was published early is reported now.
void batch_worker::finish(const flight& done)
{
    const auto& frames = done.frames;
    const auto& kind = d_ledger.kind(frames.kind);
    if (d_publishes_early) {
        report_all(done, {});
    }
    for (size_t p = 0; p < kind.in.size(); ++p) {
        d_port.consume(p, frames.frames * kind.in[p], d_row.is_in_foreign_thread());
    }
    d_ledger.consume(frames);
}

void batch_worker::report_all(const flight& done, const kept_frames& kept)
{
    const int frames = done.frames.frames, status_words = d_block.d_status_words;
    const batch_status status{ done.status, frames };
    const uint64_t items = d_ledger.kind(done.frames.kind).out[0];
    if (!done.slot->end->any_words()) {
        return;
    }
    const bool all = d_block.reports_zeros();
    constexpr int at_once = 64;
    for (int first = 0; status_words && first < frames; first += at_once) {
        const int last = std::min(first + at_once, frames);
        const int* words = status.words + size_t(first) * status_words;
        const int count = all ? 0 : (last - first) * status_words;
        int any = all;
        for (int w = 0; w < count; ++w) {
            any |= words[w];
        }
        for (int f = first; any && f < last; ++f) {
            d_block.report(status, f, done.first_out + kept[f] * items);
        }
        d_block.d_tags.write(0);
    }
}

//! Moves the frames that are put out to where the last batch ended.
void batch_worker::close_gaps(const frame_reservation& done,
                              const kept_frames& kept,
                              const rings& at)
{
    for (size_t p = 0; p < d_connected; ++p) {
        const auto items = d_ledger.kind(done.kind).out[p];
        const auto bytes = d_block.d_outputs[p].item_bytes;
        auto* ring = static_cast<char*>(at.out[p]);
        auto* to = ring + (d_ledger.done().out[p] - at.done.out[p]) * bytes;
        const auto* from = ring + (done.first_out[p] - at.done.out[p]) * bytes;
        for (int f = 0; f < done.frames; ++f) {
            if (kept.keeps(f)) {
                std::memmove(to + size_t(kept[f]) * items * bytes,
                             from + size_t(f) * items * bytes,
                             items * bytes);
            }
        }
    }
}

} // namespace gr::cudaphy
