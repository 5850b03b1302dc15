/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_decoder_rules
#include "kernels/ldpc/decoder/testing.h"
#include <algorithm>
#include <numeric>

// The decoder's rules and schedules beside layered normalised min-sum, in float32.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! The error of sum-product's messages that the header allows.
constexpr double sum_product_error = 2e-6;

ldpc_decoder::parameters parameters_for(rules rule,
                                        schedules schedule,
                                        int max_iterations = 20,
                                        bool early_stop = true)
{
    auto p = whole_words(max_iterations);
    p.rule = rule;
    p.schedule = schedule;
    p.early_stop = early_stop;
    return p;
}

std::vector<float> soft(const ldpc_code::sptr& code,
                        const ldpc_decoder::parameters& p,
                        const std::vector<float>& llr,
                        backend where = tested_backend())
{
    return decode(code, p, llr, where, true).soft;
}

//! The greatest |got - expected| / (1 + |expected|).
double error(const std::vector<float>& got, const std::vector<float>& expected)
{
    BOOST_REQUIRE(got.size() == expected.size());
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        BOOST_REQUIRE(std::isfinite(got[i]));
        worst = std::max(worst,
                         std::abs(double{ got[i] } - expected[i]) /
                             (1 + std::abs(double{ expected[i] })));
    }
    return worst;
}

double mean(const std::vector<int>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

} // namespace

