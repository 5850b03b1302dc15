/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

// Words modulo g(x): parity bits, and which words are wrong.

namespace gr::cudaphy::kernels {
namespace {

constexpr int words_of_a_block = 8;
constexpr int remainder_words = 6; // of 32 bits, at a time: 192 bits, as DVB's codes have
constexpr int division_threads = 256;

struct cuda_code {
    //! x^i modulo g(x), highest power in the highest bit of the first word: of bit
    //! 32 j + b, word w at ((part, b, w), j), where part counts groups of
    //! `remainder_words` words and j runs to `groups`.
    const uint32_t* powers;
    const uint16_t *exp, *log; //!< of the field; exp has two periods
    int n, k, t;
    int order;  //!< of alpha
    int groups; //!< of 32 bits in a word
    int parts;  //!< of remainder_words words in a remainder
    bool packed_input, packed_output;
    size_t in_bytes, out_bytes;
};

//! Bits 32 j .. 32 j + 31 of a word that has `count` bits, the first one highest; 0
//! behind its end.
__device__ uint32_t load_bits(const uint8_t* word, bool packed, int count, int j)
{
    uint32_t bits = 0;
    if (packed) {
        const int bytes = (count + 7) / 8;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            bits = bits << 8 | (4 * j + i < bytes ? word[4 * j + i] : 0u);
        }
    } else if (32 * j + 32 <= count && reinterpret_cast<uintptr_t>(word) % 4 == 0) {
        const auto* const four = reinterpret_cast<const uint32_t*>(word + 32 * j);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            // Bits 0, 8, 16, 24 come together in the highest four, the first one highest.
            bits = bits << 4 | (four[i] & 0x01010101u) * 0x08040201u >> 24 & 15u;
        }
    } else {
        for (int i = 0; i < 32; ++i) {
            bits = bits << 1 | (32 * j + i < count ? word[32 * j + i] & 1u : 0u);
        }
    }
    const int over = 32 * j + 32 - count;
    return over > 0 ? bits & (over < 32 ? ~0u << over : 0u) : bits;
}

__device__ void store_bits(uint8_t* word, bool packed, int count, int j, uint32_t bits)
{
    if (packed) {
        const int bytes = (count + 7) / 8;
        for (int i = 0; i < 4 && 4 * j + i < bytes; ++i) {
            word[4 * j + i] = static_cast<uint8_t>(bits >> (24 - 8 * i));
        }
    } else if (32 * j + 32 <= count && reinterpret_cast<uintptr_t>(word) % 4 == 0) {
        auto* const four = reinterpret_cast<uint32_t*>(word + 32 * j);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t part = bits >> (28 - 4 * i) & 15u;
            four[i] = part >> 3 | (part >> 2 & 1u) << 8 | (part >> 1 & 1u) << 16 |
                      (part & 1u) << 24;
        }
    } else {
        for (int i = 0; i < 32 && 32 * j + i < count; ++i) {
            word[32 * j + i] = bits >> (31 - i) & 1u;
        }
    }
}

//! The first `count` bits of words first .. first + 7 modulo g(x), and the copy of their
//! first k bits. remainders: (batch, 6 parts).
__global__ void __launch_bounds__(division_threads) divide(cuda_code code,
                                                           const uint8_t* words,
                                                           int count,
                                                           uint8_t* out,
                                                           int copied,
                                                           uint32_t* remainders,
                                                           size_t batch)
{
    __shared__ uint32_t sums[words_of_a_block * remainder_words];
    const size_t first = static_cast<size_t>(blockIdx.x) * words_of_a_block;
    const int here =
        static_cast<int>(min(batch - first, static_cast<size_t>(words_of_a_block)));
    for (int part = 0; part < code.parts; ++part) {
        if (threadIdx.x < words_of_a_block * remainder_words) {
            sums[threadIdx.x] = 0;
        }
        __syncthreads();
        uint32_t sum[words_of_a_block][remainder_words] = {};
        const uint32_t* const powers =
            code.powers + static_cast<size_t>(part) * 32 * remainder_words * code.groups;
        for (int j = threadIdx.x; j < code.groups; j += division_threads) {
            uint32_t bits[words_of_a_block];
#pragma unroll
            for (int w = 0; w < words_of_a_block; ++w) {
                bits[w] = w < here ? load_bits(words + (first + w) * code.in_bytes,
                                               code.packed_input,
                                               count,
                                               j)
                                   : 0u;
                if (part == 0 && w < here && 32 * j < copied) {
                    const int over = 32 * j + 32 - copied;
                    store_bits(out + (first + w) * code.out_bytes,
                               code.packed_output,
                               copied,
                               j,
                               over > 0 ? bits[w] & ~0u << over : bits[w]);
                }
            }
            for (int b = 0; b < 32; ++b) {
                uint32_t power[remainder_words];
#pragma unroll
                for (int r = 0; r < remainder_words; ++r) {
                    power[r] = powers[(b * remainder_words + r) * code.groups + j];
                }
#pragma unroll
                for (int w = 0; w < words_of_a_block; ++w) {
                    const auto mask =
                        static_cast<uint32_t>(static_cast<int32_t>(bits[w] << b) >> 31);
#pragma unroll
                    for (int r = 0; r < remainder_words; ++r) {
                        sum[w][r] ^= power[r] & mask;
                    }
                }
            }
        }
#pragma unroll
        for (int w = 0; w < words_of_a_block; ++w) {
#pragma unroll
            for (int r = 0; r < remainder_words; ++r) {
                uint32_t all = sum[w][r];
                for (int distance = 16; distance > 0; distance /= 2) {
                    all ^= __shfl_xor_sync(0xffffffffu, all, distance);
                }
                if (threadIdx.x % 32 == 0) {
                    atomicXor(&sums[w * remainder_words + r], all);
                }
            }
        }
        __syncthreads();
        if (threadIdx.x < here * remainder_words) {
            remainders[((first + threadIdx.x / remainder_words) * code.parts + part) *
                           remainder_words +
                       threadIdx.x % remainder_words] = sums[threadIdx.x];
        }
        __syncthreads();
    }
}

//! Appends the remainders, which are the parity bits, to the words. A thread a word.
__global__ void
append(cuda_code code, const uint32_t* remainders, uint8_t* words, size_t batch)
{
    const size_t w = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (w >= batch) {
        return;
    }
    const uint32_t* const parity = remainders + w * code.parts * remainder_words;
    uint8_t* const word = words + w * code.out_bytes;
    for (int i = code.k; i < code.n; ++i) {
        const uint8_t bit = parity[(i - code.k) / 32] >> (31 - (i - code.k) % 32) & 1u;
        if (!code.packed_output) {
            word[i] = bit;
        } else if (i % 8 == 0) {
            word[i / 8] = bit << 7;
        } else {
            word[i / 8] |= bit << (7 - i % 8);
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
