/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/ldpc/decoder/nan_count_cuda.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int count_threads = 1024;

__device__ bool is_nan(float value) { return isnan(value); }
__device__ bool is_nan(float16 value) { return (value.bits & 0x7fff) > 0x7c00; }

//! A block a group, so that one long codeword alone is read by many threads.
template <typename T>
__global__ void nan_count_kernel(const T* values, size_t width, int* count)
{
    __shared__ int total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    values += blockIdx.x * width;
    int found = 0;
#pragma unroll 8
    for (size_t i = threadIdx.x; i < width; i += blockDim.x) {
        found += is_nan(values[i]);
    }
    found = __reduce_add_sync(~0u, found);
    if (threadIdx.x % 32 == 0 && found != 0) {
        atomicAdd(&total, found);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        count[blockIdx.x] = total;
    }
}

template <typename T>
void launch(const T* values, size_t width, view<int> count, queue& queue)
{
    const auto threads = std::clamp<size_t>(width / 8 / 32 * 32, 32, count_threads);
    nan_count_kernel<<<count.size(), threads, 0, stream_of(queue)>>>(
        values, width, count.data());
    cuda_check_launch("nan_count_kernel");
}

} // namespace

void count_nan_on_cuda(const float* values, size_t width, view<int> count, queue& queue)
{
    launch(values, width, count, queue);
}

void count_nan_on_cuda(const float16* values, size_t width, view<int> count, queue& queue)
{
    launch(values, width, count, queue);
}

} // namespace gr::cudaphy::kernels
