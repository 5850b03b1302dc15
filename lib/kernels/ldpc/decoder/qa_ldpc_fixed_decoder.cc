/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_fixed_decoder
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/decoder/fixed_testing.h"
#include <cmath>
#include <limits>

// Decoding in int8 arithmetic: every backend must match the reference with that backend's
// limits in every bit, iteration and soft value.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! Words of n bits, eight a byte.
std::vector<uint8_t> in_bytes(const std::vector<uint8_t>& bits, size_t n)
{
    const size_t bytes = (n + 7) / 8;
    std::vector<uint8_t> out(bits.size() / n * bytes);
    for (size_t i = 0; i < bits.size(); ++i) {
        out[i / n * bytes + i % n / 8] |= bits[i] << (7 - i % n % 8);
    }
    return out;
}

//! Words, or a few: the reference decodes one after the other, however many there are.
size_t but_few_by_reference(size_t words)
{
    return tested_backend() == backend::reference ? std::min<size_t>(words, 2) : words;
}

//! Each row a few columns at random; neither quasi-cyclic nor of full rank.
ldpc_code::sptr random_code(int n, int rows)
{
    std::vector<std::vector<int>> ones(rows);
    for (auto& row : ones) {
        while (row.size() < 5) {
            const int column = static_cast<int>(generator()() % n);
            if (std::find(row.begin(), row.end(), column) == row.end()) {
                row.push_back(column);
            }
        }
    }
    ones.push_back(ones[0]);
    return ldpc_code::from_rows(n, ones, "random");
}

//! Blocks of two and three circulants.
ldpc_code::sptr multiple_circulants()
{
    ldpc_code_description d;
    d.name = "multiple circulants";
    auto& blocks = d.circulants;
    blocks.lifting_size = 63;
    blocks.block_rows = 2;
    blocks.block_columns = 8;
    for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 8; ++c) {
            blocks.all.push_back({ r, c, (5 * c + 3 * r) % 31 });
            blocks.all.push_back({ r, c, 31 + (7 * c + 2 * r) % 19 });
            if (c == 3) {
                blocks.all.push_back({ r, c, 55 });
            }
        }
    }
    d.n = 8 * 63;
    d.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(d));
}

} // namespace

BOOST_AUTO_TEST_CASE(standard_codes_at_the_edge_of_what_they_correct)
{
    check(ldpc_code::wifi(648, "1/2"),
          fixed_point(),
          noisy(ldpc_code::wifi(648, "1/2"), 70, 1.7));
    check(ldpc_code::wifi(1944, "5/6"),
          fixed_point(),
          noisy(ldpc_code::wifi(1944, "5/6"), 33, 3.7));
    const auto dvb = ldpc_code::dvbs2("short", "1/2");
    check(dvb, fixed_point(), noisy(dvb, 5, 1.3));
}

BOOST_AUTO_TEST_CASE(messages_whose_sign_changes_are_damped)
{
    for (const char* rate : { "1/3", "2/5", "1/2", "3/5" }) {
        const auto code = ldpc_code::dvbs2("short", rate);
        BOOST_TEST(code->default_damps());
        if (tested_backend() == backend::reference && std::string(rate) != "1/3") {
            continue; // slow; the other backends are compared with it at each rate
        }
        auto p = fixed_point();
        p.scale = code->default_scale();
        // Decoders that live at the same time share programs, but not these two.
        const auto other = ldpc_decoder::make(code, p, tested_backend());
        const auto llr = repeated(noisy(code, 2, .5), 2, but_few_by_reference(5));
        for (const int iterations : { 15, 50, 70 }) { // damped less, more, and by half
            p.max_iterations = iterations;
            p.scale = code->default_scale();
            const auto plain = check(code, p, llr, 2);
            p.scale = 0;
            BOOST_TEST((check(code, p, llr, 2).soft != plain.soft));
        }
    }
    BOOST_TEST(!ldpc_code::wifi(648, "1/2")->default_damps());
}

