/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE triangular_solve
#include "kernels/linalg/triangular/qa_triangular_oracle.h"
#include <gnuradio/cudaphy/kernels/triangular_solve.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

template <typename T>
using solve_parameters = typename triangular_solve<T>::parameters;

template <typename T>
std::vector<solve_parameters<T>> shapes(int n, int columns)
{
    return { { n, columns, true, false },
             { n, columns, true, true },
             { n, columns, false, false },
             { n, columns, false, true } };
}

template <typename T>
parameters<T> of_matrix(const solve_parameters<T>& p)
{
    return { p.order, p.lower, p.unit_diagonal };
}

template <typename T>
std::vector<T> random(size_t count)
{
    std::vector<T> all(count);
    std::generate(all.begin(), all.end(), normal<T>);
    return all;
}

//! Solves on the tested backend. x and status are poisoned before.
template <typename T>
inverted<T> solve(const solve_parameters<T>& p,
                  const std::vector<T>& l,
                  const std::vector<T>& b,
                  backend where = tested_backend())
{
    auto q = queue::make(where);
    auto kernel = triangular_solve<T>::make(p, where);
    const size_t matrices = l.size() / (size_t(p.order) * p.order);
    array<T> matrix(*q, view<const T>(l)), right(*q, view<const T>(b));
    auto x = poisoned<T>(*q, b.size());
    auto status = poisoned<int>(*q, b.size() / (size_t(p.order) * p.columns));
    auto workspace = poisoned<unsigned char>(*q, kernel->workspace_bytes(matrices));
    kernel->run(matrix, right, x, status, workspace, *q);
    return { x.to_host(), status.to_host() };
}

//! The largest |L x - b|_1 / (N |L|_1 |L^-1|_1 |b|_1 eps) of an item's columns. A product
//! with the inverse has this bound; substitution has a smaller bound.
template <typename T>
double residual_ratio(const solve_parameters<T>& p, const T* l, const T* b, const T* x)
{
    const int n = p.order;
    const auto triangle = triangle_of<T>(of_matrix<T>(p), l);
    const auto inverse = invert<T>(of_matrix<T>(p),
                                   std::vector<T>(l, l + size_t(n) * n),
                                   backend::reference)
                             .x;
    const auto scale = n * eps<T> * one_norm(n, triangle) *
                       one_norm(n, std::vector<wide<T>>(inverse.begin(), inverse.end()));
    long double worst = 0;
    for (int c = 0; c < p.columns; ++c) {
        long double error = 0, norm = 0;
        for (int i = 0; i < n; ++i) {
            wide<T> sum(b[size_t(i) * p.columns + c]);
            norm += modulus(sum);
            for (int k = 0; k < n; ++k) {
                subtract_product(sum,
                                 triangle[size_t(i) * n + k],
                                 wide<T>(x[size_t(k) * p.columns + c]));
            }
            error += modulus(sum);
        }
        worst = std::max(worst, error / (scale * norm));
    }
    return worst;
}

