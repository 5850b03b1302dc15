/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/builder.h"
#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

/*!
 * Progressive edge growth with circulants in place of edges. (Hu, Eleftheriou and Arnold,
 * IEEE Trans. Inf. Theory 51(1), 2005; Li and Kumar, Asilomar 2004.) Block columns in
 * turn take their circulants one by one. Each goes into a block row that has few yet,
 * with a shift drawn at random, so that it closes no cycle shorter than `long_enough`;
 * if that is impossible, the position with the longest cycle is taken.
 */
class growth
{
public:
    growth(int lifting_size, int block_rows, int block_columns)
        : d_z(lifting_size), d_of_column(block_columns), d_of_row(block_rows),
          d_seen(block_columns * lifting_size), d_shifts(lifting_size)
    {
        std::iota(d_shifts.begin(), d_shifts.end(), 0);
    }

    void add(int column, size_t row_weight)
    {
        std::vector<int> rows;
        for (size_t r = 0; r < d_of_row.size(); ++r) {
            if (d_of_row[r].size() < row_weight) {
                rows.push_back(static_cast<int>(r));
            }
        }
        std::stable_sort(rows.begin(), rows.end(), [this](int a, int b) {
            return d_of_row[a].size() < d_of_row[b].size();
        });
        for (int i = d_z - 1; i > 0; --i) {
            std::swap(d_shifts[i], d_shifts[d_random() % (i + 1)]);
        }
        edge best{ rows[0], d_shifts[0] };
        int longest = 0;
        int tries = most_tries;
        for (const int row : rows) {
            for (const int shift : d_shifts) {
                if (longest < long_enough && tries > 0) {
                    --tries;
                    insert(column, { row, shift });
                    const int cycle = shortest_cycle(column, row, shift);
                    remove(column, row);
                    if (cycle > longest) {
                        longest = cycle;
                        best = { row, shift };
                    }
                }
            }
        }
        insert(column, best);
    }

    ldpc_circulants circulants() const
    {
        ldpc_circulants blocks;
        blocks.lifting_size = d_z;
        blocks.block_rows = static_cast<int>(d_of_row.size());
        blocks.block_columns = static_cast<int>(d_of_column.size());
        for (int r = 0; r < blocks.block_rows; ++r) {
            auto row = d_of_row[r];
            std::sort(row.begin(), row.end(), [](const edge& a, const edge& b) {
                return std::tie(a.block, a.shift) < std::tie(b.block, b.shift);
            });
            for (const auto& e : row) {
                blocks.all.push_back({ r, e.block, e.shift });
            }
        }
        return blocks;
    }

private:
    //! A circulant, as its block column or its block row has it.
    struct edge {
        int block, shift;
    };

    static constexpr int long_enough = 8;
    static constexpr int most_tries = 200;

    void insert(int column, const edge& e)
    {
        d_of_column[column].push_back(e);
        d_of_row[e.block].push_back({ column, e.shift });
    }

    void remove(int column, int row)
    {
        d_of_column[column].pop_back();
        d_of_row[row].pop_back();
    }

    //! The edges of the shortest cycle through this circulant, or long_enough: bit 0 of
    //! the column is looked for from the check that the circulant connects it to. A
    //! circulant that stands there twice makes a cycle of 2.
    int shortest_cycle(int column, int row, int shift)
    {
        const int target = column * d_z;
        std::vector<int> checks{ row * d_z + (d_z - shift) % d_z }, next;
        ++d_search;
        for (int edges = 2; edges < long_enough; edges += 2, std::swap(checks, next)) {
            next.clear();
            for (const int check : checks) {
                bool first = edges == 2;
                for (const auto& e : d_of_row[check / d_z]) {
                    const int bit = e.block * d_z + (check % d_z + e.shift) % d_z;
                    if (bit == target && !first) {
                        return edges;
                    }
                    first = first && bit != target; // the edge where the search began
                    if (bit == target || d_seen[bit] == d_search) {
                        continue;
                    }
                    d_seen[bit] = d_search;
                    for (const auto& up : d_of_column[e.block]) {
                        const int i = (bit % d_z + d_z - up.shift) % d_z;
                        if (up.block * d_z + i != check) {
                            next.push_back(up.block * d_z + i);
                        }
                    }
                }
            }
        }
        return long_enough;
    }

    int d_z;
    std::vector<std::vector<edge>> d_of_column, d_of_row;
    std::vector<int> d_seen; // the last search that came to each bit
    int d_search = 0;
    std::vector<int> d_shifts;
    std::mt19937 d_random{ 1 };
};

} // namespace

ldpc_code::sptr ldpc_code::regular(int n, int column_weight, int row_weight)
{
    const auto require = [](bool valid, const std::string& what, int value) {
        if (!valid) {
            throw std::invalid_argument("regular LDPC codes have " + what + ", not " +
                                        std::to_string(value));
        }
    };
    constexpr int heaviest_column = 6;
    constexpr int heaviest_row = 32;
    constexpr int longest = 1 << 14;
    require(column_weight >= 2 && column_weight <= heaviest_column,
            "columns of weight 2 to 6",
            column_weight);
    require(row_weight > column_weight && row_weight <= heaviest_row,
            "rows heavier than columns, to 32",
            row_weight);
    require(n > 0 && n <= longest, "n from 1 to 16384", n);
    // Twice as many block columns as ones in a row leave room for girth 8; as few as
    // that, so that the circulants are large.
    const int step = row_weight / std::gcd(column_weight, row_weight);
    int block_columns = (2 * row_weight + step - 1) / step * step;
    while (block_columns <= n / 2 && n % block_columns != 0) {
        block_columns += step;
    }
    require(block_columns <= n / 2,
            "an n that " + std::to_string(2 * row_weight) + " or more block columns, " +
                std::to_string(step) + " at a time, divide",
            n);
    growth grown(
        n / block_columns, block_columns * column_weight / row_weight, block_columns);
    for (int c = 0; c < block_columns; ++c) {
        for (int i = 0; i < column_weight; ++i) {
            grown.add(c, row_weight);
        }
    }
    ldpc_code_description code;
    code.name = "regular " + std::to_string(n) + " (" + std::to_string(column_weight) +
                ", " + std::to_string(row_weight) + ")";
    code.n = n;
    code.factor = default_factor("regular, column weight", std::to_string(column_weight));
    code.circulants = grown.circulants();
    code.add_rows_of_circulants();
    return ldpc_code_builder::build(std::move(code));
}

} // namespace gr::cudaphy::kernels
