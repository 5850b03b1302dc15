/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/batch_call.h"
#include "bindings/interruptible.h"
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <gnuradio/cudaphy/kernels/triangular_solve.h>

namespace gr::cudaphy::bindings {
namespace {

//! a: (batch, N, N), or interleaved (N, N, batch); x has the same shape.
template <typename T>
py::tuple inverse(const array_argument<T>& a,
                  const std::string& pivoting,
                  const std::string& layout,
                  const std::string& algorithm,
                  bool determinant,
                  bool rcond,
                  const std::string& where,
                  int device)
{
    using plan = kernels::inverse<T>;
    typename plan::parameters p{ static_cast<int>(a.shape(1)) };
    p.pivot = kernels::pivoting_from_name(pivoting);
    p.layout = kernels::matrix_layout_from_name(layout);
    p.algorithm = kernels::inverse_algorithm_from_name(algorithm);
    const placement q(where, device, a);
    auto kernel = plan::make(p, q->where(), q->device());

    const auto batch = a.shape(p.layout == kernels::matrix_layout::interleaved ? 2 : 0);
    batch_call call(q, batch);
    const auto from = call.input(a);
    const auto x = call.template output<T>({ a.shape(0), a.shape(1), a.shape(2) });
    const auto info = call.template output<int>({ batch });
    const auto determinants = call.template output<T>({ determinant ? batch : 0 });
    const auto conditions =
        call.template output<typename plan::real>({ rcond ? batch : 0 });
    scratch workspace(q, kernel->workspace_bytes(batch));
    if (p.layout == kernels::matrix_layout::interleaved) {
        call.keep_whole();
    }
    call.run(double(a.size()) * p.order, batch, [&](size_t first, size_t count) {
        kernel->run(call.part(from, first, count),
                    { call.part(x, first, count),
                      call.part(info, first, count),
                      call.part(determinants, first, count),
                      call.part(conditions, first, count) },
                    workspace,
                    *q);
    });
    py::list results;
    results.append(call.array_of(x));
    results.append(call.array_of(info));
    if (determinant) {
        results.append(call.array_of(determinants));
    }
    if (rcond) {
        results.append(call.array_of(conditions));
    }
    return py::tuple(results);
}

template <typename T>
py::tuple triangular_inverse(const array_argument<T>& a,
                             bool lower,
                             bool unit_diagonal,
                             const std::string& where,
                             int device)
{
    const placement q(where, device, a);
    const auto batch = a.shape(0), order = a.shape(1);
    auto kernel = kernels::triangular_inverse<T>::make(
        { static_cast<int>(order), lower, unit_diagonal }, q->where(), q->device());
    batch_call call(q, batch);
    const auto from = call.input(a);
    const auto x = call.template output<T>({ batch, order, order });
    const auto info = call.template output<int>({ batch });
    call.run(double(a.size()) * order, batch, [&](size_t first, size_t count) {
        kernel->run(call.part(from, first, count),
                    call.part(x, first, count),
                    call.part(info, first, count),
                    *q);
    });
    return py::make_tuple(call.array_of(x), call.array_of(info));
}

//! l: (batch or 1, N, N); b: (batch, N, K).
template <typename T>
py::tuple triangular_solve(const array_argument<T>& l,
                           const array_argument<T>& b,
                           bool lower,
                           bool unit_diagonal,
                           const std::string& where,
                           int device)
{
    const placement q(where, device, l, b);
    const auto batch = b.shape(0), order = l.shape(1), columns = b.shape(2);
    const typename kernels::triangular_solve<T>::parameters p{
        static_cast<int>(order), static_cast<int>(columns), lower, unit_diagonal
    };
    auto kernel = kernels::triangular_solve<T>::make(p, q->where(), q->device());
    input<T> matrices(*q, l), right(*q, b);
    output<T> x(q, { batch, order, columns });
    output<int> info(q, { batch });
    scratch workspace(q, kernel->workspace_bytes(l.shape(0)));
    run_interruptibly(double(b.size()) * order, [&] {
        kernel->run(matrices, right, x, info, workspace, *q);
        q.finish();
    });
    return py::make_tuple(x.result(), info.result());
}

} // namespace

void bind_linalg(py::module& m)
{
    m.def("_inverse_float32", &inverse<float>);
    m.def("_inverse_float64", &inverse<double>);
    m.def("_inverse_complex64", &inverse<std::complex<float>>);
    m.def("_inverse_complex128", &inverse<std::complex<double>>);
    m.def("_triangular_inverse_float32", &triangular_inverse<float>);
    m.def("_triangular_inverse_float64", &triangular_inverse<double>);
    m.def("_triangular_inverse_complex64", &triangular_inverse<std::complex<float>>);
    m.def("_triangular_inverse_complex128", &triangular_inverse<std::complex<double>>);
    m.def("_triangular_solve_float32", &triangular_solve<float>);
    m.def("_triangular_solve_float64", &triangular_solve<double>);
    m.def("_triangular_solve_complex64", &triangular_solve<std::complex<float>>);
    m.def("_triangular_solve_complex128", &triangular_solve<std::complex<double>>);
}

} // namespace gr::cudaphy::bindings
