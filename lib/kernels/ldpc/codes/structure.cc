/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/bit_matrix.h"
#include "kernels/ldpc/algebra/dependent_columns.h"
#include "kernels/ldpc/codes/builder.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! The rows of each column, as ldpc_code keeps the columns of each row.
struct column_lists {
    std::vector<int> start, rows;

    explicit column_lists(const ldpc_code_description& code)
        : start(code.n + 1), rows(code.columns.size())
    {
        for (const int column : code.columns) {
            ++start[column + 1];
        }
        for (int c = 0; c < code.n; ++c) {
            start[c + 1] += start[c];
        }
        auto next = start;
        for (size_t r = 0; r + 1 < code.row_start.size(); ++r) {
            for (int e = code.row_start[r]; e < code.row_start[r + 1]; ++e) {
                rows[next[code.columns[e]]++] = static_cast<int>(r);
            }
        }
    }
};

} // namespace

std::vector<std::vector<int>>
independent_layers(const ldpc_code_description& code,
                   const std::vector<std::vector<int>>& groups)
{
    // First fit looks at every check that shares a bit with this one, which takes the sum
    // of the squared column weights. If a few heavy columns make this too much, a check
    // goes behind the last layer with one of its bits, which takes one look at each bit.
    const column_lists lists(code);
    double pairs = 0;
    for (int c = 0; c < code.n; ++c) {
        const double weight = lists.start[c + 1] - lists.start[c];
        pairs += weight * weight;
    }
    const bool first_fit = pairs < 1e9;

    std::vector<std::vector<int>> layers;
    std::vector<int> layer_of(code.row_start.size() - 1, -1), last_of(code.n, -1);
    std::vector<int> taken_by;
    for (const auto& group : groups) {
        const int base = static_cast<int>(layers.size());
        for (const int r : group) {
            int layer = base;
            for (int e = code.row_start[r]; e < code.row_start[r + 1]; ++e) {
                const int c = code.columns[e];
                if (!first_fit) {
                    layer = std::max(layer, last_of[c] + 1);
                    continue;
                }
                for (int i = lists.start[c]; i < lists.start[c + 1]; ++i) {
                    const int other = layer_of[lists.rows[i]];
                    if (other >= base) {
                        taken_by[other] = r;
                    }
                }
            }
            while (first_fit && layer < static_cast<int>(taken_by.size()) &&
                   taken_by[layer] == r) {
                ++layer;
            }
            if (layer == static_cast<int>(layers.size())) {
                layers.emplace_back();
                taken_by.resize(layers.size(), -1);
            }
            layers[layer].push_back(r);
            layer_of[r] = layer;
            for (int e = code.row_start[r]; e < code.row_start[r + 1]; ++e) {
                last_of[code.columns[e]] = layer;
            }
        }
    }
    return layers;
}

std::vector<int> free_columns(const ldpc_code_description& code)
{
    const column_lists lists(code);
    const int rows = static_cast<int>(code.row_start.size()) - 1;
    std::vector<char> used(rows), shortened(code.n);
    std::vector<int> free;
    for (const int c : code.shortened) {
        shortened[c] = 1; // always 0, as if H lacked the column
    }

    // A staircase at the right end needs no elimination: while at most one unused row has
    // the column, that row is its pivot, and no other row changes.
    int column = code.n - 1;
    int left = rows;
    for (; column >= 0; --column) {
        if (shortened[column]) {
            continue;
        }
        int pivot = -1;
        int found = 0;
        for (int i = lists.start[column]; i < lists.start[column + 1]; ++i) {
            if (!used[lists.rows[i]]) {
                pivot = lists.rows[i];
                ++found;
            }
        }
        if (found > 1) {
            break;
        }
        if (found == 0) {
            free.push_back(column);
        } else {
            used[pivot] = 1;
            --left;
        }
    }

    // The rest by elimination on packed words.
    const int columns = column + 1;
    if (int64_t{ left } * columns > code.most_eliminated) {
        throw std::invalid_argument(
            code.name + ": the rank of this matrix takes elimination of " +
            std::to_string(left) + " rows of " + std::to_string(columns) +
            " bits, and at most " +
            (code.most_eliminated < code.eliminated_at_all
                 ? std::to_string(code.most_eliminated) +
                       " bits are allowed in a file of this length"
                 : std::string("2^31 bits are allowed")));
    }
    bit_matrix dense(left, columns);
    int row = 0;
    for (int r = 0; r < rows; ++r) {
        if (used[r]) {
            continue;
        }
        for (int e = code.row_start[r]; e < code.row_start[r + 1]; ++e) {
            if (code.columns[e] < columns) {
                dense.set(row, code.columns[e]);
            }
        }
        ++row;
    }
    for (const int dependent : dependent_columns(dense, columns, shortened)) {
        free.push_back(dependent);
    }
    std::reverse(free.begin(), free.end());
    return free;
}

} // namespace gr::cudaphy::kernels
