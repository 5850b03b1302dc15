/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/estimator/channel_filter_matrix.h"
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;

//! a b, without the look after infinities that std::complex takes.
inline complex product(complex a, complex b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

double length(const std::vector<complex>& v)
{
    double sum = 0;
    for (const auto& value : v) {
        sum += std::norm(value);
    }
    return std::sqrt(sum);
}

//! Takes from v its part in the first `count` columns of q, which `found` sums up.
void orthogonalize(const dense_matrix& q,
                   int count,
                   std::vector<complex>& v,
                   std::vector<complex>& found)
{
    for (int pass = 0; pass < 2; ++pass) {
        for (int j = 0; j < count; ++j) {
            complex dot = 0;
            for (int i = 0; i < q.rows; ++i) {
                dot += product(std::conj(q(i, j)), v[i]);
            }
            for (int i = 0; i < q.rows; ++i) {
                v[i] -= product(q(i, j), dot);
            }
            found[j] += dot;
        }
    }
}

void append(dense_matrix& q, int column, const std::vector<complex>& v, double size)
{
    for (int i = 0; i < q.rows; ++i) {
        q(i, column) = v[i] / size;
    }
}

} // namespace

unitary_factors factorize(const dense_matrix& p)
{
    const int n = p.rows;
    unitary_factors out{ dense_matrix(n, n), dense_matrix(n, p.columns), 0 };
    std::vector<complex> v(n);
    for (int t = 0; t < p.columns; ++t) {
        for (int i = 0; i < n; ++i) {
            v[i] = p(i, t);
        }
        const double before = length(v);
        std::vector<complex> found(n);
        orthogonalize(out.q, out.rank, v, found);
        const double left = length(v);
        if (out.rank < n && left > 1e-5 * before) {
            found[out.rank] = left;
            append(out.q, out.rank++, v, left);
        }
        for (int j = 0; j < n; ++j) {
            // What rounding alone left is no coupling of layers.
            out.r(j, t) = std::abs(found[j]) > 1e-6 * before ? found[j] : 0;
        }
    }
    // Unit vectors fill it up to a unitary matrix. Those passed over have less than 1/4
    // of a squared length together, so that they never lack.
    for (int e = 0, columns = out.rank; columns < n; ++e) {
        v.assign(n, 0);
        v[e] = 1;
        std::vector<complex> found(n);
        orthogonalize(out.q, columns, v, found);
        const double left = length(v);
        if (left > 0.5 / std::sqrt(double(n))) {
            append(out.q, columns++, v, left);
        }
    }
    return out;
}

int column_rank(const dense_matrix& a) { return factorize(a).rank; }

void cholesky(dense_matrix& a)
{
    for (int j = 0; j < a.rows; ++j) {
        for (int i = j; i < a.rows; ++i) {
            complex sum = a(i, j);
            for (int k = 0; k < j; ++k) {
                sum -= product(a(i, k), std::conj(a(j, k)));
            }
            a(i, j) = i == j ? complex(std::sqrt(sum.real())) : sum / a(j, j).real();
        }
    }
}

void solve_cholesky(const dense_matrix& l, std::vector<complex>& x)
{
    const int n = l.rows;
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) {
            x[i] -= product(l(i, k), x[k]);
        }
        x[i] /= l(i, i).real();
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) {
            x[i] -= product(std::conj(l(k, i)), x[k]);
        }
        x[i] /= l(i, i).real();
    }
}

dense_matrix pseudo_inverse(const dense_matrix& a)
{
    const auto f = factorize(a);
    const int n = a.columns;
    dense_matrix out(n, a.rows);
    for (int c = 0; c < a.rows; ++c) {
        for (int i = n - 1; i >= 0; --i) {
            complex x = std::conj(f.q(c, i));
            for (int j = i + 1; j < n; ++j) {
                x -= product(f.r(i, j), out(j, c));
            }
            out(i, c) = x / f.r(i, i);
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels
