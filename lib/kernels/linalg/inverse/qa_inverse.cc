/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse
#include "kernels/linalg/inverse/qa_inverse_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

//! The number of matrices of an order, so that a test over all orders takes seconds.
template <typename T>
size_t batch_of(int n)
{
    const int work = is_complex<T> ? 200000 : 400000;
    const bool slow = std::is_same_v<real_of<T>, double>;
    return std::clamp((slow ? work / 4 : work) / (n * n * n), slow ? 2 : 8, 1003);
}

template <typename T>
T scaled(T value, int exponent)
{
    return value * std::ldexp(real_of<T>(1), exponent);
}

//! The exponent of the largest power of two, 127 or 1023.
template <typename T>
constexpr int top = std::numeric_limits<real_of<T>>::max_exponent - 1;

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(matrices_of_every_order_have_a_small_residual,
                              T,
                              number_types)
{
    for (const auto pivot : pivotings) {
        std::vector<double> ratios;
        for (int n = 1; n <= inverse<T>::max_order; ++n) {
            const auto a = matrices_for<T>(pivot, batch_of<T>(n), n);
            append_ratios(n, a, invert<T>({ n, pivot }, a), ratios);
        }
        check_ratios(ratios, name_of(pivot));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(inverses_equal_the_reference_to_the_condition_number,
                              T,
                              number_types)
{
    if (tested_backend() == backend::reference) {
        return; // it would be compared with itself
    }
    for (const size_t batch : { 0, 1, 31, 32, 33, 1009 }) {
        for (const int n : { 1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 32, 33, 41, 48, 57, 64 }) {
            if (batch > (n > 16 ? 1 : n > 4 ? 33 : 1009)) {
                continue;
            }
            for (const auto pivot : pivotings) {
                const auto a = matrices_for<T>(pivot, batch, n);
                const auto result = invert<T>({ n, pivot }, a);
                const auto expected = invert<T>({ n, pivot }, a, { backend::reference });
                BOOST_TEST((result.status == expected.status));
                for (size_t e = 0; e < a.size(); e += n * n) {
                    check_near(n, &a[e], &result.x[e], &expected.x[e]);
                }
            }
        }
    }
}

// The rotations are exact, and therefore everything else is.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_permutation_times_quarter_turns_has_its_adjoint_exactly,
                              T,
                              number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const int batch = n > 16 ? 5 : 35;
        std::vector<T> a(batch * n * n), expected(a.size()), determinant(batch, T(1));
        for (int item = 0; item < batch; ++item) {
            const auto column = random_permutation(n);
            for (int i = 0; i < n; ++i) {
                const auto turn = random_quarter_turn<T>();
                a[(item * n + i) * n + column[i]] = turn;
                expected[(item * n + column[i]) * n + i] = conjugate(turn);
                determinant[item] *= turn;
            }
            determinant[item] *= is_odd(column) ? -1 : 1;
        }
        for (const auto pivot : { pivoting::full, pivoting::partial }) {
            const auto result =
                invert<T>({ n, pivot }, a, { tested_backend(), false, true });
            BOOST_TEST(std::count(result.status.begin(), result.status.end(), 0) ==
                       batch);
            BOOST_TEST((result.x == expected));
            BOOST_TEST((result.determinant == determinant));
            for (const auto rcond : result.rcond) {
                BOOST_TEST(rcond == 1);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_permutation_times_phases_has_its_adjoint, T, number_types)
{
    for (const int n : { 1, 2, 3, 5, 8, 13, 16, 32, 33, 64 }) {
        std::vector<T> a(9 * n * n);
        for (int item = 0; item < 9; ++item) {
            const auto column = random_permutation(n);
            for (int i = 0; i < n; ++i) {
                const T value = normal<T>();
                a[(item * n + i) * n + column[i]] = value / std::abs(value);
            }
        }
        for (const auto pivot : { pivoting::full, pivoting::partial }) {
            const auto result = invert<T>({ n, pivot }, a);
            for (int e = 0; e < 9 * n * n; ++e) {
                const int i = e / n % n, j = e % n;
                // The modulus is 1 to within rounding, and is squared below it.
                const wide<T> turn = conjugate(a[e + (j - i) * n + i - j]);
                const auto expected = turn == wide<T>(0) ? 0 : turn / std::norm(turn);
                BOOST_REQUIRE_LE(std::abs(wide<T>(result.x[e]) - expected), 4.1 * eps<T>);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(leading_pivots_of_zero_are_no_obstacle, T, number_types)
{
    std::vector<double> ratios;
    for (int n = 2; n <= inverse<T>::max_order; ++n) {
        const int batch = std::min<int>(batch_of<T>(n), 65);
        auto a = gaussian_matrices<T>(batch, n);
        for (int e = 0; e < batch * n * n; ++e) {
            const int zeros = 1 + e / (n * n) % (n / 2);
            if (e / n % n < zeros && e % n < zeros) {
                a[e] = T(0);
            }
        }
        for (const auto pivot : { pivoting::full, pivoting::partial }) {
            append_ratios(n, a, invert<T>({ n, pivot }, a), ratios);
        }
    }
    check_ratios(ratios, "leading zeros");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(hilbert_matrices_have_a_small_residual, T, number_types)
{
    // From here on the matrices are singular to the type's precision, and need not be
    // definite.
    const int singular = std::is_same_v<real_of<T>, float> ? 6 : 12;
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n);
        for (int e = 0; e < n * n; ++e) {
            a[e] = T(1) / real_of<T>(e / n + e % n + 1);
        }
        for (const auto pivot : pivotings) {
            const auto result = invert<T>({ n, pivot }, a);
            const int status = result.status[0];
            if (n < singular) {
                check_status(result, 0, 0, n);
            }
            if (pivot == pivoting::full) {
                BOOST_TEST(status >= 0);
                BOOST_TEST(all_finite(result.x.data(), n * n));
            }
            if (n < singular || pivot == pivoting::full) {
                BOOST_TEST(residual_ratio(n, a.data(), result.x.data()) < 30.0);
            }
        }
    }
}

// J. H. Wilkinson's worst case: with partial pivoting the last column doubles in every
// step. Powers of two make that exact. With other elements only full pivoting keeps the
// residual small.
BOOST_AUTO_TEST_CASE_TEMPLATE(wilkinsons_matrices_grow_without_harm, T, number_types)
{
    std::uniform_real_distribution<double> little(0.95, 1.0);
    for (int n = 2; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n), off(n * n);
        for (int e = 0; e < n * n; ++e) {
            const int i = e / n, j = e % n;
            a[e] = T(i == j || j == n - 1 ? 1 : i > j ? -1 : 0);
            off[e] = a[e] * real_of<T>(i > j ? little(generator()) : 1);
        }
        check_residuals(n, off, invert<T>({ n, pivoting::full }, off));
        for (const auto pivot : { pivoting::full, pivoting::partial }) {
            check_residuals(n, a, invert<T>({ n, pivot }, a));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_of_any_scale_has_the_scaled_inverse_bit_for_bit,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 4, 8, 16, 19, 32, 33, 48, 64 }) {
        if (tested_backend() == backend::reference && n > 32) {
            break; // one slow loop for all orders
        }
        for (const auto pivot : pivotings) {
            const auto a = matrices_for<T>(pivot, 20, n);
            const auto x = invert<T>({ n, pivot }, a);
            check_residuals(n, a, x);
            for (const int part : { -6, -4, 4, 6 }) {
                const int exponent = top<T> / 8 * part;
                auto larger = a, expected = x.x;
                for (size_t e = 0; e < a.size(); ++e) {
                    larger[e] = scaled(a[e], exponent);
                    expected[e] = scaled(x.x[e], -exponent);
                }
                const auto result = invert<T>({ n, pivot }, larger);
                BOOST_TEST((result.status == x.status));
                // The reference divides, and may round otherwise. Near the ends of the
                // type's range, so does a product of small parts that is subnormal.
                if (tested_backend() != backend::reference && std::abs(part) < 6) {
                    BOOST_TEST((result.x == expected));
                }
                check_residuals(n, larger, result);
            }
        }
    }
}

// Full pivoting reports rows or columns that are smaller than eps times the largest one,
// and inverts a matrix nearby. In float, if a whole matrix is tiny, that matrix differs
// by the least pivot of xGETC2, the smallest normal number / eps. Partial pivoting
// reports nothing, but then chooses rows only by their scales. That is as bad as no
// pivoting: one matrix of a thousand has a ratio above 30.
BOOST_AUTO_TEST_CASE_TEMPLATE(rows_or_columns_far_apart_are_no_obstacle, T, number_types)
{
    using limits = std::numeric_limits<real_of<T>>;
    constexpr auto least_pivot = limits::min() / limits::epsilon();
    const bool is_double = std::is_same_v<real_of<T>, double>;
    std::vector<double> ratios; // of partial pivoting
    for (const int n : { 2, 3, 4, 8, 16, 23, 32, 64 }) {
        for (const int decades : { 2, 30, is_double ? 250 : 30 }) {
            for (const bool scale_rows : { true, false }) {
                const int batch = n > 16 ? 5 : 50;
                auto a = gaussian_matrices<T>(batch, n);
                const int range = decades * 332 / 100;
                std::uniform_int_distribution<int> exponents(-range, range);
                std::vector<int> d(batch * n);
                std::generate(d.begin(), d.end(), [&] { return exponents(generator()); });
                for (size_t e = 0; e < a.size(); ++e) {
                    a[e] = scaled(a[e],
                                  d[e / (n * n) * n + (scale_rows ? e / n % n : e % n)]);
                }
                const auto full = invert<T>({ n, pivoting::full }, a);
                for (size_t e = 0; e < a.size(); e += n * n) {
                    BOOST_REQUIRE(all_finite(&full.x[e], n * n));
                    const double off = least_pivot / eps<T> / one_norm(n, &a[e]);
                    BOOST_REQUIRE_LT(residual_ratio(n, &a[e], &full.x[e]), 30.0 + off);
                    BOOST_REQUIRE_GE(full.status[e / (n * n)], 0);
                    if (decades == 2 && is_double) {
                        BOOST_REQUIRE_EQUAL(full.status[e / (n * n)], 0);
                    }
                }
                if (scale_rows || decades == 2) {
                    const auto partial = invert<T>({ n, pivoting::partial }, a);
                    for (size_t e = 0; e < a.size(); e += n * n) {
                        check_status(partial, e / (n * n), 0, n);
                        BOOST_REQUIRE(all_finite(&partial.x[e], n * n));
                        ratios.push_back(residual_ratio(n, &a[e], &partial.x[e]));
                    }
                }
            }
        }
    }
    std::sort(ratios.begin(), ratios.end());
    BOOST_TEST(ratios[ratios.size() * 95 / 100] < 3.0);
}

// A block of ones, then one whose moduli squared are beyond the type.
BOOST_AUTO_TEST_CASE_TEMPLATE(small_pivots_after_large_ones_are_found, T, number_types)
{
    const int exponent = -top<T> * 3 / 4;
    for (int n = 3; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n), expected(n * n), nearby(n * n);
        for (int i = 0; i < n; ++i) {
            const bool large = i < n / 2;
            const int j = large ? i : n - 1 - (i - n / 2);
            a[i * n + j] = large ? T(1) : scaled(T(1), exponent);
            expected[j * n + i] = large ? T(1) : scaled(T(1), -exponent);
            // Full pivoting replaces a pivot below eps by eps.
            nearby[j * n + i] = large ? T(1) : T(0.5) / eps<T>;
        }
        const auto partial = invert<T>({ n, pivoting::partial }, a);
        check_status(partial, 0, 0, n);
        BOOST_TEST((partial.x == expected));
        const auto full = invert<T>({ n, pivoting::full }, a);
        check_status(full, 0, n / 2 + 1, n);
        BOOST_TEST((full.x == nearby));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_pivot_near_the_ends_of_its_type_has_its_reciprocal,
                              T,
                              number_types)
{
    using real = real_of<T>;
    const auto power = [](double exponent) { return std::exp2(real(exponent)); };
    const real least = std::numeric_limits<real>::min(),
               largest = std::numeric_limits<real>::max();
    std::vector<T> a{ T(power(top<T> - 27)),
                      T(-power(top<T> * 0.8)),
                      T(power(5 - top<T>)),
                      T(largest),
                      T(least),
                      T(least / 2) };
    if constexpr (is_complex<T>) {
        a.insert(a.end(),
                 { { power(top<T> * 0.8), -power(top<T> * 0.8) },
                   { largest, largest },
                   { power(-top<T> * 0.8), power(-top<T> * 0.8) },
                   { 0, power(1 - top<T>) },
                   { power(top<T> / 2), power(-top<T> / 2) },
                   { least / 2, 0 } });
    }
    a.push_back(T(least / 16)); // the reciprocal of which is beyond the type
    const auto result = invert<T>({ 1, pivoting::partial }, a);
    for (size_t item = 0; item + 1 < a.size(); ++item) {
        check_status(result, item, 0, 1);
        const auto expected = wide_real<T>(1) / wide<T>(a[item]);
        // Reciprocals below the least normal number have an absolute precision only.
        BOOST_TEST(std::abs(wide<T>(result.x[item]) - expected) <=
                   4 * eps<T> * std::abs(expected) +
                       2 * std::numeric_limits<real>::denorm_min());
    }
    check_failed(result, a.size() - 1, -1, 1);
}
