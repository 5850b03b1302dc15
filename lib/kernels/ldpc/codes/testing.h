/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of codes.

#include "kernels/ldpc/codes/builder.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace gr::cudaphy::testing {

using namespace kernels;

//! The ones of each column of H.
inline std::vector<int> column_weights(const ldpc_code& code)
{
    std::vector<int> weights(code.variables());
    for (const int column : code.columns()) {
        ++weights[column];
    }
    return weights;
}

//! How many items there are of each value.
inline std::map<int, int> counted(const std::vector<int>& items)
{
    std::map<int, int> counts;
    for (const int item : items) {
        ++counts[item];
    }
    return counts;
}

inline std::map<int, int> row_weights(const ldpc_code& code)
{
    std::vector<int> weights(code.checks());
    for (int r = 0; r < code.checks(); ++r) {
        weights[r] = code.row_start()[r + 1] - code.row_start()[r];
    }
    return counted(weights);
}

//! The length of the shortest cycle of H's graph, looked for from every `step`-th column.
inline int girth(const ldpc_code& code, int step)
{
    std::vector<std::vector<int>> rows_of(code.variables());
    for (int r = 0; r < code.checks(); ++r) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            rows_of[code.columns()[e]].push_back(r);
        }
    }
    int shortest = code.edges() + 1;
    for (int start = 0; start < code.variables(); start += step) {
        // Bits and checks by distance; a node found a second time closes a cycle.
        std::map<int, int> bits{ { start, 0 } }, checks;
        std::vector<std::pair<int, int>> now{ { start, -1 } }; // a bit, by which check
        for (int d = 0; !now.empty() && 2 * d + 2 < shortest; d += 2) {
            std::vector<std::pair<int, int>> next;
            for (const auto& [bit, from] : now) {
                for (const int r : rows_of[bit]) {
                    if (r == from) {
                        continue;
                    }
                    if (!checks.emplace(r, d + 1).second) {
                        shortest = std::min(shortest, d + checks[r] + 1);
                        continue;
                    }
                    for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
                        const int other = code.columns()[e];
                        if (other == bit) {
                            continue;
                        }
                        if (!bits.emplace(other, d + 2).second) {
                            shortest = std::min(shortest, d + 1 + bits[other] + 1);
                        } else {
                            next.push_back({ other, r });
                        }
                    }
                }
            }
            now = std::move(next);
        }
    }
    return shortest;
}

//! The result of elimination, without knowledge of the family.
inline std::vector<int> eliminated(const ldpc_code& code)
{
    ldpc_code_description same;
    same.name = code.name();
    same.n = code.variables();
    same.row_start = code.row_start();
    same.columns = code.columns();
    return free_columns(same);
}

inline std::vector<int> first(int k)
{
    std::vector<int> all(k);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

//! The rows that the circulants describe are H's.
inline bool circulants_are_h(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    const int z = blocks.lifting_size;
    std::vector<std::vector<int>> rows(code.checks());
    for (const auto& c : blocks.all) {
        for (int i = 0; i < z; ++i) {
            if (i != c.missing) {
                const int check = c.row * z + i;
                const int bit = c.column * z + (i + c.shift) % z;
                rows[blocks.checks.empty() ? check : blocks.checks[check]].push_back(
                    blocks.bits.empty() ? bit : blocks.bits[bit]);
            }
        }
    }
    for (int r = 0; r < code.checks(); ++r) {
        std::sort(rows[r].begin(), rows[r].end());
        if (!std::equal(rows[r].begin(),
                        rows[r].end(),
                        code.columns().begin() + code.row_start()[r],
                        code.columns().begin() + code.row_start()[r + 1])) {
            return false;
        }
    }
    return z > 0;
}

} // namespace gr::cudaphy::testing
