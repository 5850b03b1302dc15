/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/encoder/circulant_tables.h"
#include "kernels/ldpc/encoder/circulant_plan.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

class tables_maker
{
public:
    explicit tables_maker(const ldpc_circulant_plan& plan) : d_plan(plan) {}

    ldpc_circulant_tables make(const ldpc_code& code)
    {
        d_tables.z = d_plan.lifting_size;
        d_tables.k = code.k();
        d_tables.n = code.n();
        d_tables.strings = d_plan.strings;
        d_tables.rotated = d_plan.rotated;
        for (const auto& run : d_plan.input_runs) {
            d_tables.inputs.push_back(
                { run.string, run.info - run.first, run.first, run.first + run.bits });
        }
        for (const auto& run : d_plan.outputs) {
            d_tables.outputs.push_back({ run.string, run.first, run.bits });
        }
        put_phases();
        return std::move(d_tables);
    }

private:
    //! A sum of the plan; `level` is that of a phase which it may stand in.
    struct sum {
        int to, first, last, level;
    };

    //! Each after all that it takes, and none before others have taken what it replaces.
    std::vector<sum> levelled() const
    {
        std::vector<sum> sums;
        std::vector<int> made(size_t(d_plan.strings), 0), taken(made);
        int first = 0;
        for (const auto* some : { &d_plan.sums, &d_plan.late_sums }) {
            for (const auto& s : *some) {
                int level = std::max(made[size_t(s.to)], taken[size_t(s.to)]);
                for (int t = first; t < s.last; ++t) {
                    level = std::max(level, made[size_t(from(t))]);
                }
                sums.push_back({ s.to, first, s.last, level });
                made[size_t(s.to)] = level + 1;
                for (int t = first; t < s.last; ++t) {
                    auto& when = taken[size_t(from(t))];
                    when = std::max(when, level + 1);
                }
                first = s.last;
            }
        }
        std::stable_sort(sums.begin(), sums.end(), [](const sum& a, const sum& b) {
            return a.level < b.level;
        });
        return sums;
    }
    int from(int term) const { return d_plan.terms[size_t(term)].from; }

    //! How many sums from `begin` on are a chain: alone in their levels, each with the
    //! one before as a term, without rotation, and with no other of them.
    size_t chain_length(const std::vector<sum>& sums, size_t begin) const
    {
        std::vector<char> in_chain(size_t(d_plan.strings));
        size_t end = begin;
        for (; end < sums.size(); ++end) {
            const auto& here = sums[end];
            const bool alone =
                (end == 0 || sums[end - 1].level < here.level) &&
                (end + 1 == sums.size() || sums[end + 1].level > here.level);
            bool follows = end == begin;
            int others = 0;
            for (int t = here.first; t < here.last; ++t) {
                const bool before = end > begin && from(t) == sums[end - 1].to &&
                                    d_plan.terms[size_t(t)].rotation == 0 && !follows;
                follows = follows || before;
                others += !before && in_chain[size_t(from(t))];
            }
            if (!alone || !follows || others || in_chain[size_t(here.to)]) {
                break;
            }
            in_chain[size_t(here.to)] = true;
        }
        // The first one's own terms must not be what later ones replace.
        for (size_t i = begin; i < end; ++i) {
            for (int t = sums[i].first; t < sums[i].last; ++t) {
                const bool before = i > begin && from(t) == sums[i - 1].to;
                if (!before && in_chain[size_t(from(t))]) {
                    return i - begin;
                }
            }
        }
        return end - begin;
    }

    void put_phases()
    {
        const auto sums = levelled();
        for (size_t i = 0; i < sums.size();) {
            const size_t chain = chain_length(sums, i);
            size_t end = i + chain;
            if (chain < least_chain) {
                end = i;
                while (end < sums.size() && sums[end].level == sums[i].level) {
                    ++end;
                }
            }
            for (size_t s = i; s < end; ++s) {
                put(sums[s], chain >= least_chain && s > i ? sums[s - 1].to : no_string);
            }
            d_tables.phases.push_back(
                { int32_t(i), int32_t(end), int32_t(chain >= least_chain) });
            i = end;
        }
        d_tables.sums.push_back({ 0, int32_t(d_tables.terms.size()) });
    }

    //! \param before  the string before it in its chain, which is no term of its own
    void put(const sum& s, int before)
    {
        d_tables.sums.push_back({ s.to, int32_t(d_tables.terms.size()) });
        for (int t = s.first; t < s.last; ++t) {
            const auto& term = d_plan.terms[size_t(t)];
            if (term.from == before && term.rotation == 0) {
                before = no_string; // once
            } else {
                d_tables.terms.push_back({ term.from, term.rotation });
            }
        }
    }

    static constexpr int no_string = -1;
    static constexpr size_t least_chain = 3;

    const ldpc_circulant_plan& d_plan;
    ldpc_circulant_tables d_tables;
};

} // namespace

std::optional<ldpc_circulant_tables> ldpc_circulant_tables::make(const ldpc_code& code)
{
    const auto plan = ldpc_circulant_plan::make(code);
    if (!plan || !plan->factors.empty() || !plan->dense_to.empty() || plan->ways ||
        !plan->mixed.empty() ||
        std::any_of(plan->terms.begin(), plan->terms.end(), [](const auto& term) {
            return term.missing >= 0;
        })) {
        return {};
    }
    return tables_maker(*plan).make(code);
}

} // namespace gr::cudaphy::kernels
