/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/makers.h"

namespace gr::cudaphy::kernels {
pivoting pivoting_from_name(const std::string& name)
{
    return value_of_name<pivoting>("pivoting",
                                   name,
                                   { { "full", pivoting::full },
                                     { "partial", pivoting::partial },
                                     { "none", pivoting::none } });
}

matrix_layout matrix_layout_from_name(const std::string& name)
{
    return value_of_name<matrix_layout>(
        "layout",
        name,
        { { "row_major", matrix_layout::row_major },
          { "interleaved", matrix_layout::interleaved } });
}

inverse_algorithm inverse_algorithm_from_name(const std::string& name)
{
    return value_of_name<inverse_algorithm>("algorithm",
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
    check_sizes("inverse",
                a.size() % elements == 0 && out.x.size() == a.size() &&
                    out.status.size() == batch && fits(out.determinant.size()) &&
                    fits(out.rcond.size()),
                { { "a", a.size() },
                  { "x", out.x.size() },
                  { "status", out.status.size() },
                  { "determinant", out.determinant.size() },
                  { "rcond", out.rcond.size() } },
                "batch matrices of order " + std::to_string(order) + " take batch * " +
                    std::to_string(elements) +
                    " in a and in x, batch in status, and batch or none in the others");
    check_workspace("inverse", "batch", workspace.size(), plan.workspace_bytes(batch));
    check_queue("inverse", queue, where);
    return batch;
}

template <typename T>
std::unique_ptr<inverse<T>>
inverse<T>::make(const parameters& p, backend where, int device)
{
    check_range("order", p.order, max_order);
    check_enum("pivoting", "pivoting", p.pivot, pivoting::full, pivoting::none);
    if (p.algorithm == inverse_algorithm::patent &&
        (p.pivot != pivoting::full || p.layout != matrix_layout::row_major ||
         p.order > 32)) {
        throw std::invalid_argument("algorithm 'patent' pivots fully, takes matrices row "
                                    "by row, and orders up to 32");
    }
    return make_kernel<inverse<T>>(where, device, p);
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
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_INSTANTIATE)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
