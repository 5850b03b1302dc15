/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/linalg/bench_inverse_cuda.h"
#include "kernels/common/cuda_check.cuh"
#include <algorithm>
#include <limits>
#include <vector>

namespace gr::cudaphy::benchmarks {
namespace {

__global__ void empty_kernel() {}

class event
{
public:
    event() { cuda_check(cudaEventCreate(&d_event), "cudaEventCreate"); }
    ~event() { cudaEventDestroy(d_event); }
    operator cudaEvent_t() const { return d_event; }

private:
    cudaEvent_t d_event = nullptr;
};

//! Seconds between events before and after the work that `run` submits.
template <typename Run>
double seconds_between_events(queue& q, const Run& run)
{
    static const event before, after;
    q.synchronize();
    cuda_check(cudaEventRecord(before, stream_of(q)), "cudaEventRecord");
    run();
    cuda_check(cudaEventRecord(after, stream_of(q)), "cudaEventRecord");
    q.synchronize();
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, before, after),
               "cudaEventElapsedTime");
    return 1e-3 * milliseconds;
}

} // namespace

double seconds_of_one_launch(queue& q, const std::function<void()>& run)
{
    std::vector<double> times(301);
    run();
    for (auto& time : times) {
        time = seconds_between_events(q, run);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

double seconds_within_graph(queue& q, const std::function<void()>& run)
{
    constexpr int calls = 200;
    run(); // loads the code, which a captured call may not do
    q.synchronize();
    cuda_check(cudaStreamBeginCapture(stream_of(q), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    bool captured = true;
    try {
        for (int call = 0; call < calls; ++call) {
            run();
        }
    } catch (const cuda_error&) {
        captured = false;
    }
    captured = cudaStreamEndCapture(stream_of(q), &graph) == cudaSuccess && captured;
    cudaGraphExec_t launchable = nullptr;
    double best = std::numeric_limits<double>::quiet_NaN();
    if (captured && cudaGraphInstantiate(&launchable, graph, 0) == cudaSuccess) {
        const auto launch = [&] {
            cuda_check(cudaGraphLaunch(launchable, stream_of(q)), "cudaGraphLaunch");
        };
        launch();
        best = seconds_between_events(q, launch);
        for (int turn = 0; turn < 20; ++turn) {
            best = std::min(best, seconds_between_events(q, launch));
        }
        cudaGraphExecDestroy(launchable);
    }
    if (graph) {
        cudaGraphDestroy(graph);
    }
    cudaGetLastError();
    return best / calls;
}

void launch_empty_kernel(queue& q)
{
    empty_kernel<<<1, 32, 0, stream_of(q)>>>();
    cuda_check_launch("empty_kernel");
}

} // namespace gr::cudaphy::benchmarks
