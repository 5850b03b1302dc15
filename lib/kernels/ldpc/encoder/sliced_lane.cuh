/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/circulant_tables.h"
#include "kernels/ldpc/encoder/side_by_side.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! ldpc_circulant_tables on the device, for words side by side: a string's bit i is place
//! string z + i.
struct sliced_plan {
    words_form info, word;
    int z, places;
    int phases, sums, terms; //!< numbers of them; sums: and one behind the last
    const ldpc_circulant_tables::phase* phase;
    const ldpc_circulant_tables::sum* sum; //!< to: its first place
    //! A term's bit i is place from + i, or that - z from `end` on.
    struct term_places {
        int32_t from, end;
    };
    const term_places* term;
    const int32_t *info_place, *word_place;

    //! 32-bit words of shared memory that the tables take.
    __host__ __device__ int table_words() const
    {
        return 3 * phases + 2 * (sums + terms);
    }
};

//! One of a block's threads, which encode as many words as `Word` has bits.
template <typename Word, int Threads>
class sliced_lane
{
public:
    static constexpr int codewords = 8 * sizeof(Word);

    __device__ sliced_lane(const sliced_plan& plan, uint32_t* shared, int thread)
        : d_plan(plan), d_thread(thread), d_sum(thread / plan.z), d_bit(thread % plan.z),
          d_terms(reinterpret_cast<const sliced_plan::term_places*>(shared)),
          d_sums(reinterpret_cast<const ldpc_circulant_tables::sum*>(shared +
                                                                     2 * plan.terms)),
          d_phases(reinterpret_cast<const ldpc_circulant_tables::phase*>(
              shared + 2 * (plan.terms + plan.sums))),
          d_place(reinterpret_cast<Word*>(shared + plan.table_words()))
    {
        copy(plan.term, shared, 2 * plan.terms);
        copy(plan.sum, shared + 2 * plan.terms, 2 * plan.sums);
        copy(plan.phase, shared + 2 * (plan.terms + plan.sums), 3 * plan.phases);
        for (int i = thread; i < plan.places; i += Threads) {
            d_place[i] = 0;
        }
        __syncthreads();
    }

    //! \param count  words, at most `codewords`
    template <bool Wide>
    __device__ void encode(const uint8_t* info, uint8_t* out, int count) const
    {
        take_words<Wide>(
            d_plan.info,
            info,
            count,
            d_place,
            [&](size_t i) { return d_plan.info_place[i]; },
            d_thread,
            Threads);
        __syncthreads();
        for (int p = 0; p < d_plan.phases; ++p) {
            const auto phase = d_phases[p];
            add(phase.first, phase.last);
            __syncthreads();
            if (phase.is_chain) {
                run_through(phase.first, phase.last);
                __syncthreads();
            }
        }
        put_words<Wide>(
            d_plan.word,
            out,
            count,
            d_place,
            [&](size_t i) { return d_plan.word_place[i]; },
            d_thread,
            Threads);
        __syncthreads(); // before the next words' information comes
    }

private:
    template <typename Table>
    __device__ void copy(const Table* from, uint32_t* to, int words) const
    {
        const auto* const of = reinterpret_cast<const uint32_t*>(from);
        for (int i = d_thread; i < words; i += Threads) {
            to[i] = of[i];
        }
    }

    //! Sums first..last - 1 of their terms: a bit of one a thread.
    __device__ void add(int first, int last) const
    {
        const int z = d_plan.z;
        int i = d_bit;
        for (int s = first + d_sum; s < last;) {
            const auto here = d_sums[s];
            const int end = d_sums[s + 1].first;
            uint32_t sum = 0;
#pragma unroll 4
            for (int t = here.first; t < end; ++t) {
                const auto term = d_terms[t];
                const int at = term.from + i;
                sum ^= d_place[at < term.end ? at : at - z];
            }
            d_place[here.to + i] = Word(sum);
            i += Threads % z;
            s += Threads / z;
            if (i >= z) {
                i -= z;
                ++s;
            }
        }
    }

    //! Makes a chain's sums, each of which is there without the one before it.
    __device__ void run_through(int first, int last) const
    {
        constexpr int at_once = 4;
        for (int i = d_thread; i < d_plan.z; i += Threads) {
            uint32_t sum = 0;
            for (int s = first; s < last; s += at_once) {
                int to[at_once];
                uint32_t own[at_once];
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    to[u] = s + u < last ? d_sums[s + u].to + i : i;
                    own[u] = d_place[to[u]];
                }
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    sum ^= own[u];
                    if (s + u < last) {
                        d_place[to[u]] = Word(sum);
                    }
                }
            }
        }
    }

    const sliced_plan& d_plan;
    const int d_thread, d_sum, d_bit; //!< thread: of bit d_bit of sum d_sum
    const sliced_plan::term_places* const d_terms;
    const ldpc_circulant_tables::sum* const d_sums;
    const ldpc_circulant_tables::phase* const d_phases;
    Word* const d_place;
};

} // namespace
} // namespace gr::cudaphy::kernels
