/* SPDX-License-Identifier: GPL-3.0-or-later */
// One codeword a lane: 16 on AVX-512. All lanes run the same schedule, so that columns
// and degrees are scalars and every load of an L is one whole vector.
//
// A check keeps no message of its own for each edge, which would be 64 bytes an edge, but
// the two magnitudes that its messages can have (128 bytes) and two bits an edge and
// lane: which magnitude, and the sign (4 bytes an edge). A DVB-S2 word's 227,000 edges
// thus take 5 MB for 16 codewords instead of 14.5.
//
// A codeword that stops is written out at once; its lane runs on, but nobody looks at it.
#include "kernels/common/highway_targets.h"
#include "kernels/ldpc/ldpc_decoder_makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/ldpc_decoder_cpu.cc"
#include <hwy/foreach_target.h>

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_LDPC_DECODER_CPU_ONCE
#define CUDAPHY_LDPC_DECODER_CPU_ONCE
namespace gr::cudaphy::kernels {
namespace {

constexpr size_t most_lanes = 16;

struct cpu_plan {
    explicit cpu_plan(const ldpc_decoding& what, size_t lanes)
        : decoding(what), schedule(*what.code, ldpc_schedule::layout::by_check),
          sources(what.sources()), positions(what.output_positions())
    {
        offsets.reserve(schedule.columns.size());
        for (const int column : schedule.columns) {
            offsets.push_back(static_cast<uint32_t>(column * lanes));
        }
    }

    ldpc_decoding decoding;
    ldpc_schedule schedule;
    std::vector<uint32_t> offsets; //!< of a column's vector in the tile of L, (edges)
    std::vector<int> sources, positions; //!< as ldpc_decoding has them
};

//! The choice of magnitude and the sign of an edge's message, a bit a lane.
struct edge_bits {
    uint8_t least[2];
    uint8_t negative[2];
};

//! The state of the codewords of one vector.
struct cpu_tile {
    cpu_tile(const cpu_plan& plan, size_t lanes)
        : l(hwy::AllocateAligned<float>(plan.decoding.code->variables() * lanes)),
          magnitudes(
              hwy::AllocateAligned<float>(2 * plan.schedule.checks.size() * lanes)),
          q(hwy::AllocateAligned<float>((plan.schedule.max_degree + 1) * lanes)),
          edges(plan.schedule.columns.size() + 2), // a mask's load may look 8 bytes far
          hard(plan.decoding.code->variables() + 4)
    {
        if (!l || !magnitudes || !q) {
            throw std::bad_alloc();
        }
    }

    hwy::AlignedFreeUniquePtr<float[]> l;          //!< (variables, lanes)
    hwy::AlignedFreeUniquePtr<float[]> magnitudes; //!< for the least bit, for the others
    hwy::AlignedFreeUniquePtr<float[]> q;
    std::vector<edge_bits> edges;
    std::vector<uint16_t> hard; //!< L < 0, a bit a lane, (variables)
};

//! One vector's worth of a batch, or less.
struct cpu_words {
    const float* llr;
    uint8_t* bits;
    int* iterations;
    int* ok;
    size_t count;
};

} // namespace
} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using lane_tag = hn::CappedTag<float, most_lanes>;
using vector = hn::Vec<lane_tag>;
constexpr lane_tag d;

size_t lanes_of_a_tile() { return hn::Lanes(d); }

void load(const cpu_plan& plan, const cpu_words& words, cpu_tile& tile)
{
    const hn::RebindToSigned<lane_tag> di;
    const size_t lanes = hn::Lanes(d);
    const int n = plan.decoding.code->n();
    // Lanes without a codeword take the first one's.
    HWY_ALIGN int32_t start[most_lanes] = {};
    for (size_t lane = 0; lane < words.count; ++lane) {
        start[lane] = static_cast<int32_t>(lane) * n;
    }
    const auto starts = hn::Load(di, start);
    const auto limit = hn::Set(d, ldpc_decoding::clamp);
    const auto flip =
        plan.decoding.parameters.llr_positive == 1 ? hn::SignBit(d) : hn::Zero(d);
    for (int column = 0; column < plan.decoding.code->variables(); ++column) {
        const int i = plan.sources.empty() ? column : plan.sources[column];
        float* to = tile.l.get() + column * lanes;
        if (i < 0) {
            hn::Store(i == ldpc_decoding::shortened ? limit : hn::Zero(d), d, to);
            continue;
        }
        const auto value = hn::GatherIndex(d, words.llr + i, starts);
        const auto number = hn::IfThenElseZero(hn::Eq(value, value), value);
        const auto clamped = hn::Max(hn::Min(number, limit), hn::Neg(limit));
        hn::Store(hn::Xor(clamped, flip), d, to);
    }
}

