/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_block.h"
#include "runtime/batch_end.h"
#include "runtime/kind_sorter.h"
#include "runtime/stopwatch.h"

namespace gr::cudaphy {

//! What one batch under way occupies: a queue, its job, and on a
//! device buffers there.
struct batch_block::slot {
    std::unique_ptr<queue> line;
    queue* used = nullptr; //!< where its batch is: a block before may lend its own
    std::unique_ptr<batch_end> end;
    std::unique_ptr<stopwatch> watch; //!< of the kernels, without the copies
    bool timed = false;               //!< the batch under way
    std::unique_ptr<batch_job> job;   //!< or, for frames of several kinds,
    std::unique_ptr<mixed_batch_job> mixed_job;
    std::unique_ptr<kind_sorter> sorter;
    //! Empty where the job works in GNU Radio's own rings.
    std::vector<array<char>> in, out;
    //! There, for the outputs that are not connected.
    std::vector<array<char>> unread;
    array<int> status;

    int* statuses() const { return end->words(); }
};

} // namespace gr::cudaphy
