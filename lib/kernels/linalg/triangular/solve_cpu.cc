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

CUDAPHY_HOST_MAKERS(cpu, triangular_solve, triangular_solve_cpu)

} // namespace gr::cudaphy::kernels
