/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

namespace gr::cudaphy::bindings {
namespace {

template <typename T>
py::tuple inverse(const numpy_array<T>& a,
                  const std::string& pivoting,
                  const std::string& where,
                  int device)
{
    auto q = queue::make(backend_from_name(where), device);
    const auto batch = a.shape(0), order = a.shape(1);
    auto kernel = kernels::inverse<T>::make(
        { static_cast<int>(order), kernels::pivoting_from_name(pivoting) },
        q->where(),
        q->device());
    input<T> from(*q, a);
    output<T> x(*q, { batch, order, order });
    output<int> info(*q, { batch });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(from, x, info, *q);
        q->synchronize();
    }
    return py::make_tuple(x.result(), info.result());
}

template <typename T>
py::tuple triangular_inverse(const numpy_array<T>& a,
                             bool lower,
                             bool unit_diagonal,
                             const std::string& where,
                             int device)
{
    auto q = queue::make(backend_from_name(where), device);
    const auto batch = a.shape(0), order = a.shape(1);
    auto kernel = kernels::triangular_inverse<T>::make(
        { static_cast<int>(order), lower, unit_diagonal }, q->where(), q->device());
    input<T> from(*q, a);
    output<T> x(*q, { batch, order, order });
    output<int> info(*q, { batch });
    {
        py::gil_scoped_release others_may_run;
        kernel->run(from, x, info, *q);
        q->synchronize();
    }
    return py::make_tuple(x.result(), info.result());
}

} // namespace

void bind_linalg(py::module& m)
{
    m.def("_inverse_complex64", &inverse<complex64>);
    m.def("_inverse_float32", &inverse<float>);
    m.def("_triangular_inverse_float32", &triangular_inverse<float>);
    m.def("_triangular_inverse_float64", &triangular_inverse<double>);
    m.def("_triangular_inverse_complex64", &triangular_inverse<std::complex<float>>);
    m.def("_triangular_inverse_complex128", &triangular_inverse<std::complex<double>>);
}

} // namespace gr::cudaphy::bindings
