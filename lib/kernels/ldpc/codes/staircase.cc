/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/alternatives.h"
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/codes/tables.h"

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_columns = 24; // of every matrix of 802.11 and 802.16

//! `lifted` is what a shift of the table comes to at this length.
template <typename Lifted>
ldpc_code::sptr build(const ldpc_tables::staircase_code& table,
                      const std::string& family,
                      int n,
                      Lifted lifted)
{
    const int rows = table.block_rows;
    const int listed = block_columns - rows;
    const auto shift = [&](int r, int c) -> int {
        if (c < listed) {
            return table.shifts[r * listed + c];
        }
        c -= listed;
        if (c == 0) {
            return r == 0 || r == rows - 1 ? table.end_shift
                   : r == table.middle_row ? table.middle_shift
                                           : -1;
        }
        return r == c || r == c - 1 ? 0 : -1;
    };

    ldpc_code_description code;
    code.name = family + " " + std::to_string(n) + " " + table.rate;
    code.n = n;
    code.systematic = true;
    code.factor = default_factor(family, table.rate);
    auto& blocks = code.circulants;
    blocks.lifting_size = n / block_columns;
    blocks.block_rows = rows;
    blocks.block_columns = block_columns;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < block_columns; ++c) {
            if (shift(r, c) >= 0) {
                blocks.all.push_back({ r, c, lifted(shift(r, c)) });
            }
        }
    }
    code.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(code));
}

} // namespace

ldpc_code::sptr ldpc_code::wifi(int n, const std::string& rate)
{
    const auto same_n = [n](const auto& table) { return table.n == n; };
    const auto length_of = [](const auto& table) { return std::to_string(table.n); };
    const auto any = [](const auto&) { return true; };
    const auto& tables = ldpc_tables::wifi;
    if (std::none_of(tables.begin(), tables.end(), same_n)) {
        throw std::invalid_argument(
            "802.11 LDPC codes have n = " + alternatives(tables, length_of, any) +
            ", not " + std::to_string(n));
    }
    return build(*of_rate(tables, rate, "802.11 LDPC codes", same_n),
                 "wifi",
                 n,
                 [](int shift) { return shift; });
}

ldpc_code::sptr ldpc_code::wimax(int n, const std::string& rate)
{
    constexpr int longest = 2304;
    if (n < 576 || n > longest || n % 96 != 0) {
        throw std::invalid_argument(
            "802.16 LDPC codes have n = 576, 672, 768 ... 2304, not " +
            std::to_string(n));
    }
    const auto any = [](const auto&) { return true; };
    const auto& table = *of_rate(ldpc_tables::wimax, rate, "802.16 LDPC codes", any);
    // Rate 2/3A takes the shifts modulo the lifting size, the others scale them down.
    const int z = n / block_columns;
    const bool modulo = rate == "2/3A";
    return build(table, "wimax", n, [&](int shift) {
        return modulo ? shift % z : shift * n / longest;
    });
}

} // namespace gr::cudaphy::kernels
