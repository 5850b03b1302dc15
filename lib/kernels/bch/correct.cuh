/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/bch/divide.cuh"
#include <gnuradio/cudaphy/kernels/bch_decoder.h>

// The errors of wrong words, from their remainders.

namespace gr::cudaphy::kernels {
namespace {

constexpr int correction_threads = 256;
constexpr int most_t = 64;

//! corrected: 0 for words without a remainder. list[0]: how many others there are, then
//! which. A thread a word.
__global__ void find_wrong(const uint32_t* remainders,
                           int length,
                           int32_t* corrected,
                           uint32_t* list,
                           size_t batch)
{
    const size_t w = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (w >= batch) {
        return;
    }
    uint32_t any = 0;
    for (int i = 0; i < length; ++i) {
        any |= remainders[w * length + i];
    }
    corrected[w] = 0;
    if (any) {
        list[1 + atomicAdd(list, 1u)] = static_cast<uint32_t>(w);
    }
}

__device__ uint32_t multiply(const cuda_code& code, uint32_t a, uint32_t b)
{
    return a && b ? code.exp[code.log[a] + code.log[b]] : 0u;
}

//! sigma(x) by Berlekamp and Massey, as error_locator::locator(); its degree, or -1.
__device__ int locator(const cuda_code& code, const uint32_t* syndromes, uint32_t* sigma)
{
    uint32_t before[most_t + 2] = { 1 }, old[most_t + 2];
    const int size = code.t + 2;
    for (int j = 1; j < size; ++j) {
        sigma[j] = before[j] = 0;
    }
    sigma[0] = 1;
    int length = 0, shift = 1;
    uint32_t scale = 1;
    for (int i = 1; i < 2 * code.t; i += 2, shift += 2) {
        uint32_t discrepancy = syndromes[i];
        for (int j = 1; j < size && j < i; ++j) {
            discrepancy ^= multiply(code, sigma[j], syndromes[i - j]);
        }
        if (discrepancy == 0) {
            continue;
        }
        const uint32_t factor =
            code.exp[code.log[discrepancy] + code.order - code.log[scale]];
        for (int j = 0; j < size; ++j) {
            old[j] = sigma[j];
        }
        for (int j = 0; j < size; ++j) {
            const uint32_t added = multiply(code, factor, before[j]);
            if (j + shift < size) {
                sigma[j + shift] ^= added;
            } else if (added) {
                return -1; // the degree is above t, and never falls
            }
        }
        if (2 * length <= i - 1) {
            length = i - length;
            scale = discrepancy;
            shift = 0;
            for (int j = 0; j < size; ++j) {
                before[j] = old[j];
            }
        }
    }
    if (length > code.t || sigma[length] == 0) {
        return -1;
    }
    for (int j = length + 1; j < size; ++j) {
        if (sigma[j]) {
            return -1;
        }
    }
    return length;
}

//! A block a wrong word: syndromes from the remainder, the locator, and a search for its
//! roots over all positions (Chien).
__global__ void __launch_bounds__(correction_threads) correct(cuda_code code,
                                                              const uint32_t* remainders,
                                                              const uint32_t* list,
                                                              uint8_t* info,
                                                              int32_t* corrected)
{
    __shared__ uint32_t syndromes[2 * most_t + 1], sigma[most_t + 2], found[most_t];
    __shared__ int degree, roots;
    const int parity = code.n - code.k;
    const uint32_t wrong = list[0];
    for (uint32_t entry = blockIdx.x; entry < wrong; entry += gridDim.x) {
        const uint32_t w = list[1 + entry];
        const uint32_t* const remainder =
            remainders + static_cast<size_t>(w) * code.parts * remainder_words;
        for (int j = threadIdx.x; j <= 2 * code.t; j += correction_threads) {
            syndromes[j] = 0;
        }
        __syncthreads();
        for (int at = threadIdx.x; at < code.t * parity; at += correction_threads) {
            const int i = at % parity, j = 2 * (at / parity) + 1;
            if (remainder[i / 32] >> (31 - i % 32) & 1u) {
                atomicXor(
                    &syndromes[j],
                    code.exp[static_cast<int64_t>(j) * (parity - 1 - i) % code.order]);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int j = 1; j <= code.t; ++j) {
                syndromes[2 * j] = multiply(code, syndromes[j], syndromes[j]);
            }
            degree = locator(code, syndromes, sigma);
            roots = 0;
        }
        __syncthreads();
        if (degree > 0) {
            for (int power = threadIdx.x; power < code.n; power += correction_threads) {
                // sigma(alpha^-power)
                const int inverse = (code.order - power) % code.order;
                uint32_t sum = 1;
                int exponent = 0;
                for (int j = 1; j <= degree; ++j) {
                    exponent += inverse;
                    exponent -= exponent >= code.order ? code.order : 0;
                    if (sigma[j]) {
                        sum ^= code.exp[code.log[sigma[j]] + exponent];
                    }
                }
                if (sum == 0) {
                    found[atomicAdd(&roots, 1)] = power; // at most `degree` roots
                }
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const bool right = degree > 0 && roots == degree;
            corrected[w] = right ? degree : bch_decoder::failed;
            uint8_t* const word = info + w * code.out_bytes;
            for (int i = 0; right && i < roots; ++i) {
                const int at = code.n - 1 - static_cast<int>(found[i]);
                if (at < code.k && code.packed_output) {
                    word[at / 8] ^= 1 << (7 - at % 8);
                } else if (at < code.k) {
                    word[at] ^= 1;
                }
            }
        }
        __syncthreads();
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
