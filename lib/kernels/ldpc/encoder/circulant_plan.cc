/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/circulant_plan.h"
#include "kernels/ldpc/algebra/circulant_inverse.h"
#include "kernels/ldpc/algebra/circulant_product.h"
#include "kernels/ldpc/algebra/elimination.h"
#include <algorithm>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

constexpr int least_lifting_size = 16;
constexpr int least_run = 8; // of a codeword's bits in a string
constexpr int most_strings = 4096;
constexpr size_t most_dense_words = size_t{ 1 } << 17; // 1 MiB
constexpr int most_sparse_terms = 8;                   // of a string set aside
constexpr size_t most_aside = 4096;                    // bits; by products, twice as many

//! The (block, bit) of each column of H.
struct block_places {
    explicit block_places(const ldpc_code& code) : at(code.variables())
    {
        const auto& blocks = code.circulants();
        const int z = blocks.lifting_size;
        for (int i = 0; i < code.variables(); ++i) {
            at[blocks.bits.empty() ? i : blocks.bits[i]] = { i / z, i % z };
        }
    }

    struct place {
        int block, bit;
    };
    std::vector<place> at;
};

class planner
{
public:
    explicit planner(const ldpc_code& code)
        : d_code(code), d_blocks(code.circulants()), d_z(d_blocks.lifting_size),
          d_places(code), d_known(d_blocks.block_columns, true),
          d_order(d_blocks.block_rows), d_row(d_blocks.block_rows),
          d_used(d_blocks.block_rows)
    {
        // As H has them, not as decoders visit them.
        std::iota(d_order.begin(), d_order.end(), 0);
        std::sort(d_order.begin(), d_order.end(), [this](int a, int b) {
            return check(a, 0) < check(b, 0);
        });
    }

    bool run()
    {
        plan.lifting_size = d_z;
        plan.strings = d_blocks.block_columns;
        find_unknown();
        if (!take_inputs() || !put_outputs()) {
            return false;
        }
        for (const auto& c : d_blocks.all) {
            d_row[c.row].push_back(c);
        }
        if (!eliminate_blocks()) {
            return false;
        }
        if (d_aside.empty()) {
            for (const auto& step : d_steps) {
                solve(
                    step, plan.sums, [](int) { return true; }, -1);
            }
        } else if (!solve_in_three_passes()) {
            return false;
        }
        find_rotated();
        return true;
    }

    ldpc_circulant_plan plan;

private:
    using circulant = ldpc_circulants::circulant;
    struct step {
        circulant by; //!< the circulant that gives its column
    };

    int column(int block, int bit) const
    {
        const int i = block * d_z + bit;
        return d_blocks.bits.empty() ? i : d_blocks.bits[i];
    }
    int check(int row, int i) const
    {
        return d_blocks.checks.empty() ? row * d_z + i : d_blocks.checks[row * d_z + i];
    }

    void find_unknown()
    {
        d_parity.assign(d_code.variables(), 1);
        for (const int c : d_code.info_positions()) {
            d_parity[c] = 0;
        }
        for (const int c : d_code.shortened()) {
            d_parity[c] = 0;
        }
        for (int b = 0; b < d_blocks.block_columns; ++b) {
            int unknown = 0;
            for (int i = 0; i < d_z; ++i) {
                unknown += d_parity[column(b, i)];
            }
            d_known[b] = unknown == 0;
            if (unknown > 0 && unknown < d_z) {
                plan.mixed.push_back(b);
            }
        }
    }

    bool is_mixed(int b) const
    {
        return std::binary_search(plan.mixed.begin(), plan.mixed.end(), b);
    }

    //! A run of information bits a string; those of mixed strings bit by bit.
    bool take_inputs()
    {
        const auto& info = d_code.info_positions();
        const int k = d_code.k();
        for (int i = 0; i < k;) {
            const auto first = d_places.at[info[i]];
            if (is_mixed(first.block)) {
                plan.input_bits.push_back({ i++, first.block, first.bit });
                continue;
            }
            int bits = 1;
            while (i + bits < k && d_places.at[info[i + bits]].block == first.block &&
                   d_places.at[info[i + bits]].bit == first.bit + bits) {
                ++bits;
            }
            const bool again =
                std::any_of(plan.input_runs.begin(),
                            plan.input_runs.end(),
                            [&](const auto& run) { return run.string == first.block; });
            if (again) {
                return false;
            }
            plan.input_runs.push_back({ i, first.block, first.bit, bits });
            i += bits;
        }
        return plan.input_bits.size() * 16 <= static_cast<size_t>(k);
    }

