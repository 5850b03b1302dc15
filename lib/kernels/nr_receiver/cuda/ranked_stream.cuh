/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels::nr {

//! A stream of a rank: the GPU prefers the blocks of those with a lower one. Its device
//! must be current when it is made and destroyed.
class ranked_stream
{
public:
    //! \param rank  0 first; from the GPU's last one on all are the same
    explicit ranked_stream(int rank)
    {
        int least = 0, greatest = 0; // the lower, the more urgent
        cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                   "cudaDeviceGetStreamPriorityRange");
        cuda_check(cudaStreamCreateWithPriority(&d_stream,
                                                cudaStreamNonBlocking,
                                                std::min(greatest + rank, least)),
                   "cudaStreamCreateWithPriority");
        for (auto* const event : { &d_begun, &d_ended }) {
            cuda_check(cudaEventCreateWithFlags(event, cudaEventDisableTiming),
                       "cudaEventCreateWithFlags");
        }
    }
    ~ranked_stream()
    {
        cudaEventDestroy(d_begun);
        cudaEventDestroy(d_ended);
        cudaStreamDestroy(d_stream);
        cudaGetLastError();
    }
    ranked_stream(const ranked_stream&) = delete;
    ranked_stream& operator=(const ranked_stream&) = delete;

    cudaStream_t get() const { return d_stream; }

    //! Takes work that follows what is submitted to `main` so far, also within a graph
    //! that is recorded.
    cudaStream_t fork(cudaStream_t main)
    {
        cuda_check(cudaEventRecord(d_begun, main), "cudaEventRecord");
        cuda_check(cudaStreamWaitEvent(d_stream, d_begun, 0), "cudaStreamWaitEvent");
        return d_stream;
    }
    //! Later work of `main` waits for this stream's.
    void join(cudaStream_t main)
    {
        cuda_check(cudaEventRecord(d_ended, d_stream), "cudaEventRecord");
        cuda_check(cudaStreamWaitEvent(main, d_ended, 0), "cudaStreamWaitEvent");
    }

private:
    cudaStream_t d_stream = nullptr;
    cudaEvent_t d_begun = nullptr, d_ended = nullptr;
};

} // namespace gr::cudaphy::kernels::nr
