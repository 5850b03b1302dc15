/* SPDX-License-Identifier: GPL-3.0-or-later */
// Words are divided by g(x) 64 bits a step, by tables of what each byte adds. Only words
// that leave a remainder are corrected, from the remainder: its length is n - k, not n.
#include "kernels/bch/error_locator.h"
#include "kernels/bch/makers.h"
#include "kernels/bch/remainder_tables.h"
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bch/cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstring>
#include <hwy/highway.h>

#include "kernels/ldpc/algebra/bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

uint64_t reversed_bytes(uint64_t x) { return __builtin_bswap64(x); }

//! Bits at .. at + 63 of a word of `bytes` bytes, the first one highest; behind the
//! word's end they are arbitrary.
uint64_t packed_bits(const uint8_t* word, size_t bytes, size_t at)
{
    uint8_t part[9] = {};
    const size_t first = at / 8;
    std::memcpy(part, word + first, std::min<size_t>(9, bytes - first));
    uint64_t high;
    std::memcpy(&high, part, 8);
    high = reversed_bytes(high);
    return at % 8 ? high << at % 8 | part[8] >> (8 - at % 8) : high;
}

//! `count` bits, up to 64, from position `at` of a word; bit `at` is the highest one.
uint64_t bits_at(const uint8_t* word, size_t bytes, bool packed, size_t at, size_t count)
{
    uint64_t bits;
    if (packed) {
        bits = packed_bits(word, bytes, at);
    } else {
        bits = reversed_bytes(reverse_in_bytes(read_bytes(word + at, count)));
    }
    return count < 64 ? bits & ~(~uint64_t{ 0 } >> count) : bits;
}

//! The register after one step: `Words` words, 64 bits leave it.
template <size_t Words>
HWY_INLINE void step(const remainder_tables& tables, uint64_t bits, uint64_t* state)
{
    const size_t words = Words ? Words : tables.words;
    const size_t stride = Words ? (Words + 1) / 2 * 2 : tables.stride;
    const uint64_t leaves = state[0] ^ bits;
    for (size_t w = 0; w + 1 < words; ++w) {
        state[w] = state[w + 1];
    }
    state[words - 1] = 0;
    const uint64_t* row = tables.of_byte.data();
    for (size_t j = 0; j < 8; ++j, row += 256 * stride) {
        const uint64_t* const adds = row + (leaves >> 8 * j & 255) * stride;
        for (size_t w = 0; w < words; ++w) {
            state[w] ^= adds[w];
        }
    }
}

//! The same for one bit, the highest of `bit`.
void step_bit(const remainder_tables& tables, uint64_t bit, uint64_t* state)
{
    const bool leaves = (state[0] ^ bit) >> 63;
    for (size_t w = 0; w < tables.words; ++w) {
        const uint64_t next = w + 1 < tables.words ? state[w + 1] >> 63 : 0;
        state[w] = (state[w] << 1 | next) ^ (leaves ? tables.divisor[w] : 0);
    }
}

template <size_t Words>
void divide(const remainder_tables& tables,
            const uint8_t* word,
            size_t bytes,
            bool packed,
            size_t count,
            uint64_t* state)
{
    size_t at = 0;
    for (; at + 64 <= count; at += 64) {
        step<Words>(tables, bits_at(word, bytes, packed, at, 64), state);
    }
    if (at < count) {
        uint64_t bits = bits_at(word, bytes, packed, at, count - at);
        for (; at < count; ++at, bits <<= 1) {
            step_bit(tables, bits, state);
        }
    }
}

//! state: the parity bits of the first `count` bits of a word.
void word_parity(const remainder_tables& tables,
                 const uint8_t* word,
                 size_t bytes,
                 bool packed,
                 size_t count,
                 uint64_t* state)
{
    std::fill_n(state, tables.words, uint64_t{ 0 });
    switch (tables.words) {
    case 1:
        return divide<1>(tables, word, bytes, packed, count, state);
    case 2:
        return divide<2>(tables, word, bytes, packed, count, state);
    case 3:
        return divide<3>(tables, word, bytes, packed, count, state);
    default:
        return divide<0>(tables, word, bytes, packed, count, state);
    }
}

//! state: r(x) modulo g(x) of a received word of n = count + parity_bits bits; whether it
//! is not 0.
bool word_remainder(const remainder_tables& tables,
                    const uint8_t* word,
                    size_t bytes,
                    bool packed,
                    size_t count,
                    size_t parity_bits,
                    uint64_t* state)
{
    word_parity(tables, word, bytes, packed, count, state);
    uint64_t any = 0;
    for (size_t w = 0; w < tables.words; ++w) {
        const size_t width = std::min<size_t>(64, parity_bits - 64 * w);
        state[w] ^= bits_at(word, bytes, packed, count + 64 * w, width);
        any |= state[w];
    }
    return any != 0;
}

