/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_decoder
#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder/testing.h"
#include <algorithm>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

std::vector<uint8_t> word_of(const std::vector<uint8_t>& bits, size_t word, size_t length)
{
    return { bits.begin() + word * length, bits.begin() + (word + 1) * length };
}

} // namespace

BOOST_AUTO_TEST_CASE(one_iteration_of_a_parity_check_is_what_the_formulas_say)
{
    const auto code = ldpc_code::from_rows(3, { { 0, 1, 2 } }, "parity");
    const std::vector<float> llr{ 2, -3, 4 };
    // Scale 1: L = (2 - 3, -3 + 2, 4 - 2).
    auto got = decode(code, whole_words(5, 1.0f), llr);
    check_equal(got, { { 1, 1, 0 }, { 1 }, { 1 } });
    // Scale 0.5: L = (2 - 1.5, -3 + 1, 4 - 1), and so for ever.
    got = decode(code, whole_words(5, 0.5f), llr);
    check_equal(got, { { 0, 1, 0 }, { 5 }, { 0 } });
}

BOOST_AUTO_TEST_CASE(layers_follow_one_another_within_an_iteration)
{
    // Bit 1 hears of bit 0 in the first layer and passes it on in the second: L = (4, 3,
    // 3). Had both checks seen the received values alone, bit 2 would be -2.
    const auto code = ldpc_code::from_rows(3, { { 0, 1 }, { 1, 2 } }, "repetition");
    const auto got = decode(code, whole_words(1, 1.0f), { 5, -1, -1 });
    check_equal(got, { { 0, 0, 0 }, { 1 }, { 1 } });
}

BOOST_AUTO_TEST_CASE(a_check_of_one_bit_forces_it_to_zero)
{
    const auto code = ldpc_code::from_rows(4, { { 0 }, { 1, 2 } }, "forced");
    const auto got = decode(code, whole_words(3, 1.0f), { -500, 3, -1, -7 });
    check_equal(got, { { 0, 0, 0, 1 }, { 1 }, { 1 } });
}

BOOST_AUTO_TEST_CASE(received_values_and_messages_are_bounded_by_1e4)
{
    // L = (1e4 - 1e4, -1e4 + 1e4), which is undecided; unbounded, the first bit would
    // outweigh the second.
    const auto code = ldpc_code::from_rows(3, { { 0, 1 } }, "pair");
    for (const float much : { 5e4f, 3e38f, infinity }) {
        const auto got = decode(code, whole_words(5, 1.0f), { much, -1.5e4f, 1 });
        check_equal(got, { { 0, 0, 0 }, { 5 }, { 0 } });
    }
    // A message of at most half of 1e4 cannot flip a bit that was received with 1e4.
    const auto forced = ldpc_code::from_rows(3, { { 0 } }, "forced");
    const auto got = decode(forced, whole_words(5, 0.5f), { -1e4f, 1, -1 });
    check_equal(got, { { 1, 0, 1 }, { 5 }, { 0 } });
}

BOOST_AUTO_TEST_CASE(
    without_a_fixed_factor_it_rises_and_comes_closer_to_1_every_15_iterations)
{
    // Each iteration L = llr + s * 1e4. For rate 2/3 and factor .75 s is .65 first. In 60
    // iterations s is .674 in the second, .761 in the 13th, .882 from the 16th on, .942
    // from the 31st, and .971 from the 46th. In 30 iterations s rises faster.
    const auto code = ldpc_code::from_rows(3, { { 0 } }, "forced");
    const std::vector<float> llr{ -6400, 1, 1, -6600, 1, 1, -7600, 1, 1,
                                  -8700, 1, 1, -9000, 1, 1, -9500, 1, 1 };
    const std::vector<uint8_t> zeros(llr.size());
    check_equal(decode(code, whole_words(60), llr),
                { zeros, { 1, 2, 13, 16, 31, 46 }, { 1, 1, 1, 1, 1, 1 } });
    auto got = decode(code, whole_words(30), llr);
    BOOST_TEST(got.iterations == (std::vector<int>{ 1, 2, 9, 16, 30, 30 }),
               boost::test_tools::per_element());
    BOOST_TEST(got.ok == (std::vector<int>{ 1, 1, 1, 1, 0, 0 }),
               boost::test_tools::per_element());
    // A fixed factor stays constant.
    got = decode(code, whole_words(60, 0.75f), llr);
    BOOST_TEST(got.iterations == (std::vector<int>{ 1, 1, 60, 60, 60, 60 }),
               boost::test_tools::per_element());
    BOOST_TEST(got.ok == (std::vector<int>{ 1, 1, 0, 0, 0, 0 }),
               boost::test_tools::per_element());
    // The factor of a code of a standard begins below its best fixed one.
    const auto wifi = ldpc_code::wifi(648, "1/2");
    const auto noisy = received_llrs(
        random_codewords(wifi, 50, generator()), wifi->rate(), 1.4, generator());
    const auto first = static_cast<float>(wifi->default_scale() - .15);
    check_equal(decode(wifi, whole_words(1), noisy),
                decode(wifi, whole_words(1, first), noisy));
}

