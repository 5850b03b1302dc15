/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <string>

namespace gr::cudaphy {

//! What a block has done since it was made.
struct block_statistics {
    std::string backend;        //!< in use
    uint64_t batches = 0;       //!< launches that are done
    uint64_t frames = 0;        //!< in them: matrices, slots, codewords
    uint64_t last_batch = 0;    //!< frames
    uint64_t largest_batch = 0; //!< frames
    uint64_t queue_depth = 0;   //!< batches, or PDUs, under way or waiting now
    uint64_t largest_depth = 0; //!< of these at once
    uint64_t failures = 0;      //!< frames that failed, packets and PDUs refused
    //! In kernels: of the CPU, or of the GPU by its own clock, where at most a hundred
    //! batches a second are timed and stand for the others.
    double compute_seconds = 0;
    double last_compute = 0; //!< seconds of the last batch that was timed
};

//! A block that counts what it does. Every block of this module that computes is one.
class CUDAPHY_API counting_block
{
public:
    virtual ~counting_block();
    virtual block_statistics statistics() const = 0;
};

} // namespace gr::cudaphy
