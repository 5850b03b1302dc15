/* SPDX-License-Identifier: GPL-3.0-or-later */
// Packs a word's bytes into bits, sums its circulants in registers, and unpacks the
// result. A circulant is read from any bit on by two loads a byte apart and two shifts.
// 5G's largest code takes 316 such reads of 384 bits, 802.11n's 86 of 81. Each word is
// encoded alone, so that a single word takes no longer than its share of a batch.
#include "kernels/common/highway_targets.h"
#include "kernels/ldpc/algebra/circulant_product.h"
#include "kernels/ldpc/encoder/circulant_encoder.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/encoder/circulant_encoder_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <hwy/highway.h>

#include "kernels/ldpc/algebra/bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! \tparam Vectors  a string has so many vectors, or more if it is 0
template <size_t Vectors>
class word_encoder
{
    static constexpr size_t together = Vectors ? Vectors : 1;

public:
    word_encoder(const ldpc_circulant_encoder& e, uint64_t* workspace)
        : d_e(e), d_z(e.plan.lifting_size),
          d_strings(reinterpret_cast<uint8_t*>(workspace)),
          front_words((e.plan.lifting_size + side - 1) / side),
          d_front(workspace + e.information), d_information(d_front + front_words),
          d_turned(workspace + e.turned), d_ones(workspace + e.ones),
          d_products(workspace + e.products), d_moved(workspace + e.moved),
          d_sent(workspace + e.sent)
    {
    }

    void encode(const uint8_t* info, uint8_t* out) const
    {
        const auto& plan = d_e.plan;
        pack_information(info);
        take_inputs();
        int first = 0;
        size_t number = 0;
        auto extra = d_e.extras.begin();
        const auto run = [&](const std::vector<ldpc_circulant_plan::sum>& sums) {
            for (const auto& sum : sums) {
                add_terms(sum.to, first, d_e.whole[number], sum.last);
                for (; extra != d_e.extras.end() && extra->sum == number; ++extra) {
                    const uint64_t bit =
                        string(extra->from)[extra->bit / 64] >> extra->bit % 64 & 1;
                    string(sum.to)[extra->at / 64] ^= bit << extra->at % 64;
                }
                finish(sum.to);
                first = sum.last;
                ++number;
            }
        };
        run(plan.sums);
        if (!plan.factors.empty()) {
            multiply();
        } else if (!plan.dense_to.empty()) {
            add_dense();
        }
        run(plan.late_sums);
        if (plan.ways) {
            transpose_interleaved();
        }
        if (d_e.packed_output) {
            put_packed(out);
        } else {
            put_bytes(out);
        }
    }

private:
    uint64_t* string(size_t number) const
    {
        return reinterpret_cast<uint64_t*>(d_strings + number * d_e.string_bytes);
    }

    void pack_information(const uint8_t* info) const
    {
        if (d_e.packed_input) {
            std::memcpy(d_information, info, d_e.bytes_in);
            reverse_in_bytes(d_information, (d_e.k + side - 1) / side);
            return;
        }
        const size_t squares = d_e.k / side * side;
        for (size_t i = 0; i < squares; i += side) {
            d_information[i / side] = pack(info + i);
        }
        if (squares < d_e.k) {
            d_information[squares / side] = read_bytes(info + squares, d_e.k - squares);
        }
    }

    void take_inputs() const
    {
        for (const auto& run : d_e.plan.input_runs) {
            // Before the information there is room for a string.
            const size_t start = front_words * side + run.info - run.first;
            const auto* from = reinterpret_cast<const uint8_t*>(d_front) + start / 8;
            uint64_t* to = string(run.string);
            const size_t end = run.first + run.bits;
            for (size_t at = 0; at * 8 < end; at += lanes()) {
                hn::StoreU(shifted(from + at, start % 8), words(), to + at / 8);
            }
            if (run.bits < d_z) {
                std::fill_n(to, run.first / side, uint64_t{ 0 });
                to[run.first / side] &= ~uint64_t{ 0 } << run.first % side;
                to[end / side] &= (uint64_t{ 1 } << end % side) - 1;
                for (size_t w = end / side + 1; w * side < static_cast<size_t>(d_z);
                     ++w) {
                    to[w] = 0;
                }
            }
            finish(run.string);
        }
        for (const int number : d_e.plan.mixed) {
            std::fill_n(string(number), d_e.plan.string_words(), uint64_t{ 0 });
        }
        for (const auto& bit : d_e.plan.input_bits) {
            const uint64_t value = d_information[bit.info / 64] >> bit.info % 64 & 1;
            string(bit.string)[bit.bit / 64] |= value << bit.bit % 64;
        }
        for (const int number : d_e.plan.mixed) {
            finish(number);
        }
    }

