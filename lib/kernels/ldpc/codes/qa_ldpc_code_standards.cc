/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_standards
#include "kernels/common/testing.h"
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/codes/tables.h"
#include "kernels/ldpc/codes/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include <functional>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using weights = std::map<int, int>;

//! Fills in the punctured columns such that every check holds; false if that is
//! impossible.
bool complete(const ldpc_code& code, std::vector<uint8_t>& columns)
{
    const auto& punctured = code.punctured();
    const size_t unknown = punctured.size();
    std::vector<int> index_of(code.variables(), -1);
    for (size_t i = 0; i < unknown; ++i) {
        index_of[punctured[i]] = static_cast<int>(i);
    }
    // One row a check: its punctured columns, then the sum of its other columns.
    bit_matrix sums(code.checks(), unknown + 1);
    for (int r = 0; r < code.checks(); ++r) {
        unsigned known = 0;
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            const int column = code.columns()[e];
            if (index_of[column] < 0) {
                known ^= columns[column];
            } else {
                sums.set(r, index_of[column]);
            }
        }
        if (known) {
            sums.set(r, unknown);
        }
    }
    std::vector<int> pivot(unknown, -1);
    std::vector<char> taken(code.checks());
    for (size_t c = 0; c < unknown; ++c) {
        for (int r = 0; r < code.checks(); ++r) {
            if (taken[r] || !sums.get(r, c)) {
                continue;
            }
            if (pivot[c] < 0) {
                pivot[c] = r;
            } else {
                sums.add(r, sums, pivot[c]);
            }
        }
        if (pivot[c] >= 0) {
            taken[pivot[c]] = 1;
        }
    }
    for (size_t c = unknown; c-- > 0;) { // a column without a pivot is free: 0
        bool sum = pivot[c] >= 0 && sums.get(pivot[c], unknown);
        for (size_t other = c + 1; pivot[c] >= 0 && other < unknown; ++other) {
            sum ^= sums.get(pivot[c], other) && columns[punctured[other]];
        }
        columns[punctured[c]] = sum;
    }
    return code.is_codeword(columns.data());
}

//! Random words of the reference encoder fulfil every check and carry their information.
//! Words with a wrong bit do not.
void encodes(const ldpc_code::sptr& code)
{
    const auto info = random_bits(2 * static_cast<size_t>(code->k()));
    std::vector<uint8_t> words(2 * static_cast<size_t>(code->n()));
    auto here = queue::make(backend::reference);
    ldpc_encoder::make(code, backend::reference)->run(info, words, *here);
    for (int w = 0; w < 2; ++w) {
        std::vector<uint8_t> columns(code->variables());
        for (int i = 0; i < code->n(); ++i) {
            columns[code->transmitted().empty() ? i : code->transmitted()[i]] =
                words[w * code->n() + i];
        }
        BOOST_TEST(complete(*code, columns));
        for (int i = 0; i < code->k(); ++i) {
            BOOST_REQUIRE(columns[code->info_positions()[i]] == info[w * code->k() + i]);
        }
        columns[code->transmitted().empty() ? 0 : code->transmitted()[0]] ^= 1;
        BOOST_TEST(!complete(*code, columns));
    }
}

std::string message(const std::function<void()>& make)
{
    try {
        make();
    } catch (const std::invalid_argument& problem) {
        return problem.what();
    }
    return "";
}

} // namespace

