/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory_pools.h"
#include "spare_kernels.h"
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <map>
#include <mutex>
#include <new>
#include <unistd.h>

namespace gr::cudaphy::bindings {
namespace {

//! Blocks of memory of one kind that wait for their next use.
class memory_pool : public std::enable_shared_from_this<memory_pool>
{
public:
    using release = void (*)(void*);

    //! \param most_held  bytes in use and waiting
    memory_pool(size_t most_held, size_t most_waiting, release how)
        : d_most(most_held), d_most_waiting(most_waiting), d_release(how)
    {
    }

    //! \param make  returns new memory, or null. Null if there is no room for it.
    template <typename Make>
    std::shared_ptr<void> take(size_t bytes, const Make& make)
    {
        const size_t size = rounded(bytes);
        void* memory = reused(size);
        if (!memory) {
            if (!reserve(size)) {
                return nullptr;
            }
            memory = make(size);
            if (!memory) {
                drop_spare();
                memory = make(size);
            }
            if (!memory) {
                const std::lock_guard<std::mutex> lock(d_mutex);
                d_held -= size;
                return nullptr;
            }
        }
        return { memory, [pool = shared_from_this(), size](void* used) {
                    pool->give_back(used, size);
                } };
    }

    void drop_spare()
    {
        std::multimap<size_t, void*> old;
        {
            const std::lock_guard<std::mutex> lock(d_mutex);
            old.swap(d_spare);
            for (const auto& [size, memory] : old) {
                d_held -= size;
            }
            d_waiting = 0;
        }
        for (const auto& [size, memory] : old) {
            d_release(memory);
        }
    }
    //! From now on memory is released and not kept: the driver is about to go.
    void close()
    {
        drop_spare();
        d_closed = true;
    }

private:
    //! An eighth of a power of 2, so that calls of nearly the same size share memory.
    static size_t rounded(size_t bytes)
    {
        size_t step = 4096;
        while (step * 16 < bytes) {
            step *= 2;
        }
        return (bytes + step - 1) / step * step;
    }
    void* reused(size_t size)
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        const auto found = d_spare.find(size);
        if (found == d_spare.end()) {
            return nullptr;
        }
        void* const memory = found->second;
        d_spare.erase(found);
        d_waiting -= size;
        return memory;
    }
    bool reserve(size_t size)
    {
        {
            const std::lock_guard<std::mutex> lock(d_mutex);
            if (d_held + size <= d_most) {
                d_held += size;
                return true;
            }
        }
        drop_spare();
        const std::lock_guard<std::mutex> lock(d_mutex);
        const bool fits = d_held + size <= d_most;
        d_held += fits ? size : 0;
        return fits;
    }
    void give_back(void* memory, size_t size)
    {
        {
            const std::lock_guard<std::mutex> lock(d_mutex);
            if (!d_closed && d_waiting + size <= d_most_waiting) {
                d_spare.emplace(size, memory);
                d_waiting += size;
                return;
            }
            d_held -= size;
        }
        d_release(memory);
    }

    const size_t d_most, d_most_waiting;
    const release d_release;
    std::mutex d_mutex;
    std::multimap<size_t, void*> d_spare; //!< by size
    size_t d_held = 0, d_waiting = 0;
    bool d_closed = false;
};

//! A pool that ends before the CUDA driver unloads, which is ahead of static destructors.
std::shared_ptr<memory_pool>
made(size_t most_held, size_t most_waiting, memory_pool::release how)
{
    auto pool = std::make_shared<memory_pool>(most_held, most_waiting, how);
    py::module_::import("atexit").attr("register")(
        py::cpp_function([pool] { pool->close(); }));
    return pool;
}

size_t memory_of_machine()
{
    return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGE_SIZE));
}

std::shared_ptr<memory_pool>& page_locked_pool()
{
    static auto* const pool = new std::shared_ptr<memory_pool>;
    return *pool;
}

constexpr size_t large = 1 << 20; // bytes; below, a page-locked array gains little

//! Queues of earlier calls: making a stream takes as long as a small call.
auto& queues()
{
    static auto* spare = new spare_kernels<std::pair<backend, int>, queue>(8);
    return *spare;
}

} // namespace

void make_memory_pools()
{
    // What is page-locked is lost to everybody else on the machine.
    const size_t most = memory_of_machine() / 16;
    page_locked_pool() = made(most, most / 2, &release_page_locked);
}

std::shared_ptr<void> page_locked(size_t bytes)
{
    return page_locked_pool()->take(bytes, &page_locked_memory);
}

std::shared_ptr<void> device_memory(int device, size_t bytes)
{
    struct on_device {
        std::unique_ptr<queue> owner;
        std::shared_ptr<memory_pool> pool;
    };
    static std::mutex mutex;
    static auto* const all = new std::map<int, on_device>;
    on_device* here;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        here = &(*all)[device];
        if (!here->pool) {
            here->owner = queue::attach(nullptr, device);
            constexpr size_t no_limit = SIZE_MAX / 2, gigabyte = 1 << 30;
            here->pool = made(no_limit, gigabyte, [](void* memory) {
                const int its = gpu_of_pointer(memory);
                if (its >= 0) { // else the device is lost
                    all->at(its).owner->release(memory);
                }
            });
        }
    }
    auto memory = here->pool->take(bytes, [&](size_t size) -> void* {
        try {
            return here->owner->allocate(size);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    });
    if (!memory) {
        throw std::bad_alloc();
    }
    return memory;
}

py::array host_array(const py::dtype& kind, std::vector<py::ssize_t> shape, bool of_gpu)
{
    size_t bytes = kind.itemsize();
    for (const auto each : shape) {
        bytes *= each;
    }
    auto memory = of_gpu && bytes >= large ? page_locked(bytes) : nullptr;
    if (!memory) {
        return py::array(kind, std::move(shape));
    }
    auto owner = std::make_unique<std::shared_ptr<void>>(memory);
    const py::capsule keeper(owner.get(), [](void* kept) {
        delete static_cast<std::shared_ptr<void>*>(kept);
    });
    owner.release();
    return py::array(kind, std::move(shape), memory.get(), keeper);
}

std::unique_ptr<queue> spare_queue(backend where, int device)
{
    return queues()
        .take({ where, device }, [&] { return queue::make(where, device); })
        .kernel;
}

void give_back(std::unique_ptr<queue> used)
{
    const auto where = used->where();
    const int device = used->device();
    queues().give_back({ { where, device }, std::move(used) });
}

} // namespace gr::cudaphy::bindings