//! One iteration; in the first one all messages so far are 0.
template <bool First>
void sweep(const cpu_plan& plan, float factor, cpu_tile& tile)
{
    const size_t lanes = hn::Lanes(d);
    const auto scale = hn::Set(d, factor);
    const auto sign_bit = hn::SignBit(d);
    float* HWY_RESTRICT l = tile.l.get();
    float* HWY_RESTRICT q = tile.q.get();
    float* HWY_RESTRICT magnitude = tile.magnitudes.get();
    const uint32_t* HWY_RESTRICT offset = plan.offsets.data();
    edge_bits* HWY_RESTRICT edge = tile.edges.data();

    for (const auto& check : plan.schedule.checks) {
        const int degree = check.degree;
        auto least = hn::Set(d, ldpc_decoding::clamp);
        auto second = least;
        auto signs = hn::Zero(d);
        const auto old_least = First ? least : hn::Load(d, magnitude);
        const auto old_others = First ? least : hn::Load(d, magnitude + lanes);
        for (int slot = 0; slot < degree; ++slot) {
            auto value = hn::Load(d, l + offset[slot]);
            if (!First) {
                const auto at_least = hn::LoadMaskBits(d, edge[slot].least);
                const auto negative = hn::LoadMaskBits(d, edge[slot].negative);
                const auto r = hn::Xor(hn::IfThenElse(at_least, old_least, old_others),
                                       hn::IfThenElseZero(negative, sign_bit));
                value = hn::Sub(value, r);
            }
            hn::Store(value, d, q + slot * lanes);
            const auto absolute = hn::Abs(value);
            signs = hn::Xor(signs, value);
            second = hn::Min(second, hn::Max(least, absolute));
            least = hn::Min(least, absolute);
        }
        // The bit that has the least magnitude hears the second least, all others the
        // least.
        const auto to_least = hn::Mul(second, scale);
        const auto to_others = hn::Mul(least, scale);
        hn::Store(to_least, d, magnitude);
        hn::Store(to_others, d, magnitude + lanes);
        for (int slot = 0; slot < degree; ++slot) {
            const auto value = hn::Load(d, q + slot * lanes);
            const auto at_least = hn::Eq(hn::Abs(value), least);
            const auto r = hn::CopySign(hn::IfThenElse(at_least, to_least, to_others),
                                        hn::Xor(signs, value));
            hn::StoreMaskBits(d, at_least, edge[slot].least);
            hn::StoreMaskBits(d, hn::Lt(r, hn::Zero(d)), edge[slot].negative);
            hn::Store(hn::Add(value, r), d, l + offset[slot]);
        }
        offset += degree;
        edge += degree;
        magnitude += 2 * lanes;
    }
}

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

//! Those of `lanes` (a bit each) whose hard decisions fulfil every check.
unsigned codewords(const cpu_plan& plan, const cpu_tile& tile, unsigned lanes)
{
    const uint16_t* hard = tile.hard.data();
    const int* column = plan.schedule.columns.data();
    for (const auto& check : plan.schedule.checks) {
        unsigned parity = 0;
        for (int slot = 0; slot < check.degree; ++slot) {
            parity ^= hard[*column++];
        }
        lanes &= ~parity;
        if (!lanes) {
            break;
        }
    }
    return lanes;
}

void write_out(const cpu_plan& plan,
               const cpu_tile& tile,
               const cpu_words& words,
               size_t lane,
               int iterations,
               bool ok)
{
    const size_t count = plan.decoding.output_bits();
    const uint16_t* HWY_RESTRICT hard = tile.hard.data();
    uint8_t* HWY_RESTRICT bits = words.bits + lane * count;
    if (plan.positions.empty()) {
        for (size_t i = 0; i < count; ++i) {
            bits[i] = static_cast<uint8_t>(hard[i] >> lane & 1);
        }
    } else {
        for (size_t i = 0; i < count; ++i) {
            bits[i] = static_cast<uint8_t>(hard[plan.positions[i]] >> lane & 1);
        }
    }
    words.iterations[lane] = iterations;
    words.ok[lane] = ok;
}

void decode_tile(const cpu_plan& plan, const cpu_words& words, cpu_tile& tile)
{
    const auto& p = plan.decoding.parameters;
    unsigned running = (1u << words.count) - 1;
    load(plan, words, tile);
    for (int iteration = 0;; ++iteration) {
        const bool last = iteration == p.max_iterations;
        if (p.early_stop || last) {
            decide(plan, tile);
            const unsigned ok = codewords(plan, tile, running);
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
        if (iteration == 0) {
            sweep<true>(plan, plan.decoding.scales[iteration], tile);
        } else {
            sweep<false>(plan, plan.decoding.scales[iteration], tile);
        }
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
        const size_t n = d_plan.decoding.code->n();
        const size_t out = d_plan.decoding.output_bits();
        for_each_part(words, d_lanes, [&](size_t first, size_t last) {
            auto& tile = d_tiles.local();
            for (; first < last; first += d_lanes) {
                HWY_DYNAMIC_DISPATCH(decode_tile)
                (d_plan,
                 { static_cast<const float*>(llr.data) + first * n,
                   to.bits.data() + first * out,
                   to.iterations.data() + first,
                   to.ok.data() + first,
                   std::min(d_lanes, last - first) },
                 tile);
            }
        });
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    const size_t d_lanes;
    const cpu_plan d_plan;
    tbb::enumerable_thread_specific<cpu_tile> d_tiles; //!< one a core that takes part
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cpu(const ldpc_decoding& decoding)
{
    return std::make_unique<ldpc_decoder_cpu>(decoding);
}

} // namespace gr::cudaphy::kernels
#endif
