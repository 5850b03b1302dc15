/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_program.cuh"
#include "kernels/common/made_from_text.h"
#include <algorithm>
#include <atomic>
#include <cuda.h>
#include <dlfcn.h>

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

std::atomic<size_t> translations_asked_for{ 0 };

//! What a translation depends on.
struct program_text {
    int device;
    std::string kernel;
    int shared_bytes;
    std::string ptx;

    size_t bytes() const { return ptx.size(); }
    bool operator==(const program_text& other) const
    {
        return device == other.device && kernel == other.kernel &&
               shared_bytes == other.shared_bytes && ptx == other.ptx;
    }
};

//! A translated program in a device's memory.
class translation
{
public:
    //! The text's device must be current.
    explicit translation(const program_text& text) : d_device(text.device)
    {
        cuda_check(cudaFree(nullptr), "cudaFree"); // makes the device's context current
        ++translations_asked_for;
        char log[2048] = {};
        CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
                                   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        void* values[] = { log, reinterpret_cast<void*>(sizeof log) };
        const auto& with = driver::get();
        const auto code = with.load(&d_module, text.ptx.c_str(), 2, options, values);
        check(code, "translation of the kernel " + text.kernel + " (" + log + ")");
        try {
            check(with.function(&d_function, d_module, text.kernel.c_str()), text.kernel);
            check(with.set_attribute(d_function,
                                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     text.shared_bytes),
                  text.kernel);
        } catch (...) {
            with.unload(d_module);
            throw;
        }
    }
    ~translation()
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        driver::get().unload(d_module);
    }
    translation(const translation&) = delete;
    translation& operator=(const translation&) = delete;

    CUfunction function() const { return d_function; }

private:
    const int d_device;
    CUmodule d_module = nullptr;
    CUfunction d_function = nullptr;
};

//! Room for the LDPC decoder's programs of all codes of DVB-S2 and S2X, more than twice.
//! A translation is smaller than its text.
constexpr size_t most_bytes_of_text = 64 << 20;

//! Never destroyed, because a module can't be unloaded after the driver has shut down.
made_from_text<program_text, translation>& all_translations()
{
    static auto& all = *new made_from_text<program_text, translation>(most_bytes_of_text);
    return all;
}

//! Leaves most cores to flowgraphs, and a translation takes up to 300 MB.
background& translators()
{
    static background threads(
        std::clamp(std::thread::hardware_concurrency() / 4, 1u, 4u));
    return threads;
}

class driver_program : public cuda_program,
                       public std::enable_shared_from_this<driver_program>
{
public:
    driver_program(int device,
                   std::function<std::string()> write,
                   const char* kernel,
                   int shared_bytes)
        : d_device(device), d_kernel(kernel), d_shared_bytes(shared_bytes),
          d_write(std::move(write))
    {
    }

    void prepare() override
    {
        if (is_ready()) {
            return;
        }
        const std::lock_guard<std::mutex> lock(d_guard);
        if (is_ready() || d_is_dropped) {
            return;
        }
        const cuda_device_scope scope(d_device);
        d_translation =
            all_translations().get({ d_device, d_kernel, d_shared_bytes, d_write() },
                                   [](const program_text& text) {
                                       return std::make_shared<const translation>(text);
                                   });
        d_write = nullptr;
        d_ready = true;
    }
    bool is_ready() const override { return d_ready; }
    void prepare_in_background() override
    {
        if (!d_is_asked_for.exchange(true)) {
            translators().add(weak_from_this());
        }
    }

    //! Nobody wants the program any more. Waits for its translation if that is under way,
    //! and lets none begin.
    void drop()
    {
        d_is_dropped = true;
        const std::lock_guard<std::mutex> lock(d_guard);
    }

    void launch(unsigned blocks,
                unsigned threads,
                const void* arguments,
                size_t argument_bytes,
                cudaStream_t stream) override
    {
        prepare();
        void* extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER,
                          const_cast<void*>(arguments),
                          CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &argument_bytes,
                          CU_LAUNCH_PARAM_END };
        check(driver::get().launch(d_translation->function(),
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
    const int d_device;
    const std::string d_kernel;
    const int d_shared_bytes;
    std::mutex d_guard; //!< of what follows, until d_ready
    std::function<std::string()> d_write;
    std::shared_ptr<const translation> d_translation;
    std::atomic<bool> d_ready{ false }, d_is_asked_for{ false }, d_is_dropped{ false };
};

} // namespace

std::shared_ptr<cuda_program> cuda_program::make(std::function<std::string()> write,
                                                 const char* kernel,
                                                 int shared_bytes)
{
    int device = 0;
    cuda_check(cudaGetDevice(&device), "cudaGetDevice");
    const auto program =
        std::make_shared<driver_program>(device, std::move(write), kernel, shared_bytes);
    // The background may hold the program longer than its owners do.
    return { program.get(), [program](cuda_program*) { program->drop(); } };
}

size_t cuda_program::translations() { return translations_asked_for; }

} // namespace gr::cudaphy
