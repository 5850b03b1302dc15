/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/interruptible.h"
#include <gnuradio/cudaphy/kernels/inverse_update.h>
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>
#include <gnuradio/cudaphy/kernels/symmetry.h>

namespace gr::cudaphy::bindings {
namespace {

//! a: (batch, n, n)
template <typename T>
py::tuple symmetric_inverse(const numpy_array<T>& a,
                            const std::string& definite,
                            const std::string& algorithm,
                            bool residual,
                            bool rcond,
                            const std::string& where,
                            int device)
{
    using plan = kernels::symmetric_inverse<T>;
    const auto batch = a.shape(0), order = a.shape(1);
    typename plan::parameters p{ static_cast<int>(order) };
    p.batch = std::max<size_t>(batch, 1);
    p.definite = kernels::definiteness_from_name(definite);
    p.algorithm = kernels::symmetric_algorithm_from_name(algorithm);
    auto q = queue::make(backend_from_name(where), device);
    auto kernel = plan::make(p, q->where(), q->device());
    input<T> from(*q, a);
    output<T> x(*q, { batch, order, order });
    output<int> info(*q, { batch });
    output<typename plan::real> residuals(*q, { residual ? batch : 0 });
    output<typename plan::real> conditions(*q, { rcond ? batch : 0 });
    array<unsigned char> workspace(*q, kernel->workspace_bytes());
    run_interruptibly(double(batch) * order * order * order, [&] {
        kernel->run(from, { x, info, residuals, {}, conditions }, workspace, *q);
        q->synchronize();
    });
    py::list results;
    results.append(x.result());
    results.append(info.result());
    if (residual) {
        results.append(residuals.result());
    }
    if (rcond) {
        results.append(conditions.result());
    }
    return py::tuple(results);
}

template <typename T>
py::object first_asymmetry(const numpy_array<T>& a)
{
    const auto pair = kernels::first_asymmetry<T>(
        { a.data(), static_cast<size_t>(a.size()) }, static_cast<int>(a.shape(0)));
    return pair ? py::object(py::make_tuple(pair->first, pair->second)) : py::none();
}

//! x: (batch, n, n), v: (batch, n, k), d: (batch, k)
template <typename T>
py::tuple inverse_update(const numpy_array<T>& x,
                         const numpy_array<T>& v,
                         const numpy_array<typename kernels::inverse_update<T>::real>& d,
                         double forgetting,
                         const std::string& where,
                         int device)
{
    using plan = kernels::inverse_update<T>;
    const auto batch = x.shape(0), order = x.shape(1);
    typename plan::parameters p{ static_cast<int>(order), static_cast<int>(v.shape(2)) };
    p.batch = std::max<size_t>(batch, 1);
    auto q = queue::make(backend_from_name(where), device);
    auto kernel = plan::make(p, q->where(), q->device());
    array<T> updated(*q, { x.data(), static_cast<size_t>(x.size()) });
    input<T> columns(*q, v);
    input<typename plan::real> weights(*q, d);
    output<int> info(*q, { batch });
    array<unsigned char> workspace(*q, kernel->workspace_bytes());
    numpy_array<T> result({ batch, order, order });
    run_interruptibly(double(x.size()) * (v.shape(2) + 1), [&] {
        kernel->run(updated,
                    columns,
                    weights,
                    static_cast<typename plan::real>(forgetting),
                    info,
                    workspace,
                    *q);
        q->synchronize();
    });
    if (updated.size()) {
        q->copy_out(result.mutable_data(), updated.data(), updated.size() * sizeof(T));
    }
    return py::make_tuple(result, info.result());
}

template <typename T>
void bind(py::module& m, const std::string& kind)
{
    m.def(("_symmetric_inverse_" + kind).c_str(), &symmetric_inverse<T>);
    m.def(("_first_asymmetry_" + kind).c_str(), &first_asymmetry<T>);
    m.def(("_inverse_update_" + kind).c_str(), &inverse_update<T>);
}

} // namespace

void bind_symmetric(py::module& m)
{
    bind<float>(m, "float32");
    bind<double>(m, "float64");
    bind<std::complex<float>>(m, "complex64");
    bind<std::complex<double>>(m, "complex128");
}

} // namespace gr::cudaphy::bindings
