/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse
#include "kernels/common/testing.h"
#include "kernels/linalg/qa_inverse_oracle.h"
#include <algorithm>
#include <boost/mpl/list.hpp>
#include <cmath>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <limits>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

using number_types = boost::mpl::list<float, complex64>;

namespace {

constexpr pivoting pivotings[] = { pivoting::full, pivoting::partial };

template <typename T>
struct inverted {
    std::vector<T> x;
    std::vector<int> status;
};

//! Inverts on the tested backend; x and status start out poisoned.
template <typename T>
inverted<T> invert(int n,
                   pivoting pivot,
                   const std::vector<T>& a,
                   backend where = tested_backend(),
                   bool in_place = false)
{
    auto q = queue::make(where);
    auto kernel = inverse<T>::make({ n, pivot }, where);
    array<T> from(*q, view<const T>(a));
    auto to = poisoned<T>(*q, a.size());
    auto status = poisoned<int>(*q, a.size() / (n * n));
    kernel->run(from, in_place ? from : to, status, *q);
    return { (in_place ? from : to).to_host(), status.to_host() };
}

template <typename T>
void check_residuals(int n, const std::vector<T>& a, const inverted<T>& result)
{
    const size_t batch = result.status.size();
    std::vector<double> ratios(batch);
    for (size_t item = 0; item < batch; ++item) {
        BOOST_REQUIRE_EQUAL(result.status[item], 0);
        ratios[item] = residual_ratio(n, &a[item * n * n], &result.x[item * n * n]);
        BOOST_REQUIRE_LT(ratios[item], 30.0);
    }
    std::sort(ratios.begin(), ratios.end());
    if (batch) {
        BOOST_TEST(ratios[(batch - 1) * 999 / 1000] <= 3.0, "order " << n);
    }
}

template <typename T>
T one_of_modulus_one()
{
    const float angle =
        std::uniform_real_distribution<float>(-3.14159265f, 3.14159265f)(generator());
    if constexpr (std::is_same_v<T, float>) {
        return angle > 0 ? 1.0f : -1.0f;
    } else {
        return std::polar(1.0f, angle);
    }
}

template <typename T>
void check_equal(const inverted<T>& one, const inverted<T>& other)
{
    BOOST_TEST((one.x == other.x));
    BOOST_TEST(one.status == other.status, boost::test_tools::per_element());
}

//! All of x is 0 for each item, and its status is `expected`.
template <typename T>
void check_failed(const inverted<T>& result, size_t item, int expected, int n)
{
    BOOST_TEST(result.status[item] == expected,
               "item " << item << " of order " << n << " has status "
                       << result.status[item] << ", not " << expected);
    const auto first = result.x.begin() + item * n * n;
    BOOST_TEST(std::count(first, first + n * n, T(0)) == n * n);
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(gaussian_matrices_of_every_order_have_a_small_residual,
                              T,
                              number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const auto a = gaussian<T>(1003 * n * n);
        for (const auto pivot : pivotings) {
            check_residuals(n, a, invert(n, pivot, a));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(inverses_equal_the_reference_to_the_condition_number,
                              T,
                              number_types)
{
    for (const size_t batch : { 0, 1, 31, 32, 33, 3001 }) {
        for (const int n : { 1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 32 }) {
            if (batch > 33 && n > 16) {
                continue;
            }
            const auto a = gaussian<T>(batch * n * n);
            for (const auto pivot : pivotings) {
                const auto result = invert(n, pivot, a);
                const auto expected = invert(n, pivot, a, backend::reference);
                BOOST_TEST(result.status == expected.status,
                           boost::test_tools::per_element());
                for (size_t item = 0; item < batch; ++item) {
                    const T* reference = &expected.x[item * n * n];
                    std::vector<std::complex<double>> error(n * n);
                    for (int e = 0; e < n * n; ++e) {
                        error[e] = wide(result.x[item * n * n + e]) - wide(reference[e]);
                    }
                    const double norm = one_norm(n, reference);
                    const double condition = norm * one_norm(n, &a[item * n * n]);
                    BOOST_REQUIRE_LE(one_norm(n, error.data()),
                                     8.0 * n * eps * condition * norm);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_has_one_inverse_wherever_it_stands_in_the_batch,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 5, 8, 12, 16, 29, 32 }) {
        const auto a = gaussian<T>(133 * n * n);
        for (const auto pivot : pivotings) {
            const auto all = invert(n, pivot, a);
            for (const size_t first : { 1, 5, 16, 100, 132 }) {
                const auto rest =
                    invert(n, pivot, std::vector<T>(a.begin() + first * n * n, a.end()));
                BOOST_TEST(std::equal(
                    rest.x.begin(), rest.x.end(), all.x.begin() + first * n * n));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cuda_and_cpu_give_the_same_bits, T, number_types)
{
    bool fused = true;
#if defined(__x86_64__)
    fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    if (tested_backend() != backend::cuda || !fused) {
        BOOST_TEST_MESSAGE("needs CUDA, and a CPU with fused multiply-add");
        return;
    }
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        auto a = gaussian<T>(1000 * n * n);
        // Half of them full of equal moduli and zeros, some wide apart.
        for (size_t e = 0; e < a.size() / 2; ++e) {
            a[e] = float(int(generator()() % 3) - 1);
        }
        for (size_t e = a.size() * 9 / 10; e < a.size(); ++e) {
            a[e] *= std::exp2(float(int(generator()() % 200) - 100));
        }
        for (const auto pivot : pivotings) {
            check_equal(invert(n, pivot, a), invert(n, pivot, a, backend::cpu));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_permutation_times_phases_is_inverted_to_its_adjoint,
                              T,
                              number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const int batch = 67;
        std::vector<T> a(batch * n * n);
        for (int item = 0; item < batch; ++item) {
            std::vector<int> column(n);
            std::iota(column.begin(), column.end(), 0);
            std::shuffle(column.begin(), column.end(), generator());
            for (int i = 0; i < n; ++i) {
                a[(item * n + i) * n + column[i]] = one_of_modulus_one<T>();
            }
        }
        for (const auto pivot : pivotings) {
            const auto result = invert(n, pivot, a);
            for (int item = 0; item < batch; ++item) {
                BOOST_TEST(result.status[item] == 0);
                for (int i = 0; i < n; ++i) {
                    for (int j = 0; j < n; ++j) {
                        const auto expected = std::conj(wide(a[(item * n + j) * n + i]));
                        const auto got = wide(result.x[(item * n + i) * n + j]);
                        BOOST_REQUIRE_LE(std::abs(got - expected), 4 * eps);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(leading_pivots_of_zero_are_no_obstacle, T, number_types)
{
    for (int n = 2; n <= inverse<T>::max_order; ++n) {
        const int batch = 65;
        auto a = gaussian<T>(batch * n * n);
        for (int item = 0; item < batch; ++item) {
            const int zeros = 1 + item % (n / 2);
            for (int i = 0; i < zeros; ++i) {
                for (int j = 0; j < zeros; ++j) {
                    a[(item * n + i) * n + j] = T(0);
                }
            }
        }
        for (const auto pivot : pivotings) {
            check_residuals(n, a, invert(n, pivot, a));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(hilbert_matrices_have_a_small_residual, T, number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                a[i * n + j] = 1.0f / (i + j + 1);
            }
        }
        for (const auto pivot : pivotings) {
            const auto result = invert(n, pivot, a);
            // From order 6 on, their condition number is beyond 1 / eps.
            BOOST_TEST((result.status[0] == 0 || n > 5));
            if (result.status[0] == 0) {
                BOOST_TEST(residual_ratio(n, a.data(), result.x.data()) < 30.0);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_of_any_scale_is_inverted_as_well, T, number_types)
{
    for (const int n : { 1, 2, 3, 4, 8, 16, 19, 32 }) {
        for (const int exponent : { -104, -64, -31, 31, 64, 104 }) {
            auto a = gaussian<T>(100 * n * n);
            for (auto& element : a) {
                element *= std::exp2(float(exponent));
            }
            for (const auto pivot : pivotings) {
                check_residuals(n, a, invert(n, pivot, a));
            }
        }
    }
}

// With A = D B, X D is the inverse of B, and held to it; A = B D likewise. Only full
// pivoting promises that, for partial pivoting takes the rows in the order of D. Beyond
// 10^+-15 the multipliers of the elimination, 10^-60 at 10^+-30, leave float: what small
// elements of X they make is lost, and only the residual of A and X themselves is held to
// the bound.
BOOST_AUTO_TEST_CASE_TEMPLATE(rows_or_columns_far_apart_are_no_obstacle, T, number_types)
{
    for (const int n : { 2, 3, 4, 8, 16, 23, 32 }) {
        for (const int decades : { 15, 30 }) {
            for (const bool scale_rows : { true, false }) {
                const int batch = 100;
                const auto b = gaussian<T>(batch * n * n);
                auto a = b;
                const int exponent = decades * 332 / 100;
                std::uniform_int_distribution<int> exponents(-exponent, exponent);
                std::vector<float> d(batch * n);
                for (auto& factor : d) {
                    factor = std::exp2(float(exponents(generator())));
                }
                for (size_t e = 0; e < a.size(); ++e) {
                    a[e] *= d[e / (n * n) * n + (scale_rows ? e / n % n : e % n)];
                }
                auto result = invert(n, pivoting::full, a);
                check_residuals(n, a, result);
                if (decades == 15) {
                    for (size_t e = 0; e < a.size(); ++e) {
                        result.x[e] *=
                            d[e / (n * n) * n + (scale_rows ? e % n : e / n % n)];
                    }
                    check_residuals(n, b, result);
                }
            }
        }
    }
}

// A block of ones on the diagonal, then one whose moduli squared are beyond float.
BOOST_AUTO_TEST_CASE_TEMPLATE(small_pivots_after_large_ones_are_found, T, number_types)
{
    for (int n = 3; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n), expected(n * n);
        for (int i = 0; i < n; ++i) {
            const bool large = i < n / 2;
            const int j = large ? i : n - 1 - (i - n / 2);
            a[i * n + j] = large ? 1.0f : 0x1p-90f;
            expected[j * n + i] = large ? 1.0f : 0x1p90f;
        }
        for (const auto pivot : pivotings) {
            const auto result = invert(n, pivot, a);
            BOOST_TEST(result.status[0] == 0);
            BOOST_TEST((result.x == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_complex_pivot_near_the_ends_of_float_has_its_reciprocal)
{
    const std::vector<complex64> a{ { 1e30f, -1e30f },  { 3e38f, 3e38f },
                                    { 1e-30f, 1e-30f }, { 0.0f, 2e-38f },
                                    { 1e20f, 1e-20f },  { 6e-39f, 0.0f },
                                    { 1e-40f, 1e-40f } };
    const auto result = invert(1, pivoting::full, a);
    for (size_t item = 0; item + 1 < a.size(); ++item) {
        BOOST_TEST(result.status[item] == 0);
        const auto expected = 1.0 / wide(a[item]);
        // Reciprocals below 2^-126 have an absolute precision only.
        BOOST_TEST(std::abs(wide(result.x[item]) - expected) <=
                   4 * eps * std::abs(expected) + 0x1p-148);
    }
    check_failed(result, a.size() - 1, -1, 1); // 1 / a is beyond float
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_zero_column_is_reported_at_its_step, T, number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const int columns[] = { 0, n / 2, n - 1 };
        auto a = gaussian<T>(4 * n * n);
        for (int item = 0; item < 3; ++item) {
            for (int i = 0; i < n; ++i) {
                a[(item * n + i) * n + columns[item]] = T(0);
            }
        }
        // Full pivoting runs out of pivots after as many steps as the rank.
        const auto full = invert(n, pivoting::full, a);
        const auto partial = invert(n, pivoting::partial, a);
        for (int item = 0; item < 3; ++item) {
            check_failed(full, item, n, n);
            check_failed(partial, item, columns[item] + 1, n);
        }
        BOOST_TEST(full.status[3] == 0);
        BOOST_TEST(partial.status[3] == 0);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_of_exact_rank_r_fails_in_step_r_plus_1,
                              T,
                              number_types)
{
    for (int n = 2; n <= inverse<T>::max_order; ++n) {
        std::vector<T> a(n * n * n);
        for (int rank = 0; rank < n; ++rank) {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    // Blocks of ones, the last of which takes what is left.
                    const bool same = std::min(i, rank - 1) == std::min(j, rank - 1);
                    a[(rank * n + i) * n + j] = T(rank > 0 && same ? 1.0f : 0.0f);
                }
            }
        }
        for (const auto pivot : pivotings) {
            const auto result = invert(n, pivot, a);
            for (int rank = 0; rank < n; ++rank) {
                check_failed(result, rank, rank + 1, n);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_inf_in_one_matrix_leave_the_others_alone,
                              T,
                              number_types)
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    for (const int n : { 1, 2, 3, 4, 8, 9, 16, 32 }) {
        const size_t batch = 101;
        const auto good = gaussian<T>(batch * n * n);
        auto bad = good;
        std::vector<bool> spoiled(batch);
        for (size_t item = 0; item < batch; ++item) {
            spoiled[item] = generator()() % 4 == 0;
            if (spoiled[item]) {
                const float value = item % 3 == 0 ? nan : item % 3 == 1 ? inf : -inf;
                auto& element = bad[item * n * n + generator()() % (n * n)];
                if constexpr (std::is_same_v<T, float>) {
                    element = value;
                } else {
                    element =
                        item % 2 ? T(element.real(), value) : T(value, element.imag());
                }
            }
        }
        for (const auto pivot : pivotings) {
            const auto expected = invert(n, pivot, good);
            const auto result = invert(n, pivot, bad);
            for (size_t item = 0; item < batch; ++item) {
                if (spoiled[item]) {
                    check_failed(result, item, -1, n);
                } else {
                    BOOST_TEST(result.status[item] == 0);
                    BOOST_TEST(std::equal(result.x.begin() + item * n * n,
                                          result.x.begin() + (item + 1) * n * n,
                                          expected.x.begin() + item * n * n));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_inverse_beyond_float_is_reported_as_not_finite,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 5, 32 }) {
        std::vector<T> a(n * n);
        for (int i = 0; i < n; ++i) {
            a[i * n + i] = i == n / 2 ? 1e-40f : 1.0f;
        }
        for (const auto pivot : pivotings) {
            check_failed(invert(n, pivot, a), 0, -1, n);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_inverse_may_take_the_place_of_the_matrix,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 4, 7, 8, 16, 32 }) {
        auto a = gaussian<T>(1001 * n * n);
        std::fill_n(a.begin() + 500 * n * n, n * n, T(0));
        for (const auto pivot : pivotings) {
            check_equal(invert(n, pivot, a, tested_backend(), true), invert(n, pivot, a));
        }
    }
}

BOOST_AUTO_TEST_CASE(memory_need_not_be_aligned_beyond_an_element)
{
    const int n = 3;
    const size_t batch = 45;
    const auto a = gaussian<complex64>(batch * n * n + 1);
    auto q = queue::make(tested_backend());
    auto kernel = inverse<complex64>::make({ n }, tested_backend());
    array<complex64> from(*q, view<const complex64>(a));
    auto to = poisoned<complex64>(*q, batch * n * n + 1);
    auto status = poisoned<int>(*q, batch + 1);
    kernel->run(view<complex64>(from).part(1, batch * n * n),
                to.all().part(1, batch * n * n),
                status.all().part(1, batch),
                *q);
    const auto expected =
        invert(n, pivoting::full, std::vector<complex64>(a.begin() + 1, a.end()));
    const auto x = to.to_host();
    BOOST_TEST(std::equal(expected.x.begin(), expected.x.end(), x.begin() + 1));
    // The elements before the first stay as they were.
    const auto untouched = poisoned<complex64>(*q, 1).to_host();
    BOOST_TEST(x[0] == untouched[0]);
}

BOOST_AUTO_TEST_CASE(parameters_out_of_range_are_refused_with_the_range)
{
    const auto where = tested_backend();
    for (const int order : { -1, 0, 33, 1000 }) {
        const auto names_the_range = [&](const std::invalid_argument& problem) {
            const std::string what = problem.what();
            return what.find(std::to_string(order)) != std::string::npos &&
                   what.find("1..32") != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION(inverse<float>::make({ order }, where),
                              std::invalid_argument,
                              names_the_range);
        BOOST_CHECK_EXCEPTION(inverse<complex64>::make({ order }, where),
                              std::invalid_argument,
                              names_the_range);
    }
    BOOST_CHECK_THROW(inverse<float>::make({ 4, static_cast<pivoting>(7) }, where),
                      std::invalid_argument);
    BOOST_CHECK((pivoting_from_name("full") == pivoting::full));
    BOOST_CHECK((pivoting_from_name("partial") == pivoting::partial));
    BOOST_CHECK_THROW(pivoting_from_name("rook"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    auto q = queue::make(tested_backend());
    auto kernel = inverse<float>::make({ 3 }, tested_backend());
    array<float> a(*q, 18), x(*q, 18), short_x(*q, 17), odd(*q, 19);
    array<int> status(*q, 2), long_status(*q, 3);
    BOOST_CHECK_THROW(kernel->run(a, short_x, status, *q), std::invalid_argument);
    BOOST_CHECK_THROW(kernel->run(a, x, long_status, *q), std::invalid_argument);
    BOOST_CHECK_THROW(kernel->run(odd, odd, status, *q), std::invalid_argument);
    if (tested_backend() == backend::cuda) {
        auto host = queue::make(backend::cpu);
        BOOST_CHECK_THROW(kernel->run(a, x, status, *host), std::invalid_argument);
    }
}
