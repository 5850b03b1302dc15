/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/reference_number.h"
#include "kernels/linalg/triangular/solve_makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class triangular_solve_reference : public triangular_solve<T>
{
public:
    explicit triangular_solve_reference(const typename triangular_solve<T>::parameters& p)
        : d_parameters(p), n(p.order), y(p.order)
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
        const auto sizes = triangular_solve_check(
            *this, d_parameters, l, b, x, status, workspace, queue, backend::reference);
        const size_t square = size_t(n) * n, sides = size_t(n) * d_parameters.columns;
        for (size_t item = 0; item < sizes.batch; ++item) {
            const auto right = b.part(item * sides, sides);
            const auto solution = x.part(item * sides, sides);
            status[item] = solve(
                l.data() + (sizes.matrices == 1 ? 0 : item * square), right, solution);
            if (status[item] != 0) {
                std::fill(solution.begin(), solution.end(), T(0));
            }
        }
    }

private:
    using number = typename wider_type<T>::type;

    int solve(const T* l, view<const T> b, view<T> x)
    {
        const auto& [order, columns, lower, unit] = d_parameters;
        bool finite =
            std::all_of(b.begin(), b.end(), [](T element) { return is_finite(element); });
        int zero = 0;
        for (int i = 0; i < n; ++i) {
            for (int j = lower ? 0 : i; j <= (lower ? i : n - 1); ++j) {
                finite = finite && ((unit && i == j) || is_finite(l[i * n + j]));
            }
            if (zero == 0 && !unit && l[i * n + i] == T(0)) {
                zero = i + 1;
            }
        }
        if (!finite || zero != 0) {
            return finite ? zero : -1;
        }
        for (int c = 0; c < columns; ++c) {
            for (int step = 0; step < n; ++step) {
                const int i = lower ? step : n - 1 - step;
                number sum(b[size_t(i) * columns + c]);
                for (int k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) {
                    sum -= number(l[i * n + k]) * y[k];
                }
                y[i] = unit ? sum : sum / number(l[i * n + i]);
                const T element(y[i]);
                if (!is_finite(element)) {
                    return -1;
                }
                x[size_t(i) * columns + c] = element;
            }
        }
        return 0;
    }

    typename triangular_solve<T>::parameters d_parameters;
    int n;
    std::vector<number> y;
};

} // namespace

CUDAPHY_HOST_MAKERS(reference, triangular_solve, triangular_solve_reference)

} // namespace gr::cudaphy::kernels
