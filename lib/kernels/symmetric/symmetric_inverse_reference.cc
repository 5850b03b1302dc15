/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/reference_number.h"
#include "kernels/symmetric/numbers.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"
#include <algorithm>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

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

    auto moduli() const
    {
        square<decltype(std::abs(Number()))> out(n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                out(i, j) = std::abs((*this)(i, j));
            }
        }
        return out;
    }

    //! Element (i, j) times scale[i] scale[j].
    template <typename Real>
    square scaled(const std::vector<Real>& scale) const
    {
        square out(n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                out(i, j) = (*this)(i, j) * (scale[i] * scale[j]);
            }
        }
        return out;
    }

    const int n;

private:
    std::vector<Number> d_elements;
};

//! Source 2's serial program: each step grows the inverse W of the leading block by a row
//! and a column. Returns 0, or the step (from 1) that can't divide by s.
template <typename Number, typename Real>
int invert_by_bordering(const square<Number>& a,
                        square<Number>& w,
                        bool positive,
                        Real eps)
{
    std::vector<Number> r(a.n), u(a.n);
    for (int t = 0; t < a.n; ++t) {
        for (int i = 0; i < t; ++i) {
            r[i] = adjoint(a(t, i));
        }
        Number product = 0;
        for (int i = 0; i < t; ++i) { // u = W r
            u[i] = 0;
            for (int j = 0; j < t; ++j) {
                u[i] += times(w(i, j), r[j]);
            }
        }
        for (int i = 0; i < t; ++i) { // r^H u
            product += times(adjoint(r[i]), u[i]);
        }
        const Real rho = std::real(a(t, t));
        const Real s = rho - std::real(product);
        const bool zero = std::abs(s) <= eps * (std::abs(rho) + std::abs(product));
        if (zero || (positive && s < 0)) {
            return t + 1;
        }
        for (int i = 0; i < t; ++i) {
            for (int j = 0; j < t; ++j) {
                w(i, j) += times_adjoint(u[i], u[j]) / s;
            }
            w(i, t) = -u[i] / s;
            w(t, i) = adjoint(w(i, t));
        }
        w(t, t) = 1 / s;
    }
    return 0;
}

//! The order of the first leading minor that is not positive, by Cholesky's pivots, or 0.
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
                l(i, j) -= times_adjoint(l(i, k), l(j, k));
            }
            l(i, j) /= root;
        }
    }
    return 0;
}

/*
 * P A P^T = L D L^H with the largest element that is left as each pivot, of order 1 or 2
 * (Bunch, Parlett, SIAM J. Numer. Anal. 8(4), 1971). Then A^-1 = P^T M^H D^-1 M P with M
 * = L^-1. All steps keep the matrix symmetric, because an error that is not symmetric
 * grows with A's condition.
 */
template <typename Number>
class complete_pivoting
{
public:
    using real = decltype(std::abs(Number()));

    explicit complete_pivoting(const square<Number>& matrix)
        : n(matrix.n), a(matrix), m(n), d_order(n), d_sizes(n), d_second(n + 1)
    {
        for (int i = 0; i < n; ++i) {
            d_order[i] = i;
            m(i, i) = 1;
            for (int j = 0; j < n; ++j) {
                d_sizes[i] = std::max(d_sizes[i], std::abs(a(i, j)));
            }
        }
    }

    //! Returns whether a pivot is 0 to the arithmetic's precision, compared with the
    //! first elements of its row and column.
    bool invert(square<Number>& x)
    {
        const real largest = *std::max_element(d_sizes.begin(), d_sizes.end());
        for (int k = 0; k < n;) {
            const auto [i, j] = choose(k);
            const real bound = n * std::numeric_limits<real>::epsilon() *
                               (d_sizes[i] / largest) * d_sizes[j];
            if (largest == 0 || std::abs(a(i, j)) <= bound) {
                return true;
            }
            if (i == j) {
                exchange(k, i);
                eliminate(k, 1);
                k += 1;
            } else { // i > j
                exchange(k, j);
                exchange(k + 1, i);
                d_second[k + 1] = true;
                eliminate(k, 2);
                k += 2;
            }
        }
        multiply(x);
        return false;
    }

private:
    //! The next pivot, of order 1 (i = j) or 2 (i > j).
    std::pair<int, int> choose(int k) const
    {
        int diagonal = k, row = k, column = k;
        real most = 0; // squared: Number is wide enough for squares of the elements
        for (int i = k; i < n; ++i) {
            if (std::norm(a(i, i)) > std::norm(a(diagonal, diagonal))) {
                diagonal = i;
            }
            for (int j = k; j < i; ++j) {
                if (std::norm(a(i, j)) > most) {
                    most = std::norm(a(i, j));
                    row = i;
                    column = j;
                }
            }
        }
        const real alpha = (1 + std::sqrt(real(17))) / 8;
        if (std::norm(a(diagonal, diagonal)) >= alpha * alpha * most) {
            return { diagonal, diagonal };
        }
        return { row, column };
    }

    void exchange(int one, int other)
    {
        std::swap(d_order[one], d_order[other]);
        std::swap(d_sizes[one], d_sizes[other]);
        for (int j = 0; j < n; ++j) {
            std::swap(a(one, j), a(other, j));
        }
        for (int i = 0; i < n; ++i) {
            std::swap(a(i, one), a(i, other));
        }
        // The rows of M without its diagonal.
        for (int j = 0; j < std::min(one, other); ++j) {
            std::swap(m(one, j), m(other, j));
        }
    }

