/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gr::cudaphy::kernels {

//! The order of the blocks' barriers that follows from the words that blocks take from
//! each other. Every time step is alike.
class fdtd_onchip_order
{
public:
    fdtd_onchip_order(int32_t blocks, int32_t phases)
        : d_blocks(blocks), d_phases(phases), d_taken(std::size_t(phases) * blocks)
    {
    }

    //! Block `to` takes in phase `phase` what `from` published in the one before.
    void add(int32_t from, int32_t to, int32_t phase)
    {
        auto& takers = d_taken[std::size_t(phase) * d_blocks + from];
        for (const auto each : takers) {
            if (each == to) {
                return;
            }
        }
        takers.push_back(to);
    }

    //! Whether block a's barrier in phase `at` comes before block b's in phase `until`.
    //! Phases count on from time step to time step.
    bool holds(int32_t a, int32_t at, int32_t b, int32_t until) const
    {
        std::vector<int32_t> reached{ a };
        std::vector<char> seen(std::size_t(d_blocks), 0);
        seen[a] = 1;
        while (++at <= until) {
            const auto* const takers = &d_taken[std::size_t(at % d_phases) * d_blocks];
            for (std::size_t i = 0, count = reached.size(); i < count; ++i) {
                for (const auto next : takers[reached[i]]) {
                    if (!std::exchange(seen[next], 1)) {
                        reached.push_back(next);
                    }
                }
            }
        }
        return seen[b];
    }

private:
    int32_t d_blocks, d_phases;
    //! By phase and block: the blocks that take in this phase what the block published
    //! before.
    std::vector<std::vector<int32_t>> d_taken;
};

} // namespace gr::cudaphy::kernels
