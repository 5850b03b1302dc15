/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_job.h"
#include "runtime/device/batch_end.h"
#include "runtime/device/kind_sorter.h"
#include "runtime/device/stopwatch.h"

namespace gr::cudaphy {

//! What one batch under way occupies: a queue, its job, and on a device buffers there.
struct batch_slot {
    std::unique_ptr<queue> own_queue;
    queue* used = nullptr; //!< where the batch is: the own queue, or the block's before
    std::unique_ptr<batch_end> end;
    std::unique_ptr<stopwatch> kernel_time; //!< without the copies
    bool timed = false;                     //!< the batch under way
    std::unique_ptr<batch_job> job;         //!< if frames are of one kind
    // If they are of several kinds.
    std::unique_ptr<mixed_batch_job> mixed_job;
    std::unique_ptr<kind_sorter> sorter;
    //! Empty if the job works in GNU Radio's own rings.
    std::vector<array<char>> in, out;
    //! On the host, for the outputs that are not connected.
    std::vector<array<char>> unread;
    array<int> status;

    int* statuses() const { return end->words(); }

    void run(const batch& work,
             const std::vector<kind_sorter::kind_frames>& parts,
             queue& where)
    {
        if (timed) {
            kernel_time->begin(where);
        }
        if (!mixed_job) {
            job->run(work, where);
        } else if (parts.size() == 1) {
            mixed_job->run(sorter->cut(work, parts), where);
        } else {
            sorter->run(*mixed_job, sorter->cut(work, parts), where);
        }
        if (timed) {
            kernel_time->end(where);
        }
    }
};

} // namespace gr::cudaphy
