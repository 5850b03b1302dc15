/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <vector>

namespace gr::cudaphy {

//! A kernel's tables or workspace on the device that is current when it is made; it must
//! be current again when it dies. Never made in run(): allocation and its waits belong to
//! make().
template <typename T>
class device_memory
{
public:
    //! Uninitialised; data() is null for a size of 0.
    explicit device_memory(size_t size)
    {
        if (size) {
            cuda_check(cudaMalloc(&d_data, size * sizeof(T)), "cudaMalloc");
        }
    }
    //! A copy of the items, each converted to T, that is there when the constructor
    //! returns.
    template <typename Host>
    explicit device_memory(const std::vector<Host>& host) : device_memory(host.size())
    {
        if (host.empty()) {
            return;
        }
        const std::vector<T> items(host.begin(), host.end());
        cuda_check(
            cudaMemcpy(
                d_data, items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice),
            "copy of a kernel's tables");
        // A copy from pageable memory may still be on its way when cudaMemcpy returns,
        // and the queues' streams do not wait for the default stream.
        cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "copy of a kernel's tables");
    }
    ~device_memory() { cudaFree(d_data); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;

    T* data() const { return d_data; }

private:
    T* d_data = nullptr;
};

} // namespace gr::cudaphy
