/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/onchip.h"
#include "kernels/fdtd/stepper/onchip_order.h"
#include <algorithm>
#include <set>
#include <tuple>

namespace gr::cudaphy::kernels {

template <typename T>
bool fdtd_onchip_plan<T>::proved() const
{
    const auto& t = tables;
    const auto part_of = [&](int32_t block, int32_t phase) -> const fdtd_onchip_part& {
        return t.parts[size_t(phase % phases) * blocks + block];
    };
    // The block that publishes each word, and the phases in which it does.
    struct publishing {
        int32_t block = -1;
        std::vector<int32_t> phases;
    };
    std::vector<publishing> published(words);
    for (int32_t p = 0; p < phases; ++p) {
        for (int32_t b = 0; b < blocks; ++b) {
            for (auto r = part_of(b, p).rows; r < part_of(b, p).rows_end; ++r) {
                const auto& row = t.rows[r];
                const bool special = row.shape & fdtd_onchip_row<T>::special;
                const auto word = special ? t.specials[row.word].word : row.word;
                if (word < 0) {
                    continue;
                }
                auto& by = published[word];
                if ((by.block >= 0 && by.block != b) ||
                    (!by.phases.empty() && by.phases.back() == p)) {
                    return false;
                }
                by.block = b;
                by.phases.push_back(p);
            }
        }
    }

    // Every word that a block waits for is published, by another block in the phase
    // before.
    fdtd_onchip_order order(blocks, phases);
    std::set<std::tuple<int32_t, int32_t, int32_t, int32_t>> needed;
    for (int32_t p = 0; p < phases; ++p) {
        for (int32_t b = 0; b < blocks; ++b) {
            for (auto i = part_of(b, p).imports; i < part_of(b, p).imports_end; ++i) {
                const auto& by = published[t.imports[i].word];
                const auto before = (p + phases - 1) % phases;
                const auto at = std::find(by.phases.begin(), by.phases.end(), before);
                if (by.block == b || at == by.phases.end()) {
                    return false;
                }
                order.add(by.block, b, p);
                const auto again =
                    at + 1 == by.phases.end() ? by.phases[0] + phases : at[1];
                needed.insert({ b, before + 1, by.block, again });
            }
        }
    }
    // The word stays until the block has taken it.
    for (const auto& [taker, taken, publisher, again] : needed) {
        if (!order.holds(taker, taken, publisher, again)) {
            return false;
        }
    }

    // Between the barriers of two phases, a block's threads update the rows of the first
    // phase and take the imports of the second one, in any order.
    std::vector<int32_t> changed(size_t(places), -1);
    int32_t time = 0;
    for (int32_t b = 0; b < blocks; ++b) {
        const auto& block = t.blocks[b];
        for (int32_t p = 0; p < phases; ++p, ++time) {
            const auto &here = part_of(b, p), &next = part_of(b, p + 1);
            const auto end = next.place + (next.imports_end - next.imports);
            if (next.place < block.all || end > places) {
                return false;
            }
            std::fill(changed.begin() + next.place, changed.begin() + end, time);
            for (auto r = here.rows; r < here.rows_end; ++r) {
                const auto own = t.rows[r].own;
                const bool idle =
                    own < block.all && t.elements[size_t(block.elements) + own] < 0;
                if (own >= block.all || (changed[own] == time && !idle)) {
                    return false;
                }
                changed[own] = time;
            }
            const auto still = [&](int32_t place, int32_t own) {
                return place < places && (place == own || changed[place] != time);
            };
            for (auto r = here.rows; r < here.rows_end; ++r) {
                const auto& row = t.rows[r];
                for (int32_t j = 0; j < (row.shape & fdtd_onchip_row<T>::count); ++j) {
                    if (!still(row.index[j], row.own)) {
                        return false;
                    }
                }
                if (row.shape & fdtd_onchip_row<T>::special) {
                    const auto& special = t.specials[row.word];
                    for (auto e = special.rest; e < special.rest_end; ++e) {
                        if (!still(t.rest[e].index, row.own)) {
                            return false;
                        }
                    }
                }
            }
        }
    }
    return true;
}

template bool fdtd_onchip_plan<float>::proved() const;
template bool fdtd_onchip_plan<double>::proved() const;

} // namespace gr::cudaphy::kernels