    //! Bytes of a vector.
    static size_t lanes() { return hn::Lanes(words()) * sizeof(uint64_t); }

    static HWY_INLINE hn::Vec<words> whole(const uint8_t* from)
    {
        return hn::LoadU(words(), reinterpret_cast<const uint64_t*>(from));
    }

    //! The bits from bit 0..7 of the first byte on. Reads a byte beyond the vector.
    static HWY_INLINE hn::Vec<words> shifted(const uint8_t* from, uint32_t bit)
    {
        return hn::Or(hn::ShiftRightSame(whole(from), static_cast<int>(bit)),
                      hn::ShiftLeftSame(whole(from + 1), static_cast<int>(8 - bit)));
    }

    HWY_INLINE void
    add_terms(size_t to, size_t first, size_t whole_end, size_t last) const
    {
        const auto* terms = d_e.terms.data();
        auto* const sum = reinterpret_cast<uint8_t*>(string(to));
        hn::Vec<words> total[together];
        for (size_t at = 0; at * 8 < static_cast<size_t>(d_z); at += together * lanes()) {
            for (auto& each : total) {
                each = hn::Zero(words());
            }
            for (size_t t = first; t < whole_end; ++t) {
                const auto* from = d_strings + terms[t].byte + at;
                for (size_t v = 0; v < together; ++v) {
                    total[v] = hn::Xor(total[v], whole(from + v * lanes()));
                }
            }
            for (size_t t = whole_end; t < last; ++t) {
                const auto* from = d_strings + terms[t].byte + at;
                for (size_t v = 0; v < together; ++v) {
                    total[v] =
                        hn::Xor(total[v], shifted(from + v * lanes(), terms[t].bit));
                }
            }
            put(total, sum + at);
        }
    }

    static HWY_INLINE void put(const hn::Vec<words> (&vectors)[together], uint8_t* to)
    {
        for (size_t v = 0; v < together; ++v) {
            hn::StoreU(
                vectors[v], words(), reinterpret_cast<uint64_t*>(to + v * lanes()));
        }
    }

    //! Appends the string to itself, if it is read from another beginning.
    HWY_INLINE void finish(size_t number) const
    {
        if (!d_e.plan.rotated[number]) {
            return;
        }
        uint64_t* s = string(number);
        if (d_z % 8 == 0) {
            // What the last vector has too much is behind both copies in the end.
            auto* const from = reinterpret_cast<uint8_t*>(s);
            hn::Vec<words> all[together];
            for (size_t at = 0; at * 8 < static_cast<size_t>(d_z);
                 at += together * lanes()) {
                for (size_t v = 0; v < together; ++v) {
                    all[v] = whole(from + at + v * lanes());
                }
                put(all, from + d_z / 8 + at);
            }
            return;
        }
        const size_t q = d_z / 64;
        const unsigned b = d_z % 64;
        const uint64_t last = s[q] & ((uint64_t{ 1 } << b) - 1);
        uint64_t carry = last;
        for (size_t w = 0; w < q; ++w) {
            const uint64_t next = s[w];
            s[q + w] = carry | next << b;
            carry = next >> (64 - b);
        }
        s[2 * q] = carry | last << b;
        s[2 * q + 1] = last >> (64 - b);
    }

    void multiply() const
    {
        const auto& plan = d_e.plan;
        const size_t here = d_z / 64;
        uint64_t* from = d_products;
        for (const int number : plan.dense_from) {
            from = std::copy_n(string(number), here, from);
        }
        circulant_products(d_products,
                           plan.dense_from.size(),
                           plan.factors.data(),
                           here,
                           plan.dense_to.size(),
                           from);
        for (const int number : plan.dense_to) {
            std::copy_n(from, here, string(number));
            from += here;
            finish(number);
        }
    }

