/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_files
#include "kernels/common/testing.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <sstream>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using rows = std::vector<std::vector<int>>;

ldpc_code::sptr alist(const std::string& text)
{
    std::istringstream stream(text);
    return ldpc_code::parse_alist(stream, "test.alist");
}

ldpc_code::sptr qc(const std::string& text)
{
    std::istringstream stream(text);
    return ldpc_code::parse_qc(stream, "test.qc");
}

//! What the error says, or "" where there is none.
template <typename Parse>
std::string error_of(Parse parse, const std::string& text)
{
    try {
        parse(text);
    } catch (const code_file_error& problem) {
        return problem.what();
    }
    return "";
}

void same_matrix(const ldpc_code& a, const ldpc_code& b)
{
    BOOST_TEST(a.n() == b.n());
    BOOST_TEST(a.row_start() == b.row_start());
    BOOST_TEST(a.columns() == b.columns());
    BOOST_TEST(a.info_positions() == b.info_positions());
}

void write_lists(std::ostream& out, const rows& lists, bool padded, const char* line_end)
{
    size_t greatest = 0;
    for (const auto& list : lists) {
        greatest = std::max(greatest, list.size());
    }
    for (const auto& list : lists) {
        for (size_t i = 0; i < (padded ? greatest : list.size()); ++i) {
            out << (i < list.size() ? list[i] + 1 : 0) << ' ';
        }
        out << line_end;
    }
}

std::string as_alist(const ldpc_code& code, bool padded, const char* line_end = "\n")
{
    rows by_row(code.checks()), by_column(code.n());
    for (int r = 0; r < code.checks(); ++r) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            by_row[r].push_back(code.columns()[e]);
            by_column[code.columns()[e]].push_back(r);
        }
    }
    std::ostringstream out;
    out << code.n() << ' ' << code.checks() << line_end;
    for (const auto* lists : { &by_column, &by_row }) {
        const auto heaviest = std::max_element(
            lists->begin(), lists->end(), [](const auto& a, const auto& b) {
                return a.size() < b.size();
            });
        out << heaviest->size() << ' ';
    }
    out << line_end;
    for (const auto* lists : { &by_column, &by_row }) {
        for (const auto& list : *lists) {
            out << list.size() << ' ';
        }
        out << line_end;
    }
    write_lists(out, by_column, padded, line_end);
    write_lists(out, by_row, padded, line_end);
    return out.str();
}

//! The prototype read back from the matrix, where every block is zero or an identity.
std::string as_qc(const ldpc_code& code, int z)
{
    std::ostringstream out;
    out << code.n() / z << ' ' << code.checks() / z << ' ' << z << '\n';
    for (int r = 0; r < code.checks(); r += z) {
        std::vector<int> shifts(code.n() / z, -1);
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            shifts[code.columns()[e] / z] = code.columns()[e] % z;
        }
        for (const int shift : shifts) {
            out << shift << ' ';
        }
        out << '\n';
    }
    return out.str();
}

const char* const hamming = "7 3\n3 4\n3 2 2 2 1 1 1\n4 4 4\n"
                            "1 2 3\n1 2\n1 3\n2 3\n1\n2\n3\n"
                            "1 2 3 5\n1 2 4 6\n1 3 4 7\n";

} // namespace

BOOST_AUTO_TEST_CASE(alist_of_the_hamming_code)
{
    const auto code = alist(hamming);
    BOOST_TEST(code->name() == "test.alist");
    BOOST_TEST(code->n() == 7);
    BOOST_TEST(code->k() == 4);
    BOOST_TEST(code->edges() == 12);
    BOOST_TEST(code->columns() ==
               std::vector<int>({ 0, 1, 2, 4, 0, 1, 3, 5, 0, 2, 3, 6 }));
    BOOST_TEST(code->info_positions() == std::vector<int>({ 0, 1, 2, 3 }));
}

