/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE bch
#include "kernels/common/testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/bch_decoder.h>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using bytes = std::vector<uint8_t>;

//! Words of `bits` bits, eight a byte; a word's last byte is filled up with ones.
bytes packed(const bytes& words, size_t bits)
{
    const size_t each = (bits + 7) / 8;
    bytes out(words.size() / bits * each);
    for (size_t i = 0; i < out.size() * 8; ++i) {
        const size_t at = i % (each * 8);
        const int bit = at < bits ? words[i / (each * 8) * bits + at] & 1 : 1;
        out[i / 8] |= bit << (7 - i % 8);
    }
    return out;
}

//! The same with zeros behind each word, as kernels write them.
bytes packed_as_written(const bytes& words, size_t bits)
{
    auto out = packed(words, bits);
    const size_t each = (bits + 7) / 8;
    for (size_t w = 0; bits % 8 && w < out.size() / each; ++w) {
        out[(w + 1) * each - 1] &= 0xff << (8 - bits % 8);
    }
    return out;
}

//! Codewords of `info`, by a backend.
bytes encode(const bch_code::sptr& code, const bytes& info, backend where, bch_packing p)
{
    const size_t batch = info.size() / code->k();
    const auto in = p.packed_input ? packed(info, code->k()) : info;
    const size_t size = batch * (p.packed_output ? (code->n() + 7) / 8 : code->n());
    auto q = queue::make(where);
    const array<uint8_t> from(*q, view<const uint8_t>(in));
    auto to = poisoned<uint8_t>(*q, size + 16);
    bch_encoder::make(code, p, where)->run(from, to.all().part(0, size), *q);
    auto out = to.to_host();
    BOOST_TEST(std::all_of(
        out.begin() + size, out.end(), [](uint8_t byte) { return byte == 0xBD; }));
    out.resize(size);
    return out;
}

struct decoded {
    bytes info;
    std::vector<int32_t> corrected;
};

decoded
decode(const bch_code::sptr& code, const bytes& words, backend where, bch_packing p)
{
    const size_t batch = words.size() / code->n();
    const auto in = p.packed_input ? packed(words, code->n()) : words;
    const size_t size = batch * (p.packed_output ? (code->k() + 7) / 8 : code->k());
    auto q = queue::make(where);
    auto decoder = bch_decoder::make(code, p, where);
    const array<uint8_t> from(*q, view<const uint8_t>(in));
    auto to = poisoned<uint8_t>(*q, size + 16);
    auto corrected = poisoned<int32_t>(*q, batch);
    auto workspace = poisoned<uint8_t>(*q, decoder->workspace_bytes(batch));
    decoder->run(from, to.all().part(0, size), corrected, workspace, *q);
    auto out = to.to_host();
    BOOST_TEST(std::all_of(
        out.begin() + size, out.end(), [](uint8_t byte) { return byte == 0xBD; }));
    out.resize(size);
    return { out, corrected.to_host() };
}

//! Flips `errors` bits of a word, all different.
void disturb(uint8_t* word, int n, int errors)
{
    std::vector<int> at(n);
    std::iota(at.begin(), at.end(), 0);
    std::shuffle(at.begin(), at.end(), generator());
    for (int i = 0; i < errors; ++i) {
        word[at[i]] ^= 1;
    }
}

std::vector<bch_packing> packings()
{
    return { { false, false }, { false, true }, { true, false }, { true, true } };
}

