/* SPDX-License-Identifier: GPL-3.0-or-later */

// Starting and stopping, one call of GNU Radio's, and what a block waits for.

#include "runtime/batch_worker.h"
#include "runtime/batch_block.h"
#include <algorithm>
#include <gnuradio/prefs.h>
#include <thread>

namespace gr::cudaphy {

using namespace std::chrono_literals;

namespace {

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

batch_worker::batch_worker(batch_block& block, batch_load most)
    : d_block(block), d_port(block), d_row(*this, d_port), d_most(std::move(most)),
      d_on_device(block.has_own_memory())
{
    try {
        for (int i = 0; i < (d_on_device ? slots_on_device : 1); ++i) {
            make_slot();
        }
    } catch (const std::bad_alloc&) {
        throw too_little_memory(block.memory_problem(d_most.frames));
    }
}

batch_worker::~batch_worker() = default;

void batch_worker::make_slot()
{
    auto made = std::make_unique<batch_slot>();
    const size_t words = size_t(d_most.frames) * d_block.d_status_words;
    auto& where = *(made->own_queue = d_block.make_queue());
    made->kernel_time = std::make_unique<stopwatch>(where);
    if (d_block.d_kinds.size() > 1) {
        made->mixed_job = d_block.make_mixed_job(where);
        made->sorter = make_sorter(where);
    } else {
        made->job = d_block.make_job(where);
    }
    made->end = std::make_unique<batch_end>(where, words);
    if (d_on_device) {
        const auto& inputs = d_block.d_inputs;
        const auto& outputs = d_block.d_outputs;
        for (size_t p = 0; p < inputs.size(); ++p) {
            made->in.emplace_back(where, d_most.in[p] * inputs[p].item_bytes);
        }
        for (size_t p = 0; p < outputs.size(); ++p) {
            made->out.emplace_back(where, d_most.out[p] * outputs[p].item_bytes);
        }
        made->status = array<int>(where, words);
    }
    d_slots.push_back(std::move(made));
}

std::unique_ptr<kind_sorter> batch_worker::make_sorter(queue& where) const
{
    const auto in_bytes = [](const auto& items, const std::vector<batch_port>& ports) {
        std::vector<size_t> bytes;
        for (size_t p = 0; p < ports.size(); ++p) {
            bytes.push_back(items[p] * ports[p].item_bytes);
        }
        return bytes;
    };
    const auto& inputs = d_block.d_inputs;
    const auto& outputs = d_block.d_outputs;
    std::vector<port_bytes> kinds;
    for (const auto& kind : d_block.d_kinds) {
        kinds.push_back({ in_bytes(kind.in, inputs), in_bytes(kind.out, outputs) });
    }
    return std::make_unique<kind_sorter>(
        where,
        std::move(kinds),
        port_bytes{ in_bytes(d_most.in, inputs), in_bytes(d_most.out, outputs) },
        d_most.frames,
        d_block.d_status_words);
}

void batch_worker::start()
{
    const bool cuda = d_block.d_backend.where == backend::cuda;
    d_connected = static_cast<size_t>(d_port.outputs());
    d_ledger = stream_ledger(d_block.d_kinds, d_connected);
    // Timing a batch on a GPU costs three calls.
    d_pacer = batch_pacer(d_block.d_options.max_latency, cuda ? 10ms : 0ms);
    d_in_flight.clear();
    d_free.clear();
    d_block.d_counters.queued(0);
    for (auto& made : d_slots) {
        made->used = nullptr;
        d_free.push_back(made.get());
    }
    d_problem.clear();
    d_device_is_lost = false;
    d_stuck.begin();
    try {
        const auto& outputs = d_block.d_outputs;
        for (auto& made : d_slots) {
            made->unread.clear();
            for (size_t p = d_connected; made->out.empty() && p < outputs.size(); ++p) {
                made->unread.emplace_back(*made->own_queue,
                                          d_most.out[p] * outputs[p].item_bytes);
            }
        }
        find_edges();
        find_row();
        if (cuda) {
            lock_rings();
        }
    } catch (const std::exception& problem) {
        // Thrown on, it would leave all blocks waiting for this one's start.
        fail(problem);
    }
}

void batch_worker::stop()
{
    // What is under way when the flowgraph is stopped from outside has nowhere to go, but
    // its copies must end before the rings do. So must those of a batch that failed while
    // it was submitted.
    const auto held = d_row.lock();
    d_row.end();
    for (auto& each : d_slots) {
        try {
            each->own_queue->synchronize();
            if (each->used) {
                each->used->synchronize();
            }
        } catch (const std::exception& problem) {
            if (d_problem.empty()) {
                d_problem = problem.what();
                d_block.d_logger->error("{}", d_problem);
            }
        }
    }
    d_in_flight.clear();
    d_memory.unlock_rings();
    const auto& packets = d_block.d_tags.packets();
    if (packets && packets->frames_missing() && d_problem.empty()) {
        d_block.d_logger->warn("the stream ended {} frames before its last packet did",
                               packets->frames_missing());
    }
}

void batch_worker::find_edges()
{
    const auto& own = d_block;
    d_memory.begin(own.d_inputs.size(), own.d_outputs.size(), d_connected);
    d_publishes_early = false;
    if (!d_on_device ||
        !prefs::singleton()->get_bool("cudaphy", "stay_on_device", true)) {
        return;
    }
    const auto shares = [](const block* from, const block* to) {
        return stays_on_device(dynamic_cast<const device_block*>(from),
                               dynamic_cast<const device_block*>(to));
    };
    d_memory.find_edges(own, d_port, shares, [&] {
        return queue::make(own.d_backend.where, own.d_backend.device);
    });
    d_publishes_early = own.d_kinds.size() == 1 && d_memory.all_outputs_stay();
    for (size_t p = 0; p < own.d_inputs.size(); ++p) {
        const auto from = d_port.block_before(p);
        const auto before = std::dynamic_pointer_cast<batch_block>(from);
        if (shares(from.get(), &own)) {
            own.d_logger->info("input {} from {} {} on the GPU",
                               p,
                               from->alias(),
                               d_memory.edge_in(p) ? "stays" : "finds no room to stay");
        } else if (before && before->has_own_memory() &&
                   before->d_backend.device != own.d_backend.device) {
            own.d_logger->info("input {} comes from {} on another GPU ({}) through the "
                               "host",
                               p,
                               before->alias(),
                               before->d_backend.device);
        }
    }
}

void batch_worker::lock_rings()
{
    std::vector<const void*> statuses;
    for (const auto& each : d_slots) {
        statuses.push_back(each->statuses());
    }
    if (!d_memory.lock_rings(d_port, d_block.d_backend.device, statuses)) {
        d_block.d_logger->warn(
            "a stream buffer can't be page-locked: copies to and from the GPU go through "
            "the driver's staging memory, at about a fifth of the speed (see ulimit -l)");
    }
}

//! Says only what is fixed since the block was made and connected, because a block beside
//! it asks while both start.
bool batch_worker::can_be_served() const
{
    return d_on_device && d_block.d_kinds.size() == 1 &&
           d_block.d_options.max_latency <= 0 && !d_block.needs_own_thread();
}

//! After find_edges().
void batch_worker::find_row()
{
    std::shared_ptr<block_row> next;
    bool may_be_served = false;
    if (scheduler_port::works_across_threads()) {
        const bool serves = d_publishes_early && d_block.d_options.max_latency <= 0;
        const auto behind = std::dynamic_pointer_cast<batch_block>(
            serves ? d_port.only_reader() : nullptr);
        if (behind && behind->d_worker->can_be_served()) {
            next = { behind, &behind->d_worker->d_row };
        }
        const auto before =
            std::dynamic_pointer_cast<batch_block>(d_port.block_before(0));
        may_be_served = can_be_served() && before && before->d_options.max_latency <= 0 &&
                        scheduler_port(*before).only_reader().get() == &d_block;
    }
    d_row.begin(std::move(next), may_be_served);
}

void batch_worker::forecast(gr_vector_int& required)
{
    auto held = d_row.lock();
    wait_before_work(held);
    if (is_stuck()) {
        std::fill(required.begin(), required.end(), 0); // to end in general_work
        return;
    }
    // At a packet's head one item is enough to read its length, and a wrong one is found
    // even if too little follows. What is under way is not consumed yet, so that a call
    // that collects it needs nothing more.
    const auto& packets = d_block.d_tags.packets();
    const bool sleeps = d_row.sleeps();
    const bool first_item = packets && (packets->at_head() || packets->refused_items());
    const bool announced = !has_batches() && is_announced();
    for (size_t p = 0; p < required.size(); ++p) {
        if (sleeps) {
            required[p] = d_port.most_available(p);
        } else if (has_batches()) {
            required[p] = static_cast<int>(d_ledger.in_under_way(p));
        } else if (announced || d_row.is_next_busy()) {
            required[p] = 0;
        } else if (first_item) {
            required[p] = p == 0 ? 1 : 0;
        } else {
            required[p] = kind_of_next().in[p];
        }
    }
}

int batch_worker::work(const gr_vector_int& ninput_items,
                       const gr_vector_const_void_star& in,
                       const gr_vector_void_star& out)
{
    auto held = d_row.lock();
    d_port.call_begins();
    if (d_device_is_lost) {
        return block::WORK_DONE;
    }
    try {
        if (!d_row.may_be_served()) {
            return work_locked(held, ninput_items, { in, out, d_ledger.done() });
        }
        if (d_row.sleeps()) { // the ring is full
            std::this_thread::yield();
            return 0;
        }
        const auto now = d_port.now(); // a thread before may have been at work meanwhile
        return work_locked(held, now.items, { now.in, now.out, d_ledger.done() });
    } catch (const std::exception& problem) {
        // Thrown on, it would end this block's thread and leave the others waiting.
        fail(problem);
        return block::WORK_DONE;
    }
}

int batch_worker::work_locked(lock_type& held,
                              const gr_vector_int& ninput_items,
                              const rings& at)
{
    if (d_problem.empty() && holds_back(frames_waiting(ninput_items))) {
        return 0;
    }
    const bool published = submit_waiting(ninput_items, at);
    if (!published) {
        d_row.work_for_next();
    } else if (!d_row.serves_next()) {
        // At once: the blocks behind learn of the items only when this call returns.
        return block::WORK_CALLED_PRODUCE;
    }
    if (d_row.is_busy()) {
        return wait_and_collect(held, ninput_items, at);
    }
    if (!d_problem.empty()) {
        return block::WORK_DONE;
    }
    if (d_pacer.is_short_of_room()) {
        d_pacer.pause(frames_waiting(ninput_items));
    } else {
        wait_for_announced();
    }
    return 0;
}

//! Waits for a batch, here or before the next call, so that no call is without progress
//! while there is work. What else is done by then goes out with it.
int batch_worker::wait_and_collect(lock_type& held,
                                   const gr_vector_int& ninput_items,
                                   const rings& at)
{
    bool done = d_row.is_one_done(false);
    if (!done && d_port.has_room_for_a_call()) {
        d_pacer.pause(frames_waiting(ninput_items));
        return 0;
    }
    do {
        if (!done && !wait_for_one(held)) {
            return 0; // there is something to submit first
        }
        done = false;
        if (d_row.may_be_served()) {
            const auto now = d_port.now();
            collect_done({ now.in, now.out, d_ledger.done() });
        } else {
            collect_done(at);
        }
    } while (d_row.work_for_next() && !d_port.has_room_for_a_call());
    return block::WORK_CALLED_PRODUCE;
}

//! For the row's thread.
int batch_worker::collect_and_submit()
{
    int waiting = 0;
    try {
        auto now = d_port.now();
        if (is_oldest_done()) {
            collect_done({ now.in, now.out, d_ledger.done() });
            now = d_port.now();
        }
        if (!submit_waiting(now.items, { now.in, now.out, d_ledger.done() })) {
            d_row.work_for_next();
        }
        waiting = frames_waiting(d_port.now().items);
    } catch (const std::exception& problem) {
        fail(problem);
    }
    return waiting;
}

void batch_worker::fail(const std::exception& problem)
{
    end_flowgraph(dynamic_cast<const std::bad_alloc*>(&problem)
                      ? d_block.memory_problem(kind_of_next().max_batch)
                      : problem.what());
}

void batch_worker::end_flowgraph(const std::string& problem)
{
    d_problem = problem;
    d_block.d_logger->error("{}: the flowgraph ends here", d_problem);
}

bool batch_worker::is_stuck()
{
    if (d_block.d_inputs.size() < 2 || has_batches() || has_failed()) {
        return false;
    }
    const auto problem =
        d_stuck.problem(d_port, kind_of_next(), d_block.d_stuck_patience, [this] {
            return d_block.frame_sizes();
        });
    if (problem) {
        end_flowgraph(*problem);
    }
    return problem.has_value();
}

bool batch_worker::holds_back(int waiting)
{
    if (!d_pacer.may_hold_back(waiting, has_batches())) {
        return false;
    }
    const auto& kind = kind_of_next();
    const int full = std::min(kind.max_batch, d_port.most_available(0) / kind.in[0]);
    return d_pacer.holds_back(
        waiting, full, d_port.has_ended(0), std::chrono::steady_clock::now());
}

//! Waits outside of general_work. While a block is in there, GNU Radio has the one before
//! wait for it after each call that put nothing out (buffer::on_lock). That block would
//! then collect and submit nothing, not here either if it serves this block.
void batch_worker::wait_before_work(lock_type& held)
{
    // GNU Radio has forgotten by now what has come since the last call.
    const auto wait = d_pacer.next_wait(
        d_row.is_busy(),
        has_failed(),
        [this] { return frames_waiting(d_port.now().items); },
        [this] { return frames_that_fit(); });
    switch (wait.what) {
    case batch_pacer::awaited::nothing:
        break;
    case batch_pacer::awaited::room: {
        held.unlock();
        const bool has_come = d_port.wait_for_space(d_block.d_room_patience);
        held.lock();
        d_pacer.waited_for_room(has_come);
        break;
    }
    case batch_pacer::awaited::input:
        held.unlock();
        d_port.wait_for_input(wait.end);
        held.lock();
        break;
    case batch_pacer::awaited::batch:
        try {
            wait_for_one(held);
        } catch (const std::exception& problem) {
            fail(problem);
            d_device_is_lost = true;
        }
        break;
    }
}

//! Waits until a batch is done, here or behind: true. Or until something has come that
//! may be submitted before: false. A thread before may work here meanwhile.
bool batch_worker::wait_for_one(lock_type& held)
{
    using std::chrono::steady_clock;
    const auto begin = steady_clock::now();
    while (d_row.is_busy()) {
        const auto looked = steady_clock::now();
        const auto nap = batch_pacer::nap(looked - begin);
        const bool takes_long = nap.count() > 0;
        if (d_row.is_one_done(takes_long)) {
            return true;
        }
        const bool may_submit = !d_free.empty() && d_problem.empty() &&
                                (!d_row.is_next_busy() || d_port.has_room_for_a_call());
        const bool wants_room = d_pacer.is_short_of_room();
        held.unlock();
        const bool has_news = d_port.has_news(may_submit, may_submit && wants_room, nap);
        held.lock();
        if (has_news) {
            return false;
        }
        // Others take GNU Radio's mutex to notify, and sleep if they find it taken: so it
        // is left alone for a while.
        while (!takes_long && !d_row.is_one_done(false) &&
               steady_clock::now() - looked < batch_pacer::spin) {
            held.unlock();
            std::this_thread::yield();
            held.lock();
        }
    }
    return true;
}

bool batch_worker::is_oldest_done() const
{
    if (d_in_flight.empty()) {
        return false;
    }
    const auto* slot = d_in_flight.front().slot;
    return !slot || d_block.is_done(*slot->used, *slot->end);
}

bool batch_worker::is_batch_done(bool takes_long)
{
    if (is_oldest_done()) {
        return true;
    }
    if (takes_long && has_batches()) {
        d_in_flight.front().slot->used->idle();
    }
    return false;
}

//! Whether the block before is about to put items out that are not there yet.
bool batch_worker::is_announced()
{
    const auto* edge = d_memory.edge_in(0);
    return edge && d_pacer.awaits(edge->announced(), d_port.items_come(0));
}

//! Awaits announced items for a while, without sleeping. The blocks behind are told
//! first.
void batch_worker::wait_for_announced()
{
    if (!is_announced()) {
        return;
    }
    announce();
    const auto end = std::chrono::steady_clock::now() + batch_pacer::announced_patience;
    while (is_announced()) {
        if (std::chrono::steady_clock::now() > end) {
            d_pacer.give_up(d_memory.edge_in(0)->announced());
            may_sleep();
        }
        std::this_thread::yield();
    }
}

//! From here on this thread may sleep until items come.
void batch_worker::may_sleep()
{
    if (auto* edge = d_memory.edge_in(0)) {
        edge->reader_sleeps();
    }
}

//! Wakes the readers on the device, whose threads wake up while this one submits.
void batch_worker::announce()
{
    bool wake = false;
    for (size_t p = 0; d_publishes_early && !d_row.serves_next() && p < d_connected;
         ++p) {
        wake = d_memory.edge_out(p)->announce(d_port.items_written(p)) || wake;
    }
    if (wake) {
        d_port.wake_readers();
    }
}

} // namespace gr::cudaphy