BOOST_AUTO_TEST_CASE(every_dialect_of_alist_gives_the_same_code)
{
    const auto code = ldpc_code::dvbs2("short", "4/5"); // columns of weight 1, 2 and 3
    for (const bool padded : { false, true }) {
        for (const char* line_end : { "\n", "\r\n", "  \t\n", "\n\n", " # end\n", " " }) {
            same_matrix(*alist(as_alist(*code, padded, line_end)), *code);
        }
    }
    same_matrix(*alist("# by hand\n" + as_alist(*code, true) + "\n \n0 0\n"), *code);
}

BOOST_AUTO_TEST_CASE(wifi_codes_come_back_from_alist_and_qc)
{
    for (const int n : { 648, 1296, 1944 }) {
        for (const auto rate : { "1/2", "2/3", "3/4", "5/6" }) {
            const auto code = ldpc_code::wifi(n, rate);
            same_matrix(*alist(as_alist(*code, n == 648)), *code);
            const auto again = qc("# " + code->name() + "\n" + as_qc(*code, n / 24));
            same_matrix(*again, *code);
            BOOST_TEST((again->layers() == code->layers()));
        }
    }
}

BOOST_AUTO_TEST_CASE(files_are_read_from_disk)
{
    const std::string path = "qa_ldpc_code_files.alist";
    std::ofstream(path) << hamming;
    BOOST_TEST(ldpc_code::from_alist(path)->k() == 4);
    BOOST_CHECK_THROW(ldpc_code::from_qc(path), code_file_error);
    std::remove(path.c_str());
    for (const auto missing : { "no/such/file", ".", "" }) {
        BOOST_CHECK_THROW(ldpc_code::from_alist(missing), code_file_error);
        BOOST_CHECK_THROW(ldpc_code::from_qc(missing), code_file_error);
    }
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_the_line_and_what_was_expected)
{
    const auto says = [](const std::string& message,
                         const std::vector<const char*>& parts) {
        for (const auto part : parts) {
            BOOST_TEST(message.find(part) != std::string::npos,
                       "\"" << message << "\" lacks \"" << part << "\"");
        }
    };
    const auto changed = [](size_t line, const std::string& by) {
        std::istringstream in(hamming);
        std::string all, text;
        for (size_t i = 1; std::getline(in, text); ++i) {
            all += (i == line ? by : text) + "\n";
        }
        return all;
    };
    says(error_of(alist, ""),
         { "test.alist:1:", "number of columns", "end of the file" });
    says(error_of(alist, changed(1, "7 -3")), { "test.alist:1:", "rows", "\"-3\"" });
    says(error_of(alist, changed(1, "7 x")), { "test.alist:1:", "rows", "\"x\"" });
    says(error_of(alist, changed(1, "1000000000000 3")), { "test.alist:1:", "1048576" });
    says(error_of(alist, changed(1, "99999999999999999999 3")), { "test.alist:1:" });
    says(error_of(alist, changed(1, "1000000 3")), { "test.alist:1:", "bytes left" });
    says(error_of(alist, changed(2, "9 4")), { "test.alist:2:", "0 to 3", "\"9\"" });
    says(error_of(alist, changed(3, "9 2 2 2 1 1 1")),
         { "test.alist:3:", "weight of column 1", "\"9\"" });
    says(error_of(alist, changed(4, "4 4 3")), { "test.alist:4:", "11 and 12" });
    says(error_of(alist, changed(5, "1 2 8")),
         { "test.alist:5:", "rows of column 1", "\"8\"" });
    says(error_of(alist, changed(5, "1 2 2")), { "test.alist:5:", "column 1", "twice" });
    says(error_of(alist, changed(12, "1 2 3 4")),
         { "test.alist:12:", "columns of row 1", "agree" });
    says(error_of(alist, changed(14, "1 3 4")), { "row 3", "end of the file" });
    says(error_of(alist, changed(14, "1 3 4 7 5")), { "test.alist:14:", "\"5\"" });
    says(error_of(alist, "2 1\n1 1\n1 0\n1\n1\n\n"), { "end of the file" });
    // Full rank leaves nothing to say.
    says(error_of(alist, "1 1\n1 1\n1\n1\n1\n1\n"), { "test.alist", "information" });

    says(error_of(qc, ""), { "test.qc:1:", "block columns" });
    says(error_of(qc, "2 1 3 4\n0 1\n"), { "test.qc:1:", "three numbers" });
    says(error_of(qc, "2 1 3\n0\n1\n"), { "test.qc:2:", "block column 2", "line" });
    says(error_of(qc, "2 1 3\n0 1 2\n"), { "test.qc:2:", "2 shifts" });
    says(error_of(qc, "2 1 3\n0 3\n"), { "test.qc:2:", "-1 to 2", "\"3\"" });
    says(error_of(qc, "2 2 3\n0 1\n"), { "test.qc:3:", "end of the file" });
    says(error_of(qc, "2 2 3\n0 1\n-1 -1\n"), { "test.qc:3:", "block row 2" });
    says(error_of(qc, "2 1 3\n0 1\n2 2\n"), { "test.qc:3:" });
    says(error_of(qc, "2 1 1000000000000\n0 1\n"), { "test.qc:1:", "1048576" });
    says(error_of(qc, "1000000 1000000 1\n0 1\n"), { "test.qc:1:", "bytes left" });
    says(error_of(qc, "1000 1000 1000\n0 1\n"), { "test.qc:1:", "bytes left" });
    says(error_of(qc, "2000 1 1000\n0 1\n"), { "test.qc:1:", "2000000" });
}

