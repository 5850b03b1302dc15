/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/builder.h"
#include <algorithm>
#include <iterator>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

[[noreturn]] void refuse(const std::string& code, const std::string& why)
{
    throw std::invalid_argument(code + ": " + why);
}

//! The columns of `all` that are not among `some`; both ascend.
std::vector<int> without(const std::vector<int>& all, const std::vector<int>& some)
{
    std::vector<int> rest;
    std::set_difference(
        all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
    return rest;
}

constexpr int fewest_telling = 32;

//! As ldpc_code::telling().
std::vector<char> telling_checks(const ldpc_code_description& code,
                                 const std::vector<int>& info)
{
    std::vector<char> telling(code.row_start.size() - 1, 1);
    const auto& blocks = code.circulants;
    const int z = blocks.lifting_size;
    if (z == 0) {
        return telling;
    }
    std::vector<char> carries(code.n);
    for (const auto& columns : { info, code.shortened }) {
        for (const int column : columns) {
            carries[column] = 1;
        }
    }
    std::vector<int> weight(blocks.block_columns);
    for (const auto& circulant : blocks.all) {
        weight[circulant.column] += circulant.missing < 0 ? 1 : 2;
    }
    for (const auto& circulant : blocks.all) {
        bool own = weight[circulant.column] == 1;
        for (int i = 0; i < z && own; ++i) {
            const int bit = circulant.column * z + i;
            own = !carries[blocks.bits.empty() ? bit : blocks.bits[bit]];
        }
        for (int i = 0; i < z && own; ++i) {
            const int check = circulant.row * z + i;
            telling[blocks.checks.empty() ? check : blocks.checks[check]] = 0;
        }
    }
    // A few checks may hold by chance before decoding is done. With 8 or 16 checks (5G NR
    // of lifting size 2 or 4), 2.0 and 0.08 % more of the words end wrong, at an error
    // rate of 5.6 and 1.2 %. With 32 checks, none of 20000 does.
    const std::vector<char> all(telling.size(), 1);
    if (std::count(telling.begin(), telling.end(), 1) < fewest_telling) {
        return all;
    }
    // Errors in bits that no telling check contains would not be found.
    std::vector<char> noticed(code.n);
    for (size_t r = 0; r < telling.size(); ++r) {
        for (int e = code.row_start[r]; telling[r] && e < code.row_start[r + 1]; ++e) {
            noticed[code.columns[e]] = 1;
        }
    }
    std::vector<char> in_a_check(code.n);
    for (const int column : code.columns) {
        in_a_check[column] = 1;
    }
    for (const int column : info) {
        if (in_a_check[column] && !noticed[column]) {
            return all;
        }
    }
    return telling;
}

} // namespace

void require_matrix(const std::string& name,
                    int n,
                    const std::vector<int>& row_start,
                    const std::vector<int>& columns)
{
    const int rows = static_cast<int>(row_start.size()) - 1;
    if (n < 1 || rows < 1) {
        refuse(name,
               "a parity-check matrix needs at least one row and one column, this one "
               "has " +
                   std::to_string(rows) + " rows and " + std::to_string(n) + " columns");
    }
    for (int r = 0; r < rows; ++r) {
        const int first = row_start[r];
        const int last = row_start[r + 1];
        if (first == last) {
            refuse(name, "row " + std::to_string(r) + " has no ones");
        }
        for (int e = first; e < last; ++e) {
            const int column = columns[e];
            if (column < 0 || column >= n) {
                refuse(name,
                       "row " + std::to_string(r) + " has a one in column " +
                           std::to_string(column) + ", columns go from 0 to " +
                           std::to_string(n - 1));
            }
            if (e > first && column == columns[e - 1]) {
                refuse(name,
                       "row " + std::to_string(r) + " names column " +
                           std::to_string(column) + " twice");
            }
        }
    }
}

void ldpc_code_description::add_row(std::vector<int> row)
{
    std::sort(row.begin(), row.end());
    columns.insert(columns.end(), row.begin(), row.end());
    row_start.push_back(static_cast<int>(columns.size()));
}

