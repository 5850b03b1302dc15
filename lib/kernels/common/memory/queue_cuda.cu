/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/memory/queue_makers.h"
#include <new>

namespace gr::cudaphy {
namespace {

thread_local const char* last_kernel = nullptr;

class cuda_queue : public queue
{
public:
    //! Makes a stream, and owns it.
    explicit cuda_queue(int device) : d_device(device), d_owned(true)
    {
        cuda_device_scope scope(device);
        cuda_check(cudaStreamCreateWithFlags(&d_stream, cudaStreamNonBlocking),
                   "cudaStreamCreate");
    }
    //! Uses a stream that the caller owns.
    cuda_queue(cudaStream_t stream, int device)
        : d_device(device), d_owned(false), d_stream(stream)
    {
    }
    ~cuda_queue() override
    {
        if (d_owned) {
            cuda_device_scope scope(d_device, std::nothrow);
            cudaStreamDestroy(d_stream);
            cudaGetLastError();
        }
    }

    backend where() const override { return backend::cuda; }
    int device() const override { return d_device; }
    void* native() const override { return d_stream; }

    void* allocate(size_t bytes) override
    {
        cuda_device_scope scope(d_device);
        void* memory = nullptr;
        const auto code = cudaMalloc(&memory, bytes);
        if (code == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            throw std::bad_alloc();
        }
        cuda_check(code, "cudaMalloc");
        return memory;
    }
    void release(void* memory) override
    {
        cuda_device_scope scope(d_device, std::nothrow);
        cudaFree(memory);
        cudaGetLastError();
    }
    void copy_in(void* to, const void* from, size_t bytes) override
    {
        cuda_device_scope scope(d_device);
        cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d_stream),
                   "copy to the device");
    }
    void copy_out(void* to, const void* from, size_t bytes) override
    {
        cuda_device_scope scope(d_device);
        cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d_stream),
                   "copy from the device");
    }
    void synchronize() override
    {
        cuda_device_scope scope(d_device);
        cuda_check(cudaStreamSynchronize(d_stream),
                   last_kernel ? last_kernel : "cudaStreamSynchronize");
    }
    bool idle() override
    {
        cuda_device_scope scope(d_device);
        const auto code = cudaStreamQuery(d_stream);
        if (code == cudaErrorNotReady) {
            cudaGetLastError();
            return false;
        }
        cuda_check(code, last_kernel ? last_kernel : "cudaStreamQuery");
        return true;
    }

private:
    const int d_device;
    const bool d_owned;
    cudaStream_t d_stream = nullptr;
};

} // namespace

std::unique_ptr<queue> make_cuda_queue(int device)
{
    return std::make_unique<cuda_queue>(device);
}

std::unique_ptr<queue> attach_cuda_queue(void* stream, int device)
{
    return std::make_unique<cuda_queue>(static_cast<cudaStream_t>(stream), device);
}

void cuda_check(cudaError_t code, const char* what)
{
    if (code == cudaSuccess) {
        return;
    }
    cudaGetLastError();
    int device = -1;
    cudaGetDevice(&device);
    throw cuda_error(std::string(what) + " failed on CUDA device " +
                     std::to_string(device) + ": " + cudaGetErrorString(code) + " (" +
                     cudaGetErrorName(code) + ")");
}

void cuda_check_launch(const char* kernel)
{
    last_kernel = kernel;
    cuda_check(cudaGetLastError(), kernel);
}

cuda_device_scope::cuda_device_scope(int device) : cuda_device_scope(device, std::nothrow)
{
    cuda_check(d_code, "cudaSetDevice");
}

cuda_device_scope::cuda_device_scope(int device, std::nothrow_t) noexcept
{
    if (cudaGetDevice(&d_before) == cudaSuccess && d_before != device) {
        d_code = cudaSetDevice(device);
        d_changed = d_code == cudaSuccess;
    }
}

cuda_device_scope::~cuda_device_scope()
{
    if (d_changed) {
        cudaSetDevice(d_before);
    }
}

} // namespace gr::cudaphy
