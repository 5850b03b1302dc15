/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/testing.h"
#include "kernels/linalg/qa_number_types.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

// Shared by the tests of triangular matrices: random triangles, and checks whether a
// triangle is the inverse of another.

namespace gr::cudaphy::testing {

using namespace gr::cudaphy::kernels;

//! The type in which the oracle computes; real if T is real.
template <typename T>
using wide = std::conditional_t<is_complex<T>, std::complex<wide_real<T>>, wide_real<T>>;

template <typename T>
using parameters = typename triangular_inverse<T>::parameters;

template <typename T>
T normal()
{
    static std::normal_distribution<double> distribution;
    if constexpr (!is_complex<T>) {
        return distribution(generator());
    } else {
        const auto re = distribution(generator());
        return T(re, distribution(generator()));
    }
}

template <typename T>
bool in_triangle(const parameters<T>& p, int element)
{
    const int i = element / p.order, j = element % p.order;
    return p.lower ? j <= i : j >= i;
}

template <typename T>
bool is_read(const parameters<T>& p, int element)
{
    return in_triangle<T>(p, element) &&
           !(p.unit_diagonal && element % (p.order + 1) == 0);
}

//! Triangles whose condition numbers grow slowly with N: the diagonal's modulus is
//! in 1..2, the variance of the other elements is 1 / N. Elements that must not be read
//! are NaN.
template <typename T>
std::vector<T> triangles(const parameters<T>& p, size_t batch)
{
    const int n = p.order;
    std::uniform_real_distribution<double> modulus(1.0, 2.0);
    std::vector<T> a(batch * n * n, T(std::numeric_limits<real_of<T>>::quiet_NaN()));
    for (size_t e = 0; e < a.size(); ++e) {
        const int element = e % (n * n);
        if (is_read<T>(p, element)) {
            const T value = normal<T>();
            const bool diagonal = element % (n + 1) == 0;
            a[e] = value * real_of<T>(diagonal ? modulus(generator()) / std::abs(value)
                                               : 1 / std::sqrt(double(n)));
        }
    }
    return a;
}

//! The triangle with its unit diagonal and with zeros outside.
template <typename T>
std::vector<wide<T>> triangle_of(const parameters<T>& p, const T* a)
{
    std::vector<wide<T>> l(p.order * p.order);
    for (size_t e = 0; e < l.size(); ++e) {
        l[e] = is_read<T>(p, e) ? wide<T>(a[e]) : wide<T>(in_triangle<T>(p, e) ? 1 : 0);
    }
    return l;
}

//! |a|, for numbers from a narrower type, whose squares are in range.
template <typename R>
inline R modulus(R a)
{
    return std::abs(a);
}
template <typename R>
inline R modulus(std::complex<R> a)
{
    return std::sqrt(a.real() * a.real() + a.imag() * a.imag());
}

template <typename W>
long double one_norm(int n, const std::vector<W>& a)
{
    std::vector<decltype(modulus(W()))> sums(n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            sums[j] += modulus(a[i * n + j]);
        }
    }
    long double largest = 0;
    for (const auto sum : sums) {
        largest = sum > largest || std::isnan(sum) ? sum : largest;
    }
    return largest;
}

//! sum -= f g, without the test for NaN of the library's complex product.
template <typename R>
inline void subtract_product(R& sum, R f, R g)
{
    sum -= f * g;
}
template <typename R>
inline void subtract_product(std::complex<R>& sum, std::complex<R> f, std::complex<R> g)
{
    sum -= std::complex<R>(f.real() * g.real() - f.imag() * g.imag(),
                           f.real() * g.imag() + f.imag() * g.real());
}

//! LAPACK's ||I - L X||_1 / (N ||L||_1 ||X||_1 eps), whose threshold is 30.
template <typename T>
double residual_ratio(const parameters<T>& p, const T* a, const T* x)
{
    const int n = p.order;
    const auto l = triangle_of<T>(p, a);
    const std::vector<wide<T>> inverse(x, x + n * n);
    std::vector<wide<T>> columns(n * n);
    for (int e = 0; e < n * n; ++e) {
        columns[e % n * n + e / n] = inverse[e];
    }
    std::vector<wide<T>> residual(n * n);
    for (int i = 0; i < n; ++i) {
        // Outside these columns the row has zeros.
        const int first = p.lower ? 0 : i, last = p.lower ? i + 1 : n;
        for (int j = 0; j < n; ++j) {
            wide<T> sum = i == j ? 1 : 0;
            for (int k = first; k < last; ++k) {
                subtract_product(sum, l[i * n + k], columns[j * n + k]);
            }
            residual[i * n + j] = sum;
        }
    }
    return one_norm(n, residual) / (n * one_norm(n, l) * one_norm(n, inverse) * eps<T>);
}

template <typename T>
struct inverted {
    std::vector<T> x;
    std::vector<int> status;
};

//! Inverts on the tested backend. x and status are poisoned before.
template <typename T>
inverted<T> invert(const parameters<T>& p,
                   const std::vector<T>& a,
                   backend where = tested_backend(),
                   bool in_place = false)
{
    auto q = queue::make(where);
    auto kernel = triangular_inverse<T>::make(p, where);
    array<T> from(*q, view<const T>(a));
    auto to = poisoned<T>(*q, a.size());
    auto status = poisoned<int>(*q, a.size() / (p.order * p.order));
    kernel->run(from, in_place ? from : to, status, *q);
    return { (in_place ? from : to).to_host(), status.to_host() };
}

template <typename T>
void check_inverses(const parameters<T>& p, const std::vector<T>& a)
{
    const int n = p.order, elements = n * n;
    const auto result = invert<T>(p, a);
    for (size_t item = 0; item < result.status.size(); ++item) {
        const T* x = &result.x[item * elements];
        BOOST_REQUIRE_EQUAL(result.status[item], 0);
        BOOST_REQUIRE_LT(residual_ratio<T>(p, &a[item * elements], x), 30.0);
        int wrong = 0; // one check an item, because a Boost check is slow
        for (int e = 0; e < elements; ++e) {
            wrong +=
                !in_triangle<T>(p, e) ? x[e] != T(0) : !is_read<T>(p, e) && x[e] != T(1);
        }
        BOOST_REQUIRE_EQUAL(wrong, 0);
    }
}

template <typename T>
void check_equal(const inverted<T>& one, const inverted<T>& other)
{
    BOOST_TEST((one.x == other.x));
    BOOST_TEST(one.status == other.status, boost::test_tools::per_element());
}

//! All of x is 0 for the item, and its status is `expected`.
template <typename T>
void check_failed(const inverted<T>& result, size_t item, int expected, int n)
{
    BOOST_TEST(result.status[item] == expected,
               "item " << item << " of order " << n << " has status "
                       << result.status[item] << ", not " << expected);
    const auto first = result.x.begin() + item * n * n;
    BOOST_TEST(std::count(first, first + n * n, T(0)) == n * n);
}

} // namespace gr::cudaphy::testing
