/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "copy_ahead.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/page_locked.h>

namespace gr::cudaphy::bindings {

own_queue::~own_queue()
{
    try {
        d_queue->synchronize(); // before memory that it copies returns to a pool
        give_back(std::move(d_queue));
    } catch (...) { // a lost device; the call has thrown
    }
}

copy_ahead::copy_ahead(std::vector<input> inputs, std::vector<piece> pieces, int device)
    : d_inputs(std::move(inputs)), d_pieces(std::move(pieces))
{
    size_t most_items = 0;
    for (const auto& one : d_pieces) {
        most_items = std::max(most_items, one.items);
    }
    d_slots.resize(std::min(most_slots, d_pieces.size()));
    for (const auto& one : d_inputs) {
        const bool serves = is_page_locked(one.host);
        for (auto& each : d_slots) {
            each.memory.push_back(serves ? nullptr
                                         : page_locked(most_items * one.item_bytes));
        }
    }
    for (auto& each : d_slots) {
        each.way.emplace(device);
    }
    d_thread = std::thread([this] { run(); });
}

copy_ahead::~copy_ahead()
{
    {
        const std::lock_guard<std::mutex> lock(d_guard);
        d_ends = true;
    }
    d_changed.notify_all();
    d_thread.join();
}

void copy_ahead::wait(size_t piece)
{
    std::unique_lock<std::mutex> lock(d_guard);
    d_changed.wait(lock, [&] { return d_failure || d_copied > piece; });
    if (d_failure) {
        std::rethrow_exception(d_failure);
    }
}

void copy_ahead::submitted(size_t piece)
{
    {
        const std::lock_guard<std::mutex> lock(d_guard);
        d_submitted = piece + 1;
    }
    d_changed.notify_all();
}

const char* copy_ahead::source(size_t piece, size_t input) const
{
    const auto& own = d_slots[piece % d_slots.size()].memory[input];
    const auto& all = d_inputs[input];
    return own ? static_cast<const char*>(own.get())
               : all.host + d_pieces[piece].first * all.item_bytes;
}

void copy_ahead::run()
{
    for (size_t piece = 0; piece < d_pieces.size(); ++piece) {
        {
            std::unique_lock<std::mutex> lock(d_guard);
            d_changed.wait(
                lock, [&] { return d_ends || d_submitted + d_slots.size() > piece; });
            if (d_ends) {
                return;
            }
        }
        std::exception_ptr failure;
        try {
            copy(piece);
        } catch (...) {
            failure = std::current_exception();
        }
        {
            const std::lock_guard<std::mutex> lock(d_guard);
            d_copied = piece + 1;
            d_failure = failure;
        }
        d_changed.notify_all();
        if (failure) {
            return;
        }
    }
}

void copy_ahead::copy(size_t piece)
{
    const auto& here = d_slots[piece % d_slots.size()];
    (*here.way)->synchronize(); // its memory is free
    const auto& [first, items] = d_pieces[piece];
    for (size_t i = 0; i < d_inputs.size(); ++i) {
        if (here.memory[i]) {
            const size_t an_item = d_inputs[i].item_bytes;
            copy_on_all_cores(here.memory[i].get(),
                              d_inputs[i].host + first * an_item,
                              items * an_item);
        }
    }
}

} // namespace gr::cudaphy::bindings
