/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/algebra/elimination.h"
#include "kernels/ldpc/algebra/circulant_inverse.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_aside = 8192;
constexpr double most_coefficients = 2147483648.0; // 256 MiB

class elimination
{
public:
    explicit elimination(const ldpc_code& code)
        : d_code(code), d_state(code.variables(), state::unknown),
          d_rows(code.variables()), d_unknown(code.checks()), d_layer(code.checks()),
          d_used(code.checks())
    {
        for (const int column : code.info_positions()) {
            d_state[column] = state::information;
        }
        for (const int column : code.shortened()) {
            d_state[column] = state::shortened;
        }
        for (int r = 0; r < code.checks(); ++r) {
            for_each_column(r, [&](int column) {
                if (d_state[column] == state::unknown) {
                    d_rows[column].push_back(r);
                    ++d_unknown[r];
                }
            });
            file(r);
        }
        for (size_t l = 0; l < code.layers().size(); ++l) {
            for (const int r : code.layers()[l]) {
                d_layer[r] = static_cast<int>(l);
            }
        }
        const size_t parity =
            code.variables() - code.info_positions().size() - code.shortened().size();
        while (order.steps.size() + order.aside.size() < parity) {
            const int r = next_row();
            if (d_unknown[r] == 1) {
                const int column = first_unknown(r);
                order.steps.push_back({ r, column });
                d_used[r] = true;
                become(column, state::solved);
            } else {
                set_aside(r);
            }
        }
        for (int r = 0; r < code.checks(); ++r) {
            if (!d_used[r]) {
                order.left_over.push_back(r);
            }
        }
    }

    elimination_order order;

private:
    enum class state : char { information, shortened, unknown, solved, aside };

    template <typename Visit>
    void for_each_column(int row, Visit visit) const
    {
        for (int e = d_code.row_start()[row]; e < d_code.row_start()[row + 1]; ++e) {
            visit(d_code.columns()[e]);
        }
    }

    void file(int row)
    {
        const size_t unknown = d_unknown[row];
        if (unknown == 0 || d_used[row]) {
            return;
        }
        if (d_queues.size() <= unknown) {
            d_queues.resize(unknown + 1);
        }
        d_queues[unknown].push_back(row);
        d_lowest = std::min(d_lowest, unknown);
    }

    //! The row with the fewest unknown bits; of several, the one that had so few first. A
    //! row is in the queue of each number that it ever had; only the last entry counts.
    int next_row()
    {
        while (true) {
            auto& queue = d_queues[d_lowest];
            if (queue.ends()) {
                queue.clear();
                ++d_lowest;
                continue;
            }
            const int row = queue.pop();
            if (!d_used[row] && d_unknown[row] == static_cast<int>(d_lowest)) {
                return row;
            }
        }
    }

    int first_unknown(int row) const
    {
        int found = -1;
        for_each_column(row, [&](int column) {
            if (found < 0 && d_state[column] == state::unknown) {
                found = column;
            }
        });
        return found;
    }

    //! The unknown bit that most checks contain, because setting it aside helps most.
    int busiest_unknown(int row) const
    {
        int found = -1;
        for_each_column(row, [&](int column) {
            if (d_state[column] == state::unknown &&
                (found < 0 || d_rows[column].size() > d_rows[found].size())) {
                found = column;
            }
        });
        return found;
    }

    //! Sets a bit of this check aside. If all checks of its layer are in the same state,
    //! as in a quasi-cyclic code, it sets one bit of each aside. Then whole blocks are
    //! solved side by side; after a single bit the code would be solved bit by bit.
    void set_aside(int row)
    {
        const auto& layer = d_code.layers()[d_layer[row]];
        const bool all = std::all_of(layer.begin(), layer.end(), [&](int r) {
            return !d_used[r] && d_unknown[r] == d_unknown[row];
        });
        for (const int r : all ? layer : std::vector<int>{ row }) {
            order.aside.push_back(busiest_unknown(r));
            become(order.aside.back(), state::aside);
        }
    }

    void become(int column, state what)
    {
        d_state[column] = what;
        for (const int r : d_rows[column]) {
            --d_unknown[r];
            file(r);
        }
    }

    struct row_queue {
        std::vector<int> rows;
        size_t next = 0;

