/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/interruptible_piece.h"
#ifdef __SANITIZE_THREAD__
#include <functional>
#include <future>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace gr::cudaphy {

//! The pieces of work that for_each_part runs at the same time.
inline size_t cores()
{
#ifdef __SANITIZE_THREAD__
    return 4;
#else
    return static_cast<size_t>(tbb::this_task_arena::max_concurrency());
#endif
}

//! Calls part(first, last) for pieces of 0..count on all cores. Every piece but the last
//! has at least `grain` items. \throws interrupted if the calling thread's interruption
//! is requested
template <typename Part>
void for_each_part(size_t count, size_t grain, const Part& part)
{
    const auto* const under = interruption::current();
    const auto in_slices = [&](size_t first, size_t last) {
        interruptible_piece piece(under, first, last, grain);
        while (first < last) {
            const size_t end = piece.next();
            part(first, end);
            first = end;
        }
    };
    if (count <= grain) {
        in_slices(0, count);
        return;
    }
    // Pieces are whole grains, because a kernel may put the items of a grain into one
    // vector.
#ifdef __SANITIZE_THREAD__ // can't see how TBB, built without it, hands work over
    const size_t grains = (count + grain - 1) / grain,
                 parts = grains < cores() ? grains : cores();
    std::vector<std::future<void>> running;
    for (size_t p = 0; p < parts; ++p) {
        const auto last = grains * (p + 1) / parts * grain;
        running.push_back(std::async(std::launch::async,
                                     in_slices,
                                     grains * p / parts * grain,
                                     last < count ? last : count));
    }
    for (auto& each : running) {
        each.get();
    }
#else
    tbb::parallel_for(tbb::blocked_range<size_t>(0, (count + grain - 1) / grain),
                      [&](const auto& range) {
                          const auto last = range.end() * grain;
                          in_slices(range.begin() * grain, last < count ? last : count);
                      });
#endif
}

} // namespace gr::cudaphy