void ldpc_code_description::add_rows_of_circulants()
{
    const int z = circulants.lifting_size;
    const auto& bits = circulants.bits;
    auto circulant = circulants.all.begin();
    for (int r = 0; r < circulants.block_rows; ++r) {
        const auto first = circulant;
        while (circulant != circulants.all.end() && circulant->row == r) {
            ++circulant;
        }
        auto& group = groups.emplace_back();
        for (int i = 0; i < z; ++i) {
            std::vector<int> row;
            for (auto c = first; c != circulant; ++c) {
                if (c->missing != i) {
                    const int bit = c->column * z + (i + c->shift) % z;
                    row.push_back(bits.empty() ? bit : bits[bit]);
                }
            }
            group.push_back(r * z + i);
            add_row(std::move(row));
        }
    }
}

void ldpc_code_description::visit_block_rows(const std::vector<int>& order)
{
    auto& all = circulants.all;
    std::vector<int> position(order.size());
    for (size_t r = 0; r < order.size(); ++r) {
        position[order[r]] = static_cast<int>(r);
    }
    for (auto& circulant : all) {
        circulant.row = position[circulant.row];
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.row < b.row;
    });
    const auto rows = std::move(groups);
    groups = {};
    for (size_t r = 0; r < order.size(); ++r) {
        groups.push_back(rows[order[r]]);
        circulants.checks.insert(
            circulants.checks.end(), groups[r].begin(), groups[r].end());
    }
}

ldpc_code::sptr ldpc_code_builder::build(ldpc_code_description from)
{
    require_matrix(from.name, from.n, from.row_start, from.columns);
    const int rows = static_cast<int>(from.row_start.size()) - 1;
    if (from.groups.empty()) {
        from.groups.emplace_back(rows);
        std::iota(from.groups[0].begin(), from.groups[0].end(), 0);
    }
    std::shared_ptr<ldpc_code> code(new ldpc_code);
    if (from.systematic) {
        code->d_info.resize(from.n - rows);
        std::iota(code->d_info.begin(), code->d_info.end(), 0);
    } else {
        code->d_info = free_columns(from);
    }
    code->d_info = without(code->d_info, from.shortened);
    if (code->d_info.empty()) {
        refuse(from.name,
               "the matrix leaves no information bits: its rank is n" +
                   std::string(rows > from.n ? "; with more rows than columns it looks "
                                               "transposed"
                                             : ""));
    }
    code->d_layers = from.layers.empty() ? independent_layers(from, from.groups)
                                         : std::move(from.layers);
    code->d_telling = telling_checks(from, code->d_info);
    code->d_name = std::move(from.name);
    code->d_variables = from.n;
    if (!from.punctured.empty() || !from.shortened.empty()) {
        std::vector<int> all(from.n);
        std::iota(all.begin(), all.end(), 0);
        code->d_transmitted = without(without(all, from.punctured), from.shortened);
    }
    code->d_n = code->d_transmitted.empty()
                    ? from.n
                    : static_cast<int>(code->d_transmitted.size());
    code->d_punctured = std::move(from.punctured);
    code->d_shortened = std::move(from.shortened);
    code->d_circulants = std::move(from.circulants);
    code->d_row_start = std::move(from.row_start);
    code->d_columns = std::move(from.columns);
    code->d_factor = from.factor.factor;
    code->d_closes = from.factor.closes;
    code->d_damps = from.factor.damps;
    return code;
}

ldpc_code::sptr ldpc_code::from_rows(int n,
                                     const std::vector<std::vector<int>>& rows,
                                     const std::string& name)
{
    ldpc_code_description description;
    description.name = name;
    description.n = n;
    for (const auto& row : rows) {
        description.add_row(row);
    }
    return ldpc_code_builder::build(std::move(description));
}

namespace {

bool fulfils(const ldpc_code& code,
             const uint8_t* columns,
             const std::vector<char>* wanted)
{
    for (int r = 0; r < code.checks(); ++r) {
        if (wanted && !(*wanted)[r]) {
            continue;
        }
        unsigned sum = 0;
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            sum ^= columns[code.columns()[e]];
        }
        if (sum & 1) {
            return false;
        }
    }
    return true;
}

} // namespace

bool ldpc_code::is_codeword(const uint8_t* columns) const
{
    return fulfils(*this, columns, nullptr);
}

bool ldpc_code::is_decoded(const uint8_t* columns) const
{
    return fulfils(*this, columns, &d_telling);
}

} // namespace gr::cudaphy::kernels
