/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"

// Streams that run beside the caller's, and what waits for what among them.

namespace gr::cudaphy::kernels {
namespace {

//! A point of a stream that others can wait for, on the device that is current where it
//! is made and dies.
class stream_mark
{
public:
    stream_mark()
    {
        cuda_check(cudaEventCreateWithFlags(&d_event, cudaEventDisableTiming),
                   "cudaEventCreate");
    }
    ~stream_mark()
    {
        cudaEventDestroy(d_event);
        cudaGetLastError();
    }
    stream_mark(const stream_mark&) = delete;
    stream_mark& operator=(const stream_mark&) = delete;

    //! What is submitted to `stream` by now.
    void set(cudaStream_t stream)
    {
        cuda_check(cudaEventRecord(d_event, stream), "cudaEventRecord");
    }
    //! What is submitted to `stream` from now on waits for that.
    void await(cudaStream_t stream) const
    {
        cuda_check(cudaStreamWaitEvent(stream, d_event, 0), "cudaStreamWaitEvent");
    }

private:
    cudaEvent_t d_event = nullptr;
};

//! A stream of its own; an urgent one's blocks are the first to get a multiprocessor.
class side_stream
{
public:
    explicit side_stream(bool urgent)
    {
        int least = 0, greatest = 0;
        cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                   "cudaDeviceGetStreamPriorityRange");
        cuda_check(cudaStreamCreateWithPriority(
                       &d_stream, cudaStreamNonBlocking, urgent ? greatest : least),
                   "cudaStreamCreateWithPriority");
    }
    ~side_stream()
    {
        cudaStreamDestroy(d_stream);
        cudaGetLastError();
    }
    side_stream(const side_stream&) = delete;
    side_stream& operator=(const side_stream&) = delete;

    cudaStream_t get() const { return d_stream; }

    //! What is submitted here from now on waits for what is in `other` by now.
    void follow(cudaStream_t other)
    {
        d_followed.set(other);
        d_followed.await(d_stream);
    }

private:
    cudaStream_t d_stream = nullptr;
    stream_mark d_followed;
};

//! What runs beside the caller's stream where a large matrix goes by panels: blocks that
//! are inverted, and the next panel, brought up to date as a whole.
struct panel_streams {
    side_stream urgent{ true }, panel{ false };
    stream_mark begun; //!< just before a block is inverted
    stream_mark inverted;
    stream_mark advanced;
};

} // namespace
} // namespace gr::cudaphy::kernels
