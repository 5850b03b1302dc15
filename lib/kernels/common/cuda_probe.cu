/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/cuda_probe.h"
#include <map>
#include <mutex>

namespace gr::cudaphy {
namespace {

__global__ void probe_kernel() {}

struct machine {
    int count = 0;
    std::string problem; //!< why there is no GPU
};

machine read_runtime()
{
    int driver = 0;
    cudaDriverGetVersion(&driver);
    int count = 0;
    const auto code = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (driver == 0) {
        return { 0, "no CUDA driver was found: install NVIDIA's driver" };
    }
    if (code == cudaErrorInsufficientDriver) {
        const auto version = [](int v) {
            return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
        };
        return { 0,
                 "the driver supports CUDA " + version(driver) + ", this build needs " +
                     version(CUDART_VERSION) + ": update NVIDIA's driver" };
    }
    if (code != cudaSuccess || count == 0) {
        return { 0,
                 std::string("no usable GPU: ") +
                     cudaGetErrorString(code ? code : cudaErrorNoDevice) };
    }
    return { count, "" };
}

//! Read once, because a machine does not change while it runs.
const machine& here()
{
    static const auto one = read_runtime();
    return one;
}

//! Makes a context, which takes memory of the device, unless the process has one.
probed_device probe_unknown_device(int index)
{
    probed_device out;
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
        cudaGetLastError();
        out.problem = "CUDA device " + std::to_string(index) + " does not answer";
        return out;
    }
    const int capability = 10 * properties.major + properties.minor;
    out.info = { index, properties.name, capability, properties.totalGlobalMem };
    const cuda_device_scope scope(index, std::nothrow);
    cudaFuncAttributes attributes;
    auto code = scope.code();
    if (code == cudaSuccess) {
        code = cudaFuncGetAttributes(&attributes, probe_kernel);
    }
    cudaGetLastError();
    if (code == cudaErrorNoKernelImageForDevice ||
        code == cudaErrorInvalidDeviceFunction ||
        code == cudaErrorUnsupportedPtxVersion) {
        out.problem =
            std::string("this build has no code for ") + properties.name +
            ": build with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability);
    } else if (code != cudaSuccess) {
        out.problem = "CUDA device " + std::to_string(index) + " (" + properties.name +
                      ") can't be used: " + cudaGetErrorString(code);
    }
    return out;
}

//! Whether a device that could be used still can. After a kernel has failed, CUDA gives
//! this process no new context on any GPU, whatever the process frees and resets.
cudaError_t state_of_context(int index)
{
    const cuda_device_scope scope(index, std::nothrow);
    const auto code = scope.code() == cudaSuccess ? cudaFree(nullptr) : scope.code();
    cudaGetLastError();
    return code;
}

} // namespace

int count_devices() { return here().count; }

probed_device probe_device(int index)
{
    if (here().count == 0) {
        return { {}, here().problem };
    }
    if (index < 0 || index >= here().count) {
        return { {}, "there is no CUDA device " + std::to_string(index) };
    }
    static std::mutex mutex;
    static std::map<int, probed_device> known; // because a probe takes milliseconds
    const std::lock_guard<std::mutex> guard(mutex);
    const auto entry = known.find(index);
    if (entry == known.end()) {
        const auto found = probe_unknown_device(index);
        // Do not remember a problem: memory that other processes hold may be free later.
        return found.problem.empty() ? known[index] = found : found;
    }
    auto& device = entry->second;
    if (device.problem.empty()) {
        const auto code = state_of_context(index);
        if (code != cudaSuccess && code != cudaErrorMemoryAllocation) {
            device.problem = "CUDA device " + std::to_string(index) + " (" +
                             device.info.name +
                             ") is lost to this process, which must be started anew: " +
                             cudaGetErrorString(code);
        }
    }
    return device;
}

} // namespace gr::cudaphy
