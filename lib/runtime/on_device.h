/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#ifdef CUDAPHY_HAVE_CUDA
#include <cuda_runtime_api.h>

namespace gr::cudaphy {

//! A device is current in its lifetime.
class on_device
{
public:
    explicit on_device(int device)
    {
        cudaGetDevice(&d_before);
        cudaSetDevice(device);
    }
    ~on_device()
    {
        cudaSetDevice(d_before);
        cudaGetLastError(); // what failed within has been looked at
    }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;

private:
    int d_before = 0;
};

} // namespace gr::cudaphy
#endif
