/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/codes/reader.h"
#include <filesystem>
#include <fstream>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

// Limits of a file. The longest codes in use, CCSDS's and DVB's, are far below.
constexpr int64_t largest_n = int64_t{ 1 } << 20;
constexpr int64_t most_edges = int64_t{ 1 } << 24;
//! Columns and ones that a byte of a quasi-cyclic file may stand for: a block of lifting
//! size z takes two bytes or more, and the largest z in use is 2048 (CCSDS).
constexpr int64_t most_a_byte = 4096;
//! Bits that elimination may take for a byte of such a file: CCSDS AR4JA with 16384
//! information bits and rate 1/2 takes 1.3e6.
constexpr int64_t eliminated_a_byte = int64_t{ 1 } << 21;

//! Reports what is wrong with the whole matrix as an error of the file.
ldpc_code::sptr build(ldpc_code_description&& description)
{
    try {
        return ldpc_code_builder::build(std::move(description));
    } catch (const std::invalid_argument& problem) {
        throw code_file_error(problem.what());
    }
}

std::ifstream open(const std::string& path)
{
    if (path.empty()) {
        throw code_file_error("expected the path of a file, found none");
    }
    // A device or a pipe may be endless.
    std::error_code none;
    if (std::filesystem::exists(path, none) &&
        !std::filesystem::is_regular_file(path, none)) {
        throw code_file_error(path + ": expected a regular file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw code_file_error(path + ": expected a readable file");
    }
    return file;
}

//! `count` weights, each in 0..highest.
std::vector<int>
weights(number_reader& in, int64_t count, int64_t highest, const char* what)
{
    std::vector<int> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<int>(
            in.next(0, highest, std::string(what) + std::to_string(i + 1)));
    }
    return all;
}

//! The positions of `count` ones, 1..highest in the file, sorted and counted from 0.
std::vector<int>
ones(number_reader& in, int count, int64_t highest, const std::string& what)
{
    std::vector<int> all;
    all.reserve(static_cast<size_t>(count));
    while (static_cast<int>(all.size()) < count) {
        // In some dialects zeros fill lists up to the greatest weight. Zeros are skipped
        // in every dialect, and line ends do not matter.
        if (const auto one = in.next(0, highest, what)) {
            all.push_back(static_cast<int>(one) - 1);
        }
    }
    std::sort(all.begin(), all.end());
    const auto twice = std::adjacent_find(all.begin(), all.end());
    if (twice != all.end()) {
        in.fail(what + " once each, found " + std::to_string(*twice + 1) + " twice");
    }
    return all;
}

std::string in_file(bool of_this_length)
{
    return of_this_length ? " in a file of this length" : "";
}

//! Reads the lines behind the matrix: "punctured" and "shortened", each with its columns.
//! With `visited` also that line, with block rows in the order of decoding.
void lines_behind(number_reader& in,
                  ldpc_code_description& code,
                  std::vector<int>* visited = nullptr)
{
    std::vector<char> columns(code.n), rows(code.circulants.block_rows);
    for (const int column : code.punctured) {
        columns[column] = 1;
    }
    std::vector<int>* list = nullptr;
    while (!in.ends()) {
        const bool of_rows = list && list == visited;
        auto& named = of_rows ? rows : columns;
        const int64_t highest = static_cast<int64_t>(named.size()) - 1;
        const auto expected = [&] {
            return list ? std::string(of_rows ? "block rows" : "columns") +
                              " such as 7 or 0-767, counted from 0, up to " +
                              std::to_string(highest)
                        : std::string(
                              "nothing but \"punctured\" or \"shortened\" columns ") +
                              (visited ? "or \"visited\" block rows " : "") +
                              "behind the matrix";
        };
        const auto found = in.token(expected);
        if (found == "punctured" || found == "shortened" ||
            (visited && found == "visited")) {
            list = found == "punctured"   ? &code.punctured
                   : found == "shortened" ? &code.shortened
                                          : visited;
            if (in.line_ends()) {
                in.fail((list == visited ? "block rows" : "columns") +
                        (" behind \"" + std::string(found)) + "\" on its line");
            }
            continue;
        }
        int64_t range[2];
        if (!list || !number_reader::parse_range(found, highest, range)) {
            in.fail(expected(), found);
        }
        for (int64_t i = range[0]; i <= range[1]; ++i) {
            if (named[i]) {
                in.fail(std::string("each ") +
                        (of_rows ? "block row once among those visited"
                                 : "column once among the punctured and shortened ones") +
                        ", found " + std::to_string(i) + " twice");
            }
            named[i] = 1;
            list->push_back(static_cast<int>(i));
        }
        if (code.punctured.size() + code.shortened.size() == columns.size()) {
            in.fail("at least one column that is neither punctured nor shortened");
        }
    }
    if (visited && !visited->empty() && visited->size() != rows.size()) {
        in.fail("all " + std::to_string(rows.size()) +
                " block rows behind \"visited\", found " +
                std::to_string(visited->size()));
    }
    std::sort(code.punctured.begin(), code.punctured.end());
    std::sort(code.shortened.begin(), code.shortened.end());
}

