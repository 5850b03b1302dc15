/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE triangular_inverse_blocked
#include "kernels/linalg/triangular/qa_triangular_oracle.h"

// Orders above 32, which have kernels of their own.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! Every shape of an order.
template <typename T>
std::vector<parameters<T>> shapes(int n)
{
    return {
        { n, true, false }, { n, true, true }, { n, false, false }, { n, false, true }
    };
}

//! Orders at the edges of vectors, of blocks of 32, and of their doubles.
const std::vector<int> orders{
    33, 34, 47, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 200
};

//! |L X v - v| for a random v, against LAPACK's bound for the largest row.
template <typename T>
double sampled_residual_ratio(const parameters<T>& p, const T* a, const T* x)
{
    const int n = p.order;
    const auto l = triangle_of<T>(p, a);
    const auto inverse = std::vector<wide<T>>(x, x + size_t(n) * n);
    std::vector<wide<T>> v(n), y(n);
    for (auto& element : v) {
        element = wide<T>(normal<T>());
    }
    const auto product = [n](const std::vector<wide<T>>& m,
                             const std::vector<wide<T>>& in) {
        std::vector<wide<T>> out(n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                subtract_product(out[i], -m[size_t(i) * n + j], in[j]);
            }
        }
        return out;
    };
    const auto back = product(l, product(inverse, v));
    long double error = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        error += std::abs(back[i] - v[i]);
        size += std::abs(v[i]);
    }
    return error / (n * one_norm(n, l) * one_norm(n, inverse) * size * eps<T>);
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(triangles_above_32_have_a_small_residual, T, number_types)
{
    for (const int n : orders) {
        for (const auto& p : shapes<T>(n)) {
            // The reference inverts one after the other, and has one loop for all orders.
            const bool slow = tested_backend() == backend::reference;
            check_inverses<T>(p, triangles<T>(p, slow ? 1 : 3));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(triangles_up_to_1024_have_a_small_residual, T, number_types)
{
    for (const int n : { 511, 513, 769, 1023, 1024 }) {
        for (const auto& p : shapes<T>(n)) {
            if (tested_backend() == backend::reference && n != 513) {
                continue; // slow
            }
            if (tested_backend() == backend::cpu && p.unit_diagonal && n % 256 != 1) {
                continue;
            }
            const auto a = triangles<T>(p, 1);
            const auto result = invert<T>(p, a);
            BOOST_REQUIRE_EQUAL(result.status[0], 0);
            BOOST_REQUIRE_LT(sampled_residual_ratio<T>(p, a.data(), result.x.data()), 30);
            size_t wrong = 0; // one check for all, because a Boost check is slow
            for (size_t e = 0; e < a.size(); ++e) {
                wrong += !in_triangle<T>(p, e) && result.x[e] != T(0);
            }
            BOOST_REQUIRE_EQUAL(wrong, 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(inverses_above_32_equal_the_reference, T, number_types)
{
    if (tested_backend() == backend::reference) {
        return; // it would be compared with itself
    }
    for (const size_t batch : { 0, 1, 2, 65 }) {
        for (const int n : { 33, 64, 77, 130 }) {
            if (batch > 2 && n > 64) {
                continue;
            }
            for (const auto& p : shapes<T>(n)) {
                const auto a = triangles<T>(p, batch);
                const auto result = invert<T>(p, a);
                const auto expected = invert<T>(p, a, backend::reference);
                BOOST_TEST(result.status == expected.status,
                           boost::test_tools::per_element());
                for (size_t item = 0; item < batch; ++item) {
                    const size_t first = item * n * n, last = first + n * n;
                    const std::vector<wide<T>> right(expected.x.begin() + first,
                                                     expected.x.begin() + last);
                    std::vector<wide<T>> error(n * n);
                    for (int e = 0; e < n * n; ++e) {
                        error[e] = wide<T>(result.x[first + e]) - right[e];
                    }
                    const auto norm = one_norm(n, right);
                    const auto condition =
                        norm * one_norm(n, triangle_of<T>(p, &a[first]));
                    BOOST_REQUIRE_LE(one_norm(n, error),
                                     4 * n * eps<T> * condition * norm);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_large_band_of_ones_has_the_inverse_of_a_running_sum,
                              T,
                              number_types)
{
    for (const int n : { 33, 64, 100, 500 }) {
        if (tested_backend() == backend::reference && n > 100) {
            break; // slow
        }
        for (const auto& p : shapes<T>(n)) {
            std::vector<T> a(3 * n * n), expected(a.size());
            for (size_t e = 0; e < a.size(); ++e) {
                const int i = e / n % n, j = e % n;
                const int below = p.lower ? i - j : j - i;
                a[e] = T(real_of<T>(below == 0 ? 1 : below == 1 ? -1 : 0));
                expected[e] = T(real_of<T>(below >= 0 ? 1 : 0));
            }
            const auto result = invert<T>(p, a);
            BOOST_TEST((result.x == expected));
            BOOST_TEST(result.status == std::vector<int>(3));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_large_triangles_are_reported_and_harm_no_other,
                              T,
                              number_types)
{
    const auto nan = std::numeric_limits<real_of<T>>::quiet_NaN();
    const auto inf = std::numeric_limits<real_of<T>>::infinity();
    for (const int n : { 33, 70, 129 }) {
        for (const auto& p : shapes<T>(n)) {
            const auto good = triangles<T>(p, 7);
            auto bad = good;
            const auto element = [&](int item, int row, int column) -> T& {
                const int i = p.lower ? row : column, j = p.lower ? column : row;
                return bad[(item * n + i) * n + j];
            };
            element(1, n - 1, n - 1) = T(0);
            element(2, 5, 5) = element(2, 32, 32) = T(0);
            element(3, n - 1, 0) = T(nan);
            element(3, 0, 0) =
                T(0); // An element that is not finite counts before a zero.
            element(4, 32, 32 - 1) = T(-inf);
            element(5, 3, 4) = T(inf); // outside the triangle
            const auto expected = invert<T>(p, good);
            const auto result = invert<T>(p, bad);
            check_failed(result, 3, -1, n);
            check_failed(result, 4, -1, n);
            for (const int item : { 0, 1, 2, 5, 6 }) {
                const int zero = item == 1 ? n : item == 2 ? 6 : 0;
                if (zero != 0 && !p.unit_diagonal) {
                    check_failed(result, item, zero, n);
                    continue;
                }
                BOOST_TEST(result.status[item] == 0);
                BOOST_TEST(std::equal(result.x.begin() + item * n * n,
                                      result.x.begin() + (item + 1) * n * n,
                                      expected.x.begin() + item * n * n));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_large_inverse_beyond_its_type_is_reported_as_not_finite,
                              T,
                              number_types)
{
    const auto largest = std::numeric_limits<real_of<T>>::max();
    for (const int n : { 33, 100 }) {
        for (const auto& p : shapes<T>(n)) {
            // Within a block of 32, and between two.
            for (const int row : { 2, 32 }) {
                std::vector<T> a(2 * n * n);
                for (int i = 0; i < n; ++i) {
                    a[i * (n + 1)] = a[n * n + i * (n + 1)] = T(1);
                }
                for (const int i : { row, row - 1 }) {
                    a[p.lower ? i * n + i - 1 : (i - 1) * n + i] = T(largest);
                }
                const auto result = invert<T>(p, a);
                check_failed(result, 0, -1, n);
                BOOST_TEST(result.status[1] == 0);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_large_inverse_may_take_the_place_of_its_triangle,
                              T,
                              number_types)
{
    for (const int n : { 33, 64, 101, 257 }) {
        if (tested_backend() == backend::reference && n > 101) {
            break; // slow
        }
        for (const auto& p : shapes<T>(n)) {
            auto a = triangles<T>(p, 5);
            std::fill_n(a.begin() + 2 * n * n, n * n, T(0));
            check_equal(invert<T>(p, a, tested_backend(), true), invert<T>(p, a));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_algorithm_columns_serves_orders_above_32_too)
{
    parameters<float> p{ 50 };
    const auto a = triangles<float>(p, 4);
    const auto expected = invert<float>(p, a);
    p.algorithm = triangular_algorithm::columns;
    check_equal(invert<float>(p, a), expected);
}
