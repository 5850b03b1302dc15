/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_elimination.h"
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

    //! The row with the fewest unknown bits, of these the one that came to it first. A
    //! row stands in the queue of each number that it ever had; only the last counts.
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

    //! The unknown bit that the most checks contain: setting it aside helps the most.
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

    //! Sets a bit of this check aside. Where all checks of its layer are in the same
    //! state, as in a quasi-cyclic code, one of each: one alone might do, but would then
    //! solve the code bit by bit, where now whole blocks are solved side by side.
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

} // namespace

elimination_order eliminate(const ldpc_code& code)
{
    return std::move(elimination(code).order);
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
    // What each unknown bit is in terms of those set aside.
    std::vector<int> place(code.variables(), -1);
    bit_matrix terms(unknowns + order.steps.size(), unknowns);
    size_t next = 0;
    for (const int column : order.aside) {
        terms.set(next, next);
        place[column] = static_cast<int>(next++);
    }
    const auto add_row = [&](int r, bit_matrix& to, size_t at) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            const int from = place[code.columns()[e]];
            if (from >= 0) {
                to.add(at, terms, from);
            }
        }
    };
    for (const auto& step : order.steps) {
        add_row(step.row, terms, next);
        place[step.column] = static_cast<int>(next++);
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
