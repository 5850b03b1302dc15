/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_circulants
#include "kernels/common/testing.h"
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/algebra/circulant_inverse.h"
#include "kernels/ldpc/algebra/circulant_product.h"
#include "kernels/ldpc/algebra/elimination.h"
#include "kernels/ldpc/encoder/circulant_plan.h"
#include "kernels/ldpc/encoder/encoding_plan.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>

// Circulants of many ones: their inverses, their products, and the codes that need them.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

std::vector<uint64_t> random_words(size_t count)
{
    std::vector<uint64_t> out(count);
    for (auto& word : out) {
        word = uint64_t{ generator()() } << 32 | generator()();
    }
    return out;
}

bool bit(const uint64_t* words, size_t i) { return words[i / 64] >> i % 64 & 1; }

ldpc_circulant_sum random_sum(int z)
{
    ldpc_circulant_sum sum(z);
    for (int i = 0; i < z; ++i) {
        if (generator()() >> 31) {
            sum.add(i);
        }
    }
    return sum;
}

//! At x = 1, where a circulant is regular or 0.
bit_matrix parities(const ldpc_circulant_matrix& m)
{
    bit_matrix out(m.size(), m[0].size());
    for (size_t r = 0; r < m.size(); ++r) {
        for (size_t c = 0; c < m[0].size(); ++c) {
            if (m[r][c].is_regular()) {
                out.set(r, c);
            }
        }
    }
    return out;
}

