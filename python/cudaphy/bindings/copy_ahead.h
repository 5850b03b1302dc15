/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "memory_pools.h"
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gr::cudaphy::bindings {

//! A queue of its own, which returns to the others if all went well.
class own_queue
{
public:
    explicit own_queue(int device) : d_queue(spare_queue(backend::cuda, device)) {}
    ~own_queue();
    own_queue(const own_queue&) = delete;
    own_queue& operator=(const own_queue&) = delete;
    queue& operator*() const { return *d_queue; }
    queue* operator->() const { return d_queue.get(); }

private:
    std::unique_ptr<queue> d_queue;
};

/*!
 * \brief Copies pieces of arrays into page-locked memory, some pieces ahead of its owner.
 *
 * A thread of its own copies, on all cores, so that the owner submits a piece to the GPU
 * while the next is copied. For each piece the owner calls wait(), source(), way() and
 * submitted(), in the order of the pieces.
 */
class copy_ahead
{
public:
    struct piece {
        size_t first, items;
    };
    struct input {
        const char* host;
        size_t item_bytes;
    };

    copy_ahead(std::vector<input> inputs, std::vector<piece> pieces, int device);
    //! Waits for what is being copied, and for the queues.
    ~copy_ahead();
    copy_ahead(const copy_ahead&) = delete;
    copy_ahead& operator=(const copy_ahead&) = delete;

    //! Until a piece is copied. \throws what went wrong meanwhile
    void wait(size_t piece);
    //! Where the GPU reads an input's items of a piece.
    const char* source(size_t piece, size_t input) const;
    //! The queue that copies a piece to the GPU. Its memory is used again when all that
    //! was submitted to it is done.
    queue& way(size_t piece) const { return **d_slots[piece % d_slots.size()].way; }
    void submitted(size_t piece);

private:
    static constexpr size_t most_slots = 5;
    struct slot {
        std::vector<std::shared_ptr<void>> memory; //!< null where the input serves
        std::optional<own_queue> way; //!< declared last: finishes before memory returns
    };

    void run();
    void copy(size_t piece);

    const std::vector<input> d_inputs;
    const std::vector<piece> d_pieces;
    std::deque<slot> d_slots;
    std::mutex d_guard;
    std::condition_variable d_changed;
    size_t d_copied = 0, d_submitted = 0; // pieces
    bool d_ends = false;
    std::exception_ptr d_failure;
    std::thread d_thread;
};

} // namespace gr::cudaphy::bindings
