/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <ostream>
#include <system_error>
#include <unistd.h>

namespace gr::cudaphy::kernels {
namespace {

using lists = std::vector<std::vector<int>>;

size_t heaviest(const lists& all)
{
    size_t most = 0;
    for (const auto& list : all) {
        most = std::max(most, list.size());
    }
    return most;
}

void write_weights(std::ostream& text, const lists& all)
{
    for (size_t i = 0; i < all.size(); ++i) {
        text << (i ? " " : "") << all[i].size();
    }
    text << '\n';
}

//! A list a line, counted from 1, filled up with zeros.
void write_lists(std::ostream& text, const lists& all)
{
    const size_t width = heaviest(all);
    for (const auto& list : all) {
        for (size_t i = 0; i < width; ++i) {
            text << (i ? " " : "") << (i < list.size() ? list[i] + 1 : 0);
        }
        text << '\n';
    }
}

//! A line such as "punctured 0-767 800", or nothing.
void write_ranges(std::ostream& text, const char* what, const std::vector<int>& numbers)
{
    for (size_t i = 0; i < numbers.size();) {
        size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
            ++last;
        }
        text << (i ? "" : what) << ' ' << numbers[i];
        if (last > i) {
            text << '-' << numbers[last];
        }
        i = last + 1;
    }
    if (!numbers.empty()) {
        text << '\n';
    }
}

void write_columns_not_sent(std::ostream& text, const ldpc_code& code)
{
    write_ranges(text, "punctured", code.punctured());
    write_ranges(text, "shortened", code.shortened());
}

//! Whether the layers are whole block rows of H, in any order.
bool block_rows_are_rows_of_h(const ldpc_circulants& blocks)
{
    const int z = blocks.lifting_size;
    for (size_t i = 0; i < blocks.checks.size(); ++i) {
        if (i % z ? blocks.checks[i] != blocks.checks[i - 1] + 1
                  : blocks.checks[i] % z != 0) {
            return false;
        }
    }
    return true;
}

/*!
 * Writes the text to a file beside `path`, then renames it. So a full disk, or a code
 * that does not have this form, leaves the former file unchanged and no part of a new
 * one.
 */
template <typename Write>
void write_file(const std::string& path, Write write)
{
    namespace fs = std::filesystem;
    std::error_code problem;
    const bool is_device =
        fs::exists(path, problem) && !fs::is_regular_file(path, problem);
    const auto target = fs::weakly_canonical(path, problem).string();
    const auto beside =
        is_device ? path : target + "." + std::to_string(::getpid()) + ".part";
    const auto remove = [&] { (void)(is_device || fs::remove(beside, problem)); };
    try {
        errno = 0;
        std::ofstream file(beside, std::ios::binary);
        if (file) {
            write(file);
            file.close();
        }
        if (!file) {
            throw std::system_error(errno, std::generic_category());
        }
        if (!is_device) {
            fs::rename(beside, target);
        }
    } catch (const std::system_error& failure) {
        remove();
        throw code_file_error(path + ": can't be written: " + failure.code().message());
    } catch (...) {
        remove();
        throw;
    }
}

} // namespace

void ldpc_code::to_alist(std::ostream& text) const
{
    lists by_column(d_variables), by_row(checks());
    for (int r = 0; r < checks(); ++r) {
        for (int e = d_row_start[r]; e < d_row_start[r + 1]; ++e) {
            by_row[r].push_back(d_columns[e]);
            by_column[d_columns[e]].push_back(r);
        }
    }
    text << d_variables << ' ' << checks() << '\n'
         << heaviest(by_column) << ' ' << heaviest(by_row) << '\n';
    write_weights(text, by_column);
    write_weights(text, by_row);
    write_lists(text, by_column);
    write_lists(text, by_row);
    write_columns_not_sent(text, *this);
}

void ldpc_code::to_qc(std::ostream& text) const
{
    const auto& blocks = d_circulants;
    const bool whole =
        std::all_of(blocks.all.begin(), blocks.all.end(), [](const auto& circulant) {
            return circulant.missing < 0;
        });
    if (blocks.lifting_size == 0 || !blocks.bits.empty() || !whole ||
        !block_rows_are_rows_of_h(blocks)) {
        throw std::invalid_argument(
            d_name +
            ": H is not made of whole circulants in its own order of rows and columns; "
            "write it as alist");
    }
    std::vector<std::vector<std::string>> entries(
        blocks.block_rows, std::vector<std::string>(blocks.block_columns));
    std::vector<int> visited; // block rows of H
    for (size_t i = 0; i < blocks.checks.size(); i += blocks.lifting_size) {
        visited.push_back(blocks.checks[i] / blocks.lifting_size);
    }
    for (const auto& circulant : blocks.all) {
        const int row = visited.empty() ? circulant.row : visited[circulant.row];
        auto& entry = entries[row][circulant.column];
        entry += (entry.empty() ? "" : "/") + std::to_string(circulant.shift);
    }
    auto name = d_name;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text << "# " << name << '\n'
         << blocks.block_columns << ' ' << blocks.block_rows << ' ' << blocks.lifting_size
         << '\n';
    for (const auto& row : entries) {
        for (size_t c = 0; c < row.size(); ++c) {
            text << (c ? " " : "") << (row[c].empty() ? "-1" : row[c]);
        }
        text << '\n';
    }
    write_columns_not_sent(text, *this);
    write_ranges(text, "visited", visited);
}

void ldpc_code::to_alist(const std::string& path) const
{
    write_file(path, [this](std::ostream& text) { to_alist(text); });
}

void ldpc_code::to_qc(const std::string& path) const
{
    write_file(path, [this](std::ostream& text) { to_qc(text); });
}

} // namespace gr::cudaphy::kernels
