/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse_failures
#include "kernels/common/fused_testing.h"
#include "kernels/linalg/inverse/qa_inverse_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

// Singular matrices, nearly singular matrices, numbers that are not finite, and refused
// parameters and views.

namespace {

//! Every order up to 9, and some above. The reference has one slow loop for all orders.
std::vector<int> some_orders()
{
    if (tested_backend() == backend::reference) {
        return { 1, 2, 3, 4, 5, 8, 9, 17, 33 };
    }
    return { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 16, 17,
             21, 24, 31, 32, 33, 37, 41, 47, 49, 57, 61, 64 };
}

template <typename T>
inverted<T> measure(const parameters<T>& p, const std::vector<T>& a)
{
    return invert<T>(p, a, { tested_backend(), false, true });
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_of_exact_rank_r_fails_in_step_r_plus_1,
                              T,
                              number_types)
{
    for (const int n : some_orders()) {
        std::vector<T> a;
        for (int rank = 0; rank < n; ++rank) {
            const auto one = blocks_of_ones<T>(n, rank);
            a.insert(a.end(), one.begin(), one.end());
        }
        for (const auto pivot : pivotings) {
            const auto result = measure<T>({ n, pivot }, a);
            for (int rank = 0; rank < n; ++rank) {
                check_failed(result, rank, rank + 1, n);
            }
        }
    }
}

// After r steps only the noise is left, below eps in modulus and in |re| + |im|.
BOOST_AUTO_TEST_CASE_TEMPLATE(full_pivoting_reports_the_numerical_rank_plus_1,
                              T,
                              number_types)
{
    using real = real_of<T>;
    const real bound = 2 * eps<T>;
    for (const int n : some_orders()) {
        std::vector<T> a;
        for (int rank = 1; rank < n; ++rank) {
            const auto one = shuffled(n, ones_in_noise<T>(n, rank, bound / 4));
            a.insert(a.end(), one.begin(), one.end());
        }
        const auto result = measure<T>({ n, pivoting::full }, a);
        for (int rank = 1; rank < n; ++rank) {
            const T* const x = &result.x[(rank - 1) * n * n];
            check_status(result, rank - 1, rank + 1, n);
            BOOST_REQUIRE(all_finite(x, n * n));
            BOOST_TEST(residual_ratio(n, &a[(rank - 1) * n * n], x) < 30.0);
            // The product of r ones and n - r pivots that were replaced.
            const real product = std::pow(bound, real(n - rank));
            if (product > std::numeric_limits<real>::min()) {
                BOOST_TEST(std::abs(std::abs(result.determinant[rank - 1]) / product -
                                    1) <= 8 * n * eps<T>);
            }
            BOOST_TEST(result.rcond[rank - 1] > 0);
            BOOST_TEST(result.rcond[rank - 1] <= 2 * bound);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(full_pivoting_inverts_a_neighbour_of_a_nearly_singular_one,
                              T,
                              number_types)
{
    // The reference rounds them to a wider type.
    const bool rounds_products =
        tested_backend() == backend::reference ||
        (tested_backend() == backend::cpu && !cpu_fuses_multiply_adds());
    for (const int n : { 2, 3, 4, 5, 8, 11, 16, 32, 33, 41, 49, 64 }) {
        const int batch = n > 16 ? 6 : 30;
        std::vector<T> a(batch * n * n);
        std::vector<int> ranks(batch);
        for (int item = 0; item < batch; ++item) {
            // A product of n x r and r x n, rounded, at scales far apart.
            const int rank = ranks[item] = 1 + generator()() % (n - 1);
            const int exponent = std::numeric_limits<real_of<T>>::max_exponent / 2;
            const auto left = gaussian_matrices<T>(1, n);
            const auto right = gaussian_matrices<T>(1, n);
            for (int e = 0; e < n * n; ++e) {
                T sum = 0;
                for (int k = 0; k < rank; ++k) {
                    sum += left[e / n * n + k] * right[k * n + e % n];
                }
                a[item * n * n + e] =
                    sum * std::ldexp(real_of<T>(1), exponent * (item % 3 - 1));
            }
        }
        const auto result = invert<T>({ n, pivoting::full }, a);
        for (int item = 0; item < batch; ++item) {
            const T* const x = &result.x[item * n * n];
            // Rounding may hide that a matrix is singular, but can't lower its rank.
            BOOST_TEST((result.status[item] == 0 || result.status[item] > ranks[item]));
            BOOST_REQUIRE(all_finite(x, n * n));
            // Products that are rounded before they are subtracted may leave only zeros.
            // Then X = 0.
            if (rounds_products && result.status[item] > 0 &&
                std::all_of(x, x + n * n, [](T value) { return value == T(0); })) {
                continue;
            }
            BOOST_TEST(residual_ratio(n, &a[item * n * n], x) < 30.0);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_after_a_pivot_too_small_keep_the_first_step,
                              T,
                              number_types)
{
    for (const int n : some_orders()) {
        for (int rank = 1; rank + 1 < n; rank += 3) {
            std::vector<T> a(n * n);
            for (int i = 0; i <= rank; ++i) {
                a[i * n + i] = i < rank ? T(1) : T(eps<T> / 4);
            }
            a = shuffled(n, a);
            check_failed(measure<T>({ n, pivoting::full }, a), 0, rank + 1, n);
        }
    }
}

// L D L^H, with small integers in L, so that the pivots are exactly the elements of D.
BOOST_AUTO_TEST_CASE_TEMPLATE(without_pivoting_the_first_minor_not_definite_is_reported,
                              T,
                              number_types)
{
    for (const int n : some_orders()) {
        std::vector<T> a(size_t(n) * n * n);
        for (int step = 0; step < n; ++step) {
            std::vector<T> l(n * n);
            std::vector<int> d(n, 1);
            for (int i = 0; i < n; ++i) {
                l[i * n + i] = T(1);
                for (int j = 0; j < i; ++j) {
                    l[i * n + j] =
                        generator()() % 4 == 0 ? random_quarter_turn<T>() : T(0);
                }
                d[i] = i < step    ? 1
                       : i == step ? -int(generator()() % 2)
                                   : int(generator()() % 3) - 1;
            }
            for (int e = 0; e < n * n; ++e) {
                for (int k = 0; k < n; ++k) {
                    a[step * n * n + e] +=
                        l[e / n * n + k] * conjugate(l[e % n * n + k]) * real_of<T>(d[k]);
                }
            }
        }
        const auto result = measure<T>({ n, pivoting::none }, a);
        for (int step = 0; step < n; ++step) {
            check_failed(result, step, step + 1, n);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_inf_in_one_matrix_leave_the_others_alone,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 4, 8, 9, 16, 32, 33, 41, 49, 64 }) {
        // The reference inverts one after the other.
        const size_t batch = tested_backend() == backend::reference ? 9
                             : n > 16                               ? 37
                                                                    : 101;
        for (const auto pivot : pivotings) {
            auto a = matrices_for<T>(pivot, batch, n);
            const auto expected = measure<T>({ n, pivot }, a);
            spoil_every_fourth(n, a);
            const auto result = measure<T>({ n, pivot }, a);
            for (size_t item = 0; item < batch; ++item) {
                if (item % 4 == 0) {
                    check_failed(result, item, -1, n);
                } else {
                    check_status(result, item, 0, n);
                    BOOST_TEST(same_bits(
                        &result.x[item * n * n], &expected.x[item * n * n], n * n));
                    // This product may be beyond the type's range.
                    BOOST_TEST(same_bits(
                        &result.determinant[item], &expected.determinant[item], 1));
                    BOOST_TEST(result.rcond[item] == expected.rcond[item]);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_inverse_beyond_its_type_is_reported_as_not_finite,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 5, 8, 32, 33, 41, 49, 64 }) {
        std::vector<T> a(n * n);
        for (int i = 0; i < n; ++i) {
            a[i * n + i] =
                i == n / 2 ? T(std::numeric_limits<real_of<T>>::denorm_min()) : T(1);
        }
        for (const auto pivot : { pivoting::partial, pivoting::none }) {
            check_failed(measure<T>({ n, pivot }, a), 0, -1, n);
        }
        // Full pivoting takes a larger pivot, so that no inverse is beyond the type.
        const auto full = measure<T>({ n, pivoting::full }, a);
        check_status(full, 0, n, n);
        BOOST_TEST(all_finite(full.x.data(), n * n));
        BOOST_TEST(full.x[n / 2 * (n + 1)] != T(0));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parameters_out_of_range_are_refused_with_the_range,
                              T,
                              number_types)
{
    const auto where = tested_backend();
    for (const int order : { -1, 0, 65, 1000 }) {
        BOOST_CHECK_EXCEPTION(inverse<T>::make({ order }, where),
                              std::invalid_argument,
                              [order](const std::invalid_argument& problem) {
                                  const std::string what = problem.what();
                                  return what.find(std::to_string(order)) !=
                                             std::string::npos &&
                                         what.find("1..64") != std::string::npos;
                              });
    }
    BOOST_CHECK_THROW(inverse<T>::make({ 4, static_cast<pivoting>(7) }, where),
                      std::invalid_argument);
    BOOST_CHECK_THROW(inverse<T>::make({ 4, static_cast<pivoting>(-1) }, where),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(choices_have_names)
{
    using namespace kernels;
    BOOST_CHECK((pivoting_from_name("full") == pivoting::full));
    BOOST_CHECK((pivoting_from_name("partial") == pivoting::partial));
    BOOST_CHECK((pivoting_from_name("none") == pivoting::none));
    BOOST_CHECK((matrix_layout_from_name("row_major") == matrix_layout::row_major));
    BOOST_CHECK((matrix_layout_from_name("interleaved") == matrix_layout::interleaved));
    BOOST_CHECK((inverse_algorithm_from_name("fastest") == inverse_algorithm::fastest));
    BOOST_CHECK((inverse_algorithm_from_name("patent") == inverse_algorithm::patent));
    BOOST_CHECK_THROW(pivoting_from_name("rook"), std::invalid_argument);
    BOOST_CHECK_THROW(matrix_layout_from_name("column_major"), std::invalid_argument);
    BOOST_CHECK_THROW(inverse_algorithm_from_name(""), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(views_that_do_not_fit_are_refused, T, number_types)
{
    auto q = queue::make(tested_backend());
    for (const auto layout : { matrix_layout::row_major, matrix_layout::interleaved }) {
        auto kernel = inverse<T>::make({ 3, pivoting::full, layout }, tested_backend());
        array<T> a(*q, 18), x(*q, 18), short_x(*q, 17), odd(*q, 19), three(*q, 3);
        array<int> status(*q, 2), long_status(*q, 3);
        array<real_of<T>> one(*q, 1);
        array<unsigned char> workspace(*q, kernel->workspace_bytes(2));
        const auto refuses = [&](view<const T> from,
                                 const typename inverse<T>::results& to) {
            BOOST_CHECK_THROW(kernel->run(from, to, workspace, *q),
                              std::invalid_argument);
        };
        refuses(a, { short_x, status });
        refuses(a, { x, long_status });
        refuses(odd, { odd, status });
        refuses(a, { x, status, three });
        refuses(a, { x, status, {}, one });
        if (tested_backend() == backend::cuda) {
            auto host = queue::make(backend::cpu);
            BOOST_CHECK_THROW(kernel->run(a, { x, status }, workspace, *host),
                              std::invalid_argument);
        }
    }
}
