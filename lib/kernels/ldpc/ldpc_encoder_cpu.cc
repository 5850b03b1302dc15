/* SPDX-License-Identifier: GPL-3.0-or-later */
// 64 codewords at a time, a bit of each in a word, so that one step of the plan works on
// all of them: a rate-1/2 code's seven sums an information bit become a ninth of an
// operation. What remains is to turn bytes into words and back, by way of squares of 64
// words times 64 positions: vectors pack a codeword's bytes into bits, then the square is
// transposed.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/ldpc/ldpc_encoder_makers.h"
#include "kernels/ldpc/ldpc_encoding_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/ldpc_encoder_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstring>
#include <hwy/highway.h>
#include <numeric>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t side = 64;
// A vector reads and writes its mask in up to 8 bytes.
constexpr size_t slack = 8;

using bytes = hn::CappedTag<uint8_t, side>;
using words = hn::CappedTag<uint64_t, 8>;

//! Swaps bit `Shift` of the column's number with bit 3, 4 or 5 (`stride` 8, 16 or 32) of
//! the row's.
template <int Shift>
HWY_INLINE void swap_bit(uint64_t* HWY_RESTRICT rows, size_t stride)
{
    constexpr uint64_t low = ~uint64_t{ 0 } / ((uint64_t{ 1 } << Shift) + 1);
    const words d;
    const auto mask = hn::Set(d, low);
    for (size_t first = 0; first < side; first += 2 * stride) {
        for (size_t r = first; r < first + stride; r += hn::Lanes(d)) {
            const auto a = hn::LoadU(d, rows + r);
            const auto b = hn::LoadU(d, rows + r + stride);
            const auto t = hn::And(hn::Xor(hn::ShiftRight<Shift>(a), b), mask);
            hn::StoreU(hn::Xor(a, hn::ShiftLeft<Shift>(t)), d, rows + r);
            hn::StoreU(hn::Xor(b, t), d, rows + r + stride);
        }
    }
}

//! The place of row r where the octal digits of r are swapped: rows that differ by 1, 2
//! or 4 then stand a vector or more apart.
constexpr size_t swapped(size_t r) { return (r & 7) << 3 | r >> 3; }

//! Transposes a square; `in` has its rows in swapped order, and loses its content.
HWY_INLINE void transpose_swapped(uint64_t* HWY_RESTRICT in, uint64_t* HWY_RESTRICT out)
{
    swap_bit<1>(in, 8);
    swap_bit<2>(in, 16);
    swap_bit<4>(in, 32);
    for (size_t r = 0; r < side; ++r) {
        out[r] = in[swapped(r)];
    }
    swap_bit<8>(out, 8);
    swap_bit<16>(out, 16);
    swap_bit<32>(out, 32);
}

//! The lowest bits of 64 bytes.
HWY_INLINE uint64_t pack(const uint8_t* from)
{
    const bytes d;
    const auto one = hn::Set(d, uint8_t{ 1 });
    uint8_t bits[side / 8 + slack];
    for (size_t i = 0; i < side; i += hn::Lanes(d)) {
        hn::StoreMaskBits(d, hn::TestBit(hn::LoadU(d, from + i), one), bits + i / 8);
    }
    uint64_t packed;
    std::memcpy(&packed, bits, sizeof(packed));
    return packed;
}

HWY_INLINE void unpack(uint64_t packed, uint8_t* to)
{
    const bytes d;
    const auto one = hn::Set(d, uint8_t{ 1 });
    uint8_t bits[side / 8 + slack] = {};
    std::memcpy(bits, &packed, sizeof(packed));
    for (size_t i = 0; i < side; i += hn::Lanes(d)) {
        hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, bits + i / 8), one), d, to + i);
    }
}

//! place[position[i]] = bit i of the words of k bytes, word w in bit w.
void load(const uint8_t* info,
          size_t count,
          const std::vector<int>& position,
          uint64_t* place)
{
    const size_t k = position.size();
    alignas(64) uint64_t square[side];
    alignas(64) uint64_t columns[side];
    for (size_t i = 0; i < k; i += side) {
        const size_t width = std::min(side, k - i);
        std::fill_n(square, side, uint64_t{ 0 });
        for (size_t w = 0; w < count; ++w) {
            const uint8_t* from = info + w * k + i;
            uint8_t tail[side] = {};
            if (width < side) {
                std::memcpy(tail, from, width);
                from = tail;
            }
            square[swapped(w)] = pack(from);
        }
        transpose_swapped(square, columns);
        for (size_t j = 0; j < width; ++j) {
            place[position[i + j]] = columns[j];
        }
    }
}

//! The words of n bytes from the places, each of which has word w in bit w.
void store(const uint64_t* place, uint8_t* out, size_t count, size_t n)
{
    alignas(64) uint64_t square[side];
    alignas(64) uint64_t rows[side];
    for (size_t i = 0; i < n; i += side) {
        const size_t width = std::min(side, n - i);
        for (size_t j = 0; j < side; ++j) {
            square[swapped(j)] = j < width ? place[i + j] : 0;
        }
        transpose_swapped(square, rows);
        for (size_t w = 0; w < count; ++w) {
            uint8_t* to = out + w * n + i;
            if (width == side) {
                unpack(rows[w], to);
            } else {
                uint8_t tail[side];
                unpack(rows[w], tail);
                std::memcpy(to, tail, width);
            }
        }
    }
}

void encode(const ldpc_code& code,
            const ldpc_encoding_plan& plan,
            const uint8_t* info,
            uint8_t* out,
            size_t count,
            uint64_t* place)
{
    load(info, count, plan.info, place);
    for (size_t s = 0; s < plan.target.size(); ++s) {
        uint64_t sum = 0;
        for (int e = plan.start[s]; e < plan.start[s + 1]; ++e) {
            sum ^= place[plan.source[e]];
        }
        place[plan.target[s]] = sum;
    }
    uint64_t sum = 0;
    for (const int next : plan.chain) {
        sum ^= place[next];
        place[next] = sum;
    }
    store(place, out, count, code.n());
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(encode);

constexpr size_t words_at_a_time = 64;

class ldpc_encoder_cpu : public ldpc_encoder
{
public:
    explicit ldpc_encoder_cpu(ldpc_code::sptr code)
        : d_code(std::move(code)), d_plan(*d_code)
    {
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const size_t batch = encoder_batch(*d_code, info, words);
        const size_t k = d_code->k();
        const size_t n = d_code->n();
        for_each_part(batch, words_at_a_time, [&](size_t first, size_t last) {
            std::vector<uint64_t> place(d_plan.slots);
            for (; first < last; first += words_at_a_time) {
                HWY_DYNAMIC_DISPATCH(encode)
                (*d_code,
                 d_plan,
                 info.data() + first * k,
                 words.data() + first * n,
                 std::min(words_at_a_time, last - first),
                 place.data());
            }
        });
    }

private:
    ldpc_code::sptr d_code;
    ldpc_encoding_plan d_plan;
};

} // namespace

std::unique_ptr<ldpc_encoder> make_ldpc_encoder_cpu(ldpc_code::sptr code)
{
    return std::make_unique<ldpc_encoder_cpu>(std::move(code));
}

} // namespace gr::cudaphy::kernels
#endif
