/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_library.cuh"
#include <cstdlib>
#include <dlfcn.h>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <vector>

namespace gr::cudaphy {

cuda_library::cuda_library(const std::string& name, const int (&versions)[2])
    : d_name("lib" + name)
{
    std::vector<std::string> folders = { "" };
    for (const char* variable : { "CUDA_HOME", "CUDA_PATH" }) {
        if (const char* home = std::getenv(variable)) {
            folders.push_back(std::string(home) + "/lib64/");
        }
    }
    folders.push_back("/usr/local/cuda/lib64/");
    folders.push_back("/opt/cuda/lib64/");
    for (const auto& folder : folders) {
        for (const int version : versions) {
            const auto file = folder + d_name + ".so." + std::to_string(version);
            d_library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (d_library) {
                return;
            }
        }
    }
    throw backend_unavailable(
        d_name + ".so." + std::to_string(versions[0]) + " (or ." +
        std::to_string(versions[1]) +
        ") was not found: install the CUDA toolkit's libraries (packages libcublas and "
        "libcusolver of NVIDIA's repository, or libcublas12 and libcusolver11 of "
        "Debian's), "
        "or name their folder in LD_LIBRARY_PATH");
}

void* cuda_library::address(const char* symbol) const
{
    void* found = dlsym(d_library, symbol);
    if (!found) {
        throw backend_unavailable(d_name + " has no " + symbol +
                                  ": install the library of CUDA 12.4 or later");
    }
    return found;
}

} // namespace gr::cudaphy
