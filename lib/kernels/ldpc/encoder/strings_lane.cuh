/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/placed_strings.h"
#include "kernels/ldpc/encoder/word_io.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! ldpc_placed_strings on the device.
struct strings_plan {
    word_form info, word;
    int z, strings, inputs, phases, outputs;
    //! Where the information and the codeword begin in a word's shared memory, which has
    //! `shared` words.
    int info_at, word_at, shared;
    const ldpc_placed_strings::input* input;
    const ldpc_circulant_tables::phase* phase;
    const ldpc_placed_strings::sum* sum;
    const uint32_t* term;
    const ldpc_placed_strings::place* output;
};

//! One of the `Threads` threads that encode a word; `Group` of them share a string, and
//! have 32 bits of it each.
template <int Threads, int Group>
class strings_lane
{
public:
    __device__ strings_lane(const strings_plan& plan, uint32_t* bits, int thread)
        : d_plan(plan), d_bits(bits), d_thread(thread), d_words((plan.z + 31) / 32)
    {
        for (int i = thread; i < plan.shared; i += Threads) {
            bits[i] = 0;
        }
        sync();
    }

    __device__ void encode(const uint8_t* info, uint8_t* out) const
    {
        take_word<Threads>(d_plan.info, info, d_bits + d_plan.info_at, d_thread);
        sync();
        take_inputs();
        sync();
        for (int p = 0; p < d_plan.phases; ++p) {
            const auto phase = d_plan.phase[p];
            add(phase.first, phase.last);
            sync();
            if (phase.is_chain) {
                if (d_thread < 32) {
                    run_through(phase.first, phase.last);
                }
                sync();
            }
        }
        if (d_plan.word.unit == (d_plan.word.packed ? 4 : 16)) {
            put_word<Threads>(
                d_plan.word, [this](int i) { return composed(i); }, out, d_thread);
            sync();
            return;
        }
        uint32_t* const word = d_bits + d_plan.word_at;
        for (int i = d_thread; i < d_plan.outputs; i += Threads) {
            word[i] = composed(i);
        }
        sync();
        put_word<Threads>(
            d_plan.word, [word](int i) { return word[i]; }, out, d_thread);
        // The next word takes the information's place first, then the strings'; the
        // codeword's after a barrier.
    }

private:
    static __device__ void sync() { word_threads<Threads>::sync(); }

    __device__ void take_inputs() const
    {
        const auto* const info = d_bits + d_plan.info_at;
        for (int s = d_thread / Group; s < d_plan.inputs; s += Threads / Group) {
            const auto input = d_plan.input[s];
            uint32_t* const to = d_bits + (input.to >> 1);
            const int words = input.to & 1 ? 2 * d_words : d_words;
            for (int i = d_thread % Group; i < words; i += Group) {
                to[i] = repeated_window(
                    info, input.offset, input.first, input.end, d_plan.z, i);
            }
        }
    }

    //! Sums first..last - 1 of their terms.
    __device__ void add(int first, int last) const
    {
        constexpr int a_warp = 32 / Group;
        const int i = d_thread % Group;
        for (int start = first + d_thread / 32 * a_warp; start < last;
             start += Threads / Group) {
            const int s = start + d_thread % 32 / Group;
            const bool is_in = s < last && i < d_words;
            uint32_t sum = 0;
            int to = 0;
            if (is_in) {
                const auto here = d_plan.sum[s];
                const int end = d_plan.sum[s + 1].first;
                to = here.to;
#pragma unroll 4
                for (int t = here.first; t < end; ++t) {
                    sum ^= bits_at(d_bits, int(d_plan.term[t]) + 32 * i);
                }
            }
            write(to, i, sum, is_in);
        }
    }

    //! Makes a chain's sums, each of which is there without the one before it.
    __device__ void run_through(int first, int last) const
    {
        const int i = d_thread % Group;
        const bool is_in = d_thread < Group && i < d_words;
        uint32_t sum = 0;
        constexpr int at_once = 4;
        for (int s = first; s < last; s += at_once) {
            int to[at_once];
            uint32_t own[at_once];
#pragma unroll
            for (int u = 0; u < at_once; ++u) {
                to[u] = s + u < last ? d_plan.sum[s + u].to : 0;
                own[u] = is_in && s + u < last ? d_bits[(to[u] >> 1) + i] : 0;
            }
#pragma unroll
            for (int u = 0; u < at_once; ++u) {
                sum ^= own[u];
                if (s + u < last) {
                    write(to[u], i, sum, is_in);
                }
            }
        }
    }

    //! Writes word i of a string, as all lanes of a group do.
    __device__ void write(int to, int i, uint32_t sum, bool is_in) const
    {
        const int b = d_plan.z % 32;
        uint32_t begin = 0, next = 0;
        if (b) {
            begin = __shfl_sync(~0u, sum, 0, Group);
            next = __shfl_down_sync(~0u, sum, 1, Group);
        }
        if (!is_in) {
            return;
        }
        uint32_t* const here = d_bits + (to >> 1) + i;
        if (!(to & 1)) {
            *here = sum;
        } else if (b == 0) {
            here[0] = here[d_words] = sum;
        } else {
            // The second copy begins within a word.
            here[0] = i < d_words - 1 ? sum : (sum & ((1u << b) - 1)) | begin << b;
            here[d_words] = __funnelshift_r(sum, next, 32 - b);
        }
    }

    //! Bits 32 i..32 i + 31 of the codeword.
    __device__ uint32_t composed(int i) const
    {
        const auto place = d_plan.output[i];
        const uint32_t first = bits_at(d_bits, int(place.first >> 6));
        const uint32_t count = place.first & 63;
        return count == 32 ? first
                           : (first & ((1u << count) - 1)) |
                                 bits_at(d_bits, int(place.second)) << count;
    }

    const strings_plan& d_plan;
    uint32_t* const d_bits;
    const int d_thread, d_words;
};

} // namespace
} // namespace gr::cudaphy::kernels
