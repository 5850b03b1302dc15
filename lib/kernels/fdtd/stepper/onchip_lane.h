/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/lane.h"
#include "kernels/fdtd/stepper/onchip.h"
#include <cstring>

// One thread of a block that keeps its part of the state on the chip; plain C++, too, so
// that tests run blocks through their phases in any order without a GPU.
//
// `Outside` connects the block to device memory: read(place) and write(place, word) for
// words; for excitations ask_for(to, from), which does not wait, and wait(), which does.

namespace gr::cudaphy::kernels {

template <typename T, int Phases, int Rows, int Imports>
class fdtd_onchip_lane
{
public:
    using tables = fdtd_onchip_tables<T, fdtd_pointer>;
    using row = fdtd_onchip_row<T>;

    CUDAPHY_LANE
    fdtd_onchip_lane(const tables& t, int block, int blocks, int thread, int threads)
        : d_tables(t), d_thread(thread), d_threads(threads), d_block(t.blocks[block])
    {
        CUDAPHY_UNROLL
        for (int p = 0; p < Phases; ++p) {
            const auto part = t.parts[p * blocks + block];
            d_place[p] = part.place;
            CUDAPHY_UNROLL
            for (int r = 0; r < Rows; ++r) {
                const auto at = part.rows + r * threads + thread;
                d_row[p][r].shape = 0;
                if (at < part.rows_end) {
                    d_row[p][r] = t.rows[at];
                }
            }
            CUDAPHY_UNROLL
            for (int i = 0; i < Imports; ++i) {
                const auto at = part.imports + i * threads + thread;
                d_word[p][i] = at < part.imports_end ? t.imports[at].word : -1;
            }
        }
    }

    //! Before the first time step: copies the block's part of the state to its own
    //! memory.
    template <typename Outside>
    CUDAPHY_LANE void begin(const fdtd_step<T>& step,
                            const Outside& outside,
                            T* local,
                            T* drives,
                            int block,
                            int blocks) const
    {
        for (int i = d_thread; i < d_block.all; i += d_threads) {
            const auto element = d_tables.elements[d_block.elements + i];
            local[i] = element >= 0 ? step.state[element] : T(0);
        }
        CUDAPHY_UNROLL
        for (int p = 0; p < Phases; ++p) {
            const auto part = d_tables.parts[p * blocks + block];
            for (int i = d_thread; i < part.imports_end - part.imports; i += d_threads) {
                const auto element = d_tables.imports[part.imports + i].element;
                local[part.place + i] = element >= 0 ? step.state[element] : T(0);
            }
            CUDAPHY_UNROLL
            for (int r = 0; r < Rows; ++r) {
                if (d_row[p][r].shape & row::special) {
                    ask_for_drive(
                        d_tables.specials[d_row[p][r].word], step, drives, outside);
                }
            }
        }
    }

    //! After the last time step: copies the elements that the block changes to the state.
    CUDAPHY_LANE void end(T* state, const T* local) const
    {
        for (int i = d_thread; i < d_block.owned; i += d_threads) {
            state[d_tables.elements[d_block.elements + i]] = local[i];
        }
    }

    //! A bit for each of the thread's imports in a phase.
    CUDAPHY_LANE unsigned imports(int p) const
    {
        unsigned bits = 0;
        CUDAPHY_UNROLL
        for (int i = 0; i < Imports; ++i) {
            bits |= unsigned(d_word[p][i] >= 0) << i;
        }
        return bits;
    }

    //! Takes those of the `missing` imports that have come. \returns the others
    template <typename Outside>
    CUDAPHY_LANE unsigned
    take(int p, uint32_t stamp, const Outside& outside, T* local, unsigned missing) const
    {
        uint64_t word[Imports][parts]{};
        CUDAPHY_UNROLL
        for (int i = 0; i < Imports; ++i) {
            CUDAPHY_UNROLL
            for (int k = 0; k < parts; ++k) {
                if (missing >> i & 1) {
                    word[i][k] = outside.read(size_t(d_word[p][i]) * parts + k);
                }
            }
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < Imports; ++i) {
            bool there = missing >> i & 1;
            uint32_t bits[parts];
            CUDAPHY_UNROLL
            for (int k = 0; k < parts; ++k) {
                // The numbers may count past 2^32.
                there = there && int32_t(uint32_t(word[i][k] >> 32) - stamp) >= 0;
                bits[k] = uint32_t(word[i][k]);
            }
            if (there) {
                memcpy(local + d_place[p] + i * d_threads + d_thread, bits, sizeof(T));
                missing &= ~(1u << i);
            }
        }
        return missing;
    }