BOOST_AUTO_TEST_CASE(only_codes_that_need_it_come_closer_to_1)
{
    ldpc_decoder::parameters p;
    p.max_iterations = 60;
    const auto scales = [&](const ldpc_code::sptr& code) {
        BOOST_TEST(code->default_scale() > 0.5f);
        return ldpc_decoding::scales_of(*code, p);
    };
    for (const auto& code : { ldpc_code::ccsds("ar4ja", 1024, "1/2"),
                              ldpc_code::ccsds("tc", 64),
                              ldpc_code::wifi(648, "1/2"),
                              ldpc_code::wimax(576, "2/3A"),
                              ldpc_code::nr5g(1, 16, 46),
                              ldpc_code::ten_gbase_t(),
                              ldpc_code::regular() }) {
        BOOST_TEST_CONTEXT(code->name())
        {
            const auto all = scales(code);
            BOOST_TEST(!code->default_scale_closes());
            BOOST_TEST(std::is_sorted(all.begin(), all.end()));
            BOOST_TEST(all.front() < code->default_scale());
            BOOST_TEST(all.back() > code->default_scale());
            BOOST_TEST(all.back() < code->default_scale() + 0.03f);
        }
    }
    for (const auto& code : { ldpc_code::dvbs2("short", "3/5"),
                              ldpc_code::dvbs2x("short", "7/15"),
                              ldpc_code::dvbt2("short", "3/5"),
                              hamming() }) {
        BOOST_TEST(code->default_scale_closes(), code->name());
        // Its distance from 1 is halved three times in 60 iterations; twice if the rate
        // is low or the factor is small (docs/conventions.md).
        const bool slow = code->rate() < 0.45 || code->default_scale() < 0.7f;
        const float least = slow ? 3.9f : 7.9f;
        BOOST_TEST(1 - scales(code).back() < (1 - code->default_scale()) / least,
                   code->name());
    }
}

BOOST_AUTO_TEST_CASE(a_hamming_code_corrects_every_single_weak_error)
{
    const auto code = hamming();
    const auto sent = random_codewords(code, 200, generator());
    std::vector<float> llr;
    for (size_t i = 0; i < sent.size(); ++i) {
        const float magnitude = i % 7 == i / 7 % 7 ? -0.5f : 2.0f;
        llr.push_back(sent[i] ? -magnitude : magnitude);
    }
    const auto got = decode(code, whole_words(), llr);
    check_equal(got, { sent, std::vector<int>(200, 1), std::vector<int>(200, 1) });
}

