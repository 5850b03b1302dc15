/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The bound of a block in a flowgraph: copies between page-locked memory and the device.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gr::cudaphy::benchmarks {

#ifdef CUDAPHY_HAVE_CUDA

inline void must(cudaError_t code)
{
    if (code != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(code));
    }
}

//! Bytes a second each way of copies to the device and from it at once, queued one
//! behind the other, between rings of four batches.
inline double copies_both_ways(size_t bytes)
{
    constexpr int in_ring = 4;
    char *host = nullptr, *device = nullptr;
    must(cudaHostAlloc(
        reinterpret_cast<void**>(&host), 2 * in_ring * bytes, cudaHostAllocPortable));
    must(cudaMalloc(reinterpret_cast<void**>(&device), 2 * in_ring * bytes));
    std::memset(host, 1, 2 * in_ring * bytes);
    cudaStream_t in = nullptr, out = nullptr;
    must(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    const auto batches =
        std::max<size_t>(2 * in_ring, (size_t{ 1 } << 30) / bytes); // about 20 ms
    double rate = 0;
    for (int attempt = 0; attempt < 2; ++attempt) { // the first one warms up
        const auto start = std::chrono::steady_clock::now();
        for (size_t b = 0; b < batches; ++b) {
            const auto at = b % in_ring * bytes, back = at + in_ring * bytes;
            must(cudaMemcpyAsync(
                device + at, host + at, bytes, cudaMemcpyHostToDevice, in));
            must(cudaMemcpyAsync(
                host + back, device + back, bytes, cudaMemcpyDeviceToHost, out));
        }
        must(cudaStreamSynchronize(in));
        must(cudaStreamSynchronize(out));
        const std::chrono::duration<double> took =
            std::chrono::steady_clock::now() - start;
        rate = double(batches * bytes) / took.count();
    }
    cudaStreamDestroy(in);
    cudaStreamDestroy(out);
    cudaFree(device);
    cudaFreeHost(host);
    return rate;
}

#else

//! Nothing is copied where there is no device.
inline double copies_both_ways(size_t) { return 0; }

#endif

} // namespace gr::cudaphy::benchmarks
