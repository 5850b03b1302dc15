/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE nan_count
#include "kernels/common/testing.h"
#include <gnuradio/cudaphy/kernels/nan_count.h>
#include <limits>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

BOOST_AUTO_TEST_CASE(every_nan_is_counted_in_its_group_and_nothing_else)
{
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const float kinds[] = { 0, -0.0f, 1, inf, -inf, nan, -nan, 1e-45f };
    auto q = queue::make(tested_backend());
    for (const size_t groups : { 1, 2, 33, 2000 }) {
        for (const size_t width : { 1, 31, 648, 64800 }) {
            if (groups * width > 2000000) {
                continue;
            }
            std::vector<float> values(groups * width);
            std::vector<int> expected(groups);
            for (size_t i = 0; i < values.size(); ++i) {
                const auto kind = generator()() % 8;
                values[i] = kinds[kind];
                expected[i / width] += kind == 5 || kind == 6;
            }
            if (groups > 1) { // one group of nothing else
                std::fill_n(values.begin() + width, width, nan);
                expected[1] = static_cast<int>(width);
            }
            array<float> given(*q, view<const float>(values));
            auto count = poisoned<int>(*q, groups);
            kernels::count_nan(given.all(), count.all(), *q);
            const auto got = count.to_host();
            BOOST_TEST((got == expected), groups << " groups of " << width);
            BOOST_TEST(kernels::count_nan(view<const float>(values.data(), width)) ==
                       size_t(expected[0]));
            // Every value of sixteen bits.
            std::vector<float16> halves(values.size());
            std::fill(expected.begin(), expected.end(), 0);
            for (size_t i = 0; i < halves.size(); ++i) {
                halves[i].bits = generator()() >> 16;
                const int exponent = halves[i].bits >> 10 & 31;
                expected[i / width] += exponent == 31 && (halves[i].bits & 1023) != 0;
            }
            array<float16> short_ones(*q, view<const float16>(halves));
            kernels::count_nan(short_ones.all(), count.all(), *q);
            BOOST_TEST((count.to_host() == expected), groups << " groups of " << width);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_group_and_groups_of_nothing)
{
    auto q = queue::make(tested_backend());
    kernels::count_nan(view<const float>{}, view<int>{}, *q);
    auto count = poisoned<int>(*q, 3);
    kernels::count_nan(view<const float>{}, count.all(), *q);
    BOOST_TEST((count.to_host() == std::vector<int>{ 0, 0, 0 }));
}

BOOST_AUTO_TEST_CASE(values_that_are_no_whole_number_a_group_are_refused)
{
    auto q = queue::make(tested_backend());
    array<float> values(*q, 7);
    array<int> count(*q, 2);
    BOOST_CHECK_THROW(kernels::count_nan(values.all(), count.all(), *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(kernels::count_nan(values.all(), view<int>{}, *q),
                      std::invalid_argument);
}
