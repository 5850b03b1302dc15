/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_early_stop
#include "kernels/ldpc/decoder/testing.h"
#include <numeric>
#include <sstream>

// Tests when a word counts as decoded, in either arithmetic, and the default steps of
// int8.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using arithmetics = ldpc_decoder::arithmetic;
constexpr arithmetics each_arithmetic[] = { arithmetics::float32, arithmetics::int8 };

//! The block rows whose checks all tell. The checks of other block rows must not tell.
std::vector<int> telling_rows(const ldpc_code& code)
{
    const int z = code.circulants().lifting_size;
    std::vector<int> out;
    for (int r = 0; r * z < code.checks(); ++r) {
        const auto first = code.telling().begin() + r * z;
        const auto count = std::count(first, first + z, 1);
        BOOST_TEST((count == 0 || count == z));
        if (count) {
            out.push_back(r);
        }
    }
    return out;
}

bool all_tell(const ldpc_code& code)
{
    return code.telling() == std::vector<char>(code.checks(), 1);
}

//! Circulants without shift, a row and column each, of lifting size 32.
ldpc_code::sptr code_of(int rows, int columns, std::vector<std::pair<int, int>> ones)
{
    std::string text = std::to_string(columns) + " " + std::to_string(rows) + " 32\n";
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            const bool one = std::count(ones.begin(), ones.end(), std::pair(r, c));
            text += one ? " 0" : " -1";
        }
        text += "\n";
    }
    std::istringstream in(text);
    return ldpc_code::parse_qc(in, "blocks");
}

decoded decode_in(arithmetics calculation,
                  const ldpc_code::sptr& code,
                  ldpc_decoder::parameters p,
                  const std::vector<float>& llr,
                  bool soft = false)
{
    p.calculation = calculation;
    auto q = queue::make(tested_backend());
    auto decoder = ldpc_decoder::make(code, p, tested_backend());
    BOOST_TEST((decoder->calculation() == calculation));
    const size_t words = llr.size() / code->n();
    const size_t items = p.whole_words ? code->n() : code->k();
    const array<float> in(*q, view<const float>(llr));
    auto bits = poisoned<uint8_t>(*q, words * items);
    auto iterations = poisoned<int>(*q, words);
    auto ok = poisoned<int>(*q, words);
    auto values = poisoned<float>(*q, soft ? words * items : 0);
    decoder->run(view<const float>(in), { bits, iterations, ok, values }, *q);
    return { bits.to_host(), iterations.to_host(), ok.to_host(), values.to_host() };
}

//! Whether the tested backend decodes this code: int8 on CUDA takes only quasi-cyclic
//! codes.
bool can(arithmetics calculation, const ldpc_code& code)
{
    return calculation == arithmetics::float32 || tested_backend() != backend::cuda ||
           code.circulants().lifting_size > 0;
}

