/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/scheduler_port.h"
#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>
#include <mutex>
#include <optional>

namespace gr::cudaphy {

//! What a block does in a row, whoever's thread calls it.
class row_member
{
public:
    virtual ~row_member() = default;
    //! Collects and submits what can be; how many frames wait afterwards.
    virtual int collect_and_submit() = 0;
    //! Whether a batch is under way in this block.
    virtual bool has_batches() const = 0;
    //! Whether its oldest batch is done. Throws if the device is lost and the batch
    //! `takes_long`.
    virtual bool is_batch_done(bool takes_long) = 0;
    virtual bool has_failed() const = 0;
};

/*!
 * \brief A block's place in a row of blocks on one device, in which one thread may work
 * for all.
 *
 * While batches are small, the first block's thread submits and collects for the blocks
 * behind it, so that no other thread wakes up for a batch. After a large batch each
 * block's own thread works: waking it costs little beside the batch, and the blocks' work
 * on the host is then done side by side.
 *
 * A block's lock() is held while a thread works for it. A thread that holds it may take
 * the lock of the block behind, never that of the block before.
 */
class block_row
{
public:
    using lock_type = std::unique_lock<std::mutex>;

    block_row(row_member& own, scheduler_port& port) : d_own(own), d_port(port) {}
    lock_type lock() const { return lock_type(d_mutex); }

    //! At start(). \param next  the block that this one's thread may work for, or null
    //! \param may_be_served  this block is the `next` of another
    void begin(std::shared_ptr<block_row> next, bool may_be_served);
    //! At stop(): no thread works for this block, or by this block for the next, any
    //! more.
    void end();

    //! Decides which thread works for the next block, from this batch on.
    void choose_thread(size_t output_bytes,
                       size_t small_batch,
                       std::chrono::microseconds large_lasts);
    //! Whether this block's thread works for the next one.
    bool serves_next() const { return d_serves_next; }
    //! Works for the next block, if serves_next(). Whether anything is under way there or
    //! further behind, so that the thread must come again.
    //! \param shared  a queue on which the next block may submit its batch
    bool work_for_next(queue* shared = nullptr);

    bool may_be_served() const { return d_may_be_served; }
    //! Whether the thread of a block before is at work here now.
    bool is_in_foreign_thread() const { return d_in_foreign_thread; }
    //! The queue of the block before, which submitted there what this batch reads.
    queue* shared_queue() const { return d_shared_queue; }
    void forget_shared_queue() { d_shared_queue = nullptr; }

    //! Whether a batch is under way here, or in the blocks that this one's thread serves.
    bool is_busy() const { return d_own.has_batches() || d_next_is_busy; }
    bool is_next_busy() const { return d_next_is_busy; }
    //! Whether a batch is done, here or behind. Throws as is_batch_done().
    bool is_one_done(bool takes_long);

    //! Whether a thread before works for this block, so that its own sleeps. It must not
    //! sleep in general_work, where GNU Radio lets the neighbours' threads wait for it.
    bool sleeps() const { return d_is_served && !d_port.has_ended(0); }

private:
    bool serve(queue* shared);
    void release();

    row_member& d_own;
    scheduler_port& d_port;
    mutable std::mutex d_mutex;
    std::shared_ptr<block_row> d_next; //!< that this block's thread may work for
    bool d_serves_next = false;        //!< it does
    bool d_next_is_busy = false;       //!< something is under way there or behind
    bool d_runs = false;
    bool d_may_be_served = false;
    bool d_is_served = false; //!< a thread before comes again when there is work
    bool d_in_foreign_thread = false;
    queue* d_shared_queue = nullptr;
    std::optional<clock_moment> d_last_large; //!< batch
};

} // namespace gr::cudaphy
