/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse_lapack
#include "kernels/linalg/inverse/qa_inverse_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

// The eleven kinds of matrix on which LAPACK tests its general solvers and inverses
// (TESTING/LIN: xLATB4, xDRVGE), and what each way of pivoting must report for them.

namespace {

constexpr int diagonal = 1, upper = 2, lower = 3, well_conditioned = 4,
              first_column_zero = 5, last_column_zero = 6, last_columns_zero = 7,
              ill_conditioned = 8, near_singular = 9, near_underflow = 10,
              near_overflow = 11;

constexpr int orders[] = { 1, 2, 3, 5, 8, 10, 16, 31, 32, 33, 41, 48, 49, 57, 64 };

//! The first zero column, from 1; 0 if there is none; -1 if a kind is the same as another
//! kind in that order.
int zero_column(int kind, int n)
{
    if (kind < first_column_zero || kind > last_columns_zero) {
        return 0;
    }
    return n < kind - 4                ? -1
           : kind == first_column_zero ? 1
           : kind == last_column_zero  ? n
                                       : n / 2 + 1;
}

template <typename T>
std::vector<T> matrix_of_kind(int kind, int n)
{
    using real = wide_real<T>;
    using limits = std::numeric_limits<real_of<T>>;
    const real precision = limits::epsilon(); // xLAMCH('P')
    const real condition = kind == ill_conditioned ? std::sqrt(real(0.1) / precision)
                           : kind == near_singular ? real(0.1) / precision
                                                   : 2;
    const real small = limits::min() / precision / 4;
    const real norm = kind == near_underflow  ? small
                      : kind == near_overflow ? 1 / small
                                              : 1;
    const with_singular_values<T> make(n, condition, norm);
    auto a = make.narrowed(kind == diagonal ? make.diagonal()
                           : kind == upper  ? make.upper()
                           : kind == lower  ? make.lower()
                                            : make.general());
    const int zero = zero_column(kind, n);
    for (int e = 0; e < n * n && zero; ++e) {
        const int column = e % n + 1;
        if (kind == last_columns_zero ? column >= zero : column == zero) {
            a[e] = T(0);
        }
    }
    return a;
}

template <typename T>
std::vector<T> matrices_of_kind(int kind, int n)
{
    std::vector<T> all;
    for (int item = 0; item < std::clamp(100 / n, 3, 40); ++item) {
        const auto a = matrix_of_kind<T>(kind, n);
        all.insert(all.end(), a.begin(), a.end());
    }
    return all;
}

//! Checks that full pivoting, which replaced pivots by `bound`, inverted a matrix near A:
//! in each row and column at most one element differs, by at most twice the bound. A is
//! well conditioned but for its scale.
template <typename T>
void check_inverse_of_a_neighbour(int n, const T* a, const T* x, wide_real<T> bound)
{
    const auto nearby = plain_inverse(n, widened(x, size_t(n) * n));
    const auto rounding = 100 * n * eps<T> * (one_norm(n, a) + bound);
    std::vector<int> in_row(n), in_column(n);
    for (int e = 0; e < n * n; ++e) {
        const auto difference = std::abs(nearby[e] - wide<T>(a[e]));
        BOOST_TEST(difference <= 2 * bound + rounding);
        if (difference > rounding) {
            BOOST_TEST(++in_row[e / n] == 1);
            BOOST_TEST(++in_column[e % n] == 1);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(test_matrices_are_what_they_are_meant_to_be,
                              T,
                              number_types)
{
    using real = wide_real<T>;
    const auto sum_of_squares = [](const auto& a) {
        real sum = 0;
        for (const auto& value : a) {
            sum += std::norm(wide<T>(value));
        }
        return sum;
    };
    for (const int n : { 1, 2, 7, 16 }) {
        for (const int kind :
             { diagonal, upper, lower, well_conditioned, near_singular }) {
            const auto a = matrix_of_kind<T>(kind, n);
            const real condition = kind == near_singular ? real(0.05) / eps<T> : 2;
            real expected = 0, expected_of_inverse = 0;
            for (int i = 0; i < n; ++i) {
                const auto square = std::pow(condition, real(2 * i) / std::max(n - 1, 1));
                expected += 1 / square;
                expected_of_inverse += square;
            }
            BOOST_TEST(std::abs(sum_of_squares(a) / expected - 1) < 1e-5);
            if (kind != near_singular) {
                const auto x = plain_inverse(n, widened(a.data(), a.size()));
                BOOST_TEST(std::abs(sum_of_squares(x) / expected_of_inverse - 1) < 1e-5);
            }
            for (int e = 0; e < n * n; ++e) {
                const int i = e / n, j = e % n;
                const bool zero = (kind == upper && i > j) || (kind == lower && i < j) ||
                                  (kind == diagonal && i != j);
                BOOST_REQUIRE((a[e] == T(0)) == zero);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(invertible_kinds_have_a_small_residual, T, number_types)
{
    for (const auto pivot : { pivoting::full, pivoting::partial }) {
        std::vector<double> ratios;
        for (const int n : orders) {
            for (int kind = 1; kind <= 11; ++kind) {
                const bool below_bound =
                    kind == near_underflow && pivot == pivoting::full;
                if (zero_column(kind, n) == 0 && !below_bound) {
                    const auto a = matrices_of_kind<T>(kind, n);
                    append_ratios(n, a, invert<T>({ n, pivot }, a), ratios);
                }
            }
        }
        check_ratios(ratios, name_of(pivot));
    }
}

// xGETC2 accepts no pivot below the smallest normal number / eps. These pivots are below.
BOOST_AUTO_TEST_CASE_TEMPLATE(full_pivoting_near_underflow_inverts_a_neighbour,
                              T,
                              number_types)
{
    using limits = std::numeric_limits<real_of<T>>;
    const auto bound = limits::min() / limits::epsilon();
    for (const int n : orders) {
        auto a = matrices_of_kind<T>(near_underflow, n);
        // Half of them below the smallest normal number.
        for (size_t e = a.size() / 2; e < a.size(); ++e) {
            a[e] *= eps<T>;
        }
        const auto result = invert<T>({ n, pivoting::full }, a);
        for (size_t item = 0; item < result.status.size(); ++item) {
            check_status(result, item, 1, n);
            BOOST_TEST(all_finite(&result.x[item * n * n], n * n));
            check_inverse_of_a_neighbour(
                n, &a[item * n * n], &result.x[item * n * n], bound);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_zero_column_is_reported_at_its_step, T, number_types)
{
    for (const int n : orders) {
        for (int kind = first_column_zero; kind <= last_columns_zero; ++kind) {
            const int zero = zero_column(kind, n);
            if (zero < 0) {
                continue;
            }
            const auto a = matrices_of_kind<T>(kind, n);
            const int rank = kind == last_columns_zero ? zero - 1 : n - 1;
            const auto full =
                invert<T>({ n, pivoting::full }, a, { tested_backend(), false, true });
            const auto partial =
                invert<T>({ n, pivoting::partial }, a, { tested_backend(), false, true });
            for (size_t item = 0; item < full.status.size(); ++item) {
                check_failed(full, item, rank + 1, n);
                check_failed(partial, item, zero, n);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_zero_column_in_the_middle_is_reported_at_its_step,
                              T,
                              number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const int columns[] = { 0, n / 2, n - 1 };
        auto a = gaussian_matrices<T>(4, n);
        for (int e = 0; e < 3 * n * n; ++e) {
            if (e % n == columns[e / (n * n)]) {
                a[e] = T(0);
            }
        }
        const auto full = invert<T>({ n, pivoting::full }, a);
        const auto partial = invert<T>({ n, pivoting::partial }, a);
        for (int item = 0; item < 3; ++item) {
            check_failed(full, item, n, n);
            check_failed(partial, item, columns[item] + 1, n);
        }
        check_status(full, 3, 0, n);
        check_status(partial, 3, 0, n);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(definite_matrices_need_no_pivoting_up_to_a_million,
                              T,
                              number_types)
{
    std::vector<double> ratios;
    for (const int n : orders) {
        for (const int condition : { 2, 1000, 1000000 }) {
            std::vector<T> a;
            for (int item = 0; item < std::clamp(100 / n, 3, 40); ++item) {
                const with_singular_values<T> make(n, condition);
                const auto one = make.narrowed(make.definite());
                a.insert(a.end(), one.begin(), one.end());
            }
            append_ratios(n, a, invert<T>({ n, pivoting::none }, a), ratios);
        }
    }
    check_ratios(ratios, "definite");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(definite_matrices_near_the_ends_of_the_type_are_inverted,
                              T,
                              number_types)
{
    using limits = std::numeric_limits<real_of<T>>;
    const wide_real<T> small = limits::min() / limits::epsilon() / 4;
    for (const int n : orders) {
        for (const auto norm : { small, 1 / small }) {
            const with_singular_values<T> make(n, 2, norm);
            const auto a = make.narrowed(make.definite());
            check_residuals(n, a, invert<T>({ n, pivoting::none }, a));
        }
    }
}
