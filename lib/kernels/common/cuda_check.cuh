/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime_api.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <new>

namespace gr::cudaphy {

//! \throws cuda_error that names `what`, the device and CUDA's own message, unless `code`
//! is cudaSuccess.
void cuda_check(cudaError_t code, const char* what);

//! To be called after each launch, with the kernel's name: launches report nothing by
//! themselves. The name is remembered for an error that shows only when the queue is next
//! waited for.
void cuda_check_launch(const char* kernel);

inline cudaStream_t stream_of(queue& q) { return static_cast<cudaStream_t>(q.native()); }

//! Makes `device` this thread's current one for as long as it lives.
class cuda_device_scope
{
public:
    //! \throws cuda_error where it can't be made so, as when it is lost.
    explicit cuda_device_scope(int device);
    //! For destructors: where a device is lost, so is what they release.
    cuda_device_scope(int device, std::nothrow_t) noexcept;
    //! Why `device` is not the current one.
    cudaError_t code() const { return d_code; }
    ~cuda_device_scope();
    cuda_device_scope(const cuda_device_scope&) = delete;
    cuda_device_scope& operator=(const cuda_device_scope&) = delete;

private:
    int d_before = 0;
    bool d_changed = false;
    cudaError_t d_code = cudaSuccess;
};

} // namespace gr::cudaphy
