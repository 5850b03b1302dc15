/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_mixed_decoder
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include "kernels/ldpc/decoder/makers.h"
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>

// Batches of several codes, against each code's decoder alone.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using parameters = ldpc_decoder::parameters;
using number = ldpc_decoder::number;

//! Received words of one code, and what comes out.
struct words {
    words(queue& q, const ldpc_code::sptr& code, size_t count, const parameters& p)
        : code(code), count(count)
    {
        const auto sent = random_codewords(code, count, generator());
        const auto received = received_llrs(sent, code->rate(), 5.0, generator());
        if (p.llr == number::int8) {
            std::vector<int8_t> steps;
            for (const float one : received) {
                steps.push_back(static_cast<int8_t>(
                    std::clamp(std::nearbyint(6 * one), -127.f, 127.f)));
            }
            in_int8 = array<int8_t>(q, view<const int8_t>(steps));
            llr = { in_int8.data(), steps.size(), p.llr };
        } else {
            in_float = array<float>(q, view<const float>(received));
            llr = { in_float.data(), received.size(), p.llr };
        }
        const size_t bits_out = p.whole_words ? code->n() : code->k();
        bits = array<uint8_t>(q, count * (p.packed ? (bits_out + 7) / 8 : bits_out));
        iterations = array<int>(q, count);
        ok = array<int>(q, count);
        soft = array<float>(q, count * bits_out);
        clear(q);
    }
    void clear(queue& q)
    {
        const auto fill = [&q](auto& to) {
            const std::vector<char> junk(to.size() * sizeof *to.data(), 77);
            q.copy_in(to.data(), junk.data(), junk.size());
            q.synchronize();
        };
        fill(bits);
        fill(iterations);
        fill(ok);
        fill(soft);
    }
    ldpc_decoder::results out() { return { bits, iterations, ok, soft }; }

    ldpc_code::sptr code;
    size_t count;
    array<int8_t> in_int8;
    array<float> in_float;
    ldpc_decoder::received llr{};
    array<uint8_t> bits;
    array<int> iterations, ok;
    array<float> soft;
};

//! Compares what came out with each code's decoder, and clears it.
void check_each_alone(std::vector<words>& all, const parameters& p, queue& q)
{
    for (auto& one : all) {
        const auto bits = one.bits.to_host();
        const auto iterations = one.iterations.to_host();
        const auto ok = one.ok.to_host();
        const auto soft = one.soft.to_host();
        one.clear(q);
        if (one.count > 0) {
            ldpc_decoder::make(one.code, p, q.where())->run(one.llr, one.out(), q);
            q.synchronize();
        }
        BOOST_TEST_CONTEXT(one.code->name())
        {
            BOOST_TEST((bits == one.bits.to_host()));
            BOOST_TEST(iterations == one.iterations.to_host(),
                       boost::test_tools::per_element());
            BOOST_TEST(ok == one.ok.to_host(), boost::test_tools::per_element());
            BOOST_TEST((soft == one.soft.to_host()));
            BOOST_TEST(std::count(ok.begin(), ok.end(), 1) == std::ptrdiff_t(one.count));
        }
        one.clear(q);
    }
}

void check_against_each_alone(const std::vector<ldpc_code::sptr>& codes,
                              const std::vector<size_t>& counts,
                              const parameters& p)
{
    const auto where = tested_backend();
    const auto q = queue::make(where);
    const auto mixed = ldpc_mixed_decoder::make(codes, p, where);
    std::vector<words> all;
    std::vector<ldpc_mixed_decoder::part> parts;
    for (size_t c = 0; c < codes.size(); ++c) {
        all.emplace_back(*q, codes[c], counts[c], p);
    }
    // The order of the parts means nothing, so take the codes backwards.
    for (int c = static_cast<int>(codes.size()) - 1; c >= 0; --c) {
        parts.push_back({ c, all[c].llr, all[c].out() });
    }
    // Until the common programs are there, each code has a launch of its own.
    mixed->run(parts, *q);
    q->synchronize();
    check_each_alone(all, p, *q);
    mixed->prepare();
    for (int round = 0; round < 2; ++round) {
        mixed->run(parts, *q);
        q->synchronize();
    }
    check_each_alone(all, p, *q);
}

std::vector<ldpc_code::sptr> wifi_codes()
{
    std::vector<ldpc_code::sptr> out;
    for (const int n : { 648, 1944 }) {
        for (const char* rate : { "1/2", "2/3", "3/4" }) {
            out.push_back(ldpc_code::wifi(n, rate));
        }
    }
    return out;
}

parameters in_int8(bool early_stop)
{
    parameters p;
    p.llr = number::int8;
    p.early_stop = early_stop;
    p.packed = true;
    return p;
}

} // namespace

