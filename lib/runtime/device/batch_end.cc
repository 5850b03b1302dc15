/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/batch_end.h"
#include "runtime/device/batch_end_cuda.h"
#include "runtime/device/page_lock.h"
#include <algorithm>
#include <new>

namespace gr::cudaphy {
namespace {

unsigned read_mark(const std::shared_ptr<void>& mark)
{
    return __atomic_load_n(static_cast<const unsigned*>(mark.get()), __ATOMIC_ACQUIRE);
}

} // namespace

batch_end::batch_end(queue& owner, size_t most_words)
{
    const auto bytes = std::max<size_t>(1, most_words) * sizeof(int);
#ifdef CUDAPHY_HAVE_CUDA
    if (owner.where() == backend::cuda) {
        d_words = make_shared_memory(owner, bytes);
        d_mark = make_shared_memory(owner, sizeof(unsigned));
        *static_cast<unsigned*>(d_mark.get()) = 0;
        return;
    }
#endif
    (void)owner;
    d_words = make_locked_memory(bytes);
}

void batch_end::submit(queue& work_queue, const int* status, size_t count, bool zeros_too)
{
#ifdef CUDAPHY_HAVE_CUDA
    // A launch takes 3.5 us, a copy 1.4 us. Many words would wait too long for the copy
    // engine.
    constexpr size_t most_copied = 4096;
    if (d_mark) {
        auto* mark = static_cast<unsigned*>(d_mark.get());
        d_number = (d_number + 1) % (1u << 31);
        const bool in_place = status == words();
        if (in_place || count <= most_copied) {
            if (!in_place && count) {
                work_queue.copy_out(words(), status, count * sizeof(int));
            }
            if (submit_mark(work_queue, mark, 2 * d_number + 1)) {
                return;
            }
        }
        submit_batch_end(
            work_queue, status, words(), count, zeros_too, mark, 2 * d_number);
        return;
    }
#endif
    (void)zeros_too;
    if (status != words() && count) {
        work_queue.copy_out(words(), status, count * sizeof(int));
    }
}

bool batch_end::done() const { return !d_mark || read_mark(d_mark) / 2 == d_number; }

bool batch_end::any_words() const { return !d_mark || read_mark(d_mark) % 2; }

} // namespace gr::cudaphy
