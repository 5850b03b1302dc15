/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "runtime/device/batch_end_cuda.h"
#include <cuda.h>
#include <new>

namespace gr::cudaphy {
namespace {

constexpr int threads = 1024;

// One thread block, because the words are few, and a grid's blocks would have to agree on
// which is last. 32768 words take each thread eight loads of 16 bytes.
__global__ void __launch_bounds__(threads) end_batch(const int* __restrict__ status,
                                                     int* __restrict__ host,
                                                     unsigned words,
                                                     bool always,
                                                     unsigned* host_mark,
                                                     unsigned mark)
{
    const unsigned fours = words / 4, rest = fours * 4 + threadIdx.x;
    const auto* from = reinterpret_cast<const int4*>(status);
    auto* to = reinterpret_cast<int4*>(host);
    bool any = always;
    if (!always) {
        int found = rest < words ? status[rest] : 0;
        for (unsigned i = threadIdx.x; i < fours; i += threads) {
            const int4 four = from[i];
            found |= four.x | four.y | four.z | four.w;
        }
        any = __syncthreads_or(found);
    }
    if (any) {
        if (rest < words) {
            host[rest] = status[rest];
        }
        for (unsigned i = threadIdx.x; i < fours; i += threads) {
            to[i] = from[i];
        }
        __threadfence_system();
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *static_cast<volatile unsigned*>(host_mark) = mark + any;
    }
}

} // namespace

std::shared_ptr<void> make_shared_memory(queue& owner, size_t bytes)
{
    cuda_device_scope scope(owner.device());
    void* memory = nullptr;
    const auto code =
        cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw std::bad_alloc();
    }
    cuda_check(code, "cudaHostAlloc");
    return { memory, [](void* allocated) {
                cudaFreeHost(allocated);
                cudaGetLastError();
            } };
}

namespace {

//! cuStreamWriteValue32, for which the CUDA runtime has no call; null if the driver lacks
//! it.
auto write_value()
{
    using function = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    static const auto found = [] {
        void* entry = nullptr;
        cudaDriverEntryPointQueryResult result{};
        const char* name = "cuStreamWriteValue32";
#if CUDART_VERSION >= 12050
        const auto code = cudaGetDriverEntryPointByVersion(
            name, &entry, 12000, cudaEnableDefault, &result);
#else
        const auto code =
            cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &result);
#endif
        if (code != cudaSuccess || result != cudaDriverEntryPointSuccess) {
            cudaGetLastError();
            entry = nullptr;
        }
        return reinterpret_cast<function>(entry);
    }();
    return found;
}

} // namespace

bool submit_mark(queue& work_queue, unsigned* host_mark, unsigned mark)
{
    cuda_device_scope scope(work_queue.device());
    return write_value() && write_value()(stream_of(work_queue),
                                          reinterpret_cast<CUdeviceptr>(host_mark),
                                          mark,
                                          0) == CUDA_SUCCESS;
}

void submit_batch_end(queue& work_queue,
                      const int* status,
                      int* host,
                      size_t words,
                      bool always,
                      unsigned* host_mark,
                      unsigned mark)
{
    cuda_device_scope scope(work_queue.device());
    const auto count = static_cast<unsigned>(words);
    end_batch<<<1, threads, 0, stream_of(work_queue)>>>(
        status, host, count, always && words, host_mark, mark);
    cuda_check_launch("the end of a batch");
}

} // namespace gr::cudaphy
