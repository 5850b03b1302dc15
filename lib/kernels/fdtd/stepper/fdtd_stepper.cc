/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/makers.h"

namespace gr::cudaphy::kernels {

void fdtd_stepper_check_range(int64_t size, int64_t first, size_t count)
{
    if (first < 0 || first > size || count > size_t(size - first)) {
        throw std::invalid_argument("fdtd_stepper: elements " + std::to_string(first) +
                                    " ... " + std::to_string(first + int64_t(count) - 1) +
                                    " of a state of " + std::to_string(size));
    }
}

void fdtd_stepper_check_gather(size_t elements, size_t values)
{
    if (elements != values) {
        throw std::invalid_argument("fdtd_stepper: " + std::to_string(elements) +
                                    " elements to gather, room for " +
                                    std::to_string(values));
    }
}

std::string fdtd_stepper_memory_error(size_t needed, size_t available, size_t total)
{
    // Fields and matrices grow with the cells, but for the few of a surface.
    const double part = double(available) / double(needed);
    return "fdtd_stepper: the system takes " + std::to_string(needed >> 20) +
           " MiB of the device's memory, available are " +
           std::to_string(available >> 20) + " of " + std::to_string(total >> 20) +
           " MiB: about " + std::to_string(int(100 * part)) + " % of its cells fit";
}

template <typename T>
size_t fdtd_stepper_check(const fdtd_stepper<T>& stepper,
                          size_t max_steps,
                          view<const T> excitation,
                          view<T> probes,
                          view<int64_t> status,
                          const queue& queue,
                          backend where)
{
    const auto sources = stepper.sources(), read = stepper.probes();
    const auto steps = sources ? excitation.size() / sources
                       : read  ? probes.size() / read
                               : 0;
    if (excitation.size() != steps * sources || probes.size() != steps * read) {
        throw std::invalid_argument(
            "fdtd_stepper: the excitation has " + std::to_string(excitation.size()) +
            " values for " + std::to_string(sources) + " sources, the probes have " +
            std::to_string(probes.size()) + " for " + std::to_string(read) +
            ": not the same number of time steps");
    }
    if (steps > max_steps) {
        throw std::invalid_argument("fdtd_stepper: a call of " + std::to_string(steps) +
                                    " time steps, max_steps is " +
                                    std::to_string(max_steps));
    }
    if (status.size() != 1) {
        throw std::invalid_argument("fdtd_stepper: the status has " +
                                    std::to_string(status.size()) + " elements, not 1");
    }
    check_queue("fdtd_stepper", queue, where);
    return steps;
}

template <typename T>
std::unique_ptr<fdtd_stepper<T>> fdtd_stepper<T>::make(const fdtd_system<T>& system,
                                                       const parameters& p,
                                                       backend where,
                                                       int device)
{
    if (p.format == sparse_format::ccs || p.format == sparse_format::bcrs) {
        throw std::invalid_argument("fdtd_stepper: format " + name_of(p.format) +
                                    " is for products only, take crs, subdivided_crs, "
                                    "dictionary or diagonal");
    }
    if (p.max_steps < 1) {
        throw std::invalid_argument("fdtd_stepper: max_steps is 0, must be at least 1");
    }
    system.validate();
    return make_kernel<fdtd_stepper<T>>(where, device, system, p);
}

#define CUDAPHY_INSTANTIATE(T)                                    \
    template class fdtd_stepper<T>;                               \
    template size_t fdtd_stepper_check<T>(const fdtd_stepper<T>&, \
                                          size_t,                 \
                                          view<const T>,          \
                                          view<T>,                \
                                          view<int64_t>,          \
                                          const queue&,           \
                                          backend);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
