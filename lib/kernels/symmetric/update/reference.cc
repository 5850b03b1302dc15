/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/reference_number.h"
#include "kernels/symmetric/numbers.h"
#include "kernels/symmetric/update/makers.h"
#include <algorithm>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

//! Woodbury's formula as printed, in wider numbers.
template <typename T>
class inverse_update_reference : public inverse_update<T>
{
public:
    using real = typename inverse_update<T>::real;

    explicit inverse_update_reference(const typename inverse_update<T>::parameters& p)
        : d_parameters(p)
    {
    }

    size_t workspace_bytes() const override { return 0; }

    void run(view<T> x,
             view<const T> v,
             view<const real> d,
             real forgetting,
             view<int> status,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t n = d_parameters.order, k = d_parameters.rank;
        const size_t batch = inverse_update_batch(*this,
                                                  d_parameters,
                                                  x,
                                                  v,
                                                  d,
                                                  forgetting,
                                                  status,
                                                  workspace,
                                                  queue,
                                                  backend::reference);
        for (size_t item = 0; item < batch; ++item) {
            status[item] = update(x.data() + item * n * n,
                                  v.data() + item * n * k,
                                  d.data() + item * k,
                                  forgetting);
        }
    }

private:
    using number = typename wider_type<T>::type;
    using wide_real = decltype(std::abs(number()));

    int update(T* x, const T* v, const real* d, real forgetting) const
    {
        const int n = d_parameters.order, k = d_parameters.rank;
        // W = X V / forgetting.
        std::vector<number> w(size_t(n) * k), small(size_t(k) * k);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                const auto element = number(x[size_t(i) * n + j]) / wide_real(forgetting);
                for (int c = 0; c < k; ++c) {
                    w[size_t(i) * k + c] += element * number(v[size_t(j) * k + c]);
                }
            }
        }
        // small = I + D V^H W replaces Woodbury's D^-1 + V^H W, so that a d of zero
        // changes nothing.
        bool finite = true;
        wide_real noise = 1; // an element's rounding error, in T's eps
        for (int p = 0; p < k; ++p) {
            for (int q = 0; q < k; ++q) {
                number sum = 0;
                wide_real size = 0;
                for (int i = 0; i < n; ++i) {
                    const auto term =
                        adjoint(number(v[size_t(i) * k + p])) * w[size_t(i) * k + q];
                    sum += term;
                    size += std::abs(term);
                }
                noise = std::max(noise, std::abs(wide_real(d[p])) * size);
                small[p * k + q] = wide_real(d[p]) * sum + number(p == q ? 1 : 0);
                finite = finite && is_finite(small[p * k + q]);
            }
        }
        if (!finite) {
            return -1;
        }
        // c = small^-1 D W^H, by elimination with partial pivoting.
        std::vector<number> c(size_t(k) * n);
        for (int p = 0; p < k; ++p) {
            for (int j = 0; j < n; ++j) {
                c[size_t(p) * n + j] = wide_real(d[p]) * adjoint(w[size_t(j) * k + p]);
            }
        }
        for (int p = 0; p < k; ++p) {
            int pivot = p;
            for (int q = p; q < k; ++q) {
                if (std::abs(small[q * k + p]) > std::abs(small[pivot * k + p])) {
                    pivot = q;
                }
            }
            // The matrix is singular to T's precision.
            if (std::abs(small[pivot * k + p]) <=
                8 * noise * std::numeric_limits<real>::epsilon()) {
                return 1;
            }
            std::swap_ranges(&small[p * k], &small[p * k] + k, &small[pivot * k]);
            std::swap_ranges(c.begin() + size_t(p) * n,
                             c.begin() + size_t(p + 1) * n,
                             c.begin() + size_t(pivot) * n);
            for (int q = 0; q < k; ++q) {
                if (q == p) {
                    continue;
                }
                const number factor = small[q * k + p] / small[p * k + p];
                for (int j = p; j < k; ++j) {
                    small[q * k + j] -= factor * small[p * k + j];
                }
                for (int j = 0; j < n; ++j) {
                    c[size_t(q) * n + j] -= factor * c[size_t(p) * n + j];
                }
            }
        }
        for (int p = 0; p < k; ++p) {
            for (int j = 0; j < n; ++j) {
                c[size_t(p) * n + j] /= small[p * k + p];
            }
        }
        std::vector<T> updated(size_t(n) * n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                auto element = number(x[size_t(i) * n + j]) / wide_real(forgetting);
                for (int p = 0; p < k; ++p) {
                    element -= w[size_t(i) * k + p] * c[size_t(p) * n + j];
                }
                const T rounded = i == j ? T(std::real(element)) : T(element);
                if (!is_finite(rounded)) {
                    return -1;
                }
                updated[size_t(i) * n + j] = rounded;
                updated[size_t(j) * n + i] = adjoint(rounded);
            }
        }
        std::copy(updated.begin(), updated.end(), x);
        return 0;
    }

    typename inverse_update<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(reference, inverse_update, inverse_update_reference)

} // namespace gr::cudaphy::kernels
