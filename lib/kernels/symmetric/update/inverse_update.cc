/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/symmetric_inverse_makers.h"
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
    check_sizes(
        "inverse_update",
        x.size() == batch * n * n && v.size() == batch * n * k && d.size() == batch * k &&
            batch <= p.batch,
        { { "x", x.size() }, { "v", v.size() }, { "d", d.size() }, { "status", batch } },
        "up to " + std::to_string(p.batch) + " inverses of order " + std::to_string(n) +
            " and updates of rank " + std::to_string(k) + " take batch * " +
            std::to_string(n * n) + " in x, batch * " + std::to_string(n * k) +
            " in v, batch * " + std::to_string(k) + " in d, and batch in status");
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
    check_order_and_batch<T>(p.order, p.batch);
    const int most = p.order < max_rank ? p.order : max_rank;
    if (p.rank < 1 || p.rank > most) {
        throw std::invalid_argument("rank is " + std::to_string(p.rank) +
                                    ", must be 1.." + std::to_string(most) +
                                    " for order " + std::to_string(p.order));
    }
    return make_kernel<inverse_update<T>>(where, device, p);
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
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_INSTANTIATE)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