        bool ends() const { return next == rows.size(); }
        int pop() { return rows[next++]; }
        void push_back(int row) { rows.push_back(row); }
        void clear()
        {
            rows.clear();
            next = 0;
        }
    };

    const ldpc_code& d_code;
    std::vector<state> d_state;
    std::vector<std::vector<int>> d_rows; //!< of each unknown bit
    std::vector<int> d_unknown;           //!< bits of each row
    std::vector<int> d_layer;             //!< of each row
    std::vector<char> d_used;
    std::vector<row_queue> d_queues; //!< by the number of unknown bits
    size_t d_lowest = 0;
};

//! The same by whole circulants, if they have an inverse: hundreds of times as fast.
class block_elimination
{
public:
    explicit block_elimination(const ldpc_code& code)
        : d_blocks(code.circulants()), d_z(d_blocks.lifting_size),
          d_parity(d_blocks.block_columns),
          d_column(inverted(d_blocks.bits, code.variables())),
          d_check(inverted(d_blocks.checks, code.checks())), d_rows(d_blocks.block_rows)
    {
        for (const auto& one : d_blocks.all) {
            d_rows[one.row].push_back(one);
        }
        std::fill(d_parity.begin(), d_parity.end(), d_z);
        for (const auto* known : { &code.info_positions(), &code.shortened() }) {
            for (const int column : *known) {
                --d_parity[d_column[column] / d_z];
            }
        }
    }

    //! Orders the steps after the bits set aside block by block. Leaves the order
    //! unchanged if that is impossible.
    void regroup(elimination_order& order) const
    {
        const auto now = blocks_of(order);
        if (!now) {
            return;
        }
        order.steps.clear();
        order.left_over.clear();
        for (const auto& step : now->steps) {
            for (int i = 0; i < d_z; ++i) {
                order.steps.push_back({ at(d_blocks.checks, step.row, i),
                                        at(d_blocks.bits, step.column, i + step.shift) });
            }
        }
        for (const int row : now->left) {
            for (int i = 0; i < d_z; ++i) {
                order.left_over.push_back(at(d_blocks.checks, row, i));
            }
        }
    }

    //! The solution for an order from regroup().
    std::optional<aside_solution> solve(const elimination_order& order) const
    {
        const auto now = blocks_of(order);
        const auto inverse =
            now ? solve_aside(d_z, d_rows, now->steps, now->aside, now->left)
                : std::nullopt;
        return inverse ? std::optional(bit_by_bit(order, *now, *inverse)) : std::nullopt;
    }

private:
    using circulant = ldpc_circulants::circulant;

    //! The position of each number in a permutation; an empty one changes nothing.
    static std::vector<int> inverted(const std::vector<int>& permutation, int count)
    {
        std::vector<int> out(count);
        for (int i = 0; i < count; ++i) {
            out[permutation.empty() ? i : permutation[i]] = i;
        }
        return out;
    }

    //! The number in H of check or bit i modulo Z of a block.
    int at(const std::vector<int>& permutation, int block, int i) const
    {
        const int position = block * d_z + i % d_z;
        return permutation.empty() ? position : permutation[position];
    }

    struct blocks {
        std::vector<int> aside, left;
        std::vector<circulant> steps; //!< each gives its column
    };

