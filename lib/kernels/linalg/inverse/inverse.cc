/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/linalg/inverse/makers.h"

namespace gr::cudaphy::kernels {
namespace {

template <typename Choice>
Choice from_name(const std::string& what,
                 const std::string& name,
                 std::initializer_list<std::pair<const char*, Choice>> choices)
{
    std::string names;
    for (const auto& [known, choice] : choices) {
        if (name == known) {
            return choice;
        }
        names += (names.empty() ? "'" : ", '") + std::string(known) + "'";
    }
    throw std::invalid_argument(what + " is '" + name + "', must be one of " + names);
}

} // namespace

pivoting pivoting_from_name(const std::string& name)
{
    return from_name<pivoting>("pivoting",
                               name,
                               { { "full", pivoting::full },
                                 { "partial", pivoting::partial },
                                 { "none", pivoting::none } });
}

matrix_layout matrix_layout_from_name(const std::string& name)
{
    return from_name<matrix_layout>("layout",
                                    name,
                                    { { "row_major", matrix_layout::row_major },
                                      { "interleaved", matrix_layout::interleaved } });
}

inverse_algorithm inverse_algorithm_from_name(const std::string& name)
{
    return from_name<inverse_algorithm>("algorithm",
                                        name,
                                        { { "fastest", inverse_algorithm::fastest },
                                          { "patent", inverse_algorithm::patent } });
}

template <typename T>
size_t inverse_batch(const inverse<T>& plan,
                     int order,
                     view<const T> a,
                     const typename inverse<T>::results& out,
                     view<unsigned char> workspace,
                     const queue& queue,
                     backend where)
{
    const size_t elements = size_t(order) * order;
    const size_t batch = a.size() / elements;
    const auto fits = [batch](size_t size) { return size == batch || size == 0; };
    if (a.size() % elements != 0 || out.x.size() != a.size() ||
        out.status.size() != batch || !fits(out.determinant.size()) ||
        !fits(out.rcond.size())) {
        throw std::invalid_argument(
            "inverse: a has " + std::to_string(a.size()) + " elements, x " +
            std::to_string(out.x.size()) + ", status " +
            std::to_string(out.status.size()) + ", determinant " +
            std::to_string(out.determinant.size()) + ", rcond " +
            std::to_string(out.rcond.size()) + "; batch matrices of order " +
            std::to_string(order) + " take batch * " + std::to_string(elements) +
            " in a and in x, batch in status, and batch or none in the others");
    }
    check_workspace("inverse", "batch", workspace.size(), plan.workspace_bytes(batch));
    check_queue("inverse", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<inverse<T>>
inverse<T>::make(const parameters& p, backend where, int device)
{
    if (p.order < 1 || p.order > max_order) {
        throw std::invalid_argument("order is " + std::to_string(p.order) +
                                    ", must be 1.." + std::to_string(max_order));
    }
    if (p.pivot < pivoting::full || p.pivot > pivoting::none) {
        throw std::invalid_argument("pivoting is " + std::to_string(int(p.pivot)) +
                                    ", must be a value of enum pivoting");
    }
    if (p.algorithm == inverse_algorithm::patent &&
        (p.pivot != pivoting::full || p.layout != matrix_layout::row_major ||
         p.order > 32)) {
        throw std::invalid_argument("algorithm 'patent' pivots fully, takes matrices row "
                                    "by row, and orders up to 32");
    }
    return dispatch(
        where,
        device,
        [&] { return make_inverse_reference<T>(p); },
        [&] { return make_inverse_cpu<T>(p); },
        [&](int index) { return make_inverse_cuda<T>(p, index); });
}

#define CUDAPHY_INSTANTIATE(T)                                            \
    template class inverse<T>;                                            \
    template size_t inverse_batch<T>(const inverse<T>&,                   \
                                     int,                                 \
                                     view<const T>,                       \
                                     const typename inverse<T>::results&, \
                                     view<unsigned char>,                 \
                                     const queue&,                        \
                                     backend);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
