/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_code_builder.h"
#include "kernels/ldpc/ldpc_tables.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_columns = 24; // of every matrix of 802.11
constexpr int group_bits = 360;   // of every code of DVB-S2

ldpc_code::sptr build(const ldpc_tables::wifi_code& table)
{
    const int z = table.n / block_columns;
    const int rows = table.block_rows;
    const int listed = block_columns - rows;
    const auto shift = [&](int r, int c) -> int {
        if (c < listed) {
            return table.shifts[r * listed + c];
        }
        c -= listed;
        if (c == 0) {
            return r == 0 || r == rows - 1 ? 1 : r == rows / 2 ? 0 : -1;
        }
        return r == c || r == c - 1 ? 0 : -1;
    };

    ldpc_code_description code;
    code.name = "wifi " + std::to_string(table.n) + " " + table.rate;
    code.n = table.n;
    code.systematic = true;
    code.scale = table.scale;
    auto& blocks = code.circulants;
    blocks.lifting_size = z;
    blocks.block_rows = rows;
    blocks.block_columns = block_columns;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < block_columns; ++c) {
            if (shift(r, c) >= 0) {
                blocks.all.push_back({ r, c, shift(r, c) });
            }
        }
    }
    code.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(code));
}

//! Check i + j q is check j of block row i, and parity bit i + j q bit j of block column
//! k / 360 + i: then every address x is a circulant of block row x mod q.
ldpc_circulants circulants(const ldpc_tables::dvbs2_code& table)
{
    const int q = table.q();
    const int groups = table.k / group_bits;
    ldpc_circulants blocks;
    blocks.lifting_size = group_bits;
    blocks.block_rows = q;
    blocks.block_columns = groups + q;
    const uint16_t* address = table.addresses;
    for (int g = 0; g < groups; ++g) {
        const int weight =
            g < table.heavy_groups ? table.heavy_weight : table.light_weight;
        for (int i = 0; i < weight; ++i, ++address) {
            // Bit j' is in check x + j' q: check j holds bit j - x / q.
            const int back = *address / q;
            blocks.all.push_back({ *address % q, g, (group_bits - back) % group_bits });
        }
    }
    for (int i = 0; i < q; ++i) {
        blocks.all.push_back({ i, groups + i, 0 });
        if (i > 0) {
            blocks.all.push_back({ i, groups + i - 1, 0 });
        } else {
            // The staircase goes on from the last block row one place earlier; its very
            // first check has nothing before it.
            blocks.all.push_back({ 0, groups + q - 1, group_bits - 1, 0 });
        }
    }
    std::sort(blocks.all.begin(), blocks.all.end(), [](const auto& a, const auto& b) {
        return std::tie(a.row, a.column, a.shift) < std::tie(b.row, b.column, b.shift);
    });
    for (int i = 0; i < q; ++i) {
        for (int j = 0; j < group_bits; ++j) {
            blocks.checks.push_back(i + j * q);
        }
    }
    blocks.bits.resize(table.k);
    std::iota(blocks.bits.begin(), blocks.bits.end(), 0);
    for (const int check : blocks.checks) {
        blocks.bits.push_back(table.k + check);
    }
    return blocks;
}

ldpc_code::sptr build(const ldpc_tables::dvbs2_code& table)
{
    const int m = table.n - table.k;
    const int q = table.q();
    std::vector<std::vector<int>> rows(m);
    const uint16_t* address = table.addresses;
    for (int g = 0; g < table.k / group_bits; ++g) {
        const int weight =
            g < table.heavy_groups ? table.heavy_weight : table.light_weight;
        for (int i = 0; i < weight; ++i, ++address) {
            for (int j = 0; j < group_bits; ++j) {
                rows[(*address + j * q) % m].push_back(g * group_bits + j);
            }
        }
    }

    ldpc_code_description code;
    code.name = std::string("dvbs2 ") + table.frame + " " + table.rate;
    code.n = table.n;
    code.systematic = true;
    code.scale = table.scale;
    for (int r = 0; r < m; ++r) {
        if (r > 0) {
            rows[r].push_back(table.k + r - 1);
        }
        rows[r].push_back(table.k + r);
        code.add_row(std::move(rows[r]));
    }
    // Checks q apart see the same groups, each bit one place further on. Where two
    // addresses of one group meet there (equal modulo q), some of these checks share
    // bits, and the layer falls into two or three.
    for (int i = 0; i < q; ++i) {
        auto& layer = code.groups.emplace_back();
        for (int j = 0; j < group_bits; ++j) {
            layer.push_back(i + j * q);
        }
    }
    code.circulants = circulants(table);
    return ldpc_code_builder::build(std::move(code));
}

//! "a, b or c": what `name` of the tables' entries that `chosen` takes may be, once each.
template <typename Table, typename Name, typename Chosen>
std::string allowed(const Table& tables, Name name, Chosen chosen)
{
    std::vector<std::string> all;
    for (const auto& table : tables) {
        if (chosen(table) &&
            std::find(all.begin(), all.end(), name(table)) == all.end()) {
            all.push_back(name(table));
        }
    }
    std::string text = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
        text += (i + 1 < all.size() ? ", " : " or ") + all[i];
    }
    return text;
}

const auto any = [](const auto&) { return true; };
const auto rate_of = [](const auto& table) {
    return '"' + std::string(table.rate) + '"';
};

} // namespace

ldpc_code::sptr ldpc_code::wifi(int n, const std::string& rate)
{
    const auto same_n = [n](const auto& table) { return table.n == n; };
    const auto length_of = [](const auto& table) { return std::to_string(table.n); };
    const auto& tables = ldpc_tables::wifi;
    if (std::none_of(tables.begin(), tables.end(), same_n)) {
        throw std::invalid_argument(
            "802.11 LDPC codes have n = " + allowed(tables, length_of, any) + ", not " +
            std::to_string(n));
    }
    for (const auto& table : tables) {
        if (same_n(table) && rate == table.rate) {
            return build(table);
        }
    }
    throw std::invalid_argument("802.11 LDPC codes have rate " +
                                allowed(tables, rate_of, same_n) + ", not \"" + rate +
                                "\"");
}

ldpc_code::sptr ldpc_code::dvbs2(const std::string& frame, const std::string& rate)
{
    const auto same_frame = [&](const auto& table) { return frame == table.frame; };
    const auto frame_of = [](const auto& table) {
        return '"' + std::string(table.frame) + '"';
    };
    const auto& tables = ldpc_tables::dvbs2;
    if (std::none_of(tables.begin(), tables.end(), same_frame)) {
        throw std::invalid_argument("DVB-S2 frames are " +
                                    allowed(tables, frame_of, any) + ", not \"" + frame +
                                    "\"");
    }
    for (const auto& table : tables) {
        if (same_frame(table) && rate == table.rate) {
            return build(table);
        }
    }
    throw std::invalid_argument("DVB-S2 " + frame + " frames have rate " +
                                allowed(tables, rate_of, same_frame) + ", not \"" + rate +
                                "\"");
}

} // namespace gr::cudaphy::kernels
