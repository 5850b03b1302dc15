/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <complex>
#include <vector>

// What tells whether X is the inverse of A, in double precision.

namespace gr::cudaphy::testing {

constexpr double eps = 0x1p-24; //!< of float, as LAPACK counts it

template <typename T>
std::complex<double> wide(T value)
{
    return std::complex<double>(value);
}

//! The largest sum of a column's moduli.
template <typename T>
double one_norm(int n, const T* a)
{
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
        double sum = 0.0;
        for (int i = 0; i < n; ++i) {
            sum += std::abs(wide(a[i * n + j]));
        }
        largest = std::max(largest, sum);
    }
    return largest;
}

//! LAPACK's ||I - A X||_1 / (N ||A||_1 ||X||_1 eps), whose threshold is 30.
template <typename T>
double residual_ratio(int n, const T* a, const T* x)
{
    std::vector<std::complex<double>> residual(n * n);
    for (int i = 0; i < n; ++i) {
        residual[i * n + i] = 1.0;
        for (int k = 0; k < n; ++k) {
            const auto factor = wide(a[i * n + k]);
            for (int j = 0; j < n; ++j) {
                const auto other = wide(x[k * n + j]);
                // By hand, for the library's product looks for NaN each time.
                residual[i * n + j] -= std::complex<double>(
                    factor.real() * other.real() - factor.imag() * other.imag(),
                    factor.real() * other.imag() + factor.imag() * other.real());
            }
        }
    }
    return one_norm(n, residual.data()) / (n * one_norm(n, a) * one_norm(n, x) * eps);
}

} // namespace gr::cudaphy::testing
