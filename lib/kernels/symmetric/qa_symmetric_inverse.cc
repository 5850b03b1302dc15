/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symmetric_inverse
#include "kernels/symmetric/qa_symmetric_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

const std::vector<int> orders = { 1, 2, 3, 5, 31, 63, 64, 65, 67, 127, 128, 129 };

//! The reference in long double takes too long for larger orders.
bool is_too_slow(int n) { return tested_backend() == backend::reference && n > 130; }

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(random_definite_and_indefinite_matrices_of_every_order,
                              T,
                              number_types)
{
    for (const int n : orders) {
        const auto a = indefinite<T>(n), b = definite<T>(n);
        check_inverse(n, a, invert(n, a), "indefinite");
        check_inverse(n, b, invert(n, b), "definite, unknown");
        check_inverse(n, b, invert(n, b, definiteness::positive), "definite");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(large_matrices, T, number_types)
{
    for (const int n : { 250, 1000 }) {
        if (!is_too_slow(n)) {
            const auto a = indefinite<T>(n), b = definite<T>(n);
            check_inverse(n, a, invert(n, a), "indefinite");
            check_inverse(n, b, invert(n, b, definiteness::positive), "definite");
        }
    }
}

//! CUDA takes that many panels in groups, and takes the shifts back level by level.
BOOST_AUTO_TEST_CASE(matrices_of_many_panels)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    for (const int n : { 4610, 5500 }) {
        const auto a = indefinite<double>(n);
        const auto x = invert(n, a);
        check_inverse(n, a, x, "indefinite");
        BOOST_TEST(x.refinements[0] == 0);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(equals_the_reference, T, number_types)
{
    for (const int n : { 1, 7, 66, 100 }) {
        for (const auto definite_as : { definiteness::unknown, definiteness::positive }) {
            const auto a = definite<T>(n);
            const auto one = invert(n, a, definite_as);
            const auto other = invert(n,
                                      a,
                                      definite_as,
                                      symmetric_algorithm::blocked,
                                      false,
                                      backend::reference);
            double square = 0;
            for (size_t e = 0; e < a.size(); ++e) {
                square += std::norm(one.x[e] - other.x[e]);
            }
            // The paper's mean squared difference is 1e-8.
            BOOST_TEST(square / a.size() < (sizeof(real_of<T>) == 4 ? 1e-12 : 1e-29));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(leading_minors_that_are_zero, T, number_types)
{
    for (const int n : { 2, 4, 65, 127, 128, 129, 200 }) {
        if (is_too_slow(n)) {
            continue;
        }
        const auto hollow =
            hermitian<T>(n, [](int i, int j) { return i == j ? T(0) : draw<T>(); });
        check_inverse(n, hollow, invert(n, hollow), "zero diagonal");
        const auto saddle = hermitian<T>(
            n, [n](int, int j) { return j >= (2 * n + 2) / 3 ? T(0) : draw<T>(); });
        check_inverse(n, saddle, invert(n, saddle), "saddle point");
        // The block of zeros comes first.
        const int zeros = n / 3;
        const auto turned =
            hermitian<T>(n, [zeros](int i, int) { return i < zeros ? T(0) : draw<T>(); });
        check_inverse(n, turned, invert(n, turned), "saddle point, zeros first");
    }
}

//! Small pivots are shifted or replaced by other pivots. Otherwise Newton steps or
//! factors would have to repair the inverse, above all if many leading minors are
//! singular. Only float32 on CUDA still needs that. The matrices are always the same.
BOOST_AUTO_TEST_CASE_TEMPLATE(indefinite_matrices_need_no_repair, T, number_types)
{
    if (is_too_slow(1000)) {
        return;
    }
    const int n = 1000;
    std::mt19937 engine(6);
    const auto draw_the_same = [&] {
        const auto uniform = [&] { return engine() / 0x1p31 - 1; };
        if constexpr (is_complex<T>) {
            const double re = uniform();
            return T(re, uniform());
        } else {
            return T(uniform());
        }
    };
    const auto random = hermitian<T>(n, [&](int, int) { return draw_the_same(); });
    const auto saddle =
        hermitian<T>(n, [&](int, int j) { return j >= n / 2 ? T(0) : draw_the_same(); });
    for (const auto& [a, what] :
         { std::pair(random, "random"), std::pair(saddle, "saddle") }) {
        const auto x = invert(n, a);
        check_inverse(n, a, x, what);
        if (!std::is_same_v<T, float> || what == std::string("random")) {
            BOOST_TEST(x.refinements[0] == 0, what);
        }
    }
}

//! The CPU looks for pivots among 256 rows before it looks at other rows.
BOOST_AUTO_TEST_CASE_TEMPLATE(pivots_that_stand_far_below, T, number_types)
{
    if (is_too_slow(1000)) {
        return;
    }
    const int n = 600;
    const auto exchange =
        hermitian<T>(n, [](int i, int j) { return i + j == n - 1 ? draw<T>() : T(0); });
    check_inverse(n, exchange, invert(n, exchange), "exchange");
    const auto saddle = hermitian<T>(n, [](int i, int j) {
        return T(i < n / 2 ? T(0) : j < n / 2 ? draw<T>() : T(0));
    });
    check_inverse(n, saddle, invert(n, saddle), "zeros but for a corner");
    const auto arrow = hermitian<T>(n, [](int i, int j) {
        // The products of the border do not cancel, so that no draw is singular.
        return i == j ? T(i % 2 ? 2e-3 : -1e-3) : i > n - 3 ? draw<T>() : T(0);
    });
    check_inverse(n, arrow, invert(n, arrow), "arrow");
    const auto apart = hermitian<T>(n, [](int i, int j) {
        return i - j == n / 2 ? T(1) : i == j ? draw<T>() * real_of<T>(1e-3) : T(0);
    });
    check_inverse(n, apart, invert(n, apart), "two diagonals");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(matrices_of_few_elements, T, number_types)
{
    for (const int n : { 2, 3, 64, 65, 66, 67, 127, 128, 129, 200 }) {
        if (is_too_slow(n)) {
            continue;
        }
        const auto diagonal = hermitian<T>(
            n, [n](int i, int j) { return T(i == j ? (2 * i < n ? 1 : -1) : 0); });
        check_inverse(n, diagonal, invert(n, diagonal), "diagonal of both signs");
        const auto exchange =
            hermitian<T>(n, [n](int i, int j) { return T(i + j == n - 1 ? 1 : 0); });
        check_inverse(n, exchange, invert(n, exchange), "exchange");
        if (n % 2 == 0) {
            const auto pairs = hermitian<T>(
                n, [](int i, int j) { return T(i == j + 1 && i % 2 ? 1 : 0); });
            check_inverse(n, pairs, invert(n, pairs), "pairs");
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ill_conditioned_matrices, T, number_types)
{
    const double condition = sizeof(real_of<T>) == 4 ? 1e6 : 1e12;
    for (const int n : { 2, 30, 64, 129, 200 }) {
        if (is_too_slow(n)) {
            continue;
        }
        const auto a = with_eigenvalues<T>(decaying(n, condition, true));
        const auto x = invert(n, a);
        check_inverse(n, a, x, "indefinite");
        const auto b = with_eigenvalues<T>(decaying(n, condition / 10, false));
        check_inverse(n, b, invert(n, b, definiteness::positive), "definite");
        check_inverse(n, b, invert(n, b), "definite, unknown");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(graded_matrices_and_extreme_scales, T, number_types)
{
    const int bits = sizeof(real_of<T>) == 4 ? 40 : 200;
    for (const int n : { 3, 64, 100, 129 }) {
        const auto grade = [&](int i) { return std::exp2(-double(bits) * i / n / 2); };
        const auto a = hermitian<T>(
            n, [&](int i, int j) { return draw<T>() * real_of<T>(grade(i) * grade(j)); });
        check_inverse(n, a, invert(n, a), "graded");
        for (const int power : { -bits * 2, bits * 2 }) {
            auto b = indefinite<T>(n);
            for (auto& value : b) {
                value *= real_of<T>(std::exp2(power));
            }
            check_inverse(n, b, invert(n, b), "scaled");
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(in_place_the_same_bits_come_out, T, number_types)
{
    for (const int n : { 1, 40, 100 }) {
        for (const auto algorithm :
             { symmetric_algorithm::blocked, symmetric_algorithm::bordering }) {
            for (const auto as : { definiteness::unknown, definiteness::positive }) {
                const auto a = definite<T>(n);
                const auto one = invert(n, a, as, algorithm, false);
                const auto other = invert(n, a, as, algorithm, true);
                BOOST_TEST(same_bits(one.x, other.x));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(only_the_lower_triangle_is_read, T, number_types)
{
    for (const int n : { 3, 70 }) {
        auto a = definite<T>(n);
        const auto right = invert(n, a);
        const auto positive = invert(n, a, definiteness::positive);
        for (int i = 0; i < n; ++i) {
            for (int j = i + 1; j < n; ++j) {
                a[size_t(i) * n + j] = std::numeric_limits<real_of<T>>::quiet_NaN();
            }
            if constexpr (is_complex<T>) {
                a[size_t(i) * n + i].imag(std::numeric_limits<real_of<T>>::quiet_NaN());
            }
        }
        BOOST_TEST(same_bits(right.x, invert(n, a).x));
        BOOST_TEST(same_bits(positive.x, invert(n, a, definiteness::positive).x));
        BOOST_TEST(right.status[0] == 0);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(source_2s_bordering, T, number_types)
{
    for (const int n : { 1, 2, 3, 64, 129, 300 }) {
        if (is_too_slow(n)) {
            continue;
        }
        const auto a = definite<T>(n);
        check_inverse(n,
                      a,
                      invert(n, a, definiteness::unknown, symmetric_algorithm::bordering),
                      "bordering");
    }
    // Bordering has no pivots: a leading minor of 0 ends it, and the status is that
    // minor's order.
    auto a = definite<T>(9);
    a[0] = 0;
    BOOST_TEST(
        invert(9, a, definiteness::unknown, symmetric_algorithm::bordering).status[0] ==
        1);
    auto b = definite<T>(9);
    b[4 * 9 + 4] = -1;
    BOOST_TEST(
        invert(9, b, definiteness::positive, symmetric_algorithm::bordering).status[0] ==
        5);
}
