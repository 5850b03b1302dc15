/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/reference_number.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"
#include <algorithm>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

template <typename Number>
Number conjugate(const Number& value)
{
    if constexpr (std::is_floating_point_v<Number>) {
        return value;
    } else {
        return std::conj(value);
    }
}

//! A square matrix, row by row.
template <typename Number>
class square
{
public:
    explicit square(int order) : n(order), d_elements(size_t(order) * order) {}
    Number& operator()(int i, int j) { return d_elements[size_t(i) * n + j]; }
    const Number& operator()(int i, int j) const { return d_elements[size_t(i) * n + j]; }

    auto one_norm() const
    {
        decltype(std::abs(Number())) largest = 0;
        for (int j = 0; j < n; ++j) {
            decltype(largest) sum = 0;
            for (int i = 0; i < n; ++i) {
                sum += std::abs((*this)(i, j));
            }
            largest = std::max(largest, sum);
        }
        return largest;
    }

    const int n;

private:
    std::vector<Number> d_elements;
};

//! Source 2's serial program: the inverse W of the leading block grows by a row and a
//! column a step. Returns 0, or the step (from 1) that can't divide by s.
template <typename Number, typename Real>
int invert_by_bordering(const square<Number>& a,
                        square<Number>& w,
                        bool positive,
                        Real eps)
{
    std::vector<Number> r(a.n), u(a.n);
    for (int t = 0; t < a.n; ++t) {
        for (int i = 0; i < t; ++i) {
            r[i] = conjugate(a(t, i));
        }
        Number product = 0;
        for (int i = 0; i < t; ++i) { // u = W r
            u[i] = 0;
            for (int j = 0; j < t; ++j) {
                u[i] += w(i, j) * r[j];
            }
        }
        for (int i = 0; i < t; ++i) { // r^H u
            product += conjugate(r[i]) * u[i];
        }
        const Real rho = std::real(a(t, t));
        const Real s = rho - std::real(product);
        const bool zero = std::abs(s) <= eps * (std::abs(rho) + std::abs(product));
        if (zero || (positive && s < 0)) {
            return t + 1;
        }
        for (int i = 0; i < t; ++i) {
            for (int j = 0; j < t; ++j) {
                w(i, j) += u[i] * conjugate(u[j]) / s;
            }
            w(i, t) = -u[i] / s;
            w(t, i) = conjugate(w(i, t));
        }
        w(t, t) = 1 / s;
    }
    return 0;
}

//! The first leading minor (its order) that is not positive, by Cholesky's pivots, or 0.
template <typename Number>
int first_minor_not_positive(square<Number> l)
{
    for (int j = 0; j < l.n; ++j) {
        auto pivot = std::real(l(j, j));
        for (int k = 0; k < j; ++k) {
            pivot -= std::norm(l(j, k));
        }
        if (!(pivot > 0)) {
            return j + 1;
        }
        const auto root = std::sqrt(pivot);
        l(j, j) = root;
        for (int i = j + 1; i < l.n; ++i) {
            for (int k = 0; k < j; ++k) {
                l(i, j) -= l(i, k) * conjugate(l(j, k));
            }
            l(i, j) /= root;
        }
    }
    return 0;
}

//! Gauss-Jordan elimination with full pivoting, in place. Returns whether a pivot is zero
//! to the arithmetic's precision.
template <typename Number>
bool invert_by_full_pivoting(square<Number>& a)
{
    using real = decltype(std::abs(Number()));
    const int n = a.n;
    std::vector<int> rows(n), columns(n);
    real smallest = 0;
    for (int k = 0; k < n; ++k) {
        int p = k, q = k;
        for (int i = k; i < n; ++i) {
            for (int j = k; j < n; ++j) {
                if (std::norm(a(i, j)) > std::norm(a(p, q))) {
                    p = i;
                    q = j;
                }
            }
        }
        rows[k] = p;
        columns[k] = q;
        for (int j = 0; j < n; ++j) {
            std::swap(a(k, j), a(p, j));
        }
        for (int i = 0; i < n; ++i) {
            std::swap(a(i, k), a(i, q));
        }
        if (k == 0) {
            smallest = n * std::numeric_limits<real>::epsilon() * std::abs(a(0, 0));
        }
        if (std::abs(a(k, k)) <= smallest) {
            return true;
        }
        const Number reciprocal = real(1) / a(k, k);
        a(k, k) = 1;
        for (int j = 0; j < n; ++j) {
            a(k, j) *= reciprocal;
        }
        for (int i = 0; i < n; ++i) {
            const Number factor = a(i, k);
            if (i == k || factor == Number(0)) {
                continue;
            }
            a(i, k) = 0;
            for (int j = 0; j < n; ++j) {
                a(i, j) -= factor * a(k, j);
            }
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = 0; j < n; ++j) {
            std::swap(a(k, j), a(columns[k], j));
        }
        for (int i = 0; i < n; ++i) {
            std::swap(a(i, k), a(i, rows[k]));
        }
    }
    return false;
}