    bool put_outputs()
    {
        const auto& sent = d_code.transmitted();
        const auto at = [&](int i) { return d_places.at[sent.empty() ? i : sent[i]]; };
        for (int i = 0; i < d_code.n();) {
            const auto first = at(i);
            int bits = 1;
            while (i + bits < d_code.n() && at(i + bits).block == first.block &&
                   at(i + bits).bit == first.bit + bits) {
                ++bits;
            }
            if (bits >= least_run) {
                plan.outputs.push_back({ first.block, first.bit, bits });
                i += bits;
                continue;
            }
            // All other bits must be interleaved strings. Any other order is not
            // supported.
            plan.interleaved = first.block;
            plan.ways = (d_code.n() - i) / d_z;
            for (int j = 0; j < d_code.n() - i; ++j) {
                const auto place = at(i + j);
                if (plan.ways * d_z != d_code.n() - i ||
                    place.block != first.block + j % plan.ways ||
                    place.bit != j / plan.ways) {
                    return false;
                }
            }
            break;
        }
        return true;
    }

    //! The steps d_steps, each of which gives a block column, and the columns set aside.
    bool eliminate_blocks()
    {
        auto solved = d_known;
        for (const int b : plan.mixed) {
            set_aside(b, solved);
        }
        while (true) {
            bool found = false;
            int fewest = 0, at = -1;
            for (const int r : d_order) {
                if (d_used[r]) {
                    continue;
                }
                const int unknown = unknowns(r, solved);
                const auto* by = unknown == 1 ? giver(r, solved) : nullptr;
                if (by) {
                    d_steps.push_back({ *by });
                    d_used[r] = solved[by->column] = true;
                    found = true;
                } else if (unknown > 0 && (at < 0 || unknown < fewest)) {
                    fewest = unknown;
                    at = r;
                }
            }
            if (found) {
                continue;
            }
            if (at < 0) {
                return true;
            }
            set_aside(busiest(at, solved), solved);
            const size_t most = has_regular_sums() ? 2 * most_aside : most_aside;
            if (d_aside.size() * d_z > most) {
                return false;
            }
        }
    }

    void set_aside(int b, std::vector<char>& solved)
    {
        d_aside.push_back(b);
        solved[b] = true;
    }

    int unknowns(int r, const std::vector<char>& solved) const
    {
        int found = 0, last = -1;
        for (const auto& c : d_row[r]) {
            if (!solved[c.column] && c.column != last) {
                last = c.column;
                ++found;
            }
        }
        return found;
    }

    //! The only circulant of the row's only unknown block, if it is one and whole.
    const circulant* giver(int r, const std::vector<char>& solved) const
    {
        const circulant* found = nullptr;
        for (const auto& c : d_row[r]) {
            if (!solved[c.column]) {
                if (found || c.missing >= 0) {
                    return nullptr;
                }
                found = &c;
            }
        }
        return found;
    }

    int busiest(int r, const std::vector<char>& solved) const
    {
        std::vector<int> weight(d_blocks.block_columns);
        for (const auto& c : d_blocks.all) {
            ++weight[c.column];
        }
        int found = -1;
        for (const auto& c : d_row[r]) {
            if (!solved[c.column] && (found < 0 || weight[c.column] > weight[found])) {
                found = c.column;
            }
        }
        return found;
    }

    void end_sum(int to, std::vector<ldpc_circulant_plan::sum>& sums)
    {
        sums.push_back({ to, static_cast<int>(plan.terms.size()) });
    }

    //! The strings of row r that `wanted` takes.
    template <typename Wanted>
    void add_row(int r, Wanted wanted, int rotation = 0, int except = -1)
    {
        for (const auto& c : d_row[r]) {
            if (c.column != except && wanted(c.column)) {
                plan.terms.push_back(
                    { c.column,
                      (c.shift - rotation + d_z) % d_z,
                      c.missing < 0 ? -1 : (c.missing + rotation) % d_z });
            }
        }
    }

    //! A step's string from those of its row that `wanted` takes, and from `other`.
    template <typename Wanted>
    void solve(const step& s,
               std::vector<ldpc_circulant_plan::sum>& sums,
               Wanted wanted,
               int other)
    {
        add_row(s.by.row, wanted, s.by.shift, s.by.column);
        if (other >= 0) {
            plan.terms.push_back({ other, (d_z - s.by.shift) % d_z });
        }
        end_sum(s.by.column, sums);
    }

