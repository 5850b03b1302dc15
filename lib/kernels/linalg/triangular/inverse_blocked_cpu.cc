/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/triangular/inverse_makers.h"
#include "kernels/linalg/triangular/panels.h"

namespace gr::cudaphy::kernels {
namespace {

//! L X = 1 by panels of columns. In place, one core takes the whole of a matrix.
template <typename T>
class triangular_inverse_blocked_cpu : public triangular_inverse_blocked<T>
{
public:
    explicit triangular_inverse_blocked_cpu(
        const typename triangular_inverse<T>::parameters& p)
        : d_parameters(p)
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const auto& p = d_parameters;
        const size_t batch = triangular_inverse_batch(
            p.order, a.size(), x.size(), status.size(), queue, backend::cpu);
        triangular_panels<T>{ p.order,  p.lower, p.unit_diagonal, p.order,      false,
                              a.data(), nullptr, x.data(),        status.data() }
            .run(batch);
    }

private:
    typename triangular_inverse<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(cpu, triangular_inverse_blocked, triangular_inverse_blocked_cpu)

} // namespace gr::cudaphy::kernels
