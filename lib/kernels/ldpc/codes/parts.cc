/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/builder.h"
#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

void require(bool holds, const ldpc_code::parts& code, const char* which)
{
    if (!holds) {
        throw std::invalid_argument(code.name + ": its " + which +
                                    " do not fit its parity-check matrix");
    }
}

bool ascend(const std::vector<int>& columns, int below)
{
    return std::is_sorted(columns.begin(), columns.end(), std::less_equal<int>()) &&
           (columns.empty() || (columns.front() >= 0 && columns.back() < below));
}

//! Whether the numbers are 0 ... count - 1, each once; or `all` is empty.
bool permutes(const std::vector<int>& all, int count)
{
    std::vector<char> named(count);
    for (const int i : all) {
        if (i < 0 || i >= count || named[i]) {
            return false;
        }
        named[i] = 1;
    }
    return all.empty() || static_cast<int>(all.size()) == count;
}

bool describes(const ldpc_circulants& blocks, const ldpc_code::parts& code)
{
    const int64_t z = blocks.lifting_size;
    const auto rows = static_cast<int64_t>(code.row_start.size()) - 1;
    if (z == 0) {
        return blocks.all.empty() && blocks.checks.empty() && blocks.bits.empty();
    }
    if (z < 0 || blocks.block_rows < 0 || blocks.block_columns < 0 ||
        z * blocks.block_rows != rows || z * blocks.block_columns != code.variables ||
        !permutes(blocks.checks, rows) || !permutes(blocks.bits, code.variables)) {
        return false;
    }
    std::vector<char> seen(code.columns.size());
    size_t found = 0;
    for (const auto& c : blocks.all) {
        if (c.row < 0 || c.row >= blocks.block_rows || c.column < 0 ||
            c.column >= blocks.block_columns || c.shift < 0 || c.shift >= z ||
            c.missing < -1 || c.missing >= z) {
            return false;
        }
        for (int i = 0; i < z; ++i) {
            if (i == c.missing) {
                continue;
            }
            const auto at = static_cast<size_t>(c.row * z + i);
            const int check = blocks.checks.empty() ? at : blocks.checks[at];
            const auto place = static_cast<size_t>(c.column * z + (i + c.shift) % z);
            const int bit = blocks.bits.empty() ? place : blocks.bits[place];
            const auto last = code.columns.begin() + code.row_start[check + 1];
            const auto one =
                std::lower_bound(code.columns.begin() + code.row_start[check], last, bit);
            if (one == last || *one != bit || seen[one - code.columns.begin()]) {
                return false;
            }
            seen[one - code.columns.begin()] = 1;
            ++found;
        }
    }
    return found == seen.size() &&
           std::is_sorted(blocks.all.begin(),
                          blocks.all.end(),
                          [](const auto& a, const auto& b) { return a.row < b.row; });
}

//! Whether every check is in one layer, and no layer has a bit twice.
bool layers_are_independent(const ldpc_code::parts& code)
{
    const int rows = static_cast<int>(code.row_start.size()) - 1;
    std::vector<int> all, last_of(code.variables, -1);
    for (size_t layer = 0; layer < code.layers.size(); ++layer) {
        if (code.layers[layer].empty()) {
            return false;
        }
        for (const int r : code.layers[layer]) {
            if (r < 0 || r >= rows) {
                return false;
            }
            all.push_back(r);
            for (int e = code.row_start[r]; e < code.row_start[r + 1]; ++e) {
                int& last = last_of[code.columns[e]];
                if (last == static_cast<int>(layer)) {
                    return false;
                }
                last = static_cast<int>(layer);
            }
        }
    }
    return !all.empty() && permutes(all, rows);
}

auto circulant_of(const ldpc_circulants::circulant& c)
{
    return std::tie(c.row, c.column, c.shift, c.missing);
}

bool same(const ldpc_circulants& a, const ldpc_circulants& b)
{
    return a.lifting_size == b.lifting_size && a.checks == b.checks && a.bits == b.bits &&
           std::equal(a.all.begin(),
                      a.all.end(),
                      b.all.begin(),
                      b.all.end(),
                      [](const auto& x, const auto& y) {
                          return circulant_of(x) == circulant_of(y);
                      });
}

} // namespace

ldpc_code::sptr ldpc_code::restore(parts from)
{
    const auto& starts = from.row_start;
    require(!starts.empty() && starts.front() == 0 &&
                starts.back() == static_cast<int>(from.columns.size()) &&
                std::is_sorted(starts.begin(), starts.end()),
            from,
            "rows");
    const int n = from.variables;
    require_matrix(from.name, n, starts, from.columns);
    for (size_t r = 0; r + 1 < starts.size(); ++r) {
        require(std::is_sorted(from.columns.begin() + starts[r],
                               from.columns.begin() + starts[r + 1]),
                from,
                "columns");
    }
    require(
        ascend(from.punctured, n) && ascend(from.shortened, n), from, "left out bits");
    std::vector<int> punctured_and_shortened;
    std::set_intersection(from.punctured.begin(),
                          from.punctured.end(),
                          from.shortened.begin(),
                          from.shortened.end(),
                          std::back_inserter(punctured_and_shortened));
    require(punctured_and_shortened.empty() &&
                from.punctured.size() + from.shortened.size() < static_cast<size_t>(n),
            from,
            "left out bits");
    require(describes(from.circulants, from), from, "circulants");
    require(layers_are_independent(from), from, "layers");
    require(from.default_scale > 0 && from.default_scale <= 1, from, "factors");
    ldpc_code_description code;
    code.name = std::move(from.name);
    code.n = n;
    code.row_start = std::move(from.row_start);
    code.columns = std::move(from.columns);
    code.punctured = std::move(from.punctured);
    code.shortened = std::move(from.shortened);
    code.layers = std::move(from.layers);
    code.circulants = std::move(from.circulants);
    code.factor = { from.default_scale, from.default_scale_closes, from.default_damps };
    return ldpc_code_builder::build(std::move(code));
}

bool operator==(const ldpc_code& a, const ldpc_code& b)
{
    return &a == &b ||
           (a.d_variables == b.d_variables && a.d_row_start == b.d_row_start &&
            a.d_columns == b.d_columns && a.d_info == b.d_info &&
            a.d_punctured == b.d_punctured && a.d_shortened == b.d_shortened &&
            a.d_layers == b.d_layers && same(a.d_circulants, b.d_circulants) &&
            a.d_factor == b.d_factor && a.d_closes == b.d_closes &&
            a.d_damps == b.d_damps);
}

size_t ldpc_code::hash() const
{
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (const auto* part : { &d_row_start, &d_columns, &d_info, &d_transmitted }) {
        for (const int value : *part) {
            hash = (hash ^ static_cast<uint32_t>(value)) * 1099511628211u;
        }
    }
    return hash;
}

} // namespace gr::cudaphy::kernels
