/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/tables.h"
#include "kernels/ldpc/codes/testing.h"

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! How often two checks share two bits, both among the first `columns`.
int64_t four_cycles(const ldpc_code& code, int columns)
{
    std::vector<std::vector<int>> rows_of(columns);
    int64_t cycles = 0;
    std::vector<int> shared(code.checks());
    for (int r = 0; r < code.checks(); ++r) {
        std::vector<int> met;
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            const int c = code.columns()[e];
            if (c >= columns) {
                continue;
            }
            for (const int other : rows_of[c]) {
                cycles += shared[other]++;
                met.push_back(other);
            }
            rows_of[c].push_back(r);
        }
        for (const int other : met) {
            shared[other] = 0;
        }
    }
    return cycles;
}

//! Every check once, no bit twice in a layer.
void layers_are_sound(const ldpc_code& code)
{
    std::vector<int> seen(code.checks()), layer_of(code.variables(), -1);
    int number = 0;
    for (const auto& layer : code.layers()) {
        for (const int r : layer) {
            ++seen[r];
            for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
                BOOST_REQUIRE(layer_of[code.columns()[e]] != number);
                layer_of[code.columns()[e]] = number;
            }
        }
        BOOST_TEST(!layer.empty());
        ++number;
    }
    BOOST_TEST(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
}

} // namespace

