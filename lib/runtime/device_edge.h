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
 * GNU Radio's own ring between them goes on to count the items, to carry their tags and
 * to make back pressure, but the items themselves lie here, in a ring of as many items.
 * So nothing of GNU Radio's is replaced: any mixture of readers works, and a ring of the
 * host is written besides only where a reader needs it.
 *
 * One block writes, with one thread; items are published (gr::block::produce) once what
 * writes them is submitted, and a reader's queue waits for it, not its thread. A reader
 * consumes items only when it has read them, so that the writer overwrites nothing.
 */
class device_edge
{
public:
    //! The edge along a buffer of GNU Radio's: the same one for all who ask while one of
    //! them keeps it. Null where the device's memory doesn't suffice.
    static std::shared_ptr<device_edge>
    along(const gr::buffer_sptr& buffer,
          const std::function<std::unique_ptr<queue>()>& make_queue);

    device_edge(std::unique_ptr<queue> owner, size_t item_bytes, size_t ring_items);
    device_edge(const device_edge&) = delete;
    device_edge& operator=(const device_edge&) = delete;

    //! The writer's counts start anew, and nothing is under way.
    void begin();

    //! Where a kernel on `line` finds items from `first` (since the start) on: in the
    //! ring, or where they lie around its end in `room`, to which they are copied.
    const void* read(queue& line, uint64_t first, size_t items, void* room) const;

    //! Where a kernel on `line` is to write items: in the ring, or in `room`.
    void* place(uint64_t first, size_t items, void* room) const;
    //! After the kernel: what is in `room` is copied to the ring, and readers' queues
    //! will find it. What the writer wrote on `line` before is done, unless it `is_lent`
    //! by the block before. Where readers mostly use the same queue, `marks_later` spares
    //! it the mark until another one asks.
    void written(queue& line,
                 uint64_t first,
                 size_t items,
                 const void* room,
                 bool is_lent = false,
                 bool marks_later = false);

    //! The writer's queues that may still be writing some of these items: those that a
    //! reader must wait for.
    std::vector<const queue*> writing(uint64_t first, size_t items) const;

    // So that a reader's thread is awake when items come: it takes longer to wake it than
    // to submit work.

    //! The reader goes to sleep for want of items.
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
    //! What a queue of the writer's wrote last.
    struct mark {
        queue* line;
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
