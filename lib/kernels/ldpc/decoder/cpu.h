/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What every instruction set's float32 decoder works on.

#include "kernels/ldpc/decoder/makers.h"
#include <hwy/aligned_allocator.h>
#include <new>

namespace gr::cudaphy::kernels {
constexpr size_t most_lanes = 16;
//! Received values of a codeword that are converted at a time, and from one codeword's to
//! the next one's (another power of two than that of a cache's sets).
constexpr size_t chunk = 256;
constexpr size_t chunk_stride = chunk + 16;

struct cpu_plan {
    explicit cpu_plan(const ldpc_decoding& what, size_t lanes)
        : decoding(what), schedule(*what.code, ldpc_schedule::layout::by_check),
          positions(what.output_positions()), crc_terms(what.crc_terms())
    {
        offsets.reserve(schedule.columns.size());
        for (const int column : schedule.columns) {
            offsets.push_back(static_cast<uint32_t>(column * lanes));
        }
    }

    ldpc_decoding decoding;
    ldpc_schedule schedule;
    std::vector<uint32_t> offsets;   //!< of a column's vector in the tile of L, (edges)
    std::vector<int> positions;      //!< as ldpc_decoding has them, like
    std::vector<uint32_t> crc_terms; //!< these
};

//! The choice of magnitude and the sign of an edge's message, a bit a lane.
struct edge_bits {
    uint8_t least[2];
    uint8_t negative[2];
};

using vectors = hwy::AlignedFreeUniquePtr<float[]>;

inline vectors allocate(size_t floats)
{
    auto out = hwy::AllocateAligned<float>(floats);
    if (!out) {
        throw std::bad_alloc();
    }
    return out;
}

//! The state of the codewords of one vector.
struct cpu_tile {
    cpu_tile(const cpu_plan& plan, size_t lanes)
        : chunks(allocate(most_lanes * chunk_stride)),
          l(allocate(plan.decoding.code->variables() * lanes)),
          q(allocate((plan.schedule.max_degree + 1) * lanes)),
          hard(plan.decoding.code->variables() + 4)
    {
        if (plan.decoding.flooding()) {
            received = allocate(plan.decoding.code->variables() * lanes);
            sums = allocate(plan.decoding.code->variables() * lanes);
        }
        if (plan.decoding.sum_product()) {
            messages = allocate(plan.schedule.columns.size() * lanes);
            known = allocate((plan.schedule.max_degree + 1) * lanes);
        } else {
            magnitudes = allocate(2 * plan.schedule.checks.size() * lanes);
            // a mask's load may look 8 bytes far
            edges.resize(plan.schedule.columns.size() + 2);
        }
    }

    vectors chunks;         //!< received values as float, (lanes, chunk_stride)
    vectors l;              //!< (variables, lanes)
    vectors received, sums; //!< of flooding: where L begins, and what it becomes
    vectors q;              //!< of one check
    // Of min-sum:
    vectors magnitudes; //!< for the least bit, for the others
    std::vector<edge_bits> edges;
    // Of sum-product:
    vectors messages;           //!< (edges, lanes)
    vectors known;              //!< what a check's bits before each one say
    std::vector<uint16_t> hard; //!< L < 0, a bit a lane, (variables)
};

//! One vector's worth of a batch, or less.
struct cpu_words {
    const void* llr;
    uint8_t* bits;
    int* iterations;
    int* ok;
    float* soft; //!< null: not wanted
    size_t count;
};

} // namespace gr::cudaphy::kernels