    //! Nothing if a block is only partly parity, set aside or solved.
    std::optional<blocks> blocks_of(const elimination_order& order) const
    {
        blocks out;
        std::vector<int> count(d_parity.size());
        for (const int one : order.aside) {
            const int block = d_column[one] / d_z;
            if (++count[block] == 1) {
                out.aside.push_back(block);
            }
        }
        std::vector<char> open(d_parity.size());
        for (size_t b = 0; b < open.size(); ++b) {
            if ((d_parity[b] != 0 && d_parity[b] != d_z) ||
                (count[b] != 0 && count[b] != d_z)) {
                return {};
            }
            open[b] = d_parity[b] > 0 && count[b] == 0;
        }
        // A row whose only unknown block is one circulant gives that block.
        std::vector<char> used(d_rows.size());
        const auto take = [&](int row) {
            const circulant* by = nullptr;
            for (const auto& one : d_rows[row]) {
                if (open[one.column] && by) {
                    return false;
                }
                by = open[one.column] ? &one : by;
            }
            if (by) {
                out.steps.push_back(*by);
                open[by->column] = false;
                used[row] = true;
            }
            return by != nullptr;
        };
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (size_t row = 0; row < d_rows.size(); ++row) {
                goes_on |= !used[row] && take(static_cast<int>(row));
            }
        }
        for (size_t row = 0; row < d_rows.size(); ++row) {
            if (!used[row]) {
                out.left.push_back(static_cast<int>(row));
            }
        }
        return std::count(open.begin(), open.end(), 1) == 0 ? std::optional(out)
                                                            : std::nullopt;
    }

    aside_solution bit_by_bit(const elimination_order& order,
                              const blocks& now,
                              const ldpc_circulant_matrix& inverse) const
    {
        aside_solution out;
        std::vector<size_t> needed; // of the rows that are left
        for (size_t r = 0; r < now.left.size(); ++r) {
            if (std::any_of(inverse.begin(), inverse.end(), [r](const auto& sums) {
                    return sums[r].weight() > 0;
                })) {
                needed.push_back(r);
                for (int i = 0; i < d_z; ++i) {
                    out.chosen.push_back(at(d_blocks.checks, now.left[r], i));
                }
            }
        }
        out.inverse = bit_matrix(order.aside.size(), out.chosen.size());
        for (size_t i = 0; i < order.aside.size(); ++i) {
            const int position = d_column[order.aside[i]];
            const auto block =
                std::find(now.aside.begin(), now.aside.end(), position / d_z) -
                now.aside.begin();
            for (size_t r = 0; r < needed.size(); ++r) {
                const auto& sum = inverse[block][needed[r]];
                for (int t = 0; t < d_z; ++t) {
                    if (sum.has(t)) {
                        out.inverse.set(i, r * d_z + (position % d_z + d_z - t) % d_z);
                    }
                }
            }
        }
        return out;
    }

    const ldpc_circulants& d_blocks;
    const int d_z;
    std::vector<int> d_parity;                //!< bits of each block column
    const std::vector<int> d_column, d_check; //!< where each stands among the blocks
    std::vector<std::vector<circulant>> d_rows;
};

} // namespace

elimination_order eliminate(const ldpc_code& code)
{
    auto order = std::move(elimination(code).order);
    if (ldpc_circulant_sum::serves(code.circulants())) {
        block_elimination(code).regroup(order);
    }
    return order;
}

aside_solution solve_aside(const ldpc_code& code, const elimination_order& order)
{
    const size_t unknowns = order.aside.size();
    if (unknowns > most_aside ||
        static_cast<double>(unknowns) * code.checks() > most_coefficients) {
        throw std::invalid_argument(
            "ldpc_encoder: " + code.name() + " takes the inverse of a dense matrix of " +
            std::to_string(unknowns) + " rows beside " + std::to_string(code.checks()) +
            " checks; at most " + std::to_string(most_aside) +
            " rows and 2^31 coefficients are allowed");
    }
    if (ldpc_circulant_sum::serves(code.circulants())) {
        auto solution = block_elimination(code).solve(order);
        if (solution) {
            return std::move(*solution);
        }
    }
    // Each unknown bit in terms of those set aside.
    std::vector<int> position(code.variables(), -1);
    bit_matrix terms(unknowns + order.steps.size(), unknowns);
    size_t next = 0;
    for (const int column : order.aside) {
        terms.set(next, next);
        position[column] = static_cast<int>(next++);
    }
    const auto add_row = [&](int r, bit_matrix& to, size_t at) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            const int from = position[code.columns()[e]];
            if (from >= 0) {
                to.add(at, terms, from);
            }
        }
    };
    for (const auto& step : order.steps) {
        add_row(step.row, terms, next);
        position[step.column] = static_cast<int>(next++);
    }
    bit_matrix left(order.left_over.size(), unknowns);
    for (size_t i = 0; i < order.left_over.size(); ++i) {
        add_row(order.left_over[i], left, i);
    }
    aside_solution solution;
    const auto rows = independent_rows(left, unknowns);
    bit_matrix square(rows.size(), unknowns);
    for (size_t i = 0; i < rows.size(); ++i) {
        square.add(i, left, rows[i]);
        solution.chosen.push_back(order.left_over[rows[i]]);
    }
    solution.inverse = inverse_of(std::move(square));
    return solution;
}

} // namespace gr::cudaphy::kernels
