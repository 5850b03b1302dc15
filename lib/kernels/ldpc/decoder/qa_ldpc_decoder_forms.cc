/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_decoder_forms
#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder/testing.h"
#include <algorithm>

// The decoder's types of LLR, forms of output, stop by CRC, and what it refuses.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

std::vector<int8_t> whole_units(const std::vector<float>& llr)
{
    std::vector<int8_t> out;
    for (const float value : llr) {
        out.push_back(static_cast<int8_t>(std::clamp(std::rint(value), -128.0f, 127.0f)));
    }
    return out;
}

std::vector<float16> halves(const std::vector<float>& llr)
{
    std::vector<float16> out;
    for (const float value : llr) {
        out.push_back({ to_float16(value) });
    }
    return out;
}

template <typename Llr>
void check(const ldpc_code::sptr& code,
           const ldpc_decoder::parameters& p,
           const std::vector<Llr>& llr)
{
    const auto got = decode(code, p, llr, tested_backend(), true);
    check_equal(got, decode_plainly(code, p, llr));
    check_equal(decode(code, p, llr), { got.bits, got.iterations, got.ok });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_type_of_llr_and_form_of_output)
{
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
    } cases[] = { { ldpc_code::wifi(648, "2/3"), 2.2 },
                  { punctured_code(), 4.0 },
                  { hamming(), 3.0 } };
    for (const auto& [code, eb_n0] : cases) {
        for (const size_t words : { 1, 37 }) {
            const auto llr = noisy(code, words, eb_n0, 5);
            for (const bool packed : { false, true }) {
                for (const bool whole : { false, true }) {
                    for (const int positive : { 0, 1 }) {
                        auto p = whole_words(8);
                        p.packed = packed;
                        p.whole_words = whole;
                        p.llr_positive = positive;
                        BOOST_TEST_CONTEXT(code->name()
                                           << ", packed " << packed << ", whole words "
                                           << whole << ", positive " << positive)
                        {
                            check(code, p, llr);
                            check(code, p, halves(llr));
                            check(code, p, whole_units(llr));
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_value_of_a_short_type_is_taken_as_it_is)
{
    // The bits before the last two are in no check: their L stays as received.
    const int free = 1022;
    const auto code = ldpc_code::from_rows(free + 2, { { free, free + 1 } }, "free");
    std::vector<float16> half;
    std::vector<int8_t> whole;
    for (int first = 0; first < 65536; first += free) {
        for (int i = 0; i < code->n(); ++i) {
            half.push_back({ static_cast<uint16_t>(i < free ? first + i : 0) });
            whole.push_back(static_cast<int8_t>(i < free ? first + i : 0));
        }
    }
    for (const int positive : { 0, 1 }) {
        auto p = whole_words(1);
        p.llr_positive = positive;
        check(code, p, half);
        check(code, p, whole);
    }
}

BOOST_AUTO_TEST_CASE(a_codeword_of_a_punctured_code_comes_out_as_sent)
{
    const auto code = punctured_code();
    BOOST_TEST(code->variables() == code->n() +
                                        static_cast<int>(code->punctured().size()) +
                                        static_cast<int>(code->shortened().size()));
    const auto sent = random_codewords(code, 50, generator());
    const auto llr = received_llrs(sent, code->rate(), 9.0, generator());
    for (const auto rule :
         { rules::normalized_min_sum, rules::offset_min_sum, rules::sum_product }) {
        for (const auto schedule : { schedules::layered, schedules::flooding }) {
            auto p = whole_words(50);
            p.rule = rule;
            p.schedule = schedule;
            p.early_stop = false; // it leaves parity bits wrong
            const auto got = decode(code, p, llr);
            BOOST_TEST((got.bits == sent));
            BOOST_TEST(got.ok == std::vector<int>(50, 1),
                       boost::test_tools::per_element());
            p.whole_words = false;
            const auto information = decode(code, p, llr).bits;
            p.early_stop = true;
            const auto early = decode(code, p, llr);
            BOOST_TEST((early.bits == information));
            BOOST_TEST(early.ok == got.ok, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_crc_stops_in_place_of_the_parity_checks)
{
    const ldpc_decoder::crc crcs[] = { { 1, 1 },         { 6, 0x21 },
                                       { 8, 0x9b },      { 16, 0x1021 },
                                       { 24, 0x864cfb }, { 32, 0x04c11db7 } };
    for (const auto& code : { ldpc_code::wifi(648, "1/2"), punctured_code() }) {
        for (const auto& crc : crcs) {
            const size_t words = 40;
            const auto sent = random_codewords(code, crc, words, generator());
            auto llr = received_llrs(sent, code->rate(), 2.5, generator());
            auto p = whole_words(12);
            p.stop_crc = crc;
            for (const bool early_stop : { true, false }) {
                p.early_stop = early_stop;
                BOOST_TEST_CONTEXT(code->name() << ", CRC of " << crc.bits)
                check(code, p, llr);
            }
        }
    }
    auto p = whole_words(10);
    p.stop_crc = { 3, 3 };
    check(hamming(), p, noisy(hamming(), 60, 1.0)); // one bit of data
}

BOOST_AUTO_TEST_CASE(a_crc_that_holds_at_once_stops_before_the_first_iteration)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto p = whole_words(10);
    p.stop_crc = { 24, 0x864cfb };
    const auto sent = random_codewords(code, p.stop_crc, 20, generator());
    std::vector<float> llr;
    for (const auto bit : sent) {
        llr.push_back(bit ? -2.0f : 2.0f);
    }
    check_equal(decode(code, p, llr),
                { sent, std::vector<int>(20, 0), std::vector<int>(20, 1) });
    // Wrong parity bits do not matter,
    for (size_t word = 0; word < 20; ++word) {
        llr[word * code->n() + code->n() - 1 - word] *= -1;
    }
    auto got = decode(code, p, llr);
    BOOST_TEST(got.iterations == std::vector<int>(20, 0),
               boost::test_tools::per_element());
    BOOST_TEST(got.ok == std::vector<int>(20, 1), boost::test_tools::per_element());
    // but a codeword without the CRC fails.
    const auto others = random_codewords(code, 20, generator());
    for (size_t i = 0; i < llr.size(); ++i) {
        llr[i] = others[i] ? -2.0f : 2.0f;
    }
    got = decode(code, p, llr);
    BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 0) == 20);
    BOOST_TEST(std::count(got.iterations.begin(), got.iterations.end(), 10) == 20);
}

BOOST_AUTO_TEST_CASE(llr_positive_turns_the_sign_round)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto llr = received_llrs(
        random_codewords(code, 19, generator()), code->rate(), 1.5, generator());
    llr[7] = not_a_number;
    const auto expected = decode(code, whole_words(), llr);
    for (auto& value : llr) {
        value = -value;
    }
    auto p = whole_words();
    p.llr_positive = 1;
    check_equal(decode(code, p, llr), expected);
}

// By powers of two, which round nothing.
BOOST_AUTO_TEST_CASE(llrs_in_other_units_are_the_same_when_scaled)
{
    const auto code = ldpc_code::wifi(648, "2/3");
    const auto times = [](auto values, float factor) {
        for (auto& value : values) {
            value *= factor;
        }
        return values;
    };
    for (const auto rule :
         { rules::normalized_min_sum, rules::offset_min_sum, rules::sum_product }) {
        for (const auto schedule : { schedules::layered, schedules::flooding }) {
            auto p = whole_words(8);
            p.rule = rule;
            p.schedule = schedule;
            const auto llr = noisy(code, 21, 2.2);
            const auto expected = decode(code, p, llr, tested_backend(), true);
            for (const float unit : { 0.125f, 16.0f }) {
                p.llr_scale = 1 / unit;
                auto got = decode(code, p, times(llr, unit), tested_backend(), true);
                got.soft = times(got.soft, 1 / unit);
                check_equal(got, expected);
            }
            const auto steps = whole_units(times(llr, 8));
            std::vector<float> same;
            for (const int8_t value : steps) {
                same.push_back(value / 8.0f);
            }
            p.llr_scale = 0.125f;
            auto got = decode(code, p, steps, tested_backend(), true);
            got.soft = times(got.soft, 0.125f);
            p.llr_scale = 1;
            check_equal(got, decode(code, p, same, tested_backend(), true));
        }
    }
}

BOOST_AUTO_TEST_CASE(without_whole_words_the_information_bits_come_out)
{
    for (const auto& code :
         { ldpc_code::wifi(648, "5/6"),
           hamming(),
           ldpc_code::from_rows(4, { { 0, 2 }, { 0, 1, 3 } }, "mixed") }) {
        const auto sent = random_codewords(code, 21, generator());
        std::vector<float> llr;
        for (const auto bit : sent) {
            llr.push_back(bit ? -3.0f : 3.0f);
        }
        std::vector<uint8_t> info;
        for (size_t word = 0; word < 21; ++word) {
            for (const int position : code->info_positions()) {
                info.push_back(sent[word * code->n() + position]);
            }
        }
        BOOST_TEST((decode(code, {}, llr).bits == info), code->name());
    }
}

BOOST_AUTO_TEST_CASE(parameters_out_of_range_are_refused_with_the_range)
{
    const auto refusal = [](const ldpc_code::sptr& code, ldpc_decoder::parameters p) {
        try {
            ldpc_decoder::make(code, p, tested_backend());
        } catch (const std::invalid_argument& problem) {
            return std::string(problem.what());
        }
        return std::string();
    };
    const auto code = hamming();
    ldpc_decoder::parameters p;
    BOOST_TEST(refusal(code, p).empty());
    BOOST_TEST(refusal(nullptr, p).find("null") != std::string::npos);
    for (const int wrong : { 0, -1, 1001 }) {
        p.max_iterations = wrong;
        BOOST_TEST(refusal(code, p).find(std::to_string(wrong)) != std::string::npos);
        BOOST_TEST(refusal(code, p).find("1 to 1000") != std::string::npos);
    }
    p = {};
    for (const float wrong : { -0.5f, 1.5f, not_a_number, infinity }) {
        p.scale = wrong;
        BOOST_TEST(refusal(code, p).find("0 to 1") != std::string::npos);
    }
    p = {};
    p.llr_positive = 2;
    BOOST_TEST(refusal(code, p).find("0 or 1") != std::string::npos);
    for (const float wrong : { -1.0f, 64.5f, not_a_number }) {
        p = {};
        p.llr_steps = wrong;
        BOOST_TEST(refusal(code, p).find("above 0 to 64, or 0") != std::string::npos);
    }
    for (const float wrong : { 0.0f, -1.0f, 1.1e6f, not_a_number, infinity }) {
        p = {};
        p.llr_scale = wrong;
        BOOST_TEST(refusal(code, p).find("above 0 to 1e6") != std::string::npos);
    }
    p = {};
    p.rule = rules::offset_min_sum;
    for (const float wrong : { -0.5f, 1.1e4f, not_a_number, infinity }) {
        p.offset = wrong;
        BOOST_TEST(refusal(code, p).find("0 to 1e4") != std::string::npos);
    }
    p = {};
    const ldpc_decoder::crc wrong_crcs[] = {
        { -1, 1 }, { 33, 1 }, { 4, 3 }, { 3, 0xb }, { 0, 1 }
    };
    for (const auto& wrong : wrong_crcs) { // the code has 4 information bits
        p.stop_crc = wrong;
        BOOST_TEST(refusal(code, p).find("stop_crc") != std::string::npos);
    }
    p = {};
    p.rule = static_cast<rules>(3);
    BOOST_TEST(refusal(code, p).find("rule is 3") != std::string::npos);
    p = {};
    p.schedule = static_cast<schedules>(-1);
    BOOST_TEST(refusal(code, p).find("schedule is -1") != std::string::npos);
    p = {};
    p.llr = static_cast<ldpc_decoder::number>(3);
    BOOST_TEST(refusal(code, p).find("llr is 3") != std::string::npos);
    p = {};
    p.calculation = static_cast<ldpc_decoder::arithmetic>(3);
    BOOST_TEST(refusal(code, p).find("calculation is 3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(int8_arithmetic_is_refused_where_it_is_not_offered)
{
    ldpc_decoder::parameters p;
    p.calculation = ldpc_decoder::arithmetic::int8;
    p.schedule = schedules::flooding;
    BOOST_CHECK_THROW(ldpc_decoder::make(hamming(), p, tested_backend()),
                      std::invalid_argument);
    p.schedule = schedules::layered;
    for (const auto rule : { rules::offset_min_sum, rules::sum_product }) {
        p.rule = rule;
        BOOST_CHECK_THROW(ldpc_decoder::make(hamming(), p, tested_backend()),
                          std::invalid_argument);
    }
}

BOOST_AUTO_TEST_CASE(arrays_that_do_not_fit_are_refused)
{
    const auto code = hamming();
    auto q = queue::make(tested_backend());
    auto decoder = ldpc_decoder::make(code, {}, tested_backend());
    const auto sizes = [&](size_t llr, size_t bits, size_t iterations, size_t ok) {
        array<float> in(*q, llr);
        array<uint8_t> out(*q, bits);
        array<int> counts(*q, iterations), flags(*q, ok);
        decoder->run(in, out, counts, flags, *q);
        q->synchronize();
    };
    sizes(0, 0, 0, 0);
    BOOST_CHECK_THROW(sizes(13, 8, 2, 2), std::invalid_argument);
    BOOST_CHECK_THROW(sizes(14, 7, 2, 2), std::invalid_argument);
    BOOST_CHECK_THROW(sizes(14, 8, 1, 2), std::invalid_argument);
    BOOST_CHECK_THROW(sizes(14, 8, 2, 3), std::invalid_argument);

    auto p = whole_words();
    p.packed = true;
    decoder = ldpc_decoder::make(code, p, tested_backend());
    sizes(14, 2, 2, 2);
    BOOST_CHECK_THROW(sizes(14, 14, 2, 2), std::invalid_argument);
    array<float> in(*q, 14), soft(*q, 14), few(*q, 8);
    array<uint8_t> bits(*q, 2);
    array<int> counts(*q, 2), flags(*q, 2);
    decoder->run(view<const float>(in), { bits, counts, flags, soft }, *q);
    q->synchronize();
    BOOST_CHECK_THROW(
        decoder->run(view<const float>(in), { bits, counts, flags, few }, *q),
        std::invalid_argument);
    // Arrays of another type than the decoder's.
    array<int8_t> steps(*q, 14);
    array<float16> half(*q, 14);
    BOOST_CHECK_THROW(
        decoder->run(view<const int8_t>(steps), { bits, counts, flags }, *q),
        std::invalid_argument);
    BOOST_CHECK_THROW(
        decoder->run(view<const float16>(half), { bits, counts, flags }, *q),
        std::invalid_argument);
}