    void add_dense() const
    {
        const auto& plan = d_e.plan;
        const words d;
        const size_t wide = plan.string_words();
        const size_t row = wide * plan.dense_to.size();
        const size_t here = (d_z + 63) / 64;
        size_t count = 0;
        for (size_t f = 0; f < plan.dense_from.size(); ++f) {
            const uint64_t* from = string(plan.dense_from[f]);
            for (size_t w = 0; w < here; ++w) {
                uint64_t ones = from[w];
                if (w + 1 == here && d_z % 64) {
                    ones &= (uint64_t{ 1 } << d_z % 64) - 1;
                }
                for (; ones; ones &= ones - 1) {
                    d_ones[count++] =
                        (f * d_z + w * 64 + hwy::Num0BitsBelowLS1Bit_Nonzero64(ones)) *
                        row;
                }
            }
        }
        for (size_t t = 0; t < plan.dense_to.size(); ++t) {
            uint64_t* to = string(plan.dense_to[t]);
            for (size_t w = 0; w < here; w += hn::Lanes(d)) {
                const uint64_t* column = plan.dense.data() + t * wide + w;
                auto even =
                    d_e.is_mixed[plan.dense_to[t]] ? hn::LoadU(d, to + w) : hn::Zero(d);
                auto odd = hn::Zero(d);
                size_t i = 0;
                for (; i + 1 < count; i += 2) {
                    even = hn::Xor(even, hn::LoadU(d, column + d_ones[i]));
                    odd = hn::Xor(odd, hn::LoadU(d, column + d_ones[i + 1]));
                }
                if (i < count) {
                    even = hn::Xor(even, hn::LoadU(d, column + d_ones[i]));
                }
                hn::StoreU(hn::Xor(even, odd), d, to + w);
            }
            finish(plan.dense_to[t]);
        }
    }

    size_t turned_words() const { return (d_e.plan.ways + side - 1) / side; }

    //! Bit j of all interleaved strings becomes row j of the bits turned.
    void transpose_interleaved() const
    {
        alignas(64) uint64_t square[side];
        alignas(64) uint64_t columns[side];
        const size_t ways = d_e.plan.ways;
        const size_t step = d_e.string_bytes / sizeof(uint64_t);
        for (size_t i = 0; i < ways; i += side) {
            const size_t height = std::min(side, ways - i);
            const uint64_t* from = string(d_e.plan.interleaved + i);
            uint64_t* to = d_turned + i / side;
            for (size_t j = 0; j < static_cast<size_t>(d_z); j += side) {
                for (size_t r = 0; r < side; ++r) {
                    square[swapped(r)] = r < height ? from[r * step + j / side] : 0;
                }
                transpose_swapped(square, columns);
                const size_t width = std::min(side, d_z - j);
                for (size_t c = 0; c < width; ++c) {
                    to[(j + c) * turned_words()] = columns[c];
                }
            }
        }
    }

    //! put(words, bits) for each piece of the codeword.
    template <typename Put>
    HWY_INLINE void for_each_output(const Put& put) const
    {
        for (const auto& run : d_e.plan.outputs) {
            const uint64_t* from = string(run.string);
            if (run.first) {
                const auto* begin =
                    reinterpret_cast<const uint8_t*>(from) + run.first / 8;
                for (size_t at = 0; at * 8 < static_cast<size_t>(run.bits);
                     at += lanes()) {
                    hn::StoreU(shifted(begin + at, run.first % 8),
                               words(),
                               d_moved + at / sizeof(uint64_t));
                }
                from = d_moved;
            }
            put(from, static_cast<size_t>(run.bits));
        }
        if (d_e.plan.ways) {
            for (size_t j = 0; j < static_cast<size_t>(d_z); ++j) {
                put(d_turned + j * turned_words(), static_cast<size_t>(d_e.plan.ways));
            }
        }
    }

    void put_bytes(uint8_t* out) const
    {
        // Whole vectors: what is too much is written over by the next piece.
        uint8_t* const end = out + d_e.n;
        for_each_output([&](const uint64_t* from, size_t bits) {
            for (size_t i = 0; i < bits; i += side) {
                if (out + i + side <= end) {
                    unpack(from[i / side], out + i);
                } else {
                    write_bytes(from[i / side], std::min(side, bits - i), out + i);
                }
            }
            out += bits;
        });
    }

