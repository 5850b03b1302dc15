/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/encoding_plan.h"
#include "kernels/ldpc/algebra/elimination.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! The place of each column of H: transmitted columns in order, then punctured columns;
//! -1 for shortened columns.
std::vector<int> slots_of(const ldpc_code& code)
{
    std::vector<int> slot(code.variables(), -1);
    int next = 0;
    for (int i = 0; i < code.n(); ++i) {
        slot[code.transmitted().empty() ? i : code.transmitted()[i]] = next++;
    }
    for (const int column : code.punctured()) {
        slot[column] = next++;
    }
    return slot;
}

//! Steps, sorted by the level at which all their sources are known.
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

    //! Appends the levels to the plan and clears them. All places then count as ready
    //! until a step gives them a new value.
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
    const auto order = eliminate(code);
    const auto slot = slots_of(code);
    std::vector<char> is_information(code.variables());
    for (const int column : code.info_positions()) {
        info.push_back(slot[column]);
        is_information[column] = 1;
    }
    // The places of a check's bits that `wanted` takes, except column `without`.
    const auto bits = [&](int row, int without, auto wanted) {
        std::vector<int> all;
        for (int e = code.row_start()[row]; e < code.row_start()[row + 1]; ++e) {
            const int column = code.columns()[e];
            if (column != without && slot[column] >= 0 && wanted(column)) {
                all.push_back(slot[column]);
            }
        }
        return all;
    };
    const auto information = [&](int column) -> bool { return is_information[column]; };
    const auto parity = [&](int column) { return !is_information[column]; };

    if (order.aside.empty()) {
        // A chain: each step needs only the step before.
        bool is_chain = order.steps.size() > 1;
        for (size_t s = 0; s < order.steps.size() && is_chain; ++s) {
            const auto needed = bits(order.steps[s].row, order.steps[s].column, parity);
            is_chain =
                s == 0 ? needed.empty()
                       : needed == std::vector<int>{ slot[order.steps[s - 1].column] };
        }
        levels all(*this);
        for (const auto& step : order.steps) {
            all.add(slot[step.column],
                    is_chain ? bits(step.row, -1, information)
                             : bits(step.row, step.column, [](int) { return true; }));
            if (is_chain) {
                chain.push_back(slot[step.column]);
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
    // The steps on which the left-over checks depend. All other steps run only once.
    std::vector<char> needed(code.variables());
    const auto need = [&](int row) {
        for (int e = code.row_start()[row]; e < code.row_start()[row + 1]; ++e) {
            needed[code.columns()[e]] = 1;
        }
    };
    for (const int row : solution.chosen) {
        need(row);
    }
    for (auto step = order.steps.rbegin(); step != order.steps.rend(); ++step) {
        if (needed[step->column]) {
            need(step->row);
        }
    }
    std::vector<int> half(order.steps.size(), -1);
    for (size_t s = 0; s < order.steps.size(); ++s) {
        if (needed[order.steps[s].column]) {
            half[s] = slots++;
        }
    }
    const int chosen = static_cast<int>(solution.chosen.size());
    const int rest = slots;
    slots += chosen;
    levels all(*this);

    // The sum of each check's information bits, used twice.
    for (size_t s = 0; s < order.steps.size(); ++s) {
        if (half[s] >= 0) {
            all.add(half[s], bits(order.steps[s].row, -1, information));
        }
    }
    for (int i = 0; i < chosen; ++i) {
        all.add(rest + i, bits(solution.chosen[i], -1, information));
    }
    all.flush(*this);

    // The parity bits as if the bits set aside were 0, and the sums of the left-over
    // checks with them.
    const auto solved = [&](int column) { return parity(column) && !is_aside[column]; };
    for (size_t s = 0; s < order.steps.size(); ++s) {
        if (half[s] >= 0) {
            auto sources = bits(order.steps[s].row, order.steps[s].column, solved);
            sources.push_back(half[s]);
            all.add(slot[order.steps[s].column], std::move(sources));
        }
    }
    for (int i = 0; i < chosen; ++i) {
        auto sources = bits(solution.chosen[i], -1, solved);
        sources.push_back(rest + i);
        all.add(rest + i, std::move(sources));
    }
    all.flush(*this);

    // The bits set aside, and then all other parity bits with them.
    for (size_t i = 0; i < order.aside.size(); ++i) {
        std::vector<int> sources;
        sources.reserve(chosen);
        solution.inverse.for_each_one(
            i, [&](size_t j) { sources.push_back(rest + static_cast<int>(j)); });
        all.add(slot[order.aside[i]], std::move(sources));
    }
    for (size_t s = 0; s < order.steps.size(); ++s) {
        const auto [row, column] = order.steps[s];
        auto sources = half[s] >= 0 ? bits(row, column, parity)
                                    : bits(row, column, [](int) { return true; });
        if (half[s] >= 0) {
            sources.push_back(half[s]);
        }
        all.add(slot[column], std::move(sources));
    }
    all.flush(*this);
}

} // namespace gr::cudaphy::kernels