    //! Solves the sums without the strings set aside, then these strings, then all sums
    //! that depend on them.
    bool solve_in_three_passes()
    {
        std::vector<int> left;
        for (const int r : d_order) {
            if (!d_used[r]) {
                left.push_back(r);
            }
        }
        const auto circulants = invert_circulants(left);
        const auto inverse = circulants ? std::nullopt : invert_bits(left);
        if (!circulants && !inverse) {
            return false;
        }
        // Mark the steps on which the left rows depend.
        std::vector<char> needed(d_blocks.block_columns);
        const auto need = [&](int r) {
            for (const auto& c : d_row[r]) {
                needed[c.column] = true;
            }
        };
        std::for_each(left.begin(), left.end(), need);
        for (auto s = d_steps.rbegin(); s != d_steps.rend(); ++s) {
            if (needed[s->by.column]) {
                need(s->by.row);
            }
        }
        std::vector<char> is_aside(d_blocks.block_columns);
        for (const int b : d_aside) {
            is_aside[b] = true;
        }
        // A mixed string counts as known, because its information bits are.
        const auto known = [&](int b) { return d_known[b] || is_mixed(b); };
        const auto solved = [&](int b) { return !d_known[b] && !is_aside[b]; };
        const auto unknown = [&](int b) { return !d_known[b]; };
        const auto any = [](int) { return true; };

        std::vector<int> half(d_blocks.block_columns, -1);
        for (const auto& s : d_steps) {
            if (needed[s.by.column]) {
                half[s.by.column] = plan.strings++;
                add_row(s.by.row, known);
                end_sum(half[s.by.column], plan.sums);
                solve(s, plan.sums, solved, half[s.by.column]);
            }
        }
        std::vector<int> rest;
        for (const int r : left) {
            add_row(r, [&](int b) { return known(b) || solved(b); });
            rest.push_back(plan.strings++);
            end_sum(rest.back(), plan.sums);
        }
        if (circulants) {
            put_circulants(*circulants, rest);
        } else if (!put_sparse(*inverse, rest)) {
            put_dense(*inverse, rest);
        }
        for (const auto& s : d_steps) {
            const int first = half[s.by.column];
            // Mixed strings now have all their bits, so that each step is solved from
            // scratch.
            if (first < 0 || !plan.mixed.empty()) {
                solve(s, plan.late_sums, any, -1);
            } else {
                solve(s, plan.late_sums, unknown, first);
            }
        }
        return true;
    }

    bool has_regular_sums() const
    {
        return plan.mixed.empty() && ldpc_circulant_sum::serves(d_blocks);
    }

    //! The strings set aside from the sums of the rows that are left.
    std::optional<ldpc_circulant_matrix>
    invert_circulants(const std::vector<int>& left) const
    {
        if (!has_regular_sums() ||
            2 * left.size() * d_aside.size() * d_z / 64 > most_dense_words) {
            return {};
        }
        std::vector<circulant> steps;
        for (const auto& s : d_steps) {
            steps.push_back(s.by);
        }
        return solve_aside(d_z, d_row, steps, d_aside, left);
    }

    //! By circulants, if these are few, or by products.
    void put_circulants(const ldpc_circulant_matrix& inverse,
                        const std::vector<int>& rest)
    {
        const bool sparse = std::all_of(inverse.begin(), inverse.end(), [](auto& sums) {
            const int ones =
                std::accumulate(sums.begin(), sums.end(), 0, [](int n, auto& s) {
                    return n + s.weight();
                });
            return ones <= most_sparse_terms;
        });
        if (!sparse) {
            plan.dense_from = rest;
            plan.dense_to = d_aside;
        }
        for (size_t a = 0; a < inverse.size(); ++a) {
            for (size_t r = 0; r < rest.size(); ++r) {
                const auto& sum = inverse[a][r];
                if (!sparse) {
                    const auto factor = circulant_factor(sum.words());
                    plan.factors.insert(plan.factors.end(), factor.begin(), factor.end());
                    continue;
                }
                for (int i = 0; i < d_z; ++i) {
                    if (sum.has(i)) {
                        plan.terms.push_back({ rest[r], (d_z - i) % d_z });
                    }
                }
            }
            if (sparse) {
                end_sum(d_aside[a], plan.sums);
            }
        }
    }

    struct block_inverse {
        std::vector<int> bits;   //!< columns of H set aside
        std::vector<int> chosen; //!< place of each of their checks among the left ones
        bit_matrix inverse;
    };

