/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/testing.h"
#include "kernels/linalg/inverse/qa_inverse_oracle.h"
#include <cmath>
#include <cstring>

// Checks of a batch of inverses, whatever kernel made them. All matrices are row-major.

namespace gr::cudaphy::testing {

//! The results of a kernel. The last two are empty if they were not requested.
template <typename T>
struct inverted {
    std::vector<T> x;
    std::vector<int> status;
    std::vector<T> determinant;
    std::vector<real_of<T>> rcond;
};

//! The same bits from `one` and `other` on; NaN equals NaN, +0 is not -0.
template <typename T>
bool same_bits(const T* one, const T* other, size_t size)
{
    using real = real_of<T>;
    if (size == 0 || std::memcmp(one, other, size * sizeof(T)) == 0) {
        return true;
    }
    const auto* a = reinterpret_cast<const real*>(one);
    const auto* b = reinterpret_cast<const real*>(other);
    for (size_t i = 0; i < size * sizeof(T) / sizeof(real); ++i) {
        if (std::memcmp(a + i, b + i, sizeof(real)) != 0 &&
            !(a[i] != a[i] && b[i] != b[i])) {
            return false;
        }
    }
    return true;
}

template <typename T>
bool same_bits(const std::vector<T>& one, const std::vector<T>& other)
{
    return one.size() == other.size() && same_bits(one.data(), other.data(), one.size());
}

template <typename T>
void check_equal(const inverted<T>& one, const inverted<T>& other)
{
    BOOST_TEST(same_bits(one.x, other.x));
    BOOST_TEST((one.status == other.status));
    BOOST_TEST(same_bits(one.determinant, other.determinant));
    BOOST_TEST(same_bits(one.rcond, other.rcond));
}

template <typename T>
bool all_finite(const T* first, size_t size)
{
    return std::all_of(first, first + size, [](const T& value) {
        return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
    });
}

template <typename T>
void check_status(const inverted<T>& result, size_t item, int expected, int n)
{
    BOOST_TEST(result.status[item] == expected,
               "item " << item << " of order " << n << " has status "
                       << result.status[item] << ", not " << expected);
}

//! All of x is 0 for the item, and its status is `expected`.
template <typename T>
void check_failed(const inverted<T>& result, size_t item, int expected, int n)
{
    check_status(result, item, expected, n);
    const auto first = result.x.begin() + item * n * n;
    BOOST_TEST(std::count(first, first + n * n, T(0)) == n * n);
    if (!result.determinant.empty()) {
        const T determinant = result.determinant[item];
        BOOST_TEST(
            (expected == -1 ? std::isnan(std::real(determinant)) : determinant == T(0)));
    }
    if (!result.rcond.empty()) {
        BOOST_TEST(result.rcond[item] == 0);
    }
}

//! LAPACK's ratio is below 30 for every matrix, and 3 at most at the 99.9th percentile.
inline void check_ratios(std::vector<double> ratios, const std::string& what)
{
    if (ratios.empty()) {
        return;
    }
    std::sort(ratios.begin(), ratios.end());
    BOOST_TEST(ratios.back() < 30.0, what);
    BOOST_TEST(ratios[(ratios.size() - 1) * 999 / 1000] <= 3.0, what);
}

//! Each matrix has an inverse, whose ratio is appended to `ratios`.
template <typename T>
void append_ratios(int n,
                   const std::vector<T>& a,
                   const inverted<T>& result,
                   std::vector<double>& ratios)
{
    for (size_t item = 0; item < result.status.size(); ++item) {
        BOOST_REQUIRE_EQUAL(result.status[item], 0);
        ratios.push_back(residual_ratio(n, &a[item * n * n], &result.x[item * n * n]));
        // Not NaN either.
        BOOST_REQUIRE_LT(ratios.back(), 30.0);
    }
}

template <typename T>
void check_residuals(int n, const std::vector<T>& a, const inverted<T>& result)
{
    std::vector<double> ratios;
    append_ratios(n, a, result, ratios);
    check_ratios(ratios, "order " + std::to_string(n));
}

//! x equals `expected`, up to what an error of 8 N eps in A makes of it.
template <typename T>
void check_near(int n, const T* a, const T* x, const T* expected)
{
    auto error = widened(x, size_t(n) * n);
    for (int e = 0; e < n * n; ++e) {
        error[e] -= wide<T>(expected[e]);
    }
    const auto norm = one_norm(n, expected);
    const auto condition = norm * one_norm(n, a);
    BOOST_REQUIRE_LE(one_norm(n, error), 8 * n * eps<T> * condition * norm);
}

} // namespace gr::cudaphy::testing
