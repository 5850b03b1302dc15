/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/device_output.h"
#include <gnuradio/prefs.h>

namespace gr::cudaphy {

device_output::device_output(const device_block::place& on,
                             size_t item_bytes,
                             size_t most_items)
    : d_on(on), d_item_bytes(item_bytes), d_most_items(most_items),
      d_queue(queue::make(on.where, on.device)), d_room(*d_queue, item_bytes * most_items)
{
}

void device_output::begin(const gr::block& own, const scheduler_port& port)
{
    d_memory.begin(0, 1, 1);
    if (prefs::singleton()->get_bool("cudaphy", "stay_on_device", true)) {
        const auto shares = [](const block* from, const block* to) {
            return stays_on_device(dynamic_cast<const device_block*>(from),
                                   dynamic_cast<const device_block*>(to));
        };
        d_memory.find_edges(
            own, port, shares, [this] { return queue::make(d_on.where, d_on.device); });
    }
    d_memory.lock_rings(port, d_on.device, {});
}

void device_output::end()
{
    d_queue->synchronize();
    d_memory.unlock_rings();
}

void device_output::write(uint64_t first,
                          size_t items,
                          void* ring,
                          const std::function<void(void* to, queue& work_queue)>& submit)
{
    auto* const edge = d_memory.edge_out(0);
    void* const to = edge ? edge->place(first, items, d_room.data())
                          : static_cast<void*>(d_room.data());
    submit(to, *d_queue);
    if (edge) {
        edge->written(*d_queue, first, items, d_room.data());
    }
    if (d_memory.host_reads(0)) {
        d_queue->copy_out(ring, to, items * d_item_bytes);
        d_queue->synchronize();
    }
}

} // namespace gr::cudaphy
