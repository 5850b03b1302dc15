/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/makers.h"
#include "kernels/linalg/inverse/pivot.h"
#include "kernels/linalg/reference_number.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

//! One matrix, in the letters of the patent: `is` and `js` are the pivots' rows and
//! columns.
template <typename Number>
class gauss_jordan
{
public:
    using real = decltype(std::abs(Number()));

    gauss_jordan(int order, pivoting pivot) : n(order), d_pivot(pivot), a(n * n) {}

    Number& at(int row, int column) { return a[row * n + column]; }
    Number determinant() const { return d_determinant; }
    //! Whether a step had only zeros to divide by, so that there is no inverse.
    bool stopped() const { return d_stopped; }

    //! A pivot below `bound` or below `eps` times the first one is too small in full
    //! pivoting. Returns 0, or the first step that found its pivot too small.
    int invert(real eps, real bound)
    {
        int state = 0;
        d_stopped = false;
        d_determinant = Number(1);
        for (int k = 0; k < n; ++k) {
            find_pivot(k);
            swap_rows(k, is[k]);
            swap_columns(k, js[k]);
            if ((is[k] != k) != (js[k] != k)) {
                d_determinant = -d_determinant;
            }
            Number& pivot = at(k, k);
            if (d_pivot == pivoting::none) {
                pivot = std::real(pivot);
                d_stopped = std::real(pivot) <= 0;
            } else {
                d_stopped = pivot == Number(0);
            }
            if (d_stopped) {
                d_determinant = 0;
                return state ? state : k + 1;
            }
            if (d_pivot == pivoting::full) {
                bound = k == 0 ? std::max(bound, eps * std::abs(pivot)) : bound;
                if (std::abs(pivot) < bound) {
                    pivot = bound;
                    state = state ? state : k + 1;
                }
            }
            d_determinant *= pivot;
            eliminate(k);
        }
        // (P A Q)^-1 = Q^-1 A^-1 P^-1: a swap of A's rows is undone on the columns of its
        // inverse.
        for (int k = n - 1; k >= 0; --k) {
            swap_rows(k, js[k]);
            swap_columns(k, is[k]);
        }
        return state;
    }

    //! The largest sum of a column's moduli.
    real one_norm()
    {
        real largest = 0;
        for (int j = 0; j < n; ++j) {
            real sum = 0;
            for (int i = 0; i < n; ++i) {
                sum += std::abs(at(i, j));
            }
            largest = std::max(largest, sum);
        }
        return largest;
    }

private:
    void find_pivot(int k)
    {
        is[k] = js[k] = k;
        if (d_pivot == pivoting::none) {
            return;
        }
        const int last_column = d_pivot == pivoting::full ? n - 1 : k;
        real largest = -1;
        for (int i = k; i < n; ++i) {
            for (int j = k; j <= last_column; ++j) {
                const real size = squared_modulus(at(i, j));
                if (size > largest) {
                    largest = size;
                    is[k] = i;
                    js[k] = j;
                }
            }
        }
    }

    //! Faster than std::abs. The squares are in range, because the numbers come from a
    //! narrower type.
    static real squared_modulus(const Number& value)
    {
        return std::real(value) * std::real(value) + std::imag(value) * std::imag(value);
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

    //! Column k of a row becomes 0 - factor / pivot like all others, because the pivot's
    //! row has 1 / pivot there.
    void eliminate(int k)
    {
        const Number reciprocal = real(1) / at(k, k);
        Number* const pivot_row = &at(k, 0);
        pivot_row[k] = 1;
        for (int j = 0; j < n; ++j) {
            pivot_row[j] = plain_product(reciprocal, pivot_row[j]);
        }
        for (int i = 0; i < n; ++i) {
            if (i == k) {
                continue;
            }
            Number* const row = &at(i, 0);
            const Number factor = row[k];
            row[k] = 0;
            for (int j = 0; j < n; ++j) {
                row[j] -= plain_product(factor, pivot_row[j]);
            }
        }
    }

    int n;
    pivoting d_pivot;
    std::vector<Number> a;
    int is[inverse<float>::max_order];
    int js[inverse<float>::max_order];
    Number d_determinant;
    bool d_stopped = false;
};

template <typename T>
class inverse_reference : public inverse<T>
{
public:
    using real = typename inverse<T>::real;
    using inverse<T>::run;

    explicit inverse_reference(const typename inverse<T>::parameters& p) : d_parameters(p)
    {
    }

    size_t workspace_bytes(size_t) const override { return 0; }

    void run(view<const T> a,
             const typename inverse<T>::results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const int n = d_parameters.order;
        const size_t batch =
            inverse_batch(*this, n, a, out, workspace, queue, backend::reference);
        gauss_jordan<typename wider_type<T>::type> matrix(n, d_parameters.pivot);
        for (size_t item = 0; item < batch; ++item) {
            invert(matrix, a, out, item, batch);
        }
    }

private:
    using number = typename wider_type<T>::type;

    size_t place(int i, int j, size_t item, size_t batch) const
    {
        const size_t n = d_parameters.order;
        return d_parameters.layout == matrix_layout::interleaved
                   ? (i * n + j) * batch + item
                   : (item * n + i) * n + j;
    }

    void invert(gauss_jordan<number>& matrix,
                view<const T> a,
                const typename inverse<T>::results& out,
                size_t item,
                size_t batch)
    {
        using bounds = inverse_pivot::limits<real>;
        const int n = d_parameters.order;
        bool finite = true;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                const T value = a[place(i, j, item, batch)];
                finite = finite && is_finite(value);
                matrix.at(i, j) = number(value);
            }
        }
        int state = -1;
        const auto norm = out.rcond.empty() ? 0 : matrix.one_norm();
        if (finite) {
            state = matrix.invert(bounds::eps, bounds::smallest);
            for (int i = 0; i < n && !matrix.stopped(); ++i) {
                for (int j = 0; j < n; ++j) {
                    finite = finite && is_finite(T(matrix.at(i, j)));
                }
            }
            state = finite ? state : -1;
        }
        const bool zero = state == -1 || matrix.stopped();
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                out.x[place(i, j, item, batch)] = zero ? T(0) : T(matrix.at(i, j));
            }
        }
        out.status[item] = state;
        if (!out.determinant.empty()) {
            out.determinant[item] = state == -1
                                        ? T(std::numeric_limits<real>::quiet_NaN())
                                        : T(matrix.determinant());
        }
        if (!out.rcond.empty()) {
            out.rcond[item] = zero ? 0 : real(1 / norm / matrix.one_norm());
        }
    }

    typename inverse<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(reference, inverse, inverse_reference)

} // namespace gr::cudaphy::kernels
