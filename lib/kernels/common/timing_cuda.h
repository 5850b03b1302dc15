/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime_api.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

inline void copy_on_device(queue& q, void* to, const void* from, size_t bytes)
{
    cudaMemcpyAsync(
        to, from, bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(q.native()));
}

} // namespace gr::cudaphy
