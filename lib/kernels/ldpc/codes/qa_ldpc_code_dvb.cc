/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_dvb
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/tables.h"
#include "kernels/ldpc/codes/testing.h"

// DVB-S2's own codes: qa_ldpc_code.cc. qa_ldpc_standards.py holds every code of this file
// against an independent encoder.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

uint64_t fingerprint(const ldpc_code& code)
{
    uint64_t hash = 0xcbf29ce484222325u; // 64-bit FNV-1a
    for (const auto* items : { &code.row_start(), &code.columns() }) {
        for (const int item : *items) {
            hash = (hash ^ static_cast<uint64_t>(item)) * 0x100000001b3u;
        }
    }
    return hash;
}

//! `cycle`: the length of the shortest one that the published addresses leave.
void is_sound(const ldpc_code& code, int info, int q, int cycle)
{
    const int m = code.variables() - info;
    BOOST_TEST(m == 360 * q);
    BOOST_TEST(code.checks() == m);
    BOOST_TEST((eliminated(code) == first(info)));
    BOOST_TEST(circulants_are_h(code));
    const auto weights = column_weights(code);
    for (int c = 0; c < info; ++c) {
        BOOST_REQUIRE(weights[c] >= 3);
        BOOST_REQUIRE(weights[c] == weights[c / 360 * 360]);
    }
    for (int c = info; c < code.variables(); ++c) {
        BOOST_REQUIRE(weights[c] == (c < code.variables() - 1 ? 2 : 1));
    }
    BOOST_TEST(girth(code, 360) == cycle);
}

} // namespace

BOOST_AUTO_TEST_CASE(dvbs2x_codes_are_those_of_the_standard)
{
    const struct {
        const char *frame, *rate;
        int k, q, edges,
            girth; // EN 302 307-2, tables 16a, 16b, 19a and 19b; ones of annexes B, C
    } codes[] = {
        { "normal", "13/45", 18720, 128, 226079, 6 },
        { "normal", "9/20", 29160, 99, 249479, 4 },
        { "normal", "90/180", 32400, 90, 255599, 8 },
        { "normal", "96/180", 34560, 84, 266759, 8 },
        { "normal", "11/20", 35640, 81, 262439, 4 },
        { "normal", "100/180", 36000, 80, 255599, 8 },
        { "normal", "104/180", 37440, 76, 271439, 8 },
        { "normal", "26/45", 37440, 76, 273599, 6 },
        { "normal", "18/30", 38880, 72, 284759, 8 },
        { "normal", "28/45", 40320, 68, 244799, 4 },
        { "normal", "23/36", 41400, 65, 233999, 4 },
        { "normal", "116/180", 41760, 64, 270359, 8 },
        { "normal", "20/30", 43200, 60, 281159, 6 },
        { "normal", "124/180", 44640, 56, 273239, 8 },
        { "normal", "25/36", 45000, 55, 257399, 4 },
        { "normal", "128/180", 46080, 52, 271079, 8 },
        { "normal", "13/18", 46800, 50, 251999, 4 },
        { "normal", "132/180", 47520, 48, 272519, 6 },
        { "normal", "22/30", 47520, 48, 278999, 6 },
        { "normal", "135/180", 48600, 45, 264599, 8 },
        { "normal", "140/180", 50400, 40, 282599, 6 },
        { "normal", "7/9", 50400, 40, 259199, 4 },
        { "normal", "154/180", 55440, 26, 273239, 6 },
        { "short", "11/45", 3960, 34, 48959, 8 },
        { "short", "4/15", 4320, 33, 58319, 8 },
        { "short", "14/45", 5040, 31, 55799, 6 },
        { "short", "7/15", 7560, 24, 73079, 6 },
        { "short", "8/15", 8640, 21, 75239, 6 },
        { "short", "26/45", 9360, 19, 68399, 6 },
        { "short", "32/45", 11520, 13, 60839, 6 },
    };
    for (const auto& e : codes) {
        const auto code = ldpc_code::dvbs2x(e.frame, e.rate);
        BOOST_TEST_CONTEXT(code->name())
        {
            BOOST_TEST(code->name() == std::string("dvbs2x ") + e.frame + " " + e.rate);
            BOOST_TEST(code->n() == (std::string(e.frame) == "normal" ? 64800 : 16200));
            BOOST_TEST(code->k() == e.k);
            BOOST_TEST(code->edges() == e.edges);
            BOOST_TEST(code->transmitted().empty());
            is_sound(*code, e.k, e.q, e.girth);
        }
    }
}

