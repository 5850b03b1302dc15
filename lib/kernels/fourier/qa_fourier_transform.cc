/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fourier_transform
#include "kernels/common/pi.h"
#include "kernels/common/testing.h"
#include "kernels/fourier/fourier_transform.h"
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

using namespace gr::cudaphy;
using kernels::fourier_transform;
using kernels::pi;

namespace {

std::vector<complex64> random_values(size_t count)
{
    static std::mt19937 chance(1);
    std::normal_distribution<float> normal;
    std::vector<complex64> out(count);
    for (auto& value : out) {
        value = { normal(chance), normal(chance) };
    }
    return out;
}

//! The square root of the error's share of the energy, of a few bins against the sum that
//! defines them, in double precision.
double error_of(size_t size, bool forward)
{
    const auto x = random_values(size);
    auto found = x;
    fourier_transform(size, forward).run(found);
    double error = 0, energy = 0;
    const size_t step = std::max<size_t>(1, size / 50);
    for (size_t k = 0; k < size; k += step) {
        std::complex<double> sum = 0;
        for (size_t n = 0; n < size; ++n) {
            const double turns = double(n * k % size) / double(size);
            sum += std::complex<double>(x[n]) *
                   std::polar(1.0, (forward ? -2 : 2) * pi * turns);
        }
        error += std::norm(sum - std::complex<double>(found[k]));
        energy += std::norm(sum);
    }
    return std::sqrt(error / energy);
}

//! Sizes with each step, and several; of 5G NR; a prime; and a prime's multiple.
const size_t sizes[] = { 128,  144,  256,  300,  512,  768,   1024,  1200,  1536, 2048,
                         3072, 3240, 4096, 6144, 4489, 16384, 30720, 65536, 1009, 2018 };

} // namespace

BOOST_AUTO_TEST_CASE(it_is_the_sum_that_defines_it_at_every_size)
{
    for (size_t size = 1; size <= 300; ++size) {
        BOOST_TEST(error_of(size, true) < 1e-6, size);
        BOOST_TEST(error_of(size, false) < 1e-6, size);
    }
    for (const size_t size : sizes) {
        BOOST_TEST(error_of(size, true) < 1e-6, size);
    }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_has_it)
{
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        for (size_t size = 1; size <= 100; ++size) {
            BOOST_TEST(error_of(size, size % 2) < 1e-6, size);
        }
        for (const size_t size : sizes) {
            BOOST_TEST(error_of(size, false) < 1e-6, size);
        }
        hwy::SetSupportedTargetsForTest(0);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
}

BOOST_AUTO_TEST_CASE(backward_after_forward_is_the_size_times_what_was_there)
{
    for (const size_t size : sizes) {
        const auto before = random_values(size);
        auto after = before;
        kernels::transform_of(size, true)->run(after);
        kernels::transform_of(size, false)->run(after);
        double error = 0;
        for (size_t i = 0; i < size; ++i) {
            error = std::max<double>(error, std::abs(after[i] / float(size) - before[i]));
        }
        BOOST_TEST(error < 1e-5, size);
    }
}

BOOST_AUTO_TEST_CASE(any_alignment_gives_the_same_bits)
{
    for (const size_t size : { 12, 60, 67, 128, 2048, 3240 }) {
        const auto x = random_values(size);
        auto aligned = x;
        const fourier_transform transform(size, true);
        transform.run(aligned);
        std::vector<complex64> moved(size + 1);
        std::copy(x.begin(), x.end(), moved.begin() + 1);
        transform.run(moved.data() + 1);
        BOOST_TEST(std::equal(aligned.begin(), aligned.end(), moved.begin() + 1), size);
        BOOST_TEST(moved[0] == complex64(0));
    }
}

BOOST_AUTO_TEST_CASE(a_bad_value_spoils_its_own_transform_alone)
{
    const fourier_transform transform(1536, true);
    const auto x = random_values(1536);
    auto first = x, bad = x, again = x;
    transform.run(first);
    bad[700] = NAN;
    transform.run(bad);
    transform.run(again);
    BOOST_TEST(std::isnan(bad[0].real()));
    BOOST_TEST(first == again);
}

BOOST_AUTO_TEST_CASE(threads_share_a_transform)
{
    const auto x = random_values(2048);
    auto right = x;
    fourier_transform(2048, true).run(right);
    std::vector<std::vector<complex64>> found(4, x);
    std::vector<std::thread> threads;
    for (auto& one : found) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                one = x;
                kernels::transform_of(2048, true)->run(one);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (const auto& one : found) {
        BOOST_TEST(one == right);
    }
}

BOOST_AUTO_TEST_CASE(wrong_sizes_are_refused)
{
    BOOST_CHECK_THROW(fourier_transform(0, true), std::invalid_argument);
    std::vector<complex64> five(5);
    BOOST_CHECK_THROW(fourier_transform(4, true).run(five), std::invalid_argument);
}
