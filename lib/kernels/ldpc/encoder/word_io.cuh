/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/encoder/makers.h"

// What a group of threads does with one word of a batch: its information from memory into
// bits, its codeword's bits to memory. Bits stand in words of 32, the first one lowest.

namespace gr::cudaphy::kernels {
namespace {

__device__ __forceinline__ uint32_t bits_at(const uint32_t* from, int bit)
{
    return __funnelshift_r(from[bit >> 5], from[(bit >> 5) + 1], bit & 31);
}

//! The lowest bits of four bytes.
__device__ __forceinline__ uint32_t packed_four(uint32_t bytes)
{
    return (bytes & 0x01010101u) * 0x10204080u >> 28;
}

//! Four bytes of one bit each.
__device__ __forceinline__ uint32_t spread_four(uint32_t bits)
{
    return (bits & 15u) * 0x00204081u & 0x01010101u;
}

//! Reverses the bits of each byte: the first bit of a packed byte is its highest.
__device__ __forceinline__ uint32_t reversed_in_bytes(uint32_t word)
{
    return __byte_perm(__brev(word), 0, 0x0123);
}

//! `Threads` threads, a warp or a block, that work on one word.
template <int Threads>
struct word_threads {
    static __device__ __forceinline__ void sync()
    {
        if (Threads == 32) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};

//! How words lie in memory, and how many bytes of them move at once.
struct word_form {
    size_t bytes;
    int bits;
    bool packed;
    int unit; //!< 16, 8, 4 or 1

    //! For words from `data` on.
    word_form from(const void* data) const
    {
        const auto address = reinterpret_cast<uintptr_t>(data) | bytes;
        int widest = packed ? 4 : 16;
        while (address % unsigned(widest)) {
            widest /= 2;
        }
        return { bytes, bits, packed, widest < 4 ? 1 : widest };
    }
};

//! The information of one word to words[0..], whose rest to 32 bits becomes 0 or, if
//! packed, anything.
template <int Threads>
__device__ __forceinline__ void
take_word(const word_form& form, const uint8_t* info, uint32_t* words, int thread)
{
    const int k = form.bits;
    if (form.packed && form.unit == 4) {
        const auto* from = reinterpret_cast<const uint32_t*>(info);
#pragma unroll 2
        for (int i = thread; i < int(form.bytes) / 4; i += Threads) {
            words[i] = reversed_in_bytes(__ldcs(from + i));
        }
        return;
    }
    if (form.unit == 1 && !form.packed) {
        for (int i = thread; i < (k + 31) / 32 * 32; i += Threads) {
            const auto all = __ballot_sync(~0u, i < k && (info[i] & 1));
            if (i % 32 == 0) {
                words[i / 32] = all;
            }
        }
        return;
    }
    auto* const bytes = reinterpret_cast<uint8_t*>(words);
    if (form.packed) {
        for (int i = thread; i < int(form.bytes); i += Threads) {
            bytes[i] = uint8_t(reversed_in_bytes(info[i]));
        }
    } else if (form.unit == 16) {
        const auto* from = reinterpret_cast<const uint4*>(info);
        auto* const halves = reinterpret_cast<uint16_t*>(words);
#pragma unroll 4
        for (int i = thread; i < k / 16; i += Threads) {
            const auto x = __ldcs(from + i);
            halves[i] = uint16_t(packed_four(x.x) | packed_four(x.y) << 4 |
                                 packed_four(x.z) << 8 | packed_four(x.w) << 12);
        }
    } else if (form.unit == 8) {
        const auto* from = reinterpret_cast<const uint2*>(info);
#pragma unroll 4
        for (int i = thread; i < k / 8; i += Threads) {
            const auto x = __ldcs(from + i);
            bytes[i] = uint8_t(packed_four(x.x) | packed_four(x.y) << 4);
        }
    } else {
        const auto* from = reinterpret_cast<const uint32_t*>(info);
#pragma unroll 4
        for (int i = thread; i < (k / 4 + 31) / 32 * 32; i += Threads) {
            const bool is_in = i < k / 4;
            const uint32_t own = is_in ? packed_four(__ldcs(from + i)) : 0;
            const uint32_t next = __shfl_down_sync(~0u, own, 1);
            if (is_in && i % 2 == 0) {
                bytes[i / 2] = uint8_t(own | next << 4);
            }
        }
    }
    const int first = form.packed ? int(form.bytes) : (k + 7) / 8;
    const int rest = (k + 31) / 32 * 4 - first;
    if (thread < rest) {
        bytes[first + thread] = 0;
    }
}

//! One codeword to memory. \param words  gives bits 32 i..32 i + 31, 0 beyond the word
template <int Threads, typename Words>
__device__ __forceinline__ void
put_word(const word_form& form, const Words& words, uint8_t* out, int thread)
{
    const int n = form.bits;
    if (form.packed) {
        if (form.unit == 4) {
            for (int i = thread; i < int(form.bytes) / 4; i += Threads) {
                __stcs(reinterpret_cast<uint32_t*>(out) + i, reversed_in_bytes(words(i)));
            }
        } else {
            for (int i = thread; i < int(form.bytes); i += Threads) {
                out[i] = uint8_t(reversed_in_bytes(words(i / 4)) >> i % 4 * 8);
            }
        }
    } else if (form.unit == 16) {
#pragma unroll 2
        for (int i = thread; i < n / 16; i += Threads) {
            const uint32_t bits = words(i / 2) >> i % 2 * 16;
            __stcs(reinterpret_cast<uint4*>(out) + i,
                   make_uint4(spread_four(bits),
                              spread_four(bits >> 4),
                              spread_four(bits >> 8),
                              spread_four(bits >> 12)));
        }
    } else if (form.unit == 8) {
#pragma unroll 2
        for (int i = thread; i < n / 8; i += Threads) {
            const uint32_t bits = words(i / 4) >> i % 4 * 8;
            __stcs(reinterpret_cast<uint2*>(out) + i,
                   make_uint2(spread_four(bits), spread_four(bits >> 4)));
        }
    } else if (form.unit == 4) {
#pragma unroll 2
        for (int i = thread; i < n / 4; i += Threads) {
            __stcs(reinterpret_cast<uint32_t*>(out) + i,
                   spread_four(words(i / 8) >> i % 8 * 4));
        }
    } else {
        for (int i = thread; i < n; i += Threads) {
            out[i] = uint8_t(words(i / 32) >> i % 32 & 1);
        }
    }
}

//! A string's bits `bit`..`bit` + 31 of the information, 0 outside first..end - 1.
__device__ __forceinline__ uint32_t
window(const uint32_t* info, int offset, int first, int end, int bit)
{
    uint32_t word = bits_at(info, offset + bit);
    if (bit + 32 > end) {
        word &= bit < end ? ~0u >> (bit + 32 - end) : 0;
    }
    if (bit < first) {
        word &= first - bit < 32 ? ~0u << (first - bit) : 0;
    }
    return word;
}

//! Bits 32 i..32 i + 31 of a string that stands there again and again.
__device__ __forceinline__ uint32_t
repeated_window(const uint32_t* info, int offset, int first, int end, int z, int i)
{
    int bit = 32 * i;
    bit -= bit >= z ? z : 0;
    bit -= bit >= z ? z : 0;
    const uint32_t word = window(info, offset, first, end, bit);
    const int left = z - bit;
    return left >= 32 ? word : word | window(info, offset, first, end, 0) << left;
}

} // namespace
} // namespace gr::cudaphy::kernels
