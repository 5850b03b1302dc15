/* SPDX-License-Identifier: GPL-3.0-or-later */

// Blocks in a row on one device, for all of which one thread works while their batches
// are small.

#include "runtime/batch_slot.h"

namespace gr::cudaphy {

//! The one block that reads all outputs, and nothing else, if there is one.
std::shared_ptr<batch_block> batch_block::only_reader() const
{
    return std::dynamic_pointer_cast<batch_block>(d_port.only_reader());
}

//! Whether this block's thread works for the one behind too, from this batch on. Not
//! where batches are large: waking a thread for each costs little beside them, and what
//! blocks do for them on the host is done side by side.
void batch_block::lead_or_not(const load& batch)
{
    if (!d_next) {
        return;
    }
    size_t bytes = 0;
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        bytes += batch.out[p] * d_outputs[p].item_bytes;
    }
    const auto now = std::chrono::steady_clock::now();
    if (bytes > d_small_batch) {
        d_last_large = now;
    }
    const bool leads = !d_last_large || now - *d_last_large > d_large_batch_lasts;
    if (d_leads && !leads) {
        d_next->release();
        d_next_is_busy = false;
    }
    d_leads = leads;
}

//! After find_edges(). A block that may be led asks nothing of one that starts beside it
//! but what has been fixed since they were made and connected.
void batch_block::find_chain()
{
    const auto follows = [](const batch_block& block) {
        return block.has_own_memory() && block.d_kinds.size() == 1 &&
               block.d_options.max_latency <= 0 && !block.needs_own_thread();
    };
    const turn mine(d_turn);
    d_next = scheduler_port::works_across_threads() && d_publishes_early &&
                     d_options.max_latency <= 0
                 ? only_reader()
                 : nullptr;
    if (d_next && !follows(*d_next)) {
        d_next.reset();
    }
    const auto before = std::dynamic_pointer_cast<batch_block>(d_port.block_before(0));
    d_is_led = scheduler_port::works_across_threads() && follows(*this) && before &&
               before->d_options.max_latency <= 0 && before->only_reader().get() == this;
    d_leads = d_is_visited = d_next_is_busy = d_is_watched = false;
    d_last_large.reset();
    d_runs = true;
}

//! Collects and submits what can be, from the thread of a block before, whose queue it
//! lends; says whether anything is under way here or behind, so that the thread is to
//! come again.
bool batch_block::advance(queue* line)
{
    const turn mine(d_turn);
    if (!d_runs) {
        return false;
    }
    d_lent = line;
    int waiting = 0;
    d_is_visited = true;
    try {
        auto now = d_port.now();
        if (is_oldest_done()) {
            collect_done({ now.in, now.out, d_behind });
            now = d_port.now();
        }
        if (!submit_waiting(now.items, { now.in, now.out, d_behind })) {
            advance_next();
        }
        waiting = frames_waiting(d_port.now().items);
    } catch (const std::exception& problem) {
        fail(problem);
    }
    d_lent = nullptr;
    d_is_visited = false;
    const bool busy = is_busy();
    d_is_watched = busy || (waiting <= 0 && d_problem.empty());
    if (!d_is_watched) {
        d_port.wake_own_thread(); // its own thread is to see to it
    }
    return busy;
}

bool batch_block::advance_next(queue* line)
{
    return d_next_is_busy = d_leads && d_next->advance(line);
}

//! From here on its own thread works for it.
void batch_block::release()
{
    {
        const turn mine(d_turn);
        d_is_watched = false;
    }
    d_port.wake_own_thread();
}

//! Whether a thread before works for this block, so that its own sleeps: not in
//! general_work, where GNU Radio has the threads of its neighbours wait for it.
bool batch_block::sleeps_on() const
{
    if (!d_is_watched) {
        return false;
    }
    return !d_port.has_ended(0);
}

//! Whether GNU Radio calls general_work again as far as room in the rings goes.
bool batch_block::is_called_again() const
{
    for (size_t p = 0; p < d_used_outputs; ++p) {
        if (d_port.space(p) < output_multiple()) {
            return false;
        }
    }
    return true;
}

} // namespace gr::cudaphy
