/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <cctype>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <istream>
#include <string_view>

namespace gr::cudaphy::kernels {

constexpr size_t largest_code_file = size_t{ 1 } << 29;

/*!
 * Reads whole numbers between blanks. Lines count from 1; '#' starts a comment.
 * Every error of the file throws a code_file_error with its name and the line.
 */
class number_reader
{
public:
    number_reader(std::istream& text, std::string name) : d_name(std::move(name))
    {
        char piece[1 << 16];
        while (text.read(piece, sizeof(piece)), text.gcount() > 0) {
            d_text.append(piece, static_cast<size_t>(text.gcount()));
            if (d_text.size() > largest_code_file) {
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
                              expected + d_hint);
    }
    //! Appended to every message from here on.
    void hint(const std::string& text) { d_hint = text; }

    //! The text up to the next blank; expected() says what is wanted there.
    template <typename Expected>
    std::string_view token(Expected expected)
    {
        skip_blanks();
        if (d_at == d_text.size()) {
            fail(expected() + ", found the end of the file");
        }
        const size_t first = d_at;
        while (d_at < d_text.size() && !blank(d_text[d_at]) && d_text[d_at] != '#') {
            ++d_at;
        }
        return std::string_view(d_text).substr(first, d_at - first);
    }

    [[noreturn]] void fail(const std::string& expected, std::string_view found) const
    {
        // Printable and short for any file.
        std::string shown(found.substr(0, 24));
        std::replace_if(
            shown.begin(), shown.end(), [](char c) { return c < 32 || c > 126; }, '?');
        fail(expected + ", found \"" + shown + "\"");
    }

    //! The next number, which must lie in lowest..highest; `what` says what it is.
    int64_t next(int64_t lowest, int64_t highest, const std::string& what)
    {
        const auto expected = [&] { return in_range(lowest, highest, what); };
        const auto found = token(expected);
        int64_t value = 0;
        if (!parse(found, value) || value < lowest || value > highest) {
            fail(expected(), found);
        }
        return value;
    }

    //! The numbers of an entry such as "3/45", each in 0..highest and none twice; none
    //! for "-1".
    std::vector<int> next_shifts(int64_t highest, const std::string& what)
    {
        const auto expected = [&] { return in_range(-1, highest, what); };
        const auto found = token(expected);
        std::vector<int> all;
        if (found == "-1") {
            return all;
        }
        for (size_t at = 0; at <= found.size();) {
            const size_t end = std::min(found.find('/', at), found.size());
            int64_t value = 0;
            if (!parse(found.substr(at, end - at), value) || value < 0 ||
                value > highest) {
                fail(expected(), found);
            }
            all.push_back(static_cast<int>(value));
            at = end + 1;
        }
        std::sort(all.begin(), all.end());
        if (std::adjacent_find(all.begin(), all.end()) != all.end()) {
            fail(what + " to name each shift once", found);
        }
        return all;
    }

    //! Columns such as "7" or "0-767", first and last one, each in 0..highest.
    static bool parse_range(std::string_view found, int64_t highest, int64_t range[2])
    {
        const size_t dash = found.find('-');
        const auto from = found.substr(0, dash);
        const auto to = dash == found.npos ? from : found.substr(dash + 1);
        return parse(from, range[0]) && parse(to, range[1]) && range[0] >= 0 &&
               range[0] <= range[1] && range[1] <= highest;
    }

    //! Whether only blanks and comments are left on this line.
    bool line_ends()
    {
        skip_blanks_in_line();
        return d_at == d_text.size() || d_text[d_at] == '\n';
    }

    //! Whether the next letter, after ends(), is a digit.
    bool digit_next() const { return d_text[d_at] >= '0' && d_text[d_at] <= '9'; }

    bool ends()
    {
        skip_blanks();
        return d_at == d_text.size();
    }

    //! Zeros that fill the last list.
    void skip_zeros()
    {
        while (!ends() && d_text[d_at] == '0' &&
               (d_at + 1 == d_text.size() || blank(d_text[d_at + 1]) ||
                d_text[d_at + 1] == '#')) {
            ++d_at;
        }
    }

    int64_t bytes_left() const { return static_cast<int64_t>(d_text.size() - d_at); }
    int64_t bytes() const { return static_cast<int64_t>(d_text.size()); }

private:
    static std::string in_range(int64_t lowest, int64_t highest, const std::string& what)
    {
        return what + ", " + std::to_string(lowest) + " to " + std::to_string(highest);
    }

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

    //! A whole number of at most 18 digits.
    static bool parse(std::string_view text, int64_t& value)
    {
        const bool negative = !text.empty() && text[0] == '-';
        text.remove_prefix(negative);
        if (text.empty() || text.size() > 18) {
            return false;
        }
        value = 0;
        for (const char digit : text) {
            if (digit < '0' || digit > '9') {
                return false;
            }
            value = 10 * value + (digit - '0');
        }
        value = negative ? -value : value;
        return true;
    }

    std::string d_name, d_text, d_hint;
    size_t d_at = 0;
    int64_t d_line = 1;
};

} // namespace gr::cudaphy::kernels
