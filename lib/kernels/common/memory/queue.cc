/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/memory/queue_makers.h"
#include <cstring>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <new>

namespace gr::cudaphy {
namespace {

//! Runs all work immediately on the calling thread.
class host_queue : public queue
{
public:
    explicit host_queue(backend where) : d_where(where) {}

    backend where() const override { return d_where; }
    int device() const override { return 0; }
    void* native() const override { return nullptr; }

    void* allocate(size_t bytes) override { return ::operator new(bytes, alignment); }
    void release(void* memory) override { ::operator delete(memory, alignment); }
    void copy_in(void* to, const void* from, size_t bytes) override
    {
        copy(to, from, bytes);
    }
    void copy_out(void* to, const void* from, size_t bytes) override
    {
        copy(to, from, bytes);
    }
    void synchronize() override {}
    bool idle() override { return true; }

private:
    //! `to` and `from` may be null if there are no bytes. memcpy does not allow that.
    static void copy(void* to, const void* from, size_t bytes)
    {
        if (bytes > 0) {
            std::memcpy(to, from, bytes);
        }
    }

    static constexpr std::align_val_t alignment{ 256 };
    backend d_where;
};

} // namespace

std::unique_ptr<queue> queue::make(backend where, int device)
{
    const auto host = [](backend here) -> std::unique_ptr<queue> {
        return std::make_unique<host_queue>(here);
    };
    return dispatch(
        where,
        device,
        [&] { return host(backend::reference); },
        [&] { return host(backend::cpu); },
        [](int index) { return make_cuda_queue(index); });
}

std::unique_ptr<queue> queue::attach([[maybe_unused]] void* stream, int device)
{
    const auto nowhere = []() -> std::unique_ptr<queue> { return nullptr; };
    return dispatch(backend::cuda, device, nowhere, nowhere, [&](int index) {
        return attach_cuda_queue(stream, index);
    });
}

} // namespace gr::cudaphy