BOOST_AUTO_TEST_CASE(float32_backends_follow_the_formulas_exactly)
{
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
    } cases[] = {
        { ldpc_code::wifi(648, "1/2"), 1.2 },
        { ldpc_code::wifi(648, "5/6"), 3.5 },
        { ldpc_code::wifi(1944, "1/2"), 1.1 },
        { ldpc_code::wifi(1944, "3/4"), 2.3 },
        { irregular_code(generator()), 5.0 },
        { hamming(), 1.0 },
        { punctured_code(), 4.0 },
    };
    for (const auto& [code, eb_n0] : cases) {
        for (const bool early_stop : { true, false }) {
            auto llr = received_llrs(random_codewords(code, 37, generator()),
                                     code->rate(),
                                     eb_n0,
                                     generator());
            put_special_values(llr, code->n());
            auto p = whole_words(20);
            p.early_stop = early_stop;
            BOOST_TEST_CONTEXT(code->name() << ", early stop " << early_stop)
            check_equal(decode(code, p, llr, tested_backend(), true),
                        decode_plainly(code, p, llr));
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
        { ldpc_code::wifi(1944, "5/6"), 3.2, 700 },
        { irregular_code(generator()), 5.0, 1000 },
        { ldpc_code::dvbs2("short", "1/2"), 0.9, 150 },
        { ldpc_code::dvbs2("short", "1/4"), 0.7, 150 },
        { ldpc_code::dvbs2("normal", "1/2"), 1.0, 300 },
        { ldpc_code::dvbs2("normal", "9/10"), 3.9, 40 },
    };
    for (const auto& [code, eb_n0, words] : cases) {
        const auto llr = received_llrs(
            random_codewords(code, words, generator()), code->rate(), eb_n0, generator());
        const auto here = decode(code, whole_words(20), llr, backend::cpu);
        const auto there = decode(code, whole_words(20), llr, backend::cuda);
        BOOST_TEST_CONTEXT(code->name())
        {
            BOOST_TEST((here.bits == there.bits));
            BOOST_TEST(here.iterations == there.iterations,
                       boost::test_tools::per_element());
            BOOST_TEST(here.ok == there.ok, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(words_come_out_as_sent_and_as_the_reference_finds_them)
{
    const struct {
        ldpc_code::sptr code;
        double eb_n0;
    } cases[] = { { ldpc_code::wifi(648, "1/2"), 2.2 },
                  { ldpc_code::wifi(648, "5/6"), 4.2 },
                  { ldpc_code::wifi(1944, "1/2"), 1.8 },
                  { ldpc_code::wifi(1944, "5/6"), 3.8 } };
    for (const auto& [code, eb_n0] : cases) {
        const size_t n = code->n();
        for (const size_t words : { 0, 1, 15, 16, 17, 33, 211 }) {
            const auto sent = random_codewords(code, words, generator());
            const auto llr = received_llrs(sent, code->rate(), eb_n0, generator());
            const auto got = decode(code, whole_words(), llr);
            const auto expected = decode(code, whole_words(), llr, backend::reference);
            BOOST_REQUIRE(got.bits.size() == sent.size());
            size_t failed = 0;
            size_t different = 0;
            size_t taken_for_another = 0;
            for (size_t word = 0; word < words; ++word) {
                failed += !got.ok[word];
                // double and float32 may part on a word at the edge of decoding
                different +=
                    got.ok[word] != expected.ok[word] ||
                    std::abs(got.iterations[word] - expected.iterations[word]) > 1;
                // Noise may, though rarely, lead to another codeword than the sent one.
                taken_for_another +=
                    got.ok[word] && word_of(got.bits, word, n) != word_of(sent, word, n);
                BOOST_TEST(code->is_codeword(&got.bits[word * n]) == got.ok[word]);
            }
            BOOST_TEST(failed <= 2 + words / 20, code->name() << ": " << failed);
            BOOST_TEST(different <= 1 + words / 50, code->name() << ": " << different);
            BOOST_TEST(taken_for_another <= 1u,
                       code->name() << ": " << taken_for_another);
        }
    }
}

BOOST_AUTO_TEST_CASE(dvbs2_frames_come_out_as_sent)
{
    const struct {
        const char *frame, *rate;
        double eb_n0;
        size_t words;
    } cases[] = { { "short", "1/4", 2.2, 17 },  { "short", "1/2", 1.8, 3 },
                  { "short", "8/9", 4.4, 18 },  { "normal", "1/2", 1.4, 2 },
                  { "normal", "9/10", 4.3, 1 }, { "normal", "1/4", 1.8, 1 } };
    for (const auto& [frame, rate, eb_n0, words] : cases) {
        const auto code = ldpc_code::dvbs2(frame, rate);
        const auto sent = random_codewords(code, words, generator());
        const auto got = decode(
            code, whole_words(50), received_llrs(sent, code->rate(), eb_n0, generator()));
        BOOST_TEST((got.bits == sent), code->name());
        BOOST_TEST(got.ok == std::vector<int>(words, 1),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_noiseless_word_needs_no_iteration)
{
    const auto code = ldpc_code::wifi(648, "2/3");
    const auto sent = random_codewords(code, 20, generator());
    std::vector<float> llr;
    for (const auto bit : sent) {
        llr.push_back(bit ? -1.0f : 1.0f);
    }
    check_equal(decode(code, whole_words(), llr),
                { sent, std::vector<int>(20, 0), std::vector<int>(20, 1) });

    // All 1000 iterations run: messages that grow without bound would end in NaN.
    auto p = whole_words(1000, 1.0f);
    p.early_stop = false;
    llr.resize(3 * code->n());
    check_equal(decode(code, p, llr),
                { { sent.begin(), sent.begin() + llr.size() },
                  std::vector<int>(3, 1000),
                  std::vector<int>(3, 1) });
}

BOOST_AUTO_TEST_CASE(without_early_stop_every_word_runs_all_iterations)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    const auto sent = random_codewords(code, 40, generator());
    const auto llr = received_llrs(sent, code->rate(), 3.0, generator());
    auto p = whole_words(7);
    p.early_stop = false;
    const auto got = decode(code, p, llr);
    BOOST_TEST(got.iterations == std::vector<int>(40, 7),
               boost::test_tools::per_element());
    for (size_t word = 0; word < 40; ++word) {
        BOOST_TEST(code->is_codeword(&got.bits[word * code->n()]) == got.ok[word]);
    }
}

BOOST_AUTO_TEST_CASE(a_word_stops_on_its_own_whatever_its_neighbours_do)
{
    const auto code = ldpc_code::wifi(1944, "1/2");
    const size_t n = code->n();
    const auto sent = random_codewords(code, 40, generator());
    const auto llr = received_llrs(sent, code->rate(), 1.4, generator());
    const auto together = decode(code, whole_words(), llr);
    BOOST_TEST(
        std::set<int>(together.iterations.begin(), together.iterations.end()).size() > 1);
    for (size_t word = 0; word < 40; word += 3) {
        const auto alone = decode(
            code,
            whole_words(),
            std::vector<float>(llr.begin() + word * n, llr.begin() + (word + 1) * n));
        check_equal(alone,
                    { word_of(together.bits, word, n),
                      { together.iterations[word] },
                      { together.ok[word] } });
    }
}

BOOST_AUTO_TEST_CASE(a_bad_word_leaves_the_others_alone)
{
    const auto code = ldpc_code::wifi(648, "3/4");
    const size_t n = code->n();
    const auto sent = random_codewords(code, 35, generator());
    const auto good = received_llrs(sent, code->rate(), 3.5, generator());
    auto bad = good;
    for (size_t i = 0; i < n; ++i) {
        bad[5 * n + i] = i % 2 ? not_a_number : infinity;
        bad[17 * n + i] = gaussian<float>(1)[0]; // no codeword near
    }
    const auto expected = decode(code, whole_words(), good);
    const auto got = decode(code, whole_words(), bad);
    for (const size_t word : { 0, 4, 6, 15, 16, 18, 34 }) {
        BOOST_TEST((word_of(got.bits, word, n) == word_of(expected.bits, word, n)));
        BOOST_TEST(got.iterations[word] == expected.iterations[word]);
        BOOST_TEST(got.ok[word] == expected.ok[word]);
    }
    BOOST_TEST(got.ok[17] == 0);
    BOOST_TEST(got.iterations[17] == 20);
}

BOOST_AUTO_TEST_CASE(nothing_received_decides_zeros_that_are_not_ok)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    for (const float value : { 0.0f, -0.0f, not_a_number }) {
        check_equal(decode(code, whole_words(), std::vector<float>(2 * code->n(), value)),
                    { std::vector<uint8_t>(2 * code->n(), 0), { 20, 20 }, { 0, 0 } });
    }
}

BOOST_AUTO_TEST_CASE(infinite_llrs_and_erasures_are_decoded)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    const auto sent = random_codewords(code, 50, generator());
    std::vector<float> llr;
    for (size_t i = 0; i < sent.size(); ++i) {
        llr.push_back(generator()() % 4 == 0 ? not_a_number
                      : sent[i]              ? -infinity
                                             : infinity);
    }
    const auto got = decode(code, whole_words(), llr);
    BOOST_TEST(got.ok == std::vector<int>(50, 1), boost::test_tools::per_element());
    BOOST_TEST((got.bits == sent));
}

BOOST_AUTO_TEST_CASE(a_decoder_serves_batches_of_any_size_one_after_the_other)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto q = queue::make(tested_backend());
    auto decoder = ldpc_decoder::make(code, whole_words(), tested_backend());
    for (const size_t words : { 5, 64, 1, 0, 33 }) {
        const auto sent = random_codewords(code, words, generator());
        const auto llr = received_llrs(sent, code->rate(), 4.0, generator());
        const array<float> in(*q, view<const float>(llr));
        auto bits = poisoned<uint8_t>(*q, sent.size());
        auto iterations = poisoned<int>(*q, words);
        auto ok = poisoned<int>(*q, words);
        decoder->run(in, bits, iterations, ok, *q);
        BOOST_TEST((bits.to_host() == sent));
    }
}
