/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse_makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
struct double_of {
    using type = double;
};
template <>
struct double_of<complex64> {
    using type = std::complex<double>;
};

bool is_finite(float value) { return std::isfinite(value); }
template <typename T>
bool is_finite(const std::complex<T>& value)
{
    return std::isfinite(value.real()) && std::isfinite(value.imag());
}

template <typename T>
bool is_finite(const T* first, size_t count)
{
    return std::all_of(first, first + count, [](const T& v) { return is_finite(v); });
}

//! One matrix in double precision, in the letters of the patent: is and js keep the
//! pivots' rows and columns.
template <typename Number>
class gauss_jordan
{
public:
    gauss_jordan(int order, pivoting pivot) : n(order), d_pivot(pivot), a(n * n) {}

    Number* elements() { return a.data(); }

    //! 0, or the step 1..N that found no pivot other than 0.
    int invert()
    {
        for (int k = 0; k < n; ++k) {
            find_pivot(k);
            swap_rows(k, is[k]);
            swap_columns(k, js[k]);
            if (at(k, k) == Number(0)) {
                return k + 1;
            }
            eliminate(k);
        }
        // (P A Q)^-1 = Q^-1 A^-1 P^-1: a swap of A's rows is undone on the columns of its
        // inverse.
        for (int k = n - 1; k >= 0; --k) {
            swap_rows(k, js[k]);
            swap_columns(k, is[k]);
        }
        return 0;
    }

private:
    Number& at(int row, int column) { return a[row * n + column]; }

    void find_pivot(int k)
    {
        is[k] = js[k] = k;
        const int last_column = d_pivot == pivoting::full ? n - 1 : k;
        for (int i = k; i < n; ++i) {
            for (int j = k; j <= last_column; ++j) {
                if (std::norm(at(i, j)) > std::norm(at(is[k], js[k]))) {
                    is[k] = i;
                    js[k] = j;
                }
            }
        }
    }

    void swap_rows(int one, int other)
    {
        for (int j = 0; j < n; ++j) {
            std::swap(at(one, j), at(other, j));
        }
    }

    void swap_columns(int one, int other)
    {
        for (int i = 0; i < n; ++i) {
            std::swap(at(i, one), at(i, other));
        }
    }

    void eliminate(int k)
    {
        const Number reciprocal = 1.0 / at(k, k);
        at(k, k) = reciprocal;
        for (int j = 0; j < n; ++j) {
            if (j != k) {
                at(k, j) *= reciprocal;
            }
        }
        for (int i = 0; i < n; ++i) {
            if (i == k) {
                continue;
            }
            const Number factor = at(i, k);
            at(i, k) = -factor * reciprocal;
            for (int j = 0; j < n; ++j) {
                if (j != k) {
                    at(i, j) -= factor * at(k, j);
                }
            }
        }
    }

    int n;
    pivoting d_pivot;
    std::vector<Number> a;
    int is[inverse<float>::max_order];
    int js[inverse<float>::max_order];
};

template <typename T>
class inverse_reference : public inverse<T>
{
public:
    explicit inverse_reference(const typename inverse<T>::parameters& p) : d_parameters(p)
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const int n = d_parameters.order;
        const size_t batch = inverse_batch(
            n, a.size(), x.size(), status.size(), queue, backend::reference);
        const size_t elements = size_t(n) * n;
        gauss_jordan<typename double_of<T>::type> matrix(n, d_parameters.pivot);
        for (size_t item = 0; item < batch; ++item) {
            const T* from = a.data() + item * elements;
            T* to = x.data() + item * elements;
            int& state = status[item];
            state = -1;
            if (is_finite(from, elements)) {
                std::copy_n(from, elements, matrix.elements());
                state = matrix.invert();
                if (state == 0) {
                    std::transform(matrix.elements(),
                                   matrix.elements() + elements,
                                   to,
                                   [](const auto& value) { return T(value); });
                    state = is_finite(to, elements) ? 0 : -1;
                }
            }
            if (state != 0) {
                std::fill_n(to, elements, T(0));
            }
        }
    }

private:
    typename inverse<T>::parameters d_parameters;
};

} // namespace

template <typename T>
std::unique_ptr<inverse<T>>
make_inverse_reference(const typename inverse<T>::parameters& p)
{
    return std::make_unique<inverse_reference<T>>(p);
}

template std::unique_ptr<inverse<float>>
make_inverse_reference<float>(const inverse<float>::parameters&);
template std::unique_ptr<inverse<complex64>>
make_inverse_reference<complex64>(const inverse<complex64>::parameters&);

} // namespace gr::cudaphy::kernels
