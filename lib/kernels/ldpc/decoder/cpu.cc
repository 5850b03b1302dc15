/* SPDX-License-Identifier: GPL-3.0-or-later */
// One codeword a lane: 16 on AVX-512. All lanes run the same schedule, so that columns
// and degrees are scalars and every load of an L is one whole vector.
//
// With min-sum a check stores the two magnitudes of its messages (128 bytes), and two
// bits for each edge and lane: which magnitude, and the sign (4 bytes for each edge). A
// message for each edge would take 64 bytes. So the 227,000 edges of a DVB-S2 word take 5
// MB for 16 codewords instead of 14.5. Sum-product has a different message for each edge,
// and stores them all.
//
// With flooding a check reads one set of L and adds its messages to another.
//
// A codeword that stops is written out at once. Its lane goes on, but its results are not
// used.
#include "kernels/common/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decoder/cpu.cc"
#include <hwy/foreach_target.h>

#include "kernels/ldpc/decoder/lanes-inl.h"
#include <gnuradio/cudaphy/kernels/interruption.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

size_t lanes_of_a_tile() { return hn::Lanes(d); }

void decide(const cpu_plan& plan, cpu_tile& tile)
{
    const size_t lanes = hn::Lanes(d);
    const size_t columns = plan.decoding.code->variables();
    for (size_t i = 0; i < columns; ++i) {
        uint8_t mask[8] = {};
        hn::StoreMaskBits(
            d, hn::Lt(hn::Load(d, tile.l.get() + i * lanes), hn::Zero(d)), mask);
        tile.hard[i] = static_cast<uint16_t>(mask[0] | mask[1] << 8);
    }
}

//! The lanes of `lanes` (one bit each) whose hard decisions fulfil every telling check.
unsigned fulfilling(const cpu_plan& plan, const cpu_tile& tile, unsigned lanes)
{
    const uint16_t* hard = tile.hard.data();
    for (const int number : plan.schedule.telling) {
        const auto& check = plan.schedule.checks[number];
        const int* column = plan.schedule.columns.data() + check.first;
        unsigned parity = 0;
        for (int slot = 0; slot < check.degree; ++slot) {
            parity ^= hard[column[slot]];
        }
        lanes &= ~parity;
        if (!lanes) {
            break;
        }
    }
    return lanes;
}

//! The lanes of `lanes` whose information bits pass the CRC.
unsigned passing(const cpu_plan& plan, const cpu_tile& tile, unsigned lanes)
{
    const hn::RebindToUnsigned<lane_tag> du;
    const auto& columns = plan.decoding.code->info_positions();
    auto remainder = hn::Zero(du);
    for (size_t i = 0; i < columns.size(); ++i) {
        const auto l = hn::Load(d, tile.l.get() + columns[i] * hn::Lanes(d));
        const auto one = hn::RebindMask(du, hn::Lt(l, hn::Zero(d)));
        remainder =
            hn::Xor(remainder, hn::IfThenElseZero(one, hn::Set(du, plan.crc_terms[i])));
    }
    uint8_t mask[8] = {};
    hn::StoreMaskBits(du, hn::Eq(remainder, hn::Zero(du)), mask);
    return lanes & (mask[0] | mask[1] << 8);
}

//! The lanes of `lanes` whose least L of an information bit is not 0.
unsigned decided(const cpu_plan& plan, const cpu_tile& tile, unsigned lanes)
{
    const auto& columns = plan.decoding.code->info_positions();
    unsigned ones = 0;
    for (size_t i = 0; i < columns.size() && (lanes & ~ones); ++i) {
        ones |= tile.hard[columns[i]];
    }
    if (!(lanes & ~ones)) {
        return lanes;
    }
    unsigned zeros = 0;
    for (const int column : columns) {
        uint8_t mask[8] = {};
        const auto l = hn::Load(d, tile.l.get() + column * hn::Lanes(d));
        hn::StoreMaskBits(d, hn::Eq(l, hn::Zero(d)), mask);
        zeros |= mask[0] | mask[1] << 8;
    }
    return lanes & (ones | ~zeros);
}