BOOST_AUTO_TEST_CASE(wifi_codes_are_those_of_the_standard)
{
    // Ones of the prototypes, counted in the tables of annex F.
    const std::map<int, std::vector<int>> blocks{ { 648, { 88, 88, 88, 88 } },
                                                  { 1296, { 86, 88, 88, 85 } },
                                                  { 1944, { 86, 88, 85, 79 } } };
    // 4-cycles between block rows that the standard's shifts leave.
    const std::map<int, std::vector<int>> cycles{ { 648, { 0, 0, 2, 0 } },
                                                  { 1296, { 0, 2, 0, 0 } },
                                                  { 1944, { 0, 1, 0, 0 } } };
    // Block rows of the prototypes by their ones, as the edges of a decoder's checks.
    using weights_of_rows = std::map<int, int>;
    const std::map<int, std::vector<weights_of_rows>> rows{
        { 648,
          { { { 7, 8 }, { 8, 4 } },
            { { 11, 8 } },
            { { 14, 2 }, { 15, 4 } },
            { { 22, 4 } } } },
        { 1296,
          { { { 7, 10 }, { 8, 2 } },
            { { 11, 8 } },
            { { 14, 2 }, { 15, 4 } },
            { { 21, 3 }, { 22, 1 } } } },
        { 1944,
          { { { 7, 10 }, { 8, 2 } },
            { { 11, 8 } },
            { { 14, 5 }, { 15, 1 } },
            { { 19, 1 }, { 20, 3 } } } }
    };
    const char* rates[] = { "1/2", "2/3", "3/4", "5/6" };
    const int block_rows[] = { 12, 8, 6, 4 };
    for (const int n : { 648, 1296, 1944 }) {
        for (int i = 0; i < 4; ++i) {
            const int z = n / 24;
            const auto code = ldpc_code::wifi(n, rates[i]);
            BOOST_TEST_CONTEXT(code->name())
            {
                BOOST_TEST(code->name() ==
                           "wifi " + std::to_string(n) + " " + std::string(rates[i]));
                BOOST_TEST(code->n() == n);
                BOOST_TEST(code->k() == n - block_rows[i] * z);
                BOOST_TEST(code->edges() == blocks.at(n)[i] * z);
                for (const auto& [weight, count] : rows.at(n)[i]) {
                    BOOST_TEST(row_weights(*code)[weight] == count * z);
                }
                BOOST_TEST((code->info_positions() == first(code->k())));
                BOOST_TEST((eliminated(*code) == first(code->k())));
                BOOST_TEST(four_cycles(*code, n) == cycles.at(n)[i] * z);
                BOOST_TEST(code->layers().size() == size_t(block_rows[i]));
                layers_are_sound(*code);
                // Weight 3 in the first parity block column, 2 in the staircase.
                const auto weights = column_weights(*code);
                for (int c = code->k(); c < n; ++c) {
                    BOOST_REQUIRE(weights[c] == (c < code->k() + z ? 3 : 2));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(dvbs2_codes_are_those_of_the_standard)
{
    struct expected {
        const char *frame, *rate;
        int k, q, heavy, weight; // tables 5a, 5b, 7a and 7b; bits of the heavy columns
        //! Bits of a check (the first check has one less); 0 if checks differ.
        int check;
    };
    const expected codes[] = { { "normal", "1/4", 16200, 135, 5400, 12, 4 },
                               { "normal", "1/3", 21600, 120, 7200, 12, 5 },
                               { "normal", "2/5", 25920, 108, 8640, 12, 6 },
                               { "normal", "1/2", 32400, 90, 12960, 8, 7 },
                               { "normal", "3/5", 38880, 72, 12960, 12, 11 },
                               { "normal", "2/3", 43200, 60, 4320, 13, 10 },
                               { "normal", "3/4", 48600, 45, 5400, 12, 14 },
                               { "normal", "4/5", 51840, 36, 6480, 11, 18 },
                               { "normal", "5/6", 54000, 30, 5400, 13, 22 },
                               { "normal", "8/9", 57600, 20, 7200, 4, 27 },
                               { "normal", "9/10", 58320, 18, 6480, 4, 30 },
                               { "short", "1/4", 3240, 36, 1440, 12, 0 },
                               { "short", "1/3", 5400, 30, 1800, 12, 5 },
                               { "short", "2/5", 6480, 27, 2160, 12, 6 },
                               { "short", "1/2", 7200, 25, 1800, 8, 0 },
                               { "short", "3/5", 9720, 18, 3240, 12, 11 },
                               { "short", "2/3", 10800, 15, 1080, 13, 10 },
                               { "short", "3/4", 11880, 12, 360, 12, 0 },
                               { "short", "4/5", 12600, 10, 0, 3, 0 },
                               { "short", "5/6", 13320, 8, 360, 13, 0 },
                               { "short", "8/9", 14400, 5, 1800, 4, 27 } };
    BOOST_TEST(std::size(codes) == ldpc_tables::dvbs2.size());
    for (const auto& e : codes) {
        const auto code = ldpc_code::dvbs2(e.frame, e.rate);
        BOOST_TEST_CONTEXT(code->name())
        {
            const int n = std::string(e.frame) == "normal" ? 64800 : 16200;
            const int m = n - e.k;
            BOOST_TEST(code->n() == n);
            BOOST_TEST(code->k() == e.k);
            BOOST_TEST(m == 360 * e.q);
            BOOST_TEST(code->checks() == m);
            BOOST_TEST(code->edges() ==
                       e.heavy * e.weight + (e.k - e.heavy) * 3 + 2 * m - 1);
            BOOST_TEST((code->info_positions() == first(e.k)));
            BOOST_TEST((eliminated(*code) == first(e.k)));
            if (e.check) {
                const std::map<int, int> right{ { e.check - 1, 1 }, { e.check, m - 1 } };
                BOOST_TEST((row_weights(*code) == right));
                BOOST_TEST(code->row_start()[1] == e.check - 1);
            }
            const auto weights = column_weights(*code);
            for (int c = 0; c < n; ++c) {
                const int right = c < e.heavy ? e.weight
                                  : c < e.k   ? 3
                                  : c < n - 1 ? 2
                                              : 1;
                BOOST_REQUIRE(weights[c] == right);
            }
            BOOST_TEST(four_cycles(*code, n) == 0);
            BOOST_TEST(code->layers().size() >= size_t(e.q));
            layers_are_sound(*code);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_matrices_are_those_that_were_checked)
{
    // Fingerprints (64-bit FNV-1a) of matrices that were compared for each rate and
    // frame. 802.11's were compared with two independent publications of the prototypes,
    // DVB-S2's with the words of an independent encoder.
    uint64_t hash = 0;
    const auto add = [&](const std::vector<int>& items) {
        for (const int item : items) {
            hash = (hash ^ static_cast<uint64_t>(item)) * 0x100000001b3u;
        }
    };
    const auto start = [&] { hash = 0xcbf29ce484222325u; };
    start();
    for (const auto& table : ldpc_tables::wifi) {
        const auto code = ldpc_code::wifi(table.n, table.rate);
        add(code->row_start());
        add(code->columns());
    }
    BOOST_TEST(hash == 0x5a7b01cf3a88f05cu);
    start();
    for (const auto& table : ldpc_tables::dvbs2) {
        const auto code = ldpc_code::dvbs2(table.frame, table.rate);
        add(code->row_start());
        add(code->columns());
    }
    BOOST_TEST(hash == 0xb63094a9c03dcbd4u);
}

BOOST_AUTO_TEST_CASE(unknown_codes_are_refused_with_the_known_ones)
{
    const auto message = [](auto make) -> std::string {
        try {
            make();
        } catch (const std::invalid_argument& problem) {
            return problem.what();
        }
        return "";
    };
    BOOST_TEST(message([] { ldpc_code::wifi(649, "1/2"); }) ==
               "802.11 LDPC codes have n = 648, 1296 or 1944, not 649");
    BOOST_TEST(message([] { ldpc_code::wifi(648, "7/8"); }) ==
               "802.11 LDPC codes have rate \"1/2\", \"2/3\", \"3/4\" or \"5/6\", not "
               "\"7/8\"");
    BOOST_TEST(message([] { ldpc_code::dvbs2("medium", "1/2"); }) ==
               "DVB-S2 frames are \"normal\" or \"short\", not \"medium\"");
    BOOST_TEST(message([] { ldpc_code::dvbs2("short", "9/10"); }) ==
               "DVB-S2 short frames have rate \"1/4\", \"1/3\", \"2/5\", \"1/2\", "
               "\"3/5\", \"2/3\", \"3/4\", \"4/5\", \"5/6\" or \"8/9\", not \"9/10\"");
}

BOOST_AUTO_TEST_CASE(rows_that_are_no_matrix_are_refused)
{
    using rows = std::vector<std::vector<int>>;
    const auto refused = [](int n, const rows& given) {
        BOOST_CHECK_THROW(ldpc_code::from_rows(n, given, "wrong"), std::invalid_argument);
    };
    refused(0, {});
    refused(3, {});
    refused(-1, { { 0 } });
    refused(3, { { 0, 3 } });
    refused(3, { { -1, 2 } });
    refused(3, { { 0, 1 }, {} });
    refused(3, { { 0, 1, 0 } });
    refused(2, { { 0, 1 }, { 0 } }); // only the zero word is left
}

BOOST_AUTO_TEST_CASE(order_and_dependence_of_rows_do_not_matter)
{
    const auto code = ldpc_code::from_rows(
        6, { { 5, 3, 0 }, { 4, 1 }, { 0, 1, 3, 4, 5 }, { 2, 1 } }, "dependent");
    BOOST_TEST(code->checks() == 4);
    BOOST_TEST(code->columns() ==
               std::vector<int>({ 0, 3, 5, 1, 4, 0, 1, 3, 4, 5, 1, 2 }));
    // The rightmost independent columns are 5, 4 and 2.
    BOOST_TEST(code->info_positions() == std::vector<int>({ 0, 1, 3 }));
    BOOST_TEST(code->k() == 3);
    BOOST_TEST(code->rate() == 0.5);
    layers_are_sound(*code);
    const std::vector<uint8_t> good{ 1, 0, 0, 0, 0, 1 };
    const std::vector<uint8_t> bad{ 1, 0, 0, 0, 0, 0 };
    BOOST_TEST(code->is_codeword(good.data()));
    BOOST_TEST(!code->is_codeword(bad.data()));
}

BOOST_AUTO_TEST_CASE(layers_of_any_matrix_are_independent)
{
    auto& random = generator();
    std::vector<std::vector<int>> rows(500);
    for (auto& row : rows) {
        row = { int(random() % 300),
                300 + int(random() % 300),
                600 + int(random() % 400) };
    }
    const auto code = ldpc_code::from_rows(1000, rows, "random");
    layers_are_sound(*code);
    BOOST_TEST(code->layers().size() < 40u);

    // A column in every check: no two checks may stand together, and quadratic work is
    // avoided.
    const int n = 40000;
    rows.assign(n - 1, {});
    for (int r = 0; r < n - 1; ++r) {
        rows[r] = { 0, r + 1 };
    }
    const auto star = ldpc_code::from_rows(n, rows, "star");
    BOOST_TEST(star->layers().size() == size_t(n - 1));
    layers_are_sound(*star);
}
