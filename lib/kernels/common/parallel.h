/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace gr::cudaphy {

//! Calls part(first, last) for pieces of 0..count on all cores; a piece has at least
//! `grain` items, but the last.
template <typename Part>
void for_each_part(size_t count, size_t grain, const Part& part)
{
    if (count <= grain) {
        if (count) {
            part(size_t{ 0 }, count);
        }
        return;
    }
    // In whole grains, so that a kernel that takes `grain` items a vector keeps them
    // together.
    tbb::parallel_for(tbb::blocked_range<size_t>(0, (count + grain - 1) / grain),
                      [&](const auto& range) {
                          const auto last = range.end() * grain;
                          part(range.begin() * grain, last < count ? last : count);
                      });
}

} // namespace gr::cudaphy
