/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/stream_memory.h"
#include <algorithm>

namespace gr::cudaphy {

void stream_memory::begin(size_t inputs, size_t outputs, size_t connected)
{
    d_connected = connected;
    d_edges_in.assign(inputs, nullptr);
    d_edges_out.assign(outputs, nullptr);
    d_host_reads.assign(connected, true);
    d_host_reads.resize(outputs, false);
    d_all_stay = d_reaches_rings = false;
}

void stream_memory::find_edges(const block& own,
                               const scheduler_port& port,
                               const shares_memory& shares,
                               const queue_maker& make_queue)
{
    for (size_t p = 0; p < d_edges_in.size(); ++p) {
        if (shares(port.block_before(p).get(), &own)) {
            d_edges_in[p] = device_edge::along(port.input_ring(p), make_queue);
        }
    }
    d_all_stay = true;
    for (size_t p = 0; p < d_connected; ++p) {
        const auto readers = port.readers_of(p);
        bool host = readers.empty(), device = false;
        for (const auto& reader : readers) {
            (shares(&own, reader.get()) ? device : host) = true;
        }
        if (device) {
            d_edges_out[p] = device_edge::along(port.output_ring(p), make_queue);
        }
        if (d_edges_out[p]) {
            d_edges_out[p]->begin();
        }
        d_host_reads[p] = host || !d_edges_out[p];
        d_all_stay = d_all_stay && !d_host_reads[p];
    }
}

bool stream_memory::lock_rings(const scheduler_port& port,
                               int device,
                               const std::vector<const void*>& statuses)
{
    bool all_locked = true;
    const auto lock = [&](const gr::buffer_sptr& ring) {
        // Both halves of a double-mapped ring in one range: if they are locked apart,
        // copies across the wrap bring garbage.
        const auto memory = scheduler_port::memory_of(ring);
        auto locked = lock_pages(memory.base, memory.bytes);
        all_locked = all_locked && locked;
        d_locks.push_back(std::move(locked));
    };
    for (size_t p = 0; p < d_edges_in.size(); ++p) {
        if (!d_edges_in[p]) {
            lock(port.input_ring(p));
        }
    }
    for (size_t p = 0; p < d_host_reads.size(); ++p) {
        if (d_host_reads[p]) {
            lock(port.output_ring(p));
        }
    }
    const auto is_reached = [&](const void* memory) {
        return is_reached_by_gpu(memory, device);
    };
    d_reaches_rings =
        all_locked && !statuses.empty() &&
        std::all_of(d_locks.begin(),
                    d_locks.end(),
                    [&](const auto& one) { return is_reached(one.get()); }) &&
        std::all_of(statuses.begin(), statuses.end(), is_reached);
    return all_locked;
}

std::optional<size_t>
stream_memory::most_host_bytes(const batch_load& batch,
                               const std::vector<batch_port>& inputs,
                               const std::vector<batch_port>& outputs) const
{
    size_t most = 0;
    for (size_t p = 0; p < inputs.size(); ++p) {
        if (!d_edges_in[p]) {
            most = std::max(most, batch.in[p] * inputs[p].item_bytes);
        }
    }
    for (size_t p = 0; p < outputs.size(); ++p) {
        if (d_edges_out[p] && d_host_reads[p]) {
            return {};
        }
        if (d_host_reads[p]) {
            most = std::max(most, batch.out[p] * outputs[p].item_bytes);
        }
    }
    return most;
}

} // namespace gr::cudaphy
