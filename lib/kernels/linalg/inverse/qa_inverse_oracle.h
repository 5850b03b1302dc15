/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/qa_number_types.h"
#include <algorithm>
#include <vector>

// Decides whether X is the inverse of A, in a wider type: double for float, long double
// for double.

namespace gr::cudaphy::testing {

template <typename T>
using wide = std::complex<wide_real<T>>;

//! A product without the library's test for NaN. (-O1 inlines what is declared inline.)
template <typename R>
inline std::complex<R> product(std::complex<R> a, std::complex<R> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

template <typename T>
std::vector<wide<T>> widened(const T* a, size_t size)
{
    return std::vector<wide<T>>(a, a + size);
}

//! The largest sum of a column's moduli.
template <typename R>
R one_norm(int n, const std::vector<std::complex<R>>& a)
{
    R largest = 0;
    for (int j = 0; j < n; ++j) {
        R sum = 0;
        for (int i = 0; i < n; ++i) {
            sum += std::sqrt(std::norm(a[i * n + j])); // squares are in range of R
        }
        largest = std::max(largest, sum);
    }
    return largest;
}

template <typename T>
wide_real<T> one_norm(int n, const T* a)
{
    return one_norm(n, widened(a, size_t(n) * n));
}

//! The sum of x[k] a[k] in the wider type. Factors are read in their own type, and sums
//! stay in registers.
template <typename T>
wide<T> inner_product(int n, const T* x, const T* a)
{
    using real = wide_real<T>;
    if constexpr (is_complex<T>) {
        real re = 0, im = 0;
        for (int k = 0; k < n; ++k) {
            const real x_re = x[k].real(), x_im = x[k].imag();
            const real a_re = a[k].real(), a_im = a[k].imag();
            re += x_re * a_re - x_im * a_im;
            im += x_re * a_im + x_im * a_re;
        }
        return { re, im };
    } else {
        real sum = 0;
        for (int k = 0; k < n; ++k) {
            sum += real(x[k]) * real(a[k]);
        }
        return sum;
    }
}

//! I - X A
template <typename T>
std::vector<wide<T>> residual_of(int n, const T* a, const T* x)
{
    std::vector<T> columns(n * n);
    for (int e = 0; e < n * n; ++e) {
        columns[e % n * n + e / n] = a[e];
    }
    std::vector<wide<T>> residual(n * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            residual[i * n + j] =
                wide<T>(i == j ? 1 : 0) - inner_product(n, x + i * n, &columns[j * n]);
        }
    }
    return residual;
}

//! LAPACK's ||I - X A||_1 / (N ||A||_1 ||X||_1 eps) (xGET03), whose threshold is 30. The
//! residual I - A X has no such bound, because pivoting bounds the factors of the
//! remaining rows, but not of the rows that are done.
template <typename T>
double residual_ratio(int n, const T* a, const T* x)
{
    return one_norm(n, residual_of(n, a, x)) / one_norm(n, a) / one_norm(n, x) /
           (n * wide_real<T>(eps<T>));
}

//! The inverse in the wider type, for matrices that are far from singular.
template <typename R>
std::vector<std::complex<R>> plain_inverse(int n, std::vector<std::complex<R>> a)
{
    std::vector<std::complex<R>> x(n * n);
    for (int i = 0; i < n; ++i) {
        x[i * n + i] = 1;
    }
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k; i < n; ++i) {
            pivot = std::abs(a[i * n + k]) > std::abs(a[pivot * n + k]) ? i : pivot;
        }
        const auto scale = R(1) / a[pivot * n + k];
        for (auto* m : { &a, &x }) {
            for (int j = 0; j < n; ++j) {
                std::swap((*m)[k * n + j], (*m)[pivot * n + j]);
                (*m)[k * n + j] *= scale;
            }
        }
        for (int i = 0; i < n; ++i) {
            const auto factor = i == k ? 0 : a[i * n + k];
            for (int j = 0; j < n; ++j) {
                a[i * n + j] -= product(factor, a[k * n + j]);
                x[i * n + j] -= product(factor, x[k * n + j]);
            }
        }
    }
    return x;
}

} // namespace gr::cudaphy::testing
