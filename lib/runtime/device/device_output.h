/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/device/device_block.h"
#include "runtime/scheduler_port.h"
#include "runtime/stream/stream_memory.h"
#include <functional>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

/*!
 * \brief Output 0 of a block that is no batch_block, and whose items are made on a GPU:
 * they stay there for readers on that GPU, and go to GNU Radio's ring for others.
 *
 * Items that stay are published as soon as the work that makes them is submitted. For
 * readers on the host, write() waits until they are there.
 */
class device_output
{
public:
    //! \param most_items  that are written at once
    //! \throws backend_unavailable, cuda_error, std::bad_alloc
    device_output(const device_block::place& on, size_t item_bytes, size_t most_items);

    //! At the block's start(): finds out who reads.
    void begin(const gr::block& own, const scheduler_port& port);
    //! At the block's stop().
    void end();

    //! Whether a reader is on the GPU.
    bool stays() const { return d_memory.edge_out(0); }
    size_t most_items() const { return d_most_items; }

    //! \param first   item of the output
    //! \param ring    where it stands in GNU Radio's ring
    //! \param submit  submits the work that writes the items to this memory
    void write(uint64_t first,
               size_t items,
               void* ring,
               const std::function<void(void* to, queue& work_queue)>& submit);

private:
    const device_block::place d_on;
    const size_t d_item_bytes, d_most_items;
    const std::unique_ptr<queue> d_queue;
    const array<char> d_room; //!< of items that lie around the end of the edge's ring
    stream_memory d_memory;
};

} // namespace gr::cudaphy
