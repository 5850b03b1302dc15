/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_nr5g
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/tables.h"
#include "kernels/ldpc/codes/words_testing.h"
#include <numeric>
#include <set>

// The codes of 5G NR against facts about 3GPP TS 38.212, section 5.3.2.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

struct base_graph {
    int number, systematic, rows, entries;
};
constexpr base_graph graphs[] = { { 1, 22, 46, 316 }, { 2, 10, 42, 197 } };

//! Table 5.3.2-1, set after set.
const std::vector<int> lifting_sizes = {
    2,   4,  8,  16, 32,  64,  128, 256, 3,  6,  12,  24,  48, 96, 192, 384, 5,
    10,  20, 40, 80, 160, 320, 7,   14,  28, 56, 112, 224, 9,  18, 36,  72,  144,
    288, 11, 22, 44, 88,  176, 352, 13,  26, 52, 104, 208, 15, 30, 60,  120, 240
};

//! How many ones each check of a block row has.
std::vector<int> row_weights(const ldpc_code& code)
{
    const int z = code.circulants().lifting_size;
    std::vector<int> weights;
    for (int r = 0; r < code.checks(); r += z) {
        weights.push_back(code.row_start()[r + 1] - code.row_start()[r]);
    }
    return weights;
}

std::vector<int> column_weights(const ldpc_code& code)
{
    std::vector<int> weights(code.variables());
    for (const int column : code.columns()) {
        ++weights[column];
    }
    return weights;
}

//! How often two checks share two bits: circulants (a, b) of one block row and (c, d) of
//! another are in the same two block columns, and their shifts differ by the same number.
int four_cycles(const ldpc_circulants& blocks)
{
    int cycles = 0;
    std::vector<std::vector<int>> shift(blocks.block_rows,
                                        std::vector<int>(blocks.block_columns, -1));
    for (const auto& c : blocks.all) {
        shift[c.row][c.column] = c.shift;
    }
    for (int r = 0; r < blocks.block_rows; ++r) {
        for (int s = 0; s < r; ++s) {
            std::vector<int> differences;
            for (int c = 0; c < blocks.block_columns; ++c) {
                if (shift[r][c] >= 0 && shift[s][c] >= 0) {
                    const int z = blocks.lifting_size;
                    differences.push_back((shift[r][c] - shift[s][c] + z) % z);
                }
            }
            std::sort(differences.begin(), differences.end());
            for (size_t i = 1; i < differences.size(); ++i) {
                cycles += differences[i] == differences[i - 1];
            }
        }
    }
    return cycles;
}

} // namespace

BOOST_AUTO_TEST_SUITE(structure)

