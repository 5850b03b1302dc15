/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime_api.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <new>

namespace gr::cudaphy {

//! \throws cuda_error unless `code` is cudaSuccess. Its message names `what` and the
//! device, and has CUDA's own message.
void cuda_check(cudaError_t code, const char* what);

//! Call it after each launch, with the kernel's name, because a launch reports no error
//! by itself. If the error shows only when somebody waits for the queue, its message has
//! the name of the last kernel.
void cuda_check_launch(const char* kernel);

inline cudaStream_t stream_of(queue& q) { return static_cast<cudaStream_t>(q.native()); }

//! Makes `device` the current device of this thread for as long as the scope lives.
class cuda_device_scope
{
public:
    //! \throws cuda_error if the device can't be made current, for example if it is lost
    explicit cuda_device_scope(int device);
    //! For destructors, which have nothing to release if the device is lost.
    cuda_device_scope(int device, std::nothrow_t) noexcept;
    //! cudaSuccess, or why `device` is not the current device.
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
