/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/cuda_probe.h"
#include "kernels/common/queue_makers.h"
#include <mutex>
#include <new>

namespace gr::cudaphy {
namespace {

thread_local const char* last_kernel = nullptr;

__global__ void probe_kernel() {}

//! Whether this build has machine code, or code to compile, for the current device.
bool built_for_current_device()
{
    cudaFuncAttributes attributes;
    const bool built = cudaFuncGetAttributes(&attributes, probe_kernel) == cudaSuccess;
    cudaGetLastError();
    return built;
}

cuda_state ask_runtime()
{
    int driver = 0;
    cudaDriverGetVersion(&driver);
    int count = 0;
    const auto code = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (driver == 0) {
        return { {}, "no CUDA driver was found: install NVIDIA's driver" };
    }
    if (code == cudaErrorInsufficientDriver) {
        const auto version = [](int v) {
            return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
        };
        return { {},
                 "the driver supports CUDA " + version(driver) + ", this build needs " +
                     version(CUDART_VERSION) + ": update NVIDIA's driver" };
    }
    if (code != cudaSuccess || count == 0) {
        return { {},
                 std::string("no usable GPU: ") +
                     cudaGetErrorString(code ? code : cudaErrorNoDevice) };
    }
    cuda_state state;
    for (int device = 0; device < count; ++device) {
        cuda_device_scope scope(device);
        cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
            cudaGetLastError();
            continue;
        }
        const int capability = 10 * properties.major + properties.minor;
        if (built_for_current_device()) {
            state.devices.push_back(
                { device, properties.name, capability, properties.totalGlobalMem });
        } else {
            state.problem =
                std::string("this build has no code for ") + properties.name +
                ": build with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability);
        }
    }
    return state;
}

class cuda_queue : public queue
{
public:
    //! On a stream of its own.
    explicit cuda_queue(int device) : d_device(device), d_owned(true)
    {
        cuda_device_scope scope(device);
        cuda_check(cudaStreamCreateWithFlags(&d_stream, cudaStreamNonBlocking),
                   "cudaStreamCreate");
    }
    //! On somebody else's stream.
    cuda_queue(cudaStream_t stream, int device)
        : d_device(device), d_owned(false), d_stream(stream)
    {
    }
    ~cuda_queue() override
    {
        if (d_owned) {
            cuda_device_scope scope(d_device);
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
        cuda_device_scope scope(d_device);
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

cuda_state probe_cuda()
{
    // Once: a machine's GPUs don't change while it runs, and asking takes milliseconds.
    static std::once_flag once;
    static cuda_state state;
    std::call_once(once, [] { state = ask_runtime(); });
    return state;
}

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

cuda_device_scope::cuda_device_scope(int device)
{
    if (cudaGetDevice(&d_before) == cudaSuccess && d_before != device) {
        cuda_check(cudaSetDevice(device), "cudaSetDevice");
        d_changed = true;
    }
}

cuda_device_scope::~cuda_device_scope()
{
    if (d_changed) {
        cudaSetDevice(d_before);
    }
}

} // namespace gr::cudaphy