template <typename T>
void check_solutions(const solve_parameters<T>& p,
                     const std::vector<T>& l,
                     const std::vector<T>& b)
{
    const size_t square = size_t(p.order) * p.order, sides = size_t(p.order) * p.columns;
    const auto result = solve<T>(p, l, b);
    for (size_t item = 0; item < result.status.size(); ++item) {
        BOOST_REQUIRE_EQUAL(result.status[item], 0);
        const T* matrix = &l[l.size() == square ? 0 : item * square];
        BOOST_REQUIRE_LT(
            residual_ratio<T>(p, matrix, &b[item * sides], &result.x[item * sides]), 4);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(solutions_of_any_order_have_a_small_residual,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 8, 17, 31, 32, 33, 64, 100 }) {
        for (const int columns : { 1, 2, 15, 33, 70 }) {
            for (const auto& p : shapes<T>(n, columns)) {
                const size_t batch = n > 32 ? 2 : 5;
                check_solutions<T>(p,
                                   triangles<T>(of_matrix<T>(p), batch),
                                   random<T>(batch * n * columns));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_matrix_may_serve_the_whole_batch, T, number_types)
{
    for (const int n : { 1, 5, 32, 65 }) {
        for (const size_t batch : { 0, 1, 2, 70 }) {
            for (const auto& p : shapes<T>(n, 3)) {
                const auto l = triangles<T>(of_matrix<T>(p), 1);
                const auto b = random<T>(batch * n * 3);
                std::vector<T> of_each;
                for (size_t item = 0; item < batch; ++item) {
                    of_each.insert(of_each.end(), l.begin(), l.end());
                }
                const auto result = solve<T>(p, l, b);
                BOOST_TEST(result.status == std::vector<int>(batch));
                check_equal(result, solve<T>(p, of_each, b));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(many_columns_give_what_they_give_one_by_one,
                              T,
                              number_types)
{
    const int n = 40, columns = 150;
    for (const auto& p : shapes<T>(n, columns)) {
        const auto l = triangles<T>(of_matrix<T>(p), 1);
        const auto b = random<T>(n * columns);
        const auto all = solve<T>(p, l, b);
        auto single = p;
        single.columns = 1;
        for (const int c : { 0, 1, 63, 64, 149 }) {
            std::vector<T> column(n), expected(n);
            for (int i = 0; i < n; ++i) {
                column[i] = b[i * columns + c];
                expected[i] = all.x[i * columns + c];
            }
            BOOST_TEST((solve<T>(single, l, column).x == expected));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_items_are_reported_and_harm_no_other, T, number_types)
{
    const auto nan = std::numeric_limits<real_of<T>>::quiet_NaN();
    const auto inf = std::numeric_limits<real_of<T>>::infinity();
    for (const int n : { 2, 9, 32, 50 }) {
        for (const auto& p : shapes<T>(n, 4)) {
            const size_t batch = 9, square = n * n, sides = n * 4;
            const auto good_l = triangles<T>(of_matrix<T>(p), batch);
            const auto good_b = random<T>(batch * sides);
            auto l = good_l;
            auto b = good_b;
            const int beside = p.lower ? n : 1; // element (1, 0), or (0, 1)
            l[2 * square + (n + 1)] = l[3 * square - 1] = T(0); // the first counts
            l[3 * square + beside] = T(nan);
            b[5 * sides + 1] = T(inf);
            l[6 * square + (n + 1)] = T(0);
            b[6 * sides + sides - 1] = T(-nan);
            const auto expected = solve<T>(p, good_l, good_b);
            const auto result = solve<T>(p, l, b);
            const std::vector<int> states{ 0, 0, p.unit_diagonal ? 0 : 2, -1, 0, -1, -1,
                                           0, 0 };
            BOOST_TEST(result.status == states, boost::test_tools::per_element());
            for (size_t item = 0; item < batch; ++item) {
                const auto first = result.x.begin() + item * sides;
                if (states[item] != 0) {
                    BOOST_TEST(std::count(first, first + sides, T(0)) == long(sides));
                } else {
                    BOOST_TEST(std::equal(
                        first, first + sides, expected.x.begin() + item * sides));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_solution_beyond_its_type_is_reported, T, number_types)
{
    const auto largest = std::numeric_limits<real_of<T>>::max();
    for (const bool lower : { true, false }) {
        std::vector<T> l(2 * 9), b(2 * 3, T(1));
        for (int i = 0; i < 3; ++i) {
            l[i * 4] = l[9 + i * 4] = T(1) / real_of<T>(4);
        }
        b[1] = T(largest);
        const auto result = solve<T>({ 3, 1, lower }, l, b);
        BOOST_TEST(result.status == (std::vector<int>{ -1, 0 }));
        BOOST_TEST((result.x == std::vector<T>{ 0, 0, 0, 4, 4, 4 }));
    }
}

BOOST_AUTO_TEST_CASE(parameters_out_of_range_are_refused_with_the_range)
{
    const auto refuses = [](int order, int columns, const char* range) {
        BOOST_CHECK_EXCEPTION(
            triangular_solve<float>::make({ order, columns }, tested_backend()),
            std::invalid_argument,
            [range](const std::invalid_argument& problem) {
                return std::string(problem.what()).find(range) != std::string::npos;
            });
    };
    refuses(0, 1, "order is 0, must be 1..1024");
    refuses(1025, 1, "order is 1025, must be 1..1024");
    refuses(3, 0, "columns is 0, must be 1..65536");
    refuses(3, 65537, "columns is 65537, must be 1..65536");
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    auto q = queue::make(tested_backend());
    auto kernel = triangular_solve<float>::make({ 3, 2 }, tested_backend());
    array<float> l(*q, 27), b(*q, 18), x(*q, 18);
    array<int> status(*q, 3);
    array<unsigned char> workspace(*q, kernel->workspace_bytes(3));
    const auto refuses = [&](size_t in_l, size_t in_b, size_t in_x, size_t items) {
        BOOST_CHECK_THROW(kernel->run(view<float>(l).part(0, in_l),
                                      view<float>(b).part(0, in_b),
                                      view<float>(x).part(0, in_x),
                                      view<int>(status).part(0, items),
                                      workspace,
                                      *q),
                          std::invalid_argument);
    };
    refuses(18, 18, 18, 3);
    refuses(26, 18, 18, 3);
    refuses(27, 17, 18, 3);
    refuses(27, 18, 12, 3);
    refuses(27, 18, 18, 2);
    if (kernel->workspace_bytes(3) > 0) {
        BOOST_CHECK_THROW(kernel->run(l, b, x, status, {}, *q), std::invalid_argument);
        auto host = queue::make(backend::cpu);
        BOOST_CHECK_THROW(kernel->run(l, b, x, status, workspace, *host),
                          std::invalid_argument);
    }
}
