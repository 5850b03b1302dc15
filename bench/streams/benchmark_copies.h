/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The bound of a block's rate: copies between page-locked memory and the device.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>
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

//! Bytes a second of copies to the first `devices` devices, while as many bytes are
//! copied from them. Copies are queued one after the other, in rings of four batches a
//! device. \param bytes  of a batch
inline double copies_both_ways(size_t bytes, int devices = 1)
{
    constexpr int in_ring = 4;
    struct link {
        char *host = nullptr, *device = nullptr;
        cudaStream_t in = nullptr, out = nullptr;
    };
    std::vector<link> links(devices);
    int current = 0;
    must(cudaGetDevice(&current));
    for (int d = 0; d < devices; ++d) {
        auto& one = links[d];
        must(cudaSetDevice(d));
        must(cudaHostAlloc(reinterpret_cast<void**>(&one.host),
                           2 * in_ring * bytes,
                           cudaHostAllocPortable));
        must(cudaMalloc(reinterpret_cast<void**>(&one.device), 2 * in_ring * bytes));
        std::memset(one.host, 1, 2 * in_ring * bytes);
        must(cudaStreamCreateWithFlags(&one.in, cudaStreamNonBlocking));
        must(cudaStreamCreateWithFlags(&one.out, cudaStreamNonBlocking));
    }
    const auto batches =
        std::max<size_t>(2 * in_ring, (size_t{ 1 } << 30) / bytes); // about 20 ms
    double rate = 0;
    for (int attempt = 0; attempt < 2; ++attempt) { // the first is the warm-up
        const auto start = std::chrono::steady_clock::now();
        for (size_t b = 0; b < batches; ++b) {
            const auto at = b % in_ring * bytes, back = at + in_ring * bytes;
            for (const auto& [host, device, in, out] : links) {
                must(cudaMemcpyAsync(
                    device + at, host + at, bytes, cudaMemcpyHostToDevice, in));
                must(cudaMemcpyAsync(
                    host + back, device + back, bytes, cudaMemcpyDeviceToHost, out));
            }
        }
        for (const auto& one : links) {
            must(cudaStreamSynchronize(one.in));
            must(cudaStreamSynchronize(one.out));
        }
        const std::chrono::duration<double> took =
            std::chrono::steady_clock::now() - start;
        rate = double(batches * bytes * devices) / took.count();
    }
    for (const auto& one : links) {
        cudaStreamDestroy(one.in);
        cudaStreamDestroy(one.out);
        cudaFree(one.device);
        cudaFreeHost(one.host);
    }
    must(cudaSetDevice(current));
    return rate;
}

#else

//! 0, because this build has no CUDA.
inline double copies_both_ways(size_t, int = 1) { return 0; }

#endif

} // namespace gr::cudaphy::benchmarks
