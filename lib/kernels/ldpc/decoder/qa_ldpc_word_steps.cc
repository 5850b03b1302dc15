/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_word_steps
#include "kernels/ldpc/decoder/fixed_testing.h"
#include <cfloat>
#include <limits>

// The steps that words of floats choose for themselves in int8 arithmetic.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

// A word that fits keeps its steps, every other one decodes as well as that.
BOOST_AUTO_TEST_CASE(words_of_floats_in_any_unit_choose_their_own_steps)
{
    for (const auto& [code, eb_n0] : { std::pair{ ldpc_code::wifi(648, "1/2"), 2.2 },
                                       std::pair{ ldpc_code::wifi(648, "5/6"), 4.2 },
                                       std::pair{ ldpc_code::nr5g(2, 104, 42), 1.4 } }) {
        auto p = fixed_point();
        p.llr_steps = 0;
        const size_t words = 40;
        const auto llr = noisy(code, words, eb_n0);
        const auto failures = [](const decoded& got) {
            return std::count(got.ok.begin(), got.ok.end(), 0);
        };
        const auto with_own = failures(check(code, p, llr));
        BOOST_TEST(with_own < 10);
        for (const float unit : { 1e-25f, 1e-6f, 0.1f, 0.5f, 3.0f, 20.0f, 1e6f, 1e25f }) {
            auto scaled = llr;
            for (auto& value : scaled) {
                value *= unit;
            }
            BOOST_TEST_CONTEXT(unit)
            {
                // Steps up to twice as coarse or as fine undo few of these words.
                BOOST_TEST(failures(check(code, p, scaled)) <= with_own + 5);
            }
        }
    }
}

// 12 steps a unit, as the demapper has them, are too many for the CPU's 63.
BOOST_AUTO_TEST_CASE(words_of_int8_may_have_steps_of_any_size)
{
    for (const auto& [code, eb_n0] : { std::pair{ ldpc_code::wifi(648, "1/2"), 2.2 },
                                       std::pair{ ldpc_code::dvbs2("short", "1/2"), 1.4 },
                                       std::pair{ ldpc_code::nr5g(1, 64, 4), 5.0 } }) {
        auto p = fixed_point();
        p.llr_steps = 0;
        p.max_iterations = 20;
        const size_t words = code->n() > 10000 ? 8 : 40;
        const auto llr = noisy(code, words, eb_n0);
        for (const float steps : { 3.0f, 6.0f, 12.0f, 20.0f }) {
            std::vector<int8_t> rounded;
            for (const float value : llr) {
                rounded.push_back(static_cast<int8_t>(ldpc_fixed_steps(value, steps, p)));
            }
            rounded[7] = -128;
            const auto got = check(code, p, rounded);
            BOOST_TEST_CONTEXT(steps)
            {
                BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 0) <= 8);
            }
            p.llr_positive = 1 - p.llr_positive;
            for (auto& value : rounded) {
                value = static_cast<int8_t>(-std::max<int>(value, -127));
            }
            BOOST_TEST((check(code, p, rounded).iterations == got.iterations));
            p.llr_positive = 0;
        }
    }
}

BOOST_AUTO_TEST_CASE(strange_words_have_steps_too)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    const size_t n = code->n();
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    auto llr = noisy(code, 12, 2.5);
    const auto fill = [&](size_t word, size_t first, size_t last, auto value) {
        for (size_t i = word * n + first; i < word * n + last; ++i) {
            llr[i] = value(llr[i]);
        }
    };
    fill(0, 0, n, [](float) { return 0.0f; });
    fill(1, 0, n, [&](float) { return nan; });
    fill(2, 0, n, [&](float x) { return x < 0 ? -inf : inf; });
    fill(3, 1, n, [](float) { return 0.0f; });
    fill(4, 3, n, [&](float) { return nan; });
    fill(5, 0, n, [](float x) { return x * 1e-39f; }); // subnormal
    fill(6, 0, n, [](float x) { return x < 0 ? -FLT_MAX : FLT_MAX; });
    fill(7, 0, n / 2, [](float) { return 0.0f; });
    fill(8, 0, n / 2, [](float x) { return x * 1e6f; });
    fill(9, 0, n / 2, [](float x) { return x * 1e-6f; });
    fill(10, 0, n / 8, [&](float x) { return x < 0 ? -inf : inf; });
    auto p = fixed_point();
    p.llr_steps = 0;
    for (const float scale : { 1.0f, 1e6f, 1e-6f, 1e-30f }) {
        BOOST_TEST_CONTEXT(scale)
        {
            p.llr_scale = scale;
            check(code, p, llr);
        }
    }
    std::vector<float16> halves;
    for (const float value : llr) {
        halves.push_back({ to_float16(value) });
    }
    check(code, p, halves);
}

// If a part of a word is strong beyond doubt, the rest must keep fine steps.
BOOST_AUTO_TEST_CASE(strong_bits_leave_steps_to_weak_ones)
{
    const auto code = ldpc_code::wifi(1944, "1/2");
    auto p = fixed_point();
    p.llr_steps = 0;
    p.max_iterations = 20;
    auto llr = noisy(code, 64, 1.0);
    for (size_t i = 0; i < llr.size(); ++i) {
        llr[i] *= i % 4 == 0 ? 1000.0f : 1.0f;
    }
    const auto failed = [&](ldpc_decoder::arithmetic calculation) {
        p.calculation = calculation;
        const auto decoder = ldpc_decoder::make(code, p, tested_backend());
        const auto got = decode(*decoder, *code, p, llr, tested_backend());
        return std::count(got.ok.begin(), got.ok.end(), 0);
    };
    const auto wanted = failed(ldpc_decoder::arithmetic::float32);
    BOOST_TEST(failed(ldpc_decoder::arithmetic::int8) <= wanted + 6);
}

BOOST_AUTO_TEST_CASE(floats_take_int8_arithmetic_unless_the_caller_names_another)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    using number = ldpc_decoder::number;
    using arithmetic = ldpc_decoder::arithmetic;
    const auto chosen = [&](const parameters& p) {
        return ldpc_decoder::make(code, p, tested_backend())->calculation();
    };
    for (const auto type : { number::float32, number::float16, number::int8 }) {
        parameters p;
        p.llr = type;
        BOOST_TEST((chosen(p) == arithmetic::int8));
        p.calculation = arithmetic::float32;
        BOOST_TEST((chosen(p) == arithmetic::float32));
        p.calculation = arithmetic::automatic;
        p.schedule = ldpc_decoder::message_schedule::flooding;
        BOOST_TEST((chosen(p) == arithmetic::float32));
        p = {};
        p.llr = type;
        p.rule = ldpc_decoder::check_rule::sum_product;
        BOOST_TEST((chosen(p) == arithmetic::float32));
    }
}
