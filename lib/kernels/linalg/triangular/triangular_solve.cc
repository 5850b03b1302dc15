/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include "kernels/linalg/triangular/solve_makers.h"

namespace gr::cudaphy::kernels {
namespace {

void check_range(const char* name, int value, int most)
{
    if (value < 1 || value > most) {
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    ", must be 1.." + std::to_string(most));
    }
}

} // namespace

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
    if (l.size() % square != 0 || (matrices != 1 && matrices != batch) ||
        b.size() != batch * sides || x.size() != b.size()) {
        throw std::invalid_argument(
            "triangular_solve: l has " + std::to_string(l.size()) + " elements, b " +
            std::to_string(b.size()) + ", x " + std::to_string(x.size()) + ", status " +
            std::to_string(batch) + "; that many items of order " +
            std::to_string(p.order) + " with " + std::to_string(p.columns) +
            " columns take " + std::to_string(square) + " for each item or once in l, " +
            std::to_string(sides) + " for each in b and in x");
    }
    if (workspace.size() < kernel.workspace_bytes(matrices)) {
        throw std::invalid_argument(
            "triangular_solve: the workspace has " + std::to_string(workspace.size()) +
            " bytes, needed are " + std::to_string(kernel.workspace_bytes(matrices)));
    }
    check_queue("triangular_solve", queue, where);
    return { batch, matrices };
}

template <typename T>
std::unique_ptr<triangular_solve<T>>
triangular_solve<T>::make(const parameters& p, backend where, int device)
{
    check_range("order", p.order, max_order);
    check_range("columns", p.columns, max_columns);
    return dispatch(
        where,
        device,
        [&] { return make_triangular_solve_reference<T>(p); },
        [&] { return make_triangular_solve_cpu<T>(p); },
        [&](int index) { return make_triangular_solve_cuda<T>(p, index); });
}

#define CUDAPHY_INSTANTIATE(T)                                 \
    template class triangular_solve<T>;                        \
    template triangular_solve_sizes triangular_solve_check<T>( \
        const triangular_solve<T>&,                            \
        const triangular_solve<T>::parameters&,                \
        view<const T>,                                         \
        view<const T>,                                         \
        view<T>,                                               \
        view<int>,                                             \
        view<unsigned char>,                                   \
        const queue&,                                          \
        backend);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(std::complex<float>)
CUDAPHY_INSTANTIATE(std::complex<double>)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