BOOST_AUTO_TEST_CASE(offset_min_sum_of_a_parity_check_is_what_the_formula_says)
{
    const auto code = ldpc_code::from_rows(3, { { 0, 1, 2 } }, "parity");
    auto p = parameters_for(rules::offset_min_sum, schedules::layered, 1, false);
    p.offset = 1.5f;
    p.scale = 0.5f; // not used
    // r = -1.5, 0.5, -0.5; and 0 where the offset exceeds the minimum.
    BOOST_TEST(soft(code, p, { 2, -3, 4 }) == (std::vector<float>{ 0.5f, -2.5f, 3.5f }),
               boost::test_tools::per_element());
    p.offset = 2.5f;
    BOOST_TEST(soft(code, p, { 2, -3, 4 }) == (std::vector<float>{ 1.5f, -3, 4 }),
               boost::test_tools::per_element());
    p.offset = 0;
    BOOST_TEST(soft(code, p, { 2, -3, 4 }) == (std::vector<float>{ -1, -1, 2 }),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sum_product_of_a_parity_check_is_what_the_formula_says)
{
    const auto code = ldpc_code::from_rows(3, { { 0, 1, 2 } }, "parity");
    const auto p = parameters_for(rules::sum_product, schedules::layered, 1, false);
    const auto rule = [](double a, double b) {
        return static_cast<float>(2 * std::atanh(std::tanh(a / 2) * std::tanh(b / 2)));
    };
    BOOST_TEST(error(soft(code, p, { 2, -3, 4 }),
                     { 2 + rule(-3, 4), -3 + rule(2, 4), 4 + rule(2, -3) }) <
               sum_product_error);
    // An erasure leaves the other bits unchanged; two erasures leave all bits unchanged.
    BOOST_TEST(error(soft(code, p, { 0, -3, 4 }), { rule(-3, 4), -3, 4 }) <
               sum_product_error);
    BOOST_TEST(soft(code, p, { 0, not_a_number, 4 }) == (std::vector<float>{ 0, 0, 4 }),
               boost::test_tools::per_element());
    // A check of two bits exchanges their LLRs. A check of one bit says 0 with 1e4.
    const auto pairs = ldpc_code::from_rows(4, { { 0, 1 }, { 2 } }, "pair");
    BOOST_TEST(error(soft(pairs, p, { 5, -1, -3, 1 }), { 4, 4, 9997, 1 }) <
               sum_product_error);
    // Large values stay exact: 200 and 300 give ln(e^200 + ...) = 200, not 1e4.
    BOOST_TEST(error(soft(code, p, { 200, 300, 1 }), { 201, 301, 201 }) <
               sum_product_error);
    BOOST_TEST(error(soft(code, p, { infinity, 1e4f, 2 }), { 10002, 10002, 2 + 1e4f }) <
               1e-4);
}

BOOST_AUTO_TEST_CASE(with_flooding_all_checks_see_the_iteration_before)
{
    // As layers_follow_one_another..., but bit 2 gets bit 1 as received.
    const auto code = ldpc_code::from_rows(3, { { 0, 1 }, { 1, 2 } }, "repetition");
    auto p = parameters_for(rules::normalized_min_sum, schedules::flooding, 1, false);
    p.scale = 1;
    BOOST_TEST(soft(code, p, { 5, -1, -1 }) == (std::vector<float>{ 4, 3, -2 }),
               boost::test_tools::per_element());
    // Then q = (5, 4), (-2, -1) and r = (4, 5), (-1, -2).
    p.max_iterations = 2;
    BOOST_TEST(soft(code, p, { 5, -1, -1 }) == (std::vector<float>{ 3, 3, 3 }),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(min_sum_backends_follow_the_formulas_exactly)
{
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
    } cases[] = {
        { ldpc_code::wifi(648, "1/2"), 1.4 },
        { ldpc_code::wifi(1944, "3/4"), 2.5 },
        { irregular_code(generator()), 5.0 },
        { hamming(), 1.0 },
        { punctured_code(), 5.0 },
    };
    for (const auto& [code, eb_n0] : cases) {
        for (const auto rule : { rules::normalized_min_sum, rules::offset_min_sum }) {
            for (const auto schedule : { schedules::layered, schedules::flooding }) {
                for (const bool early_stop : { true, false }) {
                    auto llr = noisy(code, 18, eb_n0);
                    put_special_values(llr, code->n());
                    auto p = parameters_for(rule, schedule, 18, early_stop);
                    p.offset = 0.3f;
                    BOOST_TEST_CONTEXT(code->name()
                                       << ", rule " << static_cast<int>(rule)
                                       << ", schedule " << static_cast<int>(schedule))
                    check_equal(decode(code, p, llr, tested_backend(), true),
                                decode_plainly(code, p, llr));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(sum_product_is_within_its_error_of_the_product_of_tangents)
{
    for (const auto& code :
         { ldpc_code::wifi(648, "5/6"), punctured_code(), hamming() }) {
        for (const auto schedule : { schedules::layered, schedules::flooding }) {
            auto p = parameters_for(rules::sum_product, schedule, 1, false);
            auto llr = noisy(code, 33, 3.0);
            for (size_t i = 0; i < llr.size(); i += 50) {
                llr[i] = i % 100 ? 0 : 1e-4f;
            }
            plain_decoder<long double> oracle(*code, p);
            BOOST_TEST(error(soft(code, p, llr), oracle.decode(llr).soft) <
                       20 * sum_product_error); // of a bit's and a layer's several checks
            // The errors grow with the messages of three iterations.
            p.max_iterations = 3;
            plain_decoder<long double> further(*code, p);
            BOOST_TEST(error(soft(code, p, llr), further.decode(llr).soft) < 1e-3);
        }
    }
}

BOOST_AUTO_TEST_CASE(sum_product_of_llrs_of_every_magnitude_is_as_the_reference)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    // An L near 0 may be the difference of far greater values. Adding up to a dozen of
    // them rounds by this much.
    struct range {
        float greatest; // power of ten
        double rounding;
    };
    for (const auto& of_llrs :
         { range{ 1.5f, 12 * 32 * 0x1p-24 }, range{ 4.5f, 12 * 1e4 * 0x1p-24 } }) {
        std::uniform_real_distribution<float> exponent(-7.0f, of_llrs.greatest);
        for (const auto& code : { ldpc_code::wifi(648, "1/2"),
                                  irregular_code(generator()),
                                  punctured_code() }) {
            std::vector<float> llr(code->n() * 17);
            for (auto& value : llr) {
                value = std::pow(10.0f, exponent(generator()));
                value = generator()() >> 31 ? value : -value;
            }
            for (const auto schedule : { schedules::layered, schedules::flooding }) {
                auto p = parameters_for(rules::sum_product, schedule, 1, false);
                BOOST_TEST(
                    error(soft(code, p, llr), soft(code, p, llr, backend::reference)) <
                    20 * sum_product_error + of_llrs.rounding);
                p.max_iterations = 300; // finite, as error() requires
                llr.resize(code->n() * 2);
                const auto long_run = soft(code, p, llr);
                BOOST_TEST(error(long_run, long_run) == 0);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(sum_product_decides_as_the_reference)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    const auto code = ldpc_code::wifi(648, "1/2");
    const size_t words = 100;
    const auto llr = noisy(code, words, 2.0);
    for (const auto schedule : { schedules::layered, schedules::flooding }) {
        const auto p = parameters_for(rules::sum_product, schedule, 40);
        const auto got = decode(code, p, llr);
        const auto expected = decode(code, p, llr, backend::reference);
        size_t different = 0; // at the edge of decoding float32 and double may part
        for (size_t word = 0; word < words; ++word) {
            different += got.ok[word] != expected.ok[word] ||
                         std::abs(got.iterations[word] - expected.iterations[word]) > 1;
        }
        BOOST_TEST(different <= 3u);
        BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 1) >= 90);
    }
}

BOOST_AUTO_TEST_CASE(flooding_takes_about_twice_the_iterations)
{
    const auto code = ldpc_code::wifi(1944, "1/2");
    const auto llr = noisy(code, tested_backend() == backend::reference ? 10 : 60, 2.0);
    for (const auto rule : { rules::normalized_min_sum, rules::sum_product }) {
        const auto layered =
            decode(code, parameters_for(rule, schedules::layered, 100), llr);
        const auto flooding =
            decode(code, parameters_for(rule, schedules::flooding, 100), llr);
        const double ratio = mean(flooding.iterations) / mean(layered.iterations);
        BOOST_TEST_MESSAGE("flooding / layered iterations: " << ratio);
        BOOST_TEST(ratio > 1.5);
        BOOST_TEST(ratio < 2.5);
        if (tested_backend() == backend::reference) {
            break;
        }
    }
}

BOOST_AUTO_TEST_CASE(cuda_gives_the_bits_and_iterations_of_the_cpu)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
        size_t words;
    } cases[] = {
        { ldpc_code::wifi(648, "1/2"), 1.4, 3001 },
        { irregular_code(generator()), 5.0, 1000 },
        { punctured_code(), 5.0, 1000 },
        { ldpc_code::dvbs2("short", "1/2"), 1.0, 300 },
        { ldpc_code::dvbs2("short", "8/9"), 3.9, 300 },
        { ldpc_code::dvbs2("normal", "1/2"), 1.1, 300 },
    };
    for (const auto& [code, eb_n0, words] : cases) {
        const auto llr = noisy(code, words, eb_n0);
        for (const auto rule :
             { rules::normalized_min_sum, rules::offset_min_sum, rules::sum_product }) {
            for (const auto schedule : { schedules::layered, schedules::flooding }) {
                auto p = parameters_for(rule, schedule, 20);
                BOOST_TEST_CONTEXT(code->name()
                                   << ", rule " << static_cast<int>(rule) << ", schedule "
                                   << static_cast<int>(schedule))
                if (rule == rules::sum_product) {
                    p.max_iterations = 1;
                    p.early_stop = false;
                    BOOST_TEST(
                        error(soft(code, p, llr), soft(code, p, llr, backend::cpu)) <
                        20 * sum_product_error);
                } else {
                    const auto here = decode(code, p, llr, backend::cpu, true);
                    const auto there = decode(code, p, llr, backend::cuda, true);
                    BOOST_TEST((here.bits == there.bits));
                    BOOST_TEST((here.iterations == there.iterations));
                    BOOST_TEST((here.ok == there.ok));
                    BOOST_TEST((here.soft == there.soft));
                }
            }
        }
    }
}
