/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE triangular_inverse
#include "kernels/linalg/triangular/qa_triangular_oracle.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! Every shape and algorithm of an order.
template <typename T>
std::vector<parameters<T>> variants(int n)
{
    std::vector<parameters<T>> all;
    for (const bool lower : { true, false }) {
        for (const bool unit : { false, true }) {
            for (const auto algorithm : { triangular_algorithm::fastest,
                                          triangular_algorithm::recursive_blocks,
                                          triangular_algorithm::columns }) {
                all.push_back({ n, lower, unit, algorithm });
            }
        }
    }
    return all;
}

//! All orders, or for the double types a few.
template <typename T>
std::vector<int> orders()
{
    if (std::is_same_v<real_of<T>, double>) {
        return { 1, 2, 3, 4, 5, 8, 11, 16, 17, 31, 32 };
    }
    std::vector<int> all(32);
    for (int n = 1; n <= 32; ++n) {
        all[n - 1] = n;
    }
    return all;
}

//! Items, or a few: the reference inverts one after the other.
size_t but_few_by_reference(size_t items)
{
    return tested_backend() == backend::reference ? std::min<size_t>(items, 13) : items;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(triangles_of_every_order_have_a_small_residual,
                              T,
                              number_types)
{
    for (const int n : orders<T>()) {
        for (const auto& p : variants<T>(n)) {
            check_inverses<T>(p, triangles<T>(p, but_few_by_reference(70)));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(
    gaussian_triangles_of_huge_condition_have_a_small_residual_too, T, number_types)
{
    for (const int n : orders<T>()) {
        for (const auto& p : variants<T>(n)) {
            if (!p.unit_diagonal) {
                std::vector<T> a(but_few_by_reference(67) * n * n);
                std::generate(a.begin(), a.end(), normal<T>);
                check_inverses<T>(p, a);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(inverses_equal_the_reference, T, number_types)
{
    if (tested_backend() == backend::reference) {
        return; // it would be compared with itself
    }
    // A batch that fills the machine.
    const size_t large = tested_backend() == backend::cuda ? 5003 : 1003;
    for (const size_t batch :
         { size_t(0), size_t(1), size_t(31), size_t(32), size_t(33), large }) {
        for (const int n : { 1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 32 }) {
            if (batch > 33 && n > 8) {
                continue;
            }
            for (const auto& p : variants<T>(n)) {
                const auto a = triangles<T>(p, batch);
                const auto result = invert<T>(p, a);
                const auto expected = invert<T>(p, a, backend::reference);
                BOOST_TEST(result.status == expected.status,
                           boost::test_tools::per_element());
                for (size_t item = 0; item < batch; ++item) {
                    const T* x = &result.x[item * n * n];
                    const T* reference = &expected.x[item * n * n];
                    const std::vector<wide<T>> right(reference, reference + n * n);
                    std::vector<wide<T>> error(n * n);
                    for (int e = 0; e < n * n; ++e) {
                        error[e] = wide<T>(x[e]) - right[e];
                    }
                    const auto norm = one_norm(n, right);
                    const auto condition =
                        norm * one_norm(n, triangle_of<T>(p, &a[item * n * n]));
                    BOOST_REQUIRE_LE(one_norm(n, error),
                                     4 * n * eps<T> * condition * norm);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_band_of_ones_has_the_inverse_of_a_running_sum,
                              T,
                              number_types)
{
    for (int n = 1; n <= 32; ++n) {
        for (const auto& p : variants<T>(n)) {
            const size_t batch = 37;
            std::vector<T> a(batch * n * n), expected(a.size());
            for (size_t e = 0; e < a.size(); ++e) {
                const int i = e / n % n, j = e % n;
                const int below = p.lower ? i - j : j - i;
                a[e] = T(real_of<T>(below == 0 ? 1 : below == 1 ? -1 : 0));
                expected[e] = T(real_of<T>(below >= 0 ? 1 : 0));
            }
            const auto result = invert<T>(p, a);
            BOOST_TEST((result.x == expected));
            BOOST_TEST(std::count(result.status.begin(), result.status.end(), 0) ==
                       long(batch));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_triangle_has_one_inverse_wherever_it_stands_in_the_batch,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 5, 8, 16, 29, 32 }) {
        for (const auto& p : variants<T>(n)) {
            const size_t batch = but_few_by_reference(133);
            const auto a = triangles<T>(p, batch);
            const auto all = invert<T>(p, a);
            for (const size_t first :
                 { size_t(1), size_t(5), batch * 3 / 4, batch - 1 }) {
                const auto rest =
                    invert<T>(p, std::vector<T>(a.begin() + first * n * n, a.end()));
                BOOST_TEST(std::equal(
                    rest.x.begin(), rest.x.end(), all.x.begin() + first * n * n));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_first_zero_of_the_diagonal_is_reported, T, number_types)
{
    for (int n = 1; n <= 32; ++n) {
        if (tested_backend() == backend::reference && n > 8 && n % 8) {
            continue; // one loop for all orders
        }
        for (const auto& p : variants<T>(n)) {
            auto a = triangles<T>(p, n + 2);
            // Item k has a zero in row k and, but for the last, another one below.
            for (int k = 0; k < n; ++k) {
                a[k * n * n + k * (n + 1)] = T(0);
                a[k * n * n + n * n - 1] = T(0);
            }
            const auto result = invert<T>(p, a);
            for (int k = 0; k < n + 2; ++k) {
                if (k < n && !p.unit_diagonal) {
                    check_failed(result, k, k + 1, n);
                } else {
                    BOOST_TEST(result.status[k] == 0);
                    BOOST_TEST(residual_ratio<T>(p, &a[k * n * n], &result.x[k * n * n]) <
                               30);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_inf_in_one_triangle_leave_the_others_alone,
                              T,
                              number_types)
{
    const auto nan = std::numeric_limits<real_of<T>>::quiet_NaN();
    const auto inf = std::numeric_limits<real_of<T>>::infinity();
    for (const int n : { 1, 2, 3, 4, 8, 9, 16, 32 }) {
        for (const auto& p : variants<T>(n)) {
            const size_t batch = but_few_by_reference(101);
            const auto good = triangles<T>(p, batch);
            auto bad = good;
            std::vector<bool> spoiled(batch);
            for (size_t item = 0; item < batch; ++item) {
                const int at = generator()() % (n * n);
                // Elements outside of the triangle must not matter.
                spoiled[item] = item % 4 == 0 && is_read<T>(p, at);
                if (item % 4 == 0) {
                    const auto value = item % 3 == 0 ? nan : item % 3 == 1 ? inf : -inf;
                    auto& element = bad[item * n * n + at];
                    if constexpr (!is_complex<T>) {
                        element = value;
                    } else {
                        element = item % 8 ? T(1, value) : T(value, 1);
                    }
                    // An element that is not finite counts before a zero.
                    if (spoiled[item] && at != 0) {
                        bad[item * n * n] = T(0);
                    }
                }
            }
            const auto expected = invert<T>(p, good);
            const auto result = invert<T>(p, bad);
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

BOOST_AUTO_TEST_CASE_TEMPLATE(an_inverse_beyond_its_type_is_reported_as_not_finite,
                              T,
                              number_types)
{
    const auto denormal = std::numeric_limits<real_of<T>>::denorm_min();
    const auto largest = std::numeric_limits<real_of<T>>::max();
    for (const int n : { 1, 2, 5, 32 }) {
        for (auto p : variants<T>(n)) {
            std::vector<T> a(n * n);
            for (int i = 0; i < n; ++i) {
                a[i * n + i] = T(i == n / 2 ? denormal : 1);
            }
            if (p.unit_diagonal) {
                BOOST_TEST(invert<T>(p, a).status[0] == 0);
                if (n < 3) {
                    continue;
                }
                // max^2 in the second row or column beside the diagonal.
                for (int i = 1; i < n; ++i) {
                    a[p.lower ? i * n + i - 1 : (i - 1) * n + i] = T(largest);
                }
            }
            check_failed(invert<T>(p, a), 0, -1, n);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(diagonals_of_any_scale_are_inverted, T, number_types)
{
    const real_of<T> exponent = std::numeric_limits<real_of<T>>::max_exponent - 2;
    for (const int n : { 1, 2, 7, 32 }) {
        for (const auto& p : variants<T>(n)) {
            if (p.unit_diagonal) {
                continue;
            }
            std::vector<T> a(n * n), expected(n * n);
            for (int i = 0; i < n; ++i) {
                const auto scale = std::exp2((i % 2 ? -exponent : exponent) + 1);
                a[i * n + i] = T(1) * scale;
                expected[i * n + i] = T(1) / scale;
                if constexpr (is_complex<T>) {
                    // 1 / (s + s i) = (1 - i) / 2s
                    a[i * n + i] = T(scale, scale);
                    expected[i * n + i] = T(1 / scale / 2, -1 / scale / 2);
                }
            }
            const auto result = invert<T>(p, a);
            BOOST_TEST(result.status[0] == 0);
            BOOST_TEST((result.x == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_inverse_may_take_the_place_of_the_triangle,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 4, 7, 8, 16, 32 }) {
        for (const auto& p : variants<T>(n)) {
            const size_t batch = but_few_by_reference(301);
            auto a = triangles<T>(p, batch);
            std::fill_n(a.begin() + batch / 2 * n * n, n * n, T(0));
            check_equal(invert<T>(p, a, tested_backend(), true), invert<T>(p, a));
        }
    }
}

BOOST_AUTO_TEST_CASE(memory_need_not_be_aligned_beyond_an_element)
{
    const int n = 3;
    const size_t batch = 45;
    const parameters<complex64> p{ n };
    auto a = triangles<complex64>(p, batch);
    a.insert(a.begin(), complex64(7));
    auto q = queue::make(tested_backend());
    auto kernel = triangular_inverse<complex64>::make(p, tested_backend());
    array<complex64> from(*q, view<const complex64>(a));
    auto to = poisoned<complex64>(*q, batch * n * n + 2);
    auto status = poisoned<int>(*q, batch + 2);
    kernel->run(view<complex64>(from).part(1, batch * n * n),
                to.all().part(1, batch * n * n),
                status.all().part(1, batch),
                *q);
    const auto expected =
        invert<complex64>(p, std::vector<complex64>(a.begin() + 1, a.end()));
    const auto x = to.to_host();
    // The address may decide which kernel is used, so that bits may differ.
    for (size_t item = 0; item < batch; ++item) {
        const auto* one = &expected.x[item * n * n];
        const auto* other = &x[1 + item * n * n];
        float largest = 0;
        for (int e = 0; e < n * n; ++e) {
            largest = std::max(largest, std::abs(one[e]));
        }
        for (int e = 0; e < n * n; ++e) {
            BOOST_TEST(std::abs(one[e] - other[e]) <= 1e-5f * largest);
        }
    }
    // Memory before and behind must be unchanged.
    const auto untouched = poisoned<complex64>(*q, 1).to_host();
    BOOST_TEST(x.front() == untouched[0]);
    BOOST_TEST(x.back() == untouched[0]);
    const auto untouched_status = poisoned<int>(*q, 1).to_host();
    BOOST_TEST(status.to_host().front() == untouched_status[0]);
    BOOST_TEST(status.to_host().back() == untouched_status[0]);
}

BOOST_AUTO_TEST_CASE(parameters_out_of_range_are_refused_with_the_range)
{
    const auto where = tested_backend();
    for (const int order : { -1, 0, 1025, 100000 }) {
        const auto names_the_range = [&](const std::invalid_argument& problem) {
            const std::string what = problem.what();
            return what.find(std::to_string(order)) != std::string::npos &&
                   what.find("1..1024") != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION(triangular_inverse<float>::make({ order }, where),
                              std::invalid_argument,
                              names_the_range);
        BOOST_CHECK_EXCEPTION(triangular_inverse<complex128>::make({ order }, where),
                              std::invalid_argument,
                              names_the_range);
    }
    BOOST_CHECK_THROW(
        triangular_inverse<float>::make(
            { 4, true, false, static_cast<triangular_algorithm>(7) }, where),
        std::invalid_argument);
    BOOST_CHECK(
        (triangular_algorithm_from_name("fastest") == triangular_algorithm::fastest));
    BOOST_CHECK((triangular_algorithm_from_name("recursive_blocks") ==
                 triangular_algorithm::recursive_blocks));
    BOOST_CHECK(
        (triangular_algorithm_from_name("columns") == triangular_algorithm::columns));
    BOOST_CHECK_THROW(triangular_algorithm_from_name("rows"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    auto q = queue::make(tested_backend());
    auto kernel = triangular_inverse<float>::make({ 3 }, tested_backend());
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
