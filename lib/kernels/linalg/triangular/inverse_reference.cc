/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/reference_number.h"
#include "kernels/linalg/triangular/inverse_makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
class triangular_inverse_reference : public triangular_inverse<T>
{
public:
    explicit triangular_inverse_reference(
        const typename triangular_inverse<T>::parameters& p)
        : d_parameters(p), n(p.order), l(n * n), y(n * n)
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const size_t batch = triangular_inverse_batch(
            n, a.size(), x.size(), status.size(), queue, backend::reference);
        const size_t elements = size_t(n) * n;
        for (size_t item = 0; item < batch; ++item) {
            T* to = x.data() + item * elements;
            status[item] = load(a.data() + item * elements);
            std::fill_n(to, elements, T(0));
            if (status[item] == 0) {
                substitute();
                status[item] = store(to);
            }
        }
    }

private:
    using number = typename wider_type<T>::type;

    //! The place of element (i, j) of the lower triangle in the matrix.
    int place(int i, int j) const { return d_parameters.lower ? i * n + j : j * n + i; }

    int load(const T* from)
    {
        bool finite = true;
        int zero = 0;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                if (i == j && d_parameters.unit_diagonal) {
                    l[i * n + i] = 1;
                    continue;
                }
                const T element = from[place(i, j)];
                finite = finite && is_finite(element);
                l[i * n + j] = number(element);
            }
            if (zero == 0 && l[i * n + i] == number(0)) {
                zero = i + 1;
            }
        }
        return finite ? zero : -1;
    }

    //! L y = e_j for every column j, from the top down.
    void substitute()
    {
        for (int j = 0; j < n; ++j) {
            for (int i = j; i < n; ++i) {
                number sum = i == j ? 1 : 0;
                for (int k = j; k < i; ++k) {
                    sum -= plain_product(l[i * n + k], y[j * n + k]);
                }
                y[j * n + i] = sum / l[i * n + i];
            }
        }
    }

    int store(T* to) const
    {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                const T element(y[j * n + i]);
                if (!is_finite(element)) {
                    std::fill_n(to, n * n, T(0));
                    return -1;
                }
                to[place(i, j)] = element;
            }
        }
        return 0;
    }

    typename triangular_inverse<T>::parameters d_parameters;
    int n;
    std::vector<number> l;
    std::vector<number> y; //!< column by column, as they are computed
};

} // namespace

CUDAPHY_HOST_MAKERS(reference, triangular_inverse, triangular_inverse_reference)

} // namespace gr::cudaphy::kernels