template <typename T>
class symmetric_inverse_reference : public symmetric_inverse<T>
{
public:
    using real = typename symmetric_inverse<T>::real;
    using results = typename symmetric_inverse<T>::results;

    explicit symmetric_inverse_reference(
        const typename symmetric_inverse<T>::parameters& p)
        : d_parameters(p)
    {
    }

    size_t workspace_bytes() const override { return 0; }

    void run(view<const T> a,
             const results& out,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = symmetric_inverse_batch(
            *this, d_parameters, a, out, workspace, queue, backend::reference);
        const size_t elements = size_t(d_parameters.order) * d_parameters.order;
        for (size_t item = 0; item < batch; ++item) {
            invert(a.data() + item * elements, out, item);
            if (d_parameters.progress) {
                d_parameters.progress(double(item + 1) / batch);
            }
        }
    }

private:
    using number = typename wider_type<T>::type;
    using wide_real = decltype(std::abs(number()));

    void invert(const T* from, const results& out, size_t item) const
    {
        const int n = d_parameters.order;
        square<number> a(n);
        bool finite = true;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                const T value = from[size_t(i) * n + j];
                // Of a Hermitian matrix's diagonal the imaginary part is not read.
                finite = finite &&
                         (i == j ? std::isfinite(std::real(value)) : is_finite(value));
                a(i, j) = i == j ? number(std::real(value)) : number(value);
                a(j, i) = conjugate(a(i, j));
            }
        }
        square<number> x = a;
        int status = -1;
        if (finite) {
            status = inverted(a, x);
            for (int i = 0; i < n && status == 0; ++i) {
                for (int j = 0; j <= i; ++j) {
                    if (!is_finite(T(x(i, j)))) {
                        status = -1;
                    }
                }
            }
        }
        T* to = out.x.data() + item * n * n;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                const T value = status   ? T(0)
                                : i == j ? T(std::real(x(i, i)))
                                         : T(x(i, j));
                to[size_t(i) * n + j] = value;
                to[size_t(j) * n + i] = conjugate(value);
            }
        }
        out.status[item] = status;
        if (!out.refinements.empty()) {
            out.refinements[item] = 0;
        }
        if (!out.residual.empty()) {
            out.residual[item] =
                status ? std::numeric_limits<real>::quiet_NaN() : residual(a, to);
        }
    }

    int inverted(const square<number>& a, square<number>& x) const
    {
        const bool positive = d_parameters.definite == definiteness::positive;
        if (d_parameters.algorithm == symmetric_algorithm::bordering) {
            return invert_by_bordering(
                a, x, positive, std::numeric_limits<wide_real>::epsilon());
        }
        if (positive) {
            const int minor = first_minor_not_positive(a);
            if (minor) {
                return minor;
            }
        }
        return invert_by_full_pivoting(x) ? a.n : 0;
    }

    //! |I - A X|_1 / (n |A|_1 |X|_1 eps), by all columns.
    static real residual(const square<number>& a, const T* rounded)
    {
        const int n = a.n;
        square<number> x(n), r(n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                x(i, j) = number(rounded[size_t(i) * n + j]);
            }
        }
        for (int i = 0; i < n; ++i) {
            r(i, i) = 1;
            for (int k = 0; k < n; ++k) {
                for (int j = 0; j < n; ++j) {
                    r(i, j) -= a(i, k) * x(k, j);
                }
            }
        }
        const wide_real eps = std::numeric_limits<real>::epsilon() / 2;
        return real(r.one_norm() / (n * a.one_norm() * x.one_norm() * eps));
    }

    typename symmetric_inverse<T>::parameters d_parameters;
};

} // namespace

template <typename T>
std::unique_ptr<symmetric_inverse<T>>
make_symmetric_inverse_reference(const typename symmetric_inverse<T>::parameters& p)
{
    return std::make_unique<symmetric_inverse_reference<T>>(p);
}

#define CUDAPHY_INSTANTIATE(T)                                                          \
    template std::unique_ptr<symmetric_inverse<T>> make_symmetric_inverse_reference<T>( \
        const typename symmetric_inverse<T>::parameters&);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