BOOST_AUTO_TEST_CASE(rates_and_lengths)
{
    for (const bool early_stop : { true, false }) {
        check_against_each_alone(
            wifi_codes(), { 3, 1, 20, 5, 0, 33 }, in_int8(early_stop));
        check_against_each_alone({ ldpc_code::nr5g(1, 64, 46),
                                   ldpc_code::nr5g(2, 64, 12),
                                   ldpc_code::nr5g(1, 64, 8),
                                   ldpc_code::nr5g(1, 40, 8) },
                                 { 4, 3, 2, 1 },
                                 in_int8(early_stop));
    }
}

BOOST_AUTO_TEST_CASE(families_that_share_nothing)
{
    check_against_each_alone({ ldpc_code::dvbs2("short", "1/2"),
                               ldpc_code::wifi(1296, "5/6"),
                               ldpc_code::dvbs2("short", "8/9"),
                               ldpc_code::regular() },
                             { 2, 3, 1, 4 },
                             in_int8(true));
}

BOOST_AUTO_TEST_CASE(every_output_and_arithmetic)
{
    auto p = in_int8(true);
    p.whole_words = true;
    p.packed = false;
    p.llr_positive = 0;
    check_against_each_alone(wifi_codes(), { 1, 1, 2, 1, 1, 1 }, p);
    p = parameters();
    p.calculation = ldpc_decoder::arithmetic::float32;
    check_against_each_alone(wifi_codes(), { 1, 1, 2, 1, 1, 1 }, p);
    p.calculation = ldpc_decoder::arithmetic::int8;
    check_against_each_alone(wifi_codes(), { 1, 1, 2, 1, 1, 1 }, p);
}

BOOST_AUTO_TEST_CASE(launches_are_shared_by_codes_of_one_size)
{
    const auto codes = wifi_codes();
    const auto where = tested_backend();
    const auto mixed = ldpc_mixed_decoder::make(codes, in_int8(true), where);
    const bool shared = where == backend::cuda;
    BOOST_TEST(mixed->launches({}) == 0);
    BOOST_TEST(mixed->launches({ 4 }) == 1);
    BOOST_TEST(mixed->launches({ 4, 4 }) == 1);
    BOOST_TEST(mixed->launches({ 0, 2 }) == (shared ? 1 : 2));
    BOOST_TEST(mixed->launches({ 0, 1, 2, 3, 4, 5 }) == (shared ? 2 : 6));
    BOOST_CHECK_THROW(mixed->launches({ 6 }), std::invalid_argument);
}

#ifdef CUDAPHY_HAVE_CUDA
BOOST_AUTO_TEST_CASE(decoders_of_one_code_share_its_program_on_cuda)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    auto p = in_int8(true);
    const auto prepare = [&] {
        // New code objects, as each receiver makes them.
        ldpc_mixed_decoder::make({ ldpc_code::wifi(1296, "1/2"),
                                   ldpc_code::dvbs2("short", "3/4"),
                                   ldpc_code::wifi(1296, "2/3") },
                                 p,
                                 backend::cuda)
            ->prepare();
    };
    const auto before = ldpc_programs_translated();
    prepare();
    BOOST_TEST(ldpc_programs_translated() == before + 4); // the codes of 1296 share one
    prepare();
    p.max_iterations = 7; // no part of a program
    prepare();
    BOOST_TEST(ldpc_programs_translated() == before + 4);
    p.packed = false;
    prepare();
    BOOST_TEST(ldpc_programs_translated() == before + 8);
}

BOOST_AUTO_TEST_CASE(a_decoder_may_be_dropped_while_its_programs_are_translated)
{
    for (int i = 0; i < 3; ++i) {
        ldpc_mixed_decoder::make(wifi_codes(), in_int8(i % 2 == 0), tested_backend());
    }
    check_against_each_alone(wifi_codes(), { 1, 2, 3, 3, 2, 1 }, in_int8(true));
}
#endif

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_as_a_whole)
{
    const auto where = tested_backend();
    const auto p = in_int8(true);
    const auto code = ldpc_code::wifi(648, "1/2");
    BOOST_CHECK_THROW(ldpc_mixed_decoder::make({}, p, where), std::invalid_argument);
    BOOST_CHECK_THROW(ldpc_mixed_decoder::make({ code, nullptr }, p, where),
                      std::invalid_argument);
    const auto mixed =
        ldpc_mixed_decoder::make({ code, ldpc_code::wifi(648, "5/6") }, p, where);
    const auto q = queue::make(where);
    words one(*q, code, 2, p);
    const ldpc_mixed_decoder::part good{ 0, one.llr, one.out() };
    const auto before = one.iterations.to_host();
    for (const int code_number : { -1, 2, 0, 1 }) {
        // An unknown code, one code twice, and more bits than the code takes.
        BOOST_CHECK_THROW(mixed->run({ good, { code_number, one.llr, one.out() } }, *q),
                          std::invalid_argument);
    }
    q->synchronize();
    BOOST_TEST((one.iterations.to_host() == before));
    mixed->run({}, *q);
    mixed->run({ good }, *q);
    q->synchronize();
    BOOST_TEST((one.ok.to_host() == std::vector<int>{ 1, 1 }));
}