std::vector<uint8_t> packed(const std::vector<uint8_t>& bits)
{
    std::vector<uint8_t> out(bits.size() / 8);
    for (size_t i = 0; i < bits.size(); ++i) {
        out[i / 8] |= bits[i] << (7 - i % 8);
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(products_are_those_of_polynomials)
{
    for (const size_t words : { 2, 4, 8, 16, 32 }) {
        const size_t z = 64 * words, strings = 1 + generator()() % 3, products = 2;
        const auto from = random_words(strings * words);
        std::vector<uint64_t> factors, expected(products * words);
        for (size_t p = 0; p < products; ++p) {
            for (size_t s = 0; s < strings; ++s) {
                const auto factor = random_words(words);
                const auto put = circulant_factor(factor);
                factors.insert(factors.end(), put.begin(), put.end());
                for (size_t i = 0; i < z; ++i) {
                    for (size_t j = 0; bit(&from[s * words], i) && j < z; ++j) {
                        const size_t at = (i + j) % z;
                        expected[p * words + at / 64] ^= uint64_t{ bit(&factor[0], j) }
                                                         << at % 64;
                    }
                }
            }
        }
        std::vector<uint64_t> to(products * words + 1, 0xBD);
        circulant_products(from.data(), strings, factors.data(), words, products, &to[0]);
        BOOST_TEST(to.back() == 0xBDu);
        to.pop_back();
        BOOST_TEST((to == expected), words << " words, " << strings << " strings");
    }
}

BOOST_AUTO_TEST_CASE(a_circulant_reads_a_string_from_another_beginning)
{
    const int z = 256;
    const auto string = random_sum(z);
    for (const int rotation : { 0, 1, 63, 64, 100, 255 }) {
        ldpc_circulant_sum read(z), circulant(z);
        read.add(string, rotation);
        circulant.add(rotation);
        BOOST_TEST(((circulant * string).words() == read.words()));
        for (int i = 0; i < z; ++i) {
            BOOST_REQUIRE(read.has(i) == string.has((i + rotation) % z));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_inverse_times_its_matrix_is_the_identity)
{
    const int z = 128;
    int inverted = 0;
    for (int trial = 0; trial < 200; ++trial) {
        const size_t columns = 1 + trial % 4, rows = columns + trial % 3;
        ldpc_circulant_matrix m(rows, { columns, ldpc_circulant_sum(z) });
        for (auto& row : m) {
            std::generate(row.begin(), row.end(), [] { return random_sum(z); });
        }
        const auto inverse = invert(m);
        const bool full = independent_rows(parities(m), columns).size() == columns;
        BOOST_REQUIRE(inverse.has_value() == full);
        inverted += full;
        for (size_t i = 0; full && i < columns; ++i) {
            BOOST_REQUIRE((*inverse)[i].size() == rows);
            for (size_t j = 0; j < columns; ++j) {
                ldpc_circulant_sum sum(z);
                for (size_t r = 0; r < rows; ++r) {
                    sum.add((*inverse)[i][r] * m[r][j]);
                }
                BOOST_TEST((sum.weight() == (i == j) && (i != j || sum.has(0))));
            }
        }
    }
    // At least a quarter of all matrices have an inverse: 200 failures are no chance.
    BOOST_TEST(inverted > 0);
    BOOST_TEST(!invert(ldpc_circulant_matrix(1, { 2, random_sum(z) })).has_value());
    BOOST_TEST(!invert(ldpc_circulant_matrix()).has_value());
}

//! A decoder without noise finds these words, their information, and even parity. The
//! decoder gets nothing of the bits that are not sent.
BOOST_AUTO_TEST_CASE(ar4ja_of_4096_and_16384_bits)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    auto q = queue::make(backend::cpu);
    for (const int k : { 4096, 16384 }) {
        for (const auto rate : { "1/2", "2/3", "4/5" }) {
            const auto code = ldpc_code::ccsds("ar4ja", k, rate);
            const auto plan = ldpc_circulant_plan::make(*code);
            BOOST_REQUIRE(plan.has_value());
            BOOST_TEST(plan->dense.empty());
            BOOST_TEST(plan->factors.size() == 9u * 2 * plan->lifting_size / 64);

            constexpr size_t count = 3;
            const size_t n = code->n();
            const auto info = random_bits(count * k);
            std::vector<uint8_t> words(count * n);
            ldpc_encoder::make(code, backend::cpu)->run(info, words, *q);
            std::vector<uint8_t> in_bytes(count * n / 8);
            ldpc_encoder::make(code, { true, true }, backend::cpu)
                ->run(packed(info), in_bytes, *q);
            BOOST_TEST((in_bytes == packed(words)));

            ldpc_decoder::parameters p;
            p.max_iterations = 60;
            p.whole_words = true;
            std::vector<float> llr(words.size());
            std::transform(words.begin(), words.end(), llr.begin(), [](int sent) {
                return sent ? -8.0f : 8.0f;
            });
            std::vector<uint8_t> decoded(words.size());
            std::vector<int> iterations(count), ok(count);
            ldpc_decoder::make(code, p, backend::cpu)
                ->run(view<const float>(llr), { decoded, iterations, ok, {} }, *q);
            BOOST_TEST((decoded == words), code->name());
            for (size_t w = 0; w < count; ++w) {
                BOOST_TEST(ok[w] == 1, code->name());
                for (int i = 0; i < k; ++i) {
                    BOOST_REQUIRE(words[w * n + code->info_positions()[i]] ==
                                  info[w * k + i]);
                }
            }
        }
    }
}

//! The plan by bits, whose dense part comes from circulants too, gives words with even
//! checks.
BOOST_AUTO_TEST_CASE(steps_of_bits_that_come_from_circulants)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const int k : { 1024, 4096 }) {
        for (const auto rate : { "1/2", "2/3", "4/5" }) {
            const auto code = ldpc_code::ccsds("ar4ja", k, rate);
            const int z = code->circulants().lifting_size;
            const auto order = eliminate(*code);
            const bool serves = ldpc_circulant_sum::serves(code->circulants());
            BOOST_TEST(serves == (z >= 128));
            for (size_t s = 0; serves && s < order.steps.size(); ++s) {
                const auto& first = order.steps[s / z * z];
                BOOST_REQUIRE(order.steps[s].row / z == first.row / z);
                BOOST_REQUIRE(order.steps[s].column / z == first.column / z);
            }
            const ldpc_encoding_plan plan(*code);
            const auto info = random_bits(k);
            std::vector<uint8_t> slots(plan.slots);
            for (int i = 0; i < k; ++i) {
                slots[plan.info[i]] = info[i];
            }
            for (size_t s = 0; s < plan.target.size(); ++s) {
                uint8_t sum = 0;
                for (int i = plan.start[s]; i < plan.start[s + 1]; ++i) {
                    sum ^= slots[plan.source[i]];
                }
                slots[plan.target[s]] = sum;
            }
            BOOST_TEST(plan.chain.empty());
            // The bits sent stand first, then those that are not.
            auto columns = code->transmitted();
            columns.insert(
                columns.end(), code->punctured().begin(), code->punctured().end());
            std::vector<uint8_t> word(code->variables());
            for (size_t i = 0; i < columns.size(); ++i) {
                word[columns[i]] = slots[i];
            }
            for (int r = 0; r < code->checks(); ++r) {
                uint8_t sum = 0;
                for (int e = code->row_start()[r]; e < code->row_start()[r + 1]; ++e) {
                    sum ^= word[code->columns()[e]];
                }
                BOOST_REQUIRE(sum == 0);
            }
        }
    }
}