BOOST_AUTO_TEST_CASE(a_short_file_can_not_ask_for_much)
{
    // 8 block columns of 2^17 bits: each line of 16 bytes stands for 2^20 ones.
    std::string text = "8 40 131072\n";
    for (int r = 0; r < 40; ++r) {
        text += "0 0 0 0 0 0 0 0\n";
    }
    BOOST_TEST(error_of(qc, text).find("16777216 ones") != std::string::npos);
    // Elimination of what no staircase solves.
    text = "4 3 200000\n0 0 0 1\n1 2 0 3\n0 1 5 7\n";
    BOOST_TEST(error_of(qc, text).find("2^31 bits") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(damaged_files_give_a_code_or_an_error)
{
    auto& random = generator();
    const auto small = ldpc_code::from_rows(12,
                                            { { 0, 1, 5, 6, 7 },
                                              { 1, 2, 7, 8 },
                                              { 0, 2, 3, 9 },
                                              { 3, 4, 10 },
                                              { 0, 4, 5, 11 } },
                                            "small");
    const std::string prototype = "6 3 4 # a comment\r\n0 2 -1 1 0 -1\n3 -1 1 -1 0 0\n"
                                  "-1 1 2 0 -1 0\n";
    const std::string pool = "0123456789 -\n\r\t#.x\xff";
    int codes = 0, errors = 0;
    for (int round = 0; round < 6000; ++round) {
        const bool is_qc = round % 3 == 0;
        auto text = is_qc ? prototype : as_alist(*small, round % 3 == 1);
        const int changes = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < changes && !text.empty(); ++i) {
            const size_t at = random() % text.size();
            const char byte = pool[random() % pool.size()];
            switch (random() % 5) {
            case 0:
                text.resize(at);
                break;
            case 1:
                text.insert(at, 1, byte);
                break;
            case 2:
                text.erase(at, 1 + random() % 3);
                break;
            case 3:
                text.insert(at, std::to_string(random()));
                break;
            default:
                text[at] = byte;
            }
        }
        try {
            const auto code = is_qc ? qc(text) : alist(text);
            BOOST_REQUIRE(code->k() > 0 && code->k() <= code->n());
            BOOST_REQUIRE(code->is_codeword(std::vector<uint8_t>(code->n()).data()));
            ++codes;
        } catch (const code_file_error& problem) {
            BOOST_REQUIRE(std::string(problem.what()).find("test.") == 0);
            ++errors;
        }
    }
    BOOST_TEST(codes > 0);
    BOOST_TEST(errors > 1000);
}
