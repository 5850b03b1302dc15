/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"

namespace gr::cudaphy::kernels {

symmetric_algorithm symmetric_algorithm_from_name(const std::string& name)
{
    if (name == "blocked") {
        return symmetric_algorithm::blocked;
    }
    if (name == "bordering") {
        return symmetric_algorithm::bordering;
    }
    throw std::invalid_argument("algorithm is '" + name +
                                "', must be one of 'blocked', 'bordering'");
}

definiteness definiteness_from_name(const std::string& name)
{
    if (name == "unknown") {
        return definiteness::unknown;
    }
    if (name == "positive") {
        return definiteness::positive;
    }
    throw std::invalid_argument("definite is '" + name +
                                "', must be one of 'unknown', 'positive'");
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
    if (a.size() % elements != 0 || out.x.size() != a.size() ||
        out.status.size() != batch || !fits(out.residual.size()) ||
        !fits(out.refinements.size()) || !fits(out.rcond.size()) || batch > p.batch) {
        throw std::invalid_argument(
            "symmetric_inverse: a has " + std::to_string(a.size()) + " elements, x " +
            std::to_string(out.x.size()) + ", status " +
            std::to_string(out.status.size()) + ", residual " +
            std::to_string(out.residual.size()) + ", refinements " +
            std::to_string(out.refinements.size()) + ", rcond " +
            std::to_string(out.rcond.size()) + "; up to " + std::to_string(p.batch) +
            " matrices of order " + std::to_string(p.order) + " take batch * " +
            std::to_string(elements) +
            " in a and in x, batch in status, and batch or none in the others");
    }
    check_workspace(
        "symmetric_inverse", "plan", workspace.size(), plan.workspace_bytes());
    check_queue("symmetric_inverse", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
symmetric_inverse<T>::make(const parameters& p, backend where, int device)
{
    if (p.order < 1) {
        throw std::invalid_argument("order is " + std::to_string(p.order) +
                                    ", must be at least 1");
    }
    if (p.batch == 0 || p.batch > (size_t(1) << 62) / sizeof(T) / p.order / p.order) {
        throw std::invalid_argument("batch is " + std::to_string(p.batch) +
                                    ", must be at least 1, and addressable");
    }
    if (p.algorithm < symmetric_algorithm::blocked ||
        p.algorithm > symmetric_algorithm::bordering) {
        throw std::invalid_argument("algorithm is " + std::to_string(int(p.algorithm)) +
                                    ", must be a value of enum symmetric_algorithm");
    }
    if (p.definite < definiteness::unknown || p.definite > definiteness::positive) {
        throw std::invalid_argument("definite is " + std::to_string(int(p.definite)) +
                                    ", must be a value of enum definiteness");
    }
    return dispatch(
        where,
        device,
        [&] { return make_symmetric_inverse_reference<T>(p); },
        [&] { return make_symmetric_inverse_cpu<T>(p); },
        [&](int index) { return make_symmetric_inverse_cuda<T>(p, index); });
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
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
