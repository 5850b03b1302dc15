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

//! How many pieces of work for_each_part does at a time.
inline size_t cores()
{
#ifdef __SANITIZE_THREAD__
    return 4;
#else
    return static_cast<size_t>(tbb::this_task_arena::max_concurrency());
#endif
}

//! Calls part(first, last) for pieces of 0..count on all cores; a piece has at least
//! `grain` items, but the last. \throws interrupted if the calling thread's interruption
//! asks for it
template <typename Part>
void for_each_part(size_t count, size_t grain, const Part& part)
{
    const auto* const under = interruption::current();
    const auto in_turns = [&](size_t first, size_t last) {
        interruptible_piece piece(under, first, last, grain);
        while (first < last) {
            const size_t end = piece.next();
            part(first, end);
            first = end;
        }
    };
    if (count <= grain) {
        in_turns(0, count);
        return;
    }
    // In whole grains, so that a kernel that takes `grain` items a vector keeps them
    // together.
#ifdef __SANITIZE_THREAD__ // does not see how TBB, built without it, hands work over
    const size_t grains = (count + grain - 1) / grain,
                 parts = grains < cores() ? grains : cores();
    std::vector<std::future<void>> running;
    for (size_t p = 0; p < parts; ++p) {
        const auto last = grains * (p + 1) / parts * grain;
        running.push_back(std::async(std::launch::async,
                                     in_turns,
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
                          in_turns(range.begin() * grain, last < count ? last : count);
                      });
#endif
}

} // namespace gr::cudaphy