BOOST_AUTO_TEST_CASE(messages_of_frames_of_rate_1_5_are_corrected)
{
    for (const auto& code : { ldpc_code::dvbs2("short", "1/4"),
                              ldpc_code::dvbs2x("short", "1/5 VL-SNR"),
                              ldpc_code::dvbs2x("short", "1/5 VL-SNR SF2"),
                              ldpc_code::dvbs2x("medium", "1/5 VL-SNR") }) {
        auto p = fixed_point();
        p.max_iterations = 15;
        // Words apart, and as many side by side as a vector has lanes; far too strong
        // LLRs, too.
        for (const size_t words : { 1, 5, 70 }) {
            if (tested_backend() == backend::reference && words > 5) {
                break; // which decodes one after the other
            }
            p.scale = 0;
            p.llr_steps = words == 5 ? 40 : 12;
            const size_t distinct = std::min<size_t>(words, 9);
            const auto llr = repeated(
                noisy(code, distinct, .6), distinct, but_few_by_reference(words));
            const auto got = check(code, p, llr, distinct);
            p.scale = code->default_scale();
            BOOST_TEST((check(code, p, llr, distinct).soft != got.soft));
        }
        p.scale = 0;
        p.llr_steps = 0;
        p.max_iterations = 60; // damped by half
        p.early_stop = true;
        check(code, p, noisy(code, 3, .3));
    }
}

BOOST_AUTO_TEST_CASE(frames_too_long_for_shared_memory)
{
    // On a GPU a thread's own values then lie in device memory too.
    for (const char* rate : { "1/2", "1/4", "8/9" }) {
        const auto code = ldpc_code::dvbs2("normal", rate);
        auto p = fixed_point();
        p.whole_words = false;
        const double eb_n0 = std::string(rate) == "8/9" ? 3.6 : 1.1;
        check(code, p, noisy(code, 3, eb_n0));
        p.early_stop = false;
        p.packed = true;
        p.max_iterations = 3;
        check(code, p, noisy(code, 3, eb_n0));
    }
}

BOOST_AUTO_TEST_CASE(batches_of_every_odd_size)
{
    const auto code = ldpc_code::wifi(1296, "3/4");
    for (const size_t words : { 0, 1, 2, 3, 31, 63, 64, 65, 129 }) {
        check(code, fixed_point(), noisy(code, words, 2.6));
    }
}

BOOST_AUTO_TEST_CASE(batches_that_leave_multiprocessors_idle)
{
    const auto code = ldpc_code::nr5g(2, 64, 12);
    for (const size_t words : { 1, 7, 200 }) { // few: another program
        check(code, fixed_point(), noisy(code, words, 1.8));
    }
}

