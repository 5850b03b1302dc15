/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE inverse_outputs
#include "kernels/common/fused_testing.h"
#include "kernels/linalg/inverse/qa_inverse_matrices.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

// Determinant and reciprocal condition. X must have the same bits whatever the layout,
// the place in the batch and in memory, the other results, and the backend.

namespace {

// Orders to test. The reference has one slow loop for all orders. The other backends have
// several kernels, whose first and last orders must be covered.
const bool is_reference = tested_backend() == backend::reference;
const int last_order = is_reference ? 20 : inverse<float>::max_order;
const std::vector<int> orders =
    is_reference ? std::vector<int>{ 1, 2, 3, 8, 17, 33 }
                 : std::vector<int>{ 1,  2,  3,  4,  5,  7,  8,  10, 11, 16, 17,
                                     20, 21, 24, 31, 32, 33, 34, 36, 37, 40, 41,
                                     42, 44, 45, 48, 49, 56, 57, 60, 61, 63, 64 };

//! Of a CPU's vectors of 16 floats one, and some items more.
template <typename T>
size_t batch_of(int n, bool fast = !is_reference)
{
    const bool few = n > 17 && tested_backend() == backend::cpu;
    return n <= 8 ? 203 : n <= 17 || fast ? (few ? 21 : 41) : 7;
}

how measured(bool in_place = false) { return { tested_backend(), in_place, true }; }

//! Matrices, some of which are singular, nearly singular, or not finite.
template <typename T>
std::vector<T> mixed_matrices(pivoting pivot, size_t batch, int n)
{
    auto a = matrices_for<T>(pivot, batch, n);
    for (size_t item = 2; item < batch; item += 10) {
        const int rank = generator()() % (n + 1);
        const auto one = item % 20 == 2 ? blocks_of_ones<T>(n, rank)
                                        : ones_in_noise<T>(n, rank, eps<T> / 2);
        std::copy(one.begin(), one.end(), a.begin() + item * n * n);
    }
    std::vector<T> some(a.begin(), a.begin() + batch / 4 * n * n);
    spoil_every_fourth(n, some);
    std::copy(some.begin(), some.end(), a.begin());
    return a;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(determinant_and_rcond_equal_the_reference, T, number_types)
{
    for (const int n : orders) {
        for (const auto pivot : pivotings) {
            auto a = matrices_for<T>(pivot, batch_of<T>(n, false), n);
            // A scale that keeps the determinants within the type's range.
            for (auto& element : a) {
                element *=
                    real_of<T>(pivot == pivoting::none ? 1.2 / n : std::sqrt(2.7 / n));
            }
            const auto result = invert<T>({ n, pivot }, a, measured());
            const auto expected =
                invert<T>({ n, pivot }, a, { backend::reference, false, true });
            for (size_t item = 0; item < result.status.size(); ++item) {
                const real_of<T> rcond = expected.rcond[item];
                const T determinant = expected.determinant[item];
                // The errors that 8 N eps in A causes.
                const auto error = 8 * n * eps<T> / rcond;
                BOOST_REQUIRE(std::isnormal(std::abs(determinant)));
                BOOST_TEST(std::abs(result.rcond[item] - rcond) <= error * rcond);
                BOOST_TEST(std::abs(result.determinant[item] - determinant) <=
                           error * std::abs(determinant));
            }
        }
    }
}

// Two diagonals of ones, the first element 2 and rotated, and the rows in any order.
BOOST_AUTO_TEST_CASE_TEMPLATE(determinants_of_integers_are_exact, T, number_types)
{
    for (const int n : { 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24 }) {
        const size_t batch = 50;
        std::vector<T> a(batch * n * n), determinant(batch);
        for (size_t item = 0; item < batch; ++item) {
            const auto order = random_permutation(n);
            const T turn = random_quarter_turn<T>();
            for (int e = 0; e < n * n; ++e) {
                const int i = order[e / n], j = e % n;
                a[item * n * n + e] =
                    i == j ? T(i ? 1 : 2) * (i ? T(1) : turn) : T(j == i + 1 ? 1 : 0);
            }
            determinant[item] = T(is_odd(order) ? -2 : 2) * turn;
        }
        for (const auto pivot : { pivoting::full, pivoting::partial }) {
            const auto result = invert<T>({ n, pivot }, a, measured());
            BOOST_TEST((result.determinant == determinant));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rcond_is_that_of_the_inverse_given_at_any_scale,
                              T,
                              number_types)
{
    const int top = std::numeric_limits<real_of<T>>::max_exponent;
    for (const int n : { 1, 2, 5, 8, 17, 32, 64 }) {
        if (n > last_order) {
            break;
        }
        for (const int eighths : { -6, -3, 0, 3, 6 }) {
            for (const auto pivot : pivotings) {
                auto a = matrices_for<T>(pivot, 9, n);
                for (auto& element : a) {
                    element *= std::ldexp(real_of<T>(1), top * eighths / 8);
                }
                const auto result = invert<T>({ n, pivot }, a, measured());
                for (int item = 0; item < 9; ++item) {
                    const auto expected = 1 / one_norm(n, &a[item * n * n]) /
                                          one_norm(n, &result.x[item * n * n]);
                    BOOST_TEST(std::abs(result.rcond[item] - expected) <=
                               4 * n * eps<T> * expected);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fewer_results_or_in_place_or_interleaved_changes_no_bit,
                              T,
                              number_types)
{
    for (const int n : orders) {
        for (const auto pivot : pivotings) {
            const auto a = mixed_matrices<T>(pivot, batch_of<T>(n), n);
            const auto all = invert<T>({ n, pivot }, a, measured());
            check_equal(invert<T>({ n, pivot }, a, measured(true)), all);
            check_equal(invert<T>({ n, pivot }, a), { all.x, all.status, {}, {} });

            auto expected = all;
            expected.x = interleave(n, all.x);
            const parameters<T> p{ n, pivot, matrix_layout::interleaved };
            const auto b = interleave(n, a);
            check_equal(invert<T>(p, b, measured()), expected);
            check_equal(invert<T>(p, b, measured(true)), expected);
            check_equal(invert<T>(p, b), { expected.x, all.status, {}, {} });
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(determinant_and_rcond_may_be_requested_separately,
                              T,
                              number_types)
{
    for (const int n : { 1, 3, 8, 13, 32, 41, 64 }) {
        const size_t batch = 7;
        const auto a = gaussian_matrices<T>(batch, n);
        const auto expected = invert<T>({ n }, a, measured());
        auto q = queue::make(tested_backend());
        auto kernel = inverse<T>::make({ n }, tested_backend());
        array<T> from(*q, view<const T>(a));
        array<unsigned char> workspace(*q, kernel->workspace_bytes(batch));
        auto x = poisoned<T>(*q, a.size()), determinant = poisoned<T>(*q, batch);
        auto status = poisoned<int>(*q, batch);
        auto rcond = poisoned<real_of<T>>(*q, batch);
        kernel->run(from, { x, status, determinant }, workspace, *q);
        check_equal<T>({ x.to_host(), status.to_host(), determinant.to_host(), {} },
                       { expected.x, expected.status, expected.determinant, {} });
        kernel->run(from, { x, status, {}, rcond }, workspace, *q);
        check_equal<T>({ x.to_host(), status.to_host(), {}, rcond.to_host() },
                       { expected.x, expected.status, {}, expected.rcond });
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_matrix_has_one_inverse_wherever_it_stands_in_the_batch,
                              T,
                              number_types)
{
    for (const int n : orders) {
        for (const auto pivot : pivotings) {
            const auto a = mixed_matrices<T>(pivot, batch_of<T>(n), n);
            const auto all = invert<T>({ n, pivot }, a, measured());
            for (const size_t first : { size_t(1), size_t(3), batch_of<T>(n) - 1 }) {
                const std::vector<T> rest(a.begin() + first * n * n, a.end());
                check_equal(invert<T>({ n, pivot }, rest, measured()),
                            from_item(n, all, first));
                if (n < 9) {
                    auto expected = from_item(n, all, first);
                    expected.x = interleave(n, expected.x);
                    check_equal(invert<T>({ n, pivot, matrix_layout::interleaved },
                                          interleave(n, rest),
                                          measured()),
                                expected);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(very_many_matrices_are_inverted_as_a_thousand,
                              T,
                              number_types)
{
    const int n = is_reference ? 1 : sizeof(T) > 8 ? 2 : 3;
    const size_t period = 1009;
    const size_t batch = tested_backend() == backend::cuda ? 1000003 : 200003;
    const auto some = mixed_matrices<T>(pivoting::full, period, n);
    const auto expected = invert<T>({ n }, some);
    std::vector<T> a(batch * n * n);
    for (size_t e = 0; e < a.size(); ++e) {
        a[e] = some[e % some.size()];
    }
    for (const auto layout : { matrix_layout::row_major, matrix_layout::interleaved }) {
        const bool rows = layout == matrix_layout::row_major;
        const auto result =
            invert<T>({ n, pivoting::full, layout }, rows ? a : interleave(n, a));
        bool same = true;
        for (size_t item = 0; item < batch; ++item) {
            same = same && result.status[item] == expected.status[item % period];
            for (int e = 0; e < n * n; ++e) {
                const T& x = result.x[rows ? item * n * n + e : e * batch + item];
                same = same && same_bits(&x, &expected.x[item % period * n * n + e], 1);
            }
        }
        BOOST_TEST(same);
    }
}

// A GPU has other kernels for batches that fill it.
BOOST_AUTO_TEST_CASE_TEMPLATE(large_batches_are_inverted_as_small_ones, T, number_types)
{
    const size_t period = 101;
    for (int n = 1; n <= 16; ++n) {
        const size_t batch = tested_backend() != backend::cuda ? 211
                             : n > 8                           ? 2011
                                                               : 20011;
        for (const auto pivot : pivotings) {
            const auto some = mixed_matrices<T>(pivot, period, n);
            const auto expected = invert<T>({ n, pivot }, some, measured());
            std::vector<T> a(batch * n * n);
            for (size_t e = 0; e < a.size(); ++e) {
                a[e] = some[e % some.size()];
            }
            for (const bool in_place : { false, true }) {
                const auto result =
                    invert<T>({ n, pivot }, a, { tested_backend(), in_place });
                bool same = true;
                for (size_t item = 0; item < batch; ++item) {
                    const size_t first = item % period * n * n;
                    same = same && result.status[item] == expected.status[item % period];
                    same = same &&
                           same_bits(&result.x[item * n * n], &expected.x[first], n * n);
                }
                BOOST_TEST(same, "order " << n);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(memory_need_not_be_aligned_beyond_an_element,
                              T,
                              number_types)
{
    const size_t batch = 45;
    const auto check_order = [&](int n, pivoting pivot) {
        const auto a = mixed_matrices<T>(pivot, batch, n);
        auto moved = a;
        moved.insert(moved.begin(), T(7));
        for (const auto layout :
             { matrix_layout::row_major, matrix_layout::interleaved }) {
            const parameters<T> p{ n, pivot, layout };
            const auto expected = invert<T>(p, a, measured());
            auto q = queue::make(tested_backend());
            auto kernel = inverse<T>::make(p, tested_backend());
            array<T> from(*q, view<const T>(moved));
            array<unsigned char> workspace(*q, kernel->workspace_bytes(batch));
            auto to = poisoned<T>(*q, a.size() + 2), determinant = poisoned<T>(*q, 47);
            auto status = poisoned<int>(*q, 47);
            auto rcond = poisoned<real_of<T>>(*q, 47);
            kernel->run(view<const T>(from).part(1, a.size()),
                        { to.all().part(1, a.size()),
                          status.all().part(1, batch),
                          determinant.all().part(1, batch),
                          rcond.all().part(1, batch) },
                        workspace,
                        *q);
            // Memory before and behind must be unchanged.
            const auto check = [&](auto got, const auto& middle, const auto& poison) {
                BOOST_TEST(same_bits(&got.front(), &poison, 1));
                BOOST_TEST(same_bits(&got.back(), &poison, 1));
                BOOST_TEST(same_bits(&got[1], middle.data(), middle.size()));
            };
            const T poison = poisoned<T>(*q, 1).to_host()[0];
            check(to.to_host(), expected.x, poison);
            check(determinant.to_host(), expected.determinant, poison);
            check(rcond.to_host(), expected.rcond, std::real(poison));
            BOOST_TEST(std::equal(expected.status.begin(),
                                  expected.status.end(),
                                  status.to_host().begin() + 1));
        }
    };
    for (const int n : { 1, 2, 3, 4, 5, 8, 16, 32, 33, 48, 64 }) {
        check_order(n, pivoting::full);
    }
    for (const int n : { 12, 16, 20, 22 }) {
        check_order(n, pivoting::none);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_workspace_too_small_is_refused, T, number_types)
{
    int with_workspace = 0;
    for (int n = 1; n <= last_order; ++n) {
        for (const auto layout :
             { matrix_layout::row_major, matrix_layout::interleaved }) {
            for (const auto pivot : pivotings) {
                auto kernel = inverse<T>::make({ n, pivot, layout }, tested_backend());
                BOOST_TEST(kernel->workspace_bytes(0) <= kernel->workspace_bytes(3));
                const size_t bytes = kernel->workspace_bytes(3);
                auto q = queue::make(tested_backend());
                array<T> a(*q, view<const T>(gaussian_matrices<T>(3, n)));
                array<int> status(*q, 3);
                if (bytes) {
                    ++with_workspace;
                    array<unsigned char> small(*q, bytes - 1);
                    BOOST_CHECK_THROW(kernel->run(a, { a, status }, small, *q),
                                      std::invalid_argument);
                    BOOST_CHECK_THROW(kernel->run(a, a, status, *q),
                                      std::invalid_argument);
                } else {
                    BOOST_CHECK_NO_THROW(kernel->run(a, a, status, *q));
                }
                q->synchronize();
            }
        }
    }
    BOOST_TEST_MESSAGE(with_workspace << " of " << 6 * last_order
                                      << " kernels need a workspace");
}

namespace {

//! Whether inverse.h allows other bits, because the inverse comes from the lower
//! triangle.
template <typename T>
bool may_come_from_a_triangle(pivoting pivot, int n)
{
    return pivot == pivoting::none &&
           ((std::is_same_v<T, float> && n >= 14 && n <= 24) ||
            (std::is_same_v<T, complex64> && n >= 12 && n <= 20));
}

//! Whether inverse.h allows other bits, because the inverse may come from tensor cores.
template <typename T>
bool may_come_from_tensor_cores(pivoting pivot, int n)
{
    return std::is_same_v<T, complex64> && n > 24 &&
           n <= (pivot == pivoting::full ? 32 : 40);
}

//! Hermitian matrices, definite or of some rank, every fourth of the first quarter with
//! NaN or infinity.
template <typename T>
std::vector<T> hermitian_matrices(size_t batch, int n)
{
    auto a = definite_matrices<T>(batch, n);
    for (size_t item = 1; item < batch; item += 10) {
        const auto one = blocks_of_ones<T>(n, generator()() % (n + 1));
        std::copy(one.begin(), one.end(), a.begin() + item * n * n);
    }
    std::vector<T> some(a.begin(), a.begin() + batch / 4 * n * n);
    spoil_every_fourth(n, some);
    std::copy(some.begin(), some.end(), a.begin());
    return a;
}

//! The same status and, if there is an inverse, nearly the same inverse.
template <typename T>
void check_all_near(int n,
                    const std::vector<T>& a,
                    const inverted<T>& one,
                    const inverted<T>& other)
{
    BOOST_TEST((one.status == other.status));
    for (size_t item = 0; item < one.status.size(); ++item) {
        const size_t first = item * n * n;
        if (one.status[item] == 0 && other.status[item] == 0) {
            check_near(n, &a[first], &one.x[first], &other.x[first]);
        } else {
            BOOST_TEST(same_bits(&one.x[first], &other.x[first], n * n));
        }
    }
}

boost::test_tools::assertion_result cuda_and_a_fused_cpu(boost::unit_test::test_unit_id)
{
    return cuda_can_be_held_to_the_cpu();
}

} // namespace

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(cuda_and_a_fused_cpu))
BOOST_AUTO_TEST_CASE_TEMPLATE(cuda_and_cpu_give_the_same_bits, T, number_types)
{
    for (int n = 1; n <= inverse<T>::max_order; ++n) {
        const size_t batch = std::clamp(100000 / (n * n), 40, 1000);
        for (const auto pivot : pivotings) {
            const bool triangle = may_come_from_a_triangle<T>(pivot, n);
            auto a = triangle ? hermitian_matrices<T>(batch, n)
                              : mixed_matrices<T>(pivot, batch, n);
            // A third of the matrices have equal moduli and zeros, or moduli far apart.
            for (size_t e = 0; e < a.size() / 3 && !triangle; ++e) {
                a[e] = generator()() % 3 ? random_quarter_turn<T>() : T(0);
            }
            for (size_t e = a.size() * 9 / 10; e < a.size() && !triangle; ++e) {
                a[e] *= std::exp2(real_of<T>(int(generator()() % 200) - 100));
            }
            const auto cuda = invert<T>({ n, pivot }, a, { backend::cuda, false, true });
            const auto cpu = invert<T>({ n, pivot }, a, { backend::cpu, false, true });
            if (triangle || may_come_from_tensor_cores<T>(pivot, n)) {
                check_all_near(n, a, cuda, cpu);
            } else {
                check_equal(cuda, cpu);
            }
        }
    }
}
