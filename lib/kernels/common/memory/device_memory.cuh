/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>
#include <type_traits>
#include <vector>

namespace gr::cudaphy {

//! Memory for a kernel's tables or workspace on the current device, which must be current
//! again when the object is destroyed. make() allocates it, never run(), because an
//! allocation waits for the device.
template <typename T>
class device_memory
{
public:
    //! Uninitialised. data() is null if the size is 0.
    explicit device_memory(size_t size)
    {
        if (size) {
            cuda_check(cudaMalloc(&d_data, size * sizeof(T)), "cudaMalloc");
        }
    }
    //! A copy of the items, each converted to T. It is complete when the constructor
    //! returns.
    template <typename Host>
    explicit device_memory(const std::vector<Host>& host) : device_memory(host.size())
    {
        if (host.empty()) {
            return;
        }
        if constexpr (std::is_same_v<T, Host>) {
            copy(host);
        } else {
            copy({ host.begin(), host.end() });
        }
    }
    ~device_memory() { cudaFree(d_data); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;

    T* data() const { return d_data; }

private:
    void copy(const std::vector<T>& items)
    {
        cuda_check(
            cudaMemcpy(
                d_data, items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice),
            "copy of a kernel's tables");
        // cudaMemcpy from pageable memory may return before the copy is complete, and the
        // queues' streams do not wait for the default stream.
        cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "copy of a kernel's tables");
    }

    T* d_data = nullptr;
};

//! Memory that is made after the object that holds it.
template <typename T>
using device_table = std::unique_ptr<device_memory<T>>;

//! Copies `from` to a new table, and puts its address into `pointer`.
template <typename T>
void put_table(device_table<T>& table, const T*& pointer, const std::vector<T>& from)
{
    table = std::make_unique<device_memory<T>>(from);
    pointer = table->data();
}

} // namespace gr::cudaphy
