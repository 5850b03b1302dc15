/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/testing.h"
#include "kernels/linalg/inverse/qa_inverse_checks.h"
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>

// Symmetric matrices to invert, and checks of their inverses.

namespace gr::cudaphy::testing {

using kernels::definiteness;
using kernels::symmetric_algorithm;
using kernels::symmetric_inverse;

template <typename T>
inline T conjugate(T value)
{
    if constexpr (is_complex<T>) {
        return std::conj(value);
    } else {
        return value;
    }
}

template <typename T>
T draw()
{
    std::normal_distribution<double> normal;
    if constexpr (is_complex<T>) {
        const double re = normal(generator());
        return T(re, normal(generator()));
    } else {
        return T(normal(generator()));
    }
}

//! A Hermitian matrix from a function of (i, j) with j <= i.
template <typename T, typename Element>
std::vector<T> hermitian(int n, const Element& element)
{
    std::vector<T> a(size_t(n) * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            const T value = element(i, j);
            a[size_t(i) * n + j] = i == j ? T(std::real(value)) : value;
            a[size_t(j) * n + i] = conjugate(a[size_t(i) * n + j]);
        }
    }
    return a;
}

template <typename T>
std::vector<T> indefinite(int n)
{
    return hermitian<T>(n, [](int, int) { return draw<T>(); });
}

//! A definite matrix with a condition of about 10.
template <typename T>
std::vector<T> definite(int n)
{
    return hermitian<T>(n, [n](int i, int j) {
        return draw<T>() / real_of<T>(std::sqrt(n)) + T(i == j ? 5 : 0);
    });
}

//! Q diag(values) Q^H with a random Q, of `reflections` reflections.
template <typename T>
std::vector<T> with_eigenvalues(const std::vector<double>& values, int reflections = 3)
{
    const int n = int(values.size());
    std::vector<wide<T>> a(size_t(n) * n);
    for (int i = 0; i < n; ++i) {
        a[size_t(i) * n + i] = wide_real<T>(values[i]);
    }
    for (int round = 0; round < reflections; ++round) {
        std::vector<wide<T>> v(n), p(n);
        wide_real<T> norm = 0;
        for (auto& value : v) {
            value = wide<T>(draw<T>());
            norm += std::norm(value);
        }
        // A - v w^H - w v^H, with w = 2 (p - (v^H p) v / |v|^2) / |v|^2 and p = A v.
        wide<T> inner = 0;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                p[i] += product(a[size_t(i) * n + j], v[j]);
            }
            inner += product(std::conj(v[i]), p[i]);
        }
        for (int i = 0; i < n; ++i) {
            p[i] = (p[i] - product(v[i], inner) / norm) * (2 / norm);
        }
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                a[size_t(i) * n + j] -=
                    product(v[i], std::conj(p[j])) + product(p[i], std::conj(v[j]));
            }
        }
    }
    return hermitian<T>(n, [&](int i, int j) {
        const auto value = a[size_t(i) * n + j];
        if constexpr (is_complex<T>) {
            return T(value);
        } else {
            return T(value.real());
        }
    });
}

//! Eigenvalues from 1 down to 1 / condition, with alternating signs if wanted.
inline std::vector<double> decaying(int n, double condition, bool alternating)
{
    std::vector<double> values(n);
    for (int i = 0; i < n; ++i) {
        values[i] = std::pow(condition, n > 1 ? -double(i) / (n - 1) : 0);
        values[i] *= alternating && i % 2 ? -1 : 1;
    }
    return values;
}

template <typename T>
struct symmetric_inverted {
    std::vector<T> x;
    std::vector<int> status;
    std::vector<real_of<T>> residual;
    std::vector<int> refinements;
    std::vector<real_of<T>> rcond;
};

template <typename T>
symmetric_inverted<T> invert(int n,
                             const std::vector<T>& a,
                             definiteness definite = definiteness::unknown,
                             symmetric_algorithm algorithm = symmetric_algorithm::blocked,
                             bool in_place = false,
                             backend where = tested_backend())
{
    const size_t batch = a.size() / n / n;
    auto q = queue::make(where);
    auto plan = symmetric_inverse<T>::make({ n, batch, algorithm, definite }, where);
    array<T> from(*q, view<const T>(a)), to = poisoned<T>(*q, a.size());
    auto status = poisoned<int>(*q, batch), refinements = poisoned<int>(*q, batch);
    auto residual = poisoned<real_of<T>>(*q, batch);
    auto rcond = poisoned<real_of<T>>(*q, batch);
    array<unsigned char> workspace(*q, plan->workspace_bytes());
    plan->run(from,
              { in_place ? from.all() : to.all(), status, residual, refinements, rcond },
              workspace,
              *q);
    return { in_place ? from.to_host() : to.to_host(),
             status.to_host(),
             residual.to_host(),
             refinements.to_host(),
             rcond.to_host() };
}