void write_out(const cpu_plan& plan,
               const cpu_tile& tile,
               const cpu_words& words,
               size_t lane,
               int iterations,
               bool ok)
{
    const auto& p = plan.decoding.parameters;
    const size_t count = plan.decoding.output_bits();
    const size_t bytes = plan.decoding.output_bytes();
    const uint16_t* HWY_RESTRICT hard = tile.hard.data();
    uint8_t* HWY_RESTRICT bits = words.bits + lane * bytes;
    const auto column = [&](size_t i) {
        return plan.positions.empty() ? i : plan.positions[i];
    };
    if (p.packed) {
        std::fill_n(bits, bytes, uint8_t{ 0 });
        for (size_t i = 0; i < count; ++i) {
            bits[i / 8] |= (hard[column(i)] >> lane & 1) << (7 - i % 8);
        }
    } else {
        for (size_t i = 0; i < count; ++i) {
            bits[i] = static_cast<uint8_t>(hard[column(i)] >> lane & 1);
        }
    }
    if (words.soft) {
        const float sign = p.llr_positive == 1 ? -1.0f : 1.0f;
        const float* l = tile.l.get() + lane;
        for (size_t i = 0; i < count; ++i) {
            words.soft[lane * count + i] =
                sign * l[column(i) * hn::Lanes(d)] / p.llr_scale;
        }
    }
    words.iterations[lane] = iterations;
    words.ok[lane] = ok;
}

void decode_tile(const cpu_plan& plan, const cpu_words& words, cpu_tile& tile)
{
    const auto& p = plan.decoding.parameters;
    unsigned running = (1u << words.count) - 1;
    start(plan, words, tile);
    for (int iteration = 0;; ++iteration) {
        const bool last = iteration == p.max_iterations;
        if (p.early_stop || last) {
            decide(plan, tile);
            unsigned ok = p.stop_crc.bits > 0 ? passing(plan, tile, running)
                                              : fulfilling(plan, tile, running);
            ok = decided(plan, tile, ok);
            const unsigned stops = last ? running : ok;
            for (size_t lane = 0; lane < words.count; ++lane) {
                if (stops >> lane & 1) {
                    write_out(plan, tile, words, lane, iteration, ok >> lane & 1);
                }
            }
            running &= ~stops;
        }
        if (!running) {
            return;
        }
        interruption::check_current();
        iterate(plan, iteration, tile);
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/common/parallel.h"
#include <tbb/enumerable_thread_specific.h>

namespace gr::cudaphy::kernels {
HWY_EXPORT(lanes_of_a_tile);
HWY_EXPORT(decode_tile);

namespace {

class ldpc_decoder_cpu : public ldpc_decoder
{
public:
    explicit ldpc_decoder_cpu(const ldpc_decoding& decoding)
        : d_lanes(HWY_DYNAMIC_DISPATCH(lanes_of_a_tile)()), d_plan(decoding, d_lanes),
          d_tiles([this] { return cpu_tile(d_plan, d_lanes); })
    {
    }

    void run(const received& llr, const results& to, queue&) override
    {
        const size_t words = d_plan.decoding.batch(llr, to);
        const size_t word_bytes = bytes_of(llr.type) * d_plan.decoding.code->n();
        const size_t out = d_plan.decoding.output_bytes();
        const size_t soft = d_plan.decoding.output_bits();
        for_each_part(words, d_lanes, [&](size_t first, size_t last) {
            auto& tile = d_tiles.local();
            for (; first < last; first += d_lanes) {
                HWY_DYNAMIC_DISPATCH(decode_tile)
                (d_plan,
                 { static_cast<const uint8_t*>(llr.data) + first * word_bytes,
                   to.bits.data() + first * out,
                   to.iterations.data() + first,
                   to.ok.data() + first,
                   to.soft.empty() ? nullptr : to.soft.data() + first * soft,
                   std::min(d_lanes, last - first) },
                 tile);
            }
        });
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    static size_t bytes_of(number type)
    {
        return type == number::float32 ? 4 : type == number::float16 ? 2 : 1;
    }

    const size_t d_lanes;
    const cpu_plan d_plan;
    tbb::enumerable_thread_specific<cpu_tile> d_tiles; //!< one for each core
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cpu(const ldpc_decoding& decoding)
{
    return std::make_unique<ldpc_decoder_cpu>(decoding);
}

} // namespace gr::cudaphy::kernels
#endif
