/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include <type_traits>

namespace gr::cudaphy {

//! Inverts the square matrices of a batch by Kernel<T>, one matrix an item. A kernel that
//! has workspace_bytes() gets a workspace.
template <template <typename> class Kernel, typename T>
class matrix_job : public batch_job
{
public:
    using parameters = typename Kernel<T>::parameters;

    matrix_job(const parameters& p, const queue& work_queue)
        : d_items(p.order * p.order),
          d_kernel(Kernel<T>::make(p, work_queue.where(), work_queue.device()))
    {
    }
    void run(const batch& work, queue& work_queue) override
    {
        const auto a = work.input<T>(0, d_items);
        const auto x = work.output<T>(0, d_items);
        const view<int> status{ work.status, size_t(work.frames) };
        if constexpr (has_workspace<Kernel<T>>::value) {
            const size_t needed = d_kernel->workspace_bytes(work.frames);
            if (d_workspace.size() < needed) {
                work_queue.synchronize(); // kernels may still use the old workspace
                d_workspace = array<unsigned char>(work_queue, needed);
            }
            d_kernel->run(a, { x, status }, d_workspace, work_queue);
        } else {
            d_kernel->run(a, x, status, work_queue);
        }
    }

private:
    template <typename K, typename = void>
    struct has_workspace : std::false_type {
    };
    template <typename K>
    struct has_workspace<K, std::void_t<decltype(&K::workspace_bytes)>> : std::true_type {
    };

    const size_t d_items;
    std::unique_ptr<Kernel<T>> d_kernel;
    array<unsigned char> d_workspace;
};

//! The job of a block whose elements are complex or real: `parameters` are those of the
//! kernel.
template <template <typename> class Kernel, typename... Parameters>
std::unique_ptr<batch_job>
make_matrix_job(bool is_complex, const queue& work_queue, const Parameters&... parameters)
{
    if (is_complex) {
        using job = matrix_job<Kernel, complex64>;
        return std::make_unique<job>(typename job::parameters{ parameters... },
                                     work_queue);
    }
    using job = matrix_job<Kernel, float>;
    return std::make_unique<job>(typename job::parameters{ parameters... }, work_queue);
}

} // namespace gr::cudaphy