template <typename T>
bool is_hermitian(int n, const T* x)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            if (x[size_t(i) * n + j] != conjugate(x[size_t(j) * n + i])) {
                return false;
            }
        }
    }
    return true;
}

template <typename T>
bool has_few_elements(int n, const T* a)
{
    const size_t all = size_t(n) * n;
    return all - std::count(a, a + all, T(0)) < all / 16;
}

//! residual_ratio(), with few products if A has few elements.
template <typename T>
double ratio_by_elements(int n, const T* a, const T* x)
{
    std::vector<T> columns(size_t(n) * n);
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) {
            columns[size_t(j) * n + k] = x[size_t(k) * n + j];
        }
    }
    std::vector<wide_real<T>> sums(n);
    std::vector<T> factors, others;
    std::vector<int> places;
    for (int i = 0; i < n; ++i) {
        factors.clear();
        places.clear();
        for (int k = 0; k < n; ++k) {
            if (a[size_t(i) * n + k] != T(0)) {
                factors.push_back(a[size_t(i) * n + k]);
                places.push_back(k);
            }
        }
        const int count = places.size();
        others.resize(count);
        for (int j = 0; j < n; ++j) {
            const T* const column = &columns[size_t(j) * n];
            for (int f = 0; f < count && count < n; ++f) {
                others[f] = column[places[f]];
            }
            const T* const beside = count < n ? others.data() : column;
            sums[j] += std::abs(wide<T>(i == j ? 1 : 0) -
                                inner_product(count, factors.data(), beside));
        }
    }
    return *std::max_element(sums.begin(), sums.end()) / one_norm(n, a) / one_norm(n, x) /
           (n * wide_real<T>(eps<T>));
}

//! Whether ratio() is exact and no estimate.
template <typename T>
bool knows_ratio(int n, const T* a)
{
    return n <= 260 || has_few_elements(n, a);
}

//! LAPACK's ratio. A test stays fast, because a random vector estimates the ratio of a
//! large matrix with many elements, if that suffices. A matrix with few elements may have
//! its errors in few rows. The estimate would then be up to a root of n too large.
template <typename T>
double ratio(int n, const T* a, const T* x)
{
    if (knows_ratio(n, a)) {
        return ratio_by_elements(n, a, x);
    }
    double norm_a = 0, norm_x = 0;
    std::vector<std::complex<double>> w(n), y(n), z(n);
    for (auto& value : w) {
        value = generator()() & 1 ? 1 : -1;
    }
    for (int i = 0; i < n; ++i) {
        double sum_a = 0, sum_x = 0;
        for (int j = 0; j < n; ++j) {
            const std::complex<double> xe(x[size_t(i) * n + j]);
            sum_a += std::abs(a[size_t(i) * n + j]);
            sum_x += std::abs(xe);
            y[i] += product(xe, w[j]);
        }
        norm_a = std::max(norm_a, sum_a);
        norm_x = std::max(norm_x, sum_x);
    }
    double most = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            z[i] += product(std::complex<double>(a[size_t(i) * n + j]), y[j]);
        }
        most = std::max(most, std::abs(z[i] - w[i]));
    }
    // The variance of an element of the probe is the square sum of a row of I - A X. The
    // largest of all elements is about four times too high, so only a low estimate
    // decides.
    const double estimate =
        most * std::sqrt(double(n)) / (n * norm_a * norm_x * double(eps<T>));
    return estimate < 8 ? estimate : ratio_by_elements(n, a, x);
}

template <typename T>
void check_inverse(int n, const T* a, const T* x, int status, const std::string& what)
{
    BOOST_TEST_CONTEXT(what << ", order " << n)
    {
        BOOST_TEST(status == 0);
        BOOST_TEST(is_hermitian(n, x));
        BOOST_TEST(all_finite(x, size_t(n) * n));
        BOOST_TEST(ratio(n, a, x) < 30);
    }
}

template <typename T>
void check_inverse(int n,
                   const std::vector<T>& a,
                   const symmetric_inverted<T>& result,
                   const std::string& what)
{
    check_inverse(n, a.data(), result.x.data(), result.status[0], what);
    BOOST_TEST(std::isfinite(result.residual[0]));
    BOOST_TEST(result.residual[0] < 30);
    // A plan decides by this residual whether it repairs the inverse.
    if (knows_ratio(n, a.data())) {
        BOOST_TEST(ratio(n, a.data(), result.x.data()) < 3 + 3 * result.residual[0],
                   what << ", order " << n << ": residual " << result.residual[0]);
    }
}

} // namespace gr::cudaphy::testing
