/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_encoder
#include "kernels/common/testing.h"
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/encoder/circulant_plan.h"
#include "kernels/ldpc/encoder/encoding_plan.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

bool is_poison(uint8_t byte) { return byte == 0xBD; }

//! Guarded: nothing is written behind the words.
std::vector<uint8_t>
encode(ldpc_encoder& encoder, const std::vector<uint8_t>& info, size_t bytes)
{
    constexpr size_t guard = 80;
    auto q = queue::make(tested_backend());
    const array<uint8_t> in(*q, view<const uint8_t>(info));
    auto out = poisoned<uint8_t>(*q, bytes + guard);
    encoder.run(in, view<uint8_t>(out).part(0, bytes), *q);
    auto words = out.to_host();
    BOOST_TEST(std::all_of(words.begin() + bytes, words.end(), is_poison));
    words.resize(bytes);
    return words;
}

std::vector<uint8_t>
encode(ldpc_encoder& encoder, const ldpc_code& code, const std::vector<uint8_t>& info)
{
    return encode(encoder, info, info.size() / code.k() * code.n());
}

//! Words of `bits` bits, eight a byte; a word's last byte is filled up with `fill`.
template <typename Fill>
std::vector<uint8_t> packed(const std::vector<uint8_t>& words, size_t bits, Fill fill)
{
    std::vector<uint8_t> out;
    out.reserve(words.size() / bits * ((bits + 7) / 8));
    for (const uint8_t* word = words.data(); word != words.data() + words.size();
         word += bits) {
        for (size_t first = 0; first < bits; first += 8) {
            int byte = 0;
            for (size_t i = first; i < first + 8; ++i) {
                byte = byte << 1 | (i < bits ? word[i] : fill());
            }
            out.push_back(static_cast<uint8_t>(byte));
        }
    }
    return out;
}

int any_bit() { return generator()() >> 31; }
int zero() { return 0; }

//! Whether a transmitted word and its information belong to a codeword: H c = 0 must have
//! a solution for the columns that neither the word nor the information gives.
bool belongs(const ldpc_code& code, const uint8_t* info, const uint8_t* word)
{
    constexpr uint8_t unknown = 2;
    std::vector<uint8_t> column(code.variables(), unknown);
    for (int i = 0; i < code.n(); ++i) {
        column[code.transmitted().empty() ? i : code.transmitted()[i]] = word[i];
    }
    for (const int c : code.shortened()) {
        column[c] = 0;
    }
    for (int i = 0; i < code.k(); ++i) {
        auto& bit = column[code.info_positions()[i]];
        if (bit != unknown && bit != info[i]) {
            return false;
        }
        bit = info[i];
    }
    // Equations: the unknown columns, then one column for the sum of the known ones.
    std::vector<int> index_of(code.variables());
    int unknowns = 0;
    for (int c = 0; c < code.variables(); ++c) {
        index_of[c] = column[c] == unknown ? unknowns++ : 0;
    }
    bit_matrix equations(code.checks(), unknowns + 1);
    for (int r = 0; r < code.checks(); ++r) {
        int sum = 0;
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            const int c = code.columns()[e];
            if (column[c] == unknown) {
                equations.set(r, index_of[c]);
            } else {
                sum ^= column[c];
            }
        }
        if (sum) {
            equations.set(r, unknowns);
        }
    }
    // Solvable if the sums add nothing to the rank.
    return independent_rows(equations, unknowns + 1).size() ==
           independent_rows(equations, unknowns).size();
}

