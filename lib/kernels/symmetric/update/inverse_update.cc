/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/symmetric/update/makers.h"
#include <cmath>

namespace gr::cudaphy::kernels {

template <typename T>
size_t inverse_update_batch(const inverse_update<T>& plan,
                            const typename inverse_update<T>::parameters& p,
                            view<T> x,
                            view<const T> v,
                            view<const typename inverse_update<T>::real> d,
                            typename inverse_update<T>::real forgetting,
                            view<int> status,
                            view<unsigned char> workspace,
                            const queue& queue,
                            backend where)
{
    const size_t n = p.order, k = p.rank;
    const size_t batch = status.size();
    if (x.size() != batch * n * n || v.size() != batch * n * k || d.size() != batch * k ||
        batch > p.batch) {
        throw std::invalid_argument(
            "inverse_update: x has " + std::to_string(x.size()) + " elements, v " +
            std::to_string(v.size()) + ", d " + std::to_string(d.size()) + ", status " +
            std::to_string(batch) + "; up to " + std::to_string(p.batch) +
            " inverses of order " + std::to_string(n) + " and updates of rank " +
            std::to_string(k) + " take batch * " + std::to_string(n * n) +
            " in x, batch * " + std::to_string(n * k) + " in v, batch * " +
            std::to_string(k) + " in d, and batch in status");
    }
    if (!(forgetting > 0) || !std::isfinite(forgetting)) {
        throw std::invalid_argument("inverse_update: forgetting is " +
                                    std::to_string(forgetting) +
                                    ", must be above 0 and finite");
    }
    check_workspace("inverse_update", "plan", workspace.size(), plan.workspace_bytes());
    check_queue("inverse_update", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<inverse_update<T>>
inverse_update<T>::make(const parameters& p, backend where, int device)
{
    if (p.order < 1) {
        throw std::invalid_argument("order is " + std::to_string(p.order) +
                                    ", must be at least 1");
    }
    const int most = p.order < max_rank ? p.order : max_rank;
    if (p.rank < 1 || p.rank > most) {
        throw std::invalid_argument("rank is " + std::to_string(p.rank) +
                                    ", must be 1.." + std::to_string(most) +
                                    " for order " + std::to_string(p.order));
    }
    if (p.batch == 0 || p.batch > (size_t(1) << 62) / sizeof(T) / p.order / p.order) {
        throw std::invalid_argument("batch is " + std::to_string(p.batch) +
                                    ", must be at least 1, and addressable");
    }
    return dispatch(
        where,
        device,
        [&] { return make_inverse_update_reference<T>(p); },
        [&] { return make_inverse_update_cpu<T>(p); },
        [&](int index) { return make_inverse_update_cuda<T>(p, index); });
}

#define CUDAPHY_INSTANTIATE(T)                         \
    template class inverse_update<T>;                  \
    template size_t inverse_update_batch<T>(           \
        const inverse_update<T>&,                      \
        const typename inverse_update<T>::parameters&, \
        view<T>,                                       \
        view<const T>,                                 \
        view<const typename inverse_update<T>::real>,  \
        typename inverse_update<T>::real,              \
        view<int>,                                     \
        view<unsigned char>,                           \
        const queue&,                                  \
        backend);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