BOOST_AUTO_TEST_CASE(every_type_of_llr_and_form_of_output)
{
    const auto code = ldpc_code::wifi(648, "2/3");
    const auto llr = noisy(code, 40, 2.3);
    std::vector<float16> halves;
    for (const float value : llr) {
        halves.push_back({ to_float16(value) });
    }
    for (const bool packed : { false, true }) {
        for (const bool whole : { false, true }) {
            for (const int positive : { 0, 1 }) {
                auto p = fixed_point();
                p.packed = packed;
                p.whole_words = whole;
                p.llr_positive = positive;
                p.llr_steps = packed ? 5.5f : 8;
                check(code, p, llr);
                check(code, p, halves);
                check(code, p, in_steps(llr));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(floats_in_other_units_come_to_the_same_steps)
{
    const auto code = ldpc_code::wifi(648, "2/3");
    const auto run = [&](float scale, const auto& llr) {
        auto p = fixed_point();
        p.llr_scale = scale;
        p.llr = sizeof(llr[0]) == 1 ? ldpc_decoder::number::int8
                                    : ldpc_decoder::number::float32;
        const auto tested = ldpc_decoder::make(code, p, tested_backend());
        return decode(*tested, *code, p, llr, tested_backend());
    };
    const auto same = [](const decoded& a, const decoded& b, float unit) {
        BOOST_TEST((a.bits == b.bits && a.iterations == b.iterations && a.ok == b.ok));
        for (size_t i = 0; i < a.soft.size(); ++i) {
            BOOST_REQUIRE_EQUAL(a.soft[i], b.soft[i] * unit);
        }
    };
    auto llr = noisy(code, 40, 2.3);
    const auto expected = run(1, llr);
    for (auto& value : llr) {
        value *= 4;
    }
    same(run(0.25f, llr), expected, 4);
    // int8 LLRs are in steps already.
    const auto steps = in_steps(llr);
    same(run(0.25f, steps), run(1, steps), 1);
}

BOOST_AUTO_TEST_CASE(all_iterations_and_many)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto p = fixed_point();
    p.early_stop = false;
    check(code, p, noisy(code, 40, 1.0));
    check(code, p, noisy(code, 40, 6.0));
    p.max_iterations = 1;
    check(code, p, noisy(code, 40, 3.0));
    p.max_iterations = 100; // the factor rises
    p.early_stop = true;
    check(code, p, noisy(code, 40, 0.8));
    p.scale = 0.625f;
    check(code, p, noisy(code, 40, 1.2));
}

BOOST_AUTO_TEST_CASE(codes_of_every_structure)
{
    for (const auto& code :
         { punctured_code(), multiple_circulants(), random_code(300, 120) }) {
        if (tested_backend() == backend::cuda && code->circulants().lifting_size == 0) {
            continue; // float32 there
        }
        for (const double eb_n0 : { 1.0, 3.0, 6.0 }) {
            check(code, fixed_point(), noisy(code, 70, eb_n0));
        }
    }
}

BOOST_AUTO_TEST_CASE(extreme_llrs)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto llr = noisy(code, 20, 2.0);
    const float strange[] = { 0.0f,
                              -0.0f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::max(),
                              1e-40f };
    for (size_t i = 0; i < llr.size(); i += 9) {
        llr[i] = strange[i % 7];
    }
    check(code, fixed_point(), llr);
    std::vector<int8_t> steps(code->n() * 20);
    for (auto& value : steps) {
        value = static_cast<int8_t>(generator()());
    }
    check(code, fixed_point(), steps);
    check(code, fixed_point(), std::vector<int8_t>(code->n() * 3, -128));
    check(code, fixed_point(), std::vector<float>(code->n() * 3, 0.0f));
}

BOOST_AUTO_TEST_CASE(a_crc_stops_in_place_of_the_parity_checks)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    auto p = fixed_point();
    p.stop_crc = { 16, 0x1021 };
    std::vector<uint8_t> info(code->k() * 40);
    for (size_t word = 0; word < 40; ++word) {
        uint32_t remainder = 0;
        for (int i = 0; i < code->k(); ++i) {
            auto& bit = info[word * code->k() + i];
            const bool data = i < code->k() - 16;
            bit = data ? generator()() >> 31 : remainder >> (code->k() - 1 - i) & 1;
            if (data) {
                const bool out = (remainder >> 15 & 1) != bit;
                remainder = (remainder << 1 & 0xffff) ^ (out ? 0x1021 : 0);
            }
        }
    }
    std::vector<uint8_t> words(code->n() * 40);
    auto here = queue::make(backend::reference);
    ldpc_encoder::make(code, backend::reference)->run(info, words, *here);
    const auto llr = received_llrs(words, code->rate(), 2.5, generator());
    const auto got = check(code, p, llr);
    BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 1) > 30);
}

