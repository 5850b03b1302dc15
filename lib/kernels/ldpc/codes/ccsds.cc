/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/alternatives.h"
#include "kernels/ldpc/codes/builder.h"
#include "kernels/ldpc/codes/tables.h"
#include <numeric>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

[[noreturn]] void refuse(const std::string& code, const std::string& what, int k)
{
    throw std::invalid_argument("CCSDS " + code + " codes have k = " + what + ", not " +
                                std::to_string(k));
}

//! M, the size of H's blocks, is a power of two: k is 2, 4 or 8 of them.
ldpc_code::sptr ar4ja(int k, const std::string& rate)
{
    struct geometry {
        const char* rate;
        int blocks;       // of the information
        int first_column; // of ar4ja_blocks
    };
    static constexpr geometry rates[] = { { "1/2", 2, 6 },
                                          { "2/3", 4, 4 },
                                          { "4/5", 8, 0 } };
    if (k != 1024 && k != 4096 && k != 16384) {
        refuse("AR4JA", "1024, 4096 or 16384", k);
    }
    const auto any = [](const auto&) { return true; };
    const auto& chosen = *of_rate(rates, rate, "CCSDS AR4JA codes", any);
    const int m = k / chosen.blocks;
    const int z = m / 4;
    int size = 0; // which of the permutations' sizes
    while (128 << size < m) {
        ++size;
    }

    ldpc_code_description code;
    code.name = "ccsds ar4ja " + std::to_string(k) + " " + rate;
    code.n = k + 3 * m;
    code.systematic = true;
    code.factor = default_factor("ccsds ar4ja", rate);
    // The last M columns are not sent.
    code.punctured.resize(m);
    std::iota(code.punctured.begin(), code.punctured.end(), code.n - m);
    auto& blocks = code.circulants;
    blocks.lifting_size = z;
    blocks.block_rows = 3 * 4;
    blocks.block_columns = code.n / z;
    for (const auto& block : ldpc_tables::ar4ja_blocks) {
        const int column = block.column - chosen.first_column;
        if (column < 0) {
            continue;
        }
        for (int j = 0; j < 4; ++j) {
            int quarter = j;
            int shift = 0;
            if (block.permutation > 0) {
                const auto& pi = ldpc_tables::ar4ja[block.permutation - 1];
                quarter = (pi.theta + j) % 4;
                shift = pi.phi[j][size];
            }
            blocks.all.push_back({ 4 * block.row + j, 4 * column + quarter, shift });
        }
    }
    std::sort(blocks.all.begin(), blocks.all.end(), [](const auto& a, const auto& b) {
        return std::tie(a.row, a.column, a.shift) < std::tie(b.row, b.column, b.shift);
    });
    code.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(code));
}

ldpc_code_description of_circulants(const ldpc_tables::circulant_code& table)
{
    ldpc_code_description code;
    code.n = table.block_columns * table.lifting_size;
    auto& blocks = code.circulants;
    blocks.lifting_size = table.lifting_size;
    blocks.block_rows = table.block_rows;
    blocks.block_columns = table.block_columns;
    for (const auto* c = table.begin; c != table.end; ++c) {
        blocks.all.push_back({ c->row, c->column, c->shift });
    }
    code.add_rows_of_circulants();
    return code;
}

ldpc_code::sptr telecommand(int k)
{
    if (k != 64 && k != 256) {
        refuse("TC", "64 or 256", k);
    }
    auto code =
        of_circulants(k == 64 ? ldpc_tables::ccsds_tc_128 : ldpc_tables::ccsds_tc_512);
    code.name = "ccsds tc " + std::to_string(k);
    code.factor = default_factor("ccsds tc", std::to_string(k));
    code.systematic = true;
    return ldpc_code_builder::build(std::move(code));
}

ldpc_code::sptr near_earth(int k)
{
    if (k != 7154 && k != 7136) {
        refuse("C2", "7154 or 7136", k);
    }
    auto code = of_circulants(ldpc_tables::ccsds_c2);
    code.name = "ccsds c2 " + std::to_string(k);
    code.factor = default_factor("ccsds c2");
    code.shortened.resize(7154 - k);
    std::iota(code.shortened.begin(), code.shortened.end(), 0);
    return ldpc_code_builder::build(std::move(code));
}

} // namespace

ldpc_code::sptr
ldpc_code::ccsds(const std::string& family, int k, const std::string& rate)
{
    if (family == "ar4ja") {
        return ar4ja(k, rate);
    }
    const std::string only = family == "tc" ? "1/2" : "7/8";
    if ((family == "tc" || family == "c2") && !rate.empty() && rate != only) {
        throw std::invalid_argument("CCSDS codes of family " + quoted(family) +
                                    " have rate " + quoted(only) + ", not " +
                                    quoted(rate));
    }
    if (family == "tc") {
        return telecommand(k);
    }
    if (family == "c2") {
        return near_earth(k);
    }
    throw std::invalid_argument(
        "CCSDS codes are of family \"ar4ja\", \"tc\" or \"c2\", not " + quoted(family));
}

} // namespace gr::cudaphy::kernels
