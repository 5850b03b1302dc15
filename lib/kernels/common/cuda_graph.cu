/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_graph.cuh"
#include <algorithm>

namespace gr::cudaphy {

recorded_work::~recorded_work()
{
    // CUDA frees a graph that still runs when it has ended.
    for (const auto& each : d_entries) {
        if (each.graph) {
            cudaGraphExecDestroy(each.graph);
        }
    }
    cudaGetLastError();
}

void recorded_work::submit(const std::vector<uint64_t>& key,
                           queue& queue,
                           const std::function<void()>& work)
{
    const auto stream = stream_of(queue);
    if (d_failed || !can_record(stream)) {
        work();
        return;
    }
    auto* const known = find(key);
    if (!known) {
        work();
        remember(key);
        return;
    }
    if (!known->graph) {
        known->graph = record(stream, work);
        if (!known->graph) {
            d_failed = true;
            work();
            return;
        }
    }
    cuda_check(cudaGraphLaunch(known->graph, stream), "launch of recorded work");
}

bool recorded_work::can_record(cudaStream_t stream)
{
    // The default streams have no handle of their own. The legacy stream can't record,
    // and the work of other threads waits for it.
    if (stream == nullptr || stream == cudaStreamLegacy ||
        stream == cudaStreamPerThread) {
        return false;
    }
    auto state = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream, &state), "cudaStreamIsCapturing");
    return state == cudaStreamCaptureStatusNone;
}

//! Null if the work can't be recorded.
cudaGraphExec_t recorded_work::record(cudaStream_t stream,
                                      const std::function<void()>& work)
{
    // Only this thread's calls are recorded, because other threads may allocate memory
    // meanwhile.
    cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    bool whole = true;
    try {
        work();
    } catch (const cuda_error&) {
        // The caller runs the work again without recording. An error that has other
        // reasons then shows again.
        whole = false;
    } catch (...) {
        cudaStreamEndCapture(stream, &graph);
        cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
    }
    whole = cudaStreamEndCapture(stream, &graph) == cudaSuccess && whole;
    cudaGraphExec_t ready = nullptr;
    if (whole && cudaGraphInstantiate(&ready, graph, 0) != cudaSuccess) {
        ready = nullptr;
    }
    if (graph) {
        cudaGraphDestroy(graph);
    }
    cudaGetLastError();
    return ready;
}

recorded_work::entry* recorded_work::find(const std::vector<uint64_t>& key)
{
    const auto found = std::find_if(d_entries.begin(),
                                    d_entries.end(),
                                    [&](const entry& each) { return each.key == key; });
    if (found == d_entries.end()) {
        return nullptr;
    }
    d_entries.splice(d_entries.begin(), d_entries, found);
    return &d_entries.front();
}

void recorded_work::remember(const std::vector<uint64_t>& key)
{
    d_entries.push_front({ key, nullptr });
    if (d_entries.size() > most) {
        if (d_entries.back().graph) {
            cudaGraphExecDestroy(d_entries.back().graph);
        }
        d_entries.pop_back();
    }
}

} // namespace gr::cudaphy