//! A line of ones and zeros behind a quasi-cyclic matrix, each for the same number of
//! columns: zeros for punctured ones.
void sent_columns(number_reader& in, ldpc_code_description& code)
{
    std::vector<char> sent;
    const std::string what =
        "\"punctured\" or \"shortened\" columns, \"visited\" block rows, or a line of "
        "1 for sent and 0 for punctured columns behind the matrix";
    do {
        sent.push_back(in.next(0, 1, what) == 1);
    } while (!in.line_ends());
    const int count = static_cast<int>(sent.size());
    if (code.n % count != 0) {
        in.fail("as many ones and zeros as block columns, or another number that "
                "divides " +
                std::to_string(code.n) + " columns, found " + std::to_string(count));
    }
    if (std::count(sent.begin(), sent.end(), 1) == 0) {
        in.fail("at least one column that is sent");
    }
    for (int c = 0; c < code.n; ++c) {
        if (!sent[c / (code.n / count)]) {
            code.punctured.push_back(c);
        }
    }
}

} // namespace

ldpc_code::sptr ldpc_code::from_alist(const std::string& path)
{
    auto file = open(path);
    return parse_alist(file, path);
}

ldpc_code::sptr ldpc_code::from_qc(const std::string& path)
{
    auto file = open(path);
    return parse_qc(file, path);
}

ldpc_code::sptr ldpc_code::parse_alist(std::istream& text, const std::string& name)
{
    number_reader in(text, name);
    const auto n = in.next(1, largest_n, "the number of columns");
    const auto m = in.next(1, largest_n, "the number of rows");
    if (m > n) {
        in.hint(", in a matrix with more rows than columns, which looks transposed");
    }
    // A number and a blank take two bytes, so a file can't announce more than it holds.
    if (n + m > in.bytes_left()) {
        in.fail("weights of " + std::to_string(n) + " columns and " + std::to_string(m) +
                " rows, but the file has only " + std::to_string(in.bytes_left()) +
                " bytes left");
    }
    const auto column_limit = in.next(0, m, "the greatest column weight");
    const auto row_limit = in.next(0, n, "the greatest row weight");
    const auto column_weights = weights(in, n, column_limit, "the weight of column ");
    const auto row_weights = weights(in, m, row_limit, "the weight of row ");
    const auto edges =
        std::accumulate(column_weights.begin(), column_weights.end(), int64_t{ 0 });
    const auto row_edges =
        std::accumulate(row_weights.begin(), row_weights.end(), int64_t{ 0 });
    if (edges != row_edges) {
        in.fail("as many ones in the rows as in the columns, found " +
                std::to_string(row_edges) + " and " + std::to_string(edges));
    }
    if (edges > most_edges || edges > in.bytes_left()) {
        in.fail("lists of " + std::to_string(edges) + " ones twice, at most " +
                std::to_string(most_edges) + ", but the file has only " +
                std::to_string(in.bytes_left()) + " bytes left");
    }

    std::vector<std::vector<int>> from_columns(static_cast<size_t>(m));
    for (int c = 0; c < n; ++c) {
        const auto what = "the rows of column " + std::to_string(c + 1);
        for (const int r : ones(in, column_weights[c], m, what)) {
            from_columns[r].push_back(c);
        }
    }
    ldpc_code_description code;
    code.name = name;
    code.n = static_cast<int>(n);
    for (int r = 0; r < m; ++r) {
        const auto what = "the columns of row " + std::to_string(r + 1);
        auto row = ones(in, row_weights[r], n, what);
        if (row != from_columns[r]) {
            in.fail(what + " to agree with the columns' lists");
        }
        if (row.empty()) {
            in.fail("at least one one in row " + std::to_string(r + 1));
        }
        code.add_row(std::move(row));
    }
    in.skip_zeros();
    lines_behind(in, code);
    return build(std::move(code));
}

