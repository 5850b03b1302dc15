/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"

// Streams that run beside the caller's stream, and the order among all of them.

namespace gr::cudaphy::kernels {
namespace {

//! A point of a stream that other streams can wait for. Its device must be current when
//! a mark is made and when it is destroyed.
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

    //! Marks the end of what is submitted to `stream` so far.
    void set(cudaStream_t stream)
    {
        cuda_check(cudaEventRecord(d_event, stream), "cudaEventRecord");
    }
    //! Later work of `stream` waits for the mark.
    void await(cudaStream_t stream) const
    {
        cuda_check(cudaStreamWaitEvent(stream, d_event, 0), "cudaStreamWaitEvent");
    }

private:
    cudaEvent_t d_event = nullptr;
};

//! A stream beside the caller's. Multiprocessors prefer the blocks of an urgent stream.
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

    //! Later work of this stream waits for what is submitted to `other` so far.
    void follow(cudaStream_t other)
    {
        d_followed.set(other);
        d_followed.await(d_stream);
    }

private:
    cudaStream_t d_stream = nullptr;
    stream_mark d_followed;
};

//! The streams beside the caller's while panels invert a large matrix. `urgent` inverts
//! blocks. `panel` brings the next panel up to date.
struct panel_streams {
    side_stream urgent{ true }, panel{ false };
    stream_mark begun; //!< just before the inversion of a block
    stream_mark inverted;
    stream_mark advanced;
};

} // namespace
} // namespace gr::cudaphy::kernels
