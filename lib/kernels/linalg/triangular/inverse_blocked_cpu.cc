/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/triangular/inverse_makers.h"
#include "kernels/linalg/triangular/panels.h"

namespace gr::cudaphy::kernels {
namespace {

//! L X = 1 by panels of columns. In place, one core takes the whole of a matrix.
template <typename T>
class triangular_inverse_blocked_cpu : public triangular_inverse<T>
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

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_blocked_cpu(const typename triangular_inverse<T>::parameters& p)
{
    return std::make_unique<triangular_inverse_blocked_cpu<T>>(p);
}

template std::unique_ptr<triangular_inverse<float>>
make_triangular_inverse_blocked_cpu<float>(const triangular_inverse<float>::parameters&);
template std::unique_ptr<triangular_inverse<double>>
make_triangular_inverse_blocked_cpu<double>(
    const triangular_inverse<double>::parameters&);
template std::unique_ptr<triangular_inverse<std::complex<float>>>
make_triangular_inverse_blocked_cpu<std::complex<float>>(
    const triangular_inverse<std::complex<float>>::parameters&);
template std::unique_ptr<triangular_inverse<std::complex<double>>>
make_triangular_inverse_blocked_cpu<std::complex<double>>(
    const triangular_inverse<std::complex<double>>::parameters&);

} // namespace gr::cudaphy::kernels
