/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symmetric_inverse
#include "kernels/common/testing.h"
#include "kernels/linalg/qa_inverse_checks.h"
#include <gnuradio/cudaphy/kernels/symmetric_inverse.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;
using kernels::symmetric_inverse;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_random_matrix_times_its_inverse_is_one, T, number_types)
{
    const int n = 20;
    std::vector<T> a(n * n), x(n * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            a[i * n + j] = i == j ? gaussian<float>(1)[0] : gaussian<float>(1)[0];
            a[j * n + i] = a[i * n + j];
        }
    }
    auto q = queue::make(tested_backend());
    auto plan = symmetric_inverse<T>::make({ n }, tested_backend());
    array<T> from(*q, view<const T>(a)), to(*q, n * n);
    array<int> status(*q, 1);
    array<unsigned char> workspace(*q, plan->workspace_bytes());
    plan->run(from, { to, status }, workspace, *q);
    BOOST_TEST(status.to_host()[0] == 0);
    x = to.to_host();
    BOOST_TEST(residual_ratio(n, a.data(), x.data()) < 30);
}