    std::optional<block_inverse> invert_bits(const std::vector<int>& left) const
    {
        elimination_order order;
        for (const auto& s : d_steps) {
            for (int i = 0; i < d_z; ++i) {
                order.steps.push_back(
                    { check(s.by.row, i), column(s.by.column, (i + s.by.shift) % d_z) });
            }
        }
        for (const int b : d_aside) {
            for (int i = 0; i < d_z; ++i) {
                if (d_parity[column(b, i)]) {
                    order.aside.push_back(column(b, i));
                }
            }
        }
        std::vector<int> place(d_code.checks(), -1);
        for (const int r : left) {
            for (int i = 0; i < d_z; ++i) {
                place[check(r, i)] = static_cast<int>(order.left_over.size());
                order.left_over.push_back(check(r, i));
            }
        }
        const size_t words = d_aside.size() * plan.string_words();
        if (order.left_over.size() * words > most_dense_words) {
            return {};
        }
        auto solution = solve_aside(d_code, order);
        block_inverse inverse{ order.aside, {}, std::move(solution.inverse) };
        for (const int r : solution.chosen) {
            inverse.chosen.push_back(place[r]);
        }
        return inverse;
    }

    //! By circulants, if these are few.
    bool put_sparse(const block_inverse& inverse, const std::vector<int>& rest)
    {
        const size_t unknowns = d_aside.size() * d_z;
        if (inverse.bits.size() != unknowns || rest.size() != d_aside.size() ||
            inverse.chosen.size() != unknowns) {
            return false;
        }
        const size_t before = plan.terms.size();
        const auto restore = [&] {
            plan.terms.resize(before);
            return false;
        };
        std::vector<ldpc_circulant_plan::sum> sums;
        for (size_t b = 0; b < d_aside.size(); ++b) {
            const size_t start = plan.terms.size();
            for (size_t r = 0; r < rest.size(); ++r) {
                for (int d = 0; d < d_z; ++d) {
                    const bool one = inverse.inverse.get(b * d_z, r * d_z + d);
                    for (int j = 1; j < d_z; ++j) {
                        if (inverse.inverse.get(b * d_z + j, r * d_z + (j + d) % d_z) !=
                            one) {
                            return restore();
                        }
                    }
                    if (one) {
                        plan.terms.push_back({ rest[r], d });
                    }
                    if (plan.terms.size() - start > most_sparse_terms) {
                        return restore();
                    }
                }
            }
            end_sum(d_aside[b], sums);
        }
        plan.sums.insert(plan.sums.end(), sums.begin(), sums.end());
        return true;
    }

    void put_dense(const block_inverse& inverse, const std::vector<int>& rest)
    {
        plan.dense_from = rest;
        plan.dense_to = d_aside;
        const size_t words = plan.string_words();
        const size_t row = d_aside.size() * words;
        plan.dense.assign(rest.size() * d_z * row, 0);
        for (size_t i = 0; i < inverse.bits.size(); ++i) {
            const auto place = d_places.at[inverse.bits[i]];
            const size_t to =
                std::find(d_aside.begin(), d_aside.end(), place.block) - d_aside.begin();
            for (size_t j = 0; j < inverse.chosen.size(); ++j) {
                if (inverse.inverse.get(i, j)) {
                    plan.dense[inverse.chosen[j] * row + to * words + place.bit / 64] |=
                        uint64_t{ 1 } << place.bit % 64;
                }
            }
        }
    }

    void find_rotated()
    {
        plan.rotated.assign(plan.strings, 0);
        for (const auto& t : plan.terms) {
            plan.rotated[t.from] |= t.rotation != 0;
        }
        // Terms that are read from a byte's first bit come first.
        size_t first = 0;
        for (auto* sums : { &plan.sums, &plan.late_sums }) {
            for (const auto& sum : *sums) {
                std::stable_partition(plan.terms.begin() + first,
                                      plan.terms.begin() + sum.last,
                                      [](const auto& t) { return t.rotation % 8 == 0; });
                first = sum.last;
            }
        }
    }

    const ldpc_code& d_code;
    const ldpc_circulants& d_blocks;
    int d_z;
    block_places d_places;
    std::vector<char> d_parity; //!< of each column of H
    std::vector<char> d_known;  //!< of each block column
    std::vector<int> d_order;   //!< in which block rows are looked at
    std::vector<std::vector<circulant>> d_row;
    std::vector<char> d_used; //!< of each block row
    std::vector<step> d_steps;
    std::vector<int> d_aside; //!< block columns
};

} // namespace

std::optional<ldpc_circulant_plan> ldpc_circulant_plan::make(const ldpc_code& code)
{
    const auto& blocks = code.circulants();
    if (blocks.lifting_size < least_lifting_size ||
        blocks.block_columns + blocks.block_rows > most_strings ||
        blocks.block_columns * blocks.lifting_size != code.variables() ||
        blocks.block_rows * blocks.lifting_size != code.checks()) {
        return {};
    }
    planner planner(code);
    if (!planner.run()) {
        return {};
    }
    return std::move(planner.plan);
}

} // namespace gr::cudaphy::kernels
