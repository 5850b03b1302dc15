/* SPDX-License-Identifier: GPL-3.0-or-later */
// Encodes 64 or 512 codewords at a time, if the code has no circulants or short ones. A
// word holds one bit of each codeword, so that one step of the plan works on all of them.
// Squares of 64 words times 64 positions are converted: vectors pack a codeword's bytes
// into bits, then the square is transposed. circulant_encoder_cpu.cc encodes all other
// codes.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/ldpc/encoder/circulant_encoder.h"
#include "kernels/ldpc/encoder/encoding_plan.h"
#include "kernels/ldpc/encoder/makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/encoder/cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <hwy/highway.h>
#include <optional>

#include "kernels/ldpc/algebra/bits-inl.h"

#ifndef CUDAPHY_LDPC_ENCODING
#define CUDAPHY_LDPC_ENCODING
namespace gr::cudaphy::kernels {

constexpr size_t wide_stride = 8;

//! The encoder's data for a call of encode().
struct encoding {
    const ldpc_encoding_plan* plan;
    ldpc_encoder_bytes bytes;
    size_t n;
    size_t stride; //!< 1 or wide_stride: words of 64 codewords in a place
    bool packed_input, packed_output;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! place[position[i] * stride] = bit i of `count` words of information, word w in bit w.
void load(
    const encoding& e, const uint8_t* info, size_t count, uint64_t* slots, size_t stride)
{
    const auto& position = e.plan->info;
    const size_t k = position.size();
    alignas(64) uint64_t square[side];
    alignas(64) uint64_t columns[side];
    for (size_t i = 0; i < k; i += side) {
        const size_t width = std::min(side, k - i);
        std::fill_n(square, side, uint64_t{ 0 });
        for (size_t w = 0; w < count; ++w) {
            const uint8_t* from = info + w * e.bytes.info;
            square[swapped(w)] = e.packed_input ? read_packed(from + i / 8, width)
                                                : read_bytes(from + i, width);
        }
        transpose_swapped(square, columns);
        for (size_t j = 0; j < width; ++j) {
            slots[position[i + j] * stride] = columns[j];
        }
    }
}

//! `count` codewords from the first n places, each of which has word w in bit w.
void store(
    const encoding& e, const uint64_t* slots, size_t stride, uint8_t* out, size_t count)
{
    alignas(64) uint64_t square[side];
    alignas(64) uint64_t rows[side];
    for (size_t i = 0; i < e.n; i += side) {
        const size_t width = std::min(side, e.n - i);
        for (size_t j = 0; j < side; ++j) {
            square[swapped(j)] = j < width ? slots[(i + j) * stride] : 0;
        }
        transpose_swapped(square, rows);
        for (size_t w = 0; w < count; ++w) {
            uint8_t* to = out + w * e.bytes.word;
            if (e.packed_output) {
                write_packed(rows[w], width, to + i / 8);
            } else {
                write_bytes(rows[w], width, to + i);
            }
        }
    }
}

//! The plan's sums; a place holds Stride words.
template <size_t Stride>
void add(const ldpc_encoding_plan& plan, uint64_t* slots)
{
    const hn::CappedTag<uint64_t, Stride> d;
    const size_t lanes = hn::Lanes(d);
    const auto* source = plan.source.data();
    for (size_t s = 0; s < plan.target.size(); ++s) {
        const int first = plan.start[s];
        const int last = plan.start[s + 1];
        for (size_t w = 0; w < Stride; w += lanes) {
            auto sum = hn::Zero(d);
            for (int i = first; i < last; ++i) {
                sum = hn::Xor(sum, hn::LoadU(d, slots + source[i] * Stride + w));
            }
            hn::StoreU(sum, d, slots + plan.target[s] * Stride + w);
        }
    }
    for (size_t w = 0; w < Stride; w += lanes) {
        auto sum = hn::Zero(d);
        for (const int next : plan.chain) {
            sum = hn::Xor(sum, hn::LoadU(d, slots + next * Stride + w));
            hn::StoreU(sum, d, slots + next * Stride + w);
        }
    }
}

//! Up to 64 e.stride words; `place` has plan.slots e.stride words.
void encode(
    const encoding& e, const uint8_t* info, uint8_t* out, size_t count, uint64_t* slots)
{
    for (size_t w = 0; w < count; w += side) {
        load(e,
             info + w * e.bytes.info,
             std::min(side, count - w),
             slots + w / side,
             e.stride);
    }
    if (e.stride == 1) {
        add<1>(*e.plan, slots);
    } else {
        add<wide_stride>(*e.plan, slots);
    }
    for (size_t w = 0; w < count; w += side) {
        store(e,
              slots + w / side,
              e.stride,
              out + w * e.bytes.word,
              std::min(side, count - w));
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(encode);

constexpr size_t words_at_a_time = 64;                // for each word of a place
constexpr size_t most_wide_bytes = size_t{ 1 } << 20; // of all places: half of L2
// Of a circulant encoder: a piece of work for a core.
constexpr size_t least_bits = 1 << 17;
// Below these sizes strings are so short that batches are faster bit by bit. The limit is
// higher for packed words, because their squares cost less memory traffic.
constexpr int short_lifting_size = 48;
constexpr int short_packed_lifting_size = 84;

class ldpc_encoder_cpu : public ldpc_encoder
{
public:
    ldpc_encoder_cpu(ldpc_code::sptr code, const parameters& p)
        : d_bytes(*code, p), d_n(code->n()), d_parameters(p)
    {
        if (auto plan = ldpc_circulant_plan::make(*code)) {
            d_circulants.emplace(*code, std::move(*plan), p);
        }
        const int shortest = p.packed_input && p.packed_output ? short_packed_lifting_size
                                                               : short_lifting_size;
        if (!d_circulants || code->circulants().lifting_size < shortest) {
            d_plan.emplace(*code);
        }
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const size_t batch = encoder_batch(d_bytes, info, words);
        if (!d_plan || (d_circulants && batch < words_at_a_time / 2)) {
            run_by_circulants(info.data(), words.data(), batch);
        } else {
            run_by_bits(info.data(), words.data(), batch);
        }
    }

private:
    void run_by_circulants(const uint8_t* info, uint8_t* words, size_t batch) const
    {
        for_each_part(batch, least_bits / d_n + 1, [&](size_t first, size_t last) {
            auto workspace = d_circulants->new_workspace();
            d_circulants->encode(info + first * d_bytes.info,
                                 words + first * d_bytes.word,
                                 last - first,
                                 workspace);
        });
    }

    void run_by_bits(const uint8_t* info, uint8_t* words, size_t batch) const
    {
        const bool wide =
            batch >= words_at_a_time * wide_stride &&
            d_plan->slots * wide_stride * sizeof(uint64_t) <= most_wide_bytes;
        const encoding e{ &*d_plan,
                          d_bytes,
                          d_n,
                          wide ? wide_stride : 1,
                          d_parameters.packed_input,
                          d_parameters.packed_output };
        const size_t step = words_at_a_time * e.stride;
        for_each_part(batch, step, [&](size_t first, size_t last) {
            std::vector<uint64_t> slots(d_plan->slots * e.stride);
            for (; first < last; first += step) {
                HWY_DYNAMIC_DISPATCH(encode)
                (e,
                 info + first * d_bytes.info,
                 words + first * d_bytes.word,
                 std::min(step, last - first),
                 slots.data());
            }
        });
    }

    ldpc_encoder_bytes d_bytes;
    size_t d_n;
    parameters d_parameters;
    std::optional<ldpc_circulant_encoder> d_circulants;
    std::optional<ldpc_encoding_plan> d_plan;
};

} // namespace

CUDAPHY_HOST_MAKER_2(
    cpu, ldpc_encoder, ldpc_encoder_cpu, ldpc_code::sptr, ldpc_encoder::parameters)

} // namespace gr::cudaphy::kernels
#endif