//! Every word fulfils the checks and holds its information, and the backend equals the
//! reference. Bits are packed or not, and unused bits of a byte have any value.
void encodes(const ldpc_code::sptr& code, const std::vector<size_t>& batches)
{
    const auto reference = ldpc_encoder::make(code, backend::reference);
    // Encoders serve all batches, because making an encoder takes the time.
    struct form {
        bool packed_input, packed_output;
        std::unique_ptr<ldpc_encoder> encoder;
    };
    std::vector<form> forms;
    for (const bool packed_input : { false, true }) {
        for (const bool packed_output : { false, true }) {
            forms.push_back({ packed_input,
                              packed_output,
                              ldpc_encoder::make(code,
                                                 { packed_input, packed_output },
                                                 tested_backend()) });
        }
    }
    auto host = queue::make(backend::reference);
    const size_t k = code->k();
    const size_t n = code->n();
    constexpr size_t checked = 3; // words of each batch whose checks are computed
    for (const size_t batch : batches) {
        const auto info = random_bits(batch * k);
        std::vector<uint8_t> expected(batch * n);
        reference->run(info, expected, *host);
        for (size_t w = 0; w < std::min(batch, checked); ++w) {
            BOOST_REQUIRE(belongs(*code, &info[w * k], &expected[w * n]));
        }
        auto noisy = info;
        for (auto& byte : noisy) {
            byte |= generator()() & 0xfe;
        }
        for (const auto& [packed_input, packed_output, encoder] : forms) {
            BOOST_TEST_CONTEXT(code->name() << ", batch " << batch << ", packed "
                                            << packed_input << packed_output)
            {
                const auto wanted = packed_output ? packed(expected, n, zero) : expected;
                const auto words = encode(*encoder,
                                          packed_input ? packed(info, k, any_bit) : noisy,
                                          wanted.size());
                BOOST_REQUIRE((words == wanted));
            }
        }
    }
}

//! m random checks of `weight` ones on n bits.
ldpc_code::sptr random_code(int n, int m, int weight)
{
    std::vector<std::vector<int>> rows(m);
    for (auto& row : rows) {
        std::set<int> ones;
        while (static_cast<int>(ones.size()) < weight) {
            ones.insert(static_cast<int>(generator()() % n));
        }
        row.assign(ones.begin(), ones.end());
    }
    return ldpc_code::from_rows(n, rows, "random");
}

//! A staircase of m checks behind k bits of weight 3.
ldpc_code::sptr staircase(int k, int m)
{
    std::vector<std::vector<int>> rows(m);
    for (int r = 0; r < m; ++r) {
        if (r > 0) {
            rows[r].push_back(k + r - 1);
        }
        rows[r].push_back(k + r);
    }
    for (int c = 0; c < k; ++c) {
        const int first = static_cast<int>(generator()() % m);
        for (int i = 0; i < 3; ++i) {
            rows[(first + i * (m / 3)) % m].push_back(c);
        }
    }
    return ldpc_code::from_rows(k + m, rows, "staircase");
}

//! A quasi-cyclic code with 5G NR's structure: two punctured block columns of
//! information, and a core of four block rows whose sum gives its first parity block.
//! Each further row has a block column of degree 1. The last `fillers` bits of the
//! information are shortened.
ldpc_code::sptr code_like_5g(int z, int info_columns, int rows, int fillers)
{
    ldpc_code_description code;
    code.name = "like 5g " + std::to_string(z);
    auto& blocks = code.circulants;
    blocks.lifting_size = z;
    blocks.block_rows = rows;
    blocks.block_columns = info_columns + rows;
    const auto put = [&](int r, int c, int shift) {
        blocks.all.push_back({ r, info_columns + c, shift % z });
    };
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < info_columns; ++c) {
            if (c < 2 || generator()() % (r < 4 ? 4 : 2) == 0) {
                blocks.all.push_back(
                    { r, c, static_cast<int>(generator()() % unsigned(z)) });
            }
        }
        if (r < 4) {
            if (r != 2) {
                put(r, 0, r == 1 ? 105 : 7);
            }
            for (int c = std::max(r, 1); c <= std::min(r + 1, 3); ++c) {
                put(r, c, 0);
            }
        } else {
            put(r, static_cast<int>(generator()() % 4), 3);
            put(r, r, 0);
        }
    }
    code.n = z * blocks.block_columns;
    code.systematic = true;
    for (int i = 0; i < 2 * z; ++i) {
        code.punctured.push_back(i);
    }
    for (int i = info_columns * z - fillers; i < info_columns * z; ++i) {
        code.shortened.push_back(i);
    }
    code.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(code));
}

const std::vector<size_t> all_batches{ 0, 1, 31, 32, 33, 64, 65, 513, 701 };

} // namespace

