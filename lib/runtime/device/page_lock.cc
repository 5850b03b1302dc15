/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/page_lock.h"
#include <map>
#include <mutex>
#include <new>
#include <utility>
#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gr::cudaphy {
namespace {

std::shared_ptr<void> ordinary_memory(size_t bytes)
{
    return { ::operator new(bytes), [](void* memory) { ::operator delete(memory); } };
}

} // namespace

#ifdef CUDAPHY_HAVE_CUDA

page_lock lock_pages(const void* base, size_t bytes)
{
    static std::mutex mutex;
    static std::map<std::pair<const void*, size_t>, std::weak_ptr<void>> locked;
    std::lock_guard<std::mutex> guard(mutex);
    const auto range = std::make_pair(base, bytes);
    if (auto shared = locked[range].lock()) {
        return shared;
    }
    auto* memory = const_cast<void*>(base);
    // Portable: the neighbour that shares the ring may work on another GPU.
    if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) != cudaSuccess) {
        cudaGetLastError();
        locked.erase(range);
        return nullptr;
    }
    page_lock made(memory, [range](void* registered) {
        std::lock_guard<std::mutex> guard(mutex);
        cudaHostUnregister(registered);
        cudaGetLastError();
        // Another block may have asked for the range since the last release. It found
        // the old registration expired, and its own attempt refused. So only an expired
        // entry is erased.
        const auto entry = locked.find(range);
        if (entry != locked.end() && entry->second.expired()) {
            locked.erase(entry);
        }
    });
    locked[range] = made;
    return made;
}

bool is_reached_by_gpu(const void* memory, int device)
{
    cudaPointerAttributes found{};
    int same_addresses = 0;
    const bool known =
        cudaPointerGetAttributes(&found, memory) == cudaSuccess &&
        cudaDeviceGetAttribute(&same_addresses,
                               cudaDevAttrCanUseHostPointerForRegisteredMem,
                               device) == cudaSuccess;
    cudaGetLastError();
    return known && same_addresses && found.type == cudaMemoryTypeHost;
}

std::shared_ptr<void> make_locked_memory(size_t bytes)
{
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
        cudaGetLastError();
        return ordinary_memory(bytes);
    }
    return { memory, [](void* allocated) {
                cudaFreeHost(allocated);
                cudaGetLastError();
            } };
}

#else

page_lock lock_pages(const void*, size_t) { return nullptr; }
bool is_reached_by_gpu(const void*, int) { return false; }
std::shared_ptr<void> make_locked_memory(size_t bytes) { return ordinary_memory(bytes); }

#endif

} // namespace gr::cudaphy
