/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <atomic>
#include <functional>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/runtime_types.h>
#include <mutex>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief A stream between two blocks that stays in the memory of one device.
 *
 * GNU Radio's own ring between the blocks still counts the items, carries their tags and
 * makes back pressure. The items themselves lie here, in a ring of as many items. Any
 * mixture of readers works; the ring on the host is written too if a reader needs it.
 *
 * One block writes, with one thread. Items are published (gr::block::produce) when the
 * work that writes them is submitted. A reader's queue waits for that work, its thread
 * does not. A reader consumes items only when it has read them, so that the writer
 * overwrites no unread item.
 */
class device_edge
{
public:
    //! The edge along a ring of GNU Radio's: the same one for every caller, as long as
    //! one of them keeps it. Null if the device has too little memory.
    static std::shared_ptr<device_edge>
    along(const gr::buffer_sptr& buffer,
          const std::function<std::unique_ptr<queue>()>& make_queue);

    device_edge(std::unique_ptr<queue> owner, size_t item_bytes, size_t ring_items);
    device_edge(const device_edge&) = delete;
    device_edge& operator=(const device_edge&) = delete;

    //! The writer's counts start anew, and nothing is under way.
    void begin();

    //! Where a kernel on `work_queue` finds items from `first` (since the start) on: in
    //! the ring, or, if they lie around its end, in `room`, to which they are copied.
    const void* read(queue& work_queue, uint64_t first, size_t items, void* room) const;

    //! Where a kernel on `work_queue` is to write items: in the ring, or in `room`.
    void* place(uint64_t first, size_t items, void* room) const;
    //! To be called after the kernel: copies what is in `room` to the ring, and marks the
    //! items as written.
    //! \param is_shared  the queue is that of the block before. If not, what the writer
    //! wrote on it before is done.
    //! \param marks_later  no event is recorded until a reader on another queue asks
    void written(queue& work_queue,
                 uint64_t first,
                 size_t items,
                 const void* room,
                 bool is_shared = false,
                 bool marks_later = false);

    //! The writer's queues that may still be writing some of these items: those that a
    //! reader must wait for.
    std::vector<const queue*> writing(uint64_t first, size_t items) const;

    // A reader's thread is woken early, because waking it takes longer than submitting
    // work.

    //! The reader goes to sleep because it has no items.
    void reader_sleeps() { d_reader_sleeps = true; }
    //! The writer is about to write an item `item`; whether a reader should be woken.
    bool announce(uint64_t item)
    {
        d_announced = item + 1;
        return d_reader_sleeps.exchange(false);
    }
    //! Items since the start that are written or about to be.
    uint64_t announced() const { return d_announced; }

private:
    //! The items that one of the writer's queues wrote last.
    struct mark {
        queue* work_queue;
        uint64_t first, end;
        std::shared_ptr<void> event; //!< cudaEvent_t after it, on the host null
        bool is_set;
        bool overlaps(uint64_t from, size_t items) const
        {
            return first < from + items && from < end;
        }
    };

    bool in_one_piece(uint64_t first, size_t items) const;
    template <typename Copy>
    void in_pieces(uint64_t first, size_t items, const Copy& copy) const;

    const std::unique_ptr<queue> d_owner;
    const size_t d_item_bytes, d_ring_items;
    array<char> d_ring;
    mutable std::mutex d_mutex;
    mutable std::vector<mark> d_marks; //!< one a queue of the writer's
    std::atomic<bool> d_reader_sleeps{ true };
    std::atomic<uint64_t> d_announced{ 0 };
};

} // namespace gr::cudaphy