    //! The block of D^-1 at k, row by row.
    void inverse_block(int k, int size, Number (&inverse)[2][2]) const
    {
        if (size == 1) {
            inverse[0][0] = real(1) / std::real(a(k, k));
            return;
        }
        const real p = std::real(a(k, k)), q = std::real(a(k + 1, k + 1));
        const Number e = a(k + 1, k);
        const real determinant = p * q - std::norm(e);
        inverse[0][0] = q / determinant;
        inverse[1][1] = p / determinant;
        inverse[1][0] = -e / determinant;
        inverse[0][1] = adjoint(inverse[1][0]);
    }

    //! Rows below k: A -= l A_k and M -= l M_k, with l = A_ik D^-1.
    void eliminate(int k, int size)
    {
        Number inverse[2][2];
        inverse_block(k, size, inverse);
        for (int i = k + size; i < n; ++i) {
            Number l[2] = {};
            for (int c = 0; c < size; ++c) {
                for (int s = 0; s < size; ++s) {
                    l[c] += times(a(i, k + s), inverse[s][c]);
                }
            }
            for (int c = 0; c < size; ++c) {
                for (int j = k + size; j <= i; ++j) {
                    a(i, j) -= times_adjoint(l[c], a(j, k + c));
                }
                for (int j = 0; j < k + size; ++j) {
                    m(i, j) -= times(l[c], m(k + c, j));
                }
            }
        }
        for (int i = k + size; i < n; ++i) {
            a(i, i) = std::real(a(i, i));
            for (int j = k + size; j < i; ++j) {
                a(j, i) = adjoint(a(i, j));
            }
        }
    }

    //! X = P^T M^H D^-1 M P
    void multiply(square<Number>& x) const
    {
        for (int i = 0; i < n; ++i) {
            std::fill(&x(i, 0), &x(i, 0) + n, Number(0));
        }
        for (int k = 0; k < n;) {
            const int size = d_second[k + 1] ? 2 : 1;
            Number inverse[2][2];
            inverse_block(k, size, inverse);
            for (int i = 0; i < k + size; ++i) {
                for (int c = 0; c < size; ++c) {
                    Number factor = 0;
                    for (int s = 0; s < size; ++s) {
                        factor += times(adjoint(m(k + s, i)), inverse[s][c]);
                    }
                    for (int j = 0; j <= i; ++j) {
                        x(std::max(d_order[i], d_order[j]),
                          std::min(d_order[i], d_order[j])) +=
                            d_order[i] >= d_order[j]
                                ? times(factor, m(k + c, j))
                                : adjoint(times(factor, m(k + c, j)));
                    }
                }
            }
            k += size;
        }
    }

    const int n;
    square<Number> a, m;
    std::vector<int> d_order;
    std::vector<real> d_sizes;
    std::vector<bool> d_second; //!< whether k is the second row of a block of order 2
};

//! The least product of the norms of S A S and of its inverse for some scales S: 1, and
//! those that bring each row's largest element to about 1 (Ruiz, 2001).
template <typename Number>
auto condition(const square<Number>& a, const square<Number>& x)
{
    using real = decltype(std::abs(Number()));
    std::vector<real> scale(a.n, 1), back(a.n, 1);
    const square<real> sizes = a.moduli(), sizes_of_inverse = x.moduli();
    real least = sizes.one_norm() * sizes_of_inverse.one_norm();
    for (int round = 0; round < 10; ++round) {
        const auto balanced = sizes.scaled(scale);
        for (int i = 0; i < a.n; ++i) {
            real largest = 0;
            for (int j = 0; j < a.n; ++j) {
                largest = std::max(largest, balanced(i, j));
            }
            scale[i] /= std::sqrt(largest);
            back[i] = 1 / scale[i];
        }
        least = std::min(least,
                         sizes.scaled(scale).one_norm() *
                             sizes_of_inverse.scaled(back).one_norm());
    }
    return least;
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
                // The imaginary part of a Hermitian matrix's diagonal is not read.
                finite = finite &&
                         (i == j ? std::isfinite(std::real(value)) : is_finite(value));
                a(i, j) = i == j ? number(std::real(value)) : number(value);
                a(j, i) = adjoint(a(i, j));
            }
        }
        square<number> x = a;
        int status = -1;
        if (finite) {
            status = inverted(a, x);
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < i; ++j) {
                    x(j, i) = adjoint(x(i, j));
                }
            }
            if (status == 0 && condition(a, x) > least_singular_condition<real>(n)) {
                status = n;
            }
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
                to[size_t(j) * n + i] = adjoint(value);
            }
        }
        out.status[item] = status;
        if (!out.refinements.empty()) {
            out.refinements[item] = 0;
        }
        if (!out.rcond.empty()) {
            out.rcond[item] = status ? 0 : real(1 / (a.one_norm() * x.one_norm()));
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
        return complete_pivoting<number>(a).invert(x) ? a.n : 0;
    }

    //! |I - A X|_1 / (n |A|_1 |X|_1 eps), from all columns.
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
                    r(i, j) -= times(a(i, k), x(k, j));
                }
            }
        }
        const wide_real eps = std::numeric_limits<real>::epsilon() / 2;
        return real(r.one_norm() / (n * a.one_norm() * x.one_norm() * eps));
    }

    typename symmetric_inverse<T>::parameters d_parameters;
};

} // namespace

CUDAPHY_HOST_MAKERS(reference, symmetric_inverse, symmetric_inverse_reference)

} // namespace gr::cudaphy::kernels
