/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>

namespace gr::cudaphy::testing {

struct received {
    std::vector<kernels::dvbs2_frame> frames;
    kernels::dvbs2_frame_sync::counts counts;
    bool was_locked = false;
};

//! What a frame sync makes of symbols that come in random pieces. A gap begins at each of
//! these symbols.
inline received receive_frames(const std::vector<std::complex<float>>& symbols,
                               const kernels::dvbs2_frame_sync::parameters& how,
                               const std::vector<size_t>& gaps = {})
{
    const auto sync = kernels::dvbs2_frame_sync::make(how);
    received out;
    kernels::dvbs2_frame frame;
    const auto collect = [&] {
        while (sync->next(frame)) {
            out.frames.push_back(std::move(frame));
        }
    };
    for (size_t first = 0; first < symbols.size();) {
        size_t last = std::min(symbols.size(), first + 1 + generator()() % 20000);
        for (const size_t gap : gaps) {
            if (gap == first) {
                sync->gap();
            }
            last = gap > first ? std::min(last, gap) : last;
        }
        sync->take(symbols.data() + first, last - first);
        BOOST_REQUIRE(sync->oldest() <= last);
        collect();
        first = last;
        out.was_locked |= sync->is_locked();
    }
    sync->finish();
    collect();
    out.counts = sync->so_far();
    BOOST_TEST(out.counts.frames == out.frames.size());
    return out;
}

} // namespace gr::cudaphy::testing
