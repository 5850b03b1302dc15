/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/memory/page_locked_cuda.h"

namespace gr::cudaphy {
namespace {

//! What CUDA knows of a pointer; of unregistered memory if it knows nothing.
cudaPointerAttributes attributes_of(const void* memory)
{
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, memory) != cudaSuccess) {
        cudaGetLastError();
        found.type = cudaMemoryTypeUnregistered;
    }
    return found;
}

} // namespace

void* cuda_page_locked_memory(size_t bytes)
{
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    return memory;
}

void cuda_release_page_locked(void* memory)
{
    cudaFreeHost(memory);
    cudaGetLastError();
}

bool cuda_is_page_locked(const void* memory)
{
    return attributes_of(memory).type == cudaMemoryTypeHost;
}

void cuda_run_after(queue& later, queue& earlier)
{
    cuda_device_scope scope(later.device());
    cudaEvent_t event;
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
               "cudaEventCreate");
    auto code = cudaEventRecord(event, stream_of(earlier));
    if (code == cudaSuccess) {
        code = cudaStreamWaitEvent(stream_of(later), event, 0);
    }
    cudaEventDestroy(event); // goes once it has happened
    cuda_check(code, "cudaStreamWaitEvent");
}

int gpu_of_cuda_pointer(const void* memory)
{
    const auto found = attributes_of(memory);
    return found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged
               ? found.device
               : -1;
}

} // namespace gr::cudaphy
