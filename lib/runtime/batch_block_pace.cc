/* SPDX-License-Identifier: GPL-3.0-or-later */

// When a batch is submitted, and what a block waits for.

#include "runtime/batch_slot.h"
#include <algorithm>
#include <boost/thread/thread.hpp>
#include <cmath>
#include <thread>
#include <utility>

namespace gr::cudaphy {

int batch_block::frames_waiting(const gr_vector_int& ninput_items) const
{
    const auto& items = d_kinds[next_kind()].in;
    int frames = 1 << 30;
    for (size_t p = 0; p < items.size(); ++p) {
        const auto in_flight = static_cast<int>(d_ahead.in[p] - d_behind.in[p]);
        frames = std::min(frames, (ninput_items[p] - in_flight) / items[p]);
    }
    return frames;
}

int batch_block::frames_that_fit() const
{
    const auto& items = d_kinds[next_kind()].out;
    int frames = 1 << 30;
    for (size_t p = 0; p < d_used_outputs; ++p) {
        const auto in_flight = static_cast<int>(d_ahead.out[p] - d_behind.out[p]);
        frames = std::min(frames, (d_port.space(p) - in_flight) / items[p]);
    }
    return frames;
}

//! Whether what waits is to wait for more.
bool batch_block::holds_back(int waiting)
{
    if (d_options.max_latency <= 0 || waiting <= 0 || !d_in_flight.empty()) {
        return false;
    }
    const auto& kind = d_kinds[next_kind()];
    const int full = std::min(kind.max_batch, d_port.most_available(0) / kind.in[0]);
    if (waiting >= full || d_port.has_ended(0)) {
        return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!d_waiting_since) {
        d_waiting_since = now;
    }
    const auto end = *d_waiting_since +
                     std::chrono::nanoseconds(std::llround(d_options.max_latency * 1e9));
    if (end <= now) {
        return false;
    }
    d_pause = pause{ waiting, end };
    return true;
}

//! Until items come, the stream ends, or what waits has waited for as long as it may.
void batch_block::wait_for_more(turn& mine, moment end)
{
    mine.unlock();
    d_port.wait_for_input(end);
    mine.lock();
}

//! How many frames the next batch has; 0 where it is to wait for one that is under way,
//! or for room.
int batch_block::frames_to_submit(const gr_vector_int& ninput_items)
{
    const auto& kind = d_kinds[next_kind()];
    const int frames = std::min(frames_waiting(ninput_items), kind.max_batch);
    if (d_free.empty() || frames <= 0) {
        return 0;
    }
    const size_t under_way = d_slots.size() - d_free.size();
    if (under_way >= 2 && frames < (kind.max_batch + 1) / 2) {
        return 0;
    }
    // Readers get on with what two thirds of a ring hold, so that more room comes. One
    // that does not would wait forever without the time limit.
    int third_of_ring = 1 << 30;
    for (size_t p = 0; p < d_used_outputs; ++p) {
        const auto ring = static_cast<int>(d_port.ring_items(p));
        third_of_ring = std::min(third_of_ring, std::max(1, ring / 3 / kind.out[p]));
    }
    d_room = frames_that_fit();
    d_short_of_room = d_room < std::min(frames, third_of_ring);
    if (d_short_of_room && (under_way > 0 || !d_takes_any_room)) {
        return 0;
    }
    d_takes_any_room = false;
    return std::min(frames, d_room);
}

//! Until a reader has read, and made room, or patience ends.
void batch_block::wait_for_room(turn& mine)
{
    mine.unlock();
    const bool has_come = d_port.wait_for_space(d_room_patience);
    mine.lock();
    d_takes_any_room = !has_come;
}

//! Waits until a batch is done, here or behind, true, or something has come that may be
//! submitted before, false. A thread before may work here meanwhile.
bool batch_block::wait_for_one(turn& mine)
{
    using std::chrono::steady_clock, std::chrono::microseconds;
    const auto begin = steady_clock::now();
    while (is_busy()) {
        const auto looked = steady_clock::now();
        const auto so_far = std::chrono::duration_cast<microseconds>(looked - begin);
        const bool takes_long = so_far > std::chrono::milliseconds(1);
        if (is_one_done(takes_long)) {
            return true;
        }
        const bool may_submit = !d_free.empty() && d_problem.empty() &&
                                (!d_next_is_busy || is_called_again());
        const bool wants_room = d_short_of_room;
        mine.unlock();
        boost::this_thread::interruption_point();
        // It may be noticed a little late, to spare the processor.
        const microseconds nap(takes_long ? std::min<int64_t>(so_far.count() / 16, 100000)
                                          : 0);
        const bool has_news = d_port.has_news(may_submit, may_submit && wants_room, nap);
        mine.lock();
        if (has_news) {
            return false;
        }
        // Others take the mutex to notify, and sleep if they find it taken.
        while (!takes_long && !is_one_done(false) &&
               steady_clock::now() - looked < microseconds(4)) {
            mine.unlock();
            std::this_thread::yield();
            mine.lock();
        }
    }
    return true;
}

//! Waits for items, a batch or room outside of general_work. While a block is in there,
//! GNU Radio has the one before wait for it after each call that put nothing out
//! (buffer::on_lock), so that it would collect and submit nothing meanwhile, not here
//! either, where it leads.
void batch_block::wait_before_work(turn& mine)
{
    const auto begun = std::exchange(d_pause, std::nullopt);
    if (!begun) {
        return;
    }
    // GNU Radio has forgotten by now that something has come since then.
    const auto has_room = [&] { return frames_that_fit() > d_room; };
    if (!begun->held_until && !is_busy()) {
        if (d_short_of_room && !has_room()) {
            wait_for_room(mine);
        }
        return;
    }
    if (d_problem.empty() && frames_waiting(d_port.now().items) > begun->waiting) {
        return;
    }
    if (begun->held_until) {
        wait_for_more(mine, *begun->held_until);
        return;
    }
    if (d_short_of_room && has_room()) {
        return;
    }
    try {
        wait_for_one(mine);
    } catch (const boost::thread_interrupted&) {
        throw;
    } catch (const std::exception& problem) {
        fail(problem);
        d_is_lost = true;
    }
}

bool batch_block::is_oldest_done() const
{
    if (d_in_flight.empty()) {
        return false;
    }
    const auto* busy = d_in_flight.front().busy;
    return !busy || is_done(*busy->used, *busy->end);
}

//! Whether a batch is done, here or behind. Throws where the device is lost, if it
//! `takes_long`.
bool batch_block::is_one_done(bool takes_long)
{
    if (is_oldest_done()) {
        return true;
    }
    if (takes_long && !d_in_flight.empty()) {
        d_in_flight.front().busy->used->idle();
    }
    if (!d_next_is_busy) {
        return false;
    }
    // Its own thread may have been awake, and have collected what was under way there.
    const turn its(d_next->d_turn);
    return !d_next->d_runs || !d_next->is_busy() || d_next->is_one_done(takes_long);
}

//! On the host a batch is done when it is submitted.
bool batch_block::is_done(queue&, const batch_end& end) const { return end.done(); }

//! Whether the block before is about to put items out that are not there yet.
bool batch_block::is_announced()
{
    if (d_edges_in.empty() || !d_edges_in[0]) {
        return false;
    }
    return d_edges_in[0]->announced() > std::max(d_port.items_come(0), d_given_up);
}

//! Awaits announced items for a while, without sleeping. The blocks behind are told
//! first.
void batch_block::wait_for_announced()
{
    if (!is_announced()) {
        return;
    }
    announce();
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (is_announced()) {
        if (std::chrono::steady_clock::now() > end) {
            d_given_up = d_edges_in[0]->announced();
            may_sleep();
        }
        std::this_thread::yield();
    }
}

//! From here on this thread may sleep until items come.
void batch_block::may_sleep()
{
    if (d_edges_in[0]) {
        d_edges_in[0]->reader_sleeps();
    }
}

//! Wakes the readers on the device, whose threads wake up while this one submits.
void batch_block::announce()
{
    bool wake = false;
    for (size_t p = 0; d_publishes_early && !d_leads && p < d_used_outputs; ++p) {
        wake = d_edges_out[p]->announce(nitems_written(p)) || wake;
    }
    if (wake) {
        d_port.wake_readers();
    }
}

//! Whether the next batch is timed: on a GPU it costs three calls, so that a hundredth of
//! a second passes from one to the next.
bool batch_block::is_timed()
{
    const auto now = std::chrono::steady_clock::now();
    if (d_backend.where == backend::cuda &&
        now - d_last_timed < std::chrono::milliseconds(10)) {
        return false;
    }
    d_last_timed = now;
    return true;
}

} // namespace gr::cudaphy
