/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symmetric_inverse_failures
#include "kernels/symmetric/qa_symmetric_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

template <typename T>
void check_zero(int n, const symmetric_inverted<T>& result, size_t item, int status)
{
    BOOST_TEST(result.status[item] == status,
               "order " << n << ": status " << result.status[item] << ", not " << status);
    const auto first = result.x.begin() + item * n * n;
    BOOST_TEST(std::count(first, first + n * n, T(0)) == n * n);
    BOOST_TEST(std::isnan(result.residual[item]));
    BOOST_TEST(result.rcond[item] == 0);
}

//! Means of `vectors` random outer products, rounded to T in each sum or once at the end.
//! With fewer than n vectors only these roundings keep a mean from being singular.
template <typename T>
std::vector<T> covariances(int n, int vectors, size_t batch, bool rounded_once)
{
    std::vector<T> all;
    for (size_t item = 0; item < batch; ++item) {
        std::vector<T> x(size_t(n) * vectors);
        std::generate(x.begin(), x.end(), draw<T>);
        const auto r = hermitian<T>(n, [&](int i, int j) {
            wide<T> exact = 0;
            T sum = 0;
            for (int k = 0; k < vectors; ++k) {
                const T a = x[i * vectors + k], b = x[j * vectors + k];
                exact += product(wide<T>(a), std::conj(wide<T>(b)));
                sum += a * conjugate(b);
            }
            exact /= wide_real<T>(vectors);
            if constexpr (is_complex<T>) {
                return rounded_once ? T(exact) : sum / real_of<T>(vectors);
            } else {
                return rounded_once ? T(exact.real()) : sum / T(vectors);
            }
        });
        all.insert(all.end(), r.begin(), r.end());
    }
    return all;
}

