/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_code_builder.h"
#include <algorithm>
#include <cctype>
#include <fstream>
#include <istream>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

// What a file may ask for; the longest code in use, CCSDS's and DVB's, stay far below.
constexpr int64_t largest_n = int64_t{ 1 } << 20;
constexpr int64_t most_edges = int64_t{ 1 } << 24;
constexpr size_t largest_file = size_t{ 1 } << 29;

/*!
 * Reads whole numbers between blanks. Lines count from 1; '#' starts a comment.
 * Everything that a file can get wrong ends in a code_file_error with the file's name and
 * the line.
 */
class number_reader
{
public:
    number_reader(std::istream& text, std::string name) : d_name(std::move(name))
    {
        char piece[1 << 16];
        while (text.read(piece, sizeof(piece)), text.gcount() > 0) {
            d_text.append(piece, static_cast<size_t>(text.gcount()));
            if (d_text.size() > largest_file) {
                fail("a file of at most 512 MiB, this one is longer");
            }
        }
        if (text.bad()) {
            fail("a readable file");
        }
    }

    [[noreturn]] void fail(const std::string& expected) const
    {
        throw code_file_error(d_name + ":" + std::to_string(d_line) + ": expected " +
                              expected);
    }

    //! The next number, which must lie in lowest..highest; `what` says what it is.
    int64_t next(int64_t lowest, int64_t highest, const std::string& what)
    {
        skip_blanks();
        const auto expected = [&] {
            return what + ", " + std::to_string(lowest) + " to " +
                   std::to_string(highest);
        };
        if (d_at == d_text.size()) {
            fail(expected() + ", found the end of the file");
        }
        const size_t first = d_at;
        while (d_at < d_text.size() && !blank(d_text[d_at]) && d_text[d_at] != '#') {
            ++d_at;
        }
        int64_t value = 0;
        if (!parse(first, value) || value < lowest || value > highest) {
            // Printable and short, whatever the file holds.
            auto found = d_text.substr(first, std::min<size_t>(d_at - first, 24));
            std::replace_if(
                found.begin(),
                found.end(),
                [](char c) { return c < 32 || c > 126; },
                '?');
            fail(expected() + ", found \"" + found + "\"");
        }
        return value;
    }

    //! Whether only blanks and comments are left on this line.
    bool line_ends()
    {
        skip_blanks_in_line();
        return d_at == d_text.size() || d_text[d_at] == '\n';
    }

    bool ends()
    {
        skip_blanks();
        return d_at == d_text.size();
    }

    int64_t bytes_left() const { return static_cast<int64_t>(d_text.size() - d_at); }
    const std::string& name() const { return d_name; }

private:
    static bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

    void skip_blanks_in_line()
    {
        while (d_at < d_text.size() && d_text[d_at] != '\n') {
            if (d_text[d_at] == '#') {
                d_at = std::min(d_text.find('\n', d_at), d_text.size());
            } else if (blank(d_text[d_at])) {
                ++d_at;
            } else {
                break;
            }
        }
    }

    void skip_blanks()
    {
        while (skip_blanks_in_line(), d_at < d_text.size() && d_text[d_at] == '\n') {
            ++d_at;
            ++d_line;
        }
    }

    bool parse(size_t at, int64_t& value) const
    {
        const bool negative = d_text[at] == '-';
        at += negative;
        if (at == d_at || d_at - at > 18) {
            return false;
        }
        for (; at < d_at; ++at) {
            if (d_text[at] < '0' || d_text[at] > '9') {
                return false;
            }
            value = 10 * value + (d_text[at] - '0');
        }
        value = negative ? -value : value;
        return true;
    }

    std::string d_name, d_text;
    size_t d_at = 0;
    int64_t d_line = 1;
};

//! What is wrong with the matrix as a whole is told as an error of the file.
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
        // Zeros fill lists up to the greatest weight in some dialects, and are nothing in
        // any: where a line ends does not matter.
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
    while (!in.ends()) {
        in.next(0, 0, "nothing but zeros behind the last row");
    }
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
    if (block_columns * lifting > largest_n) {
        in.fail("block columns times lifting size of at most " +
                std::to_string(largest_n) + ", found " +
                std::to_string(block_columns * lifting));
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
            const auto shift = in.next(-1, lifting - 1, what);
            if (shift >= 0) {
                blocks.all.push_back({ r, c, static_cast<int>(shift) });
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
        if (edges > most_edges) {
            in.fail("at most " + std::to_string(most_edges) + " ones in all");
        }
    }
    if (!in.ends()) {
        in.fail("the end of the file behind block row " + std::to_string(block_rows));
    }
    code.add_rows_of_circulants();
    return build(std::move(code));
}

} // namespace gr::cudaphy::kernels