BOOST_AUTO_TEST_CASE(vl_snr_codes_leave_out_what_the_standard_leaves_out)
{
    const struct {
        const char *frame, *rate;
        int whole, info, shortened, period, punctured, n, girth;
    } codes[] = {
        { "normal", "2/9 VL-SNR", 64800, 14400, 0, 15, 3240, 61560, 6 },
        { "medium", "1/5 VL-SNR", 32400, 6480, 640, 25, 980, 30780, 6 },
        { "medium", "11/45 VL-SNR", 32400, 7920, 0, 15, 1620, 30780, 8 },
        { "medium", "1/3 VL-SNR", 32400, 10800, 0, 13, 1620, 30780, 6 },
        { "short", "1/5 VL-SNR", 16200, 3240, 0, 10, 1224, 14976, 8 },
        { "short", "4/15 VL-SNR", 16200, 4320, 0, 8, 1224, 14976, 8 },
        { "short", "1/3 VL-SNR", 16200, 5400, 0, 8, 1224, 14976, 6 },
        { "short", "1/5 VL-SNR SF2", 16200, 3240, 560, 30, 250, 15390, 8 },
        { "short", "11/45 VL-SNR SF2", 16200, 3960, 0, 15, 810, 15390, 8 },
    };
    for (const auto& e : codes) {
        const auto code = ldpc_code::dvbs2x(e.frame, e.rate);
        BOOST_TEST_CONTEXT(code->name())
        {
            BOOST_TEST(code->variables() == e.whole);
            BOOST_TEST(code->n() == e.n);
            BOOST_TEST(code->k() == e.info - e.shortened);
            BOOST_TEST(code->shortened() == first(e.shortened));
            BOOST_REQUIRE(code->punctured().size() == size_t(e.punctured));
            for (int i = 0; i < e.punctured; ++i) {
                BOOST_REQUIRE(code->punctured()[i] == e.info + i * e.period);
            }
            is_sound(*code, e.info, (e.whole - e.info) / 360, e.girth);
        }
    }
    BOOST_TEST(std::size(codes) + 30 == ldpc_tables::dvbs2x.size());
}

BOOST_AUTO_TEST_CASE(dvbt2_shares_all_codes_but_two_with_dvbs2)
{
    int own = 0;
    for (const auto& table : ldpc_tables::dvbt2) {
        const auto code = ldpc_code::dvbt2(table.frame, table.rate);
        const auto other = ldpc_code::dvbs2(table.frame, table.rate);
        BOOST_TEST(code->n() == other->n());
        BOOST_TEST(code->k() == other->k());
        const std::string name = std::string(table.frame) + " " + table.rate;
        const bool eight = name == "normal 2/3" || name == "short 1/4" ||
                           name == "short 3/5" || name == "short 3/4";
        is_sound(*code, code->k(), (code->n() - code->k()) / 360, eight ? 8 : 6);
        own += code->columns() != other->columns();
    }
    BOOST_TEST(own == 2);
    const auto weights = counted(column_weights(*ldpc_code::dvbt2("short", "3/5")));
    BOOST_TEST(weights.at(12) == 5 * 360); // 9 * 360 in DVB-S2
}

BOOST_AUTO_TEST_CASE(the_matrices_are_those_that_were_checked)
{
    uint64_t all = 0;
    for (const auto& table : ldpc_tables::dvbs2x) {
        all = all * 31 + fingerprint(*ldpc_code::dvbs2x(table.frame, table.rate));
    }
    BOOST_TEST(all == 7780285306531278302u);
    all = 0;
    for (const auto& table : ldpc_tables::dvbt2) {
        all = all * 31 + fingerprint(*ldpc_code::dvbt2(table.frame, table.rate));
    }
    BOOST_TEST(all == 6663082849806704032u);
}