    void put_packed(uint8_t* out) const
    {
        uint64_t* to = d_sent;
        uint64_t word = 0;
        unsigned filled = 0;
        for_each_output([&](const uint64_t* from, size_t bits) {
            if (filled == 0) {
                // Whole words as they are.
                for (; bits >= side; bits -= side) {
                    *to++ = *from++;
                }
            }
            for (size_t i = 0; i < bits; i += side) {
                const unsigned count = std::min(side, bits - i);
                uint64_t next = from[i / side];
                if (count < side) {
                    next &= (uint64_t{ 1 } << count) - 1;
                }
                word |= next << filled;
                if (filled + count >= side) {
                    *to++ = word;
                    word = filled ? next >> (side - filled) : 0;
                    filled -= side;
                }
                filled += count;
            }
        });
        *to = word;
        reverse_in_bytes(d_sent, (d_e.n + side - 1) / side);
        std::memcpy(out, d_sent, d_e.bytes_out);
    }

    const ldpc_circulant_encoder& d_e;
    const int d_z;
    uint8_t* d_strings;
    const size_t front_words;
    uint64_t *d_front, *d_information, *d_turned, *d_ones, *d_products, *d_moved, *d_sent;
};

void encode_by_circulants(const ldpc_circulant_encoder& e,
                          const uint8_t* info,
                          uint8_t* out,
                          size_t count,
                          uint64_t* workspace)
{
    const auto run = [&](const auto& encoder) {
        for (size_t w = 0; w < count; ++w) {
            encoder.encode(info + w * e.bytes_in, out + w * e.bytes_out);
        }
    };
    const size_t bits = 64 * hn::Lanes(words());
    switch ((e.plan.lifting_size + bits - 1) / bits) {
    case 1:
        return run(word_encoder<1>(e, workspace));
    case 2:
        return run(word_encoder<2>(e, workspace));
    case 3:
        return run(word_encoder<3>(e, workspace));
    default:
        return run(word_encoder<0>(e, workspace));
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {

HWY_EXPORT(encode_by_circulants);

ldpc_circulant_encoder::ldpc_circulant_encoder(const ldpc_code& code,
                                               ldpc_circulant_plan from,
                                               const ldpc_encoder::parameters& p)
    : plan(std::move(from)), is_mixed(plan.strings), k(code.k()), n(code.n()),
      bytes_in(p.packed_input ? (k + 7) / 8 : k),
      bytes_out(p.packed_output ? (n + 7) / 8 : n), packed_input(p.packed_input),
      packed_output(p.packed_output)
{
    constexpr size_t vector = 64; // bytes, and at most these are read beyond a string
    const size_t z = plan.lifting_size;
    const size_t vectors = (z + 8 * vector - 1) / (8 * vector);
    string_bytes = (z / 8 + (vectors + 1) * vector + vector - 1) / vector * vector;
    for (const auto& t : plan.terms) {
        terms.push_back({ static_cast<uint32_t>(t.from * string_bytes + t.rotation / 8),
                          static_cast<uint32_t>(t.rotation % 8) });
    }
    for (const int number : plan.mixed) {
        is_mixed[number] = 1;
    }
    uint32_t at = 0, number = 0;
    for (const auto* sums : { &plan.sums, &plan.late_sums }) {
        for (const auto& sum : *sums) {
            const auto last = static_cast<uint32_t>(sum.last);
            uint32_t end = at;
            while (end < last && terms[end].bit == 0) {
                ++end;
            }
            whole.push_back(end);
            for (; at < last; ++at) {
                const auto& t = plan.terms[at];
                if (t.missing >= 0) {
                    extras.push_back(
                        { number,
                          static_cast<uint32_t>(t.missing),
                          static_cast<uint32_t>(t.from),
                          static_cast<uint32_t>((t.missing + t.rotation) % z) });
                }
            }
            ++number;
        }
    }
    const size_t slack = 2 * vector / sizeof(uint64_t);
    information = plan.strings * string_bytes / sizeof(uint64_t) + slack;
    turned = information + (z + 63) / 64 + k / 64 + slack;
    ones = turned + z * ((plan.ways + 63) / 64);
    products = ones + (plan.dense.empty() ? 0 : plan.dense_from.size() * z);
    moved = products + (plan.dense_from.size() + plan.dense_to.size()) * z / 64;
    sent = moved + string_bytes / sizeof(uint64_t);
    workspace_words = sent + (packed_output ? n / 64 + slack : 0);
}

void ldpc_circulant_encoder::encode(const uint8_t* info,
                                    uint8_t* out,
                                    size_t count,
                                    std::vector<uint64_t>& workspace) const
{
    HWY_DYNAMIC_DISPATCH(encode_by_circulants)
    (*this, info, out, count, workspace.data());
}

} // namespace gr::cudaphy::kernels
#endif