//! Every number of errors up to t is corrected and counted, for all packings; what the
//! reference says of more errors, the backend says.
void corrects(const bch_code::sptr& code, int words_of_each)
{
    const int n = code->n(), k = code->k(), most = code->t() + 3;
    std::vector<int> errors;
    for (int e = 0; e <= std::min(most, n); ++e) {
        errors.insert(errors.end(), words_of_each, e);
    }
    const auto info = random_bits(errors.size() * k);
    const auto sent = encode(code, info, backend::reference, {});
    auto received = sent;
    for (size_t w = 0; w < errors.size(); ++w) {
        disturb(received.data() + w * n, n, errors[w]);
    }
    const auto expected = decode(code, received, backend::reference, {});
    for (size_t w = 0; w < errors.size(); ++w) {
        BOOST_TEST_CONTEXT(code->name() << ", " << errors[w] << " errors")
        {
            const auto* const word = expected.info.data() + w * k;
            if (errors[w] <= code->t()) {
                BOOST_TEST(expected.corrected[w] == errors[w]);
                BOOST_TEST(std::equal(word, word + k, info.data() + w * k));
            } else if (expected.corrected[w] == bch_decoder::failed) {
                BOOST_TEST(std::equal(word, word + k, received.data() + w * n));
            }
        }
    }
    for (const auto& p : packings()) {
        BOOST_TEST_CONTEXT(code->name()
                           << ", packed " << p.packed_input << p.packed_output)
        {
            BOOST_TEST((encode(code, info, tested_backend(), p) ==
                        (p.packed_output ? packed_as_written(sent, n) : sent)));
            const auto got = decode(code, received, tested_backend(), p);
            BOOST_TEST(got.corrected == expected.corrected,
                       boost::test_tools::per_element());
            BOOST_TEST((got.info == (p.packed_output ? packed_as_written(expected.info, k)
                                                     : expected.info)));
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(generators_are_those_of_textbooks)
{
    // Lin and Costello, Error Control Coding, example 6.1: x^8 + x^7 + x^6 + x^4 + 1 and
    // x^10 + x^8 + x^5 + x^4 + x^2 + x + 1.
    BOOST_TEST(bch_code::primitive(4, 2)->generator() ==
                   (bytes{ 1, 1, 1, 0, 1, 0, 0, 0, 1 }),
               boost::test_tools::per_element());
    BOOST_TEST(bch_code::primitive(4, 3)->generator() ==
                   (bytes{ 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1 }),
               boost::test_tools::per_element());
    BOOST_TEST(bch_code::primitive(10, 4)->k() == 983);
}

BOOST_AUTO_TEST_CASE(dvb_codes_have_the_standards_sizes)
{
    const struct {
        bch_code::sptr code;
        int n, k, t;
    } all[] = {
        { bch_code::dvbs2("normal", "1/4"), 16200, 16008, 12 },
        { bch_code::dvbs2("normal", "2/3"), 43200, 43040, 10 },
        { bch_code::dvbs2("normal", "5/6"), 54000, 53840, 10 },
        { bch_code::dvbs2("normal", "8/9"), 57600, 57472, 8 },
        { bch_code::dvbs2("normal", "9/10"), 58320, 58192, 8 },
        { bch_code::dvbs2("short", "1/4"), 3240, 3072, 12 },
        { bch_code::dvbs2("short", "8/9"), 14400, 14232, 12 },
        { bch_code::dvbs2x("normal", "154/180"), 55440, 55248, 12 },
        { bch_code::dvbs2x("short", "32/45"), 11520, 11352, 12 },
        { bch_code::dvbs2x("medium", "1/5 VL-SNR"), 5840, 5660, 12 },
        { bch_code::dvbt2("normal", "5/6"), 54000, 53840, 10 },
    };
    for (const auto& one : all) {
        BOOST_TEST_CONTEXT(one.code->name())
        {
            BOOST_TEST(one.code->n() == one.n);
            BOOST_TEST(one.code->k() == one.k);
            BOOST_TEST(one.code->t() == one.t);
        }
    }
    BOOST_CHECK_THROW(bch_code::dvbs2("normal", "7/9"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(every_pattern_of_two_errors_in_fifteen_bits)
{
    const auto code = bch_code::primitive(4, 2);
    const bytes info{ 1, 0, 1, 1, 0, 0, 1 };
    const auto sent = encode(code, info, backend::reference, {});
    bytes received;
    std::vector<int32_t> errors;
    for (int a = 0; a < 15; ++a) {
        for (int b = a; b < 15; ++b) {
            auto word = sent;
            word[a] ^= 1;
            word[b] ^= a == b ? 0 : 1;
            received.insert(received.end(), word.begin(), word.end());
            errors.push_back(a == b ? 1 : 2);
        }
    }
    const auto got = decode(code, received, tested_backend(), {});
    BOOST_TEST(got.corrected == errors, boost::test_tools::per_element());
    for (size_t w = 0; w < errors.size(); ++w) {
        BOOST_TEST(std::equal(info.begin(), info.end(), got.info.data() + 7 * w));
    }
}

BOOST_AUTO_TEST_CASE(up_to_t_errors_are_corrected_and_more_are_as_the_reference_says)
{
    corrects(bch_code::primitive(3, 1), 20);
    corrects(bch_code::primitive(4, 3), 40);
    corrects(bch_code::primitive(5, 7), 10);
    corrects(bch_code::primitive(6, 4, 17), 20); // shortened: roots may lie outside
    corrects(bch_code::primitive(8, 2, 100), 20);
    corrects(bch_code::primitive(10, 4), 8);
    corrects(bch_code::primitive(11, 30), 2);
    corrects(bch_code::primitive(12, 64), 1);
    corrects(bch_code::primitive(13, 5, 1001), 4);
}

BOOST_AUTO_TEST_CASE(dvb_codes_correct)
{
    corrects(bch_code::dvbs2("short", "1/4"), 2);
    corrects(bch_code::dvbs2("normal", "9/10"), 1);
    corrects(bch_code::dvbs2x("medium", "1/3 VL-SNR"), 1);
}

BOOST_AUTO_TEST_CASE(only_the_lowest_bit_of_a_byte_counts)
{
    const auto code = bch_code::primitive(8, 3, 20);
    auto info = random_bits(3 * code->k());
    auto strange = info;
    for (auto& byte : strange) {
        byte |= generator()() & 0xfe;
    }
    const auto words = encode(code, strange, tested_backend(), {});
    BOOST_TEST((words == encode(code, info, backend::reference, {})));
    strange = words;
    for (auto& byte : strange) {
        byte |= generator()() & 0xfe;
    }
    const auto got = decode(code, strange, tested_backend(), {});
    BOOST_TEST((got.info == info));
    BOOST_TEST((got.corrected == std::vector<int32_t>(3, 0)));
}

BOOST_AUTO_TEST_CASE(large_batches_and_none)
{
    const auto code = bch_code::primitive(7, 3);
    const auto info = random_bits(10001 * code->k());
    auto words = encode(code, info, tested_backend(), {});
    for (size_t w = 0; w < 10001; ++w) {
        disturb(words.data() + w * code->n(), code->n(), w % 4);
    }
    const auto got = decode(code, words, tested_backend(), {});
    BOOST_TEST((got.info == info));
    for (size_t w = 0; w < 10001; ++w) {
        BOOST_REQUIRE(got.corrected[w] == static_cast<int32_t>(w % 4));
    }
    BOOST_TEST(decode(code, {}, tested_backend(), {}).info.empty());
    BOOST_TEST(encode(code, {}, tested_backend(), {}).empty());
}

BOOST_AUTO_TEST_CASE(bad_parameters_are_refused)
{
    using refused = std::invalid_argument;
    BOOST_CHECK_THROW(bch_code::primitive(2, 1), refused);
    BOOST_CHECK_THROW(bch_code::primitive(17, 1), refused);
    BOOST_CHECK_THROW(bch_code::primitive(8, 0), refused);
    BOOST_CHECK_THROW(bch_code::primitive(8, 65), refused);
    BOOST_CHECK_THROW(bch_code::primitive(4, 8), refused);    // no bit is left
    BOOST_CHECK_THROW(bch_code::primitive(4, 2, 7), refused); // nor here
    BOOST_CHECK_THROW(bch_code::primitive(4, 2, -1), refused);
    BOOST_CHECK_THROW(bch_code::primitive(4, 2, 0, 0x1f), refused); // not primitive
    BOOST_CHECK_THROW(bch_code::primitive(4, 2, 0, 0x25), refused); // of degree 5
    BOOST_CHECK_THROW(bch_code::primitive(4, 2, 0, 0x12), refused); // reducible
    BOOST_CHECK_THROW(bch_encoder::make(nullptr), refused);
    BOOST_CHECK_THROW(bch_decoder::make(nullptr), refused);

    const auto code = bch_code::primitive(4, 2);
    auto q = queue::make(tested_backend());
    auto decoder = bch_decoder::make(code, {}, tested_backend());
    array<uint8_t> words(*q, 30), info(*q, 14), workspace(*q, 4096);
    array<int32_t> corrected(*q, 1);
    BOOST_CHECK_THROW(decoder->run(words, info, corrected, workspace, *q), refused);
    BOOST_CHECK_THROW(
        decoder->run(words.all().part(0, 29), info, corrected, workspace, *q), refused);
}
