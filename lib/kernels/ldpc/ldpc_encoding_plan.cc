/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_encoding_plan.h"
#include "kernels/ldpc/bit_matrix.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_aside = 8192;
constexpr double most_coefficients = 2147483648.0; // 256 MiB

//! The unknown bits, and which check gives which of them.
class elimination_order
{
public:
    //! A check that gives a bit once the bits before it are known.
    struct step {
        int row, column;
    };

    explicit elimination_order(const ldpc_code& code)
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
        while (steps.size() + aside.size() < parity) {
            const int r = next_row();
            if (d_unknown[r] == 1) {
                const int column = first_unknown(r);
                steps.push_back({ r, column });
                d_used[r] = true;
                become(column, state::solved);
            } else {
                set_aside(r);
            }
        }
        for (int r = 0; r < code.checks(); ++r) {
            if (!d_used[r]) {
                left_over.push_back(r);
            }
        }
    }

    bool is_information(int column) const
    {
        return d_state[column] == state::information;
    }
    //! Neither information nor known to be 0.
    bool is_parity(int column) const
    {
        return d_state[column] != state::information &&
               d_state[column] != state::shortened;
    }

    std::vector<step> steps;
    std::vector<int> aside, left_over;

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
            aside.push_back(busiest_unknown(r));
            become(aside.back(), state::aside);
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

//! The bits set aside, each as the sum of left-over checks: the inverse of the matrix
//! that is left when all solved bits are written in terms of those set aside. (aside,
//! chosen)
struct aside_solution {
    std::vector<int> chosen; //!< as many independent left-over checks as bits are aside
    bit_matrix inverse;
};

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

//! Where each column of H stands: transmitted ones in their order, then punctured ones;
//! -1 for those that are 0.
std::vector<int> places(const ldpc_code& code)
{
    std::vector<int> place(code.variables(), -1);
    int next = 0;
    for (int i = 0; i < code.n(); ++i) {
        place[code.transmitted().empty() ? i : code.transmitted()[i]] = next++;
    }
    for (const int column : code.punctured()) {
        place[column] = next++;
    }
    return place;
}

//! Steps by the level at which all that they need is known.
class levels
{
public:
    explicit levels(const ldpc_encoding_plan& plan) : d_ready(plan.slots) {}

    void add(int target, std::vector<int> sources)
    {
        size_t level = 0;
        for (const int source : sources) {
            level = std::max(level, d_ready[source]);
        }
        d_ready[target] = level + 1;
        if (d_steps.size() <= level) {
            d_steps.resize(level + 1);
        }
        d_steps[level].push_back({ target, std::move(sources) });
    }

    //! Appends the levels to the plan and starts afresh: all places then are ready, until
    //! they are given a new value.
    void flush(ldpc_encoding_plan& plan)
    {
        for (const auto& steps : d_steps) {
            for (const auto& [target, sources] : steps) {
                plan.target.push_back(target);
                plan.source.insert(plan.source.end(), sources.begin(), sources.end());
                plan.start.push_back(static_cast<int>(plan.source.size()));
            }
            plan.level.push_back(static_cast<int>(plan.target.size()));
        }
        d_steps.clear();
        std::fill(d_ready.begin(), d_ready.end(), 0);
    }

private:
    std::vector<size_t> d_ready;
    std::vector<std::vector<std::pair<int, std::vector<int>>>> d_steps;
};

} // namespace

ldpc_encoding_plan::ldpc_encoding_plan(const ldpc_code& code)
    : slots(code.variables() - static_cast<int>(code.shortened().size()))
{
    const elimination_order order(code);
    const auto place = places(code);
    for (const int column : code.info_positions()) {
        info.push_back(place[column]);
    }
    // Where the bits of a check are that `wanted` takes, without the one that it gives.
    const auto bits = [&](int row, int without, auto wanted) {
        std::vector<int> all;
        for (int e = code.row_start()[row]; e < code.row_start()[row + 1]; ++e) {
            const int column = code.columns()[e];
            if (column != without && place[column] >= 0 && wanted(column)) {
                all.push_back(place[column]);
            }
        }
        return all;
    };
    const auto information = [&](int column) { return order.is_information(column); };
    const auto parity = [&](int column) { return order.is_parity(column); };

    if (order.aside.empty()) {
        // A chain: each step needs the one before and no other.
        bool is_chain = order.steps.size() > 1;
        for (size_t s = 0; s < order.steps.size() && is_chain; ++s) {
            const auto needed = bits(order.steps[s].row, order.steps[s].column, parity);
            is_chain =
                s == 0 ? needed.empty()
                       : needed == std::vector<int>{ place[order.steps[s - 1].column] };
        }
        levels all(*this);
        for (const auto& step : order.steps) {
            all.add(place[step.column],
                    is_chain ? bits(step.row, -1, information)
                             : bits(step.row, step.column, [](int) { return true; }));
            if (is_chain) {
                chain.push_back(place[step.column]);
            }
        }
        all.flush(*this);
        return;
    }

    const auto solution = solve_aside(code, order);
    std::vector<char> is_aside(code.variables());
    for (const int column : order.aside) {
        is_aside[column] = 1;
    }
    const int steps = static_cast<int>(order.steps.size());
    const int chosen = static_cast<int>(solution.chosen.size());
    const int first = slots;
    slots += steps + chosen;
    levels all(*this);

    // The information's part of every check, used twice.
    for (int s = 0; s < steps; ++s) {
        all.add(first + s, bits(order.steps[s].row, -1, information));
    }
    for (int i = 0; i < chosen; ++i) {
        all.add(first + steps + i, bits(solution.chosen[i], -1, information));
    }
    all.flush(*this);

    // The parity bits as if those set aside were 0, and what this leaves of the left-over
    // checks.
    const auto solved = [&](int column) { return parity(column) && !is_aside[column]; };
    for (int s = 0; s < steps; ++s) {
        auto sources = bits(order.steps[s].row, order.steps[s].column, solved);
        sources.push_back(first + s);
        all.add(place[order.steps[s].column], std::move(sources));
    }
    for (int i = 0; i < chosen; ++i) {
        auto sources = bits(solution.chosen[i], -1, solved);
        sources.push_back(first + steps + i);
        all.add(first + steps + i, std::move(sources));
    }
    all.flush(*this);

    // The bits set aside, and with them the others once more.
    for (size_t i = 0; i < order.aside.size(); ++i) {
        std::vector<int> sources;
        for (int j = 0; j < chosen; ++j) {
            if (solution.inverse.get(i, j)) {
                sources.push_back(first + steps + j);
            }
        }
        all.add(place[order.aside[i]], std::move(sources));
    }
    for (int s = 0; s < steps; ++s) {
        auto sources = bits(order.steps[s].row, order.steps[s].column, parity);
        sources.push_back(first + s);
        all.add(place[order.steps[s].column], std::move(sources));
    }
    all.flush(*this);
}

} // namespace gr::cudaphy::kernels
