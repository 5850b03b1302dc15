/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse_update
#include "kernels/symmetric/qa_symmetric_matrices.h"
#include <gnuradio/cudaphy/kernels/inverse_update.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;
using kernels::inverse_update;

namespace {

//! An inverse that is updated in place.
template <typename T>
class updated
{
public:
    using real = real_of<T>;

    updated(int order, int rank, std::vector<T> x, backend where = tested_backend())
        : d_queue(queue::make(where)), d_batch(x.size() / order / order),
          d_plan(inverse_update<T>::make({ order, rank, d_batch }, where)),
          d_x(*d_queue, view<const T>(x)), d_status(*d_queue, d_batch),
          d_workspace(*d_queue, d_plan->workspace_bytes())
    {
    }

    std::vector<int>
    update(const std::vector<T>& v, const std::vector<real>& d, real forgetting = 1)
    {
        array<T> columns(*d_queue, view<const T>(v));
        array<real> weights(*d_queue, view<const real>(d));
        d_plan->run(d_x, columns, weights, forgetting, d_status, d_workspace, *d_queue);
        return d_status.to_host();
    }
    std::vector<T> x() const { return d_x.to_host(); }

private:
    std::unique_ptr<queue> d_queue;
    size_t d_batch;
    std::unique_ptr<inverse_update<T>> d_plan;
    array<T> d_x;
    array<int> d_status;
    array<unsigned char> d_workspace;
};

template <typename T>
std::vector<T> columns(int n, int k)
{
    std::vector<T> v(size_t(n) * k);
    for (auto& value : v) {
        value = draw<T>() / real_of<T>(std::sqrt(n));
    }
    return v;
}

//! forgetting A + V diag(d) V^H
template <typename T>
std::vector<T> changed(int n,
                       const std::vector<T>& a,
                       const std::vector<T>& v,
                       const std::vector<real_of<T>>& d,
                       real_of<T> forgetting)
{
    const int k = int(d.size());
    return hermitian<T>(n, [&](int i, int j) {
        T sum = a[size_t(i) * n + j] * forgetting;
        for (int c = 0; c < k; ++c) {
            sum += v[size_t(i) * k + c] * conjugate(v[size_t(j) * k + c]) * d[c];
        }
        return sum;
    });
}

template <typename T>
void check_close(int n, const T* x, const T* expected, double tolerance)
{
    double most = 0, error = 0;
    for (size_t e = 0; e < size_t(n) * n; ++e) {
        most = std::max(most, double(std::abs(expected[e])));
        error = std::max(error, double(std::abs(x[e] - expected[e])));
    }
    BOOST_TEST(error < tolerance * most);
    BOOST_TEST(is_hermitian(n, x));
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(an_updated_inverse_is_the_fresh_one, T, number_types)
{
    for (const int n : { 1, 2, 3, 17, 64, 65, 132, 193 }) {
        if (tested_backend() == backend::reference && n > 65) {
            break; // one slow loop for all orders
        }
        const auto a = definite<T>(n), x_of_a = invert(n, a, definiteness::positive).x;
        for (const int k : { 1, 2, 5, 16, 64 }) {
            if (k > n) {
                continue;
            }
            for (const real_of<T> forgetting : { 1.0, 0.75 }) {
                const auto v = columns<T>(n, k);
                std::vector<real_of<T>> d(k);
                for (int c = 0; c < k; ++c) { // an update, a downdate, and no change
                    d[c] = real_of<T>(c % 3 == 0 ? 1.5 : c % 3 == 1 ? -0.25 : 0);
                }
                updated<T> inverse(n, k, x_of_a);
                BOOST_TEST(inverse.update(v, d, forgetting)[0] == 0);
                const auto fresh = invert(n, changed(n, a, v, d, forgetting));
                BOOST_TEST(fresh.status[0] == 0);
                const auto x = inverse.x();
                check_close(n, x.data(), fresh.x.data(), 1000 * double(eps<T>));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_inverse_may_begin_anywhere, T, number_types)
{
    const int n = 132; // whose rows have whole groups of 16 bytes
    const auto q = queue::make(tested_backend());
    for (const int k : { 1, 3 }) {
        const auto a = definite<T>(n), v = columns<T>(n, k);
        const auto x = invert(n, a).x;
        const std::vector<real_of<T>> d(k, 1);
        updated<T> expected(n, k, x);
        BOOST_TEST(expected.update(v, d)[0] == 0);
        std::vector<T> shifted(x.size() + 2, T(7));
        std::copy(x.begin(), x.end(), shifted.begin() + 1);
        array<T> there(*q, view<const T>(shifted)), columns(*q, view<const T>(v));
        array<real_of<T>> weights(*q, view<const real_of<T>>(d));
        array<int> status(*q, 1);
        const auto plan = inverse_update<T>::make({ n, k }, tested_backend());
        array<unsigned char> workspace(*q, plan->workspace_bytes());
        plan->run(view<T>(there.data() + 1, x.size()),
                  columns,
                  weights,
                  1,
                  status,
                  workspace,
                  *q);
        const auto result = there.to_host();
        const auto right = expected.x();
        check_close(n, &result[1], right.data(), 10 * double(eps<T>));
        BOOST_TEST((result.front() == T(7) && result.back() == T(7)));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_update_and_its_downdate_cancel, T, number_types)
{
    const int n = 50, k = 3;
    const auto a = definite<T>(n), v = columns<T>(n, k);
    const auto x = invert(n, a).x;
    updated<T> inverse(n, k, x);
    const std::vector<real_of<T>> up(k, 2), down(k, -2);
    inverse.update(v, up);
    const auto between = inverse.x();
    BOOST_TEST(!same_bits(between, x));
    inverse.update(v, down);
    const auto back = inverse.x();
    check_close(n, back.data(), x.data(), 300 * double(eps<T>));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thousand_updates_with_forgetting_stay_symmetric,
                              T,
                              number_types)
{
    const int n = 24;
    const real_of<T> forgetting = real_of<T>(0.98);
    auto a = hermitian<T>(n, [](int i, int j) { return T(i == j ? 1 : 0); });
    updated<T> inverse(n, 1, a);
    for (int snapshot = 0; snapshot < 1000; ++snapshot) {
        const auto v = columns<T>(n, 1);
        BOOST_REQUIRE_EQUAL(inverse.update(v, { 1 }, forgetting)[0], 0);
        a = changed(n, a, v, { 1 }, forgetting);
    }
    const auto x = inverse.x(), fresh = invert(n, a).x;
    check_close(n, x.data(), fresh.data(), 2e4 * double(eps<T>));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_downdate_to_singularity_leaves_the_inverse,
                              T,
                              number_types)
{
    for (const int n : { 1, 4, 70 }) {
        // A = 4 I, from which 4 e_j e_j^H is subtracted.
        const auto x = hermitian<T>(n, [](int i, int j) { return T(i == j ? 0.25 : 0); });
        updated<T> inverse(n, 1, x);
        std::vector<T> v(n);
        v[n / 2] = 2;
        BOOST_TEST(inverse.update(v, { -1 })[0] == 1);
        BOOST_TEST(same_bits(inverse.x(), x));
        BOOST_TEST(inverse.update(v, { -1 }, real_of<T>(0.5))[0] == 0); // 2 I - 4 e e^H
        const auto indefinite = inverse.x();
        BOOST_TEST(std::abs(indefinite[size_t(n / 2) * (n + 1)] + T(0.5)) < 8 * eps<T>);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_not_finite_leaves_the_inverse_and_the_others,
                              T,
                              number_types)
{
    const int n = 40, k = 2;
    const size_t elements = size_t(n) * n, batch = 3;
    std::vector<T> x, v;
    for (size_t item = 0; item < batch; ++item) {
        const auto one = definite<T>(n), some = columns<T>(n, k);
        x.insert(x.end(), one.begin(), one.end());
        v.insert(v.end(), some.begin(), some.end());
    }
    const std::vector<real_of<T>> d(batch * k, 1);
    updated<T> good(n, k, x), bad(n, k, x);
    BOOST_TEST((good.update(v, d) == std::vector<int>{ 0, 0, 0 }));
    v[size_t(n) * k + 7] = std::numeric_limits<real_of<T>>::quiet_NaN();
    BOOST_TEST((bad.update(v, d) == std::vector<int>{ 0, -1, 0 }));
    const auto right = good.x(), result = bad.x();
    BOOST_TEST(same_bits(&result[0], &right[0], elements));
    BOOST_TEST(same_bits(&result[elements], &x[elements], elements));
    BOOST_TEST(same_bits(&result[2 * elements], &right[2 * elements], elements));
    // Infinity in the inverse itself.
    x[0] = std::numeric_limits<real_of<T>>::infinity();
    v[size_t(n) * k + 7] = 0;
    updated<T> infinite(n, k, x);
    BOOST_TEST((infinite.update(v, d)[0] == -1));
}

BOOST_AUTO_TEST_CASE(wrong_parameters_and_views_are_refused)
{
    using plan_type = inverse_update<float>;
    const auto make = [](plan_type::parameters p) {
        return plan_type::make(p, tested_backend());
    };
    BOOST_CHECK_THROW(make({ 0 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 3, 0 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 3, 4 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 100, 65 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 3, 1, 0 }), std::invalid_argument);
    const auto x = definite<float>(4);
    updated<float> inverse(4, 2, x);
    BOOST_CHECK_THROW(inverse.update(columns<float>(4, 1), { 1, 1 }),
                      std::invalid_argument);
    BOOST_CHECK_THROW(inverse.update(columns<float>(4, 2), { 1 }), std::invalid_argument);
    for (const float forgetting : { 0.0f, -1.0f, std::nanf("") }) {
        BOOST_CHECK_THROW(inverse.update(columns<float>(4, 2), { 1, 1 }, forgetting),
                          std::invalid_argument);
    }
    BOOST_TEST(same_bits(inverse.x(), x));
}
