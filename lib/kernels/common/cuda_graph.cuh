/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Work of several launches that is submitted again and again: it is recorded once
 * as a CUDA graph, and then launched as one.
 *
 * Calls of equal keys must submit the same work on the same memory. The first call of a
 * key submits its work as it is, so that what is done only once (code that is loaded to
 * the device) is done; the second records and launches it; from the third on it is
 * launched. The latest `most` keys are kept.
 *
 * Work is submitted as it is, always, where the stream can't record (the default stream,
 * a stream that its owner is recording), and once a recording has failed. Used by one
 * thread at a time; dies with its device current.
 */
class recorded_work
{
public:
    recorded_work() = default;
    ~recorded_work();
    recorded_work(const recorded_work&) = delete;
    recorded_work& operator=(const recorded_work&) = delete;

    //! With the queue's device current. \throws what `work` throws; cuda_error
    void submit(const std::vector<uint64_t>& key,
                queue& queue,
                const std::function<void()>& work);

private:
    struct entry {
        std::vector<uint64_t> key;
        cudaGraphExec_t graph; //!< null until recorded
    };
    static constexpr size_t most = 32;

    static bool can_record(cudaStream_t stream);
    cudaGraphExec_t record(cudaStream_t stream, const std::function<void()>& work);
    entry* find(const std::vector<uint64_t>& key);
    void remember(const std::vector<uint64_t>& key);

    std::list<entry> d_entries; //!< the latest first
    bool d_failed = false;
};

} // namespace gr::cudaphy
