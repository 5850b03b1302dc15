/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the tests of batch_block share: copies for jobs that compute nothing, and a queue
// to watch.

#include "kernels/common/testing.h"
#include "runtime/scheduler_port.h"
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <gnuradio/cudaphy/kernels/queue.h>
#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gr::cudaphy::testing {

//! Copies rows of `width` bytes between arrays with different row pitches, on whichever
//! memory the queue has.
inline void copy_rows(queue& q,
                      void* to,
                      size_t to_pitch,
                      const void* from,
                      size_t from_pitch,
                      size_t width,
                      size_t rows)
{
#ifdef CUDAPHY_HAVE_CUDA
    if (q.where() == backend::cuda) {
        cudaMemcpy2DAsync(to,
                          to_pitch,
                          from,
                          from_pitch,
                          width,
                          rows,
                          cudaMemcpyDeviceToDevice,
                          static_cast<cudaStream_t>(q.native()));
        return;
    }
#endif
    (void)q;
    for (size_t r = 0; r < rows; ++r) {
        std::copy_n(static_cast<const char*>(from) + r * from_pitch,
                    width,
                    static_cast<char*>(to) + r * to_pitch);
    }
}

inline void copy_ints(queue& q, void* to, const void* from, size_t items)
{
#ifdef CUDAPHY_HAVE_CUDA
    if (q.where() == backend::cuda) {
        cudaMemcpyAsync(to,
                        from,
                        items * sizeof(int),
                        cudaMemcpyDeviceToDevice,
                        static_cast<cudaStream_t>(q.native()));
        return;
    }
#endif
    (void)q;
    std::copy_n(static_cast<const int*>(from), items, static_cast<int*>(to));
}

//! Enables a test of a row of blocks that share a thread. Without GNU Radio's inner parts
//! each block's own thread works, and the test is skipped.
inline boost::test_tools::assertion_result
if_threads_are_shared(boost::unit_test::test_unit_id)
{
    boost::test_tools::assertion_result shared(scheduler_port::works_across_threads());
    shared.message() << "built with ENABLE_SCHEDULER_INTERNALS=OFF: no thread is shared";
    return shared;
}

//! Does what a queue of the tested backend does; a test overrides what it watches.
class forwarding_queue : public queue
{
public:
    backend where() const override { return d_real->where(); }
    int device() const override { return d_real->device(); }
    void* native() const override { return d_real->native(); }
    void* allocate(size_t bytes) override { return d_real->allocate(bytes); }
    void release(void* memory) override { d_real->release(memory); }
    void copy_in(void* to, const void* from, size_t bytes) override
    {
        d_real->copy_in(to, from, bytes);
    }
    void copy_out(void* to, const void* from, size_t bytes) override
    {
        d_real->copy_out(to, from, bytes);
    }
    void synchronize() override { d_real->synchronize(); }
    bool idle() override { return d_real->idle(); }

private:
    const std::unique_ptr<queue> d_real = queue::make(tested_backend());
};

} // namespace gr::cudaphy::testing
