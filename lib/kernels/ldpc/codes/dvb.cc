/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/alternatives.h"
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/codes/dvb_information_bits.h"
#include "kernels/ldpc/codes/tables.h"
#include <numeric>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

constexpr int group_bits = 360; // of every code of DVB

//! Calls visit(group, address) for every address of the table.
template <typename Visit>
void for_each_address(const ldpc_tables::dvb_code& table, Visit visit)
{
    const uint16_t* address = table.addresses;
    int group = 0;
    for (const auto& run : table.runs) {
        for (const int last = group + run.groups; group < last; ++group) {
            for (int i = 0; i < run.weight; ++i, ++address) {
                visit(group, static_cast<int>(*address));
            }
        }
    }
}

//! Check i + j q is check j of block row i, and parity bit i + j q bit j of block column
//! k / 360 + i: then every address x is a circulant of block row x mod q.
ldpc_circulants circulants(const ldpc_tables::dvb_code& table)
{
    const int q = table.q();
    const int groups = table.k / group_bits;
    ldpc_circulants blocks;
    blocks.lifting_size = group_bits;
    blocks.block_rows = q;
    blocks.block_columns = groups + q;
    for_each_address(table, [&](int group, int address) {
        // Bit j' is in check x + j' q: check j holds bit j - x / q.
        const int back = address / q;
        blocks.all.push_back({ address % q, group, (group_bits - back) % group_bits });
    });
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

//! The matrix of a code, which has none yet. Not by add_row(): a receiver makes 60 codes
//! when it starts.
void add_rows(const ldpc_tables::dvb_code& table, ldpc_code_description& code)
{
    const int q = table.q();
    const int m = table.n - table.k;
    std::vector<int> weight(q); // of checks i + j q, without their parity bits
    for_each_address(table, [&](int, int address) { ++weight[address % q]; });
    code.row_start.resize(m + 1);
    for (int r = 0; r < m; ++r) {
        code.row_start[r + 1] = code.row_start[r] + weight[r % q] + (r > 0 ? 2 : 1);
    }
    code.columns.resize(code.row_start[m]);
    auto next = code.row_start;
    for_each_address(table, [&](int group, int address) {
        for (int j = 0, r = address; j < group_bits; ++j) {
            code.columns[next[r]++] = group * group_bits + j;
            r += r + q < m ? q : q - m;
        }
    });
    for (int r = 0; r < m; ++r) {
        if (r > 0) {
            code.columns[next[r]++] = table.k + r - 1;
        }
        code.columns[next[r]] = table.k + r;
        const auto columns = code.columns.begin();
        std::sort(columns + code.row_start[r], columns + code.row_start[r + 1]);
    }
}

ldpc_code::sptr build(const ldpc_tables::dvb_code& table, const std::string& family)
{
    ldpc_code_description code;
    code.name = family + " " + table.frame + " " + table.rate;
    code.n = table.n;
    code.systematic = true;
    const auto* own = find_default_factor(family + " " + table.frame, table.rate);
    // Most of T2's codes are those of S2.
    code.factor =
        own ? *own : default_factor(std::string("dvbs2 ") + table.frame, table.rate);
    add_rows(table, code);
    // Checks q apart see the same groups, each bit one place further on. Where two
    // addresses of one group meet there (equal modulo q), some of these checks share
    // bits, and the layer falls into two or three.
    const int q = table.q();
    for (int i = 0; i < q; ++i) {
        auto& layer = code.groups.emplace_back();
        for (int j = 0; j < group_bits; ++j) {
            layer.push_back(i + j * q);
        }
    }
    code.circulants = circulants(table);
    code.shortened.resize(table.vl_snr.shortened);
    std::iota(code.shortened.begin(), code.shortened.end(), 0);
    for (int i = 0; i < table.vl_snr.punctured; ++i) {
        code.punctured.push_back(table.k + i * table.vl_snr.period);
    }
    return ldpc_code_builder::build(std::move(code));
}

template <typename Tables>
const ldpc_tables::dvb_code& look_up(const Tables& tables,
                                     const std::string& standard,
                                     const std::string& frame,
                                     const std::string& rate)
{
    const auto same_frame = [&](const auto& table) { return frame == table.frame; };
    const auto frame_of = [](const auto& table) { return quoted(table.frame); };
    const auto any = [](const auto&) { return true; };
    if (std::none_of(tables.begin(), tables.end(), same_frame)) {
        throw std::invalid_argument(standard + " frames are " +
                                    alternatives(tables, frame_of, any) + ", not " +
                                    quoted(frame));
    }
    return *of_rate(tables, rate, standard + " " + frame + " frames", same_frame);
}

const ldpc_tables::dvb_code& of_s2(const std::string& frame, const std::string& rate)
{
    return look_up(ldpc_tables::dvbs2, "DVB-S2", frame, rate);
}

const ldpc_tables::dvb_code& of_s2x(const std::string& frame, const std::string& rate)
{
    return look_up(ldpc_tables::dvbs2x, "DVB-S2X", frame, rate);
}

const ldpc_tables::dvb_code& of_t2(const std::string& frame, const std::string& rate)
{
    return look_up(ldpc_tables::dvbt2, "DVB-T2", frame, rate);
}

int information_bits(const ldpc_tables::dvb_code& table)
{
    return table.k - table.vl_snr.shortened;
}

} // namespace

ldpc_code::sptr ldpc_code::dvbs2(const std::string& frame, const std::string& rate)
{
    return build(of_s2(frame, rate), "dvbs2");
}

ldpc_code::sptr ldpc_code::dvbs2x(const std::string& frame, const std::string& rate)
{
    return build(of_s2x(frame, rate), "dvbs2x");
}

ldpc_code::sptr ldpc_code::dvbt2(const std::string& frame, const std::string& rate)
{
    return build(of_t2(frame, rate), "dvbt2");
}

int dvbs2_information_bits(const std::string& frame, const std::string& rate)
{
    return information_bits(of_s2(frame, rate));
}

int dvbs2x_information_bits(const std::string& frame, const std::string& rate)
{
    return information_bits(of_s2x(frame, rate));
}

int dvbt2_information_bits(const std::string& frame, const std::string& rate)
{
    return information_bits(of_t2(frame, rate));
}

} // namespace gr::cudaphy::kernels
