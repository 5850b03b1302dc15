/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Records the launches of repeated work once as a CUDA graph, and then launches
 * the graph.
 *
 * Calls with equal keys must submit the same work on the same memory. The first call with
 * a key runs the work itself, so that what happens only once (CUDA loads code to the
 * device) is not recorded. The second call records the work and launches the graph. Later
 * calls launch the graph. The class keeps the graphs of the latest `most` keys.
 *
 * Every call runs the work itself if the stream can't record (the default stream, or a
 * stream that its owner is recording), or after a recording has failed. One thread at a
 * time may use an object. Its device must be current when it is destroyed.
 */
class recorded_work
{
public:
    recorded_work() = default;
    ~recorded_work();
    recorded_work(const recorded_work&) = delete;
    recorded_work& operator=(const recorded_work&) = delete;

    //! The queue's device must be current. \throws what `work` throws; cuda_error
    void submit(const std::vector<uint64_t>& key,
                queue& queue,
                const std::function<void()>& work);

private:
    struct entry {
        std::vector<uint64_t> key;
        cudaGraphExec_t graph; //!< null until the work is recorded
    };
    static constexpr size_t most = 32;

    static bool can_record(cudaStream_t stream);
    cudaGraphExec_t record(cudaStream_t stream, const std::function<void()>& work);
    entry* find(const std::vector<uint64_t>& key);
    void remember(const std::vector<uint64_t>& key);

    std::list<entry> d_entries; //!< the latest key first
    bool d_failed = false;
};

} // namespace gr::cudaphy
