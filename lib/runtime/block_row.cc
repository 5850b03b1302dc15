/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/block_row.h"
#include <utility>

namespace gr::cudaphy {

void block_row::begin(std::shared_ptr<block_row> next, bool may_be_served)
{
    const auto held = lock();
    d_next = std::move(next);
    d_may_be_served = may_be_served;
    d_serves_next = d_in_foreign_thread = d_next_is_busy = d_is_served = false;
    d_last_large.reset();
    d_runs = true;
}

void block_row::end()
{
    d_runs = false;
    if (d_next) {
        d_next->release();
        d_next.reset();
        d_serves_next = d_next_is_busy = false;
    }
}

void block_row::choose_thread(size_t output_bytes,
                              size_t small_batch,
                              std::chrono::microseconds large_lasts)
{
    if (!d_next) {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (output_bytes > small_batch) {
        d_last_large = now;
    }
    const bool serves = !d_last_large || now - *d_last_large > large_lasts;
    if (d_serves_next && !serves) {
        d_next->release();
        d_next_is_busy = false;
    }
    d_serves_next = serves;
}

bool block_row::work_for_next(queue* shared)
{
    return d_next_is_busy = d_serves_next && d_next->serve(shared);
}

//! Called by the thread of the block before.
bool block_row::serve(queue* shared)
{
    const auto held = lock();
    if (!d_runs) {
        return false;
    }
    d_shared_queue = shared;
    d_in_foreign_thread = true;
    const int waiting = d_own.collect_and_submit();
    d_shared_queue = nullptr;
    d_in_foreign_thread = false;
    const bool busy = is_busy();
    d_is_served = busy || (waiting <= 0 && !d_own.has_failed());
    if (!d_is_served) {
        d_port.wake_own_thread();
    }
    return busy;
}

//! From here on its own thread works for it.
void block_row::release()
{
    {
        const auto held = lock();
        d_is_served = false;
    }
    d_port.wake_own_thread();
}

bool block_row::is_one_done(bool takes_long)
{
    if (d_own.is_batch_done(takes_long)) {
        return true;
    }
    if (!d_next_is_busy) {
        return false;
    }
    // The next block's own thread may have been awake, and have collected all batches.
    const auto held = d_next->lock();
    return !d_next->d_runs || !d_next->is_busy() || d_next->is_one_done(takes_long);
}

} // namespace gr::cudaphy
