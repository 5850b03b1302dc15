/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse_patent
#include "kernels/linalg/inverse/qa_inverse_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;
using kernels::inverse_algorithm;

// Patent CN102567283 (Tsinghua University, 2011): its printed steps against the
// reference.

namespace {

constexpr int largest = 32;

template <typename T>
parameters<T> patent(int n)
{
    return { n, pivoting::full, matrix_layout::row_major, inverse_algorithm::patent };
}

how measured(backend where = tested_backend(), bool in_place = false)
{
    return { where, in_place, true };
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(matrices_of_every_order_have_a_small_residual,
                              T,
                              number_types)
{
    std::vector<double> ratios;
    for (int n = 1; n <= largest; ++n) {
        const auto a =
            gaussian_matrices<T>(std::clamp(100000 / (n * n * n), 11, 1003), n);
        append_ratios(n, a, invert<T>(patent<T>(n), a), ratios);
    }
    check_ratios(ratios, "patent");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(inverses_equal_the_reference, T, number_types)
{
    for (const int n : { 1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 32 }) {
        for (const size_t batch : { 0, 1, 31, 33, n > 8 ? 35 : 1009 }) {
            const auto a = gaussian_matrices<T>(batch, n);
            const auto result = invert<T>(patent<T>(n), a, measured());
            const auto expected = invert<T>({ n }, a, measured(backend::reference));
            BOOST_TEST((result.status == expected.status));
            for (size_t item = 0; item < batch; ++item) {
                const size_t e = item * n * n;
                check_near(n, &a[e], &result.x[e], &expected.x[e]);
                const auto rcond = expected.rcond[item];
                const auto error = 8 * n * eps<T> / rcond;
                BOOST_TEST(std::abs(result.rcond[item] - rcond) <= error * rcond);
                BOOST_TEST(
                    std::abs(result.determinant[item] - expected.determinant[item]) <=
                    error * std::abs(expected.determinant[item]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(singular_matrices_and_nan_are_reported_as_ever,
                              T,
                              number_types)
{
    for (int n = 1; n <= largest; ++n) {
        std::vector<T> a;
        for (int rank = 0; rank <= n; ++rank) {
            for (const auto& one : { gaussian_matrices<T>(1, n), // one of four is spoilt
                                     shuffled(n, blocks_of_ones<T>(n, rank)),
                                     shuffled(n, ones_in_noise<T>(n, rank, eps<T> / 2)),
                                     gaussian_matrices<T>(1, n) }) {
                a.insert(a.end(), one.begin(), one.end());
            }
        }
        spoil_every_fourth(n, a);
        const auto result = invert<T>(patent<T>(n), a, measured());
        for (int rank = 0; rank <= n; ++rank) {
            const size_t item = rank * 4;
            check_failed(result, item, -1, n);
            if (rank < n) {
                check_failed(result, item + 1, rank + 1, n);
            }
            if (rank > 0) {
                check_status(result, item + 2, rank < n ? rank + 1 : 0, n);
                BOOST_TEST(residual_ratio(n,
                                          &a[(item + 2) * n * n],
                                          &result.x[(item + 2) * n * n]) < 30.0);
            }
            check_status(result, item + 3, 0, n);
        }
        check_equal(invert<T>(patent<T>(n), a, measured(tested_backend(), true)), result);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_the_patent_does_not_do_is_refused, T, number_types)
{
    const auto refused = [](int n, pivoting pivot, matrix_layout layout) {
        BOOST_CHECK_THROW(
            inverse<T>::make({ n, pivot, layout, inverse_algorithm::patent },
                             tested_backend()),
            std::invalid_argument);
    };
    refused(4, pivoting::partial, matrix_layout::row_major);
    refused(4, pivoting::none, matrix_layout::row_major);
    refused(4, pivoting::full, matrix_layout::interleaved);
    refused(largest + 1, pivoting::full, matrix_layout::row_major);
}
