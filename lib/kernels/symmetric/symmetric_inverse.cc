/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/symmetric_inverse_makers.h"

namespace gr::cudaphy::kernels {

symmetric_algorithm symmetric_algorithm_from_name(const std::string& name)
{
    return value_of_name<symmetric_algorithm>(
        "algorithm",
        name,
        { { "blocked", symmetric_algorithm::blocked },
          { "bordering", symmetric_algorithm::bordering } });
}

definiteness definiteness_from_name(const std::string& name)
{
    return value_of_name<definiteness>(
        "definite",
        name,
        { { "unknown", definiteness::unknown }, { "positive", definiteness::positive } });
}

template <typename T>
size_t symmetric_inverse_batch(const symmetric_inverse<T>& plan,
                               const typename symmetric_inverse<T>::parameters& p,
                               view<const T> a,
                               const typename symmetric_inverse<T>::results& out,
                               view<unsigned char> workspace,
                               const queue& queue,
                               backend where)
{
    const size_t elements = size_t(p.order) * p.order;
    const size_t batch = a.size() / elements;
    const auto fits = [batch](size_t size) { return size == batch || size == 0; };
    check_sizes(
        "symmetric_inverse",
        a.size() % elements == 0 && out.x.size() == a.size() &&
            out.status.size() == batch && fits(out.residual.size()) &&
            fits(out.refinements.size()) && fits(out.rcond.size()) && batch <= p.batch,
        { { "a", a.size() },
          { "x", out.x.size() },
          { "status", out.status.size() },
          { "residual", out.residual.size() },
          { "refinements", out.refinements.size() },
          { "rcond", out.rcond.size() } },
        "up to " + std::to_string(p.batch) + " matrices of order " +
            std::to_string(p.order) + " take batch * " + std::to_string(elements) +
            " in a and in x, batch in status, and batch or none in the others");
    check_workspace(
        "symmetric_inverse", "plan", workspace.size(), plan.workspace_bytes());
    check_queue("symmetric_inverse", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
symmetric_inverse<T>::make(const parameters& p, backend where, int device)
{
    check_order_and_batch<T>(p.order, p.batch);
    check_enum("algorithm",
               "symmetric_algorithm",
               p.algorithm,
               symmetric_algorithm::blocked,
               symmetric_algorithm::bordering);
    check_enum("definite",
               "definiteness",
               p.definite,
               definiteness::unknown,
               definiteness::positive);
    return make_kernel<symmetric_inverse<T>>(where, device, p);
}

#define CUDAPHY_INSTANTIATE(T)                            \
    template class symmetric_inverse<T>;                  \
    template size_t symmetric_inverse_batch<T>(           \
        const symmetric_inverse<T>&,                      \
        const typename symmetric_inverse<T>::parameters&, \
        view<const T>,                                    \
        const typename symmetric_inverse<T>::results&,    \
        view<unsigned char>,                              \
        const queue&,                                     \
        backend);
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_INSTANTIATE)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
