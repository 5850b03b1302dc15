/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <random>

// Inverts 1200 matrices of order 8 (an LTE sub-frame of 20 MHz) in memory and on a stream
// of this program's own: once as they are, then as a CUDA graph launched many times.

using namespace gr::cudaphy;

namespace {

constexpr int order = 8;
constexpr size_t batch = 1200, elements = batch * order * order;
constexpr int launches = 1000;

void check(cudaError_t code, const char* call)
{
    if (code != cudaSuccess) {
        throw cuda_error(std::string(call) + ": " + cudaGetErrorString(code));
    }
}
#define CHECK(call) check(call, #call)

template <typename T>
view<T> device_memory(size_t size)
{
    void* memory = nullptr;
    if (size) {
        CHECK(cudaMalloc(&memory, size * sizeof(T)));
    }
    return { static_cast<T*>(memory), size };
}

//! The largest element of |A X - I| over the batch.
float residual(const std::vector<complex64>& a, const std::vector<complex64>& x)
{
    float largest = 0;
    for (size_t item = 0; item < elements; item += order * order) {
        for (int i = 0; i < order; ++i) {
            for (int j = 0; j < order; ++j) {
                complex64 sum = i == j ? -1.0f : 0.0f;
                for (int k = 0; k < order; ++k) {
                    sum += a[item + i * order + k] * x[item + k * order + j];
                }
                largest = std::max(largest, std::abs(sum));
            }
        }
    }
    return largest;
}

bool right(const char* what,
           cudaStream_t stream,
           const std::vector<complex64>& matrices,
           view<complex64> x,
           view<int> status)
{
    std::vector<complex64> inverses(elements);
    std::vector<int> codes(batch);
    const auto to_host = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpyAsync(inverses.data(), x.data(), elements * 8, to_host, stream));
    CHECK(cudaMemcpyAsync(codes.data(), status.data(), batch * 4, to_host, stream));
    CHECK(cudaStreamSynchronize(stream));
    const auto singular = batch - std::count(codes.begin(), codes.end(), 0);
    const float error = residual(matrices, inverses);
    std::printf("%s: |A X - I| at most %.1e, %zu singular\n", what, error, singular);
    return error < 1e-4f && singular == 0;
}

bool run()
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<complex64> matrices(elements);
    for (size_t e = 0; e < elements; ++e) {
        const bool diagonal = e % (order * order) % (order + 1) == 0;
        matrices[e] = complex64(normal(engine), normal(engine)) + 8.0f * diagonal;
    }

    // What is the caller's: the stream, the memory, the copies.
    cudaStream_t stream;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const auto a = device_memory<complex64>(elements);
    const auto x = device_memory<complex64>(elements);
    const auto status = device_memory<int>(batch);
    CHECK(cudaMemcpyAsync(
        a.data(), matrices.data(), elements * 8, cudaMemcpyHostToDevice, stream));

    // The kernel, the workspace that it asks for, and a queue on the caller's stream.
    const auto kernel = kernels::inverse<complex64>::make({ order }, backend::cuda);
    const auto workspace = device_memory<unsigned char>(kernel->workspace_bytes(batch));
    const auto line = queue::attach(stream);
    const auto invert = [&] { kernel->run(a, { x, status }, workspace, *line); };

    // The first run loads the kernel's code, which can't happen within a capture.
    invert();
    bool good = right("once", stream, matrices, x, status);

    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    invert();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&launchable, graph, 0));
    CHECK(cudaMemsetAsync(x.data(), 0xff, elements * 8, stream)); // NaN

    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaEventRecord(before, stream));
    for (int launch = 0; launch < launches; ++launch) {
        CHECK(cudaGraphLaunch(launchable, stream));
    }
    CHECK(cudaEventRecord(after, stream));
    good = right("as a graph", stream, matrices, x, status) && good;
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    std::printf(
        "%.2f us a launch of %zu matrices\n", 1e3 * milliseconds / launches, batch);

    CHECK(cudaGraphExecDestroy(launchable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(after));
    CHECK(cudaFree(a.data()));
    CHECK(cudaFree(x.data()));
    CHECK(cudaFree(status.data()));
    CHECK(cudaFree(workspace.data()));
    CHECK(cudaStreamDestroy(stream)); // the queue on it is not used any more
    return good;
}

} // namespace

int main()
{
    try {
        if (devices().empty()) {
            resolve(backend::cuda); // says why
        }
        return run() ? 0 : 1;
    } catch (const backend_unavailable& problem) {
        std::printf("skipped: %s\n", problem.what());
        return 77;
    } catch (const std::exception& problem) {
        std::printf("failed: %s\n", problem.what());
        return 1;
    }
}