    /*!
     * Updates the thread's rows in a phase.
     * \param stamp  of the words that it publishes
     * \param more  another time step follows
     */
    template <typename Outside, typename Report>
    CUDAPHY_LANE void update(int p,
                             const fdtd_step<T>& step,
                             bool more,
                             uint32_t stamp,
                             const Outside& outside,
                             T* local,
                             T* drives,
                             const Report& not_finite) const
    {
        T sum[Rows], x[Rows][row::entries];
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            const auto& here = d_row[p][r];
            if (here.shape) {
                sum[r] = local[here.own];
                CUDAPHY_UNROLL
                for (int j = 0; j < row::entries; ++j) {
                    if (j < (here.shape & row::count)) {
                        x[r][j] = local[here.index[j]];
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < Rows; ++r) {
            const auto& here = d_row[p][r];
            if (!here.shape) {
                continue;
            }
            CUDAPHY_UNROLL
            for (int j = 0; j < row::entries; ++j) {
                if (j < (here.shape & row::count)) {
                    sum[r] = fdtd_fused(here.value[j], x[r][j], sum[r]);
                }
            }
            if (here.shape & row::special) {
                finish(
                    here, sum[r], step, more, stamp, outside, local, drives, not_finite);
            } else {
                const T value = fdtd_settled(sum[r]);
                local[here.own] = value;
                publish(here.word, value, stamp, outside);
            }
        }
    }

private:
    static constexpr int parts = sizeof(T) / sizeof(uint32_t); //!< words of a value

    template <typename Outside>
    static CUDAPHY_LANE void
    publish(int32_t word, T value, uint32_t stamp, const Outside& outside)
    {
        if (word >= 0) {
            uint32_t bits[parts];
            memcpy(bits, &value, sizeof(T));
            CUDAPHY_UNROLL
            for (int k = 0; k < parts; ++k) {
                outside.write(size_t(word) * parts + k, uint64_t(stamp) << 32 | bits[k]);
            }
        }
    }

    template <typename Outside>
    CUDAPHY_LANE void ask_for_drive(const fdtd_onchip_special& special,
                                    const fdtd_step<T>& step,
                                    T* drives,
                                    const Outside& outside) const
    {
        if (special.drive >= 0) {
            const auto& source = d_tables.sources[d_tables.marks[special.mark].sources];
            outside.ask_for(drives + special.drive,
                            step.all_excitation + size_t(step.number) * step.sources +
                                source.column);
        }
    }

    template <typename Outside, typename Report>
    CUDAPHY_LANE void finish(const row& here,
                             T sum,
                             const fdtd_step<T>& step,
                             bool more,
                             uint32_t stamp,
                             const Outside& outside,
                             T* local,
                             T* drives,
                             const Report& not_finite) const
    {
        const auto special = d_tables.specials[here.word];
        CUDAPHY_UNROLL_BY(1)
        for (auto e = special.rest; e < special.rest_end; ++e) {
            const auto entry = d_tables.rest[e];
            sum = fdtd_fused(entry.value, local[entry.index], sum);
        }
        T value = fdtd_settled(sum);
        if (special.drive >= 0) {
            const auto first = d_tables.marks[special.mark].sources;
            const auto source = d_tables.sources[first];
            outside.wait();
            value = fdtd_driven_by<T>(
                source.hard, source.coefficient, drives[special.drive], value);
            value = fdtd_driven(d_tables, special.mark, first + 1, value, step);
        }
        local[here.own] = value;
        publish(special.word, value, stamp, outside);
        if (more) {
            auto next = step;
            ++next.number;
            ask_for_drive(special, next, drives, outside);
        }
        if (special.mark >= 0) {
            fdtd_write_probes(d_tables, special.mark, value, step, not_finite);
        }
    }

    const tables& d_tables;
    const int d_thread, d_threads;
    const fdtd_onchip_block d_block;
    row d_row[Phases][Rows];
    int32_t d_word[Phases][Imports]; //!< -1: none
    int32_t d_place[Phases];
};

} // namespace gr::cudaphy::kernels
