/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_program.cuh"
#include <cuda.h>
#include <dlfcn.h>
#include <map>
#include <mutex>

namespace gr::cudaphy {
namespace {

//! The driver's functions, looked up by name. The module links only the runtime, so that
//! it loads on machines without a driver.
struct driver {
    decltype(&cuModuleLoadDataEx) load;
    decltype(&cuModuleUnload) unload;
    decltype(&cuModuleGetFunction) function;
    decltype(&cuFuncSetAttribute) set_attribute;
    decltype(&cuLaunchKernel) launch;
    decltype(&cuGetErrorString) error_string;

    static const driver& get()
    {
        static const driver one = [] {
            void* library = dlopen("libcuda.so.1", RTLD_NOW);
            const auto find = [library](const char* name) {
                void* found = library ? dlsym(library, name) : nullptr;
                if (!found) {
                    throw cuda_error(std::string("the CUDA driver has no ") + name);
                }
                return found;
            };
            driver out;
            out.load = reinterpret_cast<decltype(load)>(find("cuModuleLoadDataEx"));
            out.unload = reinterpret_cast<decltype(unload)>(find("cuModuleUnload"));
            out.function =
                reinterpret_cast<decltype(function)>(find("cuModuleGetFunction"));
            out.set_attribute =
                reinterpret_cast<decltype(set_attribute)>(find("cuFuncSetAttribute"));
            out.launch = reinterpret_cast<decltype(launch)>(find("cuLaunchKernel"));
            out.error_string =
                reinterpret_cast<decltype(error_string)>(find("cuGetErrorString"));
            return out;
        }();
        return one;
    }
};

void check(CUresult code, const std::string& what)
{
    if (code != CUDA_SUCCESS) {
        const char* text = nullptr;
        driver::get().error_string(code, &text);
        throw cuda_error(what + ": " + (text ? text : "unknown error"));
    }
}

class driver_program : public cuda_program
{
public:
    driver_program(const std::string& ptx, const char* kernel, int shared_bytes)
        : d_kernel(kernel), d_shared_bytes(shared_bytes)
    {
        cuda_check(cudaFree(nullptr), "cudaFree"); // makes the device's context current
        char log[2048] = {};
        CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
                                   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        void* values[] = { log, reinterpret_cast<void*>(sizeof log) };
        const auto code = driver::get().load(&d_module, ptx.c_str(), 2, options, values);
        check(code, "translation of the kernel " + d_kernel + " (" + log + ")");
        check(driver::get().function(&d_function, d_module, kernel), d_kernel);
        check(driver::get().set_attribute(d_function,
                                          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                          shared_bytes),
              d_kernel);
    }
    ~driver_program() override { driver::get().unload(d_module); }
    driver_program(const driver_program&) = delete;
    driver_program& operator=(const driver_program&) = delete;

    void launch(unsigned blocks,
                unsigned threads,
                const void* arguments,
                size_t argument_bytes,
                cudaStream_t stream) const override
    {
        void* extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER,
                          const_cast<void*>(arguments),
                          CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &argument_bytes,
                          CU_LAUNCH_PARAM_END };
        check(driver::get().launch(d_function,
                                   blocks,
                                   1,
                                   1,
                                   threads,
                                   1,
                                   1,
                                   d_shared_bytes,
                                   stream,
                                   nullptr,
                                   extra),
              "launch of " + d_kernel);
    }

private:
    const std::string d_kernel;
    const int d_shared_bytes;
    CUmodule d_module = nullptr;
    CUfunction d_function = nullptr;
};

} // namespace

std::shared_ptr<cuda_program>
cuda_program::make(const std::string& ptx, const char* kernel, int shared_bytes)
{
    static std::mutex guard;
    static std::map<std::pair<int, std::string>, std::weak_ptr<cuda_program>> made;
    int device = 0;
    cuda_check(cudaGetDevice(&device), "cudaGetDevice");
    const std::lock_guard<std::mutex> lock(guard);
    auto& entry = made[{ device, ptx }];
    auto program = entry.lock();
    if (!program) {
        program = std::make_shared<driver_program>(ptx, kernel, shared_bytes);
        entry = program;
    }
    return program;
}

} // namespace gr::cudaphy
