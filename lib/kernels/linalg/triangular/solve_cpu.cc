/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/triangular/panels.h"
#include "kernels/linalg/triangular/solve_makers.h"

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class triangular_solve_cpu : public triangular_solve<T>
{
public:
    explicit triangular_solve_cpu(const typename triangular_solve<T>::parameters& p)
        : d_parameters(p)
    {
    }

    size_t workspace_bytes(size_t) const override { return 0; }

    void run(view<const T> l,
             view<const T> b,
             view<T> x,
             view<int> status,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const auto& p = d_parameters;
        const auto sizes = triangular_solve_check(
            *this, p, l, b, x, status, workspace, queue, backend::cpu);
        const bool same_l = sizes.matrices == 1;
        triangular_panels<T>{ p.order,  p.lower,  p.unit_diagonal, p.columns,    same_l,
                              l.data(), b.data(), x.data(),        status.data() }
            .run(sizes.batch);
    }

private:
    typename triangular_solve<T>::parameters d_parameters;
};

} // namespace

template <typename T>
std::unique_ptr<triangular_solve<T>>
make_triangular_solve_cpu(const typename triangular_solve<T>::parameters& p)
{
    return std::make_unique<triangular_solve_cpu<T>>(p);
}

template std::unique_ptr<triangular_solve<float>>
make_triangular_solve_cpu<float>(const triangular_solve<float>::parameters&);
template std::unique_ptr<triangular_solve<double>>
make_triangular_solve_cpu<double>(const triangular_solve<double>::parameters&);
template std::unique_ptr<triangular_solve<std::complex<float>>>
make_triangular_solve_cpu<std::complex<float>>(
    const triangular_solve<std::complex<float>>::parameters&);
template std::unique_ptr<triangular_solve<std::complex<double>>>
make_triangular_solve_cpu<std::complex<double>>(
    const triangular_solve<std::complex<double>>::parameters&);

} // namespace gr::cudaphy::kernels