BOOST_AUTO_TEST_CASE(ar4ja_codes_are_those_of_ccsds_131_0_b)
{
    // Column weights of the protograph: punctured 6, then as figure 7-6 has them.
    const struct {
        const char* rate;
        int blocks, girths[3]; // of information; for k = 1024, 4096, 16384
        weights columns, rows; // in units of M
    } rates[] = {
        { "1/2",
          2,
          { 6, 8, 10 },
          { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 6, 1 } },
          { { 3, 1 }, { 6, 2 } } },
        { "2/3",
          4,
          { 4, 6, 6 },
          { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 6, 1 } },
          { { 3, 1 }, { 10, 2 } } },
        { "4/5",
          8,
          { 4, 4, 4 },
          { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 6 }, { 6, 1 } },
          { { 3, 1 }, { 18, 2 } } },
    };
    const int ks[] = { 1024, 4096, 16384 };
    for (const auto& e : rates) {
        for (int i = 0; i < 3; ++i) {
            const int k = ks[i];
            const int m = k / e.blocks;
            const auto code = ldpc_code::ccsds("ar4ja", k, e.rate);
            BOOST_TEST_CONTEXT(code->name())
            {
                BOOST_TEST(code->k() == k);
                BOOST_TEST(code->n() == k + 2 * m);
                BOOST_TEST(code->variables() == k + 3 * m);
                BOOST_TEST(code->checks() == 3 * m);
                BOOST_TEST(code->circulants().lifting_size == m / 4);
                BOOST_TEST(circulants_are_h(*code));
                BOOST_TEST(code->punctured().size() == size_t(m));
                BOOST_TEST(code->punctured().front() == k + 2 * m);
                auto scaled = [m](weights w) {
                    for (auto& item : w) {
                        item.second *= m;
                    }
                    return w;
                };
                BOOST_TEST((counted(column_weights(*code)) == scaled(e.columns)));
                BOOST_TEST((row_weights(*code) == scaled(e.rows)));
                const auto sent = code->punctured();
                const auto all = column_weights(*code);
                BOOST_TEST(all[sent[0]] == 6);
                BOOST_TEST(girth(*code, m / 4) == e.girths[i]);
                if (k < 16384) {
                    BOOST_TEST((eliminated(*code) == first(k)));
                    encodes(code);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(telecommand_codes_are_those_of_ccsds_231_0_b)
{
    for (const int k : { 64, 256 }) {
        const auto code = ldpc_code::ccsds("tc", k);
        BOOST_TEST(code->n() == 2 * k);
        BOOST_TEST((eliminated(*code) == first(k)));
        BOOST_TEST((row_weights(*code) == weights{ { 8, k } }));
        BOOST_TEST((counted(column_weights(*code)) == weights{ { 5, k }, { 3, k } }));
        BOOST_TEST(girth(*code, 1) == 6);
        BOOST_TEST(circulants_are_h(*code));
        encodes(code);
    }
    // The first rows of (128, 64) as another publication of the matrix lists them.
    const auto code = ldpc_code::ccsds("tc", 64, "1/2");
    const std::vector<int> rows(code->columns().begin(), code->columns().begin() + 16);
    BOOST_TEST(rows == std::vector<int>({ 0,
                                          7,
                                          18,
                                          46,
                                          54,
                                          80,
                                          109,
                                          112, //
                                          1,
                                          8,
                                          19,
                                          47,
                                          55,
                                          81,
                                          110,
                                          113 }));
}

BOOST_AUTO_TEST_CASE(near_earth_codes_have_the_rank_that_their_circulants_leave)
{
    for (const int k : { 7154, 7136 }) {
        const auto code = ldpc_code::ccsds("c2", k);
        const int short_of = 7154 - k;
        BOOST_TEST(code->n() == 8176 - short_of);
        BOOST_TEST(code->variables() == 8176);
        BOOST_TEST(code->k() == k + 2); // rank 1020 of 1022 checks
        BOOST_TEST(code->shortened() == first(short_of));
        BOOST_TEST(code->info_positions()[0] == short_of);
        BOOST_TEST(code->info_positions()[k - 1] == 7153);
        BOOST_TEST((row_weights(*code) == weights{ { 32, 1022 } }));
        BOOST_TEST((counted(column_weights(*code)) == weights{ { 4, 8176 } }));
        BOOST_TEST(girth(*code, 511) == 6);
        BOOST_TEST(circulants_are_h(*code));
        encodes(code);
    }
}

BOOST_AUTO_TEST_CASE(wimax_codes_are_those_of_the_standard)
{
    // Ones of the base matrices. Scaled shifts leave 4-cycles in some lengths: in 672 at
    // rate 1/2, in 672 and 864 at 2/3A, to 1440 at 5/6, in all at 3/4A.
    const struct {
        const char* rate;
        int rows, blocks;
        weights by_weight; // block rows
        bool (*girth_4)(int n);
    } rates[] = {
        { "1/2", 12, 76, { { 6, 8 }, { 7, 4 } }, [](int n) { return n == 672; } },
        { "2/3A", 8, 80, { { 10, 8 } }, [](int n) { return n == 672 || n == 864; } },
        { "2/3B", 8, 81, { { 10, 7 }, { 11, 1 } }, [](int) { return false; } },
        { "3/4A", 6, 85, { { 14, 5 }, { 15, 1 } }, [](int) { return true; } },
        { "3/4B", 6, 88, { { 14, 2 }, { 15, 4 } }, [](int) { return false; } },
        { "5/6", 4, 80, { { 20, 4 } }, [](int n) { return n <= 1440; } },
    };
    for (const auto& e : rates) {
        for (int n = 576; n <= 2304; n += 96) {
            const auto code = ldpc_code::wimax(n, e.rate);
            const int z = n / 24;
            BOOST_TEST_CONTEXT(code->name())
            {
                BOOST_TEST(code->n() == n);
                BOOST_TEST(code->k() == (24 - e.rows) * z);
                BOOST_TEST(code->edges() == e.blocks * z);
                for (const auto& [weight, count] : e.by_weight) {
                    BOOST_TEST(row_weights(*code)[weight] == count * z);
                }
                BOOST_TEST(code->layers().size() == size_t(e.rows));
                BOOST_TEST((eliminated(*code) == first(code->k())));
                BOOST_TEST(girth(*code, z) == (e.girth_4(n) ? 4 : 6));
                BOOST_TEST(circulants_are_h(*code));
            }
        }
        encodes(ldpc_code::wimax(576, e.rate));
        encodes(ldpc_code::wimax(1248, e.rate));
    }
    // A shift of 94 of 96 is 23 of 24 in rate 1/2, and one of 36 is 12 of 24 in 2/3A.
    const auto shift = [](const ldpc_code& code, int row, int column) {
        for (const auto& c : code.circulants().all) {
            if (c.row == row && c.column == column) {
                return c.shift;
            }
        }
        return -1;
    };
    BOOST_TEST(shift(*ldpc_code::wimax(576, "1/2"), 0, 1) == 23);
    BOOST_TEST(shift(*ldpc_code::wimax(576, "2/3A"), 1, 4) == 12);
    BOOST_TEST(shift(*ldpc_code::wimax(2304, "5/6"), 3, 0) == 50);
}

BOOST_AUTO_TEST_CASE(ten_gbase_t_is_the_code_of_the_standard)
{
    const auto code = ldpc_code::ten_gbase_t();
    BOOST_TEST(code->n() == 2048);
    BOOST_TEST(code->k() == 1723);
    BOOST_TEST((row_weights(*code) == weights{ { 32, 384 } }));
    BOOST_TEST((counted(column_weights(*code)) == weights{ { 6, 2048 } }));
    BOOST_TEST(girth(*code, 1) == 6);
    BOOST_TEST(code->layers().size() == 6u);
    encodes(code);
    // In each of the 6 groups of checks, the bits of value 0 meet at the offsets b x = 0,
    // x, a x ... a^4 x of a progression. x is 0 at one end and 1 at the other.
    const int group = 64;
    std::vector<int> met;
    for (int s = 0; s < 6; ++s) {
        for (int i = 0; i < group; ++i) {
            const int row = s * group + i;
            if (code->columns()[code->row_start()[row] + 31] == 31 * group) {
                met.push_back(i);
            }
        }
    }
    BOOST_TEST(met == std::vector<int>({ 0, 1, 2, 3, 4, 5 }));
}

BOOST_AUTO_TEST_CASE(regular_codes_are_regular_and_free_of_short_cycles)
{
    const auto code = ldpc_code::regular();
    BOOST_TEST(code->n() == 1024);
    BOOST_TEST(code->k() == 512);
    BOOST_TEST((eliminated(*code) == code->info_positions()));
    BOOST_TEST((row_weights(*code) == weights{ { 6, 512 } }));
    BOOST_TEST((counted(column_weights(*code)) == weights{ { 3, 1024 } }));
    BOOST_TEST(girth(*code, 64) == 8);
    BOOST_TEST(girth(*code, 1) == 8);
    BOOST_TEST(circulants_are_h(*code));
    encodes(code);
    BOOST_TEST(ldpc_code::regular()->columns() == code->columns());
    for (const auto& [n, columns, rows] :
         { std::make_tuple(96, 3, 6), { 24, 3, 6 }, { 1000, 2, 5 }, { 2048, 4, 8 } }) {
        const auto other = ldpc_code::regular(n, columns, rows);
        BOOST_TEST((row_weights(*other) == weights{ { rows, n * columns / rows } }));
        BOOST_TEST((counted(column_weights(*other)) == weights{ { columns, n } }));
        BOOST_TEST(girth(*other, 1) >= (n < 1000 ? 4 : 8));
    }
}

BOOST_AUTO_TEST_CASE(codes_that_do_not_exist_are_refused_with_those_that_do)
{
    using code = ldpc_code;
    BOOST_TEST(message([] { code::ccsds("ar4ja", 1025, "1/2"); }) ==
               "CCSDS AR4JA codes have k = 1024, 4096 or 16384, not 1025");
    BOOST_TEST(message([] { code::ccsds("ar4ja", 1024, ""); }) ==
               "CCSDS AR4JA codes have rate \"1/2\", \"2/3\" or \"4/5\", not \"\"");
    BOOST_TEST(message([] { code::ccsds("tc", 128); }) ==
               "CCSDS TC codes have k = 64 or 256, not 128");
    BOOST_TEST(message([] { code::ccsds("c2", 7156, "7/8"); }) ==
               "CCSDS C2 codes have k = 7154 or 7136, not 7156");
    BOOST_TEST(message([] { code::ccsds("c2", 7154, "1/2"); }) ==
               "CCSDS codes of family \"c2\" have rate \"7/8\", not \"1/2\"");
    BOOST_TEST(message([] { code::ccsds("turbo", 1024, "1/2"); }) ==
               "CCSDS codes are of family \"ar4ja\", \"tc\" or \"c2\", not \"turbo\"");
    BOOST_TEST(message([] { code::wimax(600, "1/2"); }) ==
               "802.16 LDPC codes have n = 576, 672, 768 ... 2304, not 600");
    BOOST_TEST(message([] { code::wimax(576, "2/3"); }) ==
               "802.16 LDPC codes have rate \"1/2\", \"2/3A\", \"2/3B\", \"3/4A\", "
               "\"3/4B\" or \"5/6\", not \"2/3\"");
    BOOST_TEST(message([] { code::dvbs2x("long", "1/2"); }) ==
               "DVB-S2X frames are \"normal\", \"medium\" or \"short\", not \"long\"");
    BOOST_TEST(message([] { code::dvbt2("normal", "1/3"); }) ==
               "DVB-T2 normal frames have rate \"1/2\", \"3/5\", \"2/3\", \"3/4\", "
               "\"4/5\" or \"5/6\", not \"1/3\"");
    for (const int n : { -1, 0, 1, 7, 1023, 16386, 1 << 20 }) {
        BOOST_CHECK_THROW(code::regular(n, 3, 6), std::invalid_argument);
    }
    BOOST_CHECK_THROW(code::regular(1024, 1, 6), std::invalid_argument);
    BOOST_CHECK_THROW(code::regular(1024, 6, 6), std::invalid_argument);
    BOOST_CHECK_THROW(code::regular(1024, 7, 14), std::invalid_argument);
    BOOST_CHECK_THROW(code::regular(1024, 3, 33), std::invalid_argument);
}