BOOST_AUTO_TEST_CASE(the_hamming_code_by_hand)
{
    const auto code = ldpc_code::from_rows(
        7, { { 0, 1, 2, 4 }, { 0, 1, 3, 5 }, { 0, 2, 3, 6 } }, "hamming");
    const auto encoder = ldpc_encoder::make(code, tested_backend());
    BOOST_TEST(encode(*encoder, *code, { 1, 0, 0, 0, 0, 1, 1, 0 }) ==
                   std::vector<uint8_t>({ 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1 }),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_wifi_code)
{
    for (const int n : { 648, 1296, 1944 }) {
        for (const auto rate : { "1/2", "2/3", "3/4", "5/6" }) {
            encodes(ldpc_code::wifi(n, rate), { 0, 1, 31, 33, 513 });
        }
    }
}

BOOST_AUTO_TEST_CASE(every_dvbs2_code)
{
    for (const auto rate :
         { "1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9" }) {
        encodes(ldpc_code::dvbs2("short", rate), { 0, 1, 33, 65 });
        encodes(ldpc_code::dvbs2("normal", rate), { 1, 9 });
    }
    encodes(ldpc_code::dvbs2("normal", "9/10"), { 0, 1, 8, 31, 32, 33, 67 });
}

BOOST_AUTO_TEST_CASE(punctured_and_shortened_columns_are_not_sent)
{
    encodes(code_like_5g(2, 10, 12, 3), all_batches);
    encodes(code_like_5g(15, 10, 42, 0), { 0, 1, 31, 33 });
    encodes(code_like_5g(17, 10, 42, 30), { 1, 31, 33, 513 });
    encodes(code_like_5g(104, 10, 20, 100), { 1, 31, 33, 65 });
    encodes(code_like_5g(64, 10, 20, 100), { 1, 31, 33, 65 });
    encodes(code_like_5g(600, 5, 9, 1000), { 1, 7 });
}

BOOST_AUTO_TEST_CASE(columns_shortened_and_punctured_anywhere)
{
    // A circulant code, whose runs of bits begin and end within the blocks, and a code by
    // bits.
    for (const int z : { 7, 130 }) {
        ldpc_code_description code;
        code.name = "shortened in front";
        auto& blocks = code.circulants;
        blocks.lifting_size = z;
        blocks.block_rows = 2;
        blocks.block_columns = 6;
        blocks.all = { { 0, 0, 3 }, { 0, 1, 0 },     { 0, 3, z - 1 },
                       { 0, 4, 5 }, { 1, 0, z / 2 }, { 1, 2, 1 },
                       { 1, 3, 2 }, { 1, 4, 0 },     { 1, 5, 4 } };
        code.n = 6 * z;
        code.systematic = true;
        for (int i = 0; i < z; ++i) {
            if (i < 5) {
                code.shortened.push_back(i);
            }
        }
        for (int i = z - 2; i < z + 3; ++i) {
            code.punctured.push_back(i);
        }
        code.shortened.push_back(2 * z - 1);
        code.punctured.push_back(5 * z);
        code.add_rows_of_circulants();
        encodes(ldpc_code_builder::build(std::move(code)), { 0, 1, 31, 33, 513 });
    }
}

BOOST_AUTO_TEST_CASE(codes_of_5g)
{
    for (const int z : { 2, 3, 7, 15, 16, 18, 30, 52, 88, 240 }) {
        encodes(ldpc_code::nr5g(1, z, 46), { 1, 33 });
        encodes(ldpc_code::nr5g(2, z, 20, 2 * z + 1), { 1, z < 20 ? 513u : 65u });
        encodes(ldpc_code::nr5g(1, z, 4, z - 1), { 1, 33 });
    }
    // Strings of so many words of 32 bits that CUDA's kernels differ.
    for (const int z : { 36, 112, 128, 208, 320 }) {
        encodes(ldpc_code::nr5g(1, z, 9, 17), { 1, 5, 33 });
        encodes(ldpc_code::nr5g(2, z, 12), { 1, 5, 33 });
    }
    encodes(ldpc_code::nr5g(1, 384, 46, 1000), { 0, 1, 3 });
    encodes(ldpc_code::nr5g(2, 384, 42), { 0, 1, 33 });
    encodes(ldpc_code::nr5g(1, 384, 4), { 0, 1, 33 });
}

BOOST_AUTO_TEST_CASE(codes_of_other_standards)
{
    for (const auto rate : { "1/2", "2/3", "4/5" }) {
        encodes(ldpc_code::ccsds("ar4ja", 1024, rate), { 0, 1, 33 });
    }
    encodes(ldpc_code::ccsds("tc", 64), all_batches);
    encodes(ldpc_code::ccsds("tc", 256), { 1, 65 });
    encodes(ldpc_code::ccsds("c2", 7154), { 1, 33 });
    encodes(ldpc_code::ccsds("c2", 7136), { 1, 33 });
    for (const auto rate : { "1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6" }) {
        encodes(ldpc_code::wimax(576, rate), { 1, 65 });
        encodes(ldpc_code::wimax(2304, rate), { 1, 33 });
    }
    encodes(ldpc_code::ten_gbase_t(), { 1, 65 });
    encodes(ldpc_code::regular(), { 1, 65 });
    encodes(ldpc_code::dvbs2x("short", "1/5 VL-SNR"), { 1, 33 });
    encodes(ldpc_code::dvbs2x("short", "32/45"), { 1, 33 });
    encodes(ldpc_code::dvbt2("short", "3/5"), { 1, 33 });
}

BOOST_AUTO_TEST_CASE(circulants_without_a_triangle)
{
    // Blocks have two and three circulants, and rows depend on one another. Information
    // then lies in the parity's blocks (as in CCSDS C2), and the inverse is dense.
    for (const int z : { 7, 31, 63, 127, 511 }) {
        ldpc_code_description code;
        code.name = "dense " + std::to_string(z);
        auto& blocks = code.circulants;
        blocks.lifting_size = z;
        blocks.block_rows = 2;
        blocks.block_columns = 5;
        for (int r = 0; r < 2; ++r) {
            for (int c = 0; c < 5; ++c) {
                const int first = static_cast<int>(generator()() % unsigned(z - 1));
                blocks.all.push_back({ r, c, first });
                blocks.all.push_back({ r, c, first + 1 });
            }
        }
        code.n = 5 * z;
        code.add_rows_of_circulants();
        const auto built = ldpc_code_builder::build(std::move(code));
        BOOST_TEST(built->k() >= 3 * z + 2);
        encodes(built, { 0, 1, 31, 33, 65 });
    }
}

BOOST_AUTO_TEST_CASE(codes_without_structure)
{
    for (int round = 0; round < 20; ++round) {
        encodes(random_code(37, 1 + round, 4), { 1, 70 });
    }
    encodes(random_code(2001, 1000, 6), { 1, 31, 32, 33, 101 });
    encodes(random_code(300, 200, 40), { 1, 67 });
}

BOOST_AUTO_TEST_CASE(codes_of_every_length)
{
    // Lengths around the capacities of a GPU's memories.
    for (const int k : { 5, 4000, 20000, 50001, 150000 }) {
        encodes(staircase(k, 4 * k / 5), { 1, 37 });
    }
}

BOOST_AUTO_TEST_CASE(redundant_checks_do_no_harm)
{
    const auto wifi = ldpc_code::wifi(648, "3/4");
    std::vector<std::vector<int>> rows;
    for (int r = 0; r < wifi->checks(); ++r) {
        rows.emplace_back(wifi->columns().begin() + wifi->row_start()[r],
                          wifi->columns().begin() + wifi->row_start()[r + 1]);
        if (r % 3 == 0) {
            rows.push_back(rows.back());
        }
    }
    const auto code = ldpc_code::from_rows(648, rows, "redundant");
    BOOST_TEST(code->k() == wifi->k());
    encodes(code, { 1, 64, 100 });
    // Three checks of rank two, the third the sum of the others.
    encodes(
        ldpc_code::from_rows(5, { { 0, 1, 3 }, { 1, 2, 4 }, { 0, 2, 3, 4 } }, "rank 2"),
        { 1, 40 });
}

BOOST_AUTO_TEST_CASE(information_anywhere_in_the_word)
{
    // Parity bits in front: elimination from the right chooses other columns, anywhere.
    const auto code = ldpc_code::from_rows(
        9, { { 0, 1, 2 }, { 1, 3, 4 }, { 0, 5 }, { 2, 6 } }, "scattered");
    BOOST_TEST(code->k() == 5);
    BOOST_TEST(code->info_positions() == std::vector<int>({ 0, 1, 3, 7, 8 }));
    encodes(code, all_batches);
}

BOOST_AUTO_TEST_CASE(a_sum_of_words_is_the_word_of_the_sum)
{
    for (const auto& code :
         { ldpc_code::wifi(1296, "2/3"), ldpc_code::dvbs2("short", "3/5") }) {
        const auto encoder = ldpc_encoder::make(code, tested_backend());
        const auto a = random_bits(3 * code->k());
        const auto b = random_bits(3 * code->k());
        auto sum_of_info = a;
        for (size_t i = 0; i < a.size(); ++i) {
            sum_of_info[i] ^= b[i];
        }
        auto sum = encode(*encoder, *code, a);
        const auto other = encode(*encoder, *code, b);
        for (size_t i = 0; i < sum.size(); ++i) {
            sum[i] ^= other[i];
        }
        BOOST_TEST((sum == encode(*encoder, *code, sum_of_info)));
    }
}

BOOST_AUTO_TEST_CASE(items_at_odd_addresses_are_taken)
{
    for (const auto& code : { ldpc_code::wifi(648, "5/6"),
                              ldpc_code::wifi(1944, "1/2"),
                              ldpc_code::nr5g(1, 384, 4),
                              ldpc_code::dvbs2("short", "8/9") }) {
        const auto encoder = ldpc_encoder::make(code, tested_backend());
        const auto info = random_bits(41 * size_t(code->k()));
        const auto expected = encode(*encoder, *code, info);
        auto q = queue::make(tested_backend());
        for (const size_t from : { 1, 4, 8 }) {
            auto shifted = info;
            shifted.insert(shifted.begin(), from, 0);
            const array<uint8_t> in(*q, view<const uint8_t>(shifted));
            const size_t to = 12 - from, end = to + expected.size();
            auto out = poisoned<uint8_t>(*q, end + 5);
            encoder->run(view<const uint8_t>(in).part(from, info.size()),
                         view<uint8_t>(out).part(to, expected.size()),
                         *q);
            const auto words = out.to_host();
            BOOST_TEST(std::equal(expected.begin(), expected.end(), words.begin() + to));
            BOOST_TEST(std::all_of(words.begin(), words.begin() + to, is_poison));
            BOOST_TEST(std::all_of(words.begin() + end, words.end(), is_poison));
        }
    }
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    const auto code = ldpc_code::wifi(648, "1/2");
    const auto encoder = ldpc_encoder::make(code, tested_backend());
    auto q = queue::make(tested_backend());
    array<uint8_t> info(*q, 2 * 324), words(*q, 2 * 648);
    BOOST_CHECK_THROW(encoder->run(view<const uint8_t>(info).part(0, 323), words, *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(encoder->run(info, words.all().part(0, 648), *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(ldpc_encoder::make(nullptr, tested_backend()),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(structured_codes_need_little_dense_algebra)
{
    // A staircase is one level and a chain; 802.11 sets one block column of 81 aside,
    // whose inverse is an identity.
    const ldpc_encoding_plan dvb(*ldpc_code::dvbs2("normal", "1/2"));
    BOOST_TEST(dvb.slots == 64800);
    BOOST_TEST(dvb.level.size() == 2u);
    BOOST_TEST(dvb.chain.size() == 32400u);
    const auto code = ldpc_code::wifi(1944, "1/2");
    const ldpc_encoding_plan wifi(*code);
    BOOST_TEST(wifi.slots == 1944 + 972);
    BOOST_TEST(wifi.source.size() < size_t(code->edges()) * 3 / 2);
    BOOST_TEST(wifi.level.size() <= 20u);
}

BOOST_AUTO_TEST_CASE(circulants_are_solved_by_circulants)
{
    // 802.11 and 5G: the inverse is a circulant. DVB-S2: a running sum of 360 bits.
    const auto wifi = ldpc_circulant_plan::make(*ldpc_code::wifi(1944, "1/2"));
    BOOST_REQUIRE(wifi.has_value());
    BOOST_TEST(wifi->dense.empty());
    BOOST_TEST(wifi->terms.size() < 150u);
    const auto nr = ldpc_circulant_plan::make(*ldpc_code::nr5g(1, 384, 46));
    BOOST_REQUIRE(nr.has_value());
    BOOST_TEST(nr->dense.empty());
    BOOST_TEST(nr->terms.size() < 316u + 20u);
    const auto dvb = ldpc_circulant_plan::make(*ldpc_code::dvbs2("normal", "1/2"));
    BOOST_REQUIRE(dvb.has_value());
    BOOST_TEST(dvb->dense_to.size() == 1u);
    BOOST_TEST(dvb->ways == 90);
    BOOST_TEST(!ldpc_circulant_plan::make(*random_code(37, 12, 4)).has_value());
}
