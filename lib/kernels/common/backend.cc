/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cpu_probe.h"
#include "kernels/common/cuda_probe.h"
#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

backend backend_from_name(const std::string& name)
{
    for (const auto where :
         { backend::automatic, backend::cuda, backend::cpu, backend::reference }) {
        if (name == name_of(where)) {
            return where;
        }
    }
    throw std::invalid_argument(
        "backend \"" + name + "\" is none of \"auto\", \"cuda\", \"cpu\", \"reference\"");
}

std::string name_of(backend where)
{
    switch (where) {
    case backend::cuda:
        return "cuda";
    case backend::cpu:
        return "cpu";
    case backend::reference:
        return "reference";
    default:
        return "auto";
    }
}

#ifndef CUDAPHY_HAVE_CUDA
int count_devices() { return 0; }
probed_device probe_device(int)
{
    return {
        {},
        "gr-cudaphy was built without CUDA: install the CUDA toolkit and build it again"
    };
}
#endif

std::vector<device_info> devices()
{
    std::vector<device_info> usable;
    for (int index = 0; index < count_devices(); ++index) {
        const auto found = probe_device(index);
        if (found.problem.empty()) {
            usable.push_back(found.info);
        }
    }
    return usable;
}

std::vector<backend> backends()
{
    std::vector<backend> usable{ backend::cpu, backend::reference };
    if (!devices().empty()) {
        usable.insert(usable.begin(), backend::cuda);
    }
    return usable;
}

resolved_backend resolve(backend wanted, int device)
{
    // A GPU's queue and the reference too have work for the host's vector units.
    static const auto problem_here = problem_of_cpu();
    if (!problem_here.empty()) {
        throw backend_unavailable(problem_here);
    }
    if (wanted == backend::cpu || wanted == backend::reference) {
        return { wanted, 0, "chosen by the caller" };
    }
    const auto found = probe_device(device);
    if (found.problem.empty()) {
        return { backend::cuda, device, found.info.name };
    }
    if (wanted == backend::cuda) {
        throw backend_unavailable("backend \"cuda\" can't be had: " + found.problem);
    }
    return { backend::cpu, 0, found.problem };
}

} // namespace gr::cudaphy
