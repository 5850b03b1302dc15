/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symbol_sync/steps.h"

namespace gr::cudaphy::kernels {

//! \brief What the CPU's backends keep of blocks and segments, and what takes too little
//! time for vectors.
class symbol_sync_on_host : public symbol_sync_steps
{
protected:
    symbol_sync_on_host(const symbol_sync_parameters& p, backend where);

    size_t slot(int64_t block) const { return static_cast<size_t>(block) & (ring() - 1); }
    complex128& line(int64_t block) { return d_lines[slot(block)]; }
    block_timing& timing(int64_t block) { return d_timings[slot(block)]; }
    complex64* symbols(int64_t segment)
    {
        return &d_symbols[slot(segment) * static_cast<size_t>(plan().most_symbols)];
    }

    //! The sums of a block's window for the candidate.
    window_sums sums_of(int64_t block, int candidate);
    void set_timing(int64_t block, const window_sums& sums);
    //! Counts symbols up to the blocks' centres. Call it in order.
    void count_symbols(range blocks);
    segment_instants instants(int64_t segment);
    void set_energy(int64_t segment, const segment_instants& instants, double energy);
    void give(range segments,
              int64_t known,
              view<complex64> symbols,
              view<symbol_block> blocks,
              queue& queue) override;

private:
    double gain(int64_t segment, int64_t known) const;
    symbol_block block_of(int64_t segment, int64_t known);

    struct filtered_segment {
        segment_instants instants{};
        double energy = 0; //!< mean, 0 if there are no symbols
    };

    std::vector<complex128> d_lines;
    std::vector<block_timing> d_timings;
    std::vector<uint64_t> d_phases;
    std::vector<filtered_segment> d_segments;
    std::vector<complex64> d_symbols;
};

} // namespace gr::cudaphy::kernels
