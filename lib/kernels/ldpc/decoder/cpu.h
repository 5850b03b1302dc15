/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The data of the float32 decoder on the CPU, the same for every instruction set.

#include "kernels/ldpc/decoder/makers.h"
#include <hwy/aligned_allocator.h>
#include <new>

namespace gr::cudaphy::kernels {
constexpr size_t most_lanes = 16;
//! Received values of a codeword that are converted at a time, and the distance between
//! two codewords' values. The distance is no power of two, so that they use all sets of a
//! cache.
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
    std::vector<int> positions;      //!< ldpc_decoding::output_positions()
    std::vector<uint32_t> crc_terms; //!< ldpc_decoding::crc_terms()
};

//! An edge's message, one bit for each lane: which magnitude it has, and its sign.
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
    vectors received, sums; //!< with flooding: received values, L of the next iteration
    vectors q;              //!< of one check
    // Min-sum:
    vectors magnitudes; //!< of the messages to the least bit, to the others
    std::vector<edge_bits> edges;
    // Sum-product:
    vectors messages;           //!< (edges, lanes)
    vectors known;              //!< message of the bits before each bit of a check
    std::vector<uint16_t> hard; //!< L < 0, a bit a lane, (variables)
};

//! The codewords of a batch that one vector takes.
struct cpu_words {
    const void* llr;
    uint8_t* bits;
    int* iterations;
    int* ok;
    float* soft; //!< null: not wanted
    size_t count;
};

} // namespace gr::cudaphy::kernels
