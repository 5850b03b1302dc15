/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/accumulator_tables.h"
#include "kernels/ldpc/encoder/word_io.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! ldpc_accumulator_tables on the device.
struct accumulator_plan {
    word_form info, word;
    int z, k, inputs, rows;
    int word_words; //!< 32-bit words of a codeword
    //! In a word's shared memory, which has `shared` words: information's strings, rows'
    //! sums (word i of row r at i row_stride + r), all rows' sum. First the codeword.
    int strings_at, sums_at, total_at, shared;
    int row_stride;
    const int32_t* start;
    const ldpc_accumulator_tables::term* term; //!< string: the word where it begins
};

//! Row `lane` of 32 words of 32 bits becomes column `lane` (H. S. Warren, Hacker's
//! Delight, section 7-3; across the lanes of a warp).
__device__ __forceinline__ uint32_t transposed(uint32_t x, int lane)
{
    uint32_t mask = 0x0000ffffu;
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        const uint32_t other = __shfl_xor_sync(~0u, x, s);
        x = lane & s ? (x & ~mask) | (other >> s & mask)
                     : (x & mask) | (other & mask) << s;
        mask ^= mask << s / 2;
    }
    return x;
}

//! One of a block's threads, which encode a word together.
template <int Threads>
class accumulator_lane
{
public:
    static constexpr int group = 16; //!< lanes that share a string

    __device__ accumulator_lane(const accumulator_plan& plan, uint32_t* bits, int thread)
        : d_plan(plan), d_bits(bits), d_thread(thread), d_lane(thread % 32),
          d_warp(thread / 32), d_words((plan.z + 31) / 32)
    {
        for (int i = thread; i < plan.shared; i += Threads) {
            bits[i] = 0;
        }
        __syncthreads();
    }

    __device__ void encode(const uint8_t* info, uint8_t* out) const
    {
        take_word<Threads>(d_plan.info, info, d_bits, d_thread);
        for (int i = (d_plan.k + 31) / 32 + d_thread; i < d_plan.word_words;
             i += Threads) {
            d_bits[i] = 0; // bits of parity are added
        }
        __syncthreads();
        take_inputs();
        __syncthreads();
        add();
        __syncthreads();
        add_rows();
        __syncthreads();
        put_parity();
        __syncthreads();
        put_word<Threads>(
            d_plan.word, [this](int i) { return d_bits[i]; }, out, d_thread);
        __syncthreads(); // before the next word's information comes
    }

private:
    __device__ void take_inputs() const
    {
        const int z = d_plan.z, words = 2 * d_words;
        for (int s = d_thread / group; s < d_plan.inputs; s += Threads / group) {
            uint32_t* const to = d_bits + d_plan.strings_at + s * (words + 2);
            for (int i = d_thread % group; i < words; i += group) {
                to[i] = repeated_window(d_bits, s * z, 0, z, z, i);
            }
        }
    }

    //! Each row's sum of information bits.
    __device__ void add() const
    {
        const int i = d_thread % group;
        for (int r = d_thread / group; i < d_words && r < d_plan.rows;
             r += Threads / group) {
            const int end = d_plan.start[r + 1];
            uint32_t sum = 0;
#pragma unroll 4
            for (int t = d_plan.start[r]; t < end; ++t) {
                const auto term = d_plan.term[t];
                sum ^= bits_at(d_bits + term.string, term.rotation + 32 * i);
            }
            d_bits[d_plan.sums_at + i * d_plan.row_stride + r] = sum;
        }
    }

    //! Row r becomes the sum of rows 0..r; a warp has 32 bits of all rows.
    __device__ void add_rows() const
    {
        const int each = (d_plan.rows + 31) / 32;
        const int first = d_lane * each, last = min(first + each, d_plan.rows);
        for (int i = d_warp; i < d_words; i += Threads / 32) {
            uint32_t* const rows = d_bits + d_plan.sums_at + i * d_plan.row_stride;
            uint32_t own = 0;
            for (int r = first; r < last; ++r) {
                own ^= rows[r];
            }
            uint32_t through = own;
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2) {
                const uint32_t other = __shfl_up_sync(~0u, through, distance);
                through ^= d_lane >= distance ? other : 0;
            }
            uint32_t sum = through ^ own;
            for (int r = first; r < last; ++r) {
                sum ^= rows[r];
                rows[r] = sum;
            }
            if (d_lane == 31) {
                d_bits[d_plan.total_at + i] = through;
            }
        }
    }

    //! Word i of what the columns before each one sum up to: bit j is the sum of bits
    //! 0..j - 1 of all rows' sum.
    __device__ uint32_t before(int i) const
    {
        const uint32_t total = d_lane < d_words ? d_bits[d_plan.total_at + d_lane] : 0;
        const uint32_t odd = __ballot_sync(~0u, __popc(total) & 1);
        uint32_t sum = __shfl_sync(~0u, total, i);
#pragma unroll
        for (int s = 1; s < 32; s *= 2) {
            sum ^= sum << s;
        }
        return sum << 1 ^ (__popc(odd & ((1u << i) - 1)) & 1 ? ~0u : 0);
    }

    //! Parity bit j rows + r is bit j of row r: 32 rows by 32 bits at once.
    __device__ void put_parity() const
    {
        const int across = (d_plan.rows + 31) / 32;
        for (int t = d_warp; t < across * d_words; t += Threads / 32) {
            const int i = t / across, first = t % across * 32, r = first + d_lane;
            const uint32_t row =
                r < d_plan.rows ? d_bits[d_plan.sums_at + i * d_plan.row_stride + r] : 0;
            const uint32_t carried = before(i);
            const uint32_t bits = transposed(r < d_plan.rows ? row ^ carried : 0, d_lane);
            const int j = 32 * i + d_lane;
            if (j < d_plan.z) {
                const int at = d_plan.k + j * d_plan.rows + first;
                atomicOr(d_bits + at / 32, bits << at % 32);
                if (at % 32) {
                    atomicOr(d_bits + at / 32 + 1, bits >> (32 - at % 32));
                }
            }
        }
    }

    const accumulator_plan& d_plan;
    uint32_t* const d_bits;
    const int d_thread, d_lane, d_warp, d_words;
};

} // namespace
} // namespace gr::cudaphy::kernels
