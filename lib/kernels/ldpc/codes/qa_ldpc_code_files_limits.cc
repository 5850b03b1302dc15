/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_files_limits
#include "kernels/common/testing.h"
#include "kernels/ldpc/algebra/dependent_columns.h"
#include "kernels/ldpc/codes/words_testing.h"
#include <chrono>
#include <filesystem>
#include <functional>
#include <sstream>

// The memory and time that a file may take, and AFF3CT's line of sent columns.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

ldpc_code::sptr qc(const std::string& text)
{
    std::istringstream file(text);
    return ldpc_code::parse_qc(file, "test.qc");
}

ldpc_code::sptr alist(const std::string& text)
{
    std::istringstream file(text);
    return ldpc_code::parse_alist(file, "test.alist");
}

template <typename Read>
std::string error_of(Read read, const std::string& text)
{
    try {
        read(text);
    } catch (const code_file_error& problem) {
        return problem.what();
    }
    return "no error";
}

double seconds_of(const std::function<void()>& work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
        .count();
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_of_ones_and_zeros_names_the_columns_that_are_sent)
{
    const std::string matrix = "4 2 3\n0 1/2 0 -1\n2 0 1 0\n";
    const auto punctured = [&](const std::string& line) {
        return qc(matrix + line)->punctured();
    };
    BOOST_TEST(punctured("1 1 0 1\n") == std::vector<int>({ 6, 7, 8 }));
    BOOST_TEST(punctured("\n# AFF3CT's\n 0 1 1 1") == std::vector<int>({ 0, 1, 2 }));
    BOOST_TEST(punctured("1 1 1 1\n").empty());
    // The line may have any number of digits that divides the columns, as in AFF3CT.
    BOOST_TEST(punctured("1 0\n") == std::vector<int>({ 6, 7, 8, 9, 10, 11 }));
    BOOST_TEST(punctured("1 1 1 1 1 0\n") == std::vector<int>({ 10, 11 }));
    // Other lines may follow.
    const auto code = qc(matrix + "1 1 1 0\npunctured 0\nshortened 2\nvisited 1 0\n");
    BOOST_TEST(code->punctured() == std::vector<int>({ 0, 9, 10, 11 }));
    BOOST_TEST(code->shortened() == std::vector<int>({ 2 }));
    for (const auto& [line, part] : { std::make_pair("1 1 1 1 1\n", "found 5"),
                                      { "0 0 0 0\n", "at least one" },
                                      { "1 1 2 1\n", "found \"2\"" },
                                      { "1 1 -1 1\n", "found \"-1\"" },
                                      { "1 1 1 0\npunctured 11\n", "11 twice" },
                                      { "1 1 1 0\n1 1 1 0\n", "\"visited\"" } }) {
        const auto error = error_of(qc, matrix + line);
        BOOST_TEST(has(error, part), error);
    }
    // The standard's puncturing of AR4JA.
    const auto standard = ldpc_code::ccsds("ar4ja", 1024, "1/2");
    std::ostringstream text;
    standard->to_qc(text);
    auto file = text.str();
    file.resize(file.find("punctured"));
    BOOST_TEST(qc(file + "1 1 1 1 0\n")->punctured() == standard->punctured());
}

BOOST_AUTO_TEST_CASE(a_transposed_matrix_is_refused_as_transposed)
{
    // The Hamming code's lists, rows and columns exchanged.
    const std::string lists = "1 2 3 5\n1 2 4 6\n1 3 4 7\n"
                              "1 2 3\n1 2\n1 3\n2 3\n1\n2\n3\n";
    const std::string transposed = "3 7\n4 3\n4 4 4\n3 2 2 2 1 1 1\n";
    BOOST_TEST(has(error_of(alist, transposed + lists), "transposed"));
    // Here the sizes alone are exchanged.
    const auto error = error_of(alist,
                                "3 7\n3 4\n3 2 2 2 1 1 1\n4 4 4\n"
                                "1 2 3\n1 2\n1 3\n2 3\n1\n2\n3\n"
                                "1 2 3 5\n1 2 4 6\n1 3 4 7\n");
    BOOST_TEST(has(error, "transposed"), error);
    BOOST_TEST(has(error_of(qc, "1 2 3\n0\n1\n"), "transposed"));
    BOOST_TEST(!has(error_of(qc, "2 2 1\n0 0\n0 -1\n"), "transposed"));
}

