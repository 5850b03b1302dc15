/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/ldpc/bench_ldpc_cuda.h"
#include <cuda_runtime_api.h>

namespace gr::cudaphy::benchmarks {

page_locked::page_locked(void* memory, size_t bytes) : d_memory(memory)
{
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess) {
        cudaGetLastError();
        d_memory = nullptr;
    }
}

page_locked::~page_locked()
{
    if (d_memory) {
        cudaHostUnregister(d_memory);
    }
}

} // namespace gr::cudaphy::benchmarks
