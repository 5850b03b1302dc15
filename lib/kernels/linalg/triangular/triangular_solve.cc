/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/triangular/solve_makers.h"

namespace gr::cudaphy::kernels {

template <typename T>
triangular_solve_sizes
triangular_solve_check(const triangular_solve<T>& kernel,
                       const typename triangular_solve<T>::parameters& p,
                       view<const T> l,
                       view<const T> b,
                       view<T> x,
                       view<int> status,
                       view<unsigned char> workspace,
                       const queue& queue,
                       backend where)
{
    const size_t square = size_t(p.order) * p.order;
    const size_t sides = size_t(p.order) * p.columns;
    const size_t batch = status.size();
    const size_t matrices = l.size() / square;
    check_sizes(
        "triangular_solve",
        l.size() % square == 0 && (matrices == 1 || matrices == batch) &&
            b.size() == batch * sides && x.size() == b.size(),
        { { "l", l.size() }, { "b", b.size() }, { "x", x.size() }, { "status", batch } },
        "that many items of order " + std::to_string(p.order) + " with " +
            std::to_string(p.columns) + " columns take " + std::to_string(square) +
            " for each item or once in l, " + std::to_string(sides) +
            " for each in b and in x");
    check_workspace(
        "triangular_solve", "batch", workspace.size(), kernel.workspace_bytes(matrices));
    check_queue("triangular_solve", queue, where);
    return { batch, matrices };
}

template <typename T>
std::unique_ptr<triangular_solve<T>>
triangular_solve<T>::make(const parameters& p, backend where, int device)
{
    check_range("order", p.order, max_order);
    check_range("columns", p.columns, max_columns);
    return make_kernel<triangular_solve<T>>(where, device, p);
}

#define CUDAPHY_INSTANTIATE(T)                                 \
    template class triangular_solve<T>;                        \
    template triangular_solve_sizes triangular_solve_check<T>( \
        const triangular_solve<T>&,                            \
        const typename triangular_solve<T>::parameters&,       \
        view<const T>,                                         \
        view<const T>,                                         \
        view<T>,                                               \
        view<int>,                                             \
        view<unsigned char>,                                   \
        const queue&,                                          \
        backend);
CUDAPHY_FOR_NUMBER_TYPES(CUDAPHY_INSTANTIATE)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
