/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_kind.h"
#include "runtime/device/device_edge.h"
#include "runtime/device/page_lock.h"
#include "runtime/scheduler_port.h"

namespace gr::cudaphy {

/*!
 * \brief Where the items of each port of a block lie: in GNU Radio's ring, or in the
 * memory of the device that the blocks at both ends use.
 */
class stream_memory
{
public:
    using shares_memory = std::function<bool(const block* from, const block* to)>;
    using queue_maker = std::function<std::unique_ptr<queue>()>;

    //! All streams through the host. \param connected  how many outputs are connected
    void begin(size_t inputs, size_t outputs, size_t connected);

    //! Lets streams between blocks that share a memory stay there. Both blocks at a
    //! stream come to the same answer, since GNU Radio starts every block before the
    //! first one works.
    void find_edges(const block& own,
                    const scheduler_port& port,
                    const shares_memory& shares,
                    const queue_maker& make_queue);

    //! Page-locks the rings of streams through the host; false if one can't be.
    //! \param statuses  status words on the host, one pointer a slot
    bool lock_rings(const scheduler_port& port,
                    int device,
                    const std::vector<const void*>& statuses);
    void unlock_rings() { d_locks.clear(); }

    //! Null if the stream goes through the host.
    device_edge* edge_in(size_t input) const { return d_edges_in[input].get(); }
    device_edge* edge_out(size_t output) const { return d_edges_out[output].get(); }
    //! Whether a reader of the output reads the host's ring.
    bool host_reads(size_t output) const { return d_host_reads[output]; }
    //! Whether no connected output has a reader on the host.
    bool all_outputs_stay() const { return d_all_stay; }
    //! Whether the device reaches the rings, and the status words, at their own
    //! addresses.
    bool device_reaches_rings() const { return d_reaches_rings; }

    //! Bytes of the largest port of a batch that passes the host's rings; none if an
    //! output must be written both there and on the device.
    std::optional<size_t> most_host_bytes(const batch_load& batch,
                                          const std::vector<batch_port>& inputs,
                                          const std::vector<batch_port>& outputs) const;

private:
    std::vector<page_lock> d_locks;
    bool d_reaches_rings = false, d_all_stay = false;
    size_t d_connected = 0;
    // Kept after stop(): the block behind may not have read all.
    std::vector<std::shared_ptr<device_edge>> d_edges_in, d_edges_out;
    std::vector<bool> d_host_reads;
};

} // namespace gr::cudaphy