BOOST_AUTO_TEST_CASE(any_order_of_block_rows_is_read_in_time_that_grows_with_the_file)
{
    std::string text = "1 200000 1\n";
    for (int r = 0; r < 200000; ++r) {
        text += "0\n";
    }
    const auto error = [&](const std::string& rest) { return error_of(qc, text + rest); };
    const auto took =
        seconds_of([&] { BOOST_TEST(has(error("visited 0-199999\n"), "rank is n")); });
    BOOST_TEST(took < 5);
}

BOOST_AUTO_TEST_CASE(a_short_file_cannot_claim_much_elimination)
{
    const std::string text = "8 4 9000\n1 9 25 49 0 4 8 7\n2 3 5 7 1 9 3 4\n"
                             "5 1 3 8 6 6 2 1\n0 5 7 7 9 4 4 2\n";
    const auto took = seconds_of([&] {
        BOOST_TEST(has(error_of(qc, text), "bits are allowed in a file of this length"));
    });
    BOOST_TEST(took < 1);
    // The limit leaves room for codes in use: AR4JA needs the most elimination.
    const auto standard = ldpc_code::ccsds("ar4ja", 4096, "1/2");
    std::ostringstream file;
    standard->to_qc(file);
    BOOST_TEST(qc(file.str())->k() == 4096);
}

BOOST_AUTO_TEST_CASE(only_regular_files_are_read)
{
    const auto alist_of = [](const std::string& path) { ldpc_code::from_alist(path); };
    const auto qc_of = [](const std::string& path) { ldpc_code::from_qc(path); };
    for (const std::string path : { "/dev/zero", "/dev/null", "/tmp" }) {
        if (std::filesystem::exists(path)) {
            BOOST_TEST(has(error_of(alist_of, path), path + ": expected a regular file"));
            BOOST_TEST(has(error_of(qc_of, path), path + ": expected a regular file"));
        }
    }
    BOOST_TEST(has(error_of(qc_of, "no such file"), "no such file: expected a readable"));
}

BOOST_AUTO_TEST_CASE(dependent_columns_are_those_of_elimination_column_by_column)
{
    for (int round = 0; round < 60; ++round) {
        const int rows = 1 + generator()() % 150, columns = 1 + generator()() % 300;
        const unsigned sparse = 1 + generator()() % 12;
        bit_matrix m(rows, columns);
        std::vector<char> left_out(columns);
        std::vector<std::vector<char>> plain(rows, std::vector<char>(columns));
        for (int c = 0; c < columns; ++c) {
            left_out[c] = generator()() % 16 == 0;
            for (int r = 0; r < rows; ++r) {
                // Some rows are sums of others.
                plain[r][c] = r > 2 && r % 5 == 0 ? plain[r - 1][c] ^ plain[r - 3][c]
                                                  : generator()() % sparse == 0;
                if (plain[r][c]) {
                    m.set(r, c);
                }
            }
        }
        std::vector<int> expected;
        std::vector<char> taken(rows);
        for (int c = columns - 1; c >= 0; --c) {
            if (left_out[c]) {
                continue;
            }
            int pivot = 0;
            while (pivot < rows && (taken[pivot] || !plain[pivot][c])) {
                ++pivot;
            }
            if (pivot == rows) {
                expected.push_back(c);
                continue;
            }
            taken[pivot] = 1;
            for (int r = 0; r < rows; ++r) {
                for (int i = 0; r != pivot && plain[r][c] && i < c; ++i) {
                    plain[r][i] ^= plain[pivot][i];
                }
            }
        }
        BOOST_TEST(dependent_columns(m, columns, left_out) == expected,
                   boost::test_tools::per_element());
    }
}