BOOST_AUTO_TEST_CASE(every_lifting_size_and_number_of_rows_has_its_dimensions)
{
    BOOST_TEST(std::set<int>(lifting_sizes.begin(), lifting_sizes.end()).size() == 51u);
    for (const auto& graph : graphs) {
        for (const int z : lifting_sizes) {
            for (const int rows : { 4, 5, graph.rows - 1, graph.rows }) {
                const int fillers = (z + rows) % (graph.systematic - 2);
                const auto code = ldpc_code::nr5g(graph.number, z, rows, fillers);
                const int columns = graph.systematic + rows;
                BOOST_TEST_CONTEXT(code->name())
                {
                    BOOST_TEST(code->variables() == columns * z);
                    BOOST_TEST(code->checks() == rows * z);
                    BOOST_TEST(code->k() == graph.systematic * z - fillers);
                    BOOST_TEST(code->n() == (columns - 2) * z - fillers);
                    BOOST_TEST(code->circulants().lifting_size == z);
                    if (rows == graph.rows) {
                        BOOST_TEST(code->edges() == graph.entries * z);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(fillers_and_the_first_two_block_columns_are_not_transmitted)
{
    const auto code = ldpc_code::nr5g(2, 10, 7, 13);
    std::vector<int> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(code->punctured() == expected, boost::test_tools::per_element());
    expected.resize(13);
    std::iota(expected.begin(), expected.end(), 87);
    BOOST_TEST(code->shortened() == expected, boost::test_tools::per_element());
    expected.resize(87);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(code->info_positions() == expected, boost::test_tools::per_element());
    BOOST_TEST(code->transmitted()[0] == 20);
    BOOST_TEST(code->transmitted()[66] == 86);
    BOOST_TEST(code->transmitted()[67] == 100);
    BOOST_TEST(code->transmitted().back() == 169);
    BOOST_TEST(ldpc_code::nr5g(2, 10, 7)->shortened().empty());
}

BOOST_AUTO_TEST_CASE(rows_and_columns_have_the_weights_of_the_base_graphs)
{
    const std::vector<int> rows_1 = { 19, 19, 19, 19, 3, 8, 9, 7, 10, 9, 7, 8, 7, 6, 7, 7,
                                      6,  6,  6,  6,  6, 6, 5, 5, 6,  5, 5, 4, 5, 5, 5, 5,
                                      5,  5,  5,  5,  5, 4, 5, 5, 4,  5, 4, 5, 5, 4 };
    const std::vector<int> rows_2 = { 8, 10, 8, 10, 4, 6, 6, 6, 4, 5, 5, 5, 4, 5,
                                      5, 4,  5, 5,  4, 4, 4, 4, 3, 4, 4, 3, 5, 3,
                                      4, 3,  5, 3,  4, 4, 4, 4, 4, 3, 4, 4, 4, 4 };
    const auto one = ldpc_code::nr5g(1, 2, 46);
    const auto two = ldpc_code::nr5g(2, 2, 42);
    BOOST_TEST(row_weights(*one) == rows_1, boost::test_tools::per_element());
    BOOST_TEST(row_weights(*two) == rows_2, boost::test_tools::per_element());
    // The punctured columns are the heaviest, all after the core's have weight 1.
    const auto columns_1 = column_weights(*one);
    const auto columns_2 = column_weights(*two);
    BOOST_TEST(columns_1[0] == 30);
    BOOST_TEST(columns_1[2] == 28);
    BOOST_TEST(columns_2[0] == 22);
    BOOST_TEST(columns_2[2] == 23);
    BOOST_TEST(std::all_of(
        columns_1.begin() + 26 * 2, columns_1.end(), [](int w) { return w == 1; }));
    BOOST_TEST(std::all_of(
        columns_2.begin() + 14 * 2, columns_2.end(), [](int w) { return w == 1; }));
}

//! The rows after the core each end with a column of their own.
BOOST_AUTO_TEST_CASE(the_core_has_full_rank_for_every_lifting_size)
{
    for (const auto& graph : graphs) {
        for (const int z : lifting_sizes) {
            const auto code = ldpc_code::nr5g(graph.number, z, 4);
            ldpc_code_description same;
            same.name = code->name();
            same.n = code->variables();
            same.row_start = code->row_start();
            same.columns = code->columns();
            BOOST_TEST(free_columns(same) == code->info_positions(), code->name());
        }
    }
}

BOOST_AUTO_TEST_CASE(fewer_rows_make_the_beginning_of_the_same_code)
{
    const auto whole = ldpc_code::nr5g(1, 6, 46);
    const auto words = random_codewords(whole, 1, generator());
    const auto part = ldpc_code::nr5g(1, 6, 9);
    std::vector<uint8_t> info(whole->k(), 0), columns(part->variables());
    // The punctured information bits are not in the word: take those of an encoder.
    for (auto& bit : info) {
        bit = generator()() >> 31;
    }
    auto q = queue::make(backend::reference);
    std::vector<uint8_t> long_word(whole->n()), short_word(part->n());
    ldpc_encoder::make(whole, backend::reference)->run(info, long_word, *q);
    ldpc_encoder::make(part, backend::reference)->run(info, short_word, *q);
    BOOST_TEST(std::equal(short_word.begin(), short_word.end(), long_word.begin()));
    std::copy_n(info.begin(), 12, columns.begin());
    std::copy(short_word.begin(), short_word.end(), columns.begin() + 12);
    BOOST_TEST(part->is_codeword(columns.data()));
}

BOOST_AUTO_TEST_CASE(a_block_row_is_a_layer)
{
    const auto code = ldpc_code::nr5g(2, 384, 42);
    BOOST_TEST(code->layers().size() == 42u);
    for (const auto& layer : code->layers()) {
        BOOST_TEST(layer.size() == 384u);
    }
}

//! The one cycle of four stands in the standard's tables: rows 5 and 19, columns 0 and 1.
BOOST_AUTO_TEST_CASE(the_largest_lifting_sizes_have_no_cycles_of_four_but_one)
{
    for (const int z : { 256, 384, 320, 224, 288, 352, 208, 240 }) {
        const auto one = ldpc_code::nr5g(1, z, 46);
        const auto two = ldpc_code::nr5g(2, z, 42);
        BOOST_TEST(four_cycles(one->circulants()) == (z == 240 ? 1 : 0), one->name());
        BOOST_TEST(four_cycles(two->circulants()) == 0, two->name());
    }
    // The count finds cycles in codes that have some.
    BOOST_TEST(four_cycles(ldpc_code::nr5g(1, 2, 46)->circulants()) > 100);
}

BOOST_AUTO_TEST_CASE(the_factor_falls_with_the_number_of_rows)
{
    for (const auto& graph : graphs) {
        float last = 1;
        for (int rows = 4; rows <= graph.rows; ++rows) {
            const float scale = ldpc_code::nr5g(graph.number, 2, rows)->default_scale();
            BOOST_TEST(scale <= last);
            BOOST_TEST(scale > 0.5f);
            last = scale;
        }
    }
    BOOST_TEST(ldpc_code::nr5g(1, 2, 4)->default_scale() == 0.81f);
    BOOST_TEST(ldpc_code::nr5g(1, 2, 7)->default_scale() == 0.765f);
    BOOST_TEST(ldpc_code::nr5g(2, 2, 42)->default_scale() == 0.67f);
}

BOOST_AUTO_TEST_CASE(parameters_outside_of_the_standard_are_refused)
{
    const auto refuses = [](int graph, int z, int rows, int fillers, const char* what) {
        BOOST_CHECK_EXCEPTION(ldpc_code::nr5g(graph, z, rows, fillers),
                              std::invalid_argument,
                              [what](const auto& problem) {
                                  const std::string text = problem.what();
                                  return text.find(what) != std::string::npos;
                              });
    };
    refuses(0, 384, 46, 0, "1 or 2, not 0");
    refuses(3, 384, 42, 0, "1 or 2, not 3");
    for (const int z : { -2, 0, 1, 17, 19, 34, 255, 383, 385, 512, 768 }) {
        refuses(1, z, 46, 0, "lifting size");
    }
    refuses(1, 384, 3, 0, "4 to 46 rows");
    refuses(1, 384, 47, 0, "4 to 46 rows");
    refuses(2, 384, 43, 0, "4 to 42 rows");
    refuses(2, 384, 42, -1, "0 to 3071 fillers");
    refuses(2, 384, 42, 8 * 384, "0 to 3071 fillers");
    BOOST_TEST(ldpc_code::nr5g(2, 384, 42, 8 * 384 - 1)->k() == 2 * 384 + 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(error_rates)

namespace {

struct point {
    int base_graph, lifting_size, rows;
    double eb_n0;
    double most; //!< block error rate
};

//! The noise is the same in every run, so that the rate is too. A block fails if its
//! information bits differ: parity bits of degree 1 become right later.
double block_error_rate(const ldpc_code::sptr& code,
                        const ldpc_decoder::parameters& p,
                        double eb_n0,
                        size_t blocks,
                        backend where = tested_backend())
{
    std::mt19937 random(1);
    auto q = queue::make(where);
    auto here = queue::make(backend::cpu);
    auto encoder = ldpc_encoder::make(code, backend::cpu);
    auto decoder = ldpc_decoder::make(code, p, where);
    size_t errors = 0;
    for (size_t done = 0; done < blocks;) {
        const size_t words = std::min<size_t>(100, blocks - done);
        std::vector<uint8_t> info(words * code->k()), sent(words * code->n());
        for (auto& bit : info) {
            bit = random() >> 31;
        }
        encoder->run(info, sent, *here);
        const array<float> llr(
            *q, view<const float>(received_llrs(sent, code->rate(), eb_n0, random)));
        auto bits = poisoned<uint8_t>(*q, info.size());
        auto iterations = poisoned<int>(*q, words);
        auto ok = poisoned<int>(*q, words);
        decoder->run(llr, bits, iterations, ok, *q);
        const auto got = bits.to_host();
        for (size_t i = 0; i < words; ++i) {
            errors += !std::equal(info.begin() + i * code->k(),
                                  info.begin() + (i + 1) * code->k(),
                                  got.begin() + i * code->k());
        }
        done += words;
    }
    return static_cast<double>(errors) / blocks;
}

void check(const point& at, ldpc_decoder::arithmetic calculation)
{
    ldpc_decoder::parameters p;
    p.max_iterations = 10;
    p.calculation = calculation;
    const auto code = ldpc_code::nr5g(at.base_graph, at.lifting_size, at.rows);
    const bool slow = tested_backend() == backend::reference;
    const size_t blocks = slow ? std::max(20, 20000 / code->n()) : 1000;
    const double rate = block_error_rate(code, p, at.eb_n0, blocks);
    BOOST_TEST_MESSAGE(code->name() << ", " << at.eb_n0 << " dB: " << rate);
    if (slow) { // too few for a rate: at most one block differs from the CPU's
        const double on_cpu = block_error_rate(code, p, at.eb_n0, blocks, backend::cpu);
        BOOST_TEST(std::abs(rate - on_cpu) * blocks < 1.5,
                   code->name()
                       << " at " << at.eb_n0 << " dB: " << rate << ", CPU " << on_cpu);
        return;
    }
    BOOST_TEST(rate <= at.most, code->name() << " at " << at.eb_n0 << " dB: " << rate);
}

} // namespace

// NVIDIA's regression table (cuPHY 26-1, util/ldpc/test/ldpc_decode_BG*_BLER0.1.txt):
// float16 layered normalised min-sum, 10 iterations, QPSK, at most one block in ten.
BOOST_AUTO_TEST_CASE(at_most_one_block_in_ten_fails_where_cuphy_holds_that)
{
    for (const point& at : { point{ 1, 384, 4, 4.24, 0.1 },
                             point{ 1, 384, 8, 2.83, 0.1 },
                             point{ 1, 384, 46, 0.995, 0.1 },
                             point{ 2, 384, 4, 3.33, 0.1 },
                             point{ 2, 384, 42, 0.80, 0.1 } }) {
        check(at, ldpc_decoder::arithmetic::float32);
    }
}

BOOST_AUTO_TEST_CASE(every_set_of_lifting_sizes_decodes)
{
    for (const point& at : {
             point{ 1, 256, 8, 3.0, 0.03 }, point{ 1, 192, 8, 3.0, 0.03 },
             point{ 1, 160, 8, 3.0, 0.03 }, point{ 1, 224, 8, 3.0, 0.03 },
             point{ 1, 144, 8, 3.0, 0.03 }, point{ 1, 176, 8, 3.0, 0.03 },
             point{ 1, 208, 8, 3.0, 0.03 }, point{ 1, 240, 8, 3.0, 0.03 },
             point{ 2, 64, 20, 2.0, 0.03 }, point{ 2, 48, 20, 2.0, 0.03 },
             point{ 2, 40, 20, 2.0, 0.03 }, point{ 2, 56, 20, 2.0, 0.03 },
             point{ 2, 36, 20, 2.0, 0.03 }, point{ 2, 44, 20, 2.0, 0.03 },
             point{ 2, 52, 20, 2.0, 0.03 }, point{ 2, 60, 20, 2.0, 0.03 },
             point{ 1, 2, 46, 4.0, 0.03 },  point{ 2, 2, 42, 4.0, 0.03 },
             point{ 2, 3, 4, 6.0, 0.03 },   point{ 2, 15, 42, 2.0, 0.03 },
         }) {
        check(at, ldpc_decoder::arithmetic::float32);
    }
}

BOOST_AUTO_TEST_SUITE_END()
