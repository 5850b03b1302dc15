/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/device_edge.h"
#include "runtime/scheduler_port.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#ifdef CUDAPHY_HAVE_CUDA
#include "kernels/common/cuda_check.cuh"
#endif

namespace gr::cudaphy {
namespace {

// On the host a queue's work is done when its call returns: there is nothing to wait for.

#ifdef CUDAPHY_HAVE_CUDA

std::shared_ptr<void> make_event(const queue& work_queue)
{
    if (work_queue.where() != backend::cuda) {
        return nullptr;
    }
    cuda_device_scope scope(work_queue.device());
    cudaEvent_t made = nullptr;
    cuda_check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming),
               "cudaEventCreate");
    return { made, [](void* event) {
                cudaEventDestroy(static_cast<cudaEvent_t>(event));
                cudaGetLastError();
            } };
}

void wait_for(void* event, queue& work_queue)
{
    if (event) {
        cuda_device_scope scope(work_queue.device());
        cuda_check(cudaStreamWaitEvent(
                       stream_of(work_queue), static_cast<cudaEvent_t>(event), 0),
                   "a stream's wait for the block before");
    }
}

void set(void* event, queue& work_queue)
{
    if (event) {
        cuda_device_scope scope(work_queue.device());
        cuda_check(
            cudaEventRecord(static_cast<cudaEvent_t>(event), stream_of(work_queue)),
            "a stream's mark for the block after");
    }
}

void copy_there(queue& work_queue, void* to, const void* from, size_t bytes)
{
    if (work_queue.where() != backend::cuda) {
        std::memcpy(to, from, bytes);
        return;
    }
    cuda_device_scope scope(work_queue.device());
    cuda_check(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(work_queue)),
        "a copy on the device");
}

#else

std::shared_ptr<void> make_event(const queue&) { return nullptr; }
void wait_for(void*, queue&) {}
void set(void*, queue&) {}
void copy_there(queue&, void* to, const void* from, size_t bytes)
{
    std::memcpy(to, from, bytes);
}

#endif

} // namespace

std::shared_ptr<device_edge>
device_edge::along(const gr::buffer_sptr& buffer,
                   const std::function<std::unique_ptr<queue>()>& make_queue)
{
    // By address, as long as that buffer lives: a later buffer may get the same address.
    struct entry {
        std::weak_ptr<gr::buffer> buffer;
        std::weak_ptr<device_edge> edge;
        bool refused = false;
    };
    static std::mutex mutex;
    static std::map<const gr::buffer*, entry> entries;
    std::lock_guard<std::mutex> guard(mutex);
    for (auto it = entries.begin(); it != entries.end();) {
        it = it->second.buffer.expired() ? entries.erase(it) : std::next(it);
    }
    auto& known = entries[buffer.get()];
    if (auto edge = known.edge.lock()) {
        return edge;
    }
    known.buffer = buffer;
    // Every caller must get the same answer: an edge that did not fit is not tried again.
    if (known.refused) {
        return nullptr;
    }
    try {
        const auto memory = scheduler_port::memory_of(buffer);
        auto made =
            std::make_shared<device_edge>(make_queue(), memory.item_bytes, memory.items);
        known.edge = made;
        return made;
    } catch (const std::bad_alloc&) {
        known.refused = true;
        return nullptr;
    }
}

device_edge::device_edge(std::unique_ptr<queue> owner,
                         size_t item_bytes,
                         size_t ring_items)
    : d_owner(std::move(owner)), d_item_bytes(item_bytes), d_ring_items(ring_items),
      d_ring(*d_owner, item_bytes * ring_items)
{
}

void device_edge::begin()
{
    std::lock_guard<std::mutex> guard(d_mutex);
    d_marks.clear();
    d_announced = 0;
    d_reader_sleeps = true;
}

//! Kernels' widest loads need the alignment that allocate() gives.
bool device_edge::in_one_piece(uint64_t first, size_t items) const
{
    constexpr size_t alignment = 16;
    const size_t begin = first % d_ring_items;
    return begin + items <= d_ring_items && begin * d_item_bytes % alignment == 0;
}

template <typename Copy>
void device_edge::in_pieces(uint64_t first, size_t items, const Copy& copy) const
{
    const size_t begin = first % d_ring_items;
    const size_t before_end = std::min(items, d_ring_items - begin);
    copy(d_ring.data() + begin * d_item_bytes, 0, before_end * d_item_bytes);
    if (items > before_end) {
        copy(d_ring.data(),
             before_end * d_item_bytes,
             (items - before_end) * d_item_bytes);
    }
}

const void*
device_edge::read(queue& work_queue, uint64_t first, size_t items, void* room) const
{
    {
        // The lock keeps each mark at its batch.
        std::lock_guard<std::mutex> guard(d_mutex);
        for (auto& mark : d_marks) {
            if (mark.work_queue == &work_queue || !mark.overlaps(first, items)) {
                continue;
            }
            if (!mark.is_set) {
                set(mark.event.get(), *mark.work_queue);
                mark.is_set = true;
            }
            wait_for(mark.event.get(), work_queue);
        }
    }
    if (in_one_piece(first, items)) {
        return d_ring.data() + first % d_ring_items * d_item_bytes;
    }
    in_pieces(first, items, [&](const char* ring, size_t at, size_t bytes) {
        copy_there(work_queue, static_cast<char*>(room) + at, ring, bytes);
    });
    return room;
}

void* device_edge::place(uint64_t first, size_t items, void* room) const
{
    return in_one_piece(first, items)
               ? d_ring.data() + first % d_ring_items * d_item_bytes
               : room;
}

void device_edge::written(queue& work_queue,
                          uint64_t first,
                          size_t items,
                          const void* room,
                          bool is_shared,
                          bool marks_later)
{
    if (!in_one_piece(first, items)) {
        in_pieces(first, items, [&](char* ring, size_t at, size_t bytes) {
            copy_there(work_queue, ring, static_cast<const char*>(room) + at, bytes);
        });
    }
    std::lock_guard<std::mutex> guard(d_mutex);
    auto own_mark = std::find_if(d_marks.begin(), d_marks.end(), [&](const mark& one) {
        return one.work_queue == &work_queue;
    });
    if (own_mark == d_marks.end()) {
        own_mark = d_marks.insert(
            own_mark, { &work_queue, first, 0, make_event(work_queue), true });
    }
    if (!marks_later) {
        set(own_mark->event.get(), work_queue);
    }
    own_mark->is_set = !marks_later;
    own_mark->first = is_shared ? std::min(own_mark->first, first) : first;
    own_mark->end = first + items;
}

std::vector<const queue*> device_edge::writing(uint64_t first, size_t items) const
{
    std::lock_guard<std::mutex> guard(d_mutex);
    std::vector<const queue*> found;
    for (const auto& mark : d_marks) {
        if (mark.overlaps(first, items)) {
            found.push_back(mark.work_queue);
        }
    }
    return found;
}

} // namespace gr::cudaphy
