/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/machine_makers.h"

namespace gr::cudaphy {
namespace {

constexpr int threads = 256, chains = 8;

// Eight chains a thread and 2048 threads a multiprocessor: an instruction's latency of 4
// cycles is covered, and the multiply-adds are issued in every cycle.
__global__ void multiply_add(float* out, int steps, float factor)
{
    float value[chains];
    for (int c = 0; c < chains; ++c) {
        value[c] = threadIdx.x + c;
    }
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int c = 0; c < chains; ++c) {
            value[c] = __fmaf_rn(value[c], factor, 1.0f);
        }
    }
    float sum = 0;
    for (int c = 0; c < chains; ++c) {
        sum += value[c];
    }
    if (sum == 1.5f) { // never true, but the compiler can't know
        out[0] = sum;
    }
}

} // namespace

double multiply_add_on_device(queue& q, float* out, int steps)
{
    cuda_device_scope scope(q.device());
    int processors = 0;
    cuda_check(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, q.device()),
        "cudaDeviceGetAttribute");
    const int blocks = 8 * processors;
    multiply_add<<<blocks, threads, 0, static_cast<cudaStream_t>(q.native())>>>(
        out, steps, 0.5f);
    cuda_check(cudaGetLastError(), "multiply_add");
    return double(blocks) * threads * chains * steps;
}

cuda_versions versions_of_cuda()
{
    int driver = 0;
    cudaDriverGetVersion(&driver);
    cudaGetLastError();
    return { CUDART_VERSION, driver };
}

} // namespace gr::cudaphy