double mean(const std::vector<int>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

//! Random information bits and their codewords.
struct sent_words {
    std::vector<uint8_t> info, words;

    sent_words(const ldpc_code::sptr& code, size_t count) : info(count * code->k())
    {
        for (auto& bit : info) {
            bit = generator()() >> 31;
        }
        words = encoded(code, info);
    }
    static std::vector<uint8_t> encoded(const ldpc_code::sptr& code,
                                        const std::vector<uint8_t>& info)
    {
        std::vector<uint8_t> out(info.size() / code->k() * code->n());
        auto here = queue::make(backend::reference);
        ldpc_encoder::make(code, backend::reference)->run(info, out, *here);
        return out;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(the_core_rows_of_5g_nr_tell)
{
    const std::vector<int> core{ 0, 1, 2, 3 };
    for (const int z : { 8, 9, 384 }) {
        BOOST_TEST((telling_rows(*ldpc_code::nr5g(1, z, 46)) == core));
        BOOST_TEST((telling_rows(*ldpc_code::nr5g(2, z, 42)) == core));
        BOOST_TEST((telling_rows(*ldpc_code::nr5g(1, z, 5, z + 1)) == core));
        BOOST_TEST(all_tell(*ldpc_code::nr5g(1, z, 4, z + 1)));
        BOOST_TEST(all_tell(*ldpc_code::nr5g(2, z, 4)));
    }
    // All checks tell if the telling rows would have fewer than 32 checks. Wrong words
    // would pass so few checks too often.
    for (const int z : { 2, 3, 7 }) {
        BOOST_TEST(all_tell(*ldpc_code::nr5g(1, z, 46)));
        BOOST_TEST(all_tell(*ldpc_code::nr5g(2, z, 42)));
    }
}

BOOST_AUTO_TEST_CASE(checks_of_shared_parity_bits_all_tell)
{
    for (const auto* rate : { "1/2", "2/3", "3/4", "5/6" }) {
        BOOST_TEST(all_tell(*ldpc_code::wifi(648, rate)));
        BOOST_TEST(all_tell(*ldpc_code::wifi(1944, rate)));
    }
    BOOST_TEST(all_tell(*ldpc_code::dvbs2("short", "1/4")));
    BOOST_TEST(all_tell(*ldpc_code::dvbs2("normal", "9/10")));
    BOOST_TEST(all_tell(*ldpc_code::wimax(576, "1/2")));
    BOOST_TEST(all_tell(*ldpc_code::ten_gbase_t()));
    BOOST_TEST(all_tell(*ldpc_code::regular()));
    BOOST_TEST(all_tell(*hamming())); // each check has its own bit
}

BOOST_AUTO_TEST_CASE(every_information_bit_is_in_a_telling_check)
{
    // Columns 0 and 1 carry information; the others are parity bits.
    const auto row_1_alone = code_of(3,
                                     5,
                                     { { 0, 0 },
                                       { 0, 1 },
                                       { 0, 2 },
                                       { 1, 2 },
                                       { 1, 0 },
                                       { 1, 3 },
                                       { 2, 1 },
                                       { 2, 3 },
                                       { 2, 4 } });
    BOOST_TEST((telling_rows(*row_1_alone) == (std::vector<int>{ 0, 1 })));
    // Here all checks of column 1 have bits of their own. If only row 0 told, errors in
    // column 1 would stay.
    const auto unseen = code_of(3,
                                5,
                                { { 0, 0 },
                                  { 0, 2 },
                                  { 1, 2 },
                                  { 1, 0 },
                                  { 1, 1 },
                                  { 1, 3 },
                                  { 2, 1 },
                                  { 2, 4 } });
    BOOST_TEST(all_tell(*unseen));
    // All rows with bits of their own, as in a code of low density generators.
    const auto generators =
        code_of(2, 4, { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 3 } });
    BOOST_TEST(all_tell(*generators));
}

BOOST_AUTO_TEST_CASE(is_decoded_overlooks_bits_of_one_check_alone)
{
    const auto code = ldpc_code::nr5g(2, 9, 42);
    const sent_words sent(code, 1);
    // From rate-matched bits to columns: the punctured ones begin the information.
    std::vector<uint8_t> columns(code->variables());
    for (int i = 0; i < code->k(); ++i) {
        columns[code->info_positions()[i]] = sent.info[i];
    }
    for (int i = 0; i < code->n(); ++i) {
        columns[code->transmitted()[i]] = sent.words[i];
    }
    BOOST_TEST(code->is_codeword(columns.data()));
    BOOST_TEST(code->is_decoded(columns.data()));
    for (int column = 0; column < code->variables(); ++column) {
        columns[column] ^= 1;
        BOOST_TEST(!code->is_codeword(columns.data()));
        BOOST_TEST(code->is_decoded(columns.data()) == (column >= (10 + 4) * 9));
        columns[column] ^= 1;
    }
}

BOOST_AUTO_TEST_CASE(a_word_stops_where_its_information_is_right)
{
    const size_t words = 60;
    for (const auto& [code, eb_n0] : { std::pair(ldpc_code::nr5g(1, 24, 46, 30), 7.0),
                                       std::pair(ldpc_code::nr5g(2, 40, 42), 7.0) }) {
        const sent_words sent(code, words);
        auto llr = received_llrs(sent.words, code->rate(), eb_n0, generator());
        // A strong error in a parity bit of degree 1, which decoding does not soon
        // correct.
        const size_t n = code->n();
        for (size_t w = 0; w < words; ++w) {
            const size_t bit = w * n + n - 1 - 5 * w;
            llr[bit] = sent.words[bit] ? 60.0f : -60.0f;
        }
        for (const auto calculation : each_arithmetic) {
            ldpc_decoder::parameters p;
            p.max_iterations = 40;
            const auto got = decode_in(calculation, code, p, llr);
            p.whole_words = true;
            const auto whole = decode_in(calculation, code, p, llr);
            BOOST_TEST_CONTEXT(code->name()
                               << ", int8 " << (calculation == arithmetics::int8))
            {
                BOOST_TEST((got.bits == sent.info));
                BOOST_TEST(mean(got.iterations) < 8);
                BOOST_TEST((whole.iterations == got.iterations));
                size_t wrong = 0;
                for (size_t w = 0; w < words; ++w) {
                    BOOST_TEST(got.ok[w] == 1);
                    BOOST_TEST(whole.ok[w] == 1);
                    const size_t bit = w * n + n - 1 - 5 * w;
                    wrong += whole.bits[bit] != sent.words[bit];
                }
                BOOST_TEST_MESSAGE(wrong << " wrong, " << mean(got.iterations));
                BOOST_TEST(wrong > words / 10); // int8 bounds them
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(zeros_of_which_nothing_is_known_are_not_decoded)
{
    for (const auto& code : { ldpc_code::wifi(648, "1/2"),
                              ldpc_code::nr5g(1, 16, 46),
                              ldpc_code::nr5g(2, 9, 12, 5) }) {
        const size_t n = code->n();
        for (const auto calculation : each_arithmetic) {
            for (const int width : { 0, 16 }) {
                for (const bool early_stop : { true, false }) {
                    ldpc_decoder::parameters p;
                    p.max_iterations = 6;
                    p.early_stop = early_stop;
                    p.stop_crc = { width, width ? 0x1021u : 0u };
                    // A good word between two words of erasures.
                    const auto sent =
                        random_codewords(code, { 16, 0x1021 }, 3, generator());
                    std::vector<float> llr(3 * n);
                    for (size_t i = 0; i < n; ++i) {
                        llr[i] = i % 2 ? -0.0f : not_a_number;
                        llr[n + i] = sent[n + i] ? -6.0f : 6.0f;
                    }
                    const auto got = decode_in(calculation, code, p, llr);
                    BOOST_TEST_CONTEXT(code->name()
                                       << ", int8 " << (calculation == arithmetics::int8)
                                       << ", CRC of " << width << ", early stop "
                                       << early_stop)
                    {
                        BOOST_TEST(got.ok == (std::vector<int>{ 0, 1, 0 }),
                                   boost::test_tools::per_element());
                        BOOST_TEST(got.iterations[0] == 6);
                        BOOST_TEST(got.iterations[2] == 6);
                        BOOST_TEST((got.iterations[1] < 6) == early_stop);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_word_without_its_core_is_not_taken_for_zeros)
{
    // As a later redundancy version alone: erasures in the core, LLRs in the extension.
    const auto code = ldpc_code::nr5g(1, 16, 46);
    const sent_words sent(code, 20);
    auto llr = received_llrs(sent.words, code->rate(), 8.0, generator());
    for (int i = 0; i < code->n(); ++i) {
        if (code->transmitted()[i] < (22 + 4) * 16) {
            for (size_t w = 0; w < 20; ++w) {
                llr[w * code->n() + i] = 0;
            }
        }
    }
    for (const auto calculation : each_arithmetic) {
        for (const int width : { 0, 24 }) {
            ldpc_decoder::parameters p;
            p.stop_crc = { width, width ? 0x864cfbu : 0u };
            const auto got = decode_in(calculation, code, p, llr);
            for (size_t w = 0; w < 20; ++w) {
                const auto first = got.bits.begin() + w * code->k();
                const bool right = std::equal(
                    first, first + code->k(), sent.info.begin() + w * code->k());
                BOOST_TEST((!got.ok[w] || right));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(zeros_that_were_sent_are_decoded)
{
    for (const auto& code : { ldpc_code::wifi(648, "1/2"),
                              ldpc_code::nr5g(1, 16, 20),
                              ldpc_code::nr5g(2, 20, 42, 30) }) {
        const std::vector<uint8_t> zeros(code->n() * 40);
        const auto llr = received_llrs(zeros, code->rate(), 4.0, generator());
        for (const auto calculation : each_arithmetic) {
            // Of 16 bits, one wrong word in 65536 would pass: too many here.
            for (const int width : { 0, 24 }) {
                ldpc_decoder::parameters p;
                p.stop_crc = { width, width ? 0x864cfbu : 0u };
                const auto got = decode_in(calculation, code, p, llr);
                BOOST_TEST(got.bits == std::vector<uint8_t>(code->k() * 40),
                           boost::test_tools::per_element());
                BOOST_TEST(got.ok == std::vector<int>(40, 1),
                           boost::test_tools::per_element());
                BOOST_TEST(mean(got.iterations) < 10);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(one_undecided_bit_matters_among_zeros_alone)
{
    // The last bit is in no check.
    const auto code = ldpc_code::from_rows(4, { { 0, 1, 2 } }, "and a free bit");
    const std::vector<float> llr{ 2, 3, 4, 0, 2, 3, 4, -0.0f, -2, -3, 4, 0, 2, 3, 4, 1 };
    for (const auto calculation : each_arithmetic) {
        if (can(calculation, *code)) {
            ldpc_decoder::parameters p;
            p.max_iterations = 3;
            const auto got = decode_in(calculation, code, p, llr);
            BOOST_TEST(got.ok == (std::vector<int>{ 0, 0, 1, 1 }),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_steps_of_int8_are_the_backends_own)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    const sent_words sent(code, 9);
    const auto llr = received_llrs(sent.words, code->rate(), 2.5, generator());
    const auto with = [&](float steps) {
        ldpc_decoder::parameters p;
        p.llr_steps = steps;
        return decode_in(arithmetics::int8, code, p, llr, true);
    };
    BOOST_TEST(ldpc_decoder::parameters().llr_steps == 0);
    const bool cuda = tested_backend() == backend::cuda;
    check_equal(with(0), with(cuda ? 12 : 6));
    BOOST_TEST((with(0).soft != with(cuda ? 6 : 12).soft));
    // Soft values are in units of the LLR, whatever the steps.
    const auto got = with(0);
    BOOST_TEST((got.bits == sent.info));
    const auto fine = with(5);
    for (size_t i = 0; i < got.soft.size(); ++i) {
        BOOST_TEST(std::abs(got.soft[i]) < (cuda ? 97 : 11));
        BOOST_TEST((got.soft[i] < 0) == (fine.soft[i] < 0));
    }
}
