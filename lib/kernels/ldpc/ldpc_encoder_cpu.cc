/* SPDX-License-Identifier: GPL-3.0-or-later */
// 64 codewords at a time, a bit of each in a word, so that one step of the plan works on
// all of them: a rate-1/2 code's seven sums an information bit become a ninth of an
// operation. What remains is to turn bytes into words and back, by way of squares of 64
// words times 64 positions: vectors pack a codeword's bytes into bits, then the square is
// transposed.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/ldpc/ldpc_circulant_encoder.h"
#include "kernels/ldpc/ldpc_encoder_makers.h"
#include "kernels/ldpc/ldpc_encoding_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/ldpc_encoder_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <hwy/highway.h>
#include <optional>

#include "kernels/ldpc/ldpc_bits-inl.h"

#ifndef CUDAPHY_LDPC_ENCODING
#define CUDAPHY_LDPC_ENCODING
namespace gr::cudaphy::kernels {

//! What a call of encode() takes from its encoder.
struct encoding {
    const ldpc_encoding_plan* plan;
    ldpc_encoder_bytes bytes;
    size_t n;
    bool packed_input, packed_output;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! place[position[i]] = bit i of `count` words of information, word w in bit w.
void load(const encoding& e, const uint8_t* info, size_t count, uint64_t* place)
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
            place[position[i + j]] = columns[j];
        }
    }
}

//! `count` codewords from the first n places, each of which has word w in bit w.
void store(const encoding& e, const uint64_t* place, uint8_t* out, size_t count)
{
    alignas(64) uint64_t square[side];
    alignas(64) uint64_t rows[side];
    for (size_t i = 0; i < e.n; i += side) {
        const size_t width = std::min(side, e.n - i);
        for (size_t j = 0; j < side; ++j) {
            square[swapped(j)] = j < width ? place[i + j] : 0;
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

void encode(
    const encoding& e, const uint8_t* info, uint8_t* out, size_t count, uint64_t* place)
{
    const auto& plan = *e.plan;
    load(e, info, count, place);
    for (size_t s = 0; s < plan.target.size(); ++s) {
        uint64_t sum = 0;
        for (int i = plan.start[s]; i < plan.start[s + 1]; ++i) {
            sum ^= place[plan.source[i]];
        }
        place[plan.target[s]] = sum;
    }
    uint64_t sum = 0;
    for (const int next : plan.chain) {
        sum ^= place[next];
        place[next] = sum;
    }
    store(e, place, out, count);
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
// Of a circulant encoder: a piece of work for a core.
constexpr size_t least_bits = 1 << 17;

class ldpc_encoder_cpu : public ldpc_encoder
{
public:
    ldpc_encoder_cpu(ldpc_code::sptr code, const parameters& p)
        : d_bytes(*code, p), d_n(code->n()), d_parameters(p)
    {
        if (auto plan = ldpc_circulant_plan::make(*code)) {
            d_circulants.emplace(*code, std::move(*plan), p);
        } else {
            d_plan.emplace(*code);
        }
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue&) override
    {
        const size_t batch = encoder_batch(d_bytes, info, words);
        if (d_circulants) {
            for_each_part(batch, least_bits / d_n + 1, [&](size_t first, size_t last) {
                auto workspace = d_circulants->new_workspace();
                d_circulants->encode(info.data() + first * d_bytes.info,
                                     words.data() + first * d_bytes.word,
                                     last - first,
                                     workspace);
            });
            return;
        }
        const encoding e{
            &*d_plan, d_bytes, d_n, d_parameters.packed_input, d_parameters.packed_output
        };
        for_each_part(batch, words_at_a_time, [&](size_t first, size_t last) {
            std::vector<uint64_t> place(d_plan->slots);
            for (; first < last; first += words_at_a_time) {
                HWY_DYNAMIC_DISPATCH(encode)
                (e,
                 info.data() + first * d_bytes.info,
                 words.data() + first * d_bytes.word,
                 std::min(words_at_a_time, last - first),
                 place.data());
            }
        });
    }

private:
    ldpc_encoder_bytes d_bytes;
    size_t d_n;
    parameters d_parameters;
    std::optional<ldpc_circulant_encoder> d_circulants;
    std::optional<ldpc_encoding_plan> d_plan;
};

} // namespace

std::unique_ptr<ldpc_encoder> make_ldpc_encoder_cpu(ldpc_code::sptr code,
                                                    const ldpc_encoder::parameters& p)
{
    return std::make_unique<ldpc_encoder_cpu>(std::move(code), p);
}

} // namespace gr::cudaphy::kernels
#endif
