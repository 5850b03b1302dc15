/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/fdtd/bench_sparse_cuda.h"
#include "kernels/common/cuda_check.cuh"
#include <limits>

namespace gr::cudaphy::benchmarks {

double seconds_in_graph(queue& q, const std::function<void()>& run)
{
    constexpr int calls = 200;
    cuda_device_scope scope(q.device());
    run(); // loads the code, which a capture may not
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
    double seconds = std::numeric_limits<double>::quiet_NaN();
    if (captured && cudaGraphInstantiate(&launchable, graph, 0) == cudaSuccess) {
        seconds =
            seconds_per_call(q,
                             [&] {
                                 cuda_check(cudaGraphLaunch(launchable, stream_of(q)),
                                            "cudaGraphLaunch");
                             }) /
            calls;
        cudaGraphExecDestroy(launchable);
    }
    if (graph) {
        cudaGraphDestroy(graph);
    }
    cudaGetLastError();
    return seconds;
}

} // namespace gr::cudaphy::benchmarks