//! Copies the first `count` bits of a word.
void copy_bits(const uint8_t* word,
               size_t bytes,
               bool packed,
               size_t count,
               uint8_t* out,
               bool packed_output)
{
    for (size_t at = 0; at < count; at += 64) {
        const size_t width = std::min<size_t>(64, count - at);
        const uint64_t bits = reversed_bytes(bits_at(word, bytes, packed, at, width));
        if (packed_output) {
            std::memcpy(out + at / 8, &bits, (width + 7) / 8);
        } else {
            write_bytes(reverse_in_bytes(bits), width, out + at);
        }
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(word_parity);
HWY_EXPORT(word_remainder);
HWY_EXPORT(copy_bits);

constexpr size_t bits_of_a_piece = 1 << 17; // for one core at a time

size_t words_of_a_piece(const bch_code& code) { return bits_of_a_piece / code.n() + 1; }

class bch_encoder_cpu : public bch_encoder
{
public:
    bch_encoder_cpu(bch_code::sptr code, const bch_packing& p)
        : d_code(std::move(code)), d_packing(p), d_tables(*d_code)
    {
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const size_t k = d_code->k(), n = d_code->n();
        const size_t in = bch_bytes(k, d_packing.packed_input);
        const size_t out = bch_bytes(n, d_packing.packed_output);
        const size_t batch = bch_batch("bch_encoder", info, in, words, out);
        for_each_part(batch, words_of_a_piece(*d_code), [&](size_t first, size_t last) {
            std::vector<uint64_t> state(d_tables.words);
            for (size_t w = first; w < last; ++w) {
                const uint8_t* const from = info.data() + w * in;
                uint8_t* const to = words.data() + w * out;
                HWY_DYNAMIC_DISPATCH(word_parity)
                (d_tables, from, in, d_packing.packed_input, k, state.data());
                HWY_DYNAMIC_DISPATCH(copy_bits)
                (from, in, d_packing.packed_input, k, to, d_packing.packed_output);
                append(state, k, n, to);
            }
        });
    }

private:
    void append(const std::vector<uint64_t>& state, size_t k, size_t n, uint8_t* to) const
    {
        if (d_packing.packed_output) {
            std::fill(to + (k + 7) / 8, to + (n + 7) / 8, uint8_t{ 0 });
        }
        for (size_t i = k; i < n; ++i) {
            const uint8_t bit = state[(i - k) / 64] >> (63 - (i - k) % 64) & 1;
            if (d_packing.packed_output) {
                to[i / 8] |= bit << (7 - i % 8);
            } else {
                to[i] = bit;
            }
        }
    }

    bch_code::sptr d_code;
    bch_packing d_packing;
    remainder_tables d_tables;
};

class bch_decoder_cpu : public bch_decoder
{
public:
    bch_decoder_cpu(bch_code::sptr code, const bch_packing& p)
        : d_code(std::move(code)), d_packing(p), d_tables(*d_code),
          d_field(d_code->m(), d_code->polynomial()),
          d_locator(d_field, d_code->m(), d_code->t())
    {
    }

    size_t workspace_bytes(size_t) const override { return 0; }

    void run(view<const uint8_t> words,
             view<uint8_t> info,
             view<int32_t> corrected,
             view<uint8_t>,
             queue&) override
    {
        const size_t k = d_code->k(), n = d_code->n();
        const size_t in = bch_bytes(n, d_packing.packed_input);
        const size_t out = bch_bytes(k, d_packing.packed_output);
        const size_t batch = bch_decoder_batch(words, in, info, out, corrected);
        for_each_part(batch, words_of_a_piece(*d_code), [&](size_t first, size_t last) {
            std::vector<uint64_t> state(d_tables.words);
            for (size_t w = first; w < last; ++w) {
                const uint8_t* const from = words.data() + w * in;
                uint8_t* const to = info.data() + w * out;
                const bool wrong = HWY_DYNAMIC_DISPATCH(word_remainder)(
                    d_tables, from, in, d_packing.packed_input, k, n - k, state.data());
                HWY_DYNAMIC_DISPATCH(copy_bits)
                (from, in, d_packing.packed_input, k, to, d_packing.packed_output);
                corrected.data()[w] = wrong ? correct(state, to) : 0;
            }
        });
    }

private:
    //! S_j = r(alpha^j) of the remainder r(x): alpha^j is a root of g(x).
    std::vector<uint32_t> syndromes(const std::vector<uint64_t>& state) const
    {
        const int parity = d_code->n() - d_code->k();
        std::vector<uint32_t> s(2 * d_code->t() + 1);
        for (size_t j = 1; j < s.size(); ++j) {
            if (j % 2 == 0) {
                s[j] = d_field.square(s[j / 2]); // of a binary polynomial
                continue;
            }
            for (int i = 0; i < parity; ++i) {
                if (state[i / 64] >> (63 - i % 64) & 1) {
                    s[j] ^= d_field.exp(j * (parity - 1 - i) % d_field.order());
                }
            }
        }
        return s;
    }

    int correct(const std::vector<uint64_t>& state, uint8_t* info) const
    {
        const auto powers = d_locator.errors(syndromes(state));
        const uint32_t n = d_code->n();
        if (powers.empty() || *std::max_element(powers.begin(), powers.end()) >= n) {
            return failed;
        }
        for (const auto power : powers) {
            const uint32_t at = n - 1 - power;
            if (at >= static_cast<uint32_t>(d_code->k())) {
                continue;
            }
            if (d_packing.packed_output) {
                info[at / 8] ^= 1 << (7 - at % 8);
            } else {
                info[at] ^= 1;
            }
        }
        return static_cast<int>(powers.size());
    }

    bch_code::sptr d_code;
    bch_packing d_packing;
    remainder_tables d_tables;
    galois_field d_field;
    error_locator d_locator;
};

} // namespace

CUDAPHY_HOST_MAKER_2(cpu, bch_encoder, bch_encoder_cpu, bch_code::sptr, bch_packing)

CUDAPHY_HOST_MAKER_2(cpu, bch_decoder, bch_decoder_cpu, bch_code::sptr, bch_packing)

} // namespace gr::cudaphy::kernels
#endif
