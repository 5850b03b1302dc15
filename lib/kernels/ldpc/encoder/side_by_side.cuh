/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>

// Words side by side: one bit of as many words as a register has bits, so that a sum is
// one instruction for all of them. Neighbouring threads load and store neighbouring
// bytes, four at a time (Wide) or one, and each byte once.

namespace gr::cudaphy::kernels {
namespace {

//! Byte i of word j becomes byte j of word i.
__device__ void transpose_bytes(unsigned (&x)[4])
{
    const unsigned a = __byte_perm(x[0], x[1], 0x5140);
    const unsigned b = __byte_perm(x[2], x[3], 0x5140);
    const unsigned c = __byte_perm(x[0], x[1], 0x7362);
    const unsigned d = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(a, b, 0x5410);
    x[1] = __byte_perm(a, b, 0x7632);
    x[2] = __byte_perm(c, d, 0x5410);
    x[3] = __byte_perm(c, d, 0x7632);
}

//! bits[j]: bit w is the lowest bit of byte j at `from` + w `stride`, w < count. Four
//! bytes of a word move at once: byte j of sums[g] gathers the bits of words 8 g..8 g
//! + 7.
template <int Codewords>
__device__ void
load_four(const uint8_t* from, size_t stride, int count, unsigned (&bits)[4])
{
#pragma unroll
    for (int g = 0; g < 4; ++g) {
        bits[g] = 0;
    }
#pragma unroll
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            const unsigned bytes = *reinterpret_cast<const unsigned*>(from + w * stride);
            bits[w / 8] |= (bytes & 0x01010101u) << w % 8;
        }
    }
    transpose_bytes(bits);
}

template <int Codewords>
__device__ void store_four(uint8_t* to, size_t stride, int count, unsigned (&bits)[4])
{
    transpose_bytes(bits);
#pragma unroll
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            *reinterpret_cast<unsigned*>(to + w * stride) =
                bits[w / 8] >> w % 8 & 0x01010101u;
        }
    }
}

//! As load_four(), of eight bits packed in a byte.
template <int Codewords>
__device__ void
load_packed(const uint8_t* from, size_t stride, int count, unsigned (&bits)[8])
{
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        bits[j] = 0;
    }
#pragma unroll 8
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            const unsigned byte = from[w * stride];
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                bits[j] |= (byte >> (7 - j) & 1u) << w;
            }
        }
    }
}

template <int Codewords>
__device__ void
store_packed(uint8_t* to, size_t stride, int count, const unsigned (&bits)[8])
{
#pragma unroll 8
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            unsigned byte = 0;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                byte |= (bits[j] >> w & 1u) << (7 - j);
            }
            to[w * stride] = static_cast<uint8_t>(byte);
        }
    }
}

//! How words lie in memory.
struct words_form {
    size_t bytes; //!< of a word
    int bits;
    bool packed;
};

//! Bit i of `count` words to place[at(i)].
template <bool Wide, typename Word, typename At>
__device__ void take_words(const words_form& form,
                           const uint8_t* in,
                           int count,
                           Word* place,
                           const At& at,
                           int thread,
                           int threads)
{
    constexpr int codewords = 8 * sizeof(Word);
    const size_t k = size_t(form.bits);
    if (form.packed) {
        for (size_t i = thread; i < form.bytes; i += threads) {
            unsigned bits[8];
            load_packed<codewords>(in + i, form.bytes, count, bits);
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                if (8 * i + j < k) {
                    place[at(8 * i + j)] = static_cast<Word>(bits[j]);
                }
            }
        }
    } else if (Wide) {
        for (size_t i = size_t{ 4 } * thread; i < k; i += size_t{ 4 } * threads) {
            unsigned bits[4];
            load_four<codewords>(in + i, k, count, bits);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                place[at(i + j)] = static_cast<Word>(bits[j]);
            }
        }
    } else {
        for (size_t i = thread; i < k; i += threads) {
            unsigned bits = 0;
#pragma unroll 8
            for (int w = 0; w < codewords; ++w) {
                bits |= w < count ? (in[w * k + i] & 1u) << w : 0u;
            }
            place[at(i)] = static_cast<Word>(bits);
        }
    }
}

//! place[at(i)] to bit i of `count` words.
template <bool Wide, typename Word, typename At>
__device__ void put_words(const words_form& form,
                          uint8_t* out,
                          int count,
                          const Word* place,
                          const At& at,
                          int thread,
                          int threads)
{
    constexpr int codewords = 8 * sizeof(Word);
    const size_t n = size_t(form.bits);
    if (form.packed) {
        for (size_t i = thread; i < form.bytes; i += threads) {
            unsigned bits[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                bits[j] = 8 * i + j < n ? place[at(8 * i + j)] : 0u;
            }
            store_packed<codewords>(out + i, form.bytes, count, bits);
        }
    } else if (Wide) {
        for (size_t i = size_t{ 4 } * thread; i < n; i += size_t{ 4 } * threads) {
            unsigned bits[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                bits[j] = place[at(i + j)];
            }
            store_four<codewords>(out + i, n, count, bits);
        }
    } else {
        for (size_t i = thread; i < n; i += threads) {
            const unsigned bits = place[at(i)];
#pragma unroll 8
            for (int w = 0; w < codewords; ++w) {
                if (w < count) {
                    out[w * n + i] = static_cast<uint8_t>(bits >> w & 1u);
                }
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