// The measured cost of decoding decides how many words are side by side. The result must
// not depend on that number.
BOOST_AUTO_TEST_CASE(words_side_by_side_on_the_cpu)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const auto& code : { ldpc_code::wifi(648, "1/2"),
                              ldpc_code::dvbs2("short", "8/9"),
                              ldpc_code::dvbs2("short", "3/5"),
                              ldpc_code::nr5g(2, 36, 14, 20),
                              ldpc_code::nr5g(2, 3, 42, 2),
                              ldpc_code::nr5g(1, 64, 4, 0),
                              multiple_circulants(),
                              random_code(300, 120) }) {
        auto p = fixed_point();
        const auto llr = noisy(code, 67, 2.6);
        const auto oracle = make_ldpc_fixed_decoder_reference(
            { code, p, ldpc_decoding::scales_of(*code, p) }, ldpc_fixed_limits::cpu());
        const auto expected = decode(*oracle, *code, p, llr, backend::reference);
        for (int words = 1; words <= 64; words *= 2) {
            BOOST_TEST_CONTEXT(code->name() << ", " << words << " side by side")
            {
                const auto tested = make_ldpc_fixed_decoder_cpu(
                    { code, p, ldpc_decoding::scales_of(*code, p) }, words);
                const auto got = decode(*tested, *code, p, llr, backend::cpu);
                BOOST_TEST((got.bits == expected.bits));
                BOOST_TEST((got.soft == expected.soft));
                BOOST_TEST((got.iterations == expected.iterations));
                BOOST_TEST((got.ok == expected.ok));
                p.packed = true;
                const ldpc_decoding packing{ code,
                                             p,
                                             ldpc_decoding::scales_of(*code, p) };
                const auto packed = decode(*make_ldpc_fixed_decoder_cpu(packing, words),
                                           *code,
                                           p,
                                           llr,
                                           backend::cpu,
                                           false);
                BOOST_TEST((packed.bits == in_bytes(expected.bits, code->n())));
                p.packed = false;
            }
        }
    }
}

// If L saturates, further iterations must not spoil a decoded word.
BOOST_AUTO_TEST_CASE(a_decoded_word_stays_decoded)
{
    for (const auto& code : { ldpc_code::wifi(648, "1/2"),
                              ldpc_code::wifi(1296, "3/4"),
                              ldpc_code::nr5g(1, 32, 10),
                              ldpc_code::nr5g(1, 24, 46),
                              ldpc_code::dvbs2("short", "8/9") }) {
        const size_t words = code->n() > 10000 ? 2 : but_few_by_reference(40);
        for (const double eb_n0 : { 5.0, 8.0 }) {
            auto p = fixed_point();
            p.early_stop = false;
            p.max_iterations = 60;
            const auto got = check(code, p, noisy(code, words, eb_n0));
            BOOST_TEST(std::count(got.ok.begin(), got.ok.end(), 1) == words);
        }
    }
}

// The same words in float32 and in int8: no more than a few fail in int8 alone.
BOOST_AUTO_TEST_CASE(as_few_errors_as_in_float32)
{
    if (tested_backend() == backend::reference) {
        return; // slow, and other tests hold the backends to its bits
    }
    struct point {
        ldpc_code::sptr code;
        double eb_n0;
        int iterations;
    };
    for (const auto& at : { point{ ldpc_code::nr5g(1, 64, 46), 1.2, 10 },
                            point{ ldpc_code::nr5g(2, 64, 42), 1.1, 10 },
                            point{ ldpc_code::nr5g(1, 64, 4), 4.5, 10 },
                            point{ ldpc_code::wifi(1944, "1/2"), 1.4, 20 } }) {
        const size_t words = 320;
        const auto llr = noisy(at.code, words, at.eb_n0);
        auto p = fixed_point();
        p.max_iterations = at.iterations;
        p.llr_steps = 0; // the backend's own
        const auto failures = [&](ldpc_decoder::arithmetic calculation) {
            p.calculation = calculation;
            const auto decoder = ldpc_decoder::make(at.code, p, tested_backend());
            const auto got = decode(*decoder, *at.code, p, llr, tested_backend());
            return static_cast<double>(std::count(got.ok.begin(), got.ok.end(), 0));
        };
        const double wanted = failures(ldpc_decoder::arithmetic::float32);
        const double got = failures(ldpc_decoder::arithmetic::int8);
        // Their difference deviates by less than the root of their sum.
        BOOST_TEST(got <= 1.15 * wanted + 4 * std::sqrt(wanted + 1),
                   at.code->name() << ": " << got << " of " << words
                                   << " words fail, in float32 " << wanted);
    }
}