ldpc_code::sptr ldpc_code::parse_qc(std::istream& text, const std::string& name)
{
    number_reader in(text, name);
    const auto block_columns = in.next(1, largest_n, "the number of block columns");
    const auto block_rows = in.next(1, largest_n, "the number of block rows");
    const auto lifting = in.next(1, largest_n, "the lifting size");
    if (!in.line_ends()) {
        in.fail(
            "three numbers in the first line: block columns, block rows, lifting size");
    }
    const auto most_columns = std::min(largest_n, most_a_byte * in.bytes());
    const auto most_ones = std::min(most_edges, most_a_byte * in.bytes());
    if (block_columns * lifting > most_columns) {
        in.fail("block columns times lifting size of at most " +
                std::to_string(most_columns) + in_file(most_columns < largest_n) +
                ", found " + std::to_string(block_columns * lifting));
    }
    if (block_columns * block_rows > in.bytes_left()) {
        in.fail(std::to_string(block_rows) + " rows of " + std::to_string(block_columns) +
                " shifts, but the file has only " + std::to_string(in.bytes_left()) +
                " bytes left");
    }
    ldpc_code_description code;
    code.name = name;
    code.n = static_cast<int>(block_columns * lifting);
    auto& blocks = code.circulants;
    blocks.lifting_size = static_cast<int>(lifting);
    blocks.block_rows = static_cast<int>(block_rows);
    blocks.block_columns = static_cast<int>(block_columns);
    int64_t edges = 0;
    for (int r = 0; r < block_rows; ++r) {
        const size_t before = blocks.all.size();
        for (int c = 0; c < block_columns; ++c) {
            const auto what = "the shift of block row " + std::to_string(r + 1) +
                              ", block column " + std::to_string(c + 1);
            if (c > 0 && in.line_ends()) {
                in.fail(what + ", found the end of the line");
            }
            for (const int shift : in.next_shifts(lifting - 1, what)) {
                blocks.all.push_back({ r, c, shift });
            }
        }
        if (!in.line_ends()) {
            in.fail(std::to_string(block_columns) + " shifts in block row " +
                    std::to_string(r + 1) + ", found more on its line");
        }
        if (blocks.all.size() == before) {
            in.fail("at least one block that is not -1 in block row " +
                    std::to_string(r + 1));
        }
        edges += static_cast<int64_t>(blocks.all.size() - before) * lifting;
        if (edges > most_ones) {
            in.fail("at most " + std::to_string(most_ones) + " ones in all" +
                    in_file(most_ones < most_edges));
        }
    }
    if (!in.ends() && in.digit_next()) {
        sent_columns(in, code);
    }
    std::vector<int> visited;
    lines_behind(in, code, &visited);
    code.most_eliminated = std::min(code.most_eliminated, eliminated_a_byte * in.bytes());
    code.add_rows_of_circulants();
    if (!visited.empty()) {
        code.visit_block_rows(visited);
    }
    return build(std::move(code));
}

} // namespace gr::cudaphy::kernels
