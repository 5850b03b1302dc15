/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/device/stopwatch.h"
#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gr::cudaphy {

#ifdef CUDAPHY_HAVE_CUDA

namespace {

cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

//! The queue's device is current in its lifetime.
class on_device
{
public:
    explicit on_device(int device)
    {
        cudaGetDevice(&d_before);
        cudaSetDevice(device);
    }
    ~on_device()
    {
        cudaSetDevice(d_before);
        cudaGetLastError(); // a figure is not worth an error
    }

private:
    int d_before = 0;
};

} // namespace

stopwatch::stopwatch(queue& work_queue) : d_queue(work_queue)
{
    if (work_queue.where() != backend::cuda) {
        return;
    }
    on_device scope(work_queue.device());
    for (auto& event : d_events) {
        cudaEvent_t made = nullptr;
        event = cudaEventCreate(&made) == cudaSuccess ? made : nullptr;
    }
}

stopwatch::~stopwatch()
{
    if (d_queue.where() != backend::cuda) {
        return;
    }
    on_device scope(d_queue.device());
    for (auto* event : d_events) {
        if (event) {
            cudaEventDestroy(event_of(event));
        }
    }
}

void stopwatch::begin(queue& work_queue)
{
    d_begin = std::chrono::steady_clock::now();
    if (d_events[0]) {
        on_device scope(work_queue.device());
        cudaEventRecord(event_of(d_events[0]),
                        static_cast<cudaStream_t>(work_queue.native()));
    }
}

void stopwatch::end(queue& work_queue)
{
    d_end = std::chrono::steady_clock::now();
    if (d_events[1]) {
        on_device scope(work_queue.device());
        cudaEventRecord(event_of(d_events[1]),
                        static_cast<cudaStream_t>(work_queue.native()));
    }
}

double stopwatch::seconds() const
{
    if (d_queue.where() == backend::cuda) {
        float milliseconds = 0;
        const bool known = d_events[0] && d_events[1] &&
                           cudaEventElapsedTime(&milliseconds,
                                                event_of(d_events[0]),
                                                event_of(d_events[1])) == cudaSuccess;
        cudaGetLastError();
        return known ? 1e-3 * milliseconds : 0;
    }
    return std::chrono::duration<double>(d_end - d_begin).count();
}

#else

stopwatch::stopwatch(queue& work_queue) : d_queue(work_queue) {}
stopwatch::~stopwatch() = default;
void stopwatch::begin(queue&) { d_begin = std::chrono::steady_clock::now(); }
void stopwatch::end(queue&) { d_end = std::chrono::steady_clock::now(); }
double stopwatch::seconds() const
{
    return std::chrono::duration<double>(d_end - d_begin).count();
}

#endif

} // namespace gr::cudaphy
