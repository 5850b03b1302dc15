/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include <algorithm>
#include <numeric>
#include <random>

namespace gr::cudaphy::kernels {
namespace {

constexpr int fewest_columns = 32768;
constexpr int most_rows = 512;

// The search accepts a change if it costs no more than a threshold, which falls to 0. All
// numbers are integers, so that the result is the same on every machine.
constexpr int trials = 120000;
constexpr int greatest_threshold = 12;

// Costs in instructions of a thread, roughly. clash: the rows of a pair share a column,
// which the result must not have. wait: a pair needs a column of the pair before; late:
// each such column. handed: a thread keeps a column in a register for its next row.
constexpr int clash_cost = 60, wait_cost = 8, late_cost = 2, handed_gain = 4;

class row_pairing
{
public:
    explicit row_pairing(const ldpc_circulants& blocks)
        : d_rows(blocks.block_rows), d_pairs((d_rows + 1) / 2), d_shared(d_rows * d_rows),
          d_handed(d_rows * d_rows)
    {
        std::vector<std::vector<const ldpc_circulants::circulant*>> of(
            blocks.block_columns);
        for (const auto& one : blocks.all) {
            of[one.column].push_back(&one);
        }
        for (const auto& column : of) {
            const bool is_own =
                std::all_of(column.begin(), column.end(), [&](const auto* one) {
                    return one->missing < 0 && one->shift == column[0]->shift &&
                           is_upper(one->row) == is_upper(column[0]->row);
                });
            for (const auto* a : column) {
                for (const auto* b : column) {
                    ++(is_own ? d_handed : d_shared)[a->row * d_rows + b->row];
                }
            }
        }
        d_order.resize(2 * d_pairs, -1);
        for (int i = 0; i < d_rows; ++i) {
            d_order[is_upper(i) ? 2 * i : 2 * (i - d_pairs) + 1] = i;
        }
    }

    //! Whether no pair shares a column in the end.
    bool search()
    {
        std::minstd_rand random(1);
        for (int trial = 0; trial < trials; ++trial) {
            const int threshold = greatest_threshold * (trials - trial) / trials;
            const int half = random() % 2;
            const int a = 2 * (random() % d_pairs) + half;
            const int b = 2 * (random() % d_pairs) + half;
            if (a == b || d_order[a] < 0 || d_order[b] < 0) {
                continue;
            }
            const int before = cost_around(a, b);
            std::swap(d_order[a], d_order[b]);
            if (cost_around(a, b) > before + threshold) {
                std::swap(d_order[a], d_order[b]);
            }
        }
        for (int pair = 0; pair < d_pairs; ++pair) {
            if (clashes(pair) > 0) {
                return false;
            }
        }
        return true;
    }

    std::vector<std::array<int, 2>> pairs() const
    {
        std::vector<std::array<int, 2>> out;
        for (int pair = 0; pair < d_pairs; ++pair) {
            out.push_back({ d_order[2 * pair], d_order[2 * pair + 1] });
        }
        return out;
    }

private:
    bool is_upper(int row) const { return row < d_pairs; }

    static int among(const std::vector<int>& counts, int a, int b, int rows)
    {
        return a < 0 || b < 0 ? 0 : counts[a * rows + b];
    }
    int clashes(int pair) const
    {
        return among(d_shared, d_order[2 * pair], d_order[2 * pair + 1], d_rows);
    }
    //! The cost of a pair and of its step from the pair before.
    int cost(int pair) const
    {
        int out = clash_cost * clashes(pair);
        if (pair > 0) {
            int late = 0;
            for (const int here : { 0, 1 }) {
                const int row = d_order[2 * pair + here];
                for (const int there : { 0, 1 }) {
                    late += among(d_shared, d_order[2 * pair - 2 + there], row, d_rows);
                }
                out -= handed_gain *
                       among(d_handed, d_order[2 * pair - 2 + here], row, d_rows);
            }
            out += late_cost * late + (late > 0 ? wait_cost : 0);
        }
        return out;
    }
    //! The cost of all pairs that these two places belong to.
    int cost_around(int a, int b) const
    {
        const int first = std::min(a, b) / 2, second = std::max(a, b) / 2;
        int out = cost(first) + cost(second);
        if (first + 1 < second) {
            out += cost(first + 1);
        }
        if (second + 1 < d_pairs) {
            out += cost(second + 1);
        }
        return out;
    }

    int d_rows, d_pairs;
    std::vector<int> d_shared, d_handed; //!< columns that two rows have in common
    std::vector<int> d_order;            //!< pair by pair
};

} // namespace

std::vector<std::array<int, 2>> ldpc_row_pairs(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    if (code.variables() < fewest_columns || blocks.lifting_size % 2 != 0 ||
        blocks.block_rows < 2 || blocks.block_rows > most_rows) {
        return {};
    }
    row_pairing pairing(blocks);
    return pairing.search() ? pairing.pairs() : std::vector<std::array<int, 2>>();
}

std::vector<int> ldpc_row_order(const std::vector<std::array<int, 2>>& pairs, int rows)
{
    std::vector<int> order;
    for (const auto& pair : pairs) {
        for (const int row : pair) {
            if (row >= 0) {
                order.push_back(row);
            }
        }
    }
    if (order.empty()) {
        order.resize(rows);
        std::iota(order.begin(), order.end(), 0);
    }
    return order;
}

} // namespace gr::cudaphy::kernels