using double_types = boost::mpl::list<double, complex128>;

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_singular_matrix_has_status_n_and_no_inverse,
                              T,
                              number_types)
{
    for (const int n : { 1, 2, 3, 20, 64, 65, 128, 130 }) {
        check_zero(n, invert(n, std::vector<T>(size_t(n) * n)), 0, n);
        if (n < 2) {
            continue;
        }
        // Small whole numbers, so that row and column n - 1 equal row and column 0.
        auto twice = hermitian<T>(n, [](int i, int j) {
            return T(real_of<T>(int(generator()() % 9) - 4 + 9 * (i == j)));
        });
        for (int j = 0; j < n; ++j) {
            twice[size_t(n - 1) * n + j] = twice[j == n - 1 ? 0 : j];
            twice[size_t(j) * n + n - 1] = conjugate(twice[size_t(n - 1) * n + j]);
        }
        check_zero(n, invert(n, twice), 0, n);
        auto struck = indefinite<T>(n);
        for (int j = 0; j < n; ++j) {
            struck[size_t(n / 2) * n + j] = struck[size_t(j) * n + n / 2] = 0;
        }
        check_zero(n, invert(n, struck), 0, n);
        const auto rank_one = hermitian<T>(n, [](int, int) { return T(1); });
        check_zero(n, invert(n, rank_one), 0, n);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(singular_matrices_that_rounding_hides_are_found,
                              T,
                              double_types)
{
    if (tested_backend() != backend::cpu) {
        return; // the others find most of them only, because they look with less digits
    }
    // Sums of n - 1 outer products of whole numbers are exactly singular, and all their
    // pivots but the last are large. A probe that lacks A y's lower digits accepts a
    // tenth of them.
    constexpr int n = 8;
    std::vector<T> all;
    for (int item = 0; item < 500; ++item) {
        std::vector<T> b((n - 1) * n);
        for (auto& value : b) {
            const auto whole = [] { return double(int(generator()() % 2001) - 1000); };
            value = whole();
            if constexpr (sizeof(T) != sizeof(double)) {
                value.imag(whole());
            }
        }
        const auto a = hermitian<T>(n, [&](int i, int j) {
            T sum = 0;
            for (int k = 0; k < n - 1; ++k) {
                sum += b[k * n + i] * conjugate(b[k * n + j]) * (k % 2 ? 1.0 : -1.0);
            }
            return sum;
        });
        all.insert(all.end(), a.begin(), a.end());
    }
    const auto result = invert(n, all);
    BOOST_TEST(std::count(result.status.begin(), result.status.end(), n) == 500);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(too_few_vectors_make_a_singular_matrix_in_every_draw,
                              T,
                              number_types)
{
    constexpr bool single = sizeof(real_of<T>) == 4;
    for (const auto& [n, batch] :
         { std::pair(2, 300), { 16, 300 }, { 40, 20 }, { 130, 3 } }) {
        if (n > 100 && !single) {
            continue; // roundings of the inversion hide the singularity
        }
        const bool few = tested_backend() == backend::reference;
        for (const bool rounded_once : { false, true }) {
            const auto a =
                covariances<T>(n, n - 1, few ? batch / 10 + 1 : batch, rounded_once);
            const auto r = invert(n, a);
            BOOST_TEST(std::count(r.status.begin(), r.status.end(), n) ==
                       r.status.size());
            check_zero(n, r, 0, n);
            for (const bool in_place : { false, true }) {
                const auto p = invert(
                    n, a, definiteness::positive, symmetric_algorithm::blocked, in_place);
                BOOST_TEST(*std::min_element(p.status.begin(), p.status.end()) > 0);
                check_zero(n, p, 0, p.status[0]);
            }
            // Bordering misses some, because its own roundings are larger.
            const auto b =
                invert(n, a, definiteness::unknown, symmetric_algorithm::bordering);
            const size_t missed = std::count(b.status.begin(), b.status.end(), 0);
            BOOST_TEST(missed <= 2 + b.status.size() / 5);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_of_very_different_sizes_are_no_singularity,
                              T,
                              number_types)
{
    const int bits = sizeof(real_of<T>) == 4 ? 40 : 200;
    for (const int n : { 3, 20, 100, 129 }) {
        auto a = definite<T>(n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                a[size_t(i) * n + j] *= real_of<T>(std::exp2(-bits * i / n / 2) *
                                                   std::exp2(-bits * j / n / 2));
            }
        }
        for (const auto as : { definiteness::unknown, definiteness::positive }) {
            for (const auto algorithm :
                 { symmetric_algorithm::blocked, symmetric_algorithm::bordering }) {
                for (const bool in_place : { false, true }) {
                    BOOST_TEST(invert(n, a, as, algorithm, in_place).status[0] == 0);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rcond_is_that_of_the_norms, T, number_types)
{
    for (const int n : { 1, 3, 20, 64, 129, 200 }) {
        if (tested_backend() == backend::reference && n > 100) {
            continue;
        }
        for (const auto as : { definiteness::unknown, definiteness::positive }) {
            for (const auto algorithm :
                 { symmetric_algorithm::blocked, symmetric_algorithm::bordering }) {
                for (const bool in_place : { false, true }) {
                    // Bordering loses twice the digits.
                    const double condition = algorithm == symmetric_algorithm::bordering
                                                 ? 30
                                             : sizeof(real_of<T>) == 4 ? 1e5
                                                                       : 1e10;
                    const auto a = with_eigenvalues<T>(decaying(n, condition, false));
                    const auto r = invert(n, a, as, algorithm, in_place);
                    BOOST_TEST(r.status[0] == 0);
                    const double expected =
                        double(1 / (one_norm(n, a.data()) * one_norm(n, r.x.data())));
                    BOOST_TEST(std::abs(r.rcond[0] / expected - 1) < 1e-5);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_minor_that_is_not_positive_is_named, T, number_types)
{
    for (const int n : { 1, 3, 64, 65, 129 }) {
        for (const int bad : { 0, n / 2, n - 1 }) {
            auto a = definite<T>(n);
            a[size_t(bad) * n + bad] = -3;
            check_zero(n, invert(n, a, definiteness::positive), 0, bad + 1);
        }
        check_zero(
            n, invert(n, std::vector<T>(size_t(n) * n), definiteness::positive), 0, 1);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_not_finite_has_status_minus_1, T, number_types)
{
    using limits = std::numeric_limits<real_of<T>>;
    for (const int n : { 1, 2, 65, 100 }) {
        for (const auto bad : { limits::quiet_NaN(), limits::infinity() }) {
            for (const int row : { 0, n - 1 }) {
                auto a = definite<T>(n);
                a[size_t(row) * n] = bad;
                for (const auto as : { definiteness::unknown, definiteness::positive }) {
                    check_zero(n, invert(n, a, as), 0, -1);
                    check_zero(
                        n, invert(n, a, as, symmetric_algorithm::bordering), 0, -1);
                }
            }
        }
    }
    // 1 / the smallest number overflows.
    const std::vector<T> tiny(1, limits::denorm_min());
    check_zero(1, invert(1, tiny), 0, -1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_bad_matrix_harms_no_other_of_its_batch, T, number_types)
{
    for (const int n : { 2, 16, 70 }) {
        for (const auto as : { definiteness::unknown, definiteness::positive }) {
            const size_t elements = size_t(n) * n, batch = 7;
            std::vector<T> a;
            for (size_t item = 0; item < batch; ++item) {
                const auto one = definite<T>(n);
                a.insert(a.end(), one.begin(), one.end());
            }
            const auto good = invert(n, a, as);
            a[2 * elements] = std::numeric_limits<real_of<T>>::quiet_NaN();
            std::fill_n(a.begin() + 4 * elements, elements, T(0));
            const auto mixed = invert(n, a, as);
            for (size_t item = 0; item < batch; ++item) {
                if (item == 2 || item == 4) {
                    const bool positive = as == definiteness::positive;
                    check_zero(n, mixed, item, item == 2 ? -1 : positive ? 1 : n);
                } else {
                    BOOST_TEST(mixed.status[item] == 0);
                    BOOST_TEST(same_bits(
                        &mixed.x[item * elements], &good.x[item * elements], elements));
                    check_inverse(n,
                                  &a[item * elements],
                                  &mixed.x[item * elements],
                                  mixed.status[item],
                                  "of a batch");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(progress_grows_from_0_to_1)
{
    for (const auto algorithm :
         { symmetric_algorithm::blocked, symmetric_algorithm::bordering }) {
        std::vector<double> shares;
        symmetric_inverse<float>::parameters p{ 150, 1, algorithm };
        p.progress = [&](double share) { shares.push_back(share); };
        auto q = queue::make(tested_backend());
        auto plan = symmetric_inverse<float>::make(p, tested_backend());
        const auto a = definite<float>(p.order);
        array<float> from(*q, view<const float>(a)), to(*q, a.size());
        array<int> status(*q, 1);
        array<unsigned char> workspace(*q, plan->workspace_bytes());
        plan->run(from, { to, status }, workspace, *q);
        q->synchronize();
        BOOST_REQUIRE(!shares.empty());
        BOOST_TEST(std::is_sorted(shares.begin(), shares.end()));
        BOOST_TEST(shares.front() > 0);
        BOOST_TEST(shares.back() <= 1);
        BOOST_TEST(shares.back() > 0.9);
    }
}

BOOST_AUTO_TEST_CASE(what_a_device_has_no_room_for_is_refused_with_both_amounts)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    symmetric_inverse<float>::parameters p{ 1024, 65535 }; // 820 GB
    p.definite = definiteness::positive;
    BOOST_CHECK_EXCEPTION(symmetric_inverse<float>::make(p, backend::cuda),
                          std::runtime_error,
                          [](const std::runtime_error& e) {
                              const std::string what = e.what();
                              return what.find(" needs ") != what.npos &&
                                     what.find(" are free ") != what.npos;
                          });
    const auto a = definite<float>(70);
    check_inverse(70, a, invert(70, a), "after that");
}

BOOST_AUTO_TEST_CASE(wrong_parameters_and_views_are_refused)
{
    using plan_type = symmetric_inverse<float>;
    const auto make = [](plan_type::parameters p) {
        return plan_type::make(p, tested_backend());
    };
    BOOST_CHECK_THROW(make({ 0 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ -1 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 3, 0 }), std::invalid_argument);
    BOOST_CHECK_THROW(make({ 3, 1, symmetric_algorithm(7) }), std::invalid_argument);
    BOOST_CHECK_THROW(kernels::symmetric_algorithm_from_name("fast"),
                      std::invalid_argument);
    BOOST_CHECK_THROW(kernels::definiteness_from_name("negative"), std::invalid_argument);
    auto q = queue::make(tested_backend());
    auto plan = make({ 3 });
    array<float> a(*q, 18), x(*q, 18);
    array<int> status(*q, 2);
    array<unsigned char> workspace(*q, plan->workspace_bytes());
    const auto run = [&](size_t in, size_t out, size_t items) {
        plan->run(a.all().part(0, in),
                  { x.all().part(0, out), status.all().part(0, items) },
                  workspace,
                  *q);
    };
    BOOST_CHECK_THROW(run(8, 8, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(9, 18, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(9, 9, 2), std::invalid_argument);
    BOOST_CHECK_THROW(run(18, 18, 2), std::invalid_argument); // batch = 1
    run(0, 0, 0);
    if (plan->workspace_bytes()) {
        BOOST_CHECK_THROW(plan->run(a.all().part(0, 9),
                                    { x.all().part(0, 9), status.all().part(0, 1) },
                                    {},
                                    *q),
                          std::invalid_argument);
    }
}
